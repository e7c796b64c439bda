"""From columns up to permutations of letters of equal mass to real columns."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from leakwise.errors import NotConverged
from leakwise.optimize.bounds.chord import Function
from leakwise.optimize.search.master import Master
from leakwise.types import Counts, Floats, Indices

__all__ = ["Patterns", "spread"]


@dataclass(frozen=True)
class Patterns:
    """Columns of two values and at most one free letter, up to permutations within groups of letters."""

    counts: Counts  # n × G, how many letters of each group are high, the free one not counted
    free: Counts  # n, the group of the free letter, -1 where there is none
    lifts: Floats  # n, the lift of the free letter
    low: Floats  # n
    high: Floats  # n

    def __len__(self) -> int:
        return len(self.free)

    def take(self, chosen: Indices) -> Patterns:
        """Return some of them."""
        return Patterns(*(part[chosen] for part in vars(self).values()))

    def joined(self, *others: Patterns) -> Patterns:
        """These and others."""
        parts = zip(*(vars(one).values() for one in (self, *others)), strict=True)
        return Patterns(*(np.concatenate(part) for part in parts))

    @staticmethod
    def constant(groups: int) -> Patterns:
        """Return the constant column, which is in every cone."""
        return Patterns(np.zeros((1, groups), dtype=np.int64), np.full(1, -1), np.ones(1), np.ones(1), np.ones(1))

    def averages(self, sizes: Counts) -> Floats:
        """Return the average lift within each group (G × n)."""
        total = self.low[:, None] * sizes + (self.high - self.low)[:, None] * self.counts
        here = np.flatnonzero(self.free >= 0)
        total[here, self.free[here]] += (self.lifts - self.low)[here]
        averages: Floats = (total / sizes).T
        return averages

    def utilities(self, f: Function, masses: Floats, sizes: Counts) -> Floats:
        """Return Σ_i π_i f(λ_i) of each."""
        at_low, at_high = f(self.low), f(self.high)
        raised = self.counts @ masses
        worth: Floats = float(sizes @ masses) * at_low + raised * (at_high - at_low)
        here = np.flatnonzero(self.free >= 0)
        worth[here] += masses[self.free[here]] * (f(self.lifts[here]) - at_low[here])
        return worth


def spread(
    patterns: Patterns, weights: Floats, letters: tuple[Indices, ...], worth: Callable[[Floats], Floats]
) -> tuple[Floats, Floats]:
    """Real columns, at most N: each group is turned around its circle, all groups in step.

    A pattern that raises k of the n letters of a group becomes n cyclic shifts of weight 1/n each. Groups of different
    sizes share one clock u in [0, 1): at time u a group of n stands at shift ⌊un⌋. So a pattern gives at most N
    columns, of which the best vertex of the master on these columns alone takes N in all ([EX] Theorem 1).
    """
    size = sum(len(group) for group in letters)
    if not (weights > 0).any():
        raise NotConverged("no column has a weight above the roundings.", lower=-np.inf, upper=np.inf)
    columns: list[Floats] = []
    shares: list[float] = []
    for place in np.flatnonzero(weights > 0):
        counts, free = patterns.counts[place], int(patterns.free[place])
        moving = {len(group) for number, group in enumerate(letters) if _turns(counts, free, number, len(group))}
        ticks = np.unique(np.concatenate([[0.0, 1.0], *(np.arange(1, n) / n for n in moving)]))
        for start, stop in itertools.pairwise(ticks):
            middle = (start + stop) / 2
            column = np.full(size, patterns.low[place])
            for number, group in enumerate(letters):
                n, k = len(group), int(counts[number])
                shift = int(middle * n)
                column[group[(shift + np.arange(k)) % n]] = patterns.high[place]
                if number == free:
                    column[group[(shift + k) % n]] = patterns.lifts[place]
            columns.append(column)
            shares.append(float(weights[place]) * float(stop - start))
    lifts = np.stack(columns, axis=1)
    if lifts.shape[1] <= size:
        return lifts, np.array(shares)
    fewest = Master(worth(lifts), lifts).solve().weights
    return lifts[:, fewest > 0], fewest[fewest > 0]


def _turns(counts: Counts, free: int, group: int, size: int) -> bool:
    return size > 1 and (0 < counts[group] < size or group == free)
