"""Limits of single values as the checker sees them: a range for each lift, and sums of lifts that have a largest value.

At the nominal prior of a set, where that is one of the set, they hold as well: a range there is never too narrow.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from leakwise.alphabet import Alphabet
from leakwise.exact import float_above, float_below
from leakwise.priors import PriorSet
from leakwise.proof.limits import AskedLimits
from leakwise.proof.optimality.members import nominal_inside
from leakwise.types import Floats

__all__ = ["ValueBox", "value_box"]


@dataclass(frozen=True)
class ValueBox:
    """Lifts of the values with mass: low ≤ λ ≤ high, and a·λ ≤ c for each pair (a, c), rounded outwards."""

    low: Floats
    high: Floats
    sums: tuple[tuple[Floats, float], ...]

    def narrowed(self, floor: Floats, ceiling: Floats) -> tuple[Floats, Floats]:
        """Return a range of lifts without what these limits exclude."""
        low = np.maximum(floor, self.low)
        return low, np.maximum(low, np.minimum(ceiling, self.high))


def value_box(limits: AskedLimits | None, priors: PriorSet, letters: Alphabet) -> ValueBox | None:
    """Return what the limits of single values say at the nominal prior; None where there are none, or it is outside."""
    if limits is None or not limits.by_value or not nominal_inside(priors):
        return None
    masses, index = priors.nominal.fractions, letters.index
    low, high = [Fraction(0)] * len(masses), [1 / mass if mass else Fraction(0) for mass in masses]
    sums = []
    for label, most in limits.lift_of:
        high[index[label]] = min(high[index[label]], most.above)
    for label, least in limits.floor:
        low[index[label]] = max(low[index[label]], least)
    here = priors.support
    for values, ceiling in limits.ceiling:
        inside = [index[label] for label in values if masses[index[label]]]
        for place in inside:
            high[place] = min(high[place], ceiling / masses[place])
        row = np.zeros(len(masses))
        row[inside] = [float_below(masses[place]) for place in inside]
        sums.append((row[here], float_above(ceiling)))
    floats = np.array([float_below(one) for one in low]), np.array([float_above(one) for one in high])
    return ValueBox(floats[0][here], floats[1][here], tuple(sums))
