"""What a table's rounded frequencies alone prove: the bounds of every table that rounds to them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from leakwise.charts.table import number
from leakwise.priors.prior import Prior
from leakwise.priors.sample import coarse_prior, counts_of, rounding_cell
from leakwise.priors.sets.around_estimate import Around, as_matrix, descending, lowered
from leakwise.priors.sets.layer_cake import LayerCake
from leakwise.types import Counts, Floats, Indices

__all__ = ["RoundedLayerCake"]


class RoundedLayerCake(Around):
    """All priors of the layer cakes of all tables with the same number of rows and the same rounded frequencies.

    A set of letters counts as often as it does in that one of those tables where it is rarest. So what follows from
    this set depends on the table through its rounded frequencies alone, and holds for the :class:`LayerCake` of each.

    Parameters
    ----------
    sample
        The estimate, with its sample size.
    failure
        As for the layer cake.

    Examples
    --------
    >>> sample = Prior.from_counts([600, 400])
    >>> [f"{one(sample, 0.01).least_mass([1.0, 0.0]):.3f}" for one in (LayerCake, RoundedLayerCake)]
    ['0.559', '0.556']
    """

    kind = "layer cakes of all tables with these rounded frequencies"
    convex = False  # its least mass is a bound that need not be attained
    rows: int
    _cake: LayerCake
    _low: Counts
    _high: Counts

    def __init__(self, sample: Prior, failure: object) -> None:
        counts = counts_of(sample)
        super().__init__(coarse_prior(counts, sample.alphabet), failure, "layer-cake")
        low, high = rounding_cell(counts)
        # Of the cake only the bound on a set with a given count is used, which knows no more than the number of rows.
        cake = LayerCake(sample, failure)
        self._set(rows=sum(counts), _cake=cake, _low=np.array(low), _high=np.array(high))

    def _seen(self, order: Indices) -> Counts:
        """How often the first, the first two, … letters of each order were seen at least; all of them are left out."""
        least, most = np.cumsum(self._low[order], axis=0), np.cumsum(self._high[order], axis=0)
        found: Counts = np.maximum(least, self.rows - (most[-1] - most))[:-1]
        return found

    def least_mass(self, columns: npt.ArrayLike) -> Floats:
        values, single = as_matrix(columns, len(self))
        order = np.argsort(-values, axis=0)
        v = np.take_along_axis(values, order, axis=0)
        bounds = self._cake.proper_bound(self._seen(order))
        total = np.einsum("ij,ij->j", bounds, v[:-1] - v[1:]) + v[-1]
        least = lowered(total, np.zeros_like(total), len(self))
        return least[0] if single else least

    def exact_least_mass(self, column: Sequence[int]) -> Fraction:
        values = [int(value) for value in column]
        order = descending(values)
        bounds = self._cake.proper_bound(self._seen(np.array(order))).tolist()
        steps = [values[here] - values[there] for here, there in itertools.pairwise(order)]
        stacked = sum((Fraction(bound) * step for bound, step in zip(bounds, steps, strict=True) if step), Fraction(0))
        return stacked + values[order[-1]]

    def reordered(self, order: Indices) -> RoundedLayerCake:
        return RoundedLayerCake(self._cake.nominal.reordered(order), self.exact_failure)

    def _key(self) -> tuple[object, ...]:
        return (self.rows,)

    def _size(self) -> list[tuple[str, str]]:
        return [("rows", f"{self.rows:,}"), ("level of each set (log)", number(self._cake.log_level))]
