"""A lower bound on the probability of every set of letters at once, from how often it was seen in a sample."""

from __future__ import annotations

import numpy as np

from leakwise.charts.table import number
from leakwise.priors.prior import Prior
from leakwise.priors.sample import counts_of
from leakwise.priors.sets.stacked import SetBounds, Stacked
from leakwise.types import Floats, Indices

__all__ = ["LayerCake"]


class LayerCake(Stacked):
    """All priors Q with Q(A) ≥ CP(n_A; δ/(2^N - 2)) for every set A of letters, n_A its count in the sample.

    CP is the Clopper-Pearson lower bound. With probability at least 1 - δ the true prior is inside, whatever it is. A
    column is a stack of its level sets, so its mass is bounded below by the same stack of bounds. One sample serves
    every mechanism at once, searched for with it or not. Never worse than the l1 ball of the plain Weissman radius,
    which is the same argument with Hoeffding's weaker bound on each set.

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
    counts: tuple[int, ...]
    _bounds: SetBounds

    def __init__(self, nominal: Prior, failure: object, method: str | None = "layer-cake") -> None:
        super().__init__(nominal, failure, method)
        counts = counts_of(nominal)
        self._set(counts=counts, _bounds=SetBounds(sum(counts), self.log_level))

    @property
    def sample_size(self) -> int:
        """How many rows the bounds rest on."""
        return sum(self.counts)

    def bounds_along(self, order: Indices) -> Floats:
        return self._bounds(np.cumsum(np.array(self.counts)[order], axis=0)[:-1])

    def reordered(self, order: Indices) -> LayerCake:
        return LayerCake(self.nominal.reordered(order), self.exact_failure, self.method)

    def _size(self) -> list[tuple[str, str]]:
        return [("level of each set (log)", number(self.log_level))]
