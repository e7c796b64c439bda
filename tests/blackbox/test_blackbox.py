"""Leakage from answers alone: bounds that hold, verdicts that follow, claims that are refuted."""

from __future__ import annotations

import datetime
import itertools
import math
import random
import struct
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import leakwise as lw
from leakwise.blackbox.cells import Cells
from leakwise.blackbox.counts import declared_outcomes, learned_outcomes


def answers(m: lw.Mechanism, count: int, generator: np.random.Generator) -> tuple[list[object], list[object]]:
    """Each letter ``count`` times, with outcomes drawn in floats: a test draws millions."""
    x, y = [], []
    for row, label in zip(m.matrix, m.inputs, strict=True):
        x += [label] * count
        y += [m.outputs[place] for place in generator.choice(len(row), count, p=row / row.sum()).tolist()]
    return x, y


@given(st.integers(0, 2**32), st.integers(2, 4), st.integers(2, 5), st.booleans())
@settings(max_examples=15)
def test_intervals_hold_the_truth(seed: int, letters: int, outputs: int, declared: bool) -> None:
    generator = np.random.default_rng(seed)
    m = lw.Mechanism(generator.dirichlet(np.ones(outputs), letters))
    prior = lw.Prior(generator.dirichlet(np.ones(letters) * 3))
    x, y = answers(m, 2_000, generator)
    found = lw.audit_samples(x, y, prior=prior, outputs=list(m.outputs) if declared else None, failure=1e-6)
    truth = {"ldp": lw.ldp(m), "pml": lw.epsilon(m, prior), "maximal_leakage": lw.maximal_leakage(m)}
    for name, value in truth.items():
        assert found.measures[name].lower <= value <= found.measures[name].upper
        assert math.isfinite(found.measures["maximal_leakage"].upper) == declared


def test_the_failure_is_kept() -> None:
    """At a large failure the lower bounds are wrong at most that often."""
    m, wrong, runs = lw.randomized_response(2, epsilon=0.4), 0, 60
    generator = np.random.default_rng(5)
    for run in range(runs):
        x, y = answers(m, 200, generator)
        found = lw.audit_samples(x, y, outputs=[0, 1], failure=0.5, prior=lw.Prior.uniform(2), seed=run)
        truth = {"ldp": 0.4, "pml": lw.epsilon(m, [0.5, 0.5]), "maximal_leakage": lw.maximal_leakage(m)}
        wrong += any(
            not found.measures[name].lower <= value <= found.measures[name].upper for name, value in truth.items()
        )
    # 0.5 + 4 standard deviations of a binomial
    assert wrong / runs <= 0.5 + 4 * math.sqrt(0.25 / runs)


def test_a_lower_bound_comes_close() -> None:
    m = lw.randomized_response(4, epsilon=1.5)
    x, y = answers(m, 50_000, np.random.default_rng(1))
    found = lw.audit_samples(x, y, prior=lw.Prior.uniform(4), outputs=list(range(4)))
    assert found.measures["ldp"].lower > 1.35
    assert found.measures["ldp"].upper < 1.65
    assert found.measures["pml"].lower > lw.epsilon(m, lw.Prior.uniform(4)) - 0.05
    assert found.measures["maximal_leakage"].lower > lw.maximal_leakage(m) - 0.05


def test_a_false_claim_is_refuted_with_its_event() -> None:
    m = lw.Mechanism([[0.9, 0.1], [0.3, 0.7]], inputs=["no", "yes"], outputs=["low", "high"])
    x, y = answers(m, 5_000, np.random.default_rng(2))
    found = lw.audit_samples(x, y, epsilon=1.0)
    assert found.verdict == "refuted"
    assert found.sentence.startswith("This claims LDP ε = 1 but leaks at least 1.")
    assert found.events["ldp"].outcomes == ("high",)
    assert (found.events["ldp"].input, found.events["ldp"].other) == ("yes", "no")
    told = found.to_dict()
    assert told["verdict"] == "refuted"
    assert told["events"]["ldp"]["input"] == "yes"
    assert "at least" in repr(found)
    assert "<table" in found._repr_html_()
    assert found.plot() is not None


def test_true_claims_are_confirmed_or_left_open() -> None:
    m = lw.randomized_response(2, epsilon=0.5)
    x, y = answers(m, 5_000, np.random.default_rng(3))
    assert lw.audit_samples(x, y, lift=2, outputs=[0, 1]).verdict == "confirmed"
    open_ = lw.audit_samples(x, y, lift=2)
    assert open_.verdict == "not refuted"
    assert "is not refuted" in open_.sentence
    assert lw.audit_samples(x, y).verdict is None
    assert "at most" in lw.audit_samples(x, y, lift=2, outputs=[0, 1]).sentence
    general = lw.audit_samples(x, y, epsilon=0.01, measure="maximal_leakage")
    assert general.verdict == "refuted"


def test_a_program_until_the_claim_is_judged() -> None:
    coin, calls = random.Random(1), 0

    def honest(x: int) -> int:
        nonlocal calls
        calls += 1
        return x if coin.random() < 0.75 else 1 - x

    rounds: list[lw.results.BlackBoxAudit] = []
    found = lw.audit_program(honest, [0, 1], epsilon=0.8, samples=500_000, progress=rounds.append)
    assert found.verdict == "refuted"
    assert found.samples == calls < 500_000
    assert rounds[-1] is found
    assert all(a.measures["ldp"].lower <= b.measures["ldp"].lower for a, b in itertools.pairwise(rounds))
    assert lw.audit_program(honest, [0, 1], epsilon=1.3, samples=500_000, outputs=[0, 1]).verdict == "confirmed"


def test_a_program_until_the_width() -> None:
    generator = np.random.default_rng(4)

    def many(x: int, count: int) -> np.ndarray:
        return np.where(generator.random(count) < 0.7, x, 1 - x)

    found = lw.audit_program(many, prior=[0.5, 0.5], outputs=[0, 1], width=0.05, batch=True)
    assert found.measures["pml"].width <= 0.05
    assert found.measures["pml"].lower <= math.log(1.4) <= found.measures["pml"].upper
    assert found.samples < 1_000_000


def test_numbers_without_end_are_put_into_bins() -> None:
    generator = np.random.default_rng(6)

    def laplace(x: int, count: int) -> np.ndarray:
        # On a grid: the last digits of a float would give the input away, and the audit finds them.
        return np.round((x + generator.laplace(0, 0.5, count)) * 2**20) / 2**20

    found = lw.audit_program(laplace, [0, 1], epsilon=1.0, batch=True, samples=100_000)
    assert found.verdict == "refuted"
    assert found.measures["ldp"].lower <= 2.0
    assert all(name.startswith("[") for name in found.outcomes)
    bounded = lw.audit_samples([0, 1] * 50, [0.2, 0.7] * 50, outputs=lw.bins(0, 1, 2))
    assert bounded.outcomes == ("[0, 0.5)", "[0.5, 1]")


def test_what_a_float_sampler_gives_away() -> None:
    """Support that differs is found, by an outcome that only one input can give."""

    def program(x: int) -> str:
        return "rare" if x and random.random() < 0.05 else "usual"

    found = lw.audit_program(program, [0, 1], epsilon=3.0, samples=60_000)
    assert found.verdict == "refuted"
    assert found.events["ldp"].outcomes == ("rare",)


def test_answers_of_many_kinds() -> None:
    assert learned_outcomes([np.array([1, 2]), [1, 2], float("nan"), "a"]).names == (
        "(1, 2) (ndarray)",
        "(1, 2) (list)",
        "nan",
        "a",
        "(any other)",
    )
    table = learned_outcomes(["a", "b"]).table([["a", "b", "c"], ["a", "a", "a"]])
    assert table.tolist() == [[1, 1, 1], [3, 0, 0]]
    cells = Cells(np.array([[50, 50], [100, 0]]), math.log(0.01))
    assert cells.ldp() == math.inf
    assert cells.maximal() <= math.log(2) + 1e-9
    assert declared_outcomes(["a", "b"]).complete


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"x": [0, 1], "y": [0]}, "same length"),
        ({"x": "ab", "y": "ab"}, "must be a list"),
        ({"x": [0] * 40 + [1], "y": [0] * 41}, "at least 20 times"),
        ({"x": [0] * 40, "y": [0] * 40}, "at least two inputs"),
        ({"x": [0, 1] * 40, "y": [0, 1] * 40, "outputs": [0]}, "none of them"),
        ({"x": [0, 1] * 40, "y": [0, 1] * 40, "measure": "ldp"}, "give epsilon="),
        ({"x": [0, 1] * 40, "y": [0, 1] * 40, "measure": "pml", "epsilon": 1}, "depends on the prior"),
        ({"x": [0, 1] * 40, "y": [0, {}] * 40}, "what an attacker sees"),
        ({"x": [0, 1] * 40, "y": [0, 2] * 40, "outputs": lw.bins(0, 1, 2)}, "must cover"),
        ({"x": [0, 1] * 40, "y": ["a", "b"] * 40, "outputs": lw.bins(0, 1, 2)}, "must be numbers"),
        ({"x": [0, 1] * 40, "y": [0, 1] * 40, "failure": 1.5}, "failure"),
    ],
)
def test_bad_samples(options: dict[str, object], words: str) -> None:
    with pytest.raises(lw.InvalidInput, match=words):
        lw.audit_samples(**options)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"inputs": [0, 1], "samples": 10}, "samples must be"),
        ({}, "inputs must list"),
        ({"inputs": [0, 1], "width": 0.1}, "width needs outputs"),
        ({"inputs": [0, 1], "batch": True}, "must give back"),
    ],
)
def test_bad_programs(options: dict[str, object], words: str) -> None:
    with pytest.raises(lw.InvalidInput, match=words):
        lw.audit_program(lambda x, n=1: [x], **options)


# ----------------------------------------------------------------------------------- answers that are equal and differ


class Same:
    """Equal to the number one, whatever it carries."""

    def __init__(self, secret: object) -> None:
        self.secret = secret

    def __eq__(self, other: object) -> bool:
        return isinstance(other, (Same, int)) and (isinstance(other, Same) or other == 1)

    def __hash__(self) -> int:
        return hash(1)


class Text(str):
    """A text that may carry more than itself."""


NAN = struct.unpack("<d", struct.pack("<Q", 0x7FF8000000000000))[0]
OTHER_NAN = struct.unpack("<d", struct.pack("<Q", 0x7FF8000000000001))[0]


@pytest.mark.parametrize(
    ("outputs", "answers"),
    [
        ([0.0, 1.0], (0.0, -0.0)),
        ([0, 1], (1, True)),
        ([0, 1], (1, 1.0)),
        ([0, 1], (1, Decimal(1))),
        ([0, 1], (1, Fraction(1))),
        ([0, 1], (1, np.int64(1))),
        ([0, 1], (np.int32(1), np.int64(1))),
        ([0, 1], (1, 1 + 0j)),
        ([0, 1], (1, Same(0))),
        ([0, 1], (Same(0), Same(1))),
        ([Decimal(1), Decimal(2)], (Decimal("1.0"), Decimal("1.00"))),
        (["nan", "x"], (math.nan, "nan")),
        (["nan", "x"], (NAN, OTHER_NAN)),
        (["a", "b"], ("a", np.str_("a"))),
        (["a", "b"], (Text("a"), Text("a"))),
        ([(0, 0.0), (1, 1.0)], ((0, 0.0), (False, -0.0))),
        ([(0, (1,)), (1, (1,))], ((0, (1,)), (0, (True,)))),
        ([(0, 1), (1, 0)], ((0, 1), [0, 1])),
        ([(0, 1), (1, 0)], ((0, 1), np.array([0, 1]))),
        (
            [datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC), 0],
            (
                datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC),
                datetime.datetime(2020, 1, 1, 1, tzinfo=datetime.timezone(datetime.timedelta(hours=1))),
            ),
        ),
        ([datetime.datetime(2020, 1, 1), 0], (datetime.datetime(2020, 1, 1), datetime.datetime(2020, 1, 1, fold=1))),
        (lw.bins(0, 1, 2), (0.1, 0.2)),
        (lw.bins(0, 1, 2), (0.0, -0.0)),
    ],
)
def test_a_program_that_leaks_everything_is_not_confirmed(outputs: Any, answers: tuple[Any, Any]) -> None:
    """One answer for each secret, equal to each other or in one bin: it tells all, and the table shows nothing."""
    x = [0, 1] * 3000
    found = lw.audit_samples(x, [answers[secret] for secret in x], outputs=outputs, epsilon=1.0, prior=[0.5, 0.5])
    assert found.verdict == "at least"
    assert found.put_together is not None
    assert found.put_together in found.sentence
    assert all(math.isinf(one.upper) for one in found.measures.values())
    assert found.to_dict()["put_together"] == found.put_together
    run = lw.audit_program(lambda secret: answers[secret], [0, 1], outputs=outputs, epsilon=1.0, samples=5_000)
    assert run.verdict == "at least"
    # Without a list the answers are taken as they are, and where they can be told apart they are.
    if not isinstance(answers[0], (Same, Text)) and isinstance(outputs, list) and outputs[-1] != 0:
        assert lw.audit_samples(x, [answers[secret] for secret in x], epsilon=1.0).verdict == "refuted"


def test_a_batch_whose_type_tells_the_input_is_not_confirmed() -> None:
    def program(x: int, count: int) -> np.ndarray:
        return np.ones(count, dtype=np.int32 if x else np.int64)

    assert lw.audit_program(program, [0, 1], outputs=[1], epsilon=1.0, samples=5_000, batch=True).verdict == "at least"
    assert lw.audit_program(program, [0, 1], epsilon=1.0, samples=5_000, batch=True).verdict == "refuted"


def test_answers_that_are_always_of_one_form_are_confirmed() -> None:
    """The declared labels may be of another type than the answers: what counts is that no two answers are one label."""
    generator = np.random.default_rng(8)
    coin = (generator.random(10_000) < 0.5).astype(np.int8)
    x = [0, 1] * 5_000
    for y in (coin, coin.tolist(), coin.astype(np.float32), [np.int64(v) for v in coin], coin.astype(bool)):
        found = lw.audit_samples(x, y, outputs=[0, 1], epsilon=0.3)
        assert found.verdict == "confirmed", found
        assert "nothing but the declared outputs" in found.sentence
    texts = ["\u00e9" if v else "e\u0301" for v in coin]  # alike on the screen, different texts, and so declared
    assert lw.audit_samples(x, texts, outputs=["\u00e9", "e\u0301"], epsilon=0.3).verdict == "confirmed"
    with pytest.raises(lw.InvalidInput, match="none of them"):
        lw.audit_samples(x, ["a" if v else b"a" for v in coin], outputs=["a", "b"])


def test_secrets_that_differ_and_are_counted_as_one_give_no_upper_bound() -> None:
    x = [1, True, 0, 0] * 2_000
    y = ["a" if secret is True else "b" for secret in x]
    y[2::4] = ["a"] * 2_000
    found = lw.audit_samples(x, y, outputs=["a", "b"], inputs=[0, 1], epsilon=1.0)
    assert found.verdict == "at least"
    assert "secrets that differ were counted as one: 1 (int) and True (bool)" in found.sentence


def test_an_upper_end_is_withdrawn_when_a_second_form_turns_up() -> None:
    coin, calls = random.Random(3), 0

    def program(x: int) -> object:
        nonlocal calls
        calls += 1
        if calls == 6_000:
            return True
        return int(coin.random() < 0.5)

    rounds: list[lw.results.BlackBoxAudit] = []
    found = lw.audit_program(program, [0, 1], outputs=[0, 1], epsilon=0.01, samples=20_000, progress=rounds.append)
    assert math.isfinite(rounds[0].measures["ldp"].upper)
    assert math.isinf(found.measures["ldp"].upper)
    assert found.verdict == "at least"


def test_many_numbers_and_a_rare_text_are_judged_together() -> None:
    generator, calls = np.random.default_rng(9), 0

    def program(x: int) -> object:
        nonlocal calls
        calls += 1
        if calls > 4_000 and calls % 500 == 0:
            return "failed"
        if x and generator.random() < 0.02:
            return -math.inf
        return 10**400 if calls == 3_000 else float(generator.normal())

    found = lw.audit_program(program, [0, 1], epsilon=20.0, samples=20_000)
    assert found.verdict == "at least"
    assert "bins" in found.sentence
    assert found.outcomes[0] == "-inf"
    assert "failed" in found.outcomes
    assert found.measures["ldp"].lower > 0.5
    assert found.events["ldp"].outcomes == ("-inf",)
    with pytest.raises(lw.InvalidInput, match="width needs outputs that are labels"):
        lw.audit_program(program, [0, 1], outputs=lw.bins(0, 1, 2), width=0.1)


def test_numbers_that_come_often_are_not_hidden_in_a_bin() -> None:
    """The secret is the sign of a zero among continuous answers; a bin holds both zeros."""
    generator = np.random.default_rng(10)

    def program(x: int, count: int) -> list[float]:
        zero = -0.0 if x else 0.0
        return np.where(generator.random(count) < 0.2, zero, generator.normal(size=count)).tolist()

    found = lw.audit_program(program, [0, 1], epsilon=2.0, samples=50_000, batch=True)
    assert found.verdict == "refuted"
    assert set(found.events["ldp"].outcomes) <= {"0.0", "-0.0"}


def test_a_program_that_cannot_be_called_is_refused() -> None:
    not_a_program: Any = 3
    with pytest.raises(lw.InvalidInput, match="program must be a function"):
        lw.audit_program(not_a_program, [0, 1], epsilon=1)
