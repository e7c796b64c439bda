"""The lift vectors on a mask: for each output the PML cone with zeros where the pair is forbidden.

Everything the searches ask of it is a continuous knapsack per output, solved for all outputs at once by one sort. The
letters of each output are kept in one row of a padded table, so that a sparse mask of thousands of letters costs what
its pairs cost.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from leakwise.types import Bools, Floats, Indices

__all__ = ["Greedy", "MaskColumns"]


@dataclass(frozen=True)
class Greedy:
    """The best lift vector of every output (one row each): its letters in order of gain per mass, padded with N."""

    values: Floats  # M
    letters: Indices  # M × K
    before: Floats  # M × K: the mass of the letters that come earlier
    lifts: Floats  # M × K


class MaskColumns:
    """The pairs of a mask, output by output, over a prior of full support."""

    def __init__(self, allowed: Bools, p: Floats, *, part: bool = False) -> None:
        """``part``: the letters are only some of the secret's, so that an output that serves them all is not free."""
        self.allowed, self.p = allowed, p
        self.size, self.count = allowed.shape
        output, letter = np.nonzero(np.ascontiguousarray(allowed.T))
        sizes = np.bincount(output, minlength=self.count)
        width = max(int(sizes.max(initial=0)), 1)
        self.letters = np.full((self.count, width), self.size, dtype=np.intp)  # N stands for "no letter"
        place = np.arange(len(output)) - (np.cumsum(sizes) - sizes)[output]
        self.letters[output, place] = letter
        # "No letter" has mass one where one divides by it and zero where one adds it up.
        self._divisor = np.concatenate([p, [1.0]])
        self._mass = np.concatenate([p, [0.0]])
        self.mass = self._mass[self.letters].sum(axis=1)
        with np.errstate(divide="ignore"):
            # Below this ratio an output cannot be used at all (the rule of [WC] III-B).
            # Only an output for every letter serves at 1, even where the letters it lacks weigh less than a rounding.
            above = 1.0 / self.mass if part else np.maximum(1.0 / self.mass, 1.0 + 2.0**-52)
            self.breakpoints = np.where((sizes == self.size) & (not part), 1.0, above)

    def usable(self, ratio: float, *, strictly: bool = False) -> Bools:
        """Return the outputs that a mechanism of this largest lift can use (strictly: of a smaller one)."""
        return self.breakpoints < ratio if strictly else self.breakpoints <= ratio

    def per_pair(self, gains: Floats) -> Floats:
        """Gains of letters (N) or of pairs (N×M) in the layout of the table (M×K), zero where there is no letter."""
        if gains.ndim == 1:
            return np.concatenate([gains, [0.0]])[self.letters]
        padded = np.concatenate([gains, np.zeros((1, self.count))])
        return padded[self.letters, np.arange(self.count)[:, None]]

    def _sorted(self, gains: Floats) -> tuple[Indices, Floats, Floats]:
        density = np.where(self.letters < self.size, gains / self._divisor[self.letters], -np.inf)
        order = np.argsort(-density, axis=1, kind="stable")
        letters = np.take_along_axis(self.letters, order, axis=1)
        return letters, np.take_along_axis(gains, order, axis=1), self.earlier(letters)

    def earlier(self, letters: Indices) -> Floats:
        """Return the mass of the letters that come earlier in each row."""
        return _before(self._mass[letters])

    def greedy(self, gains: Floats, ratio: float) -> Greedy:
        """max g·λ over 0 ≤ λ ≤ ratio on the letters of each output, π·λ = 1; ``gains`` as :meth:`per_pair` gives it."""
        letters, sorted_gains, before = self._sorted(gains)
        lifts = ratio * self.filled(letters, before, ratio)
        return Greedy((lifts * sorted_gains).sum(axis=1), letters, before, lifts)

    def filled(self, letters: Indices, before: Floats, ratio: float) -> Floats:
        """The lift vectors that fill the letters in the order given up to any ratio, divided by it: at most one."""
        filled = np.clip((1.0 / ratio - before) / self._divisor[letters], 0.0, 1.0)
        return np.where(letters < self.size, filled, 0.0)

    def proven(self, y: Floats) -> float:
        """Return the ratio below which y proves that no mechanism exists, in floats; for Σ y > 0.

        For each output the least ratio at which the greedy maximum of y·λ passes zero, or at which it can be used at
        all; the least of them over the outputs.
        """
        letters, gain, before = self._sorted(self.per_pair(y))
        after = np.cumsum(gain, axis=1)
        prefix = _before(gain)
        real = letters < self.size
        # It passes zero inside the letter that takes the running sum from above zero to zero or below.
        here = real & (prefix > 0) & (after <= 0)
        density = gain / self._divisor[letters]
        with np.errstate(divide="ignore", invalid="ignore"):
            root = np.where(here, density / (density * before - prefix), np.inf).min(axis=1)
        positive = after[:, -1] > 0  # however the mass is spread over the output
        return float(np.where(positive, self.breakpoints, np.maximum(root, self.breakpoints)).min())

    def bottleneck(self, needed: Floats | None = None) -> tuple[float, int]:
        """Return max_i min_{j allowed} 1/π(A_j), a lower bound on the ratio, and the letter that gives it."""
        best = np.where(self.allowed, self.breakpoints, np.inf).min(axis=1)
        if needed is not None:
            best = np.where(needed > 0, best, 0.0)
        letter = int(best.argmax())
        return float(best[letter]), letter


def _before(values: Floats) -> Floats:
    """Running sums without the entry itself; taking it away again would cost small masses their digits."""
    sums: Floats = np.zeros(values.shape)
    np.cumsum(values[:, :-1], axis=1, out=sums[:, 1:])
    return sums
