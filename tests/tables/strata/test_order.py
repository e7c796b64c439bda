"""The order of rows within strata: false alarms are as rare as stated, and what position tells beyond them is found."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from leakwise.tables.release.row_order_ratios import log_won
from leakwise.tables.strata.order import StratifiedOrder, _Blocks


def verdict(codes: np.ndarray, strata: np.ndarray, labels: int = 2, parts: int = 1) -> float:
    order = StratifiedOrder(range(labels))
    for part, (some, own) in enumerate(zip(np.array_split(codes, parts), np.array_split(strata, parts), strict=True)):
        order.add(some, own, part)
    return order.verdict().p_value


def arrangements(codes: list[int], strata: list[int]) -> list[tuple[int, ...]]:
    """Every arrangement of the codes among the rows of each stratum, as often as it comes up."""
    places = [[row for row, own in enumerate(strata) if own == one] for one in sorted(set(strata))]
    found = []
    for several in itertools.product(*(itertools.permutations([codes[row] for row in rows]) for rows in places)):
        whole = [0] * len(codes)
        for rows, values in zip(places, several, strict=True):
            for row, value in zip(rows, values, strict=True):
                whole[row] = value
        found.append(tuple(whole))
    return found


CODES, STRATA = [0, 1, 1, 0, 2, 0, 1, 1, 0], [0, 1, 0, 1, 1, 0, 0, 1, 2]


def test_bets_within_strata_have_expectation_one() -> None:
    rows = np.argsort(STRATA, kind="stable")
    own = np.array(STRATA)[rows]
    won = [math.exp(log_won(np.array(one)[rows], own)) for one in arrangements(CODES, STRATA)]
    assert np.mean(won) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("size", [2, 3])
def test_likelihood_ratios_of_blocks_have_expectation_at_most_one(size: int) -> None:
    rows = np.argsort(STRATA, kind="stable")
    own = np.array(STRATA)[rows]
    ratios = []
    for one in arrangements(CODES, STRATA):
        values, blocks = np.array(one)[rows], _Blocks(size, 3)
        counts = np.bincount(own * 3 + values, minlength=9).reshape(3, 3)
        # In two batches, so that blocks are left open in between.
        for half in (np.flatnonzero(rows < 5), np.flatnonzero(rows >= 5)):
            starts = np.flatnonzero(np.diff(own[half], prepend=-1))
            blocks.add(values[half], own[half], starts, 3)
        blocks.close()
        ratios.append(math.exp(blocks.scores.log_ratio(counts)))
    assert 0.2 < np.mean(ratios) <= 1 + 1e-12
    assert max(ratios) > min(ratios)


@pytest.mark.parametrize(("strata", "parts"), [(3, 1), (40, 4), (500, 1)])
def test_false_alarms_are_as_rare_as_stated(strata: int, parts: int) -> None:
    """Rows are sorted by stratum and the secret goes with it: the order tells nothing beyond that."""
    generator = np.random.default_rng(strata)
    shares = generator.random(strata)
    found = []
    for _ in range(200):
        own = np.sort(generator.integers(0, strata, 1500))
        found.append(verdict((generator.random(1500) < shares[own]).astype(int), own, parts=parts))
    assert np.mean(np.array(found) <= 0.2) <= 0.2
    assert min(found) > 1e-5


@pytest.mark.parametrize("rows_each", [4, 10, 100, 1000])
def test_a_table_sorted_by_the_secret_is_found_in_strata_of_every_size(rows_each: int) -> None:
    generator = np.random.default_rng(1)
    own = np.tile(np.arange(4000 // rows_each), rows_each)
    codes = np.sort(generator.integers(0, 2, 4000))
    assert verdict(codes, own) < 1e-9
    assert verdict(codes[generator.permutation(4000)], own) > 1e-4


def test_a_slow_drift_within_small_strata_is_found() -> None:
    generator = np.random.default_rng(2)
    rows = np.arange(20_000)
    codes = (generator.random(20_000) < 0.3 + 0.4 * rows / 20_000).astype(int)
    assert verdict(codes, generator.integers(0, 4000, 20_000)) < 1e-9


def test_parts_that_differ_within_strata_are_found() -> None:
    generator = np.random.default_rng(3)
    own = generator.integers(0, 50, 8000)
    codes = np.concatenate([(generator.random(1000) < share).astype(int) for share in (0.2, 0.8) * 4])
    assert verdict(codes, own, parts=8) < 1e-9


def test_rows_that_are_alone_in_their_stratum_or_in_none_tell_nothing() -> None:
    codes = np.repeat([0, 1], 500)
    assert verdict(codes, np.arange(1000)) == 1
    assert verdict(codes, np.full(1000, -1)) == 1


def test_many_values_are_looked_at_in_groups_of_neighbours() -> None:
    generator = np.random.default_rng(4)
    codes = np.sort(generator.integers(0, 300, 6000))
    own = generator.integers(0, 300, 6000)
    assert verdict(codes, own, labels=300) < 1e-9
    assert verdict(generator.permutation(codes), own, labels=300) > 1e-4


def test_parts_seen_apart_are_merged_as_if_seen_together() -> None:
    generator = np.random.default_rng(5)
    own = generator.integers(0, 30, 3000)
    codes = (generator.random(3000) < 0.1 + 0.8 * np.arange(3000) / 3000).astype(int)
    whole, merged = StratifiedOrder(range(2)), StratifiedOrder(range(2))
    for part, rows in enumerate(np.array_split(np.arange(3000), 3)):
        whole.add(codes[rows], own[rows], part)
        later = StratifiedOrder(range(2))
        later.add(codes[rows], own[rows], part)
        if part:
            merged.merge(later)
        else:
            merged = later
    assert merged.verdict() == whole.verdict()
    assert merged.verdict().p_value < 1e-6
