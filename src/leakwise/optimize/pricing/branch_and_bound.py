"""Generic pricing for any cone: branch and bound on boxes of the entries, a chord on each box.

On a box every f(λ_i) lies below its chord, so a linear program over the cone bounds all its columns; its vertex is a
candidate. The box is cut where the chord is farthest from the function. Slow and general: fast pricers are tested
against it.
"""

from __future__ import annotations

import heapq
import itertools

import numpy as np

from leakwise.optimize.bounds.chord import Function
from leakwise.optimize.problem.cones import Cone
from leakwise.optimize.search.limits import Limits
from leakwise.types import Floats

__all__ = ["BranchPricing"]


class BranchPricing:
    """max Σ_i π_i f(λ_i) - y·λ over the lift vectors of a cone, with a proven bound."""

    def __init__(self, cone: Cone, f: Function) -> None:
        self.cone, self.f = cone, f
        self.p = cone.prior.probabilities
        self.low, self.high = cone.entry_box()

    def _relaxed(self, low: Floats, high: Floats, y: Floats) -> tuple[float, Floats] | None:
        width = high - low
        rise = self.f(high) - self.f(low)
        slope = np.divide(rise, width, out=np.zeros_like(rise), where=width > 0)
        answer = self.cone.relaxed(self.p * slope - y, low, high)
        if answer is None:
            return None
        return answer[0] + float(self.p @ (self.f(low) - slope * low)), answer[1]

    def value(self, lifts: Floats, y: Floats) -> Floats:
        """Return the reduced cost of columns (N × n)."""
        costs: Floats = self.p @ self.f(lifts) - y @ lifts
        return costs

    def climb(self, y: Floats, starts: Floats) -> Floats:
        """Return local maxima: follow the linearisation from vertex to vertex until it stays."""
        lifts = starts
        for _ in range(30):
            step = 1e-6
            slope = (self.f(lifts + step) - self.f(np.maximum(lifts - step, 0))) / (
                lifts + step - np.maximum(lifts - step, 0)
            )
            _, following = self.cone.linear_max(self.p[:, None] * slope - y[:, None])
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
        found = [root[1]]
        best = float(self.value(root[1][:, None], y)[0])
        for _ in range(nodes):
            bound, _, low, high, point = heap[0]
            if -bound - best <= accuracy or limits.exhausted:
                break
            heapq.heappop(heap)
            chord_gap = self.p * (_chords(self.f, low, high, point) - self.f(point))
            letter = int(chord_gap.argmax())
            cut = float(
                np.clip(
                    point[letter], low[letter] + 0.1 * (high - low)[letter], high[letter] - 0.1 * (high - low)[letter]
                )
            )
            for side in (0, 1):
                child_low, child_high = low.copy(), high.copy()
                if side:
                    child_low[letter] = cut
                else:
                    child_high[letter] = cut
                answer = self._relaxed(child_low, child_high, y)
                if answer is None:
                    continue
                value = float(self.value(answer[1][:, None], y)[0])
                if value > best:
                    best = value
                    found.append(answer[1])
                if answer[0] > best + accuracy:
                    heapq.heappush(heap, (-answer[0], next(counter), child_low, child_high, answer[1]))
            if not heap:
                break
        largest = max(best + accuracy, -heap[0][0]) if heap else best + accuracy
        return np.stack(found, axis=1), largest


def _chords(f: Function, low: Floats, high: Floats, point: Floats) -> Floats:
    width = high - low
    share = np.divide(point - low, width, out=np.zeros_like(width), where=width > 0)
    chords: Floats = f(low) + share * (f(high) - f(low))
    return chords
