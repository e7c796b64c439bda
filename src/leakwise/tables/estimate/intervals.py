"""Intervals for recovered frequencies: score intervals where a letter is identified, linear programs where not."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from leakwise.lp import LinearProgram
from leakwise.types import Bools, Floats, Indices

__all__ = ["LinearEstimates", "program_interval", "score_interval"]


_LP_SLIP = 1e-9  # ends of linear-program intervals are moved outwards by this
_IDENTIFIED = 1e-9  # largest share of a letter in a direction that the outcomes do not see
_CONDITION = 1e12  # beyond it the rank of the kernel is looked at by singular values


@dataclass(frozen=True)
class LinearEstimates:
    """Unbiased linear estimates p̃_i = Σ_j b_ji q̂_j with P b_i = e_i, of least variance at the fitted law."""

    laws: Floats
    b: Floats
    identified: Bools

    @classmethod
    def of(cls, laws: Floats, q: Floats, n: int) -> LinearEstimates:
        count = laws.shape[0]
        if count == 1:
            return cls(laws, np.ones((laws.shape[1], 1)), np.ones(1, dtype=np.bool_))
        # Any positive weights give an unbiased estimate, the fitted law the best one. Outcomes that the fit
        # deems impossible would get infinite weight: then the fit is mixed with one row of the mean law.
        weight = q if q.min() > 1e-3 / n else (n * q + laws.mean(axis=0)) / (n + 1)
        half = (laws / np.sqrt(weight)).T
        if count <= laws.shape[1]:
            b = _right_inverse(laws, half, weight)
            if b is not None:
                return cls(laws, b, np.ones(count, dtype=np.bool_))
        left, sigma, _ = np.linalg.svd(laws, full_matrices=True)
        rank = int((sigma > sigma[0] * max(laws.shape) * np.finfo(float).eps).sum())
        identified = np.linalg.norm(left[:, rank:], axis=1) <= _IDENTIFIED
        u, s, vt = np.linalg.svd(half, full_matrices=False)
        b = ((u[:, :rank] / s[:rank]) @ vt[:rank]) / np.sqrt(weight)[:, None]
        # The estimate exists only for the identified letters: there P b_i = e_i exactly.
        b[:, ~identified] = np.nan
        return cls(laws, b, identified)

    def variance(self, x: Floats, q: Floats, n: int) -> Floats:
        return np.asarray(np.maximum((self.b**2).T @ q - x**2, 0.0) / n)

    def covariance(self, letters: Indices, x: Floats, q: Floats, n: int) -> Floats:
        b = self.b[:, letters]
        return np.asarray((b.T @ (b * q[:, None]) - np.outer(x[letters], x[letters])) / n)

    def intervals(self, observed: Floats, x: Floats, n: int, delta: float) -> tuple[Floats, Floats]:
        count = x.size
        if count == 1:
            return np.ones(1), np.ones(1)
        square = self.b**2
        own = np.einsum("ij,ji->i", self.laws, square)
        total = square.T @ (x @ self.laws)
        rest = 1.0 - x
        with np.errstate(divide="ignore", invalid="ignore"):
            others = np.maximum((total - x * own) / rest, 0.0)
        for i in np.flatnonzero(rest < 1e-9):
            # Nobody else is there to show their spread: take the worst of them.
            others[i] = np.delete(self.laws @ square[:, i], i).max()
        low, high = score_interval(observed @ self.b, own, others, n, delta)
        return np.minimum(low, x), np.maximum(high, x)


def _right_inverse(laws: Floats, half: Floats, weight: Floats) -> Floats | None:
    """The b with P b = I of least variance, or None if P is singular or nearly so."""
    square = laws.shape[0] == laws.shape[1]  # then there is only one, whatever the weights
    ortho, factor = (np.eye(0), laws) if square else np.linalg.qr(half)
    try:
        inverse = np.linalg.inv(factor)
    except np.linalg.LinAlgError:
        return None
    if not np.linalg.norm(factor) * np.linalg.norm(inverse) < _CONDITION:
        return None
    return np.asarray(inverse if square else (ortho @ inverse.T) / np.sqrt(weight)[:, None])


def score_interval(
    estimate: Floats, own: Floats, others: Floats, n: float | Floats, delta: float
) -> tuple[Floats, Floats]:
    r"""Score intervals: all θ in [0, 1] with (p̃ - θ)² ≤ z² V(θ)/n.

    One row has the variance V(θ) = θ·own + (1-θ)·others - θ² when the letter has mass θ and the rest keep their
    proportions. With P = I this is Wilson's interval. The estimate is first brought into [0, 1]; that can only widen
    the interval, and it keeps it from being empty.
    """
    k = NormalDist().inv_cdf(delta / 2) ** 2 / n
    centre = np.clip(estimate, 0.0, 1.0)
    half = centre + 0.5 * k * (own - others)
    # The discriminant, multiplied out: the plain form loses all its digits when n is large.
    spread = centre * (own - others) + others - centre**2 + k * (0.25 * (own - others) ** 2 + others)
    root = np.sqrt(k * np.maximum(spread, 0.0))
    low, high = (half - root) / (1 + k), (half + root) / (1 + k)
    return np.clip(np.minimum(low, centre), 0.0, 1.0), np.clip(np.maximum(high, centre), 0.0, 1.0)


def program_interval(
    laws: Floats, c: Floats, n: int, q: Floats, delta: float, wanted: Bools, low: Floats, high: Floats
) -> tuple[Floats, Floats]:
    """Return least and largest p_i over the simplex with pP in the Clopper-Pearson box of the outcomes (δ/M each).

    The box is stretched to hold the fitted law, so that there is always a p; that can only widen it.
    """
    from scipy.special import betainccinv, betaincinv

    tail = delta / (2 * c.size)
    some, not_all = c > 0, c < n
    box_low = np.where(some, betaincinv(np.maximum(c, 1), n - c + 1, tail), 0.0)
    box_high = np.where(not_all, betainccinv(c + 1, np.maximum(n - c, 1), tail), 1.0)
    count = laws.shape[0]
    program = LinearProgram(
        np.zeros(count),
        np.vstack((laws.T, np.ones(count))),
        np.append(np.minimum(box_low, q), 1.0),
        np.append(np.maximum(box_high, q), 1.0),
    )
    low, high = low.copy(), high.copy()
    for i in np.flatnonzero(wanted):
        unit = np.zeros(count)
        unit[i] = 1.0
        program.change_costs(unit)
        low[i] = max(program.solve().objective - _LP_SLIP, 0.0)
        program.change_costs(-unit)
        high[i] = min(-program.solve().objective + _LP_SLIP, 1.0)
    return low, high
