"""The convex master: mechanisms against a growing list of adversaries, by linear programs of gradient cuts."""

from __future__ import annotations

import math

import numpy as np

from leakwise.errors import NotConverged
from leakwise.types import Floats

__all__ = ["Master"]


class Master:
    """min t (least leakage) or min E d (least distortion) over q, against the cuts G·q ≤ t or G·q ≤ L.

    I(X_i; Y) is convex and homogeneous in q, so a gradient G is a cut without a constant. Bounds are recomputed from
    the multipliers alone (any non-negative ones give a valid bound), so that no tolerance of the solver enters them.
    """

    def __init__(self, costs: Floats, *, distortion: float | None = None, leakage: float | None = None) -> None:
        from leakwise.lp import LinearProgram

        self.costs, self.distortion, self.leakage = costs, distortion, leakage
        self.cuts: list[Floats] = []
        self.limit = 0.0 if leakage is None else leakage
        states, outputs = costs.shape
        size = states * outputs
        rows = np.zeros((states + (distortion is not None), size + 1))
        for s in range(states):
            rows[s, s * outputs : (s + 1) * outputs] = 1.0
        lower = np.ones(len(rows))
        upper = np.ones(len(rows))
        objective = np.zeros(size + 1)
        if distortion is not None:
            rows[-1, :size] = costs.reshape(-1)
            lower[-1], upper[-1] = -math.inf, distortion
            objective[-1] = 1.0
        else:
            objective[:size] = costs.reshape(-1)
        self.base = len(rows)
        self.program = LinearProgram(objective, rows, lower, upper)

    def add(self, cut: Floats) -> None:
        """One more adversary, linearised at some mechanism."""
        row = np.concatenate([cut.reshape(-1), [-1.0 if self.distortion is not None else 0.0]])
        row[np.abs(row) < 1e-12] = 0.0
        self.program.add_rows(row[None], [-math.inf], [self.limit])
        self.cuts.append(cut)

    def solve(self) -> tuple[Floats, float]:
        """Return the mechanism that is best against the cuts, and a proven lower bound on the optimum."""
        solution = self.program.solve()
        if not solution.optimal:
            raise NotConverged(f"the master program ended as {solution.status!r}.", lower=0.0, upper=math.inf)
        q = np.maximum(solution.x[:-1].reshape(self.costs.shape), 0.0)
        return q / q.sum(axis=1, keepdims=True), self._bound(solution.duals)

    def _bound(self, duals: Floats) -> float:
        weights = np.maximum(-duals[self.base :], 0.0)
        if not len(weights):
            return 0.0
        cuts = np.array(self.cuts)
        if self.distortion is not None:
            total = float(weights.sum())
            if total <= 0:
                return 0.0
            eta = max(0.0, -float(duals[self.base - 1])) / total
            mixed = np.tensordot(weights / total, cuts, axes=1) + eta * self.costs
            return max(0.0, float(mixed.min(axis=1).sum()) - eta * self.distortion - 1e-13)
        mixed = self.costs + np.tensordot(weights, cuts, axes=1)
        return max(0.0, float(mixed.min(axis=1).sum()) - self.limit * float(weights.sum()) - 1e-13)
