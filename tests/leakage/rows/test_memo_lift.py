"""Releases that repeat: what they tell together, beside the definition summed over all outcomes of all values."""

from __future__ import annotations

import itertools
import operator
from collections import defaultdict
from fractions import Fraction

import numpy as np
import pytest

import leakwise as lw
from leakwise.leakage.measures.differential import ldp_ratio

LETTERS = "abcd"


def mechanism(rng: np.random.Generator, size: int, outcomes: int, *, zeros: bool = False) -> lw.Mechanism:
    weights = rng.integers(0 if zeros else 1, 9, (size, outcomes))
    weights[:, -1] += 1
    rows = [[Fraction(int(one), int(row.sum())) for one in row] for row in weights]
    return lw.Mechanism(rows, inputs=list(LETTERS[:size]), outputs=list(range(outcomes)))


def by_definition(m: lw.Mechanism, law: dict[tuple[str, ...], int]):
    """P(y | history) from the joint distribution of one outcome for each value, drawn once and for all."""
    rows = {
        value: [Fraction(int(w), m.denominator) for w in row] for value, row in zip(m.inputs, m.weights, strict=True)
    }
    chance: dict[tuple[str, ...], dict[tuple[int, ...], Fraction]] = {}
    for history in law:
        chance[history] = defaultdict(Fraction)
        for drawn in itertools.product(range(len(m.outputs)), repeat=len(m.inputs)):
            outcome = dict(zip(m.inputs, drawn, strict=True))
            whole = Fraction(1)
            for value in m.inputs:
                whole *= rows[value][outcome[value]]
            chance[history][tuple(outcome[value] for value in history)] += whole
    return chance


def largest_lift(chance, law, guess) -> Fraction:
    """Over all guesses (values of a function of the history) and all that can be seen: posterior over prior."""
    total = sum(law.values())
    prior, seen, both = defaultdict(Fraction), defaultdict(Fraction), defaultdict(Fraction)
    for history, weight in law.items():
        prior[guess(history)] += Fraction(weight, total)
        for shown, one in chance[history].items():
            seen[shown] += one * weight / total
            both[guess(history), shown] += one * weight / total
    return max(one / (prior[what] * seen[shown]) for (what, shown), one in both.items() if one)


def changes(history):
    return tuple(history.index(value) for value in history)


def by_changes(law):
    parts = defaultdict(dict)
    for history, weight in law.items():
        parts[changes(history)][history] = weight
    return parts


CASES = [(seed, *shape) for seed, shape in enumerate(itertools.product((2, 3), (2, 3), (1, 2, 3, 4)))]


@pytest.mark.parametrize(("seed", "size", "outcomes", "times"), CASES)
def test_lifts_are_those_of_the_definition_and_within_the_limits(seed, size, outcomes, times):
    rng = np.random.default_rng(seed)
    m = mechanism(rng, size, outcomes, zeros=seed % 3 == 0)
    every = list(itertools.product(LETTERS[:size], repeat=times))
    chosen = [every[place] for place in rng.permutation(len(every))[: max(2, len(every) // 2)]]
    law = {history: int(rng.integers(1, 20) ** 2) for history in chosen}
    chance = by_definition(m, law)
    parts = by_changes(law)
    found = lw.measures.memo_lift(m, law)

    assert found.times_unknown == largest_lift(chance, law, lambda history: history)
    whole = max(largest_lift(chance, part, lambda history: history) for part in parts.values())
    assert whole <= found.history <= whole * (1 + Fraction(1, 10**11))
    for place in range(times):
        at = max(largest_lift(chance, part, operator.itemgetter(place)) for part in parts.values())
        assert at <= found.at[place] <= at * (1 + Fraction(1, 10**11))
        assert at <= whole

    anyone = ldp_ratio(m)
    if anyone is not None:
        assert found.limit is not None
        for pattern, part in parts.items():
            several = len(set(pattern))
            first = largest_lift(chance, part, lambda history: history)
            assert first <= anyone**several
        assert whole <= found.limit


@pytest.mark.parametrize("times", [1, 2, 3, 4])
def test_a_value_that_never_changes_is_told_once_however_often_it_is_released(times):
    m = mechanism(np.random.default_rng(5), 3, 3)
    weights = {"a": 5, "b": 3, "c": 2}
    once = lw.measures.row_lift(lw.Prior(weights), {"s": m}).row.upper
    law = {(value,) * times: weight for value, weight in weights.items()}
    chance = by_definition(m, law)
    assert largest_lift(chance, law, lambda history: history) == once
    found = lw.measures.memo_lift(m, law)
    assert found.history == found.times_unknown == found.limit == once
    assert found.at == (once,) * times


def test_a_value_that_comes_back_is_not_a_further_one():
    m = lw.randomized_response(["a", "b"], lift=3)
    returned = {("a", "b", "a"): 1, ("b", "a", "b"): 1}
    twice = {("a", "b"): 1, ("b", "a"): 1}
    assert lw.measures.memo_lift(m, returned).history == lw.measures.memo_lift(m, twice).history


def test_a_changed_value_is_not_within_the_square_of_the_lift():
    """Who knows that a changes to b, and nothing else does, learns more than two lifts for the prior allow."""
    m = lw.Mechanism([["8/16", "4/16", "4/16"], ["4/16", "8/16", "4/16"], ["1/16", "1/16", "14/16"]], list("abc"))
    law = {("a", "b"): 1, ("c", "b"): 4999, ("b", "c"): 5000}
    found = lw.measures.memo_lift(m, law)
    first = {value: sum(weight for (one, _), weight in law.items() if one == value) for value in "abc"}
    lift = lw.measures.row_lift(lw.Prior(first), {"s": m}).row.upper
    assert lift**2 < found.history <= found.limit


def test_the_limit_is_nearly_attained():
    """t·a: the first value by its prior, the second by the worst belief about it."""
    rows = [["1/2" if one == other else "1/6" for other in LETTERS] for one in LETTERS]
    m = lw.Mechanism(rows, inputs=list(LETTERS))
    rare = Fraction(1, 10**9)
    law = {("a", "b"): rare, ("a", "c"): Fraction(1, 4) - rare, ("b", "c"): "1/4", ("c", "d"): "1/4", ("d", "c"): "1/4"}
    found = lw.measures.memo_lift(m, law)
    assert found.limit == 2 * 3
    assert found.limit * Fraction(99, 100) < found.history <= found.limit


def test_that_a_value_changed_is_not_hidden():
    m = lw.randomized_response(["a", "b"], lift=3)
    rare = Fraction(1, 1000)
    found = lw.measures.memo_lift(m, {("a", "a"): (1 - rare) / 2, ("b", "b"): (1 - rare) / 2, ("a", "b"): rare})
    assert found.times_unknown == 1000
    assert found.history <= 2


def test_a_mechanism_with_zeros_has_no_limit_for_values_that_change():
    m = lw.Mechanism([[0, "1/2", "1/2"], ["1/2", 0, "1/2"], ["1/2", "1/2", 0]], list("abc"))
    assert lw.measures.memo_lift(m, {("a", "a"): 1, ("b", "b"): 1, ("c", "c"): 1}).limit == Fraction(3, 2)
    assert lw.measures.memo_lift(m, {("a", "b"): 1, ("b", "a"): 1, ("c", "c"): 1}).limit is None


def test_it_prints_what_is_told():
    found = lw.measures.memo_lift(lw.randomized_response(["a", "b"], lift=3), {("a", "b"): 1, ("b", "b"): 1})
    assert "the value at time 2" in str(found)
    assert found.to_dict()["limit"] == float(found.limit)


@pytest.mark.parametrize(
    ("histories", "named"),
    [
        ({"a": 1, "b": 1}, "tuples of values"),
        ({("a",): 1, ("a", "b"): 1}, "all of one length"),
        ({("a", "x"): 1, ("b", "b"): 1}, "'x', which the mechanism does not know"),
        ({(*"ab" * 5, *LETTERS): 1, tuple("a" * 14): 1}, None),
    ],
)
def test_what_is_not_a_prior_of_histories_is_refused(histories, named):
    m = mechanism(np.random.default_rng(0), 4, 3)
    if named is None:
        assert len(lw.measures.memo_lift(m, histories).at) == 14
        return
    with pytest.raises(lw.InvalidInput, match=named):
        lw.measures.memo_lift(m, histories)


def test_too_many_pairs_are_refused():
    m = lw.randomized_response(list(range(40)), lift=2)
    law = {tuple(range(place, place + 4)): 1 for place in range(36)}
    with pytest.raises(lw.InvalidInput, match="pairs of a history"):
        lw.measures.memo_lift(m, law)
