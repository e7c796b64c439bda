"""A whole row: all rows of a stratum together tell no more about one of them than the guarantee says."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from truth import must

__all__ = ["all_rows_together"]

Generator = np.random.Generator


def all_rows_together(generator: Generator) -> None:
    """With the counts of a stratum known, all outcomes together make a row's value at most a·t times as likely."""
    size, letters = int(generator.integers(2, 6)), int(generator.integers(2, 4))
    counts = generator.multinomial(size - 1, np.full(letters, 1 / letters))
    counts[generator.integers(letters)] += 1
    weights = generator.integers(1, 9, (letters, int(generator.integers(2, 4))))
    matrix = [[Fraction(int(w), int(row.sum())) for w in row] for row in weights]
    columns = list(zip(*matrix, strict=True))
    prior = [Fraction(int(count), size) for count in counts]
    lift = max(
        max(v for v, p in zip(column, prior, strict=True) if p) / sum(p * v for p, v in zip(prior, column, strict=True))
        for column in columns
    )
    anyone = max(max(column) / min(column) for column in columns)
    tables = set(itertools.permutations([k for k, count in enumerate(counts.tolist()) for _ in range(count)]))
    for outcomes in itertools.product(range(len(columns)), repeat=size):
        chances = {one: _product(matrix[k][y] for k, y in zip(one, outcomes, strict=True)) for one in tables}
        total = sum(chances.values())
        for value, before in enumerate(prior):
            if before:
                after = sum(chance for one, chance in chances.items() if one[0] == value) / total
                must(after / before <= lift * anyone, f"{float(after / before)} from all rows, {float(lift * anyone)}")


def _product(factors: Iterator[Fraction]) -> Fraction:
    found = Fraction(1)
    for one in factors:
        found *= one
    return found
