"""Upper bounds on leakage: every probability of the table at once, where the outcomes are all declared."""

from __future__ import annotations

import math

import numpy as np

from leakwise.priors.binomial import lower_bounds, upper_bounds
from leakwise.types import Counts, Floats

__all__ = ["Cells"]


class Cells:
    """Clopper-Pearson bounds on every p(y|x), all of them right but with probability e^{log_level}."""

    def __init__(self, table: Counts, log_level: float) -> None:
        each = log_level - math.log(2 * table.size)
        rows = [(row, int(row.sum())) for row in table]
        self.low: Floats = np.stack([lower_bounds(row, trials, each) for row, trials in rows])
        self.high: Floats = np.stack([upper_bounds(row, trials, each) for row, trials in rows])

    def ldp(self) -> float:
        """Return the largest that the LDP ε can be; infinite where an outcome may be impossible for an input."""
        return _upper(self.high.max(axis=0), self.low.min(axis=0))

    def pml(self, pi: Floats) -> float:
        """The largest that the PML ε can be: p / (πp + rest) at the upper end of p and the lower end of the rest."""
        seen = pi > 0
        low, high, weights = self.low[seen], self.high[seen], pi[seen][:, None]
        rest = (weights * low).sum(axis=0) - weights * low
        return _upper(high, (weights * high + np.maximum(rest, 0.0)) * (1 - 2.0**-45))

    def maximal(self) -> float:
        """The largest that maximal leakage can be: never more than the logarithm of how many inputs or outcomes."""
        most = min(self.high.max(axis=0).sum(), *self.high.shape)
        return max(0.0, math.log(float(most)) * (1 + 2.0**-45) + 2.0**-45)


def _upper(above: Floats, below: Floats) -> float:
    with np.errstate(divide="ignore", invalid="ignore"):
        worst = float(np.max(np.where(above > 0, above / below, 0.0)))
    return math.inf if math.isinf(worst) else max(0.0, math.log(worst) + 2.0**-45)
