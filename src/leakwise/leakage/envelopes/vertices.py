"""The vertices of the envelope's linear program, as functions of t.

For V(t) = max Σ w_xy s.t. Σ_x w_xy ≤ c_y, Σ_y w_xy (λ_xy - t) ≥ 0 every outcome of a basis goes to one place (a
letter, or nowhere) except a few that are split; there are as many ties as letters that can reach the lift t. The ties
give the dual vector, A(t) v = b, and the shares of the split outcomes, A(t)ᵀ w = -g, with the same matrix A(t) = A0 -
t·A1. So a vertex found at one t can be followed along t without another linear program, for as long as it stays
feasible.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from leakwise.leakage.envelopes.problem import Columns
from leakwise.leakage.envelopes.shares import Shares
from leakwise.types import Bools, Floats, Indices

__all__ = ["Vertex", "make_vertex"]


@dataclass(frozen=True, eq=False)
class Vertex:
    """A basis: the place of each outcome (-1 is nowhere), the ties, and the letters that take part.

    Capacities are probabilities in units of ``unit``, capped at it.
    """

    columns: Columns
    capacity: Floats
    unit: float
    active: Indices
    place: Indices
    tie_letter: Indices
    tie_column: Indices

    def _ties(self, t: float) -> tuple[Floats, Floats, Floats]:
        """A(t), A1 and b over the active letters."""
        position = np.full(len(self.columns.lift), -1)
        position[self.active] = np.arange(len(self.active))
        count = len(self.tie_letter)
        matrix, slope, right = np.zeros((count, count)), np.zeros((count, count)), np.zeros(count)
        row = np.arange(count)
        own = position[self.tie_letter]
        matrix[row, own] += self.columns.lift[self.tie_letter, self.tie_column] - t
        slope[row, own] += 1.0
        home = self.place[self.tie_column]
        alone = home < 0
        right[alone] = -1.0
        shared = row[~alone]
        other = position[home[~alone]]
        matrix[shared, other] -= self.columns.lift[home[~alone], self.tie_column[~alone]] - t
        slope[shared, other] -= 1.0
        return matrix, slope, right

    def dual(self, t: float) -> Floats:
        """Return v(t): for each letter, 0 where it takes no part."""
        matrix, _, right = self._ties(t)
        dual = np.zeros(len(self.columns.lift))
        dual[self.active] = np.linalg.solve(matrix, right)
        return dual

    def value_and_slope(self, t: float) -> tuple[float, float]:
        """Return V(t) on this basis, and its derivative."""
        matrix, slope, right = self._ties(t)
        v = np.linalg.solve(matrix, right)
        dv = np.linalg.solve(matrix, slope @ v)
        position = np.full(len(self.columns.lift), -1)
        position[self.active] = np.arange(len(self.active))
        taken = np.flatnonzero(self.place >= 0)
        home = position[self.place[taken]]
        excess = self.columns.lift[self.place[taken], taken] - t
        capacity = self.capacity[taken]
        value = capacity @ (1.0 + v[home] * excess)
        return float(value), float(capacity @ (dv[home] * excess - v[home]))

    def tie_shares(self, t: float) -> Floats:
        """Return the capacity of each split outcome that goes to the tied letter instead of home."""
        matrix, _, _ = self._ties(t)
        taken = np.flatnonzero(self.place >= 0)
        excess = self.capacity[taken] * (self.columns.lift[self.place[taken], taken] - t)
        surplus = np.bincount(self.place[taken], weights=excess, minlength=len(self.columns.lift))[self.active]
        shares: Floats = np.asarray(np.linalg.solve(matrix.T, -surplus), dtype=np.float64)
        return shares

    def violation(self, t: float) -> float:
        """Return what the vertex misses to be optimal at t, as a part of its value: 0 when it is."""
        try:
            dual = self.dual(t)
            ties = self.tie_shares(t)
        except np.linalg.LinAlgError:
            return np.inf
        if not (np.isfinite(dual).all() and np.isfinite(ties).all()):
            return np.inf
        rest = self.capacity - np.bincount(self.tie_column, weights=ties, minlength=len(self.capacity))
        # What a negative share is worth: its probability, or what it does to the lift of its group.
        weight = np.maximum(self.columns.lift.max(axis=0) / t, 1.0)
        primal = weight @ np.maximum(-rest, 0.0) + weight[self.tie_column] @ np.maximum(-ties, 0.0)
        height = 1.0 + dual[self.active, None] * (self.columns.lift[self.active] - t)
        best = np.maximum(height.max(axis=0, initial=0.0), 0.0)
        taken = self.place >= 0
        own = np.zeros(len(self.place))
        own[taken] = 1.0 + dual[self.place[taken]] * (self.columns.lift[self.place[taken], taken] - t)
        value = float(self.capacity @ best)
        gap = float(self.capacity @ np.maximum(best - own, 0.0))
        return max(float(primal), gap, -float(dual[self.active].min(initial=0.0)) * t) / max(value, 1e-300)

    def shares(self, t: float) -> Shares:
        """Return the post-processing of this vertex at t."""
        ties = np.clip(self.tie_shares(t), 0.0, self.capacity[self.tie_column])
        rest = self.capacity - np.bincount(self.tie_column, weights=ties, minlength=len(self.capacity))
        taken = np.flatnonzero((self.place >= 0) & (rest > 0))
        mass = self.columns.mass / self.unit
        return Shares(
            np.concatenate([self.place[taken], self.tie_letter]),
            np.concatenate([taken, self.tie_column]),
            np.minimum(np.concatenate([rest[taken] / mass[taken], ties / mass[self.tie_column]]), 1.0),
        )

    def root(self, target: float, start: float, low: float, high: float) -> float | None:
        """Return where V on this basis equals the target: Newton steps, halved into [low, high] where they leave it."""
        t, low, high = start, low * (1 - 1e-12), high * (1 + 1e-12)
        for _ in range(80):
            try:
                value, slope = self.value_and_slope(t)
            except np.linalg.LinAlgError:
                return None
            if not np.isfinite(value):
                return None
            if value >= target:
                low = max(low, t)
            else:
                high = min(high, t)
            ahead = t + (target - value) / slope if slope < 0 else np.inf
            if not low <= ahead <= high:
                ahead = float(np.sqrt(low) * np.sqrt(high))
            if abs(ahead - t) <= 4e-16 * t:
                # A root, and not an end of the bracket that V never came down (or up) to.
                return ahead if abs(value - target) <= 1e-9 * target else None
            t = ahead
        return None


def make_vertex(
    columns: Columns,
    capacity: Floats,
    unit: float,
    active: Indices,
    letter: Indices,
    column: Indices,
    unassigned: Bools,
) -> Vertex | None:
    """Return the vertex of a basis: basic pairs and outcomes whose slack is basic; None where ties and letters do not
    match.
    """
    place = np.full(len(capacity), -2)
    place[unassigned] = -1
    order = np.argsort(column, kind="stable")
    letter, column = letter[order], column[order]
    first = np.ones(len(column), dtype=np.bool_)
    first[1:] = column[1:] != column[:-1]
    home = first & (place[column] == -2)
    place[column[home]] = letter[home]
    ties = ~home
    if (place == -2).any() or int(ties.sum()) != len(active):
        return None
    return Vertex(columns, capacity, unit, active, place, letter[ties], column[ties])
