"""A column that is said to be unrelated to the secret is tested, by bounds that hold for any number of rows."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.stats import hypergeom

from leakwise.tables.strata.unrelated import Cells, _all_cells, _chernoff, evidence
from leakwise.types import Array

LETTERS = ["a", "b", "c"]


def cells_of(strata: Array, values: Array, secret: Array, letters: int = 3) -> Cells:
    keys, places = np.unique(strata.astype(np.int64) << 32 | values, return_inverse=True)
    counts = np.bincount(places * letters + secret, minlength=keys.size * letters).reshape(-1, letters)
    return Cells(keys >> 32, keys & 0xFFFFFFFF, counts)


def test_false_alarms_are_no_more_frequent_than_stated() -> None:
    """At a rate of 0.2, over tables of every shape whose column depends on the stratum but not on the secret."""
    rng = np.random.default_rng(23)
    alarms = 0
    for _ in range(500):
        rows, values = int(rng.integers(4, 400)), int(rng.integers(2, 300))
        strata = rng.integers(0, rng.integers(1, 6), rows)
        secret = (rng.random(rows) < 0.2 + 0.1 * strata).astype(np.int64) + (rng.random(rows) < 0.1)
        column = (strata * 7 + rng.geometric(0.05, rows)) % values
        found = evidence(cells_of(strata, column, secret), LETTERS, "zip", range(values), alarm=0.2)
        alarms += found is not None
    assert alarms <= 100


def test_a_single_value_that_tells_is_found_with_its_lift() -> None:
    rng = np.random.default_rng(1)
    strata, column = rng.integers(0, 2, 5000), rng.integers(0, 40, 5000)
    secret = np.where((column == 7) & (rng.random(5000) < 0.6), 2, rng.integers(0, 2, 5000))
    found = evidence(
        cells_of(strata, column, secret), LETTERS, "zip", [f"Z{z:02}" for z in range(40)], lambda u: f"sex = {'fm'[u]}"
    )
    assert found is not None
    assert found.lift > found.least > 5
    assert "rows where zip = Z07 and sex = " in found.words
    assert "have 'c'" in found.words


def test_what_the_given_columns_tell_already_is_no_contradiction() -> None:
    """Column and secret both follow the stratum: alone they are related, given the stratum they are not."""
    rng = np.random.default_rng(2)
    strata = rng.integers(0, 2, 4000)
    secret = (rng.random(4000) < 0.1 + 0.8 * strata).astype(np.int64)
    column = (rng.random(4000) < 0.1 + 0.8 * strata).astype(np.int64)
    assert evidence(cells_of(strata, column, secret), LETTERS, "zip", [0, 1]) is None
    assert evidence(cells_of(strata * 0, column, secret), LETTERS, "zip", [0, 1]) is not None


def test_many_values_that_each_tell_little_are_found_together() -> None:
    rng = np.random.default_rng(3)
    column = rng.integers(0, 1000, 40_000)
    secret = (rng.random(40_000) < 0.5 + 0.08 * rng.choice([-1, 1], 1000)[column]).astype(np.int64)
    found = evidence(cells_of(column * 0, column, secret), LETTERS, "zip", range(1000))
    assert found is not None
    assert "gives the rows 10^" in found.words


def test_ages_that_tell_by_and_by_are_found() -> None:
    """Seventy values in two strata: no single age is sure, those below forty together are."""
    rng = np.random.default_rng(5)
    strata, column = rng.integers(0, 2, 3_000), rng.integers(0, 70, 3_000)
    secret = (rng.random(3_000) < 0.2 + 0.2 * (column < 22)).astype(np.int64)
    found = evidence(cells_of(strata, column, secret), LETTERS, "age", range(18, 88))
    assert found is not None
    assert "age is between 18 and " in found.words


def test_neighbours_among_a_hundred_thousand_values_are_found_together() -> None:
    """Every value occurs once: only runs of them can tell."""
    rng = np.random.default_rng(4)
    column = rng.permutation(100_000)
    secret = (rng.random(100_000) < 0.3 + 0.4 * (column > 90_000)).astype(np.int64)
    found = evidence(cells_of(column * 0, column, secret), LETTERS, "salary", range(100_000))
    assert found is not None
    assert "salary is between " in found.words


@pytest.mark.parametrize("column", [[0, 0, 1, 1, 1, 2], [0, 1, 2, 3, 4, 5], [0, 0, 0, 1, 1, 1]])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.8])
def test_the_ratio_has_an_expectation_of_at_most_one(column: list[int], share: float) -> None:
    """Over all secrets of six rows in two strata, of which each has frequencies of its own: Markov then bounds it."""
    strata, values = np.array([0, 0, 0, 1, 1, 1]), np.array(column)
    shares = np.where(strata == 0, share, 0.3)
    mean = 0.0
    for secret in itertools.product([0, 1], repeat=6):
        chance = np.prod(np.where(np.array(secret) == 1, shares, 1 - shares))
        mean += chance * np.exp(_all_cells(cells_of(strata, values, np.array(secret), 2)))
    assert mean <= 1


def test_the_bound_on_a_cell_is_above_the_exact_probability() -> None:
    for whole, of_letter, rows in [(50, 10, 8), (200, 3, 40), (30, 29, 10), (1000, 500, 20)]:
        law = hypergeom(whole, of_letter, rows)
        for seen in range(max(0, rows + of_letter - whole), min(rows, of_letter) + 1):
            tail = law.sf(seen - 1) if seen / rows >= of_letter / whole else law.cdf(seen)
            args = np.array([float(seen)]), np.array([float(rows)]), np.array([of_letter / whole])
            assert np.exp(_chernoff(*args)[0]) >= tail * (1 - 1e-9)


def test_a_column_that_is_the_stratum_itself_or_that_has_one_value_says_nothing() -> None:
    secret = np.arange(300) % 3
    strata = np.arange(300) % 5
    assert evidence(cells_of(strata, strata, secret), LETTERS, "sex", range(5)) is None
    assert evidence(cells_of(strata, strata * 0, secret), LETTERS, "sex", range(1)) is None
