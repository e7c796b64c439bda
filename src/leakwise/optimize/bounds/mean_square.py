r"""How large the lifts of an outcome are on average, squared and weighed: a bound on E Σ_i d_i λ_i² for a whole cone.

Letter by letter E λ_i² ≤ l_i + h_i - l_i h_i on the box [l_i, h_i], the chord at E λ_i = 1. Where all lifts of an
outcome are in [m, T(m)] for some m (LDP, alone or with a bound on lifts; a small ball), no outcome has its lifts at
both ends of the box: with X = d·λ,

.. math:: \sum_i d_i \lambda_i^2 \le (m + T) X - m T \sum_i d_i ,

and subtracting s (X - Σd), which is zero on average, leaves a concave quadratic in m whose maximum is known for each X.
For a uniform prior and equal d the average is that of a vertex, and the best vertex is found among the N sizes of sets.
"""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np

from leakwise.optimize.problem.cones import Cone
from leakwise.optimize.problem.lift_range import LiftRange
from leakwise.types import Floats

__all__ = ["MeanSquare"]

_GOLDEN = 0.6180339887498949
_CUTS = 60
_UP = 1 + 2.0**-40


class MeanSquare:
    """Ceilings c with E Σ_i d_i λ_i² ≤ d·c for every mechanism in the cone."""

    def __init__(self, cone: Cone) -> None:
        low, high = cone.entry_box()
        self.cone = cone
        self.box: Floats = low + high - low * high
        where = cone.lift_range()
        # A box says all there is where the largest lift does not depend on the least one.
        self.range = where if where is not None and any(beta for _, beta in where.pieces) else None
        self.alike: float | None = None
        if self.range is not None:
            if len(set(cone.prior.weights.tolist())) == 1:
                self.alike = _of_vertices(self.range, cone.prior.probabilities)
            self.shared = self.box > _ceiling(self.range, 1.0, 1.0)

    def ceilings(self, d: Floats | None) -> Floats:
        """Return c for these weights; for None, c as it were for weights that are like the masses."""
        if self.range is None:
            return self.box
        if self.alike is not None and (d is None or bool((d == d[0]).all())):
            return np.minimum(self.box, self.alike)
        if d is None:
            return np.where(self.shared, _ceiling(self.range, 1.0, 1.0), self.box)
        part = np.where(self.shared, d, 0.0)
        total = float(part.sum())
        if not total > 0:
            return self.box
        most, least = self.cone.linear_max(np.stack([part, -part], axis=1))[0] / total
        together = _ceiling(self.range, -float(least) / _UP, float(most) * _UP)
        mixed = np.where(self.shared, together, self.box)
        return mixed if d @ mixed < d @ self.box else self.box


def _ceiling(where: LiftRange, least: float, most: float) -> float:
    """min over s of s + max over m and X in [least, most] of (m + T - s)X - mT, rounded up."""
    segments = _segments(where)
    low, high = 0.0, 2 * max(top for *_, top in segments) + 2

    def value(s: float) -> float:
        return s + max(_largest(segment, s, x) for segment in segments for x in (least, most))

    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_left, at_right = value(left), value(right)
    for _ in range(_CUTS):
        if at_left <= at_right:
            high, right, at_right = right, left, at_left
            left = high - _GOLDEN * (high - low)
            at_left = value(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + _GOLDEN * (high - low)
            at_right = value(right)
    return min(at_left, at_right) * _UP


def _segments(where: LiftRange) -> list[tuple[float, float, float, float, float]]:
    """The least lifts between kinks of the range: both ends, the piece (α, β) of T between them, and T at the end."""
    ends = sorted({where.low, Fraction(1), *(a for a, _ in where.boxes())})
    segments = []
    for first, last in itertools.pairwise(ends):
        alpha, beta = min(where.pieces, key=lambda piece: piece[0] + piece[1] * (first + last) / 2)
        start = first if not beta else max(first, (1 - alpha) / beta)  # no column has all its lifts below 1
        if start <= last and where.top(last) >= 1:
            segments.append((float(start), float(last), float(alpha), float(beta), float(where.top(last))))
    return segments


def _largest(segment: tuple[float, float, float, float, float], s: float, x: float) -> float:
    """The maximum over m of (m + α + βm - s)x - m(α + βm), concave in m."""
    start, end, alpha, beta, _ = segment

    def at(m: float) -> float:
        return (m + alpha + beta * m - s) * x - m * (alpha + beta * m)

    if beta > 0:
        return at(min(max(((1 + beta) * x - alpha) / (2 * beta), start), end))
    return max(at(start), at(end))


def _of_vertices(where: LiftRange, p: Floats) -> float:
    """The largest average of λ² over the vertices, for a uniform prior: sets of every size, and the boxes at kinks."""
    size = len(p)
    raised = np.arange(1, size)
    low, high, real = where.levels(raised / size, (size - raised) / size)
    means = [np.ones(1), ((raised * high**2 + (size - raised) * low**2) / size)[real]]
    for bottom, top in ((float(a), float(b)) for a, b in where.boxes()):
        share = np.clip((1 - bottom) / (top - bottom) * size - np.arange(size), 0.0, 1.0)
        means.append(np.array([((bottom + (top - bottom) * share) ** 2).mean()]))
    return float(np.concatenate(means).max()) * _UP
