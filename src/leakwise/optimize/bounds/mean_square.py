r"""How large the lifts of an outcome are on average, squared and weighed: a bound on E Σ_i d_i λ_i² for a whole cone.

Letter by letter E λ_i² ≤ l_i + h_i - l_i h_i on the box [l_i, h_i], the chord at E λ_i = 1. Where all lifts of an
outcome are in [m, T(m)] for some m (LDP, alone or with a bound on lifts; a small ball), no outcome has its lifts at
both ends of the box, and less is true: as E λ = 1, for every y

.. math:: E \sum_i d_i \lambda_i^2 \le \sum_i y_i + \max_m \max_\lambda \sum_i d_i \lambda_i^2 - y_i \lambda_i .

For m in a short interval all lifts are in a box that is little larger than [m, T(m)], on which chords turn the inner
maximum into a continuous knapsack. The y are the duals of a linear program over columns that are found on the way; for
many letters y = s·d with the best s. For a uniform prior and equal d the average is that of the best vertex.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from leakwise.optimize.pricing.balanced_sets import balanced_sets, cyclic_sets, raised_share, set_columns
from leakwise.optimize.problem.cones import Cone
from leakwise.optimize.problem.lift_range import LiftRange
from leakwise.types import Floats

__all__ = ["MeanSquare", "Priced"]

_GOLDEN = 0.6180339887498949
_CUTS = 40
_UP = 1 + 2.0**-40
_INTERVALS = 48
_HALVINGS = 9
_FINE = 2e-4  # relative to the bound, what the intervals of m may cost
_CLOSE = 5e-4  # relative to the bound, where the columns are enough
_ROUNDS = 15
_ENOUGH = 1.03  # of what letters like the prior would have, where nothing is gained by other duals
_AT_ONCE = 12  # columns that join in a round
_SMOOTH = 0.3


@dataclass(frozen=True)
class Priced:
    """E Σ d λ² ≤ Σ d c for every mechanism, proven by the duals y; c is how the best columns share it out."""

    ceilings: Floats
    duals: Floats


class MeanSquare:
    """Bounds on E Σ_i d_i λ_i² over the mechanisms of a cone."""

    def __init__(self, cone: Cone) -> None:
        self.cone, self.p = cone, cone.prior.probabilities
        self.low, self.high = cone.entry_box()
        self.box: Floats = self.low + self.high - self.low * self.high
        where = cone.lift_range()
        # A box says all there is where the largest lift does not depend on the least one.
        self.range = where if where is not None and any(beta for _, beta in where.pieces) else None
        self.alike: float | None = None
        if self.range is not None:
            if len(set(cone.prior.weights.tolist())) == 1:
                self.alike = _of_vertices(self.range, self.p)
            self.typical = _ceiling(self.range)
            self.shared = self.box > self.typical
            self.segments = _segments(self.range)
            self.pool: Floats = np.ones((len(self.p), 1))

    def rough(self) -> Floats:
        """Return ceilings that hold for d like the prior, and are near those of others."""
        if self.range is None:
            return self.box
        return np.minimum(self.box, self.typical if self.alike is None else self.alike)

    def boxed(self, d: Floats) -> Priced:
        """Return the ceilings of the chords, whatever lifts share, with the chords' duals."""
        return Priced(self.box, d * (self.low + self.high))

    def simple(self, d: Floats) -> Priced:
        """Return ceilings for these weights, with duals s·d where letters share a range, the chords' own elsewhere."""
        own = d * (self.low + self.high)
        if self.range is None:
            return self.boxed(d)
        if self.alike is not None and bool(np.ptp(d) <= 1e-9 * d.max()):
            total = self.alike * float(d.max()) * len(d)
            return Priced(np.full(len(d), total / float(d.sum())), np.full(len(d), total / len(d)))
        first, last = 0.0, float(self.high.max()) * 2

        def duals(s: float) -> Floats:
            return np.where(self.shared, s * d, own)

        def about(s: float) -> float:
            return float(duals(s).sum()) + self._at_ends(d, duals(s))

        left, right = last - _GOLDEN * (last - first), first + _GOLDEN * (last - first)
        found = {s: about(s) for s in (left, right)}
        for _ in range(_CUTS):
            if found[left] <= found[right]:
                last, right, left = right, left, right - _GOLDEN * (right - first)
                found[left] = about(left)
            else:
                first, left, right = left, right, left + _GOLDEN * (last - left)
                found[right] = about(right)
            if last - first < 1e-3 * last:
                break
        best = self._proven(d, duals(min(found, key=found.__getitem__)), self.rough())
        return best if d @ best.ceilings < d @ self.box else self.boxed(d)

    def priced(self, d: Floats) -> Priced:
        """Return ceilings for these weights, with the duals of a linear program over the columns that matter."""
        from leakwise.optimize.search.master import Master

        best = self.simple(d)
        if self.range is None or self.alike is not None or d @ best.ceilings < _ENOUGH * (d @ self.rough()):
            return best
        if self.pool.shape[1] == 1:
            self.pool = self._first_columns()
        master = Master(d @ self.pool**2, self.pool)
        for _ in range(_ROUNDS):
            solution = master.solve()
            shares = self.pool**2 @ solution.weights
            y = solution.duals
            joined = 0
            for duals in (_SMOOTH * y + (1 - _SMOOTH) * best.duals, y):
                one = self._proven(d, duals, shares)
                if d @ one.ceilings < d @ best.ceilings:
                    best = one
                new = self._columns(d, duals)
                new = new[:, d @ new**2 - y @ new > 1e-9 * float(d @ best.ceilings)]
                if new.shape[1]:
                    master.add(d @ new**2, new)
                    self.pool, joined = master.columns, joined + new.shape[1]
            if d @ best.ceilings - solution.value < _CLOSE * solution.value or not joined:
                break
        shares = self.pool**2 @ master.solve().weights
        return Priced(shares * (float(d @ best.ceilings) / float(d @ shares)), best.duals)

    def _first_columns(self) -> Floats:
        """The constant column, single letters, and balanced sets: a mechanism that is good already."""
        size, share, generator = len(self.p), raised_share(self.cone), np.random.default_rng(len(self.p))
        sets = [np.eye(size, dtype=bool), ~np.eye(size, dtype=bool), cyclic_sets(size, share, 2 * size, generator)]
        sets.append(balanced_sets(size, share, 4 * size, generator))
        columns = set_columns(self.cone, np.concatenate(sets, axis=1), generator)
        return np.concatenate([np.ones((size, 1)), columns], axis=1)

    def _proven(self, d: Floats, y: Floats, shares: Floats) -> Priced:
        total = (float(y.sum()) + self._largest(d, y)) * _UP
        return Priced(shares * (total / float(d @ shares)), y)

    def _at_ends(self, d: Floats, y: Floats) -> float:
        """What the largest Σ d λ² - y·λ is about: at the ends of the intervals of m, which proves nothing."""
        ends = np.unique(self._grid())
        return float(self._knapsacks(d, y, ends, ends)[0].max())

    def _largest(self, d: Floats, y: Floats) -> float:
        """A number above Σ d λ² - y·λ for every column of the range: intervals of m, cut in two where they matter."""
        left, right = self._grid()
        settled, bound = -np.inf, -np.inf
        for _ in range(_HALVINGS):
            values = self._knapsacks(d, y, left, right)[0]
            middle = (left + right) / 2
            settled = max(settled, float(self._knapsacks(d, y, middle, middle)[0].max()))
            goal = settled + _FINE * (abs(settled) + float(np.abs(y).sum()))
            bound = max(bound, float(values[values <= goal].max(initial=-np.inf)))
            open_ = values > goal
            if not open_.any():
                return bound
            worst = float(values[open_].max())
            left, right = (
                np.concatenate([left[open_], middle[open_]]),
                np.concatenate([middle[open_], right[open_]]),
            )
        return max(bound, worst)

    def _columns(self, d: Floats, y: Floats) -> Floats:
        """Columns of the cone that come close to the largest Σ d λ² - y·λ, from the best intervals of m."""
        left, right = self._grid()
        middle = (left + right) / 2
        values, lifts = self._knapsacks(d, y, middle, middle)
        places = np.argsort(-values, kind="stable")[:_AT_ONCE]
        start = lifts[places].T
        return self.cone.linear_max(2 * d[:, None] * start - y[:, None])[1]

    def _grid(self) -> tuple[Floats, Floats]:
        ends = [np.linspace(start, end, 2 if not beta else _INTERVALS + 1) for start, end, beta in self.segments]
        return np.concatenate([part[:-1] for part in ends]), np.concatenate([part[1:] for part in ends])

    def _knapsacks(self, d: Floats, y: Floats, left: Floats, right: Floats) -> tuple[Floats, Floats]:
        """For each interval of the least lift, the chords' maximum over the lifts in [left, T(right)], and where."""
        assert self.range is not None
        p = self.p
        top = np.min([float(alpha) + float(beta) * right for alpha, beta in self.range.pieces], axis=0)
        low = np.maximum(self.low, left[:, None] / _UP)
        high = np.maximum(np.minimum(self.high, top[:, None] * _UP), low)
        slope = d * (low + high) - y
        density = slope / p
        order = np.argsort(-density, axis=1, kind="stable")
        width = np.take_along_axis(p * (high - low), order, axis=1)
        before = np.cumsum(width, axis=1) - width
        spare = 1 - low @ p
        filled = np.clip((spare[:, None] - before) / np.maximum(width, 1e-300), 0.0, 1.0)
        share = np.empty_like(filled)
        np.put_along_axis(share, order, filled, axis=1)
        # Any price of the mass bounds the knapsack: that of the letter where the budget ends.
        place = np.minimum((before + width < spare[:, None]).sum(axis=1), len(p) - 1)
        price = density[np.arange(len(left)), order[np.arange(len(left)), place]][:, None]
        rest = slope - price * p
        values = np.maximum(rest * low, rest * high).sum(axis=1) + price[:, 0] - (low * high) @ d
        possible = (spare >= -1e-9) & (high @ p >= 1 - 1e-9)
        return np.where(possible, values, -np.inf), low + (high - low) * share


def _ceiling(where: LiftRange) -> float:
    """The largest m + T(m) - m·T(m): what the mean of λ² may be for letters alike."""
    ends = [np.linspace(start, end, 257) for start, end, *_ in _segments(where)]
    m = np.concatenate(ends)
    top = np.min([float(alpha) + float(beta) * m for alpha, beta in where.pieces], axis=0)
    return float((m + top - m * top).max())


def _segments(where: LiftRange) -> list[tuple[float, float, float]]:
    """The least lifts between kinks of the range: both ends, and the slope of T between them."""
    ends = sorted({where.low, Fraction(1), *(a for a, _ in where.boxes())})
    segments = []
    for first, last in itertools.pairwise(ends):
        alpha, beta = min(where.pieces, key=lambda piece: piece[0] + piece[1] * (first + last) / 2)
        start = first if not beta else max(first, (1 - alpha) / beta)  # no column has all its lifts below 1
        if start <= last and where.top(last) >= 1:
            segments.append((float(start), float(last), float(beta)))
    return segments


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
