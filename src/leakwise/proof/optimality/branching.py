"""The largest reduced cost over lift vectors that many priors bound: linear programs whose answers are not trusted.

The region: π·λ = 1, low ≤ λ ≤ high, a_k·λ ≤ b_k for some sums, and λ_i ≤ t s, s ≤ Q·λ for every prior Q of a set (for
all priors: s ≤ λ_i). Any finite part of the set gives a larger region, hence a valid bound: priors are added when the
solver's column violates them. For multipliers α, β, γ ≥ 0 of any origin

    c·λ ≤ max over the box of (c - α + Σ_k β_k Q_k - Σ_k γ_k a_k)·λ + (t Σα - Σβ) s + Σ_k γ_k b_k,

which is a knapsack: the solver only has to make good multipliers. For f-informations chords on boxes of λ and s are cut
where they lose most.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from leakwise.priors import Ball, Box, PriorSet
from leakwise.proof.optimality.functions import Function, Late, chords, fill, highest, never, sum_up
from leakwise.proof.optimality.members import first_members, member_near, worst_member
from leakwise.types import Floats

if TYPE_CHECKING:
    from leakwise.lp import LinearProgram

__all__ = ["Region"]

Sums = Sequence[tuple[Floats, float]]

_SCALE = 1e4  # the solver's tolerances are absolute
_CUTS, _CUTS_LATER = 80, 4
_ACCURACY = 1e-8
_NEAR = 1e-11  # of the optimum, what is not worth another prior


@dataclass
class _Node:
    """A box of lifts and of the scale s."""

    low: Floats
    high: Floats
    scale: tuple[float, float]


class Region:
    """Lift vectors under a set of priors (None: under all of them), or under one with local differential privacy."""

    def __init__(
        self, p: Floats, low: Floats, high: Floats, ratio: float, priors: PriorSet | None, sums: Sums = ()
    ) -> None:
        self.p, self.low, self.high, self.ratio, self.priors = p, low, high, ratio, priors
        self.size = len(p)
        self.sums = np.array([row for row, _ in sums]).reshape(len(sums), self.size)
        self.most = np.array([most for _, most in sums])
        self.members = np.eye(self.size) if priors is None else first_members(priors)
        self._program = self._built()
        self._scale = priors.scale_rows() if isinstance(priors, (Ball, Box)) else None

    def _built(self) -> LinearProgram:
        from leakwise.lp import LinearProgram  # the solver loads when it is first needed

        size, after = self.size, 1 + self.size + len(self.sums)
        rows = np.zeros((after + len(self.members), size + 1))
        rows[0, :size] = self.p
        rows[1 : 1 + size, :size], rows[1 : 1 + size, size] = np.eye(size), -self.ratio
        rows[1 + size : after, :size] = self.sums
        rows[after:, :size], rows[after:, size] = -self.members, 1.0
        lower, upper = np.full(len(rows), -np.inf), np.zeros(len(rows))
        lower[0] = upper[0] = 1.0
        upper[1 + size : after] = self.most
        top = float(self.high.max())
        return LinearProgram(np.zeros(size + 1), rows, lower, upper, 0.0, [*self.high, top], maximize=True)

    def _relaxed(
        self, costs: Floats, node: _Node, cuts: int, enough: float = -math.inf
    ) -> tuple[float, Floats, float] | None:
        """A number above costs·λ in a node, with the solver's λ and s; None where the box is empty.

        Below ``enough`` it need not come.
        """
        size = self.size
        if (node.low > node.high).any() or node.scale[0] > node.scale[1]:
            return None
        self._program.change_costs(np.concatenate([costs * _SCALE, [0.0]]))
        self._program.change_column_bounds([*node.low, node.scale[0]], [*node.high, node.scale[1]])
        best, point = math.inf, np.ones(size)
        for _ in range(cuts):
            solution = self._program.solve()
            if not solution.optimal:
                ray = solution.infeasibility_ray
                if ray is None:
                    return best, point, 1.0
                push = 1e6 * (1 + float(np.abs(costs).sum()))
                # The witness, many times over, pushes the bound of an empty node below anything.
                return min(best, highest([self._by_duality(costs, node, np.abs(ray) * push)])), point, 1.0
            best = min(best, highest([self._by_duality(costs, node, np.abs(solution.duals) / _SCALE)]))
            point, scale = np.clip(solution.x[:size], node.low, node.high), float(solution.x[size])
            least = scale * (1 - 1e-10) - 1e-13
            done = self.priors is None or best <= enough
            member = None if self.priors is None or done else worst_member(self.priors, point, least)
            if member is None:
                return best, point, scale
            self._with_member(member)
        return best, point, scale

    def _by_duality(self, costs: Floats, node: _Node, multipliers: Floats) -> float:
        after = 1 + self.size + len(self.sums)
        alpha, gamma, beta = multipliers[1 : 1 + self.size], multipliers[1 + self.size : after], multipliers[after:]
        pulled, taken = beta @ self.members[: len(beta)], gamma @ self.sums
        weight = self.ratio * math.fsum(alpha) - math.fsum(beta)
        spent = float(gamma @ self.most)
        size = float((np.abs(costs) + alpha + pulled + taken) @ node.high) + spent
        size += (self.ratio * float(alpha.sum()) + float(beta.sum())) * node.scale[1]
        error = size * (self.size + len(beta) + len(gamma) + 16) * 2.0**-50
        at_scale = max(weight * node.scale[0], weight * node.scale[1])
        return fill(costs - alpha + pulled - taken, self.p, node.low, node.high) + at_scale + spent + error

    def _root(self) -> _Node:
        return _Node(self.low, self.high, (0.0, float(self.high.max())))

    def _with_member(self, row: Floats) -> None:
        self.members = np.concatenate([self.members, row[None, :]])
        self._program.add_rows(np.concatenate([-row, [1.0]])[None, :], np.full(1, -np.inf), np.zeros(1))

    @cached_property
    def _whole(self) -> LinearProgram | None:
        """The program with what the set itself says of its least mass, where it does: it has no priors to look for."""
        from leakwise.lp import LinearProgram

        if self._scale is None:
            return None
        size, width = self.size, self._scale.shape[1]
        rows = np.zeros((1 + size + len(self.sums), width))
        rows[0, :size] = self.p
        rows[1 : 1 + size, :size], rows[1 : 1 + size, size] = np.eye(size), -self.ratio
        rows[1 + size :, :size] = self.sums
        lower = np.full(len(rows) + len(self._scale), -np.inf)
        upper = np.concatenate([[1.0], np.zeros(size), self.most, np.zeros(len(self._scale))])
        lower[0] = 1.0
        high = np.full(width, np.inf)
        high[:size] = self.high
        floor = np.concatenate([self.low, np.zeros(width - size)])
        every = np.concatenate([rows, self._scale])
        return LinearProgram(np.zeros(width), every, lower, upper, floor, high, maximize=True)

    def _mixed(self, costs: Floats) -> tuple[Floats | None, float]:
        """The mixture of priors that matters for a linear function, by the multipliers of that program; about its top.

        Neither is relied on: a prior that is inside makes a valid bound, whatever it came from.
        """
        if self._whole is None or self._scale is None or self.priors is None:
            return None, -math.inf
        self._whole.change_costs(costs * _SCALE, np.arange(self.size))
        solution = self._whole.solve()
        if not solution.optimal:
            return None, -math.inf
        taken = np.abs(solution.duals[-len(self._scale) :]) @ self._scale[:, : self.size + 1]
        top = solution.objective / _SCALE
        return member_near(self.priors, -taken[:-1] / taken[-1]) if taken[-1] > 0 else None, top

    def linear(self, costs: Floats) -> float:
        """Return a number above costs·λ over the region."""
        mixed, top = self._mixed(costs)
        if mixed is not None:
            self._with_member(mixed)
        answer = self._relaxed(costs, self._root(), _CUTS, top + _NEAR * (1 + abs(top)))
        return -math.inf if answer is None else answer[0]

    def tightened(self, late: Late = never) -> tuple[Floats, Floats]:
        """Return the range of each lift, rounded outwards; as it stands for letters that it is too ``late`` for."""
        eye = np.eye(self.size)
        high = np.array([math.inf if late() else self.linear(unit) for unit in eye])
        low = np.array([-math.inf if late() else -self.linear(-unit) for unit in eye])
        return np.maximum(self.low, low), np.minimum(self.high, high)

    def largest(self, f: Function, y: Floats, room: float, nodes: int, late: Late = never) -> float:
        """Return a number above Σ_i π_i f(λ_i) - y·λ over the region; at most ``room`` where that can be shown."""
        counter = itertools.count()
        self.low, self.high = self.tightened(late)
        first = _Node(self.low, self.high, (0.0, float(self.high.max())))
        heap: list[tuple[float, int, _Node, Floats, float]] = []
        # A column that exceeds the room shows that no list of boxes will do: then the least that does is looked for.
        settled = room

        def look(node: _Node, cuts: int, most: float) -> None:
            nonlocal settled
            answer = self._chords(f, y, node, cuts)
            if answer is None or answer[0] <= settled:
                return
            value = float(self.p @ f(answer[1]) - y @ answer[1])
            settled = max(settled, value + _ACCURACY * (1 + abs(value)))
            bound = min(highest([answer[0]]), most)
            heapq.heappush(heap, (-bound, next(counter), node, answer[1], answer[2]))

        look(first, _CUTS, math.inf)
        for _ in range(nodes):
            if not heap or -heap[0][0] <= settled:
                return settled
            if late():
                break
            worst, _, node, point, scale = heapq.heappop(heap)
            for child in self._halves(f, node, point, scale):
                look(child, _CUTS_LATER, -worst)
        return max(settled, -heap[0][0]) if heap else settled

    def _chords(self, f: Function, y: Floats, node: _Node, cuts: int) -> tuple[float, Floats, float] | None:
        node.high = np.minimum(node.high, self.ratio * node.scale[1] * (1 + 2.0**-50))
        if self.priors is None:
            node.low = np.maximum(node.low, node.scale[0] * (1 - 2.0**-50))
        if (node.low > node.high).any():
            return None
        slope, start = chords(f, node.low, node.high)
        answer = self._relaxed(self.p * slope - y, node, cuts)
        return None if answer is None else (answer[0] + sum_up(self.p * start), answer[1], answer[2])

    def _halves(self, f: Function, node: _Node, point: Floats, scale: float) -> tuple[_Node, _Node]:
        """Cut where the chords are farthest above f: at a letter, or at the scale that holds many letters at once."""
        slope, start = chords(f, node.low, node.high)
        loss = self.p * np.maximum(start + slope * point - f(point), 0.0)
        first, last = node.scale
        raised = point > self.ratio * scale * (1 - 1e-9)
        lowered = point < scale * (1 + 1e-9) if self.priors is None else np.zeros(self.size, dtype=bool)
        others = loss * ~(raised | lowered)
        up, down = float(loss[raised].sum()), float(loss[lowered & ~raised].sum())
        if max(up, down) > float(others.max()) and last - first > 1e-10:
            cut = (scale + last) / 2 if up >= down else (first + scale) / 2
            cut = min(max(cut, first + 0.02 * (last - first)), last - 0.02 * (last - first))
            return _Node(node.low, node.high, (first, cut)), _Node(node.low, node.high, (cut, last))
        letter = int((others if others.any() else loss).argmax())
        width = float(node.high[letter] - node.low[letter])
        cut = float(np.clip(point[letter], node.low[letter] + 0.1 * width, node.high[letter] - 0.1 * width))
        low, high = node.low.copy(), node.high.copy()
        low[letter], high[letter] = cut, cut
        return _Node(node.low, high, node.scale), _Node(low, node.high, node.scale)
