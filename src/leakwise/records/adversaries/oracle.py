"""Bad adversaries for a mechanism: found by climbing, or proven the worst by branch and bound."""

from __future__ import annotations

import numpy as np

from leakwise.records.adversaries.beliefs import Belief, Reduction, reductions
from leakwise.records.adversaries.local import climb, starting_beliefs, vertex_bound
from leakwise.records.bounds.branch import solve
from leakwise.records.queries.spaces import Space
from leakwise.types import Floats

__all__ = ["Oracle"]

_POOL = 60


class Oracle:
    """Finds bad adversaries for a mechanism; remembers them."""

    def __init__(self, space: Space, b: float, seed: int) -> None:
        self.space, self.b, self.seed = space, b, seed
        self.pool: list[Belief] = []

    def _starts(self, reduction: Reduction) -> Floats:
        known = [reduction.gather(p) for p in self.pool if p.view == reduction.index]
        _, vertices = vertex_bound(reduction.problem)
        usual = starting_beliefs(reduction.problem, vertices, 4 if len(known) < 4 else 2, self.seed + len(self.pool))
        return np.concatenate([np.array(known), usual]) if known else usual

    def local(self, q: Floats) -> tuple[float, Belief]:
        """Return the worst adversary that climbing finds: reached, not proven the worst."""
        best: tuple[float, Belief] | None = None
        for reduction in reductions(self.space, q):
            b = reduction.problem.shifted(self.b)
            u, value = climb(reduction.problem, self._starts(reduction), b, steps=25, accuracy=1e-9)
            k = int(np.argmax(value))
            u, value = climb(reduction.problem, u[[k]], b, steps=200, accuracy=1e-12)
            if best is None or value[0] > best[0]:
                best = float(value[0]), reduction.spread(u[0])
        assert best is not None
        self.remember(best[1], q)
        return best

    def remember(self, belief: Belief, q: Floats) -> None:
        self.pool.append(belief)
        if len(self.pool) > _POOL:
            order = sorted(self.pool[:-1], key=lambda p: -p.information(self.space, q))
            self.pool = [*order[: _POOL - 1], belief]

    def certified(self, q: Floats, tolerance: float, deadline: float) -> tuple[float, float, Belief, bool]:
        """Return value ≤ leakage of q ≤ bound, and the adversary."""
        best: tuple[float, Belief] | None = None
        bound, closed = 0.0, True
        for reduction in reductions(self.space, q):
            floor = best[0] if best else 0.0
            starts = self._starts(reduction)
            b = reduction.problem.shifted(self.b)
            answer = solve(reduction.problem, b, tolerance=tolerance, deadline=deadline, floor=floor, starts=starts)
            bound, closed = max(bound, answer.bound), closed and answer.closed
            if best is None or answer.value > best[0]:
                best = answer.value, reduction.spread(answer.belief)
        assert best is not None
        return best[0], max(bound, best[0]), best[1], closed
