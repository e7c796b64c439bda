"""Whether the order of rows whose given columns no row before had tells the secret: what no stratum can be asked."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Protocol

import numpy as np

from leakwise.tables.release.row_order import OrderVerdict, RowOrder
from leakwise.types import Array, Bools, Indices

__all__ = ["LoneRows"]


class _Watched(Protocol):
    """A test of the order within strata."""

    def add(self, codes: Array, strata: Array, part: Hashable = None) -> None:
        """See the next rows."""

    def verdict(self) -> OrderVerdict:
        """Give the p-value."""


class LoneRows:
    """Watch the first row of every stratum, and the rows that are in none.

    Where a given column has a value of its own in nearly every row (a name, a number) no two rows could be exchanged:
    within strata nothing can be tested, and a table sorted by the secret would pass. So where these rows are half of
    the table or more, their order is tested as it is. It is known only to explain what a given column explains by
    which the rows are sorted: then what is left is tested among rows with equal values of that one.

    Parameters
    ----------
    labels
        The declared values of the secret.
    within
        Makes a test of the order within strata.
    """

    def __init__(self, labels: Sequence[Hashable], within: type[_Watched]) -> None:
        self._labels, self._within = labels, within
        self._whole = RowOrder(labels)
        self._sorted: dict[tuple[int, bool], _SortedBy] | None = None
        self._strata = 0
        self.rows = 0

    def add(self, codes: Array, strata: Array, given: Sequence[Array], part: Hashable) -> None:
        """See the next rows: codes of the secret, numbers of strata in the order in which they came, given columns."""
        places = self._first(strata)
        if not places.size:
            return
        self.rows += places.size
        codes = codes[places]
        self._whole.add(codes, part)
        if self._sorted is None:
            both = ((place, falling) for place in range(len(given)) for falling in (False, True))
            self._sorted = {key: _SortedBy(self._within(self._labels)) for key in both}  # type: ignore[call-arg]
        for (place, falling), one in list(self._sorted.items()):
            column = given[place][places].astype(np.int64)
            if not one.add(codes, column, part, falling=falling):
                del self._sorted[place, falling]

    def _first(self, strata: Array) -> Indices:
        """The places of rows in a stratum that no row before was in, and of rows in none."""
        apart: Bools = strata < 0
        new = np.flatnonzero(strata >= self._strata)
        if new.size:
            apart = apart.copy()
            apart[new[np.unique(strata[new], return_index=True)[1]]] = True
            self._strata = int(strata.max()) + 1
        return np.flatnonzero(apart)

    def verdict(self) -> OrderVerdict:
        """Give the p-value, the largest of those for what explains the order."""
        explained = [one.order.verdict() for one in (self._sorted or {}).values()]
        found = max([self._whole.verdict(), *explained], key=lambda one: one.p_value)
        return OrderVerdict(found.p_value, f"among rows with given columns of their own {found.evidence}", self.rows)


class _SortedBy:
    """The order beyond a column by which the rows are sorted, as long as they are."""

    def __init__(self, order: _Watched) -> None:
        self.order = order
        self._last: int | None = None

    def add(self, codes: Array, column: Array, part: Hashable, *, falling: bool) -> bool:
        """See the next rows; says whether they are sorted still. A value that is not declared has no place."""
        before = column if self._last is None else np.concatenate([[self._last], column])
        steps = np.diff(before)
        if column.min() < 0 or ((steps > 0) if falling else (steps < 0)).any():
            return False
        self._last = int(column[-1])
        self.order.add(codes, column, part)
        return True
