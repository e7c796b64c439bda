"""Column generation over the cone of a set of priors."""

from __future__ import annotations

import heapq
import itertools

import numpy as np

from leakwise.optimize.bounds.chord import Function, chord_duals
from leakwise.optimize.problem.cone import Cone
from leakwise.optimize.problem.prior_set_cone import RobustCone
from leakwise.optimize.search.limits import Found, Limits
from leakwise.optimize.search.master import Master
from leakwise.types import Floats

__all__ = ["search_convex", "search_gains"]


_ROUNDS = 200
_NODES = 4000


def search_gains(cone: Cone, gains: Floats, limits: Limits) -> Found:
    """Return max Σ_w Σ_i π_i g_iw v_iw: each guess is priced by one linear program, so the optimum is exact."""
    values = cone.prior.probabilities[:, None] * gains
    size = len(values)
    labels = np.concatenate([[int(values.sum(axis=0).argmax())], np.arange(values.shape[1])])
    columns = np.concatenate([np.ones((size, 1)), cone.linear_max(values)[1]], axis=1)
    master = Master(np.sum(values[:, labels] * columns, axis=0), columns)
    best = (np.inf, np.zeros(size), np.inf)
    stopped = False
    solution = master.solve(limits.remaining)
    for _ in range(_ROUNDS):
        y = solution.duals
        costs, vertices = cone.linear_max(values - y[:, None])
        largest = float(costs.max())
        if float(y.sum()) + max(largest, 0.0) < best[0]:
            best = (float(y.sum()) + max(largest, 0.0), y, largest)
        limits.tell("columns", solution.value, best[0])
        chosen = np.flatnonzero(costs > max(limits.tolerance, 1e-10))
        if best[0] - solution.value <= max(limits.tolerance, 1e-10) or not len(chosen):
            break
        if limits.exhausted:
            stopped = True
            break
        master.add(np.sum(values[:, chosen] * vertices[:, chosen], axis=0), vertices[:, chosen])
        labels = np.concatenate([labels, chosen])
        solution = master.solve(limits.remaining)
    used = solution.weights > 0
    # The solver's own tolerances come on top of its optimum.
    slack = 1e-9 * (1 + float(np.abs(values).sum(axis=0).max() + np.abs(best[1]).sum()))
    return Found(
        master.columns[:, used], solution.weights[used], best[1], best[2] + slack, "linear", labels[used], stopped
    )


def search_convex(cone: RobustCone, f: Function, limits: Limits, starts: Floats | None = None) -> Found:
    """Return the optimum for an f-information: climbing finds columns, branch and bound proves that none is missing."""
    p = cone.prior.probabilities
    size = len(p)
    generator = np.random.default_rng(size)
    first = [np.ones((size, 1)), cone.linear_max(generator.standard_normal((size, 4 * size)))[1]]
    first += [] if starts is None else [starts]
    columns = np.concatenate(first, axis=1)
    master = Master(p @ f(columns), columns)
    pricing = _Pricing(cone, f)
    best = (np.inf, np.zeros(size), np.inf)
    stopped = False
    solution = master.solve(limits.remaining)
    for _ in range(_ROUNDS):
        y = solution.duals
        climbed = pricing.climb(y, generator)
        costs = p @ f(climbed) - y @ climbed
        better = np.flatnonzero(costs > max(1e-9, limits.tolerance))
        limits.tell("climbing", solution.value, best[0])
        if not len(better):
            climbed, largest = pricing.price(y, limits)
            bound = float(y.sum()) + max(largest, 0.0)
            if bound < best[0]:
                best = (bound, y, largest)
            limits.tell("columns", solution.value, best[0])
            costs = p @ f(climbed) - y @ climbed
            better = np.flatnonzero(costs > max(1e-9, limits.tolerance))
            if not len(better):
                # Without the time to finish the proof nothing more is found either.
                stopped = limits.exhausted and best[0] - solution.value > 1e-6
                break
        if limits.exhausted:
            stopped = True
            break
        master.add(p @ f(climbed[:, better]), climbed[:, better])
        solution = master.solve(limits.remaining)
    if not np.isfinite(best[0]):
        best = (np.inf, solution.duals, pricing.price(solution.duals, limits, nodes=1)[1])
    low, high = cone.entry_box()
    chords = chord_duals(f, p, low, high)
    at_chords = pricing.price(chords, limits, nodes=1)[1]
    if float(chords.sum()) + max(at_chords, 0.0) < float(best[1].sum()) + max(best[2], 0.0):
        best = (0.0, chords, at_chords)
    used = solution.weights > 0
    slack = 1e-9 * (1 + float(np.abs(best[1]).sum()))
    return Found(master.columns[:, used], solution.weights[used], best[1], best[2] + slack, "branch", stopped=stopped)


class _Pricing:
    """max Σ_i π_i f(λ_i) - y·λ over the cone: chords on boxes, one linear program each."""

    def __init__(self, cone: RobustCone, f: Function) -> None:
        self.cone, self.f, self.p = cone, f, cone.prior.probabilities
        self.low, self.high = cone.entry_box()

    def climb(self, y: Floats, generator: np.random.Generator) -> Floats:
        """Return local maxima by following the linearisation from vertex to vertex."""
        size = len(self.p)
        _, lifts = self.cone.linear_max(generator.standard_normal((size, size)) * self.p.max() - y[:, None])
        for _ in range(12):
            step = 1e-6
            below = np.maximum(lifts - step, 0.0)
            slope = (self.f(lifts + step) - self.f(below)) / (lifts + step - below)
            _, following = self.cone.linear_max(self.p[:, None] * slope - y[:, None])
            if np.allclose(following, lifts, atol=1e-9):
                break
            lifts = following
        return lifts

    def _relaxed(self, low: Floats, high: Floats, y: Floats) -> tuple[float, Floats] | None:
        width = high - low
        rise = self.f(high) - self.f(low)
        slope = np.divide(rise, width, out=np.zeros_like(rise), where=width > 0)
        answer = self.cone.relaxed(self.p * slope - y, low, high)
        if answer is None:
            return None
        return answer[0] + float(self.p @ (self.f(low) - slope * low)), np.clip(answer[1], low, high)

    def price(self, y: Floats, limits: Limits, *, nodes: int = _NODES) -> tuple[Floats, float]:
        """Return the best columns found and a bound on the reduced cost of all columns."""
        accuracy = max(limits.tolerance, 1e-9)
        root = self._relaxed(self.low, self.high, y)
        assert root is not None
        counter = itertools.count()
        heap = [(-root[0], next(counter), self.low, self.high, root[1])]
        found, best = [root[1]], self._cost(root[1], y)
        for _ in range(nodes - 1):
            if not heap or -heap[0][0] - best <= accuracy or limits.exhausted:
                break
            _, _, low, high, point = heapq.heappop(heap)
            width = high - low
            share = np.divide(point - low, width, out=np.zeros_like(width), where=width > 0)
            miss = self.p * (self.f(low) + share * (self.f(high) - self.f(low)) - self.f(point))
            letter = int(miss.argmax())
            cut = float(np.clip(point[letter], *(low[letter] + np.array([0.1, 0.9]) * width[letter])))
            for side in (0, 1):
                child_low, child_high = low.copy(), high.copy()
                (child_low if side else child_high)[letter] = cut
                answer = self._relaxed(child_low, child_high, y)
                if answer is None:
                    continue
                value = self._cost(answer[1], y)
                if value > best:
                    best = value
                    found.append(answer[1])
                if answer[0] > best + accuracy:
                    heapq.heappush(heap, (-answer[0], next(counter), child_low, child_high, answer[1]))
        largest = max(best + accuracy, -heap[0][0]) if heap else best + accuracy
        return np.stack(found, axis=1), largest

    def _cost(self, lifts: Floats, y: Floats) -> float:
        return float(self.p @ self.f(lifts) - y @ lifts)
