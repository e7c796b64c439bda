"""A lower bound on the probability of every set of letters at once, stacked into a lower bound on every column."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from leakwise.charts.table import number
from leakwise.errors import InvalidInput
from leakwise.priors.binomial import lower_bounds
from leakwise.priors.prior import Prior
from leakwise.priors.sample import counts_of, log_subsets_upper, log_up
from leakwise.priors.sets.around_estimate import Around, as_matrix, descending, lowered
from leakwise.types import Counts, Floats, Indices

__all__ = ["LayerCake"]


class LayerCake(Around):
    """All priors Q with Q(A) ≥ CP(n_A; δ/(2^N - 2)) for every set A of letters, n_A its count in the sample.

    CP is the Clopper-Pearson lower bound. With probability at least 1 - δ the true prior is inside, whatever it is. A
    column is a stack of its level sets, v = Σ_k (v_(k) - v_(k+1)) 1_{A_k}, so its mass is bounded below by the same
    stack of bounds. One sample serves every mechanism at once, searched for with it or not. Never worse than the l1
    ball of the plain Weissman radius, which is the same argument with Hoeffding's weaker bound on each set.

    ``least_mass`` is a lower bound on the least mass over the set; it need not be attained.

    Parameters
    ----------
    nominal
        The estimate, with its sample size.
    failure
        δ, above 0.

    Examples
    --------
    >>> cake = LayerCake(Prior.from_counts([600, 400]), failure=0.01)
    >>> print(f"{cake.least_mass([1.0, 0.0]):.3f}")
    0.559
    """

    kind = "layer cake"
    convex = False  # its least mass is a bound that need not be attained
    counts: tuple[int, ...]
    log_level: float
    _bounds: dict[int, float]

    def __init__(self, nominal: Prior, failure: object, method: str | None = "layer-cake") -> None:
        super().__init__(nominal, failure, method)
        if not self.exact_failure:
            raise InvalidInput("failure must be above 0: no sample bounds every set for certain.")
        counts = counts_of(nominal)
        log_level = -(log_subsets_upper(len(nominal)) + log_up(1 / self.exact_failure)) * (1 + 2.0**-50)
        self._set(counts=counts, log_level=log_level, _bounds={0: 0.0, sum(counts): 1.0})

    @property
    def sample_size(self) -> int:
        """How many rows the bounds rest on."""
        return sum(self.counts)

    def set_bound(self, counts: npt.ArrayLike) -> Floats:
        """Return the lower bound on the probability of a set whose letters were seen ``counts`` times together."""
        asked = np.asarray(counts, dtype=np.int64)
        different, place = np.unique(asked, return_inverse=True)
        new = [count for count in different.tolist() if count not in self._bounds]
        if new:
            found = lower_bounds(np.array(new), self.sample_size, self.log_level)
            self._bounds.update(zip(new, found.tolist(), strict=True))
        values: Floats = np.array([self._bounds[count] for count in different.tolist()])[place].reshape(asked.shape)
        return values

    def least_mass(self, columns: npt.ArrayLike) -> Floats:
        values, single = as_matrix(columns, len(self))
        order = np.argsort(-values, axis=0)
        v = np.take_along_axis(values, order, axis=0)
        together = np.cumsum(np.array(self.counts)[order], axis=0)[:-1]
        # The set of all letters has probability 1; a set that holds every row seen but not every letter has not.
        bounds = self.proper_bound(together)
        total = np.einsum("ij,ij->j", bounds, v[:-1] - v[1:]) + v[-1]
        least = lowered(total, np.zeros_like(total), len(self))
        return least[0] if single else least

    def proper_bound(self, together: Counts) -> Floats:
        """Return the lower bound on the probability of proper sets of letters, by how often each was seen."""
        full = together == self.sample_size
        bounds = self.set_bound(np.where(full, 0, together))
        if full.any():
            bounds = np.where(full, self._full_bound, bounds)
        return bounds

    @property
    def _full_bound(self) -> float:
        """The bound on a proper set that holds every row of the sample."""
        if -1 not in self._bounds:
            self._bounds[-1] = float(lower_bounds(self.sample_size, self.sample_size, self.log_level))
        return self._bounds[-1]

    def exact_least_mass(self, column: Sequence[int]) -> Fraction:
        values = [int(value) for value in column]
        order = descending(values)
        together = np.cumsum(np.array([self.counts[place] for place in order]))[:-1]
        bounds = self.proper_bound(together).tolist()
        steps = [values[here] - values[there] for here, there in itertools.pairwise(order)]
        stacked = sum((Fraction(bound) * step for bound, step in zip(bounds, steps, strict=True) if step), Fraction(0))
        return stacked + values[order[-1]]

    def reordered(self, order: Indices) -> LayerCake:
        return LayerCake(self.nominal.reordered(order), self.exact_failure, self.method)

    def _size(self) -> list[tuple[str, str]]:
        return [("level of each set (log)", number(self.log_level))]
