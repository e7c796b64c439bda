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
_AT_ONCE, _APART = 6, 1e-3  # how many adversaries are handed back, and how different they are


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

    def local(self, q: Floats) -> list[tuple[float, Belief]]:
        """Return the worst adversaries that climbing finds, the worst first: reached, not proven the worst."""
        found = []
        for reduction in reductions(self.space, q):
            b = reduction.problem.shifted(self.b)
            u, value = climb(reduction.problem, self._starts(reduction), b, steps=25, accuracy=1e-9)
            apart: list[int] = []
            for k in np.argsort(-value).tolist():
                if len(apart) < _AT_ONCE and all(np.abs(u[k] - u[j]).max() > _APART for j in apart):
                    apart.append(k)
            u, value = climb(reduction.problem, u[apart], b, steps=200, accuracy=1e-12)
            found += [(float(v), reduction.spread(w)) for v, w in zip(value, u, strict=True)]
        found.sort(key=lambda pair: -pair[0])
        for _, belief in reversed(found):
            self.remember(belief, q)
        return found

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
