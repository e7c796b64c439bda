"""The search under an envelope (ε, δ): over the weights of its dual, each of which makes the problem linear.

Mechanisms that keep the envelope by given weights w are a linear program over columns; over all w the set is not
convex. So boxes of weights are bounded by the columns that any weights of theirs allow, and cut where the columns of
the best solution contradict each other, until no box can hold a better mechanism than the best one found. Beyond some
letters the boxes are left open, and the bound with them.
"""

from __future__ import annotations

import heapq
import itertools
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from leakwise.exact import float_above, float_below
from leakwise.optimize.problem.cones import LiftBox
from leakwise.optimize.problem.labelled_utilities import LinearUtility
from leakwise.optimize.problem.utility import Utility
from leakwise.optimize.search.limits import Found, Limits
from leakwise.optimize.search.master import MasterSolution
from leakwise.optimize.totals.envelope_columns import SureColumns, allowed_by_box, allowed_by_weights
from leakwise.optimize.totals.envelope_cone import EnvelopeTotal
from leakwise.optimize.totals.search import found_in, largest_cost, paying_master
from leakwise.types import Floats

__all__ = ["LARGEST_LIFT", "MOST_LETTERS", "EnvelopeFound", "search_envelope"]

MOST_LETTERS = 10  # more have tens of thousands of columns
LARGEST_LIFT = 1e6  # of a rare letter: larger ones pay so much that their weights are roundings of zero
_DEAREST = 1e13
_NODES = {1: 20_000, 2: 20_000, 3: 20_000, 4: 1500, 5: 800, 6: 400, 7: 150, 8: 60}
_CORNERS = 5  # letters: up to so many every choice of the largest weights is a start
_TRIED = 100  # boxes, each of which is also tried for a better mechanism; of the others every fourth one
_CLOSE = 1e-5  # of the value, the gap at which the search ends
_BITS = 40  # of the weights, which are whole numbers over a power of two
_INSIDE = Fraction(1, 1 << 40)
_UNITS = 1e-12
_ROOM = 2.0**-24  # of the largest weights, what is kept from them


@dataclass(frozen=True)
class EnvelopeFound:
    """The cone of the best weights, what was found in it, and a bound on all mechanisms that keep the envelope."""

    cone: EnvelopeTotal
    found: Found
    bound: float
    how: str


@dataclass(frozen=True)
class _Solved:
    """The best weights of columns: its value, an upper bound on all other weights, and the columns in use."""

    value: float
    bound: float
    columns: SureColumns
    found: Found
    solution: MasterSolution


class _Weights:
    """The problem: what a mechanism is worth at best for given weights, and for all weights of a box."""

    def __init__(self, inner: LiftBox, t: float, delta: float, goal: Utility) -> None:
        self.prior, self.t, self.delta, self.goal = inner.prior, t, delta, goal
        self.p = inner.prior.probabilities
        # Larger weights than these are never needed: with π·w > t - 1, or w_x > t, every r is below 1, and both may be
        # scaled; and the constant column is in every cone. A letter that is frequent cannot be raised above t at all.
        most = np.minimum(np.minimum((t - 1) / (1 - delta), t), (t - 1) / self.p)
        self.most = np.where(self.p * t < 1, most, 0.0)

    def solved(self, columns: SureColumns) -> _Solved:
        """Return the best weights of columns that pay δ in all."""
        pays, most, room = (1 - columns.sure) / self.delta, float(columns.lifts.max(initial=1.0)), 0.0
        if pays.max(initial=0.0) > _DEAREST:  # all of these together weigh less than one of its inverse
            dear = pays > _DEAREST
            room = float(np.abs(self.goal.columns_worth(columns.lifts[:, dear], self.prior)).max()) / _DEAREST
            columns, pays = SureColumns(columns.lifts[:, ~dear], columns.sure[~dear]), pays[~dear]
        paid = np.concatenate([columns.lifts, pays[None, :]])
        constant = float(self.goal.columns_worth(np.ones((len(self.p), 1)), self.prior)[0])
        master = paying_master(self.goal.columns_worth(columns.lifts, self.prior), paid, constant)
        solution = master.solve()
        costs = np.delete(master.utilities - solution.duals @ master.columns, 1)
        size = 1 + float(np.abs(solution.duals).sum()) + float(np.abs(master.utilities).max())
        bound = float(solution.duals.sum()) + largest_cost(costs, solution) + _UNITS * size
        bound += room + (float(np.abs(solution.duals[:-1]).sum()) * most / _DEAREST if room else 0.0)
        used = solution.weights[2:] > _UNITS
        here = SureColumns(columns.lifts[:, used], columns.sure[used])
        return _Solved(solution.value, bound, here, found_in(master, solution), solution)

    def at(self, weights: Floats) -> tuple[Floats, _Solved]:
        """Return weights close to some that may be asked for, and the best for them."""
        # At the largest weights the constant column is on the border: no column rounded to integers would be inside.
        inside = np.clip(weights, 0.0, self.most * (1 - _ROOM))
        inside = inside * min(1.0, (self.t - 1) * (1 - _ROOM) / max(float(self.p @ inside), 1e-300))
        inside = np.floor(np.ldexp(inside, _BITS)) * 2.0**-_BITS
        inside = np.where(inside < 1e-6 * self.t, 0.0, inside)
        return inside, self.solved(allowed_by_weights(self.p, self.t, inside))

    def within(self, low: Floats, high: Floats) -> tuple[float, Floats, Floats] | None:
        """Return a bound for all weights of a box, and the weights that its solution needs at least and at most.

        None where every mechanism of the box is in another one.
        """
        if float(self.p @ low) > (self.t - 1) * (1 + 1e-12):
            return None
        best = self.solved(allowed_by_box(self.p, self.t, low, high))
        lifts, sure = best.columns.lifts, best.columns.sure
        over, under = sure > _UNITS, sure < -_UNITS
        most = np.min((self.t - lifts[:, over]) / sure[over], axis=1, initial=np.inf)
        least = np.max((lifts[:, under] - self.t) / -sure[under], axis=1, initial=0.0)
        return best.bound, np.maximum(least, low), np.minimum(most, high)


def search_envelope(inner: LiftBox, ratio: Fraction, delta: Fraction, goal: Utility, limits: Limits) -> EnvelopeFound:
    """Return the best mechanism found, and the bound that its boxes of weights prove."""
    problem = _Weights(inner, float_above(ratio), float_above(delta), goal)
    best, solved = _started(problem)
    bound, left = _cut(problem, best, solved, limits)
    best, solved = left
    weights = [Fraction(weight) for weight in best.tolist()]
    cone = EnvelopeTotal(inner, ratio, delta, weights)
    narrow = _Weights(inner, float_below(ratio * (1 - _INSIDE)), float_below(delta * (1 - _INSIDE)), goal)

    def closer() -> tuple[Floats, Floats] | None:
        """The same weights for a slightly smaller limit: rounded, its columns keep the limit and their zeros."""
        again = narrow.solved(allowed_by_weights(narrow.p, narrow.t, best)).found
        return again.lifts, again.weights

    found = replace(solved.found, inner=closer)
    if isinstance(goal, LinearUtility):
        found = replace(found, labels=(goal.weighted(problem.prior).T @ found.lifts[:-1]).argmax(axis=0), inner=None)
    how = f"weights of the envelope's dual, by {'boxes' if len(best) in _NODES else 'trials'}"
    return EnvelopeFound(cone, found, bound, how)


def _started(problem: _Weights) -> tuple[Floats, _Solved]:
    """The best of a few weights: none, which keeps the limit outcome by outcome, and the largest of some letters."""
    size = len(problem.p)
    chosen = itertools.product([0.0, 1.0], repeat=size) if size <= _CORNERS else [np.zeros(size), *np.eye(size)]
    return max((problem.at(np.array(one) * problem.most) for one in chosen), key=lambda pair: pair[1].value)


def _cut(problem: _Weights, best: Floats, solved: _Solved, limits: Limits) -> tuple[float, tuple[Floats, _Solved]]:
    """Cut boxes of weights until none is left that could hold more; the bound is the largest of those left."""
    low, high, counter = np.zeros(len(best)), problem.most, itertools.count()
    nodes = _NODES.get(len(best), 0)
    root = problem.within(low, high) if nodes else None
    if root is None:
        return np.inf, (best, solved)
    heap = [(-root[0], next(counter), low, high, root[1], root[2])]
    for number in range(nodes):
        enough = solved.value + max(limits.tolerance, _CLOSE * abs(solved.value))
        if not heap or -heap[0][0] <= enough or limits.exhausted:
            break
        bound, _, low, high, least, most = heapq.heappop(heap)
        limits.tell("weights", solved.value, -bound)
        if number < _TRIED or number % 4 == 0:
            trial = problem.at((least + np.minimum(most, high)) / 2)
            best, solved = trial if trial[1].value > solved.value else (best, solved)
        letter = int((least - most).argmax())
        if least[letter] - most[letter] <= _UNITS:  # no contradiction, and still a gap: the widest side
            letter = int((high - low).argmax())
        span = high[letter] - low[letter]
        cut = float(np.clip((least[letter] + most[letter]) / 2, low[letter] + 0.2 * span, high[letter] - 0.2 * span))
        for side in (0, 1):
            child_low, child_high = low.copy(), high.copy()
            (child_low if side else child_high)[letter] = cut
            child = problem.within(child_low, child_high)
            if child is not None and child[0] > solved.value:
                heapq.heappush(heap, (max(bound, -child[0]), next(counter), child_low, child_high, *child[1:]))
    open_boxes = -heap[0][0] if heap else -np.inf
    limits.stopped |= limits.exhausted
    return max(open_boxes, solved.bound), (best, solved)
