r"""How large the lifts of an outcome are on average, squared and weighed: a bound on E Σ_i d_i λ_i² for a whole cone.

Letter by letter E λ_i² ≤ l_i + h_i - l_i h_i on the box [l_i, h_i], the chord at E λ_i = 1. Where all lifts of an
outcome are in [m, T(m)] for some m (LDP, alone or with a bound on lifts; a small ball), no outcome has its lifts at
both ends of the box, and less is true: as E λ = 1, for every y

.. math:: E \sum_i d_i \lambda_i^2 \le \sum_i y_i + \max_m \max_\lambda \sum_i d_i \lambda_i^2 - y_i \lambda_i .

For m in a short interval all lifts are in a box that is little larger than [m, T(m)], on which chords turn the inner
maximum into a continuous knapsack. The y are the duals of a linear program over columns that are found on the way, in
which chords stand for the squares, as in the bound; at first y = s·d with the best s. For a uniform prior and equal d
the average is that of the best vertex.
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
_POINTS = 193
_HALVINGS = 9
_FINE = 2e-4  # relative to the bound, what the intervals of m may cost
_CLOSE = 5e-4  # relative to the bound, where the columns are enough
_ROUNDS = 25
_ENOUGH = 1.005  # of what letters like the prior would have, where nothing is gained by other duals
_AT_ONCE = 12  # columns that join in a round
_SMOOTH = 0.3
_USEFUL = 1e-6  # relative to the bound, the reduced cost of a column that joins
_ALL_ALONE = 130  # letters, up to which each has a dual of its own
_ALONE, _GROUPS = 60, 30  # of more letters those that have one, and groups of the others


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
            self.squares: Floats = self.pool

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
            return self._about(d, duals(s))

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
        """Return ceilings for these weights, with the duals of a linear program over the columns that matter.

        Of many letters the heavy ones have duals of their own, others share the s of y = s·d with those like them.
        """
        from leakwise.optimize.search.master import Master

        best = self.simple(d)
        if self.range is None or self.alike is not None or d @ best.ceilings < _ENOUGH * (d @ self.rough()):
            return best
        if self.pool.shape[1] == 1:
            self.pool = self._first_columns()
            self.squares = self.pool**2
        groups = self._groups()
        each = groups.T @ d
        rows = groups.T * d / each[:, None]  # groups × N: the mean lift of a group, weighed by d
        master = Master(d @ self.squares, rows @ self.pool)
        least, duals = self._about(d, best.duals), best.duals
        for _ in range(_ROUNDS):
            solution = master.solve()
            y, joined = rows.T @ solution.duals, 0
            for tried in (_SMOOTH * y + (1 - _SMOOTH) * duals, y):
                total = self._about(d, tried)
                if total < least:
                    least, duals = total, tried
                new, squares = self._columns(d, tried)
                useful = d @ squares - y @ new > _USEFUL * least
                if useful.any():
                    master.add(d @ squares[:, useful], rows @ new[:, useful])
                    self.pool = np.concatenate([self.pool, new[:, useful]], axis=1)
                    self.squares = np.concatenate([self.squares, squares[:, useful]], axis=1)
                    joined += int(useful.sum())
            if least - solution.value < _CLOSE * solution.value or not joined:
                break
        weights = master.solve().weights
        found = self._proven(d, duals, self.squares @ weights)
        used = weights > 0
        used[0] = True  # the constant column, with which there is always a mechanism
        self.pool, self.squares = self.pool[:, used], self.squares[:, used]
        return min(best, found, key=lambda one: float(d @ one.ceilings))

    def _groups(self) -> Floats:
        """Letters × groups: each letter alone, or where they are many the heaviest, others with those like them."""
        size = len(self.p)
        order = np.argsort(-self.p, kind="stable")
        alone = size if size <= _ALL_ALONE else _ALONE
        groups = [*np.split(order[:alone], alone), *(np.array_split(order[alone:], _GROUPS) if alone < size else [])]
        found = np.zeros((size, len(groups)))
        for number, group in enumerate(groups):
            found[group, number] = 1.0
        return found

    def _about(self, d: Floats, y: Floats) -> float:
        """What the mean is about by these duals: the largest Σ d λ² - y·λ at some m, which is no proof."""
        points = self._points()
        return float(y.sum()) + float(self._knapsacks(d, y, points, points)[0].max())

    def _points(self) -> Floats:
        """Least lifts that are close to every other one, with all kinks of the range."""
        parts = [np.linspace(start, end, 2 if not beta else _POINTS) for start, end, beta in self.segments]
        return np.unique(np.concatenate(parts))

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

    def _columns(self, d: Floats, y: Floats) -> tuple[Floats, Floats]:
        """Lifts of the largest Σ d λ² - y·λ for the best m, and the chords at them, which stand for the squares.

        A letter between both ends of its box is worth its chord: so the program knows what the bound takes for true.
        """
        points = self._points()
        values, lifts = self._knapsacks(d, y, points, points)
        places = np.argsort(-values, kind="stable")[:_AT_ONCE]
        low, high = self._boxes(points[places], points[places])
        return lifts[places].T, ((low + high) * lifts[places] - low * high).T

    def _grid(self) -> tuple[Floats, Floats]:
        ends = [np.linspace(start, end, 2 if not beta else _INTERVALS + 1) for start, end, beta in self.segments]
        return np.concatenate([part[:-1] for part in ends]), np.concatenate([part[1:] for part in ends])

    def _boxes(self, left: Floats, right: Floats) -> tuple[Floats, Floats]:
        """Where the lifts are beside a least one in each interval."""
        assert self.range is not None
        top = np.min([float(alpha) + float(beta) * right for alpha, beta in self.range.pieces], axis=0)
        low = np.maximum(self.low, left[:, None] / _UP)
        return low, np.maximum(np.minimum(self.high, top[:, None] * _UP), low)

    def _knapsacks(self, d: Floats, y: Floats, left: Floats, right: Floats) -> tuple[Floats, Floats]:
        """For each interval of the least lift, the chords' maximum over the lifts in [left, T(right)], and where."""
        p = self.p
        low, high = self._boxes(left, right)
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
