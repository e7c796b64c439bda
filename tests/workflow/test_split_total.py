"""A total for the whole row split among secrets: kept exactly, no more than asked for each, and the best on a grid."""

import functools
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

import leakwise as lw
from leakwise.workflow.limits import release_limits
from leakwise.workflow.split_total import split_total

PRIORS = {"a": lw.Prior([0.7, 0.3]), "b": lw.Prior([0.5, 0.3, 0.2]), "c": lw.Prior([0.4, 0.3, 0.2, 0.1])}


@functools.cache
def variance(prior, lift):
    return -lw.design(prior, release_limits(lift=lift), utility="frequencies").value


def relative_losses(priors, asked, found):
    return sum(variance(priors[key], found[key]) / variance(priors[key], asked[key]) for key in asked)


def best_of_a_grid(priors, asked, total, steps=20):
    """The least sum over all lifts on a fine grid, the last secret having what is left."""
    *others, last = asked
    grids = {key: np.exp(np.linspace(0, math.log(asked[key]), steps + 1)[1:]) for key in others}
    values = {
        key: [variance(priors[key], lift) / variance(priors[key], asked[key]) for lift in grids[key]] for key in others
    }
    best, where = math.inf, None
    rests = {}
    for places in itertools.product(range(steps), repeat=len(others)):
        left = min(asked[last], total / math.prod(grids[key][place] for key, place in zip(others, places, strict=True)))
        loss = sum(values[key][place] for key, place in zip(others, places, strict=True))
        if left <= 1.001 or loss >= best:
            continue
        left = round(left, 2)
        if left not in rests:
            rests[left] = variance(priors[last], left) / variance(priors[last], asked[last])
        if loss + rests[left] < best:
            best, where = loss + rests[left], places
    return best, where


@pytest.mark.parametrize(
    ("asked", "total"),
    [({"a": 2, "b": 2}, 2), ({"a": 2, "b": 3}, 3.5), ({"b": 5, "c": 1.5}, 5), ({"b": 1.5, "c": 1.5}, 1.6)],
)
def test_no_split_on_a_fine_grid_is_better(asked, total):
    found = split_total(asked, PRIORS, total)
    assert relative_losses(PRIORS, asked, found.lifts) <= 1.005 * best_of_a_grid(PRIORS, asked, total)[0]


def test_three_secrets_are_split_as_well_as_by_a_grid():
    asked = {"a": 2, "b": 2, "c": 2}
    found = split_total(asked, PRIORS, 3)
    assert relative_losses(PRIORS, asked, found.lifts) <= 1.005 * best_of_a_grid(PRIORS, asked, 3, 10)[0]


@pytest.mark.parametrize("total", [2, 2.1, "2.5", Fraction(7, 3), 3.999, math.nextafter(4, 0)])
def test_the_total_is_kept_exactly_and_used_up(total):
    found = split_total({"a": 2, "b": 2}, PRIORS, total)
    assert 0.999 * found.total <= found.product <= Fraction(total)
    assert all(1 < found.lifts[key] <= 2 for key in "ab")


def test_a_total_that_is_large_enough_changes_nothing():
    found = split_total({"a": 2, "b": 3}, PRIORS, 6)
    assert found.lifts == {"a": 2, "b": 3}
    assert found.times == {"a": 1, "b": 1}
    assert found.words == "The lifts that were asked keep the total of 6."


def test_a_total_below_what_one_secret_asks_is_refused():
    with pytest.raises(lw.InvalidInput, match=r"total \(--total\) is 2.9, and b alone asks for a lift of 3"):
        split_total({"a": 2, "b": 3}, PRIORS, 2.9)


def test_many_values_do_not_take_the_total_from_few():
    """Variances of twelve values are many times those of two: each is compared with its own."""
    priors = {"few": lw.Prior([0.6, 0.4]), "many": lw.Prior.uniform(12)}
    found = split_total({"few": 2, "many": 2}, priors, 2.5)
    assert found.lifts["few"] > 1.3
    assert max(found.times.values()) < 3
    shown = str(found)
    assert "many" in shown
    assert "variance, times that at the lift asked" in shown


def test_a_secret_of_which_nothing_is_learned_needs_no_lift():
    priors = {"a": PRIORS["a"], "one": lw.Prior({"x": 1})}
    found = split_total({"a": 2, "one": 3}, priors, 3)
    assert found.lifts["a"] == 2
    nothing = split_total({"a": 2, "b": 2, "c": 1}, PRIORS, 3)
    assert nothing.lifts["c"] == 1
    assert nothing.product > 2.99


def test_a_value_that_happens_to_be_the_only_one_seen_is_not_taken_as_certain():
    priors = {"a": PRIORS["a"], "seen": lw.Prior.from_counts({"x": 50, "y": 0})}
    assert split_total({"a": 2, "seen": 2}, priors, 2).lifts["seen"] > 1.2


def test_priors_by_stratum_and_limits_for_anyone_count():
    by = lw.PriorByStratum({"m": [0.9, 0.1], "f": [0.5, 0.5]}, {"sex": ["m", "f"]}, weights={"m": 0.5, "f": 0.5})
    asked = {"a": 2, "b": 2}
    found = split_total(asked, {"a": by, "b": PRIORS["b"]}, 2.5, anyone={"a": 3, "b": None})
    assert found.product <= Fraction("2.5")
    assert split_total(asked, {"a": by, "b": PRIORS["b"]}, 2.5).lifts != found.lifts


def test_for_reading_all_lifts_fall_alike_where_nothing_depends_on_them():
    priors = {"a": lw.Prior([0.9, 0.1]), "b": lw.Prior([0.9, 0.1])}
    found = split_total({"a": 1.5, "b": 1.5}, priors, 1.8, use="reading")
    assert abs(found.lifts["a"] - found.lifts["b"]) < 0.01
    assert found.product > Fraction("1.79")


def test_an_empty_mapping_and_a_missing_prior_are_refused():
    with pytest.raises(lw.InvalidInput, match="at least one secret"):
        split_total({}, {}, 2)
    with pytest.raises(lw.InvalidInput, match="z has none"):
        split_total({"a": 2, "z": 2}, PRIORS, 3)
