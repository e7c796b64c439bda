"""How often each outcome was released in each group of an untouched column."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from leakwise.errors import InvalidInput
from leakwise.types import Array, Counts

__all__ = ["Groups"]

# Cells of a table of groups by outcomes; more would say nothing about any of them.
_MOST_CELLS = 1 << 26
# Rows counted at once: np.bincount makes an index of eight bytes for every row.
_BLOCK = 1 << 18


class Groups:
    """Counts of outcomes for each group, added up batch by batch."""

    def __init__(self, by: Hashable, size: int) -> None:
        self.by = by
        self._size = size
        self.counts: dict[Any, Counts] = {}

    def add(self, values: Sequence[Any], places: Array, codes: Array) -> None:
        """Count a batch: the groups in it, the place of every row among them, and the outcome of every row."""
        groups = len({*self.counts, *values})
        if groups * self._size > _MOST_CELLS:
            raise InvalidInput(
                f"by={self.by!r} has {groups:,} groups or more, which with {self._size:,} outcomes makes too many "
                "cells to estimate anything in. Group by a column with fewer values."
            )
        table = np.zeros(len(values) * self._size, dtype=np.int64)
        for start in range(0, codes.size, _BLOCK):
            part = slice(start, start + _BLOCK)
            table += np.bincount(places[part].astype(np.int64) * self._size + codes[part], minlength=table.size)
        for value, counts in zip(values, table.reshape(len(values), self._size), strict=True):
            self.counts[value] = self.counts[value] + counts if value in self.counts else counts
