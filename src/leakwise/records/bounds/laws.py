r"""The largest D(P_v ‖ r) + λ (H(v) + v·log m) over beliefs v about the others, for each value: boxes of the laws P_v.

Outcomes are merged into groups Z as in ``coarse.py``: where a group tells at most ω, and the groups themselves η, for
every belief v' and every share β of what is left,

.. math:: D(P_Y ‖ r) ≤ γ D(P_Z ‖ r) + T_{v'}\bigl[D(P_Y ‖ r) - γ D(P_Z ‖ r)\bigr] + (ω + βη) D(v ‖ v'),
          \qquad γ = 1 - ω - β.

The entropy pays for the last term. On a box of P_Z the first has chords, and what is left is a logarithm of a sum of
exponentials of the multipliers of the sides, minimised by Newton's method with barriers for the sides. Any multipliers
and any v' prove something.
"""

from __future__ import annotations

import heapq
import time
from dataclasses import dataclass

import numpy as np

from leakwise.records.bounds.coarse import View
from leakwise.records.queries.problem import EPS, Problem
from leakwise.types import Floats, Indices

__all__ = ["LawSearch"]

_BATCH, _NUMBERS = 256, 1_000_000
_OF_THE_GAP = 0.2  # what barriers cost, of what is above the target
_FINEST, _COARSEST = 1e-8, 1e-3
_STEPS, _HALVINGS = 3, 4
_PART, _PARTS = 0.25, (0.0, 0.3, 0.6, 0.9)  # β, as a part of what the entropy can pay for: while minimising, and after
_SHARE = 0.99
_RAYS = (10.0, 100.0, 1000.0)
_EVEN = 1e-9  # how much of the uniform belief is in v'
_LEAST = 1e-290


@dataclass(eq=False)
class _Cells:
    """Boxes of laws (B×Z), multipliers of their sides (positive: the lower one), v' (B×K), and what is proven (B)."""

    low: Floats
    high: Floats
    push: Floats
    point: Floats
    bound: Floats

    def take(self, which: Indices) -> _Cells:
        return _Cells(self.low[which], self.high[which], self.push[which], self.point[which], self.bound[which])

    @classmethod
    def joined(cls, parts: list[_Cells]) -> _Cells:
        names = ("low", "high", "push", "point", "bound")
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def _xlogx(t: Floats) -> Floats:
    return np.asarray(t * np.log(np.where(t > 0, t, 1.0)))


def _tighten(low: Floats, high: Floats) -> None:
    """A law sums to one: each part is at least one less the most of the others."""
    for _ in range(2):
        np.maximum(low, 1 - (high.sum(axis=1, keepdims=True) - high) - 1e-13, out=low)
        np.minimum(high, 1 - (low.sum(axis=1, keepdims=True) - low) + 1e-13, out=high)


@dataclass(frozen=True, eq=False)
class _Value:
    """One value of the record: the rows of its classes, K×M, and of the groups of outcomes, K×Z."""

    rows: Floats
    groups: Floats
    sizes: Floats
    view: View
    logs: Floats  # of r
    lam: float

    def reached(self, v: Floats) -> Floats:
        """Return what beliefs reach."""
        law = np.maximum(v @ self.rows, _LEAST)
        entropy = (v * self.sizes - _xlogx(v)).sum(axis=1)
        return np.asarray((law * (np.log(law) - self.logs)).sum(axis=1) + self.lam * entropy)

    def everything(self) -> _Cells:
        low, high = self.groups.min(axis=0)[None] * (1 - 1e-14), self.groups.max(axis=0)[None] * (1 + 1e-14)
        even = np.full((1, len(self.rows)), 1.0 / len(self.rows))
        return _Cells(low, high, np.zeros_like(low), even, np.full(1, np.inf))

    def chords(self, cells: _Cells) -> tuple[Floats, Floats]:
        """Return the slopes of the chords, and their constants together."""
        at_low, width = _xlogx(cells.low), cells.high - cells.low
        slope = (_xlogx(cells.high) - at_low) / np.where(width > 0, width, 1.0)
        return slope, (at_low - slope * cells.low).sum(axis=1)

    def weights(self, point: Floats, slope: Floats, part: float) -> tuple[Floats, float, float]:
        """Return the weights of the classes, γ, and what is left of λ."""
        within, among = self.view.within, self.view.among
        dear = max((1 - within) * among, _LEAST)
        more = (1 - within) * min(part * max(self.lam - within, 0.0) / dear, _SHARE)
        kept, paid = 1 - within - more, within + more * among
        law, group = np.maximum(point @ self.rows, _LEAST), np.maximum(point @ self.groups, _LEAST)
        each = (np.log(law) - self.logs) @ self.rows.T + kept * ((slope - np.log(group)) @ self.groups.T)
        return each - paid * np.log(point) + self.lam * self.sizes, kept, self.lam - paid

    def tilted(self, each: Floats, left: float, push: Floats) -> tuple[Floats, Floats]:
        exponent = (each + push @ self.groups.T) / left
        top = exponent.max(axis=1, keepdims=True)
        e = np.exp(exponent - top)
        s = e.sum(axis=1, keepdims=True)
        return np.asarray(left * (top + np.log(s))[:, 0]), e / s

    def smooth(
        self, each: Floats, left: float, cells: _Cells, push: Floats, barrier: Floats
    ) -> tuple[Floats, Floats, Floats]:
        """Return the bound with barriers instead of the sides, its gradient, and the beliefs behind it."""
        value, v = self.tilted(each, left, push)
        half = 0.5 * (cells.high - cells.low)
        ratio = push * half / (barrier + np.sqrt(barrier**2 + (push * half) ** 2))
        aim = 0.5 * (cells.low + cells.high) - half * ratio
        sides = -push * aim + barrier * np.log1p(-np.minimum(ratio**2, 1 - 1e-15))
        return value + sides.sum(axis=1), v @ self.groups - aim, v

    def minimised(self, each: Floats, left: float, cells: _Cells, push: Floats, barrier: Floats) -> Floats:
        """Newton's method on the multipliers."""
        push, busy = push.copy(), np.arange(len(push))
        value, gradient, v = self.smooth(each, left, cells, push, barrier)
        diagonal = np.arange(push.shape[1])
        for _ in range(_STEPS):
            law, half = v @ self.groups, 0.5 * (cells.high - cells.low)[busy]
            second = np.matmul(self.groups.T[None], self.groups[None] * v[:, :, None])
            hessian = (second - law[:, :, None] * law[:, None, :]) / left
            wall = barrier[busy]
            root = np.sqrt(wall**2 + (push[busy] * half) ** 2)
            hessian[:, diagonal, diagonal] += half**2 * wall / (root * (wall + root)) + 1e-12
            step = -np.linalg.solve(hessian, gradient[:, :, None])[:, :, 0]
            fall = -(gradient * step).sum(axis=1)
            some = np.flatnonzero(fall > 3 * wall[:, 0])
            if not some.size:
                break
            busy, step, fall = busy[some], step[some], fall[some]
            value, gradient, v = value[some], gradient[some], v[some]
            length, todo = 1.0, np.arange(len(busy))
            for _ in range(_HALVINGS):
                at = busy[todo]
                trial = push[at] + length * step[todo]
                there = self.smooth(each[at], left, cells.take(at), trial, barrier[at])
                fine = there[0] <= value[todo] - 0.1 * length * fall[todo]
                done = todo[fine]
                push[busy[done]] = trial[fine]
                value[done], gradient[done], v[done] = (part[fine] for part in there)
                todo, length = todo[~fine], 0.3 * length
                if not todo.size:
                    break
        return push

    def relax(self, cells: _Cells, enough: float) -> Floats:
        """Bound cells, from their multipliers and v' on, which are improved; return the beliefs behind the bounds."""
        slope, constant = self.chords(cells)
        barrier = _OF_THE_GAP / cells.low.shape[1] * (cells.bound - enough)[:, None]
        each, _, left = self.weights(cells.point, slope, _PART)
        cells.push = self.minimised(each, left, cells, cells.push, np.clip(barrier, _FINEST, _COARSEST))
        self.prove(cells, slope, constant, cells.push, _PART)
        _, belief = self.tilted(each, left, cells.push)
        # v' = v is best; going there at once overshoots.
        stay = 1 - left / self.lam
        logs = stay * np.log(cells.point) + (1 - stay) * np.log(np.maximum(belief, _LEAST))
        e = np.exp(logs - logs.max(axis=1, keepdims=True))
        cells.point = (1 - _EVEN) * e / e.sum(axis=1, keepdims=True) + _EVEN / e.shape[1]
        for part in _PARTS:
            self.prove(cells, slope, constant, cells.push, part)
        for factor in _RAYS:  # where no law is in the box
            self.prove(cells, slope, constant, factor * cells.push, _PART)
        return belief

    def prove(self, cells: _Cells, slope: Floats, constant: Floats, push: Floats, part: float) -> None:
        """Lower the bounds to what these multipliers prove, above all that floating point may have lost."""
        each, kept, left = self.weights(cells.point, slope, part)
        sides = np.where(push > 0, -push * cells.low, -push * cells.high).sum(axis=1)
        value = kept * constant + self.tilted(each, left, push)[0] + sides
        size = np.abs(each).max(axis=1) + np.abs(push).sum(axis=1) + np.abs(slope).sum(axis=1)
        size += 2 + self.lam * (1 + np.abs(self.sizes).max()) + np.abs(self.logs).max()
        size += np.abs(np.log(cells.point)).max(axis=1)
        slack = EPS * (8 * self.rows.shape[1] + self.rows.shape[0] + 16) * size
        cells.bound = np.fmin(cells.bound, value + slack)

    def split(self, cells: _Cells, belief: Floats) -> _Cells:
        """Cut each cell where its chord is furthest above the truth."""
        law = np.clip(belief @ self.groups, cells.low, cells.high)
        at_low, width = _xlogx(cells.low), cells.high - cells.low
        excess = at_low + self.chords(cells)[0] * (law - cells.low) - _xlogx(law)
        z, each = (excess + 1e-14 * width).argmax(axis=1), np.arange(len(law))
        low, wide = cells.low[each, z], width[each, z]
        cut = np.clip(law[each, z], low + 0.2 * wide, low + 0.8 * wide)
        lower, upper = cells.take(each), cells.take(each)
        lower.high[each, z], upper.low[each, z] = cut, cut
        halves = _Cells.joined([lower, upper])
        _tighten(halves.low, halves.high)
        return halves.take(np.flatnonzero((halves.low <= halves.high).all(axis=1)))


class LawSearch:
    """Branch and bound for all values of the record at once, from what is known to be reached for each.

    ``bounds`` are what is proven; ``found`` are beliefs that reach more than what was known, after which it is better
    to start again with another r and λ.
    """

    def __init__(self, problem: Problem, view: View, centre: Floats, lam: float, reached: Floats, share: float) -> None:
        self.values = [
            _Value(problem.rows[k], view.coarse.rows[k], problem.log_sizes[k], view, np.log(centre), lam)
            for k in problem.blocks
        ]
        self.reached, self.enough = reached, reached + share
        self.found: list[Floats] = [np.zeros((0, len(value.rows))) for value in self.values]
        self.heap: list[tuple[float, int, int, _Cells, Floats]] = []
        self.count = 0
        most = max(value.groups.size for value in self.values)
        self.batch = max(1, min(_BATCH, _NUMBERS // (most * view.coarse.rows.shape[1])))
        for k, value in enumerate(self.values):
            self.enter(k, value.everything())

    @property
    def better(self) -> bool:
        """Whether beliefs were found that reach more than what was known."""
        return any(len(v) for v in self.found)

    @property
    def bounds(self) -> Floats:
        """What is proven for each value."""
        proven = self.enough.copy()
        for negative, _, k, _, _ in self.heap:
            proven[k] = max(proven[k], self.reached[k] - negative)
        return np.asarray(proven + 4 * EPS * (1 + np.abs(proven) + np.abs(self.reached)))

    def enter(self, k: int, cells: _Cells) -> None:
        """Bound cells of the k-th value, and keep those that are still open."""
        value = self.values[k]
        belief = value.relax(cells, float(self.enough[k]))
        reached = value.reached(belief)
        if reached.max(initial=-np.inf) > 0.5 * (self.reached[k] + self.enough[k]):
            self.found[k] = np.concatenate([self.found[k], belief[[int(reached.argmax())]]])
        for i in np.flatnonzero(~(cells.bound <= self.enough[k])):
            self.count += 1
            one = np.array([i])
            entry = -float(cells.bound[i] - self.reached[k]), self.count, k, cells.take(one), belief[one]
            heapq.heappush(self.heap, entry)

    def run(self, deadline: float) -> None:
        """Go on until all is closed, or something better is found, or time is up."""
        while self.heap and not self.better and time.monotonic() < deadline:
            chosen: list[list[tuple[_Cells, Floats]]] = [[] for _ in self.values]
            for _ in range(min(self.batch, len(self.heap))):
                _, _, k, cell, belief = heapq.heappop(self.heap)
                chosen[k].append((cell, belief))
            for k, some in enumerate(chosen):
                if some:
                    cells = _Cells.joined([cell for cell, _ in some])
                    self.enter(k, self.values[k].split(cells, np.concatenate([belief for _, belief in some])))
