"""A prior: exact, frozen, labelled, and honest about what it was given."""

from __future__ import annotations

import copy
import math
import pickle
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import leakwise as lw
from leakwise.documents import write_document
from leakwise.errors import InvalidInput
from leakwise.priors import Prior, PriorSet, as_prior, as_prior_set
from leakwise.priors.prior import FORMAT, VERSION, PriorBody
from strategies import exp_bracket, laws

sizes = st.integers(1, 7)
weights_lists = st.lists(st.integers(0, 1000), min_size=1, max_size=8).filter(any)


def exact(prior: Prior) -> list[Fraction]:
    return [Fraction(int(weight), prior.denominator) for weight in prior.weights]


# -- ways in ---------------------------------------------------------------------------------------------------


@given(sizes.flatmap(laws))
def test_fractions_are_kept(law: list[Fraction]) -> None:
    prior = Prior(law)
    assert exact(prior) == law == list(prior.fractions)
    assert math.gcd(*prior.weights.tolist()) == 1
    assert sum(prior.weights.tolist()) == prior.denominator
    assert prior.probabilities.tolist() == [float(mass) for mass in law]
    assert prior.support.tolist() == [mass > 0 for mass in law]
    assert prior.least_probability == min(mass for mass in law if mass)
    assert prior.sample_size is None


@given(st.lists(st.floats(1e-300, 1.0), min_size=1, max_size=6))
def test_floats_are_normalised_exactly_by_their_sum(values: list[float]) -> None:
    values = [value / math.fsum(values) for value in values]
    binary = [Fraction(value) for value in values]
    assert exact(Prior(values)) == [value / sum(binary) for value in binary]
    assert exact(Prior(np.array(values))) == [value / sum(binary) for value in binary]


def test_masses_from_tiny_to_one() -> None:
    values = [1e-300, 1e-200, 5e-324, 0.0, 1.0]
    prior = Prior(values)
    total = sum(map(Fraction, values))
    assert exact(prior) == [Fraction(value) / total for value in values]
    assert prior.support.tolist() == [True, True, True, False, True]
    assert prior.probabilities.tolist() == values
    low, _ = exp_bracket(Fraction(math.nextafter(prior.epsilon_max, 0.0)))
    _, high = exp_bracket(Fraction(prior.epsilon_max))
    assert low < 1 / prior.least_probability <= high
    assert prior.region(lift=1) == 1


@given(weights_lists)
def test_whole_numbers_are_weights(weights: list[int]) -> None:
    expected = [Fraction(weight, sum(weights)) for weight in weights]
    assert exact(Prior(weights)) == expected
    assert exact(Prior(np.array(weights, dtype=np.int32))) == expected
    assert exact(Prior([np.int64(weight) for weight in weights])) == expected


@given(weights_lists)
def test_counts(counts: list[int]) -> None:
    expected = [Fraction(count, sum(counts)) for count in counts]
    for given_counts in (counts, np.array(counts, dtype=np.uint16), np.array(counts, dtype=float), pa.array(counts)):
        prior = Prior.from_counts(given_counts)
        assert exact(prior) == expected
        assert prior.sample_size == sum(counts)


def test_kinds_of_numbers() -> None:
    half = [Fraction(1, 2)] * 2
    for values in (
        ["0.5", "1/2"],
        [Decimal("0.5"), 0.5],
        ["50e-2", np.float32(0.5)],
        pl.Series([0.5, 0.5]),
        (0.5, 0.5),
    ):
        assert exact(Prior(values)) == half
    assert exact(Prior(iter([0.5, 0.5]))) == half
    assert exact(Prior(["0.1", "0.9"])) == [Fraction(1, 10), Fraction(9, 10)]
    assert exact(Prior([0.1, 0.9])) != [Fraction(1, 10), Fraction(9, 10)]


def test_labels_from_mappings_and_series() -> None:
    expected = Prior([0.5, 0.25, 0.25], labels=["a", "b", "c"])
    assert Prior({"a": 0.5, "b": 0.25, "c": 0.25}) == expected
    assert Prior(pd.Series({"a": 0.5, "b": 0.25, "c": 0.25})) == expected
    assert expected.labels == ("a", "b", "c")
    assert expected.alphabet.declared
    assert not Prior([0.5, 0.5]).alphabet.declared
    assert Prior.from_counts({"a": 2, "b": 1, "c": 1}) == expected


def test_uniform() -> None:
    assert exact(Prior.uniform(3)) == [Fraction(1, 3)] * 3
    assert Prior.uniform(["x", "y"]).labels == ("x", "y")
    one = Prior.uniform(1)
    assert (one.epsilon_max, one.regions().tolist(), one.region(5), len(one)) == (0.0, [0.0], 1, 1)


@pytest.mark.parametrize(
    "column",
    [
        ["no", "yes", "no"],
        np.array(["no", "yes", "no"]),
        pd.Series(["no", "yes", "no"], dtype="category"),
        pl.Series(["no", "yes", "no"]),
        pa.chunked_array([["no", "yes"], ["no"]]),
    ],
)
def test_data_with_a_declared_domain(column: Any) -> None:
    prior = Prior.from_data(column, domain=["yes", "no", "never"])
    assert exact(prior) == [Fraction(1, 3), Fraction(2, 3), 0]
    assert prior.sample_size == 3
    assert prior.labels == ("yes", "no", "never")
    assert prior.support.tolist() == [True, True, False]


def test_data_in_bins() -> None:
    prior = Prior.from_data([1.0, 55.0, 100.0, 51.0], domain=lw.bins(0, 100, 2))
    assert exact(prior) == [Fraction(1, 4), Fraction(3, 4)]
    assert prior.labels == ("[0, 50)", "[50, 100]")


# -- bad input -------------------------------------------------------------------------------------------------

BAD_PROBABILITIES: list[tuple[Any, str]] = [
    ([0.5, math.nan], "the probability of 1 must be finite. Got nan"),
    ({"a": 0.5, "b": math.inf}, "the probability of 'b' must be finite"),
    ([-0.5, 1.5], "must not be negative. Those of 0 are"),
    ([0.5, 0.6], r"sum to 1 \(within 1e-9\). They sum to 1.1000"),
    ([0.5, 0.5 - 2e-9], "must sum to 1"),
    (["0.5", "0.49"], "must sum to 1"),
    ([Fraction(1), Fraction(3)], "must sum to 1"),
    (["1e400", "0"], "must sum to 1"),
    ([0.0, 0.0], "They sum to 0 instead"),
    ([0, 0], "They sum to 0 instead"),
    ([], "at least one number"),
    (np.array([]), "at least one number"),
    ({}, "at least one label"),
    ("0.5", "a list of numbers or a mapping"),
    (0.5, "a list of numbers or a mapping"),
    (None, "a list of numbers or a mapping"),
    ({0.5, 0.25}, "a list of numbers or a mapping"),
    ([True, False], "write 1 or 0"),
    (np.array([True, False]), "write 1 or 0"),
    ([None, 1.0], "must be a number"),
    (np.array([[0.5, 0.5]]), "must be a number"),
    (np.ma.masked_array([0.5, 0.5], mask=[True, False]), "must be a number"),
    (["a", "b"], "such as 0.25"),
    ({math.nan: 1.0}, "must not hold nan"),
    ({1: 0.5, ("a", math.nan): 0.5}, "must not hold nan"),
    (pd.Series([0.5, 0.5], index=["a", "a"]), "different from each other"),
]


@pytest.mark.parametrize(("given_values", "message"), BAD_PROBABILITIES)
def test_bad_probabilities(given_values: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        Prior(given_values)


@pytest.mark.parametrize(
    ("given_counts", "message"),
    [
        ([1.5, 2], "must be whole numbers. Those of 0 are not"),
        ({"a": 1, "b": Fraction(1, 3)}, "Those of 'b' are not"),
        ([0.5, 1.5], "Those of 0, 1 are not"),
        ([-1, 2], "counts must not be negative. Those of 0"),
        ([0, 0], "must not all be zero"),
        ([math.nan, 1], "the count of 0 must be finite"),
        ([math.inf, 1], "must be finite"),
        ([], "counts must hold at least one"),
        ([True, False], "write 1 or 0"),
        (pd.Series([5, 3, 2], index=["a", "a", "b"]), "different from each other. Twice or more: 'a'"),
    ],
)
def test_bad_counts(given_counts: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        Prior.from_counts(given_counts)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["a"], "Got 1 labels for 2 numbers"),
        (["a", "b", "c"], "Got 3 labels for 2 numbers"),
        (["a", "a"], "different"),
        ([], "at least one label"),
        ("ab", "single text"),
        ([["a"], ["b"]], "plain values"),
    ],
)
def test_bad_labels(labels: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        Prior([0.5, 0.5], labels=labels)
    with pytest.raises(InvalidInput, match=message):
        Prior.from_counts([5, 5], labels=labels)


def test_labels_beside_a_mapping() -> None:
    with pytest.raises(InvalidInput, match="must not be given with a mapping"):
        Prior({"a": 1.0}, labels=["a"])


@pytest.mark.parametrize(
    ("column", "domain", "message"),
    [
        (["a"], None, "domain must be declared"),
        (["a"], [], "at least one"),
        (["a"], "a", "single text"),
        ([], ["a"], "at least one value"),
        (["a", "x", "y"], ["a"], "2 of 3 rows with values outside"),
        (["a", None], ["a"], "1 missing value among 2 rows"),
    ],
)
def test_bad_data(column: Any, domain: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        Prior.from_data(column, domain=domain)


@pytest.mark.parametrize("letters", [0, -3, 2.5, "abc", [], {"a": 1}])
def test_bad_letters_for_uniform(letters: Any) -> None:
    with pytest.raises(InvalidInput, match="letters must"):
        Prior.uniform(letters)


def test_a_sum_within_the_tolerance_is_normalised() -> None:
    prior = Prior([0.5, 0.5 - 5e-10])
    assert sum(exact(prior)) == 1


# -- regions ---------------------------------------------------------------------------------------------------


@given(sizes.flatmap(laws))
def test_epsilon_max_is_rounded_up(law: list[Fraction]) -> None:
    prior = Prior(law)
    truth = 1 / min(mass for mass in law if mass)
    assert exp_bracket(Fraction(prior.epsilon_max))[1] >= truth
    assert truth == 1 or exp_bracket(Fraction(math.nextafter(prior.epsilon_max, 0.0)))[0] < truth


@given(sizes.flatmap(laws), st.data())
def test_regions_follow_the_definition(law: list[Fraction], data: st.DataObject) -> None:
    """ε_k = -log of the mass of the N-k likeliest; region k iff ε_{k-1} ≤ ε < ε_k."""
    prior = Prior(law)
    support = sorted((mass for mass in law if mass), reverse=True)
    lifts = [1 / sum(support[: len(support) - k]) for k in range(len(support))]
    for border, lift in zip(prior.regions(), lifts, strict=True):
        assert exp_bracket(Fraction(border))[1] >= lift
        assert lift == 1 or exp_bracket(Fraction(math.nextafter(border, 0.0)))[0] < lift
    on_border = data.draw(st.sampled_from(lifts))
    for lift in (on_border, on_border + Fraction(1, 10**30), on_border - Fraction(1, 10**30), Fraction(3, 2), 10**9):
        if lift >= 1:
            assert prior.region(lift=lift) == sum(border <= lift for border in lifts)
    assert prior.region(0) == sum(border == 1 for border in lifts) == 1


def test_regions_by_epsilon() -> None:
    prior = Prior(["0.5", "0.25", "0.25"])
    assert [prior.region(epsilon) for epsilon in (0, 0.28, 0.29, 0.69, 0.7, 100)] == [1, 1, 2, 2, 3, 3]
    with pytest.raises(InvalidInput, match="at least 0"):
        prior.region(-1)
    with pytest.raises(InvalidInput, match="Got both"):
        prior.region(1, lift=2)


# -- as a set --------------------------------------------------------------------------------------------------


@given(sizes.flatmap(laws), st.data())
def test_least_mass_is_never_above_the_truth(law: list[Fraction], data: st.DataObject) -> None:
    entries = st.one_of(st.floats(0, 1), st.sampled_from([0.0, 1e-300, 5e-324, 1.0, 1e300]))
    columns = np.array([[data.draw(entries) for _ in range(3)] for _ in law])
    prior = Prior(law)
    found = prior.least_mass(columns)
    for j in range(3):
        truth = sum(mass * Fraction(columns[i, j]) for i, mass in enumerate(law))
        assert 0 <= Fraction(float(found[j])) <= truth
        assert Fraction(float(found[j])) >= truth * (1 - Fraction(1, 10**12)) - Fraction(1, 10**290)
    assert float(prior.least_mass(columns[:, 0])) == found[0] or len(law) > 1


def test_least_mass_where_probabilities_underflow() -> None:
    prior = Prior([Fraction(1, 10**400), 1 - Fraction(1, 10**400)])
    assert Fraction(float(prior.least_mass([1e100, 0.0]))) <= prior.fractions[0] * Fraction(1e100)


@given(sizes.flatmap(laws), st.data())
def test_exact_least_mass(law: list[Fraction], data: st.DataObject) -> None:
    column = [data.draw(st.integers(0, 2**80)) for _ in law]
    assert Prior(law).exact_least_mass(column) == sum(m * v for m, v in zip(law, column, strict=True))


def test_a_prior_is_a_set_of_one() -> None:
    prior = Prior([0.5, 0.5])
    assert isinstance(prior, PriorSet)
    assert prior.nominal is prior
    assert prior.failure == 0.0
    assert as_prior(prior) is as_prior_set(prior) is prior
    assert as_prior([0.5, 0.5]) == as_prior_set((0.5, 0.5)) == as_prior(np.array([0.5, 0.5])) == prior
    assert as_prior({"a": 1}).labels == as_prior(pd.Series({"a": 1})).labels == ("a",)
    for bad in (5, None, "0.5"):
        with pytest.raises(InvalidInput, match=r"prior must be a lw\.Prior|a list of numbers"):
            as_prior(bad)


class Pair(PriorSet):
    """A set that is no single prior."""

    alphabet = Prior.uniform(2).alphabet
    nominal = Prior.uniform(2)
    failure = 0.1
    support = np.array([True, True])

    def least_mass(self, columns: Any) -> Any: ...
    def exact_least_mass(self, column: Any) -> Any: ...
    def reordered(self, order: Any) -> Any: ...


def test_a_set_is_no_single_prior() -> None:
    pair = Pair()
    assert as_prior_set(pair) is pair
    with pytest.raises(InvalidInput, match=r"Got a set of priors: pass its \.nominal"):
        as_prior(pair)


def test_reordered() -> None:
    prior = Prior.from_counts({"a": 5, "b": 3, "c": 2})
    turned = prior.reordered(np.array([2, 0, 1]))
    assert turned == Prior({"c": 2, "a": 5, "b": 3})
    assert turned.sample_size == 10
    # Numbers that have moved are names, not positions.
    assert Prior([1, 2]).reordered(np.array([1, 0])).alphabet.declared


# -- frozen, equal, stored, shown ------------------------------------------------------------------------------


def test_a_prior_cannot_be_changed() -> None:
    prior = Prior([0.5, 0.5])
    for name in ("weights", "denominator", "sample_size", "anything"):
        with pytest.raises(AttributeError, match="cannot be changed"):
            setattr(prior, name, 1)
    for array in (prior.weights, prior.probabilities, prior.support):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_the_given_array_may_change_later() -> None:
    values = np.array([1, 3])
    prior = Prior(values)
    values[0] = 100
    assert exact(prior) == [Fraction(1, 4), Fraction(3, 4)]


def test_equality() -> None:
    assert Prior([0.5, 0.5]) == Prior([1, 1]) == Prior.from_counts([7, 7]) == Prior(["1/2", "0.5"])
    assert hash(Prior([0.5, 0.5])) == hash(Prior([1, 1]))
    assert Prior([0.5, 0.5]) != Prior([0.25, 0.75])
    assert Prior([1, 1], labels=["a", "b"]) != Prior([1, 1], labels=["b", "a"])
    assert Prior([1, 1]) != Prior([1, 1, 1])
    assert Prior([1]) != [1]


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda prior: pickle.loads(pickle.dumps(prior))])
def test_copies_are_equal(again: Any) -> None:
    prior = Prior.from_counts({"a": 1, "b": 2})
    assert again(prior) == prior


PRIORS = [
    Prior([0.5, 0.3, 0.2]),
    Prior.from_counts({"a": 500, ("b", 1): 300, None: 0}),
    Prior([1e-300, 1.0]),
    Prior([Fraction(1, 3**5000), 1 - Fraction(1, 3**5000)]),
    Prior.uniform(1),
    Prior.from_data([0.5], domain=lw.bins(0, 1, 2)),
]


@pytest.mark.parametrize("prior", PRIORS)
def test_files(prior: Prior, tmp_path: Path) -> None:
    prior.save(tmp_path / "prior.json")
    back = Prior.load(str(tmp_path / "prior.json"))
    assert back == prior
    assert back.sample_size == prior.sample_size
    assert back.alphabet.declared == prior.alphabet.declared
    assert back.denominator == prior.denominator


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (PriorBody(["a"], True, []), "one weight per label"),
        (PriorBody(["a", "b"], True, ["0x0", "0x0"]), "all its weights are zero"),
        (PriorBody(["a", "a"], True, ["0x1", "0x1"]), "different"),
        (PriorBody([0, 0], False, ["0x1", "0x1"]), "different"),
        (PriorBody(["a", "b"], False, ["0x1", "0x1"]), "letters without names"),
        (PriorBody([], True, []), "at least one"),
        (PriorBody(["a"], True, ["-0x1"]), "damaged"),
        (PriorBody(["a"], True, ["0.5"]), "damaged"),
        (PriorBody([{"a": 1}], True, ["0x1"]), "not a stored label"),
        (PriorBody(["a"], True, ["0x1"], -5), "-5 samples"),
        (PriorBody(["a"], True, ["0x1"], 0), "0 samples"),
    ],
)
def test_files_of_a_stranger(body: PriorBody, message: str, tmp_path: Path) -> None:
    write_document(tmp_path / "prior.json", FORMAT, VERSION, body)
    with pytest.raises(InvalidInput, match=message):
        Prior.load(tmp_path / "prior.json")


def test_a_mechanism_file_is_no_prior(tmp_path: Path) -> None:
    lw.identity(2).save(tmp_path / "m.json")
    with pytest.raises(InvalidInput, match=r"holds a 'leakwise\.mechanism'\. Expected a 'leakwise\.prior'"):
        Prior.load(tmp_path / "m.json")


def test_integers_keep_their_proportions_and_the_sample_size_that_is_said() -> None:
    prior = Prior.from_integers(["a", "b", "c"], [30, 0, np.int64(10)], sample_size=4000)
    assert prior.fractions == (Fraction(3, 4), 0, Fraction(1, 4))
    assert (prior.labels, prior.sample_size) == (("a", "b", "c"), 4000)
    assert Prior.from_integers(2, [2**70, 2**70]).sample_size is None
    bins = lw.bins(0, 2, 2)
    assert Prior.from_integers(bins, [1, 3]).alphabet is bins


@pytest.mark.parametrize(
    ("weights", "sample_size", "message"),
    [
        ([1], None, "weights must be as many as the labels. Got 1 for 2"),
        ([1, 2, 3], None, "Got 3 for 2"),
        ([1, -1], None, "weights must not be negative. Those of 'b' are"),
        ([0, 0], None, "weights must not all be zero"),
        ([1, 0.5], None, "weights must be whole numbers. Those of 'b'"),
        ([1, True], None, "the weight of 'b' must be a number"),
        ([1, 1], 0, "sample_size must be a whole number of rows, at least 1, or None. Got 0"),
        ([1, 1], 2.5, "sample_size must be a whole number"),
        ([1, 1], True, "sample_size must be a whole number"),
    ],
)
def test_integers_that_make_no_prior(weights: list[Any], sample_size: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        Prior.from_integers(["a", "b"], weights, sample_size)


def test_a_label_that_cannot_be_stored_leaves_no_file(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="cannot be stored"):
        Prior({Fraction(1, 3): 1}).save(tmp_path / "p.json")
    assert list(tmp_path.iterdir()) == []


def test_looks() -> None:
    prior = Prior.from_counts({"no": 750, "yes": 250})
    assert "Prior over 2 values, from 1,000 samples, ε_max = 1.3863" in repr(prior)
    assert "0.7500" in repr(prior)
    assert "yes" in repr(prior)


def test_what_is_almost_certain_is_not_shown_as_certain() -> None:
    tiny = Fraction(1, 10**400)
    shown = repr(Prior([tiny, 1 - tiny, 0])).splitlines()
    assert [line.split()[-1] for line in shown[-3:]] == ["1.000e-400", "1.0000", "0"]


def test_html_escapes_labels() -> None:
    html = Prior({"<script>alert(1)</script>": 1, "a&b": 1})._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html
    assert "a&amp;b" in html


def test_to_dict() -> None:
    plain = Prior.from_counts({"a": 2, ("b", 1): 1}).to_dict()
    assert plain["labels"] == ["a", {"tuple": ["b", 1]}]
    assert plain["exact"] == ["2/3", "1/3"]
    assert plain["probabilities"] == [2 / 3, 1 / 3]
    assert plain["sample_size"] == 3


# -- size ------------------------------------------------------------------------------------------------------


def test_a_million_letters() -> None:
    size = 10**6
    assert Prior.uniform(size).least_probability == Fraction(1, size)
    counts = np.arange(size)
    prior = Prior.from_counts(counts)
    assert prior.sample_size == size * (size - 1) // 2
    assert prior.weights[:3].tolist() == [0, 1, 2]
    values = (counts + 0.5) / (counts + 0.5).sum()
    floats = Prior(values)
    assert sum(floats.weights.tolist()) == floats.denominator
    total = Fraction(floats.denominator, int(floats.weights[7])) * Fraction(float(values[7]))
    assert floats.fractions[size - 1] == Fraction(float(values[-1])) / total
    assert "… 999980 more" in repr(floats)
