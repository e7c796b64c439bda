"""Subsets of letters with a mass in a window, by meeting in the middle.

Letters of equal mass form a group; only how many of a group are taken matters. The groups are dealt into two halves;
the masses of all choices within a half are sorted once, and a window of total mass is then found by bisection. Forty
different masses have 2^40 subsets and two tables of 2^20.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from leakwise.types import Bools, Counts, Floats

__all__ = ["LARGEST_TABLE", "HalfTables"]


Keep = Callable[[Floats, Floats], Bools]

LARGEST_TABLE = 1 << 20


class HalfTables:
    """All choices of k_g letters out of each group g, sorted by mass in two halves."""

    def __init__(self, masses: Floats, sizes: Counts) -> None:
        self.masses = masses
        self.sizes = sizes
        first, second = _dealt(sizes)
        self._halves = [_Half(masses[half], sizes[half], half) for half in (first, second)]

    @staticmethod
    def fit(sizes: Counts) -> bool:
        """Return whether both tables stay within :data:`LARGEST_TABLE`."""
        return all(float(np.log2(sizes[half] + 1.0).sum()) <= np.log2(LARGEST_TABLE) for half in _dealt(sizes))

    def in_window(
        self, low: float, high: float, most: int, worth: Floats | None = None, keep: Keep | None = None
    ) -> tuple[int, Counts | None]:
        """Return how many choices have a mass in [low, high], and, if they are at most ``most``, their count vectors.

        With ``worth`` (of one letter of each group) and ``keep`` only those are given whose mass and whose sum of worth
        ``keep`` finds promising; the others are never written out.
        """
        first, second = self._halves
        start = np.searchsorted(second.sorted, low - first.sorted, side="left")
        stop = np.searchsorted(second.sorted, high - first.sorted, side="right")
        number = stop - start
        total = int(number.sum())
        if total > most:
            return total, None
        left = np.repeat(np.arange(len(first.sorted)), number)
        offset = np.arange(total) - np.repeat(np.cumsum(number) - number, number)
        right = np.repeat(start, number) + offset
        if worth is not None and keep is not None:
            values = first.sums(worth)[left] + second.sums(worth)[right]
            kept = keep(first.sorted[left] + second.sorted[right], values)
            left, right, total_kept = left[kept], right[kept], int(kept.sum())
        else:
            total_kept = total
        counts = np.zeros((total_kept, len(self.masses)), dtype=np.int64)
        first.decode(left, counts)
        second.decode(right, counts)
        return total, counts


class _Half:
    def __init__(self, masses: Floats, sizes: Counts, places: Counts) -> None:
        sums = np.zeros(1)
        for mass, size in zip(masses, sizes, strict=True):
            sums = (sums[None, :] + mass * np.arange(size + 1)[:, None]).ravel()
        self.order = np.argsort(sums, kind="stable")
        self.sorted = sums[self.order]
        self.sizes = sizes
        self.places = places

    def sums(self, worth: Floats) -> Floats:
        """Return the sum of another number per letter, in the order of the masses."""
        sums = np.zeros(1)
        for value, size in zip(worth[self.places], self.sizes, strict=True):
            sums = (sums[None, :] + value * np.arange(size + 1)[:, None]).ravel()
        return sums[self.order]

    def decode(self, positions: Counts, counts: Counts) -> None:
        codes = self.order[positions]
        # The group added first is the fastest digit of the code.
        for size, place in zip(self.sizes, self.places, strict=True):
            codes, counts[:, place] = np.divmod(codes, size + 1)


def _dealt(sizes: Counts) -> tuple[Counts, Counts]:
    """Groups dealt into two halves with tables of about the same length."""
    halves: tuple[list[int], list[int]] = ([], [])
    lengths = [0.0, 0.0]
    for place in np.argsort(-sizes, kind="stable"):
        side = int(lengths[1] < lengths[0])
        halves[side].append(int(place))
        lengths[side] += float(np.log2(sizes[place] + 1))
    return np.array(halves[0], dtype=np.int64), np.array(halves[1], dtype=np.int64)
