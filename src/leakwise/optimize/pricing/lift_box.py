"""Exact pricing for f-informations over a lift box, by windows of subset masses.

A vertex has every lift at ``low`` or ``high`` but for one letter j in between. Against the chord bound it loses exactly
π_j (chord_j - f)(λ_j). So a vertex can only have a positive reduced cost when that loss is below the chord maximum:
when λ_j is close to an end of its box, that is when the mass of the raised letters falls in a narrow window. Those are
few, and HalfTables lists them all.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from leakwise.exact import last_that_holds
from leakwise.optimize.bounds.chord import Function, chord_maximum, chord_slopes
from leakwise.optimize.finish.permutations import Patterns
from leakwise.optimize.pricing.heaviest_first import Letters, heaviest_first
from leakwise.optimize.pricing.subset_sums import HalfTables, Keep
from leakwise.optimize.problem.cones import Cone, LiftBox
from leakwise.types import Bools, Counts, Floats, Indices

__all__ = ["Groups", "LiftPricing", "Priced"]


_CHUNK = 1 << 16
_BRANCHES = 20_000  # of letters decided heaviest first: about a second of work


@dataclass(frozen=True)
class Groups:
    """Letters of equal mass, together: exact weights decide what is equal."""

    masses: Floats
    sizes: Counts
    letters: tuple[Indices, ...]

    @staticmethod
    def of(cone: Cone) -> Groups:
        places: dict[int, list[int]] = {}
        for letter, weight in enumerate(cone.prior.weights.tolist()):
            places.setdefault(weight, []).append(letter)
        letters = tuple(np.array(group, dtype=np.intp) for group in places.values())
        p = cone.prior.probabilities
        masses = np.array([p[group[0]] for group in letters])
        return Groups(masses, np.array([len(group) for group in letters], dtype=np.int64), letters)

    def per_letter(self, values: Floats) -> Floats:
        """Return a value of each group, given to each of its letters."""
        result = np.empty(int(self.sizes.sum()))
        for value, group in zip(values, self.letters, strict=True):
            result[group] = value
        return result


@dataclass(frozen=True)
class Priced:
    """The vertices of largest reduced cost, whether the list is complete, and a bound on all others."""

    vertices: Patterns
    complete: bool
    largest: float  # an upper bound on every reduced cost if complete, else the chord maximum


class LiftPricing:
    """Prices the vertices of a lift box for a separable convex utility."""

    def __init__(self, cone: LiftBox, f: Function, tables: HalfTables | None = None) -> None:
        self.cone = cone
        self.f = f
        self.groups = Groups.of(cone)
        self.low, self.high = cone.low_float, cone.high_float
        self.f_low, self.f_high = (float(f(np.array([end]))[0]) for end in (self.low, self.high))
        fit = HalfTables.fit(self.groups.sizes)
        self.tables = tables or (HalfTables(self.groups.masses, self.groups.sizes) if fit else None)
        low, high = cone.entry_box()
        first = [group[0] for group in self.groups.letters]
        self.box_low, self.box_high = low[first], high[first]
        self.target = (1 - self.low) / (self.high - self.low)
        # A letter that can be at neither end, as the others do not weigh enough, is always the one in between: what it
        # is worth is counted from the end of its own box, which it may not be far from.
        self.always = (self.box_low > self.low) & (self.box_high < self.high)
        self.start = np.where(self.always, self.box_low, self.low)
        self.f_start = f(self.start)

    def _patterns(self, counts: Counts, free: Counts, lifts: Floats) -> Patterns:
        return Patterns(counts, free, lifts, np.full(len(free), self.low), np.full(len(free), self.high))

    # -- vertices from subsets ----------------------------------------------------------------------------------

    def _free_lifts(self, counts: Counts) -> tuple[Floats, Bools, Bools]:
        """For every subset and group: the lift of a free letter of that group, and whether it makes a vertex.

        Below the target a letter outside the subset takes the rest; above it a letter of the subset gives the excess.
        """
        p, sizes = self.groups.masses, self.groups.sizes
        rest = (1 - self.low) - (self.high - self.low) * (counts @ p)
        share = rest[:, None] / p
        below = rest >= 0
        lifts = np.where(below[:, None], self.low + share, self.high + share)
        room = np.where(below[:, None], counts < sizes, counts > 0)
        fits = room & (lifts >= self.low) & (lifts <= self.high)
        return lifts, fits, below

    def reduced_costs(self, counts: Counts, y: Floats) -> tuple[Floats, Floats, Bools]:
        """Reduced costs of all vertices on these subsets (n × G, -inf where there is none), their lifts and sides.

        ``y`` holds one dual per letter of each group.
        """
        p, sizes = self.groups.masses, self.groups.sizes
        lifts, fits, below = self._free_lifts(counts)
        gain = p * (self.f_high - self.f_start) - y * (self.high - self.start)
        base = float(sizes @ (p * self.f_start - y * self.start)) + counts @ gain
        safe = np.where(fits, lifts, 1.0)
        free = p * (self.f(safe) - self.f_start) - y * (safe - self.start)
        # Above the target the free letter was counted as high: take that away.
        costs = base[:, None] + free - np.where(below[:, None], 0.0, gain)
        return np.where(fits, costs, -np.inf), lifts, below

    def best_vertices(self, counts: Counts, y: Floats, most: int, above: float) -> tuple[Patterns, float]:
        """Return the best vertex on each subset; the ``most`` best of them with a reduced cost above ``above``."""
        nothing = np.empty(0, dtype=np.int64)
        kept, all_costs, largest = [self._patterns(counts[:0], nothing, np.empty(0))], [np.empty(0)], -np.inf
        for start in range(0, len(counts), _CHUNK):
            part = counts[start : start + _CHUNK]
            costs, lifts, below = self.reduced_costs(part, y)
            free = costs.argmax(axis=1)
            rows = np.arange(len(part))
            best = costs[rows, free]
            largest = max(largest, float(best.max(initial=-np.inf)))
            chosen = np.flatnonzero(best > above)
            if len(chosen) > most:
                chosen = chosen[np.argpartition(-best[chosen], most)[:most]]
            part = part[chosen].copy()
            # A letter that gives the excess is free, not high.
            part[np.arange(len(chosen)), free[chosen]] -= ~below[chosen]
            kept.append(self._patterns(part, free[chosen], lifts[chosen, free[chosen]]))
            all_costs.append(best[chosen])
        order = np.argsort(-np.concatenate(all_costs), kind="stable")[:most]
        return kept[0].joined(*kept[1:]).take(order), largest

    def from_linear(self, objectives: Floats) -> Patterns:
        """Return the vertices that maximise linear functionals (N × n): for a start, and where windows are too wide."""
        lifts = self.cone.linear_max(objectives)[1]
        span = self.high - self.low
        close = 1e-12 * span + 2.0**-50 * self.high  # in a narrow box the roundings of the lifts themselves count
        raised = lifts > self.high - close
        between = ~raised & (lifts > self.low + close)
        free = np.where(between.any(axis=0), between.argmax(axis=0), (~raised).argmax(axis=0))
        places = np.arange(lifts.shape[1])
        raised[free, places] = False
        counts = np.stack([raised[letters].sum(axis=0) for letters in self.groups.letters], axis=1)
        group_of = np.empty(len(lifts), dtype=np.int64)
        for group, letters in enumerate(self.groups.letters):
            group_of[letters] = group
        return self._patterns(counts.astype(np.int64), group_of[free], lifts[free, places])

    def costs_of(self, vertices: Patterns, y: Floats) -> Floats:
        """Return the reduced costs of given vertices."""
        sizes = self.groups.sizes
        return vertices.utilities(self.f, self.groups.masses, sizes) - (y * sizes) @ vertices.averages(sizes)

    # -- windows ------------------------------------------------------------------------------------------------

    def _windows(self, chord: float) -> list[tuple[float, float]]:
        """Windows of the raised mass outside which no vertex loses less than ``chord``."""
        p, low, high = self.groups.masses, self.box_low, self.box_high
        near_low, near_high = _small_loss(self.f, p, low, high, chord)
        span = self.high - self.low
        usual = (low <= self.low * (1 + 1e-12) + 1e-12) & (high >= self.high * (1 - 1e-12))
        spare = 1e-12
        windows = []
        if usual.any():
            below = float((p * near_low)[usual].max()) / span
            over = float((p * near_high)[usual].max()) / span
            windows.append((self.target - below - spare, self.target + over + spare))
        for group in np.flatnonzero(~usual):
            taken = p[group] * (np.array([low[group], low[group] + near_low[group]]) - self.low)
            windows.append(_interval(self.target - taken / span, spare))
            taken = p[group] * (np.array([high[group], high[group] - near_high[group]]) - self.low)
            windows.append(_interval(self.target - taken / span, spare))
        return _merged(windows)

    def price(self, y: Floats, *, most: int, above: float, largest_window: int) -> Priced:
        """Return vertices of positive reduced cost: all of them found if the windows are small enough to be listed."""
        p = self.cone.prior.probabilities
        low, high = self.cone.entry_box()
        chord = chord_maximum(self.f, p, low, high, self.groups.per_letter(y))
        if chord <= 0:
            return Priced(Patterns.constant(len(y)).take(np.empty(0, dtype=np.intp)), True, chord)
        # Outside the windows the loss exceeds the chord maximum: the reduced cost is negative there.
        windows = self._windows(chord)
        listed = self._listed(windows, y, above, largest_window)
        error = self._rounding(y) * (len(p) + 16) * 2.0**-50
        if listed is not None:
            vertices, largest = self.best_vertices(listed, y, most, above)
            return Priced(vertices, True, max(largest, above, 0.0) + error)
        vertices, bound, complete = self._heaviest_first(y, most, above)
        bound = min(chord, max(bound, 0.0) + error * max(self.high, 1.0))
        if not complete:
            near = np.concatenate([self._nearest(largest_window // 8, *window) for window in windows])
            around = self.from_linear(self._around_chord(y, most))
            vertices = vertices.joined(self.best_vertices(near, y, most, above)[0], around)
        return Priced(vertices.take(np.flatnonzero(self.costs_of(vertices, y) > above)), complete, bound)

    def _rounding(self, y: Floats) -> float:
        """What the terms of a reduced cost add up to at most, and what a unit of mass makes of the free letter."""
        p, sizes, low, high = self.groups.masses, self.groups.sizes, self.box_low, self.box_high
        terms = np.abs(y) * high + p * np.abs([self.f(low), self.f(high), self.f_start]).max(axis=0)
        between = self.always if self.always.any() else ~self.always
        return float(sizes @ terms) + float((np.abs(y) / p)[between].max())

    def _listed(
        self, windows: list[tuple[float, float]], y: Floats, above: float, largest_window: int
    ) -> Counts | None:
        """The promising subsets in the windows; None where a window holds too many."""
        if self.tables is None:
            return None
        gain, keep = self._promising(y, above)
        found = []
        for start, stop in windows:
            counts = self.tables.in_window(start, stop, largest_window, gain, keep)[1]
            if counts is None:
                return None
            found.append(counts)
        return np.concatenate(found)

    def _heaviest_first(self, y: Floats, most: int, above: float) -> tuple[Patterns, float, bool]:
        """The best vertices by deciding heavy letters first, a bound on all, and whether it is exact."""
        order = np.argsort(-self.groups.masses, kind="stable")
        masses, sizes, box = self.groups.masses[order], self.groups.sizes[order], (self.box_low, self.box_high)
        letters = Letters(self.f, masses, sizes, y[order], self.low, self.high, (box[0][order], box[1][order]))
        found, free, bound, exact = heaviest_first(letters, most=most, above=above, branches=_BRANCHES)
        counts = np.empty_like(found)
        counts[:, order] = found
        # Which letter is in between is chosen again: a rare one may not be able to take what roundings have left.
        raised = counts.copy()
        raised[np.arange(len(free)), order[free]] += 1
        subsets = np.unique(np.concatenate([counts, raised]), axis=0)
        return self.best_vertices(subsets, y, most, above)[0], bound, exact

    def completed(self, counts: Counts, free: Counts) -> Patterns:
        """Return the vertices with these letters raised and one of these groups in between, where that exists."""
        p = self.groups.masses
        rest = (1 - self.low) - (self.high - self.low) * (counts @ p)
        lifts = self.low + rest / p[free]
        exist = np.flatnonzero((lifts >= self.low) & (lifts <= self.high))
        return self._patterns(counts[exist], free[exist], lifts[exist])

    def _promising(self, y: Floats, above: float) -> tuple[Floats, Keep]:
        """What a raised letter of each group brings, and which subsets may have a vertex worth more than ``above``.

        The free letter brings at most its chord: the rest of the mass at the best rate of any letter, or, above the
        target, the excess given back at the worst.
        """
        p, sizes = self.groups.masses, self.groups.sizes
        span = self.high - self.low
        gain = p * (self.f_high - self.f_start) - y * (self.high - self.start)
        rate = gain / (p * (self.high - self.start))
        base = float(sizes @ (p * self.f_start - y * self.start))
        whole = 1 - float(sizes @ (p * self.start))
        best, worst = float(rate.max()), float(rate.min())

        def keep(mass: Floats, value: Floats) -> Bools:
            rest = whole - span * mass
            promising: Bools = base + value + np.where(rest >= 0, best, worst) * rest > above
            return promising

        return gain, keep

    def _around_chord(self, y: Floats, number: int) -> Floats:
        """Objectives around the chords' own, from close to wild."""
        p = self.cone.prior.probabilities
        low, high = self.cone.entry_box()
        gains = p * chord_slopes(self.f, low, high) - self.groups.per_letter(y)
        generator = np.random.default_rng(len(p))  # not for privacy: the search is the same every time
        density = gains / p
        noise = generator.standard_normal((len(p), number)) * np.geomspace(1e-6, 1.0, number) * (density.std() + 1e-12)
        objectives: Floats = p[:, None] * (density[:, None] + noise)
        objectives[:, 0] = gains
        return objectives

    def nearest(self, number: int) -> Counts:
        """At least ``number`` subsets (or all) with a mass close to the target."""
        return self._nearest(8 * number, -1.0, 2.0, at_least=number)

    def _nearest(self, most: int, start: float, stop: float, at_least: int | None = None) -> Counts:
        goal = most // 4 if at_least is None else at_least
        if self.tables is None:
            return np.zeros((0, len(self.groups.masses)), dtype=np.int64)
        best = self.tables.in_window(self.target, self.target, most)[1]
        width = 1e-13
        while width < 4:
            low, high = max(start, self.target - width), min(stop, self.target + width)
            total, counts = self.tables.in_window(low, high, most) if low <= high else (0, None)
            if counts is not None:
                best = counts
            if total >= goal:
                break
            width *= 3
        if best is None:
            best = np.zeros((0, len(self.groups.masses)), dtype=np.int64)
        return best


def _interval(ends: Floats, spare: float) -> tuple[float, float]:
    return float(ends.min()) - spare, float(ends.max()) + spare


def _merged(windows: list[tuple[float, float]]) -> list[tuple[float, float]]:
    merged: list[tuple[float, float]] = []
    for start, stop in sorted(windows):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(stop, merged[-1][1]))
        else:
            merged.append((start, stop))
    return merged


def _small_loss(f: Function, p: Floats, low: Floats, high: Floats, limit: float) -> tuple[Floats, Floats]:
    """How far from each end of its box a lift may go before it loses more than ``limit``, rounded outwards.

    The loss π(chord - f) is concave and zero at both ends: bisection from each end towards its peak.
    """
    width = high - low
    f_low, f_high = f(low), f(high)

    def loss(x: Floats) -> Floats:
        share = np.divide(x - low, width, out=np.zeros_like(x), where=width > 0)
        return p * (f_low + share * (f_high - f_low) - f(x))

    left, right = low.copy(), high.copy()
    for _ in range(24):  # ternary search for the peak; missing it slightly only widens a window
        a, b = left + (right - left) / 3, right - (right - left) / 3
        rising = loss(a) < loss(b)
        left, right = np.where(rising, a, left), np.where(rising, right, b)
    peak = (left + right) / 2
    ends = np.stack([low, high])
    beyond = last_that_holds(lambda x: loss(x) > limit, np.stack([peak, peak]), ends, 46)
    reach = np.where(loss(peak) <= limit, width, np.abs(beyond - ends))
    return reach[0], reach[1]
