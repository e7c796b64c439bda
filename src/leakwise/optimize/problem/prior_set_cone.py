"""The cone of ε-PML for every prior of a set: max v ≤ e^ε min_Q Q·v.

The least mass over a convex set is concave, so this is a convex cone. It is described by a linear program in the
column, a scale s ≤ min_Q Q·v, and what the set needs to bound s: levels of transport for balls and boxes, one row per
corner for hulls, and rows added as they are violated for KL balls.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property

import numpy as np

from leakwise.errors import InvalidInput
from leakwise.exact import float_above
from leakwise.lp import LinearProgram
from leakwise.optimize.problem.cones import Band, Cone
from leakwise.optimize.problem.lift_range import LiftRange
from leakwise.priors import AllPriors, Ball, Box, Hull, KLBall, PriorSet
from leakwise.types import Floats

__all__ = ["RobustCone", "ball_range"]


_CUTS = 60


class RobustCone(Cone):
    """ε-PML for every prior of a convex set, over all its letters; those the nominal prior never saw included."""

    def __init__(self, priors: PriorSet, ratio: Fraction) -> None:
        if not isinstance(priors, (AllPriors, Ball, Box, Hull, KLBall)):
            raise InvalidInput(
                f"A design needs a convex set of priors: a ball, a box, a hull, a KL ball or all priors. Got "
                f"{type(priors).__name__} instead."
            )
        self.priors = priors
        self.prior = priors.nominal
        self.ratio = ratio
        self.ratio_float = float_above(ratio)
        self._cuts: list[Floats] = [self.prior.probabilities]

    def __len__(self) -> int:
        return len(self.prior)

    # -- the linear program -------------------------------------------------------------------------------------

    @cached_property
    def rows(self) -> tuple[Floats, Floats, Floats, int]:
        """The program's rows with their bounds, and the number of variables: column, scale, then the set's own."""
        size = len(self.prior)
        p = self.prior.probabilities
        extra, blocks = self._set_rows()
        width = size + 1 + extra
        matrix, lower, upper = [np.concatenate([p, np.zeros(1 + extra)])[None, :]], [np.ones(1)], [np.ones(1)]
        below = np.zeros((size, width))
        below[:, :size] = np.eye(size)
        below[:, size] = -self.ratio_float
        for block in (below, *blocks):
            matrix.append(block)
            lower.append(np.full(len(block), -np.inf))
            upper.append(np.zeros(len(block)))
        return np.concatenate(matrix), np.concatenate(lower), np.concatenate(upper), width

    def _set_rows(self) -> tuple[int, list[Floats]]:
        """Rows ≤ 0 that bound the scale by the least mass over the set, and how many further variables they use."""
        size = len(self.prior)
        if isinstance(self.priors, AllPriors):
            rows = np.zeros((size, size + 1))
            rows[:, :size], rows[:, size] = -np.eye(size), 1.0
            return 0, [rows]
        if isinstance(self.priors, (Hull, KLBall)):
            members = [corner.probabilities for corner in self.priors.corners] if isinstance(self.priors, Hull) else []
            return 0, [self._member_rows(np.array(members or self._cuts))]
        return self._transport_rows(self.priors)

    def _member_rows(self, members: Floats) -> Floats:
        return np.concatenate([-members, np.ones((len(members), 1))], axis=1)

    def _transport_rows(self, priors: Ball | Box) -> tuple[int, list[Floats]]:
        # s ≤ π·v - Σ (u-π)(a-v)₊ - Σ (π-l)(v-b)₊ - c(b-a) for some a ≤ b: variables a, b, and both positive parts.
        size = len(self.prior)
        p = self.prior.probabilities
        if isinstance(priors, Ball):
            low, high, c = np.zeros(size), np.ones(size), float(priors.moved)
        else:
            low = np.array([float(bound) for bound in priors.lower])
            high = np.array([float(bound) for bound in priors.upper])
            c = 1.0 if priors.beta is None else min(float(priors.beta) / 2, 1.0)
        width = size + 1 + 2 + 2 * size
        a, b, fill, drain = size + 1, size + 2, size + 3, 2 * size + 3
        bound = np.zeros((1, width))
        bound[0, :size], bound[0, size] = -p, 1.0
        bound[0, a], bound[0, b] = -c, c
        bound[0, fill:drain], bound[0, drain:] = high - p, p - low
        order = np.zeros((1, width))
        order[0, a], order[0, b] = 1.0, -1.0
        filled, drained = np.zeros((size, width)), np.zeros((size, width))
        each = np.arange(size)
        filled[each, a], filled[each, each], filled[each, fill + each] = 1.0, -1.0, -1.0
        drained[each, each], drained[each, b], drained[each, drain + each] = 1.0, -1.0, -1.0
        return 2 + 2 * size, [bound, order, filled, drained]

    def program(self) -> LinearProgram:
        """Return a fresh program that maximises over the lift vectors; its first variables are the column."""
        matrix, lower, upper, width = self.rows
        return LinearProgram(np.zeros(width), matrix, lower, upper, 0.0, np.inf, maximize=True)

    def cut(self, column: Floats) -> Floats | None:
        """For a KL ball: a row that a column outside the cone violates; None for a column inside (or another set)."""
        if not isinstance(self.priors, KLBall):
            return None
        member = _worst_member(column, self.prior.probabilities, float(self.priors.radius))
        if self.ratio_float * float(member @ column) >= float(column.max()) * (1 - 1e-9):
            return None
        return self._member_rows(member[None, :])

    @cached_property
    def _solver(self) -> LinearProgram:
        return self.program()

    def solve(self, program: LinearProgram, objective: Floats) -> tuple[float, Floats] | None:
        """Return max objective·λ in a program of :meth:`program`, with as many cuts as it takes."""
        size, width = len(self.prior), self.rows[3]
        program.change_costs(np.concatenate([objective, np.zeros(width - size)]))
        for _ in range(_CUTS):
            solution = program.solve()
            if not solution.optimal:
                return None
            row = self.cut(solution.x[:size])
            if row is None:
                break
            program.add_rows(row, np.full(1, -np.inf), np.zeros(1))
        return solution.objective, solution.x[:size]

    # -- as a cone ----------------------------------------------------------------------------------------------

    @cached_property
    def _box(self) -> tuple[Floats, Floats]:
        size = len(self.prior)
        eye = np.eye(size)
        high, _ = self.linear_max(eye)
        low, _ = self.linear_max(-eye)
        return np.maximum(-low - 1e-9, 0.0), np.minimum(high * (1 + 1e-9) + 1e-9, self.ratio_float)

    def entry_box(self) -> tuple[Floats, Floats]:
        return self._box

    def linear_max(self, objectives: Floats) -> tuple[Floats, Floats]:
        values, vertices = [], []
        for objective in objectives.T:
            self.limits.check()
            answer = self.solve(self._solver, objective)
            assert answer is not None  # the constant column is in every cone
            values.append(answer[0])
            vertices.append(np.maximum(answer[1], 0.0))
        return np.array(values), np.stack(vertices, axis=1)

    def contains(self, column: Sequence[int]) -> bool:
        # The checker's own bound decides: its last digits may differ from the set's where logarithms are involved.
        return max(column) <= self.ratio * self.priors.exact_least_mass(column)

    def snap(self, lifts: Floats, mass: int) -> list[int]:
        return self._mixed_into(lifts, mass)

    def lift_range(self) -> LiftRange | None:
        where = ball_range(self.priors, self.ratio)
        if isinstance(self.priors, Ball) and self.priors.moved > min(self.priors.nominal.fractions):
            return where if self.priors.is_everything else None  # else only a part of the cone
        return where

    def bands(self) -> list[Band]:
        raise InvalidInput("The cone of a set of priors has no bands.")  # its searches do not ask


def ball_range(priors: PriorSet, ratio: Fraction) -> LiftRange | None:
    """Return lifts that serve all priors, or those of an l1 ball ([ED] Proposition 2): all of them while β ≤ 2π_min."""
    if getattr(priors, "is_everything", False):
        return LiftRange(Fraction(0), ((Fraction(0), ratio),))
    if isinstance(priors, Ball):
        c = priors.moved
        return LiftRange(Fraction(0), ((ratio / (1 + c * ratio), c * ratio / (1 + c * ratio)),), c)
    return None


def _worst_member(v: Floats, p: Floats, radius: float) -> Floats:
    """The prior Q with KL(p‖Q) ≤ radius that gives a column the least mass: Q_i ∝ p_i/(v_i - τ), the rest lowest."""
    if radius == 0 or np.ptp(v) == 0:
        return p
    seen = p > 0
    least, span = float(v.min()), float(np.ptp(v))

    known, above = p[seen], v[seen] - least

    def members(gaps: Floats) -> tuple[Floats, Floats]:
        """For each gap the member of the family, on the letters seen, and its divergence."""
        q = known / (above + gaps[:, None])
        q /= q.sum(axis=1, keepdims=True)
        return q, np.sum(known * np.log(known / q), axis=1)

    def whole(shares: Floats) -> Floats:
        q = np.zeros(len(p))
        q[seen] = shares
        return q

    if not seen[v == least].any():
        shares, divergences = members(np.zeros(1))
        q, divergence = whole(shares[0]), float(divergences[0])
        if divergence <= radius:
            rest = 1 - np.exp(divergence - radius)
            shared: Floats = q * (1 - rest)
            shared[int(v.argmin())] += rest
            return shared
    low, high = np.log(1e-16 * span), np.log(1e8 * span)
    for _ in range(16):  # each step cuts the interval into 32 parts
        steps = np.linspace(low, high, 33)
        near = members(np.exp(steps[1:-1]))[1] <= radius  # the divergence falls as the gap grows
        first = 1 + (int(near.argmax()) if near.any() else 31)
        low, high = float(steps[first - 1]), float(steps[first])
    return whole(members(np.exp(np.array([high])))[0][0])
