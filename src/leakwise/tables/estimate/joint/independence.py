"""Whether released columns are independent: tests whose p-values are uniform when the true values are."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from leakwise.charts.shown import Parts, Shown, Table
from leakwise.errors import InvalidInput
from leakwise.tables.estimate.joint.evidence import Evidence
from leakwise.types import Floats

__all__ = ["Independence", "outcomes_test", "values_test"]

_DRAWS = 1999
_FEW = 5.0


@dataclass(frozen=True, repr=False)
class Independence(Shown):
    """A test of independence of the true values of columns.

    Attributes
    ----------
    columns
        The columns.
    statistic, degrees, p_value
        The statistic, its degrees of freedom, and how often independent columns give one as large.
    method
        ``"chi-square"`` of the outcomes, ``"permutation"`` where cells have few rows, or ``"wald"`` by rows or
        clusters.
    """

    columns: tuple[Hashable, ...]
    statistic: float
    degrees: int
    p_value: float
    method: str

    def _shown(self) -> Parts:
        headers = ["columns", "statistic", "degrees of freedom", "p-value", "method"]
        row = [" × ".join(map(str, self.columns)), self.statistic, self.degrees, self.p_value, self.method]
        return [Table(headers, [row], "Independence of the true values")]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "columns": [str(one) for one in self.columns],
            "statistic": self.statistic,
            "degrees": self.degrees,
            "p_value": self.p_value,
            "method": self.method,
        }


def outcomes_test(columns: Sequence[Hashable], table: Floats) -> Independence:
    r"""Test independence by Pearson's statistic of the outcomes, all rows through the same mechanisms.

    Each column is randomized on its own, so that outcomes are independent if the values are (and, where the mechanisms
    are invertible, only if). Where cells have few rows, the p-value is that of random tables with the same margins.
    """
    kept = table
    for axis in range(table.ndim):
        seen = kept.sum(axis=tuple(other for other in range(table.ndim) if other != axis)) > 0
        kept = np.compress(seen, kept, axis=axis)
    n = float(kept.sum())
    margins = [kept.sum(axis=tuple(o for o in range(kept.ndim) if o != axis)) / n for axis in range(kept.ndim)]
    expected: Floats = np.array(n)
    for margin in margins:
        expected = expected[..., None] * margin
    statistic = float(((kept - expected) ** 2 / expected).sum())
    degrees = kept.size - sum(kept.shape) + kept.ndim - 1
    if degrees < 1:
        raise InvalidInput("Independence cannot be tested: a column shows a single outcome.")
    if expected.min() < _FEW and kept.ndim == 2:
        return Independence(tuple(columns), statistic, degrees, _permuted(kept, expected, statistic), "permutation")
    from scipy.special import chdtrc

    return Independence(tuple(columns), statistic, degrees, float(chdtrc(degrees, statistic)), "chi-square")


def _permuted(table: Floats, expected: Floats, statistic: float) -> float:
    from scipy.stats import random_table

    rows, columns = table.sum(axis=1).astype(np.int64), table.sum(axis=0).astype(np.int64)
    drawn = random_table(rows, columns).rvs(_DRAWS, random_state=np.random.default_rng(0))
    found = ((drawn - expected) ** 2 / expected).sum(axis=(1, 2))
    return float((1 + (found >= statistic * (1 - 1e-12)).sum()) / (1 + _DRAWS))


def values_test(columns: Sequence[Hashable], evidence: Evidence, axes: Sequence[int]) -> Independence:
    """Test independence of two columns by Wald's statistic of p(a, b) - p(a) p(b), with the variance of the evidence.

    For mechanisms by strata, weights and clusters; with few clusters it is compared with an F distribution.
    """
    if len(axes) != 2:
        raise InvalidInput(
            "With weights, clusters or mechanisms by strata, independence is tested for two columns at a time. Name "
            f"two: e.independence(column, column). Got {len(axes)}."
        )
    one, two = axes
    shape = evidence.shape
    rows, columns_of = shape[one] - 1, shape[two] - 1

    def table(first: int | None, second: int | None) -> Floats:
        coefficients = np.ones(shape)
        for axis, place in ((one, first), (two, second)):
            if place is not None:
                only = np.zeros(shape[axis])
                only[place] = 1.0
                coefficients = coefficients * only.reshape([-1 if at == axis else 1 for at in range(len(shape))])
        return coefficients

    first = evidence.estimates(np.stack([table(a, None) for a in range(rows)]))
    second = evidence.estimates(np.stack([table(None, b) for b in range(columns_of)]))
    sums = np.stack(
        [
            table(a, b) - second[b] * table(a, None) - first[a] * table(None, b)
            for a in range(rows)
            for b in range(columns_of)
        ]
    )
    off = evidence.estimates(sums) + np.outer(first, second).reshape(-1)
    spread = evidence.covariance(sums)
    if not np.isfinite(spread).all():
        raise InvalidInput("Independence cannot be tested: the outcomes do not determine the table of these columns.")
    degrees = off.size
    statistic = float(off @ np.linalg.solve(spread, off))
    from scipy.special import chdtrc, fdtrc

    if evidence.design is None:
        return Independence(tuple(columns), statistic, degrees, float(chdtrc(degrees, statistic)), "wald")
    left = evidence.design.degrees - degrees + 1
    if left < 1:
        raise InvalidInput(
            f"Independence cannot be tested: {evidence.design.degrees} degrees of freedom of the clusters are fewer "
            f"than the {degrees} of the table."
        )
    p = float(fdtrc(degrees, left, statistic * left / (evidence.design.degrees * degrees)))
    return Independence(tuple(columns), statistic, degrees, p, "wald")
