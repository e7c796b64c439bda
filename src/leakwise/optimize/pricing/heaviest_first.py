"""Exact pricing for skewed priors: branch on the letters from the heaviest to the lightest.

A vertex has every lift at ``low`` or ``high`` except for one letter in between. Decide the heavy letters first and let
the lighter ones follow their chords: what the chords overrate is then at most what one light letter can lose. If the
letter in between is k, its own gain is convex in the mass that it takes, and the chords of the lighter letters add up
to a concave, piecewise linear function of theirs: the maximum of the sum is at a kink, where every lighter letter is at
an end of its box, so that it is the value of a vertex; or it is at an end of k's own box, and then the branch goes on.

Where few letters hold most of the mass a handful of branches is left at every depth, while windows of subset masses
would have to list millions of subsets. Where the masses are alike it is the other way round.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from leakwise.optimize.bounds.chord import Function
from leakwise.types import Bools, Counts, Floats

__all__ = ["Letters", "heaviest_first"]


# Masses are sums and differences of fewer than a thousand floats, each at most a few: this is far more than they lose.
_ROUNDING = 1e-12
_CHUNK = 1 << 13


@dataclass(frozen=True)
class Letters:
    """Groups of letters of equal mass, heaviest first, seen through the mass x that a letter takes above ``low``."""

    f: Function
    masses: Floats
    sizes: Counts
    duals: Floats  # of one letter
    low: float
    high: float
    box: tuple[Floats, Floats]  # the lifts that a letter of each group can have at all

    def gain(self, group: slice | Counts, x: Floats) -> Floats:
        """Return what a letter brings that takes the mass x: convex in x, zero at zero."""
        p, y = self.masses[group], self.duals[group]
        start = self.f(np.array([self.low]))
        gains: Floats = p * (self.f(self.low + x / p) - start) - y * x / p
        return gains

    def chords(self, group: int) -> _Chords:
        """Return the best that letters from a group on can bring by their chords."""
        rest = slice(group, None)
        p, sizes = self.masses[rest], self.sizes[rest]
        first, last = p * (self.box[0][rest] - self.low), p * (self.box[1][rest] - self.low)
        at_first, at_last = self.gain(rest, first), self.gain(rest, last)
        width, rise = last - first, at_last - at_first
        slope = np.divide(rise, width, out=np.zeros(len(rise)), where=width > 0)
        order = np.argsort(-slope, kind="stable")
        mass = np.concatenate([[sizes @ first], (sizes * width)[order]]).cumsum()
        value = np.concatenate([[sizes @ at_first], (sizes * rise)[order]]).cumsum()
        return _Chords(mass, value, order + group)


@dataclass(frozen=True)
class _Chords:
    """A concave function of mass by its kinks; before kink k + 1 the groups order[:k] are full."""

    mass: Floats
    value: Floats
    order: Counts

    def __call__(self, mass: Floats) -> Floats:
        """The largest value within the rounding of a mass; -inf where that many letters cannot take it."""
        peak = self.mass[int(self.value.argmax())]
        at = np.clip(peak, mass - _ROUNDING, mass + _ROUNDING)
        reached = (at >= self.mass[0] - _ROUNDING) & (at <= self.mass[-1] + _ROUNDING)
        return np.where(reached, np.interp(at, self.mass, self.value), -np.inf)


@dataclass(frozen=True)
class _Branches:
    """Decisions on the heavier letters: how many of each group are raised, and which group has the letter between."""

    counts: Counts  # n × G
    free: Counts  # n, -1 while no letter is between
    rest: Floats  # n, the mass that is left, that of the letter between included
    value: Floats  # n, what the decided letters bring

    def take(self, chosen: Bools | Counts) -> _Branches:
        return _Branches(self.counts[chosen], self.free[chosen], self.rest[chosen], self.value[chosen])

    def raised(self, group: int, number: int, mass: float, gain: float, free: Counts) -> _Branches:
        counts = self.counts.copy()
        counts[:, group] = number
        return _Branches(counts, free, self.rest - number * mass, self.value + number * gain)

    @staticmethod
    def joined(parts: list[_Branches]) -> _Branches:
        return _Branches(
            *(np.concatenate([getattr(part, name) for part in parts]) for name in ("counts", "free", "rest", "value"))
        )


class _Search:
    def __init__(self, letters: Letters, most: int, above: float) -> None:
        self.letters, self.most, self.above = letters, most, above
        self.mass = letters.masses * (letters.high - letters.low)
        self.gain = letters.gain(slice(None), self.mass)
        close = 1e-12 * (1 + letters.high)
        self.short = (letters.box[0] > letters.low + close, letters.box[1] < letters.high - close)
        self.largest = above  # of the vertices met so far
        self.counts = np.empty((0, len(self.mass)), dtype=np.int64)
        self.free = np.empty(0, dtype=np.int64)
        self.costs = np.empty(0)

    def bounds(self, branches: _Branches, chords: _Chords) -> Floats:
        """Return a number above all vertices of each branch; those that are at a kink are met."""
        bounds = np.empty(len(branches.free))
        for start in range(0, len(bounds), _CHUNK):
            part = branches.take(np.arange(start, min(start + _CHUNK, len(bounds))))
            between = part.free >= 0
            group = np.maximum(part.free, 0)
            most = np.where(between, self.mass[group], 0.0)
            # Without a letter between both ends are the same; with one they are no vertices, and bound what is.
            ends = [chords(part.rest), chords(part.rest - most) + np.where(between, self.gain[group], 0.0)]
            x = part.rest[:, None] - chords.mass
            close = np.stack([np.clip(x + step, 0.0, most[:, None]) for step in (-_ROUNDING, _ROUNDING)])
            own = np.where(between[:, None], self.letters.gain(group[:, None], close).max(axis=0), 0.0)
            here = (x >= -_ROUNDING) & (x <= most[:, None] + _ROUNDING)
            costs = np.where(here, part.value[:, None] + own + chords.value, -np.inf)
            self._meet(part, chords, costs)
            bounds[start : start + _CHUNK] = part.value + np.maximum(*ends)
        return bounds

    def _meet(self, branches: _Branches, chords: _Chords, costs: Floats) -> None:
        """Take in the vertices at the kinks (columns) of each branch (rows)."""
        self.largest = max(self.largest, float(costs.max(initial=-np.inf)))
        rows, kinks = np.nonzero((costs > self.above) & (branches.free >= 0)[:, None])
        if len(rows) > self.most:
            chosen = np.argpartition(-costs[rows, kinks], self.most)[: self.most]
            rows, kinks = rows[chosen], kinks[chosen]
        counts, free = branches.counts[rows].copy(), branches.free[rows].copy()
        full = np.arange(len(chords.order)) < kinks[:, None]
        counts[:, chords.order] = np.where(full, self.letters.sizes[chords.order], 0)
        # A letter may not reach an end because all others are at the other one already: then it is the one between.
        short = np.where(full, self.short[1][chords.order], self.short[0][chords.order])
        here = np.flatnonzero(short.any(axis=1))
        other = chords.order[short[here].argmax(axis=1)] if len(here) else free[:0]
        counts[here, free[here]] += counts[here, other] == 0
        counts[here, other] = 0
        free[here] = other
        costs = np.concatenate([self.costs, costs[rows, kinks]])
        order = np.argsort(-costs, kind="stable")[: self.most]
        self.counts = np.concatenate([self.counts, counts])[order]
        self.free = np.concatenate([self.free, free])[order]
        self.costs = costs[order]


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
    at_low = float(letters.f(np.array([letters.low]))[0])
    base = float(letters.sizes @ (letters.masses * at_low - letters.duals * letters.low))
    left = _Branches(
        np.zeros((1, len(letters.masses)), dtype=np.int64),
        np.full(1, -1),
        np.full(1, 1 - letters.low),
        np.full(1, base),
    )
    for group, size in enumerate(letters.sizes.tolist()):
        chords = letters.chords(group + 1)
        children: list[_Branches] = []
        bound = -np.inf
        for number in range(size + 1):
            ways = [left.raised(group, number, search.mass[group], search.gain[group], left.free)]
            if number < size:
                whole = left.take(left.free < 0)
                chosen = np.full(len(whole.free), group)
                ways.append(whole.raised(group, number, search.mass[group], search.gain[group], chosen))
            for way in ways:
                bounds = search.bounds(way, chords)
                kept = bounds > search.largest
                children.append(way.take(kept))
                bound = max(bound, float(bounds[kept].max(initial=-np.inf)))
        left = _Branches.joined(children)
        if not len(left.free) or len(left.free) > branches:
            break
    return search.counts, search.free, max(search.largest, bound), len(left.free) <= branches
