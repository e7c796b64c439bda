"""Exact pricing for skewed priors: branch on the letters from the heaviest to the lightest.

A vertex has every lift at ``low`` or ``high`` except for one letter in between. Decide the heavy letters first and let
the lighter ones follow their chords: what the chords overrate is then at most what one light letter can lose.

A branch says which heavy letters are nearer to ``high``. As long as the lighter letters can take exactly the mass that
is left, it stays open who is in between: one of them, or a heavy letter that is off its end by no more than they can
make up for, which its own chord bounds. Where they cannot, a heavy letter k must be. Its gain is convex in the mass
that it takes, and the chords of the lighter letters add up to a concave, piecewise linear function of theirs: the
maximum of the sum is at a kink, where every lighter letter is at an end of its box, so that it is the value of a
vertex; or it is at an end of k's own range, and then the branch goes on.

Where few letters hold most of the mass a handful of branches is left at every depth, while windows of subset masses
would have to list millions of subsets. Where the masses are alike it is the other way round.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from leakwise.optimize.bounds.chord import Function
from leakwise.types import Bools, Counts, Floats

__all__ = ["Letters", "heaviest_first"]


# Masses are sums and differences of fewer than a thousand floats, each at most a few: this is far more than they lose.
_ROUNDING = 1e-12
_CHUNK = 1 << 13


@dataclass(frozen=True)
class Letters:
    """Groups of letters of equal mass, heaviest first, seen through the mass x that a letter takes above ``start``."""

    f: Function
    masses: Floats
    sizes: Counts
    duals: Floats  # of one letter
    low: float
    high: float
    box: tuple[Floats, Floats]  # the lifts that a letter of each group can have at all

    @cached_property
    def start(self) -> Floats:
        """The least lift: ``low``, but that of its own box for a letter that can be at neither end."""
        own: Floats = np.where((self.box[0] > self.low) & (self.box[1] < self.high), self.box[0], self.low)
        return own

    def gain(self, group: slice | Counts, x: Floats) -> Floats:
        """Return what a letter brings that takes the mass x: convex in x, zero at zero."""
        p, y = self.masses[group], self.duals[group]
        start = self.start[group]
        gains: Floats = p * (self.f(start + x / p) - self.f(start)) - y * x / p
        return gains

    def chords(self, group: int) -> _Chords:
        """Return the best that letters from a group on can bring by their chords."""
        rest = slice(group, None)
        p, sizes = self.masses[rest], self.sizes[rest]
        first, last = p * (self.box[0][rest] - self.start[rest]), p * (self.box[1][rest] - self.start[rest])
        at_first, at_last = self.gain(rest, first), self.gain(rest, last)
        width, rise = last - first, at_last - at_first
        slope = np.divide(rise, width, out=np.zeros(len(rise)), where=width > 0)
        order = np.argsort(-slope, kind="stable")
        mass = np.concatenate([[sizes @ first], (sizes * width)[order]]).cumsum()
        value = np.concatenate([[sizes @ at_first], (sizes * rise)[order]]).cumsum()
        return _Chords(mass, value, slope[order], order + group)


@dataclass(frozen=True)
class _Chords:
    """A concave function of mass by its kinks; before kink k + 1 the groups order[:k] are full."""

    mass: Floats
    value: Floats
    slope: Floats  # of each group
    order: Counts

    def __call__(self, mass: Floats) -> Floats:
        """The largest value within the rounding of a mass; -inf where that many letters cannot take it."""
        peak = self.mass[int(self.value.argmax())]
        at = np.clip(peak, mass - _ROUNDING, mass + _ROUNDING)
        reached = (at >= self.mass[0] - _ROUNDING) & (at <= self.mass[-1] + _ROUNDING)
        return np.where(reached, np.interp(at, self.mass, self.value), -np.inf)

    def beside(self, mass: Floats, taken: Floats, given: Floats) -> Floats:
        """The largest value of a mass of which another letter may take a part, or to which it may give, at a rate."""
        less, more = (self.mass[np.searchsorted(-self.slope, -rate)] for rate in (taken, -given))
        fewer = np.where(less < mass, self(less) + taken * (mass - less), -np.inf)
        further = np.where(more > mass, self(more) + given * (more - mass), -np.inf)
        return np.maximum(self(mass), np.maximum(fewer, further))


@dataclass(frozen=True)
class _Branches:
    """Decisions on the heavier letters: how many of each group are raised, and which group has the letter between."""

    counts: Counts  # n × G
    free: Counts  # n, -1 while that is open
    start: Floats  # n, the range of the mass that the letter between takes
    stop: Floats  # n
    rest: Floats  # n, the mass that is left, that of the letter between included
    value: Floats  # n, what the raised letters bring

    def __len__(self) -> int:
        return len(self.free)

    def take(self, chosen: Bools | Counts) -> _Branches:
        return _Branches(*(part[chosen] for part in vars(self).values()))

    def raised(self, group: int, number: int, mass: float, gain: float) -> _Branches:
        counts = self.counts.copy()
        counts[:, group] += number
        return replace(self, counts=counts, rest=self.rest - number * mass, value=self.value + number * gain)

    @staticmethod
    def joined(parts: list[_Branches]) -> _Branches:
        return _Branches(*map(np.concatenate, zip(*(vars(part).values() for part in parts), strict=True)))


class _Search:
    def __init__(self, letters: Letters, most: int, above: float) -> None:
        self.letters, self.most, self.above = letters, most, above
        self.mass = letters.masses * (letters.high - letters.start)
        self.gain = letters.gain(slice(None), self.mass)
        close = 1e-12 * (1 + letters.high)
        self.short = (letters.box[0] > letters.low + close, letters.box[1] < letters.high - close)
        self.largest = above  # of the vertices met so far
        self.counts = np.empty((0, len(self.mass)), dtype=np.int64)
        self.free = np.empty(0, dtype=np.int64)
        self.costs = np.empty(0)

    def with_free(self, branches: _Branches, chords: _Chords, group: int, start: float, stop: float) -> _Branches:
        """Return the branches with this letter between, its mass in a range: those where that may be worth it.

        At any price of mass what it brings is largest at an end of its range, and what lighter ones bring has a limit.
        """
        first = np.maximum(start, branches.rest - chords.mass[-1] - _ROUNDING)
        last = np.minimum(stop, branches.rest - chords.mass[0] + _ROUNDING)
        price = chords.slope[len(chords.slope) // 2] if len(chords.slope) else 0.0
        ends = np.stack([first, np.maximum(first, last)])
        own = (self.letters.gain(np.full(1, group), ends) - price * ends).max(axis=0)
        most = branches.value + own + price * branches.rest + float((chords.value - price * chords.mass).max())
        chosen = np.flatnonzero((first <= last) & (most > self.largest))
        free = np.full(len(chosen), group)
        return replace(branches.take(chosen), free=free, start=first[chosen], stop=last[chosen])

    def kept(self, branches: _Branches, chords: _Chords, group: int) -> tuple[_Branches, float]:
        """Return the branches that may hold more than the vertices met so far, and a number above all of theirs."""
        bounds = np.empty(len(branches))
        for start in range(0, len(bounds), _CHUNK):
            part = branches.take(np.arange(start, min(start + _CHUNK, len(bounds))))
            bound = self._between if part.free[0] >= 0 else self._open
            bounds[start : start + _CHUNK] = bound(part, chords, group)
        chosen = bounds > self.largest
        return branches.take(chosen), float(bounds[chosen].max(initial=-np.inf))

    def _between(self, part: _Branches, chords: _Chords, _: int) -> Floats:
        """A number above all vertices of each branch with a letter between; those that are at a kink are met."""
        group, ends = part.free[:, None], np.stack([part.start, part.stop], axis=1)
        # The ends of its range are no vertices, and bound what is.
        bounds = (chords(part.rest[:, None] - ends) + self.letters.gain(group, ends)).max(axis=1)
        x = part.rest[:, None] - chords.mass
        close = np.stack([np.clip(x + step, ends[:, :1], ends[:, 1:]) for step in (-_ROUNDING, _ROUNDING)])
        own = self.letters.gain(group, close).max(axis=0)
        here = (x >= ends[:, :1] - _ROUNDING) & (x <= ends[:, 1:] + _ROUNDING)
        self._meet(part, chords, np.where(here, part.value[:, None] + own + chords.value, -np.inf))
        total: Floats = part.value + bounds
        return total

    def _open(self, part: _Branches, chords: _Chords, group: int) -> Floats:
        """The same where it is open who is between; met is the vertex that fills the lighter letters by their rates."""
        decided = slice(group + 1)
        counts, mass = part.counts[:, decided], self.mass[decided]
        most = np.minimum(mass / 2, chords.mass[-1] + _ROUNDING)
        taken = self.letters.gain(decided, most) / most
        given = (self.letters.gain(decided, mass - most) - self.gain[decided]) / most
        lower, upper = counts < self.letters.sizes[decided], counts > 0
        rates = (np.where(here, rate, -np.inf).max(axis=1) for here, rate in ((lower, taken), (upper, given)))
        if not (self.short[0][group + 1 :].any() or self.short[1][group + 1 :].any()):
            self._fill(part, chords)
        return part.value + chords.beside(part.rest, *rates)

    def _fill(self, part: _Branches, chords: _Chords) -> None:
        kink = np.clip(np.searchsorted(chords.mass, part.rest, side="right") - 1, 0, len(chords.order) - 1)
        group = chords.order[kink]
        rest = np.maximum(part.rest - chords.mass[kink], 0.0)
        whole = np.minimum((rest / self.mass[group]).astype(np.int64), self.letters.sizes[group] - 1)
        x = np.minimum(rest - whole * self.mass[group], self.mass[group])
        costs = part.value + chords.value[kink] + whole * self.gain[group] + self.letters.gain(group, x)
        counts = self._filled(part.counts, chords, kink)
        counts[np.arange(len(counts)), group] = whole
        self._take_in(counts, group, costs)

    def _filled(self, counts: Counts, chords: _Chords, kinks: Counts) -> Counts:
        """The counts with the lighter letters full that are before a kink."""
        counts, full = counts.copy(), np.arange(len(chords.order)) < kinks[:, None]
        counts[:, chords.order] = np.where(full, self.letters.sizes[chords.order], 0)
        return counts

    def _meet(self, branches: _Branches, chords: _Chords, costs: Floats) -> None:
        """Take in the vertices at the kinks (columns) of each branch (rows)."""
        self.largest = max(self.largest, float(costs.max(initial=-np.inf)))
        rows, kinks = np.nonzero(costs > self.above)
        if len(rows) > self.most:
            chosen = np.argpartition(-costs[rows, kinks], self.most)[: self.most]
            rows, kinks = rows[chosen], kinks[chosen]
        counts, free = self._filled(branches.counts[rows], chords, kinks), branches.free[rows].copy()
        # A letter may not reach an end because all others are at the other one already: then it is the one between.
        full = np.arange(len(chords.order)) < kinks[:, None]
        short = np.where(full, self.short[1][chords.order], self.short[0][chords.order])
        here = np.flatnonzero(short.any(axis=1))
        other = chords.order[short[here].argmax(axis=1)] if len(here) else free[:0]
        counts[here, free[here]] += counts[here, other] == 0
        counts[here, other] = 0
        free[here] = other
        self._take_in(counts, free, costs[rows, kinks])

    def _take_in(self, counts: Counts, free: Counts, costs: Floats) -> None:
        """Keep the best of these vertices and of those met before."""
        self.largest = max(self.largest, float(costs.max(initial=-np.inf)))
        new = np.flatnonzero(costs > self.above)
        every = np.concatenate([self.costs, costs[new]])
        order = np.argsort(-every, kind="stable")[: self.most]
        self.counts = np.concatenate([self.counts, counts[new]])[order]
        self.free = np.concatenate([self.free, free[new]])[order]
        self.costs = every[order]


def heaviest_first(letters: Letters, *, most: int, above: float, branches: int) -> tuple[Counts, Counts, float, bool]:
    """Return the vertices of largest reduced cost, and a number above every reduced cost.

    Parameters
    ----------
    letters
        The groups in the order of their masses, heaviest first.
    most, above
        How many vertices are wanted, and the reduced cost from which on.
    branches
        At most so many are kept; beyond, the chords of the lighter letters are the bound.

    Returns
    -------
    Counts of raised letters (n × G) and the groups of the letters in between (n), the number, and whether it is the
    exact maximum but for roundings.
    """
    search = _Search(letters, most, above)
    base = float(letters.sizes @ (letters.masses * letters.f(letters.start) - letters.duals * letters.start))
    mass, gain, count = search.mass, search.gain, len(letters.masses)
    zero = np.zeros(1)
    none = np.zeros(0, dtype=np.int64)
    whole = _Branches(
        np.zeros((1, count), dtype=np.int64),
        np.full(1, -1),
        zero,
        zero,
        1 - letters.sizes @ (letters.masses * letters.start) + zero,
        base + zero,
    )
    between, bound = whole.take(none), -np.inf
    for group, size in enumerate(letters.sizes.tolist()):
        chords, last = letters.chords(group + 1), group + 1 == count
        ways = [whole.raised(group, number, mass[group], gain[group]) for number in range(size + 1)]
        children = [between.raised(group, number, mass[group], gain[group]) for number in range(size + 1)]
        if search.short[0][group]:  # it cannot be at its low end: where it is not raised, it is between
            children += [search.with_free(way, chords, group, 0.0, mass[group]) for way in ways[:size]]
            ways = ways[size:]
        whole = _Branches.joined(ways)
        # What the lighter letters cannot make up for a heavy one must; in the end there are no lighter ones.
        over = whole.take(whole.rest > (-_ROUNDING if last else chords.mass[-1] + _ROUNDING))
        under = whole.take(whole.rest < (_ROUNDING if last else chords.mass[0] - _ROUNDING))
        for heavy in range(group + 1):
            lower, half = over.take(over.counts[:, heavy] < letters.sizes[heavy]), mass[heavy] / 2
            children.append(search.with_free(lower, chords, heavy, 0.0, half))
            upper = under.take(under.counts[:, heavy] > 0).raised(heavy, -1, mass[heavy], gain[heavy])
            children.append(search.with_free(upper, chords, heavy, half, mass[heavy]))
        fits = (whole.rest >= chords.mass[0] - _ROUNDING) & (whole.rest <= chords.mass[-1] + _ROUNDING)
        whole, bound = search.kept(whole.take(fits if not last else none), chords, group)
        parts = [search.kept(child, chords, group) for child in children if len(child)]
        between = _Branches.joined([between.take(none), *(part for part, _ in parts)])
        bound = max([bound, *(most for _, most in parts)])
        if not (left := len(whole) + len(between)) or left > branches:
            break
    return search.counts, search.free, max(search.largest, bound), len(whole) + len(between) <= branches
