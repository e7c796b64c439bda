"""Lifts in a range [a, top(a)]: what LDP, LDP with a bound on lifts, and a small l1 ball have in common."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from leakwise.types import Bools, Floats

__all__ = ["LiftRange"]


@dataclass(frozen=True)
class LiftRange:
    """Lifts in [a, min_j α_j + β_j a] with a ≥ low, exact; two-valued columns raise a mass of at least ``least``."""

    low: Fraction
    pieces: tuple[tuple[Fraction, Fraction], ...]
    least: Fraction = Fraction(0)

    def top(self, a: Fraction) -> Fraction:
        """Return the largest lift beside a least one of a."""
        return min(alpha + beta * a for alpha, beta in self.pieces)

    def boxes(self) -> list[tuple[Fraction, Fraction]]:
        """Return the boxes [a, top(a)] whose vertices may have a letter between."""
        starts = {self.low}
        for (alpha, beta), (other, slope) in itertools.combinations(self.pieces, 2):
            if beta != slope and self.low < (cross := (other - alpha) / (beta - slope)) < 1:
                starts.add(cross)
        return [(a, self.top(a)) for a in sorted(starts) if self.top(a) > 1 and a < 1]

    def levels(self, s: Floats, rest: Floats) -> tuple[Floats, Floats, Bools]:
        """Return the two values on a set of mass s and off it, and whether there is such a column.

        The one off it is (1 - αs)/(1 - s + βs) for the tightest piece; written so that nothing cancels for α = 0.
        """
        low = np.full(s.shape, -np.inf)
        for alpha, beta in self.pieces:
            below = rest + float(beta) * s
            off = np.divide(rest + s - float(alpha) * s, below, out=np.full(s.shape, -np.inf), where=below > 0)
            low = np.maximum(low, off)
        # Where a set is so rare that raising it leaves the others at 1 in floats, it is raised all the same.
        real = (low >= float(self.low)) & (low <= 1 + 2.0**-50) & (s >= float(self.least))
        low = np.where(real, np.minimum(low, 1.0), 1.0)
        high: Floats = np.min([float(alpha) + float(beta) * low for alpha, beta in self.pieces], axis=0)
        return low, high, real

    def linear_max(self, objectives: Floats, p: Floats) -> tuple[Floats, Floats]:
        """Return max c·λ over the lift vectors of the range for each column c, and the vertices: without a program.

        A vertex has two values, and then the best one raises the letters of largest c/π; or it is in one of the boxes,
        where the same order fills a knapsack. Every threshold is tried at once.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            density = np.where(p[:, None] > 0, objectives / p[:, None], np.copysign(np.inf, objectives))
        order = np.argsort(-density, axis=0, kind="stable")
        mass, gains = p[order], np.take_along_axis(objectives, order, axis=0)
        raised, total = np.cumsum(gains, axis=0)[:-1], objectives.sum(axis=0)
        s = np.cumsum(mass, axis=0)[:-1]
        rest = np.cumsum(mass[::-1], axis=0)[::-1][1:]
        low, high, real = self.levels(s, rest)
        worth = np.where(real, low * (total - raised) + high * raised, -np.inf)
        places = np.arange(objectives.shape[1])
        best = worth.argmax(axis=0) if len(worth) else np.zeros(len(places), dtype=np.intp)
        value, sorted_lifts = total.copy(), np.ones(objectives.shape)
        if len(worth):
            two = np.where(np.arange(len(p))[:, None] <= best, high[best, places], low[best, places])
            better = worth[best, places] > value
            sorted_lifts, value = np.where(better, two, sorted_lifts), np.where(better, worth[best, places], value)
        before = np.cumsum(mass, axis=0) - mass
        for bottom, top in ((float(a), float(b)) for a, b in self.boxes()):
            budget = (1 - bottom) / (top - bottom)
            share = np.divide(budget - before, mass, out=np.where(before < budget, 1.0, 0.0), where=mass > 0)
            filled = bottom + (top - bottom) * np.clip(share, 0.0, 1.0)
            here = np.sum(gains * filled, axis=0)
            sorted_lifts, value = np.where(here > value, filled, sorted_lifts), np.maximum(value, here)
        lifts = np.empty(objectives.shape)
        np.put_along_axis(lifts, order, sorted_lifts, axis=0)
        return np.sum(objectives * lifts, axis=0), lifts
