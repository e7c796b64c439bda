"""A second upper bound, for symmetric channels with many outputs: fix P(a), and the dual separates by output.

Where each row is κ + τ·[y = y_k], P(a, y) = κ P(a) + τ u_ay depends on one variable for each value and output. With
P = P(a = 1) in an interval, multipliers ν_0, ν_1 for Σ_y u_ay = P(a) and λ for the entropy, and
-p_y h(θ_y) ≤ c_j0 p_0y + c_j1 p_1y on cell j of a grid of posteriors,

    I ≤ max_P [ H(P) + ν·P + Σ_y max_j (κ c_j·P + λ Σ_a exp(log m_ay - 1 + (τ c_ja - ν_a)/λ)) ] - λ b.

The sum is convex in P: on an interval its chord bounds it. Three multipliers, whatever the number of outputs. What is
left is closed by splitting P, and the posterior of an output for which two distant cells are equally good: no
multipliers tell them apart, and the worst adversary uses only one.
"""

from __future__ import annotations

import heapq
import math
import time
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from leakwise.records.bounds.closed_form import binary_entropy, inverse_binary_entropy
from leakwise.records.queries.problem import EPS, Problem
from leakwise.types import Bools, Floats

__all__ = ["Separable", "separable_bound", "separable_of"]

_CELLS = (320, 2500)  # the fewest and the most cells of posteriors
_NARROW = 1e-5  # intervals of P that are split no more
_OF_THE_GAP = 0.3  # P is split where its chord is to blame for more than this
_MOST_PUSH = 300.0
_SMOOTHING = (1e-3, 1e-4, 1e-5, 2e-6)
_MOST_STEPS, _HALVINGS = 12, 10


@dataclass(frozen=True, eq=False)
class Separable:
    """A problem whose rows are κ + τ·[y = y_k]; ``sizes`` is log m_ay, 2×M, -inf where there is no class."""

    kappa: float
    tau: float
    sizes: Floats

    @cached_property
    def shares(self) -> Floats:
        """m_ay / e."""
        return np.exp(self.sizes - 1)

    @property
    def mirrored(self) -> bool:
        """Whether the values of the record can be exchanged, so that P and 1 - P have the same bound."""
        return bool((self.sizes[0] == self.sizes[1, ::-1]).all() or (self.sizes[0] == self.sizes[1]).all())


def separable_of(problem: Problem) -> Separable | None:
    """Recognise the structure; None where it is not there."""
    rows = problem.rows
    if problem.letters != 2 or rows.shape[1] < 3:
        return None
    kappa = float(np.median(rows[0]))
    peak = rows.argmax(axis=1)
    tau = float(rows[0].max()) - kappa
    expected = np.full_like(rows, kappa)
    expected[np.arange(len(rows)), peak] += tau
    if kappa <= 0 or tau <= 0 or (np.abs(expected - rows) > 8 * EPS * expected).any():
        return None
    sizes = np.full((2, rows.shape[1]), -np.inf)
    sizes[problem.letter, peak] = problem.log_sizes
    if np.isfinite(sizes).sum() != len(rows):
        return None
    return Separable(kappa, tau, sizes)


@dataclass(frozen=True, eq=False)
class _Node:
    """P in [low, high], and cells of posteriors (ends, c_j0 and c_j1), of which some are allowed for each output."""

    s: Separable
    b: float
    low: float
    high: float
    sides: Floats  # 2×M
    grid: Floats  # J+1
    cells: Floats  # 2×J
    allowed: Bools  # M×J

    @classmethod
    def of(cls, s: Separable, b: float, low: float, high: float, count: int, sides: Floats | None = None) -> _Node:
        """Lay a grid over all posteriors that P in [low, high] allows, even in arcsin √θ: so are the chords' errors."""
        top = s.kappa + s.tau
        first = s.kappa * low / (s.kappa * low + top * (1 - low)) * (1 - 1e-12)
        last = min(1.0, top * high / (top * high + s.kappa * (1 - high)) * (1 + 1e-12))
        grid = np.sin(np.linspace(math.asin(math.sqrt(first)), math.asin(math.sqrt(last)), count + 1)) ** 2
        grid[0], grid[-1] = min(grid[0], first), max(grid[-1], last)
        with np.errstate(divide="ignore", invalid="ignore"):
            negative_h = np.where(grid > 0, grid * np.log(grid), 0.0) + np.where(
                grid < 1, (1 - grid) * np.log1p(-grid), 0.0
            )
        slope = np.diff(negative_h) / np.diff(grid)
        start = negative_h[:-1] - slope * grid[:-1]
        if sides is None:
            sides = np.array([np.zeros(s.sizes.shape[1]), np.ones(s.sizes.shape[1])])
        allowed = (grid[1:] > sides[0][:, None]) & (grid[:-1] < sides[1][:, None])
        return cls(s, b, low, high, sides, grid, np.stack([start, start + slope]), allowed)

    def halves(self, y: int, at: float) -> list[_Node]:
        """Split the posterior of an output."""
        found = []
        for side in (1, 0):
            sides = self.sides.copy()
            sides[side, y] = at
            found.append(self.of(self.s, self.b, self.low, self.high, self.cells.shape[1], sides))
        return found

    def parts(self) -> list[_Node]:
        """Split the interval of P."""
        middle, count = 0.5 * (self.low + self.high), self.cells.shape[1]
        ends = (self.low, middle), (middle, self.high)
        return [self.of(self.s, self.b, low, high, count, self.sides) for low, high in ends]

    def push(self, x: Floats) -> Floats | None:
        """Return (τ c_ja - ν_a)/λ, 2×J; None where the bound would be far too large to matter."""
        if not (1e-7 < x[2] < 1e7 and np.abs(x[:2]).max() < 1e6):
            return None
        push = (self.s.tau * self.cells - x[:2, None]) / x[2]
        return push if push.max() <= _MOST_PUSH else None

    def values(self, grown: Floats, lam: float, p: float) -> Floats:
        """Return what each cell gives for each output, M×J."""
        base = lam * (self.s.shares.T @ grown) + self.s.kappa * (self.cells[0] * (1 - p) + self.cells[1] * p)
        return np.where(self.allowed, base, -np.inf)

    def best(self, x: Floats, low: float, high: float) -> tuple[float, float]:
        """Return the largest H(P) + ν·P + chord(P) where the sums at the ends of the interval are given, and its P."""
        slope = (high - low) / (self.high - self.low)
        tilt = float(x[1] - x[0]) + slope
        p = min(max(1 / (1 + math.exp(-tilt)) if tilt > -700 else 0.0, self.low), self.high)
        entropy = -(p * math.log(p) if p > 0 else 0.0) - ((1 - p) * math.log1p(-p) if p < 1 else 0.0)
        return entropy + float(x[0]) * (1 - p) + float(x[1]) * p + low + slope * (p - self.low), p

    def bound(self, x: Floats) -> float:
        """Return the bound for ν = x[:2] and λ = x[2], above all that floating point may have lost."""
        push = self.push(x)
        if push is None:
            return math.inf
        lam = float(x[2])
        ends = [self.values(np.exp(push), lam, p).max(axis=1) for p in (self.low, self.high)]
        value, _ = self.best(x, float(ends[0].sum()), float(ends[1].sum()))
        size = 2 + float(np.abs(x).sum()) + lam * abs(self.b) + max(float(np.abs(e).sum()) for e in ends)
        return value - lam * self.b + EPS * (64 + 8 * len(ends[0]) + float(np.abs(push).max())) * size

    def smooth(self, x: Floats, smoothing: float) -> tuple[float, Floats, Floats]:
        """Return the bound with smooth maxima over the cells, its gradient and its Hessian."""
        push = self.push(x)
        if push is None:
            return math.inf, np.zeros(3), np.zeros((3, 3))
        lam, s = float(x[2]), self.s
        grown = np.exp(push)
        sums, firsts, seconds = [], [], []
        for p in (self.low, self.high):
            values = self.values(grown, lam, p)
            top = values.max(axis=1, keepdims=True)
            weight = np.exp((values - top) / smoothing)
            total = weight.sum(axis=1, keepdims=True)
            weight /= total
            sums.append(float((top + smoothing * np.log(total)).sum()))
            # ∇V = (-S_0 G_0, -S_1 G_1, Σ S_a G_a (1 - push_a)) for every output and cell
            slopes = np.empty((3, *values.shape))
            slopes[:2] = -s.shares[:, :, None] * grown[:, None, :]
            slopes[2] = -np.einsum("ayj,aj->yj", slopes[:2], 1 - push)
            mean = np.einsum("yj,iyj->iy", weight, slopes)
            spread = slopes - mean[:, :, None]
            second = np.einsum("yj,iyj,kyj->ik", weight, spread, spread) / smoothing
            for a in (0, 1):
                each = -(weight * slopes[a]).sum(axis=0) / lam
                second[a, a] += each.sum()
                second[a, 2] += each @ push[a]
                second[2, 2] += each @ push[a] ** 2
            second[2, :2] = second[:2, 2]
            firsts.append(mean.sum(axis=1))
            seconds.append(second)
        value, p = self.best(x, *sums)
        share = (p - self.low) / (self.high - self.low)
        gradient = np.array([1 - p, p, -self.b]) + (1 - share) * firsts[0] + share * firsts[1]
        hessian = (1 - share) * seconds[0] + share * seconds[1]
        if self.low < p < self.high:
            tilt = np.array([-1.0, 1.0, 0.0]) + (firsts[1] - firsts[0]) / (self.high - self.low)
            hessian = hessian + p * (1 - p) * np.outer(tilt, tilt)
        return value - lam * self.b, gradient, hessian

    def minimised(self, x: Floats) -> tuple[float, Floats]:
        """Return the least bound found from x on, and its multipliers: Newton's method, less and less smooth."""
        for smoothing in _SMOOTHING:
            value, gradient, hessian = self.smooth(x, smoothing)
            for _ in range(_MOST_STEPS):
                if not math.isfinite(value):
                    break
                step = -np.linalg.solve(hessian + max(1e-12 * float(np.trace(hessian)), 1e-200) * np.eye(3), gradient)
                fall = -float(gradient @ step)
                if fall <= 0.1 * smoothing:
                    break
                length = min(1.0, 0.9 * x[2] / max(-step[2], 1e-300), 4 * x[2] / max(step[2], 1e-300))
                for _ in range(_HALVINGS):
                    there = self.smooth(x + length * step, smoothing)
                    if there[0] <= value - 0.1 * length * fall:
                        break
                    length *= 0.4
                else:
                    break
                x = x + length * step
                value, gradient, hessian = there
        return self.bound(x), x

    def cut(self, x: Floats, gap: float) -> tuple[int, float] | None:
        """Return the output whose posterior to split, and where; None to split P.

        The output is that with the most probability between two peaks of its cells, both within ``gap`` of the best.
        """
        push = self.push(x)
        if push is None:
            return None
        grown, lam = np.exp(push), float(x[2])
        ends = [float(self.values(grown, lam, p).max(axis=1).sum()) for p in (self.low, self.high)]
        values = self.values(grown, lam, 0.5 * (self.low + self.high))
        top = values.max(axis=1)
        if 0.5 * sum(ends) - float(top.sum()) > _OF_THE_GAP * gap:
            return None
        beside = np.pad(values, ((0, 0), (1, 1)), constant_values=-np.inf)
        peak = (values >= beside[:, :-2]) & (values >= beside[:, 2:]) & (values > top[:, None] - gap)
        first = values.argmax(axis=1)
        used = self.s.shares[:, :, None] * grown[:, None, :]
        apart = np.abs(used - used[:, np.arange(len(top)), first][:, :, None]).sum(axis=0) * peak
        y, j = divmod(int(apart.argmax()), apart.shape[1])
        if apart[y, j] < 1e-9:
            return None
        i, k = sorted((j, int(first[y])))
        return y, float(self.grid[i + 1 + int(values[y, i + 1 : k + 1].argmin())])


def separable_bound(s: Separable, b: float, value: float, tolerance: float, deadline: float) -> float:
    """Return an upper bound on max I; ``value`` is known to be reached."""
    # I ≤ H(a), so that P outside [edge, 1 - edge] cannot beat the value, or what can be said at all.
    edge = max(inverse_binary_entropy(value) * (1 - 1e-9), 1e-9)
    done = max(value, binary_entropy(edge))
    starts = [np.array([-0.02, -0.02, 0.03]), np.array([0.4, 0.4, 0.5])]
    heap: list[tuple[float, int, _Node, Floats]] = []
    count = 0

    def push(node: _Node, guesses: list[Floats], above: float) -> None:
        nonlocal count, done
        if not node.allowed.any(axis=1).all():
            return
        found, x = min((node.minimised(g) for g in guesses), key=lambda pair: pair[0])
        count += 1
        if found <= value + tolerance:
            done = max(done, found)
        else:
            heapq.heappush(heap, (-min(found, above), count, node, x))

    # A chord is above -h by (π/2 / cells)²/2 at most: a quarter of the tolerance, as far as the time allows it.
    cells = min(max(math.ceil(0.5 * math.pi / math.sqrt(0.5 * tolerance)), _CELLS[0]), _CELLS[1])
    push(_Node.of(s, b, edge, 0.5, cells), starts, math.inf)
    if not s.mirrored:
        push(_Node.of(s, b, 0.5, 1 - edge, cells), starts, math.inf)
    while heap and -heap[0][0] > done and time.monotonic() < deadline:
        negative, _, node, x = heapq.heappop(heap)
        cut = node.cut(x, -negative - value)
        if cut is not None:
            halves = node.halves(*cut)
        elif node.high - node.low > _NARROW:
            halves = node.parts()
        else:  # what is left is the error of the cells
            done = max(done, -negative)
            continue
        for half in halves:
            push(half, [x], -negative)
    return max(done, -heap[0][0]) if heap else done
