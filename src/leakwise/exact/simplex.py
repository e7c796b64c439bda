"""Mixtures of columns that add up to one in every row, of greatest utility: the simplex method in fractions.

For the few places where a promise leaves no room at all for rounding; as small as it must be, since fractions grow.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from flint import fmpq

from leakwise.exact.rationals import exact_fraction, from_flint, to_flint

__all__ = ["Column", "best_mixture", "optimal_basis"]

Column = dict[int, Fraction]
"""A column: its positive entries by row."""

_PIVOTS = 600  # by the largest gain; as many again by Bland's rule, which cannot go round in circles
_ENOUGH = 1e-13  # a gain below this is none: the utilities are floats


def best_mixture(
    columns: Sequence[Column], size: int, utilities: Sequence[float] | None = None
) -> list[Fraction] | None:
    """Weights ρ ≥ 0 with Σ_r ρ_r a_r = 1 in each of ``size`` rows, exactly, of greatest Σ_r ρ_r u_r; None without any.

    Columns that come first are tried first.

    >>> half, most = Fraction(1, 2), Fraction(3, 2)
    >>> best_mixture([{0: half, 1: most}, {0: most, 1: half}, {0: half, 1: half}], 2, [1.0, 1.0, 0.9])
    [Fraction(0, 1), Fraction(0, 1), Fraction(2, 1)]
    """
    table = _Table(columns, size, [0.0] * len(columns) if utilities is None else utilities)
    if not table.cover():
        return None
    table.improve()
    weights = [Fraction(0)] * len(columns)
    for column, value in zip(table.basis, table.right, strict=True):
        if column >= 0:
            weights[column] = from_flint(value)
    return weights


def optimal_basis(columns: Sequence[Column], size: int, utilities: Sequence[Fraction]) -> list[int] | None:
    """Return the columns of a basis of greatest utility, one for each row; None without any mixture.

    -1 is a row that the others say already: the unit vector of the row, of weight zero, completes the basis.

    >>> half, most = Fraction(1, 2), Fraction(3, 2)
    >>> optimal_basis([{0: half, 1: most}, {0: most, 1: half}, {0: half, 1: half}], 2, [Fraction(1)] * 3)
    [1, 2]
    """
    table = _Table(columns, size, utilities)
    if not table.cover():
        return None
    table.complete()
    table.improve(0.0)
    return list(table.basis)


def _float(value: fmpq) -> float:
    return int(value.p) / int(value.q)  # older FLINTs have no float() of a fraction


class _Table:
    """A simplex tableau of fractions; a row whose basic variable is artificial (-1) is not covered yet."""

    def __init__(self, columns: Sequence[Column], size: int, utilities: Sequence[float] | Sequence[Fraction]) -> None:
        self.rows: list[dict[int, fmpq]] = [{} for _ in range(size)]
        self.missing: dict[int, fmpq] = {}  # what a unit of each column covers of the rows that are not
        for place, column in enumerate(columns):
            for row, entry in column.items():
                self.rows[row][place] = to_flint(entry)
            self.missing[place] = to_flint(sum(column.values(), Fraction(0)))
        self.right = [fmpq(1)] * size
        self.basis = [-1] * size
        # An empty column is of no use, whatever its utility: nothing would limit it.
        worth = [(place, value) for place, value in enumerate(utilities) if value and columns[place]]
        self.gains = {place: to_flint(exact_fraction(value, "utilities")) for place, value in worth}

    def cover(self) -> bool:
        """Reach a mixture that covers every row, if there is one."""
        for column in range(min(len(self.rows), len(self.missing))):
            if self.missing.get(column, 0) > 0:
                self._enter(column)
        for step in range(2 * _PIVOTS):
            if not any(value for value, column in zip(self.right, self.basis, strict=True) if column < 0):
                return True
            best = _largest(self.missing, step, 0.0)
            if best is None:
                return False
            self._enter(best)
        return False

    def complete(self) -> None:
        """Take columns into the basis, of weight zero, until it is whole or has all that is independent."""
        for place, row in enumerate(self.rows):
            entry = next((column for column, value in row.items() if value), None)
            if self.basis[place] < 0 and entry is not None:
                self._enter(entry)

    def improve(self, enough: float = _ENOUGH) -> None:
        """Go on to the greatest utility."""
        for step in range(2 * _PIVOTS):
            best = _largest(self.gains, step, enough)
            if best is None or not self._enter(best):
                return

    def _enter(self, column: int) -> bool:
        """Take a column into the basis; False where no row limits it."""
        leaves, least = -1, None
        for place, row in enumerate(self.rows):
            entry = row.get(column)
            if entry is None:
                continue
            if self.basis[place] < 0 and not self.right[place]:
                leaves = place  # an artificial variable at zero must stay there: it goes, whatever the sign
                break
            if entry > 0:
                limit = self.right[place] / entry
                if least is None or (limit, self.basis[place]) < (least, self.basis[leaves]):
                    leaves, least = place, limit
        if leaves < 0:
            return False
        lead = self.rows[leaves][column]
        pivot = {place: entry / lead for place, entry in self.rows[leaves].items()}
        self.rows[leaves], self.right[leaves] = pivot, self.right[leaves] / lead
        for place, row in enumerate(self.rows):
            factor = row.get(column)
            if place != leaves and factor is not None:
                _subtract(row, factor, pivot)
                self.right[place] -= factor * self.right[leaves]
        for objective in (self.missing, self.gains):
            if column in objective:
                _subtract(objective, objective[column], pivot)
        self.basis[leaves] = column
        return True


def _largest(gains: dict[int, fmpq], step: int, enough: float) -> int | None:
    """The column of the largest gain; after many steps the first one (Bland's rule)."""
    positive = [(column, gain) for column, gain in gains.items() if gain > 0]
    if step >= _PIVOTS:
        return min((column for column, gain in positive if _float(gain) > enough), default=None)
    column, gain = max(positive, key=lambda pair: pair[1], default=(None, fmpq(0)))
    return column if _float(gain) > enough else None


def _subtract(row: dict[int, fmpq], factor: fmpq, pivot: dict[int, fmpq]) -> None:
    for column, entry in pivot.items():
        changed = row.get(column, 0) - factor * entry
        if changed:
            row[column] = changed
        else:
            row.pop(column, None)
