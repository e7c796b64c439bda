"""The largest lift of many releases of one secret, by branch and bound over count vectors.

Let outcome j of the releases come up c_j times. The lift of value x is then 1 / Σ_x' π_x' e^{c·D_x'}, where
D_x'j = log(p_x'j / p_xj). So the largest lift is where a convex function, F(c) = log Σ_x' π_x' e^{c·D_x'}, is least
over the whole numbers c ≥ 0 that sum to the number of releases of each mechanism. For every distribution w

    F(c) ≥ Σ_x' w_x' (c·D_x') - KL(w‖π)      (Gibbs' variational principle),

whose right side is linear in c: its least value over a box of counts is found by filling the cheapest outcomes first.
With w the posterior at a point of the relaxation, that bounds a whole box of count vectors. What can be used once and
rules x' out (p_x'j = 0 < p_xj) is decided by branching; until then x' counts for nothing, which errs on the safe side.
"""

from __future__ import annotations

import heapq
import itertools
import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from leakwise.exact import log_array, log_lower, log_upper
from leakwise.mechanism import Composition, Mechanism
from leakwise.priors import Prior
from leakwise.types import Bools, Floats, Indices

__all__ = ["LargestLift", "largest_lift"]

# Steps of the relaxation, and looks at moves of one draw.
_STEPS, _MOST_MOVES = 60, 2_000
# The bits of a place along a way that are found at once.
_GRIDS = tuple(np.arange(1.0, 1 << bits) for bits in (5, 5, 4))
# Of the logarithm of a lift: nothing that a print shows, and more than what floats lose.
_CLOSE = 1e-10
# More releases than this by one mechanism are not counted one by one: floats would lose them.
_MOST_RELEASES = 2**30
# Up to so many bits the lift of the worst outcome is worked out on the integers.
_MOST_BITS = 1_000_000


@dataclass(frozen=True)
class LargestLift:
    """The largest lift of all joint outcomes, from both sides, in nats.

    Attributes
    ----------
    lower, upper
        Some joint outcome leaks at least the first, and none leaks more than the second.
    value
        The place of the value that becomes so much more likely.
    counts
        For each mechanism, how often each of its outcomes comes up in that joint outcome; of more than 2³⁰ releases by
        one mechanism, in the first 2³⁰ of them.
    """

    lower: float
    upper: float
    value: int
    counts: tuple[tuple[int, ...], ...]


def largest_lift(composition: Composition, prior: Prior, *, boxes: int = 200) -> LargestLift:
    """Return the largest leakage of any joint outcome of a composition, however many there are.

    ``prior`` has the values in the order of the composition. The two sides meet, except for rounding, unless more than
    ``boxes`` boxes of count vectors would have to be split for a value. Of more than 2³⁰ releases by one mechanism the
    first 2³⁰ are searched: some outcome of the rest leaks no less with them, and none more than the prior allows.
    """
    if max(composition.counts) > _MOST_RELEASES:
        first = Composition(composition.parts, tuple(min(one, _MOST_RELEASES) for one in composition.counts))
        found = largest_lift(first, prior, boxes=boxes)
        return replace(found, upper=prior.epsilon_max if any(_tells(one) for one in composition.parts) else 0.0)
    rows = np.flatnonzero(prior.support)
    logs, block = _logarithms(composition, rows)
    mass = log_array(prior.weights[rows], prior.denominator)
    searches = [
        _Search(logs, block, np.array(composition.counts, dtype=np.intp), mass, place) for place in range(len(rows))
    ]
    best = max(searches, key=lambda one: -one.found)
    # First the value that can reach most: of the others no more is asked than that they stay below its bound.
    upper = -best.found
    for search in sorted(searches, key=lambda one: one.mass[one.place]):
        upper = max(upper, search.least(upper, boxes))
        best = max(best, search, key=lambda one: -one.found)
    counts = tuple(tuple(best.counts[block == part].tolist()) for part in range(len(composition.parts)))
    slack = _slack(logs, mass, composition.counts)
    lower, reached = -best.found - slack, upper
    if composition.releases * max(part.denominator.bit_length() for part in composition.parts) <= _MOST_BITS:
        exact = _exact(composition, prior, rows, best.place, counts)
        lower, reached = log_lower(exact), log_upper(exact)
    above = min(max(upper + slack, reached), prior.epsilon_max)
    return LargestLift(min(max(lower, 0.0), above), above, int(rows[best.place]), counts)


def _tells(part: Mechanism) -> bool:
    """Whether a mechanism, of which impossible outcomes are dropped and proportional ones merged, tells anything."""
    return part.shape[1] > 1


def _logarithms(composition: Composition, rows: Indices) -> tuple[Floats, Indices]:
    """log p of every value and outcome of every mechanism, beside one another, and which mechanism each is of."""
    logs = [log_array(part.weights[rows], part.denominator) for part in composition.parts]
    block = np.repeat(np.arange(len(logs)), [one.shape[1] for one in logs])
    return np.concatenate(logs, axis=1), block


def _slack(logs: Floats, mass: Floats, counts: tuple[int, ...]) -> float:
    """More than what all roundings of a bound come to: each logarithm is off by 2 units, and so is each of the sums."""
    largest = float(np.abs(logs[np.isfinite(logs)]).max(initial=1.0))
    return (sum(counts) * largest + float(np.abs(mass).max()) + 50.0) * (sum(logs.shape) + 16) * 2.0**-51


def _exact(
    composition: Composition, prior: Prior, rows: Indices, place: int, counts: tuple[tuple[int, ...], ...]
) -> Fraction:
    """The lift of one joint outcome, of the integers themselves (of long ones a fraction of 200 bits below it)."""
    weights = []
    for row in rows.tolist():
        powers = (
            int(weight) ** count
            for part, used in zip(composition.parts, counts, strict=True)
            for weight, count in zip(part.kernel.row(row), used, strict=True)
            if count
        )
        weights.append(math.prod(powers))
    mass = sum(int(prior.weights[row]) * weight for row, weight in zip(rows.tolist(), weights, strict=True))
    top = weights[place] * prior.denominator
    excess = max(0, min(top.bit_length(), mass.bit_length()) - 200)
    return Fraction(top >> excess, (mass >> excess) + bool(excess))


class _Search:
    """Branch and bound for one value: the least F over all count vectors, from both sides."""

    def __init__(self, logs: Floats, block: Indices, totals: Indices, mass: Floats, place: int) -> None:
        self.mass, self.place, self.totals = mass, place, totals
        usable = np.isfinite(logs[place])
        self.usable, self.block = usable, block
        self.starts = np.searchsorted(block, np.arange(len(totals)))
        self.ends = np.append(self.starts[1:], len(block)) - 1
        with np.errstate(invalid="ignore"):
            self.gain = np.where(usable, logs - np.where(usable, logs[place], 0.0), 0.0)
        self.rules_out = np.isneginf(self.gain)
        self.finite = np.where(self.rules_out, 0.0, self.gain)
        self.counts = self._pure()
        self.found = self.at(self.counts)
        self._known = -math.inf

    @property
    def target(self) -> float:
        """What F has to be below to matter."""
        return min(self.found, -self._known)

    def at(self, counts: Indices | Floats) -> float:
        """F at a count vector."""
        possible = ~(self.rules_out & (counts > 0)).any(axis=1)
        return _log_sum(self.mass[possible] + self.finite[possible] @ counts)

    def _pure(self) -> Indices:
        """Where each mechanism gives one and the same outcome every time: the one that tells most of the value."""
        counts = np.zeros(len(self.block), dtype=np.intp)
        share = _log_sums(self.mass[:, None] + self.gain)
        counts[self._last_of_each(np.where(self.usable, -share, -np.inf))] = self.totals
        return counts

    # -- bounds ---------------------------------------------------------------------------------------------------

    def least(self, known: float, boxes: int) -> float:
        """Return -F at its least, from above, or any number up to ``known`` where F can be shown not to matter."""
        most = -float(self.mass[self.place])
        if most <= known + _CLOSE:
            return max(most, known)  # F is never below log π
        self._known = known
        low = np.zeros(len(self.block), dtype=np.intp)
        high = np.where(self.usable, self.totals[self.block], 0)
        order = itertools.count()
        bound, point = self._relaxed(low, high)
        if bound < self.target - _CLOSE:
            self._descend()
        waiting = [(bound, next(order), low, high, point)]
        proven = math.inf
        for _ in range(boxes):
            if not waiting or waiting[0][0] >= self.target - _CLOSE:
                break
            _, _, low, high, point = heapq.heappop(waiting)
            for narrow, wide in self._halves(low, high, point):
                bound, inside = self._relaxed(narrow, wide)
                if bound < self.target - _CLOSE:
                    heapq.heappush(waiting, (bound, next(order), narrow, wide, inside))
                else:
                    proven = min(proven, bound)
        least = min(proven, waiting[0][0] if waiting else math.inf, self.found)
        return max(-least, known)

    def _relaxed(self, low: Indices, high: Indices) -> tuple[float, Floats]:
        """A lower bound on F over a box of counts, and a point of the box where F is small; steps of Frank and Wolfe.

        Values that an outcome of the box may rule out are left out of the sum, so that the bound stays one.
        """
        if self._empty(low, high):
            return math.inf, low.astype(np.float64)
        kept = ~(self.rules_out & (high > 0)).any(axis=1)
        gain, mass = self.finite[kept], self.mass[kept]
        point = self._cheapest(np.exp(mass - _log_sum(mass)) @ gain, low, high)
        best = -math.inf
        for _ in range(_STEPS):
            exponents = mass + gain @ point
            here = _log_sum(exponents)
            posterior = np.exp(exponents - here)
            # Times a slope of all releases, a sum that is not quite 1 would be off by more than the slack.
            posterior /= posterior.sum()
            slope = posterior @ gain
            corner = self._cheapest(slope, low, high)
            best = max(best, here + float(slope @ (corner - point)))
            # A box that cannot be left out anyway is split instead of bounded to the last digit.
            missing = self.target - here
            if here - best < max(_CLOSE / 2, 0.1 * missing) or best > self.target:
                break
            way = self._way(slope, point, corner, low, high)
            point = point + _step(exponents, gain @ way) * way
        self._try(point)
        return best, point

    def _way(self, slope: Floats, point: Floats, corner: Floats, low: Indices, high: Indices) -> Floats:
        """Where to go: to the best corner, or from the dearest used outcomes to the cheapest, whichever is steeper.

        The second keeps the path from zigzagging near a face, which slows the first down.
        """
        straight = corner - point
        dearest = self._last_of_each(np.where(point > low + 1e-12, slope, -np.inf))
        cheapest = self._last_of_each(-np.where(point < high - 1e-12, slope, np.inf))
        dear, cheap = dearest[dearest != cheapest], cheapest[dearest != cheapest]
        moved = np.minimum(point[dear] - low[dear], high[cheap] - point[cheap]).clip(0) * (slope[dear] > slope[cheap])
        pair = np.zeros_like(point)
        pair[dear] -= moved
        pair[cheap] += moved
        return pair if slope @ pair < 0.5 * (slope @ straight) else straight

    def _last_of_each(self, values: Floats) -> Indices:
        """The place of the largest value of each mechanism."""
        found: Indices = self._order(values)[self.ends]
        return found

    def _order(self, values: Floats) -> Indices:
        """The places of each mechanism, mechanism by mechanism, the least value first."""
        one = len(self.totals) == 1  # of one mechanism there is no other to tell it from
        found: Indices = values.argsort(kind="stable") if one else np.lexsort((values, self.block))
        return found

    def _sums(self, counts: Indices) -> Indices:
        found: Indices = np.add.reduceat(counts, self.starts)
        return found

    def _cheapest(self, cost: Floats, low: Indices, high: Indices, totals: Indices | None = None) -> Floats:
        """The counts of a box that cost least: what has to be, and then the cheapest outcomes of each mechanism."""
        order = self._order(cost)
        room = (high - low)[order]
        before = room.cumsum() - room
        free = (self.totals if totals is None else totals) - self._sums(low)
        counts = low.astype(np.float64)
        counts[order] += np.minimum(np.maximum((free + before[self.starts])[self.block] - before, 0), room)
        return counts

    def _empty(self, low: Indices, high: Indices) -> bool:
        return bool(
            (self._sums(low) > self.totals).any() or (self._sums(high) < self.totals).any() or (low > high).any()
        )

    def _halves(self, low: Indices, high: Indices, point: Floats) -> list[tuple[Indices, Indices]]:
        """Two boxes in place of one: an outcome that may rule a value out is used or not; others are cut at the point.

        A point of whole numbers whose bound is not tight is cut beside itself.
        """
        open_ = (low == 0) & (high > 0) & self.rules_out.any(axis=0)
        if open_.any():
            place, cut = int(np.where(open_, point, -1.0).argmax()), 0
        else:
            part = np.abs(point - np.rint(point))
            part[high == low] = -1.0
            place = int(part.argmax())
            if part[place] < 1e-9:
                place = int((high - low).argmax())
            cut = int(min(max(math.floor(point[place] + 1e-9), low[place]), high[place] - 1))
        if high[place] == low[place]:
            return []
        lower_high, upper_low = high.copy(), low.copy()
        lower_high[place], upper_low[place] = cut, cut + 1
        return [(low, lower_high), (upper_low, high)]

    # -- whole numbers --------------------------------------------------------------------------------------------

    def _try(self, point: Floats) -> None:
        """Round a point to whole numbers of the same totals, and keep them where F is less than anything known."""
        counts = np.floor(point + 1e-9).astype(np.intp)
        rest = np.ones_like(counts)
        missing = self._cheapest(counts - point, np.zeros_like(counts), rest, self.totals - self._sums(counts))
        counts += missing.astype(np.intp)
        value = self.at(counts)
        if value < self.found:
            self.found, self.counts = value, counts

    def _descend(self) -> None:
        """Move one draw from an outcome to another for as long as that lowers F."""
        for _ in range(_MOST_MOVES // np.count_nonzero(self.counts)):
            base = self.mass + self.finite @ self.counts
            best = (self.found - 1e-13, -1, -1)
            for place in np.flatnonzero(self.counts).tolist():
                mine = np.flatnonzero((self.block == self.block[place]) & self.usable)
                fewer = self.counts.copy()
                fewer[place] -= 1
                before: Bools = np.asarray((self.rules_out & (fewer > 0)).any(axis=1))
                ruled = before[:, None] | self.rules_out[:, mine]
                moved = np.where(ruled, -np.inf, (base - self.finite[:, place])[:, None] + self.finite[:, mine])
                values = _log_sums(moved)
                to = int(values.argmin())
                best = min(best, (float(values[to]), place, int(mine[to])))
            if best[1] < 0 or best[1] == best[2]:
                return
            self.counts[best[1]] -= 1
            self.counts[best[2]] += 1
            self.found = self.at(self.counts)


def _log_sum(values: Floats) -> float:
    top = float(values.max())
    return top + math.log(float(np.exp(values - top).sum()))


def _log_sums(values: Floats) -> Floats:
    """The same for each column; -∞ entries count for nothing, and each column has a finite one."""
    top = values.max(axis=0)
    found: Floats = top + np.log(np.exp(values - top).sum(axis=0))
    return found


def _step(exponents: Floats, change: Floats) -> float:
    """How far to go along a way, up to all of it: the last of 2^14 places at which F still falls along it.

    The derivative grows along the way: a few bits of the place are found at once, from all values they can have.
    """
    values = exponents + change
    if float(np.exp(values - values.max()) @ change) <= 0:
        return 1.0
    at, width = 0.0, 1.0
    for grid in _GRIDS:
        width /= len(grid) + 1
        moved = exponents[:, None] + change[:, None] * (at + width * grid)
        falls = change @ np.exp(moved - moved.max(axis=0)) < 0
        at += width * int(np.count_nonzero(falls))
    return at
