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

        λ = 1 + k(1_S - s) with k = min_j (α_j + β_j - 1)/(1 - s + β_j s).
        """
        k = np.full(len(s), np.inf)
        for alpha, beta in self.pieces:
            below = rest + float(beta) * s
            k = np.minimum(k, np.divide(float(alpha + beta - 1), below, out=np.full(len(s), np.inf), where=below > 0))
        k = np.where(np.isfinite(k), k, 0.0)
        low = 1 - k * s
        return low, 1 + k * rest, (k > 0) & (low >= float(self.low)) & (s >= float(self.least))
