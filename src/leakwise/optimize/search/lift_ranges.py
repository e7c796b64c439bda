"""Cones whose lifts lie in [a, top(a)] for some a, top concave: LDP, LDP with a bound on lifts, a small l1 ball.

A vertex either has two values, a and top(a), or a is at its least or at a kink of top, and it is a vertex of the box
[a, top(a)] with one letter between. The two-valued ones are as many as sets of letters, whose worth is known once and
for all: a round of pricing is one pass over them. The boxes are priced by windows of subset masses.
"""

from __future__ import annotations

import math

import numpy as np

from leakwise.optimize.bounds.chord import Function, chord_slopes
from leakwise.optimize.bounds.ranges import range_bound
from leakwise.optimize.finish.permutations import Patterns, spread
from leakwise.optimize.pricing.lift_box import Groups, LiftPricing
from leakwise.optimize.problem.cones import Cone, LiftBox
from leakwise.optimize.problem.lift_range import LiftRange
from leakwise.optimize.search.generate import Priced, generate
from leakwise.optimize.search.limits import Found, Limits
from leakwise.optimize.search.master import Master, MasterSolution
from leakwise.types import Floats, Indices

__all__ = ["search_ranges"]

_MOST_SETS = 1 << 20
_WINDOW = 400_000
_SLOW = 1e-9  # a round that brings less than this share of the value ends a search without a complete list
_CLIMBS = 3
_APART = 1e-6  # relative, where slopes are taken


def search_ranges(cone: Cone, where: LiftRange, f: Function, limits: Limits) -> Found:
    """Return the optimum over a range of lifts: exact up to twenty different masses, with a proven bound beyond."""
    groups = Groups.of(cone)
    complete = float(np.log2(groups.sizes + 1.0).sum()) <= math.log2(_MOST_SETS)
    generator = np.random.default_rng(len(cone.prior))  # not for privacy: the search is the same every time
    table: _EverySet | _SomeSets
    boxes: list[LiftPricing] = []
    if complete:
        table = _EverySet(groups, where, f)
    else:
        p = cone.prior.probabilities
        groups = Groups(p, np.ones(len(p), dtype=np.int64), tuple(np.array([place]) for place in range(len(p))))
        table = _SomeSets(groups, where, f, generator)
    if cone.prior.support.all() and complete:
        boxes = [LiftPricing(LiftBox(cone.prior, low, high), f) for low, high in where.boxes()]
    kept = [_start(table, boxes, groups, generator)]
    master = Master(kept[0].utilities(f, groups.masses, groups.sizes), kept[0].averages(groups.sizes))

    def price(solution: MasterSolution) -> Priced:
        y = solution.duals / groups.sizes
        found, largest = table.priced(y, 3 * len(y), 0.25 * limits.tolerance)
        for box in boxes:
            priced = box.price(y, most=3 * len(y), above=0.25 * limits.tolerance, largest_window=_WINDOW)
            largest = max(largest, priced.largest)
            found = found.joined(priced.vertices)
        kept.append(found)
        worth = found.utilities(f, groups.masses, groups.sizes)
        return Priced(worth, found.averages(groups.sizes), largest if complete else np.inf)

    def ended(before: float, value: float, bound: float, priced: Priced) -> bool:
        if not complete:
            return value - before <= _SLOW * abs(before)
        return value <= before and priced.largest < 1e-9

    done = generate(master, price, limits, ended=ended)
    duals, largest = done.proof.duals / groups.sizes, done.proof.largest
    if not complete:
        duals, largest = _outer_bound(cone, where, f, groups, done.solution.duals / groups.sizes, done.solution.value)
    every, p = kept[0].joined(*kept[1:]), cone.prior.probabilities
    lifts, weights = spread(every, done.solution.weights, groups.letters, lambda lifts: p @ f(lifts))
    return Found(lifts, weights, groups.per_letter(duals), largest, "ranges", stopped=done.stopped)


def _outer_bound(
    cone: Cone, where: LiftRange, f: Function, groups: Groups, y: Floats, value: float
) -> tuple[Floats, float]:
    """The better of two bounds over intervals of the least lift: with no duals, and if that leaves a gap with them."""
    answers: list[tuple[float, Floats, float]] = []
    for duals in (np.zeros(len(y)), y):
        if answers and answers[0][0] - value <= 1e-7 * abs(value):
            break
        spread_out = groups.per_letter(duals)
        largest = range_bound(f, cone.prior.probabilities, spread_out, where)
        answers.append((float(spread_out.sum()) + max(largest, 0.0), duals, largest))
    return min(answers, key=lambda answer: answer[0])[1:]


class _EverySet:
    """Two-valued columns on all sets of letters, up to permutations within groups; their worth is found once."""

    def __init__(self, groups: Groups, where: LiftRange, f: Function) -> None:
        self.sizes = groups.sizes
        s, rest = self._sums(groups.masses), self._sums(groups.masses, others=True)
        self.low, self.high, self.real = where.levels(s, rest)
        self.real[[0, -1]] = False  # nothing raised, everything raised
        with np.errstate(invalid="ignore"):
            worth = s * f(self.high) + rest * f(np.maximum(self.low, 0.0))
        self.worth = np.where(self.real, worth, -np.inf)

    def _sums(self, values: Floats, *, others: bool = False) -> Floats:
        """The sum over the raised letters (or over the others) for every set, in the order of the codes."""
        sums = np.zeros(1)
        for value, size in zip(values, self.sizes, strict=True):
            steps = np.arange(size, -1, -1) if others else np.arange(size + 1)
            sums = (value * steps[:, None] + sums[None, :]).ravel()
        return sums

    def best(self, number: int, generator: np.random.Generator) -> Patterns:
        """Return the columns of largest worth, and some of all kinds."""
        first = np.argpartition(-self.worth, min(number, len(self.worth) - 1))[:number]
        some = generator.integers(0, len(self.worth), number)
        chosen = np.unique(np.concatenate([first, some]))
        return self._patterns(chosen[self.real[chosen]])

    def _patterns(self, codes: Indices) -> Patterns:
        counts = np.empty((len(codes), len(self.sizes)), dtype=np.int64)
        left = codes
        for group, size in enumerate(self.sizes):
            left, counts[:, group] = np.divmod(left, size + 1)
        return Patterns(counts, np.full(len(codes), -1), self.low[codes], self.low[codes], self.high[codes])

    def priced(self, y: Floats, most: int, above: float) -> tuple[Patterns, float]:
        """Return the columns of largest reduced cost, and a number above that of all."""
        raised = self._sums(y)
        costs = self.worth - raised * self.high - (float(self.sizes @ y) - raised) * self.low
        chosen = np.flatnonzero(costs > above)
        if len(chosen) > most:
            chosen = chosen[np.argpartition(-costs[chosen], most)[:most]]
        error = (float(np.abs(self.sizes * y).sum()) * float(self.high.max()) + 1) * (len(y) + 16) * 2.0**-50
        return self._patterns(chosen), float(costs.max()) + error


class _SomeSets:
    """Two-valued columns on sets of about the best mass: any of them is worth nearly as much as any column can be.

    Letters that are heavier than that are in none of them: for these there are the vertices of linear functionals.
    """

    def __init__(self, groups: Groups, where: LiftRange, f: Function, generator: np.random.Generator) -> None:
        self.masses, self.where, self.f, self.generator = groups.masses, where, f, generator
        grid = np.unique(np.concatenate([np.linspace(0, 1, 20_001)[1:-1], np.geomspace(1e-9, 0.1, 200)]))
        low, high, real = where.levels(grid, 1 - grid)
        worth = grid * f(high) + (1 - grid) * f(np.maximum(low, 0.0))
        self.target = float(grid[int(np.where(real, worth, -np.inf).argmax())])
        self.heavy = bool(self.masses.max() > self.target)

    def _filled(self, orders: Indices) -> Patterns:
        """For each order of the letters the sets that it fills up to the target: as far as each next letter still fits,
        and with the lightest one that does not."""
        mass, count = self.masses, orders.shape[1]
        raised, sums, each = np.zeros((len(mass), count), dtype=bool), np.zeros(count), np.arange(count)
        for letters in orders:
            fit = sums + mass[letters] <= self.target
            raised[letters[fit], each[fit]] = True
            sums[fit] += mass[letters[fit]]
        beyond = raised.copy()
        beyond[np.where(raised, np.inf, mass[:, None]).argmin(axis=0), each] = True
        sets = np.unique(np.concatenate([raised, beyond], axis=1), axis=1)
        low, high, real = self.where.levels(mass @ sets, mass @ ~sets)
        kept = np.flatnonzero(real & sets.any(axis=0) & ~sets.all(axis=0))
        return Patterns(sets[:, kept].T.astype(np.int64), np.full(len(kept), -1), low[kept], low[kept], high[kept])

    def best(self, number: int, generator: np.random.Generator) -> Patterns:
        """Return a first lot: random ones, and some for every letter."""
        size = len(self.masses)
        wild = np.argsort(generator.random((size, number)), axis=0)
        single = np.argsort(-np.eye(size) + 0.1 * generator.random((size, size)), axis=0)
        found = self._filled(wild).joined(self._filled(single))
        if not self.heavy:
            return found
        functionals = np.concatenate([np.eye(size), -np.eye(size), self._noise(6 * size)], axis=1)
        return found.joined(self._vertices(self._highest(functionals)))

    def _noise(self, number: int) -> Floats:
        noise: Floats = self.masses[:, None] * self.generator.standard_normal((len(self.masses), number))
        return noise

    def _highest(self, functionals: Floats) -> Floats:
        return self.where.linear_max(functionals, self.masses)[1]

    def _climbed(self, y: Floats, number: int) -> Patterns:
        """Vertices from which the reduced cost does not rise along its slope, from random starts."""
        lifts = self._highest(self._noise(number))
        for _ in range(_CLIMBS):
            slopes = chord_slopes(self.f, lifts * (1 - _APART), lifts * (1 + _APART))
            lifts = self._highest(self.masses[:, None] * slopes - y[:, None])
        return self._vertices(lifts)

    def _vertices(self, lifts: Floats) -> Patterns:
        """Vertices (columns) as patterns: two values, and at most one letter between."""
        low, high = lifts.min(axis=0), lifts.max(axis=0)
        close = 1e-12 * high
        raised = lifts > high - close
        between = ~raised & (lifts > low + close)
        kept = np.flatnonzero((between.sum(axis=0) <= 1) & (high > low + 2 * close))
        free = np.where(between.any(axis=0), between.argmax(axis=0), -1)
        counts = raised.T.astype(np.int64)
        return Patterns(counts, free, lifts[free, np.arange(len(free))], low, high).take(kept)

    def priced(self, y: Floats, most: int, above: float) -> tuple[Patterns, float]:
        """Sets in the order of the duals, slightly shuffled; nothing is known of the others."""
        size = len(y)
        rate = np.divide(y, self.masses, out=np.zeros(size), where=self.masses > 0)
        noise = self.generator.standard_normal((size, most)) * np.linspace(0, 0.5, most) * float(rate.std() + 1e-12)
        found = self._filled(np.argsort(rate[:, None] + noise, axis=0))
        found = found.joined(self._climbed(y, most)) if self.heavy else found
        ones = np.ones(size, dtype=np.int64)
        costs = found.utilities(self.f, self.masses, ones) - y @ found.averages(ones)
        return found.take(np.flatnonzero(costs > above)), np.inf


def _start(
    table: _EverySet | _SomeSets, boxes: list[LiftPricing], groups: Groups, generator: np.random.Generator
) -> Patterns:
    """The constant column, the sets of largest worth and some of all kinds, and corners of the boxes."""
    count = len(groups.sizes)
    patterns = Patterns.constant(count).joined(table.best(24 * count, generator))
    size = int(groups.sizes.sum())
    for box in boxes:
        wild = np.concatenate([np.eye(size), -np.eye(size), generator.standard_normal((size, 4 * count))], axis=1)
        patterns = patterns.joined(box.from_linear(wild))
    return patterns
