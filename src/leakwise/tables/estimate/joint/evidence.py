"""What released rows say about sums over the joint table: unbiased estimates, with variances by rows or by the survey.

A row that shows the outcomes y counts for the values x with the weight c(x) = Π_k b_k[y_k, x_k], where b_k undoes the
mechanism of its k-th column. Its mean over the randomness of the row is 1 at the true values and 0 elsewhere, so that
the estimate of a sum over the table is a mean over rows, and has the variance of one. No product of matrices is made.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from leakwise.errors import InvalidInput, LeakwiseWarning
from leakwise.tables.estimate.joint.axes import Lens, along
from leakwise.types import Bools, Counts, Floats, Indices

__all__ = ["Entries", "Evidence", "SurveyDesign", "column_evidence", "covariance", "effective_units"]

# Contributions held at once: functionals times entries.
_BLOCK = 1 << 22
_HEAVY = 10.0


@dataclass(frozen=True)
class SurveyDesign:
    r"""How the rows were drawn, where weights, strata or clusters say so.

    Attributes
    ----------
    units
        How many clusters (rows, where there are none) each stratum of the survey has, over all groups.
    stratum_of
        The stratum of every cluster; None where each row is a unit of its own.
    effective
        As how many units of equal weight they count: :math:`(\sum W^2)^2 / \sum W^4`, W the weight of a unit.
    """

    units: Counts
    stratum_of: Indices | None
    effective: float = math.inf

    @property
    def degrees(self) -> float:
        """Degrees of freedom of a variance: units without strata, fewer where some weigh far more than others.

        A variance that rests on a few heavy units is as uncertain as theirs (Satterthwaite).
        """
        return max(min(float(self.units.sum()), self.effective) - self.units.size, 1.0)

    def warn_of_heavy(self) -> None:
        """Warn where a few heavy units decide everything: no interval is trustworthy then."""
        units = int(self.units.sum())
        if self.effective < min(_HEAVY, units / 2):
            what = "rows" if self.stratum_of is None else "clusters"
            warnings.warn(
                f"A few heavy {what} decide the estimate: by their weights {units:,} {what} count as "
                f"{self.effective:.1f}. Errors are too small then, and intervals too short. Trim the weights.",
                LeakwiseWarning,
                stacklevel=5,
            )


@dataclass(frozen=True)
class Entries:
    """Rows with equal outcomes, mechanisms and place in the survey, as one entry each."""

    block: Indices
    cell: Indices
    rows: Counts
    weight: Floats
    square: Floats
    stratum: Indices
    unit: Indices

    def take(self, places: Indices | Bools) -> Entries:
        """Return some of the entries."""
        return Entries(*(getattr(self, name)[places] for name in self.__dataclass_fields__))

    @staticmethod
    def joined(parts: Sequence[Entries]) -> Entries:
        """Return the entries of all parts."""
        return Entries(
            *(np.concatenate([getattr(one, name) for one in parts]) for name in Entries.__dataclass_fields__)
        )


def effective_units(weights: Floats) -> float:
    """Return as how many units of equal weight units with the given weights count, for the error of a variance.

    >>> [round(effective_units(np.array([first, 1.0, 1.0, 1.0])), 3) for first in (1.0, 100.0)]
    [4.0, 1.001]
    """
    return float((weights**2).sum() ** 2 / (weights**4).sum())


def covariance(design: SurveyDesign | None, entries: Entries, d: Floats) -> Floats:
    r"""Return the covariance of sums over rows, m×m, where d (m×entries) is what a row of weight one contributes.

    Without a design :math:`\sum_r d_r d_r^T`. With one, that of R's survey package for sampling with replacement:
    :math:`\sum_h \frac{n_h}{n_h - 1} \sum_i (z_{hi} - \bar z_h)(z_{hi} - \bar z_h)^T`, z the weighted sum of a cluster.
    """
    if design is None:
        return np.asarray((d * entries.rows) @ d.T)
    strata = design.units.size
    total = np.zeros((d.shape[0], d.shape[0]))
    factor = design.units / np.maximum(design.units - 1, 1)
    if design.stratum_of is None:
        squares = (d * (entries.square * factor[entries.stratum])) @ d.T
        sums = _summed(d * entries.weight, entries.stratum, strata)
        return np.asarray(squares - (sums * (factor / design.units)) @ sums.T)
    z = _summed(d * entries.weight, entries.unit, design.stratum_of.size)
    sums = _summed(z, design.stratum_of, strata)
    total = (z * factor[design.stratum_of]) @ z.T - (sums * (factor / design.units)) @ sums.T
    return np.asarray(total)


def _summed(values: Floats, places: Indices, size: int) -> Floats:
    return np.stack([np.bincount(places, weights=row, minlength=size) for row in values])


@dataclass(frozen=True, eq=False)
class Evidence:
    """The released rows of a table (or of a group of it) as entries, with what undoes their mechanisms.

    Attributes
    ----------
    lenses
        For every axis its mechanisms.
    inverses
        For every axis and mechanism the weights b, outcomes by values.
    blocks
        The mechanism of each axis, for every combination that occurs.
    """

    lenses: Sequence[Sequence[Lens]]
    inverses: Sequence[Sequence[Floats]]
    blocks: Sequence[tuple[int, ...]]
    entries: Entries
    design: SurveyDesign | None

    @property
    def shape(self) -> tuple[int, ...]:
        """How many values each axis has."""
        return tuple(one[0].laws.shape[0] for one in self.lenses)

    @property
    def outcomes(self) -> tuple[int, ...]:
        """How many outcomes each axis has."""
        return tuple(one[0].laws.shape[1] for one in self.lenses)

    @cached_property
    def rows(self) -> int:
        """How many rows there are."""
        return int(self.entries.rows.sum())

    @cached_property
    def total_weight(self) -> float:
        """The sum of the weights: the number of rows where there are none."""
        return float(self.entries.weight.sum())

    def tables(self) -> list[Floats]:
        """Return the weight of every cell of outcomes, for each block."""
        size = int(np.prod(self.outcomes))
        flat = np.bincount(
            self.entries.block * size + self.entries.cell,
            weights=self.entries.weight,
            minlength=size * len(self.blocks),
        )
        return list(flat.reshape(len(self.blocks), *self.outcomes))

    def laws(self, block: tuple[int, ...]) -> list[Floats]:
        """Return the mechanisms of a block, one matrix for each axis."""
        return [lenses[place].laws for lenses, place in zip(self.lenses, block, strict=True)]

    def undo(self, block: tuple[int, ...]) -> list[Floats]:
        """Return what undoes the mechanisms of a block, one matrix for each axis."""
        return [inverse[place] for inverse, place in zip(self.inverses, block, strict=True)]

    @cached_property
    def linear(self) -> Floats:
        """The unbiased estimate of the whole table; entries may be negative."""
        found = sum(along(table, self.undo(block)) for table, block in zip(self.tables(), self.blocks, strict=True))
        return np.asarray(found / self.total_weight)

    @cached_property
    def cell_variance(self) -> Floats:
        """The variance of every cell of :attr:`linear`."""
        if self.design is None:
            squares = sum(
                along(table, [b**2 for b in self.undo(block)])
                for table, block in zip(self.tables(), self.blocks, strict=True)
            )
            return np.maximum(np.asarray(squares) / self.rows - self.linear**2, 0.0) / self.rows
        size = self.linear.size
        step = max(1, _BLOCK // max(self.entries.cell.size, 1))
        parts = []
        for start in range(0, size, step):
            count = min(step, size - start)
            units = np.zeros((count, size))
            units[np.arange(count), start + np.arange(count)] = 1.0
            parts.append(np.diagonal(self.covariance(units.reshape(count, *self.shape))))
        return np.concatenate(parts).reshape(self.shape)

    def values(self, sums: Floats) -> tuple[Floats, Bools]:
        """Return what every entry contributes to some sums over the table, and which sums the outcomes determine.

        ``sums`` has one table of coefficients for each sum, along its first axis.
        """
        count = sums.shape[0]
        out = np.empty((count, self.entries.cell.size))
        known = np.ones(count, dtype=np.bool_)
        scale = np.maximum(np.abs(sums).reshape(count, -1).max(axis=1), 1e-300)
        for place, block in enumerate(self.blocks):
            mine = self.entries.block == place
            g = along(sums, [b.T for b in self.undo(block)])
            out[:, mine] = g.reshape(count, -1)[:, self.entries.cell[mine]]
            # Determined are the sums that the mechanisms give back, apart from values that cannot occur.
            again = along(g, [laws.T for laws in self.laws(block)])
            possible = _outer([lenses[at].support for lenses, at in zip(self.lenses, block, strict=True)])
            off = np.abs(np.where(possible, again - sums, 0.0)).reshape(count, -1).max(axis=1)
            known &= off <= 1e-7 * scale
        return out, known

    def estimates(self, sums: Floats) -> Floats:
        """Return unbiased estimates of sums over the table."""
        count = sums.shape[0]
        return np.asarray(sums.reshape(count, -1) @ self.linear.reshape(-1))

    def deviations(self, sums: Floats) -> tuple[Floats, Bools]:
        """Return what a row of weight one adds to the error of each sum, and which sums are determined."""
        values, known = self.values(sums)
        return (values - self.estimates(sums)[:, None]) / self.total_weight, known

    def covariance(self, sums: Floats) -> Floats:
        """Return the covariance of unbiased estimates of sums; NaN for those that the outcomes do not determine."""
        d, known = self.deviations(sums)
        found = covariance(self.design, self.entries, d)
        found[~known] = np.nan
        found[:, ~known] = np.nan
        return found

    def identified(self, masks: Sequence[Sequence[Bools]]) -> Bools:
        """Return which cells the outcomes determine, from the identified values of every axis and mechanism."""
        found: Bools = np.ones(self.shape, dtype=np.bool_)
        for block in self.blocks:
            found &= _outer([of[at] for of, at in zip(masks, block, strict=True)])
        return found

    def refuse_few_units(self) -> None:
        """Refuse a stratum of the survey with one unit: its variance cannot be known."""
        if self.design is not None and (self.design.units < 2).any():
            raise InvalidInput(
                f"{int((self.design.units < 2).sum()):,} strata of the survey have a single "
                f"{'row' if self.design.stratum_of is None else 'cluster'}, whose variance cannot be estimated. Put "
                "such strata together with others."
            )


def column_evidence(cells: Sequence[tuple[Floats, Bools, Counts]]) -> Evidence:
    """Return the evidence of one column: for every mechanism its matrix, the values it is for, and counts."""
    width = max(matrix.shape[1] for matrix, _, _ in cells)
    lenses = [Lens(np.pad(matrix, ((0, 0), (0, width - matrix.shape[1]))), support) for matrix, support, _ in cells]
    counts = np.stack([np.pad(seen, (0, width - seen.size)) for _, _, seen in cells]).astype(np.int64)
    block, cell = (places.astype(np.intp) for places in np.nonzero(counts))
    rows = counts[block, cell]
    none = np.zeros(rows.size, dtype=np.intp)
    inverses = [lens.inverse(seen.astype(np.float64))[0] for lens, seen in zip(lenses, counts, strict=True)]
    weight = rows.astype(np.float64)
    entries = Entries(block, cell, rows, weight, weight, none, none)
    return Evidence([lenses], [inverses], [(place,) for place in range(len(cells))], entries, None)


def _outer(masks: Sequence[Bools]) -> Bools:
    found: Bools = np.ones((), dtype=np.bool_)
    for mask in masks:
        found = found[..., None] & mask
    return found
