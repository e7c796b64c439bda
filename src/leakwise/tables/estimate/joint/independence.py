"""Whether released columns are independent: tests whose p-values are uniform when the true values are."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from leakwise.alphabet import label_to_plain
from leakwise.charts.shown import Parts, Shown, Table
from leakwise.errors import InvalidInput
from leakwise.tables.estimate.joint.evidence import Evidence
from leakwise.tables.strata.pooling import onto_simplex
from leakwise.types import Floats

__all__ = ["GroupedIndependence", "Independence", "outcomes_test", "values_test"]

_DRAWS = 1999
_BOOTSTRAPPED = 499
_FEW = 5.0
# Rows for each degree of freedom up to which Wald's statistic is compared with drawn ones, not with chi-square.
_ROWS_PER_DEGREE = 200
_MOST_DEGREES = 64


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
        ``"chi-square"`` of the outcomes, ``"permutation"`` where cells have few rows; ``"wald"`` by rows or clusters,
        or ``"bootstrap"`` of it where rows are few.
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


@dataclass(frozen=True, repr=False)
class GroupedIndependence(Mapping[Any, Independence], Shown):
    """One test for each group: a mapping from group to :class:`Independence`.

    Attributes
    ----------
    by
        The columns of the groups.
    groups
        The tests.
    """

    by: tuple[Hashable, ...]
    groups: Mapping[Any, Independence]

    def __getitem__(self, group: Any) -> Independence:
        return self.groups[group]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.groups)

    def __len__(self) -> int:
        return len(self.groups)

    @property
    def p_value(self) -> float:
        """Of all groups at once: how often one is as small where columns are independent in each (Bonferroni)."""
        return min(1.0, len(self) * min(one.p_value for one in self.values()))

    def _shown(self) -> Parts:
        headers = [" and ".join(map(str, self.by)), "statistic", "degrees of freedom", "p-value", "method"]
        rows = [[str(key), one.statistic, one.degrees, one.p_value, one.method] for key, one in self.groups.items()]
        names = " × ".join(map(str, next(iter(self.groups.values())).columns))
        return [
            Table(headers, rows, f"Independence of the true values of {names} within each group", align="lrrrl"),
            f"All groups together: p = {self.p_value:.3g}.",
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: a list of groups."""
        return {
            "by": [str(name) for name in self.by],
            "p_value": self.p_value,
            "groups": [{"group": label_to_plain(group), **one.to_dict()} for group, one in self.groups.items()],
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
        if evidence.rows < _ROWS_PER_DEGREE * degrees and degrees <= _MOST_DEGREES:
            p = _bootstrapped(evidence, one, two, statistic)
            return Independence(tuple(columns), statistic, degrees, p, "bootstrap")
        return Independence(tuple(columns), statistic, degrees, float(chdtrc(degrees, statistic)), "wald")
    left = evidence.design.degrees - degrees + 1
    if left < 1:
        raise InvalidInput(
            f"Independence cannot be tested: {evidence.design.degrees} degrees of freedom of the clusters are fewer "
            f"than the {degrees} of the table."
        )
    p = float(fdtrc(degrees, left, statistic * left / (evidence.design.degrees * degrees)))
    return Independence(tuple(columns), statistic, degrees, p, "wald")


def _bootstrapped(evidence: Evidence, one: int, two: int, statistic: float) -> float:
    """The p-value of Wald's statistic among those of tables drawn with the estimated margins, independent.

    Its distribution hardly depends on the table (it is studentized), but with few rows it is far from chi-square.
    """
    shape = evidence.shape
    margins = []
    for axis in (one, two):
        rest = tuple(at for at in range(len(shape)) if at != axis)
        margins.append(onto_simplex(evidence.linear.sum(axis=rest)))
    laws, sizes, undo = [], [], []
    for table, block in zip(evidence.tables(), evidence.blocks, strict=True):
        lenses = [evidence.lenses[axis][block[axis]] for axis in (one, two)]
        inside = [np.where(lens.support, margin, 0.0) for lens, margin in zip(lenses, margins, strict=True)]
        inside = [part if part.sum() > 0 else lens.support * 1.0 for part, lens in zip(inside, lenses, strict=True)]
        first, second = (part / part.sum() @ lens.laws for part, lens in zip(inside, lenses, strict=True))
        laws.append(np.outer(first, second).reshape(-1))
        sizes.append(round(float(table.sum())))
        undo.append([evidence.inverses[axis][block[axis]] for axis in (one, two)])
    generator = np.random.default_rng(0)
    drawn = np.concatenate(
        [generator.multinomial(size, law, _BOOTSTRAPPED) for size, law in zip(sizes, laws, strict=True)], axis=1
    )
    # What a row of every block and outcome adds to the shares of first values, second values, and both.
    a = np.concatenate([np.repeat(b, other.shape[0], axis=0) for b, other in undo]).T[:-1]
    b = np.concatenate([np.tile(other, (of.shape[0], 1)) for of, other in undo]).T[:-1]
    both = (a[:, None, :] * b[None, :, :]).reshape(-1, a.shape[1])
    more = 1
    for counts in drawn:
        first, second = a @ counts / evidence.rows, b @ counts / evidence.rows
        d = both - (second[None, :, None] * a[:, None, :] + first[:, None, None] * b[None, :, :]).reshape(both.shape)
        mean = d @ counts / evidence.rows
        off = mean + np.outer(first, second).reshape(-1)
        d = (d - mean[:, None]) / evidence.rows
        found = float(off @ np.linalg.pinv((d * counts) @ d.T) @ off)
        more += found >= statistic * (1 - 1e-12)
    return more / (1 + len(drawn))
