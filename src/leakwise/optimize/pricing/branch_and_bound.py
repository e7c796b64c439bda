"""Generic pricing for any cone and any convex utility: branch and bound on boxes of the entries, a chord on each box.

On a box a convex utility lies below a chord, so a linear program over the cone bounds all its columns; its vertex is a
candidate. The box is cut where the chord is farthest from the function. Slow and general: fast pricers are tested
against it.
"""

from __future__ import annotations

import heapq
import itertools

import numpy as np

from leakwise.optimize.problem.cones import Cone
from leakwise.optimize.problem.utility import Utility
from leakwise.optimize.search.limits import Limits
from leakwise.types import Floats

__all__ = ["BranchPricing"]


class BranchPricing:
    """max μ(λ) - y·λ over the lift vectors of a cone, with a proven bound."""

    def __init__(self, cone: Cone, utility: Utility) -> None:
        self.cone, self.utility = cone, utility
        self.low, self.high = cone.entry_box()

    def _relaxed(self, low: Floats, high: Floats, y: Floats) -> tuple[float, Floats] | None:
        slopes, constant = self.utility.chord(low, high, self.cone.prior)
        answer = self.cone.relaxed(slopes - y, low, high)
        return None if answer is None else (answer[0] + constant, answer[1])

    def value(self, lifts: Floats, y: Floats) -> Floats:
        """Return the reduced cost of columns (N × n)."""
        costs: Floats = self.utility.columns_worth(lifts, self.cone.prior) - y @ lifts
        return costs

    def climb(self, y: Floats, starts: Floats) -> Floats:
        """Return local maxima: follow the linearisation from vertex to vertex until it stays."""
        lifts = starts
        for _ in range(12):
            _, following = self.cone.linear_max(self.utility.slopes(lifts, self.cone.prior) - y[:, None])
            if np.allclose(following, lifts, atol=1e-9):
                break
            lifts = following
        return lifts

    def price(self, y: Floats, limits: Limits, *, accuracy: float, nodes: int) -> tuple[Floats, float]:
        """Return the best columns found (N × n) and a bound on the reduced cost of all columns."""
        root = self._relaxed(self.low, self.high, y)
        assert root is not None  # the constant column is in every cone
        counter = itertools.count()
        heap = [(-root[0], next(counter), self.low, self.high, root[1])]
        found, best = [root[1]], float(self.value(root[1][:, None], y)[0])
        for _ in range(nodes):
            if not heap or -heap[0][0] - best <= accuracy or limits.exhausted:
                break
            _, _, low, high, point = heapq.heappop(heap)
            letter = int(self.utility.chord_gaps(low, high, point, self.cone.prior).argmax())
            ends = low[letter] + np.array([0.1, 0.9]) * (high - low)[letter]
            cut = float(np.clip(point[letter], *ends))
            for side in (0, 1):
                child_low, child_high = low.copy(), high.copy()
                (child_low if side else child_high)[letter] = cut
                answer = self._relaxed(child_low, child_high, y)
                if answer is None:
                    continue
                value = float(self.value(answer[1][:, None], y)[0])
                if value > best:
                    best = value
                    found.append(answer[1])
                if answer[0] > best + accuracy:
                    heapq.heappush(heap, (-answer[0], next(counter), child_low, child_high, answer[1]))
        largest = max(best + accuracy, -heap[0][0]) if heap else best + accuracy
        return np.stack(found, axis=1), largest
