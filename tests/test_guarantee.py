"""The one formatter of guarantees: what is printed is never on the wrong side of what is proven."""

from __future__ import annotations

import ast
import math
import re
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import leakwise as lw
from leakwise.exact import log_upper
from leakwise.guarantee import (
    at_least,
    at_most,
    for_anyone,
    lift_above,
    never_certain,
    no_guess,
    percent,
    percent_at_least,
    percent_at_most,
    taken_as_exact,
)
from leakwise.leakage import epsilon_from_sample

SOURCE = Path(lw.__file__).parent

floats = st.floats(min_value=1e-300, max_value=1e300)
fractions = st.fractions(min_value=Fraction(1, 10**30), max_value=10**30) | st.builds(
    lambda n, k, up: Fraction(n * 10**k + up, 10**k),
    st.integers(1, 10**6),
    st.integers(0, 40),
    st.sampled_from([-1, 0, 1]),
).filter(lambda x: x > 0)
digits = st.integers(1, 12)


def read(text: str) -> Fraction:
    return Fraction(text.replace(",", "").removesuffix("%"))


@given(fractions, digits)
@example(Fraction(200004, 100000), 5)
@example(Fraction(10**400 + 1, 10**400), 5)
def test_a_printed_fraction_is_outwards_and_within_its_digits(x: Fraction, shown: int) -> None:
    above, below = read(at_most(x, shown)), read(at_least(x, shown))
    assert below <= x <= above
    assert above - x < x * Fraction(10) ** (1 - shown)
    assert x - below < x * Fraction(10) ** (1 - shown)


@given(floats, digits)
@example(2.00004, 5)
@example(math.log(4 / 3), 6)
@example(1004.9, 4)
def test_a_printed_float_is_outwards_and_within_its_digits(x: float, shown: int) -> None:
    above, below = float(read(at_most(x, shown))), float(read(at_least(x, shown)))
    assert below <= x <= above
    assert above - x <= x * 10.0 ** (1 - shown) * (1 + 1e-12)
    assert x - below <= x * 10.0 ** (1 - shown) * (1 + 1e-12)


@given(floats)
def test_a_number_below_zero_is_rounded_outwards_too(x: float) -> None:
    assert float(read(at_most(-x))) >= -x >= float(read(at_least(-x)))


def test_twice_a_small_probability_does_not_look_like_three_times_it() -> None:
    """The studio showed "0.071% → 0.2%" at a lift of 2."""
    for before in (0.00055, 0.00071, 0.0011, 0.0034, 0.0049):
        shown = [float(say(x).rstrip("%")) for say, x in ((percent, before), (percent_at_most, 2 * before))]
        assert shown[1] <= 2.2 * shown[0]


@given(st.floats(0, 1) | st.fractions(0, 1))
@example(1 - 2.0**-53)
@example(Fraction(1, 10**400))
def test_percentages_are_outwards_and_only_certainty_is_100(p: float | Fraction) -> None:
    above, below = percent_at_most(p), percent_at_least(p)
    kind = float if isinstance(p, float) else Fraction
    assert kind(read(below) / 100) <= p <= kind(read(above) / 100)
    for text in (above, below, percent(float(p))):
        exact = float(p) if text is not above and text is not below else p
        assert (text == "100%") == (exact == 1)
        assert (text == "0%") == (exact == 0)


@given(st.fractions(min_value=1, max_value=10**6).filter(lambda x: x > 1))
@example(Fraction(179, 100))
def test_what_cannot_become_certain_is_below_one_over_the_lift(lift: Fraction) -> None:
    shown = re.search(r"less than (\S+)%", never_certain(lift))
    assert shown is not None
    assert read(shown[1]) / 100 * lift <= 1


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (2, "2"),
        (2.0, "2"),
        (Fraction(2), "2"),
        (2.00004, "2.0001"),
        (1004.9, "1,004.9"),
        (1234567.8, "1,234,600"),
        (10**20, "1e20"),
        (1e-9, "1e-9"),
        (1e-5, "1e-5"),
        (0.0, "0"),
        (math.inf, "∞"),
    ],
)
def test_how_a_number_reads(number: float | Fraction, text: str) -> None:
    assert at_most(number) == text


@given(st.floats(0, 700))
def test_the_lift_of_an_epsilon_is_not_below_its_exponential(epsilon: float) -> None:
    above = Fraction(lift_above(epsilon))
    assert log_upper(above) >= epsilon
    assert float(above) <= math.exp(epsilon) * (1 + 1e-12)


def test_every_guarantee_names_its_adversary() -> None:
    prior = lw.Prior([0.5, 0.5])
    assert "anyone who knew the prior (rows independent)" in no_guess(2, prior)
    assert "whose prior is in the set" in for_anyone(prior.ball(0.1))
    assert "the true prior" in for_anyone(lw.Prior.from_counts([700, 300]).confidence(1e-6))
    assert "whatever they knew" in for_anyone(lw.AllPriors(2))


def test_a_counted_prior_says_so() -> None:
    assert taken_as_exact(lw.Prior([0.7, 0.3])) is None
    assert "from 10 rows and was taken as exact" in str(taken_as_exact(lw.Prior.from_counts([7, 3])))


# Words of a guarantee that only the formatter may put a number into, and the functions that do it there.
_PHRASES = ("times as likely", "times likelier", "become certain", "guarantee with it", "no guess")
_OWN = ("number(", ":.", "round(", "ceil(", "floor(", ":g}", "math.exp(", "np.exp(")


def test_no_other_module_formats_a_guarantee() -> None:
    """A string with a number in it that speaks of a guarantee takes the number from ``leakwise.guarantee``."""
    wrong = []
    for path in SOURCE.rglob("*.py"):
        if path.name == "guarantee.py" or "papers" in path.parts:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.JoinedStr):
                continue
            text = ast.unparse(node)
            if any(words in text for words in _PHRASES) and any(mark in text for mark in _OWN):
                wrong.append(f"{path.relative_to(SOURCE)}:{node.lineno}: {text}")
    assert wrong == []


def test_nobody_says_likelier() -> None:
    """Say it as N times as likely: the other way can be read as N + 1."""
    told = [
        f"{path.relative_to(SOURCE)}:{line}"
        for path in SOURCE.rglob("*")
        if path.suffix in (".py", ".js", ".html")
        for line, text in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if "times likelier" in text or "× likelier" in text
    ]
    assert told == []


def test_printed_guarantees_are_not_below_the_proven_ones() -> None:
    """The same number, wherever it is printed: certificate, design, sample, envelope, scikit-learn, release."""
    prior = lw.Prior.from_counts({"no": 7000, "yes": 3000})
    mechanism = lw.randomized_response(["no", "yes"], lift="2.00004")
    certificate = lw.certify(mechanism, lw.AllPriors(["no", "yes"]))
    assert 2 < certificate.ratio <= Fraction("2.00004")
    assert "more than 2.0001 times as likely" in certificate.sentence
    assert "2.0000 " not in repr(certificate)
    sample = epsilon_from_sample(mechanism, prior, 1e-6)
    found = lw.design_from_data(prior, lift=2, failure=1e-6)
    envelope = lw.envelope(mechanism, prior, "1e-9")
    released = lw.protect({"s": ["no", "yes"] * 4}, "s", prior=lw.Prior({"no": "0.7", "yes": "0.3"}), lift="1.30003")
    for words, proven in (
        (certificate.sentence, certificate.ratio),
        (sample.sentence, Fraction(math.exp(sample.epsilon))),
        (found.guarantee, Fraction(math.exp(found.epsilon)) * (1 - Fraction(1, 2**50))),
        (envelope.sentence, envelope.certificate.lift),
        (released.guarantee, released.certificate.ratio),
    ):
        shown = re.search(r"more than (\S+) times as likely", words)
        assert shown is not None
        assert read(shown[1]) >= proven
        assert "for anyone" in words
        assert "rows independent" in words


def test_sentences_and_guarantees_are_properties_everywhere() -> None:
    """A call that needs no argument is an attribute: ``r.sentence``, ``r.guarantee``, never with parentheses."""
    names = {"sentence", "sentences", "guarantee", "guarantees"}
    methods = [
        f"{path.relative_to(SOURCE)}: {one.name}"
        for path in SOURCE.rglob("*.py")
        for kind in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(kind, ast.ClassDef)
        for one in kind.body
        if isinstance(one, ast.FunctionDef) and one.name in names
        if len(one.args.args) == 1 and not any(ast.unparse(each) == "property" for each in one.decorator_list)
    ]
    assert methods == []


def test_an_outcome_that_says_nothing_names_for_whom():
    """A prior that is certain of a value has a lift of 1 for every mechanism, the identity too."""
    sure = lw.Prior({"a": 1, "b": 0})
    words = lw.certify(lw.identity(["a", "b"]), sure).sentence
    assert words.startswith("The outcome says nothing about the secret")
    assert "for anyone who knew the prior" in words
    both = lw.certify(lw.randomized_response(["a", "b"], lift=3), sure, lift=2, anyone=3).sentence
    assert "No guess becomes more than 3 times as likely for anyone, whatever they knew." in both


def _cells(text: str, label: str) -> list[Fraction]:
    """The numbers of the row of a printed table that begins with a label."""
    line = next(line for line in text.splitlines() if line.strip().startswith(label))
    return [Fraction(word.replace(",", "")) for word in re.findall(r"\d[\d,]*\.?\d*(?:e-?\d+)?", line[len(label) :])]


def test_tables_of_measures_and_designs_round_outwards() -> None:
    m = lw.randomized_response(3, lift=3)
    growth = lw.measures.composition_table(m, [0.5, 0.3, 0.2], counts=(1, 2))
    for row in growth.rows:
        printed = _cells(str(growth), str(row[0]))
        assert all(shown >= Fraction(row[place]) for place, shown in enumerate(printed, 1) if place != 2)
    profile = lw.measures.privacy_profile(m)
    assert _cells(str(profile), "0 ")[0] >= Fraction(profile.epsilon(0))
    capacity = lw.measures.shannon_capacity(lw.Mechanism([["3/7", "4/7"], ["1/3", "2/3"]]))
    assert _cells(str(capacity), "capacity, at most (nats)")[0] >= Fraction(capacity.upper)
    assert _cells(str(capacity), "capacity, at least (nats)")[0] <= Fraction(capacity.lower)
    noise = lw.noise.Laplace([0, 1, 2], scale=3)
    assert _cells(str(noise), "maximal leakage (nats)")[0] >= Fraction(noise.maximal_leakage())
    records = lw.records.least_leakage(lw.records.parity(3), distortion=0.2, entropy=1.6789012345)
    assert _cells(str(records), "least leakage, at most")[0] >= Fraction(records.value)
    assert _cells(str(records), "least leakage, at least")[0] <= Fraction(records.bound)
    assert _cells(str(records), "adversary's entropy, at least")[0] >= Fraction(1.6789012345)


def test_plain_data_of_a_row_rounds_outwards() -> None:
    for no in range(1, 12):
        joint = lw.Prior({("no", "f"): no, ("no", "m"): 30, ("yes", "f"): 5, ("yes", "m"): 25})
        first, second = (lw.randomized_response(names, lift=3) for names in (["no", "yes"], ["f", "m"]))
        found = lw.measures.row_lift(joint, {"smokes": first, "sex": second})
        plain = found.to_dict()
        assert Fraction(plain["lift"]) >= found.lift
        assert Fraction(plain["row"]["upper"]) >= found.row.upper >= found.row.lower >= Fraction(plain["row"]["lower"])
