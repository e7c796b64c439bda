"""Strata of rows: numbered as they come, and found in a list, however many combinations there are."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from leakwise.alphabet import GivenColumns, ListedStrata, StratumCounts

SIZES = [(3,), (2, 5), (4, 3, 2), (1000, 1000, 7), (1000,) * 9]


def columns(sizes: tuple[int, ...]) -> GivenColumns:
    return GivenColumns({f"c{place}": range(size) for place, size in enumerate(sizes)})


def drawn(sizes: tuple[int, ...], rows: int, generator: np.random.Generator) -> list[np.ndarray]:
    """Codes of few different combinations, some with a value that is not declared."""
    combinations = [generator.integers(-(generator.random(12) < 0.1).astype(int), size, 12) for size in sizes]
    chosen = generator.integers(0, 12, rows)
    return [codes[chosen] for codes in combinations]


@pytest.mark.parametrize("sizes", SIZES)
def test_rows_are_counted_by_stratum_whatever_the_batches(sizes: tuple[int, ...]) -> None:
    generator = np.random.default_rng(len(sizes))
    given, counts = columns(sizes), StratumCounts(columns(sizes), 3)
    expected: Counter[tuple[tuple[int, ...], int]] = Counter()
    numbers: dict[tuple[int, ...], int] = {}
    for _ in range(4):
        rows, codes = drawn(sizes, 500, generator), generator.integers(0, 3, 500)
        for row, code, number in zip(zip(*rows, strict=True), codes, counts.add(rows, codes), strict=True):
            key = tuple(map(int, row))
            if min(key) < 0:
                assert number == -1
                continue
            assert numbers.setdefault(key, number) == number
            expected[key, int(code)] += 1
    found = counts.strata()
    assert list(found) == [given.coded(key) for key in sorted(numbers)]
    for key in numbers:
        assert found[given.coded(key)] == [expected[key, code] for code in range(3)]


@pytest.mark.parametrize("sizes", SIZES)
def test_listed_strata_are_found_and_others_are_not(sizes: tuple[int, ...]) -> None:
    generator = np.random.default_rng(7)
    given = columns(sizes)
    rows = drawn(sizes, 2000, generator)
    keys = [tuple(map(int, row)) for row in zip(*rows, strict=True)]
    known = sorted({key for key in keys if min(key) >= 0})
    listed = [known[place] for place in generator.permutation(len(known))[: max(1, len(known) // 2)]]
    found = ListedStrata(given, [given.coded(key) for key in listed]).find(rows)
    assert found.tolist() == [listed.index(key) if key in listed else -1 for key in keys]
    assert (ListedStrata(given, []).find(rows) == -1).all()


def test_many_strata_are_counted_quickly_enough_to_be_of_use() -> None:
    generator = np.random.default_rng(0)
    counts = StratumCounts(columns((400, 400)), 2)
    rows = [generator.integers(0, 400, 200_000) for _ in range(2)]
    counts.add(rows, np.zeros(200_000, np.uint8))
    assert len(counts) == len(set(zip(*(row.tolist() for row in rows), strict=True)))
    assert counts.counts.sum() == 200_000
