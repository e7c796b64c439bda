"""Given columns that say what the secret is: near-copies, alone, two together, or all of them.

A guarantee about what an outcome adds is true and worth nothing where a column beside it says the secret already: a
code beside the diagnosis, the same value in other words, a copy with a few slips. How often the best guess from the
columns is right is counted over values with enough rows: of a rare one nobody could know what it stands for. Where a
column has many values, runs of neighbours among them are looked at as well, in their natural order and by their ends.
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from leakwise.alphabet import GivenColumns, Label
from leakwise.types import Counts, Indices

__all__ = ["NearCopy", "near_copy"]

# Rows with the same values from which on it is known what they say.
_ENOUGH_ROWS = 20
# A near-copy: right in so many rows, and wrong in so few of those in which the best guess without it is.
_RIGHT, _LEFT_WRONG = 0.9, 0.2
# The share of the rows that have values with enough rows, at least.
_COVERED = 0.5
# Pairs that are looked at, and runs of neighbours of a column with at least twice as many values.
_MOST_PAIRS, _RUNS = 20, (16, 64, 256)


@dataclass(frozen=True)
class NearCopy:
    """Columns that say what the secret is.

    Attributes
    ----------
    columns
        Their names.
    secret
        What they say: the columns of the secret, or one of them.
    rows
        How many rows have values of them with enough rows to know what they say.
    right, without
        For how many of those the best guess from the columns is right, and for how many without them.
    """

    columns: tuple[Hashable, ...]
    secret: tuple[Hashable, ...]
    rows: int
    right: int
    without: int


def near_copy(
    counts: Mapping[Label, Sequence[int]], given: GivenColumns, secret: Sequence[Hashable], letters: Sequence[Label]
) -> NearCopy | None:
    """Return the fewest given columns that say what the secret, or a column of it, is; None where none do.

    Parameters
    ----------
    counts
        How often each value of the secret occurs in each stratum.
    given
        The given columns that the strata are by.
    secret, letters
        The columns of the secret, and its values: tuples where there are several columns.

    Examples
    --------
    >>> counts = {"E11": [98, 1], "J45": [0, 101]}
    >>> near_copy(counts, GivenColumns({"code": ["E11", "J45"]}), ["diagnosis"], ["diabetes", "asthma"])
    NearCopy(columns=('code',), secret=('diagnosis',), rows=200, right=199, without=102)
    """
    table = np.array(list(counts.values()), dtype=np.int64)
    if not table.size or not table.sum():
        return None
    parts: Any = [list(counts)] if len(given) == 1 else list(zip(*counts, strict=True))
    codes = [
        np.array([*map(domain.index.__getitem__, part)], dtype=np.int64)
        for domain, part in zip(given.domains, parts, strict=True)
    ]
    asked = list(_asked(table, tuple(secret), letters))
    for group in _groups(len(given)):
        for keys in _keys(group, codes, given):
            for names, about in asked:
                right = _best_guesses(keys, about)
                if right is not None:
                    return NearCopy(tuple(given.names[place] for place in group), names, *right)
    return None


def _asked(
    table: Counts, secret: tuple[Hashable, ...], letters: Sequence[Label]
) -> Iterator[tuple[tuple[Hashable, ...], Counts]]:
    """The counts of the secret, and of each of its columns where there are several."""
    yield secret, table
    for place in range(len(secret) if len(secret) > 1 else 0):
        values: dict[Label, int] = {}
        codes = [values.setdefault(one[place], len(values)) for one in letters if isinstance(one, tuple)]
        about = np.zeros((len(table), len(values)), dtype=np.int64)
        np.add.at(about.T, np.array(codes), table.T)
        yield secret[place : place + 1], about


def _groups(columns: int) -> Iterator[tuple[int, ...]]:
    """Columns one by one, in pairs, and all together."""
    yield from ((place,) for place in range(columns))
    yield from itertools.islice(itertools.combinations(range(columns), 2), _MOST_PAIRS)
    if columns > 2:
        yield tuple(range(columns))


def _keys(group: Sequence[int], codes: Sequence[Indices], given: GivenColumns) -> Iterator[Indices]:
    """Numbers for the strata that have the same values of the columns, and for runs of neighbours of a single one."""
    if len(group) == len(codes):
        yield np.arange(len(codes[0]))
    else:
        keys = codes[group[0]]
        for place in group[1:]:
            keys = keys * len(given.domains[place]) + codes[place]
        yield keys
    if len(group) > 1:
        return
    labels = given.domains[group[0]].labels
    if len(labels) < 2 * _RUNS[0]:
        return
    for order in (_natural(labels), sorted(range(len(labels)), key=lambda place: str(labels[place])[::-1])):
        ranks = np.empty(len(labels), dtype=np.int64)
        ranks[order] = np.arange(len(labels))
        for runs in _RUNS:
            if len(labels) >= 2 * runs:
                yield ranks[codes[group[0]]] * runs // len(labels)


def _natural(labels: Sequence[Label]) -> list[int]:
    """The places of values in their natural order: numbers as numbers, also where a file holds them as texts."""
    try:
        numbers = [float(one) for one in labels]  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return sorted(range(len(labels)), key=lambda place: str(labels[place]))
    return sorted(range(len(labels)), key=numbers.__getitem__)


def _best_guesses(keys: Indices, table: Counts) -> tuple[int, int, int] | None:
    """The rows that are covered, and for how many the best guess is right with and without; None for no near-copy."""
    _, places = np.unique(keys, return_inverse=True)
    merged = np.zeros((int(places.max()) + 1, table.shape[1]), dtype=np.int64)
    np.add.at(merged, places.ravel(), table)
    enough = merged[merged.sum(axis=1) >= _ENOUGH_ROWS]
    rows, whole = int(enough.sum()), int(table.sum())
    if rows < _COVERED * whole:
        return None
    right, without = int(enough.max(axis=1).sum()), int(enough.sum(axis=0).max())
    copied = right >= _RIGHT * rows and rows - right <= _LEFT_WRONG * (rows - without)
    return (rows, right, without) if copied and without < rows else None
