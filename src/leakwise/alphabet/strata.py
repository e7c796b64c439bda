"""Rows as strata: numbered as they come by, or found among strata that are listed.

Combinations of the values of a dozen columns do not fit into a machine word. So the columns are taken one after the
other, and what they make together is numbered again at each step, among the combinations that are there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from leakwise.alphabet.given import GivenColumns
from leakwise.alphabet.labels import Label
from leakwise.errors import InvalidInput
from leakwise.types import Array, Counts, Indices

__all__ = ["ListedStrata", "StratumCounts"]

# Combinations up to this many are looked up in a table; beyond, by search.
_TABLE = 1 << 22
# Numbers stay below this, so that products of them fit into a word.
_WORD = 1 << 62
# Rows numbered at once.
_BLOCK = 1 << 18


class StratumCounts:
    """How often each value of a secret occurs in each stratum, added up batch by batch.

    Parameters
    ----------
    given
        The given columns.
    size
        How many values the secret has.
    """

    def __init__(self, given: GivenColumns, size: int) -> None:
        self._given, self._size = given, size
        self._sizes = [len(domain) for domain in given.domains]
        self._known: dict[Any, int] = {}
        self._codes: list[tuple[int, ...]] = []
        self._counts: Counts = np.zeros((16, size), np.int64)
        few = math.prod(self._sizes) <= _TABLE
        self._table: Indices | None = np.full(math.prod(self._sizes), -1, np.intp) if few else None

    def __len__(self) -> int:
        return len(self._codes)

    @property
    def counts(self) -> Counts:
        """The counts of each stratum, in the order in which they came."""
        return self._counts[: len(self)]

    def add(self, given: Sequence[Array], codes: Array) -> Indices:
        """Count rows, and return the number of the stratum of each.

        Parameters
        ----------
        given
            The codes of each given column; -1 for a value that is not declared. Such a row is in no stratum: it is not
            counted, and its number is -1.
        codes
            The codes of the secret.
        """
        for name, column in zip(self._given.names, given, strict=True):
            if column.size != codes.size:
                raise InvalidInput(f"column {name!r} has {column.size} rows and the secret has {codes.size}.")
        found = np.empty(codes.size, np.intp)
        for start in range(0, codes.size, _BLOCK):
            part = slice(start, start + _BLOCK)
            found[part] = numbers = self._numbers([column[part] for column in given])
            self._count(numbers, codes[part])
        return found

    def _count(self, numbers: Indices, codes: Array) -> None:
        declared = numbers >= 0
        if not declared.all():
            numbers, codes = numbers[declared], codes[declared]
        while len(self) > len(self._counts):
            self._counts = np.concatenate([self._counts, np.zeros_like(self._counts)])
        size = self._size
        if len(self) * size <= 4 * _BLOCK:
            cells = np.bincount(numbers * size + codes, minlength=len(self) * size)
            self._counts[: len(self)] += cells.reshape(len(self), size)
        else:
            np.add.at(self._counts, (numbers, codes), 1)

    def _numbers(self, given: Sequence[Array]) -> Indices:
        declared = given[0] >= 0
        for column in given[1:]:
            declared &= column >= 0
        whole = bool(declared.all())
        columns = list(given) if whole else [column[declared] for column in given]
        numbers = self._looked_up(columns) if self._table is not None else self._compared(columns)
        if whole:
            return numbers
        found = np.full(declared.size, -1, np.intp)
        found[declared] = numbers
        return found

    def _looked_up(self, columns: Sequence[Array]) -> Indices:
        assert self._table is not None
        cells = columns[0].astype(np.intp)
        for column, size in zip(columns[1:], self._sizes[1:], strict=True):
            cells *= size
            cells += column
        numbers: Indices = self._table[cells]
        if (new := numbers < 0).any():
            for cell in np.unique(cells[new]).tolist():
                self._table[cell] = len(self._codes)
                self._codes.append(_digits(cell, self._sizes))
            numbers = self._table[cells]
        return numbers

    def _compared(self, columns: Sequence[Array]) -> Indices:
        cells, top = columns[0].astype(np.int64), self._sizes[0]
        for column, size in zip(columns[1:], self._sizes[1:], strict=True):
            if top * size > _WORD:
                distinct, cells = np.unique(cells, return_inverse=True)
                top = distinct.size
            cells = cells * size + column
            top *= size
        _, first, places = np.unique(cells, return_index=True, return_inverse=True)
        known = []
        for key in zip(*(column[first].tolist() for column in columns), strict=True):
            known.append(self._known.setdefault(key, len(self._codes)))
            if known[-1] == len(self._codes):
                self._codes.append(key)
        return np.array(known, np.intp)[places]

    def strata(self) -> dict[Label, list[int]]:
        """Return the counts of each stratum, in the order of the declared values."""
        order = sorted(range(len(self)), key=self._codes.__getitem__)
        counts = self.counts.tolist()
        return {self._given.coded(self._codes[number]): counts[number] for number in order}


def _digits(number: int, sizes: Sequence[int]) -> tuple[int, ...]:
    digits = []
    for size in reversed(sizes):
        number, digit = divmod(number, size)
        digits.append(digit)
    return tuple(reversed(digits))


class ListedStrata:
    """Finds the strata of rows among those that are listed, each as :meth:`GivenColumns.stratum` writes it.

    >>> listed = ListedStrata(GivenColumns({"sex": ["f", "m"], "age": ["old", "young"]}), [("m", "old")])
    >>> listed.find([np.array([0, 1, 1]), np.array([0, 0, -1])]).tolist()
    [-1, 0, -1]
    """

    def __init__(self, given: GivenColumns, strata: Sequence[Label]) -> None:
        self._sizes = [len(domain) for domain in given.domains]
        alone = len(given) == 1
        codes = np.empty((len(strata), len(given)), np.int64)
        for column, index in enumerate(domain.index for domain in given.domains):
            codes[:, column] = [index[key if alone else key[column]] for key in strata]  # type: ignore[index]
        self._steps: list[_Step] = []
        places = np.zeros(len(codes), np.int64)
        for column, size in enumerate(self._sizes):
            known, places = np.unique(places * size + codes[:, column], return_inverse=True)
            places = places.reshape(-1)
            self._steps.append(_Step(known, size))
        # All columns are read: what they make together are the strata, in sorted order.
        self._order = np.full(len(codes) + 1, -1, np.intp)
        self._order[places] = np.arange(len(codes))

    def find(self, given: Sequence[Array]) -> Indices:
        """Return the place of the stratum of each row in the list, -1 where it is not listed.

        ``given`` are the codes of each given column, -1 for a value that is not declared.
        """
        found = np.empty(given[0].size, np.intp)
        for start in range(0, found.size, _BLOCK):
            part = slice(start, start + _BLOCK)
            places: Any = np.zeros(given[0][part].size, np.intp)
            for step, column in zip(self._steps, given, strict=True):
                places = step.find(places, column[part])
            found[part] = self._order[places]
        return found


class _Step:
    """The place of (place so far, code) among the pairs that are known; -1 where it is not."""

    def __init__(self, known: Counts, size: int) -> None:
        self._known, self._size = known, size
        top = int(known[-1]) + 1 if known.size else 0
        self._table: Indices | None = None
        if top <= _TABLE:
            self._table = np.full(top + 1, -1, np.intp)
            self._table[known] = np.arange(known.size)

    def find(self, places: Indices, codes: Array) -> Indices:
        pairs = places * self._size
        pairs += codes
        # Nothing is known of what begins with an unknown place, or has a value that was not declared.
        pairs[(places < 0) | (codes < 0)] = -1
        if self._table is not None:
            found: Indices = self._table[np.minimum(pairs, self._table.size - 1)]
            return found
        found = np.searchsorted(self._known, pairs)
        found[found == self._known.size] = 0
        found[self._known[found] != pairs] = -1
        return found
