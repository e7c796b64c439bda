"""An envelope (ε, δ) as a cone: columns that pay for what post-processing could make of them.

With t = e^ε a mechanism keeps the envelope iff numbers w_x ≥ 0 and, for each outcome, s ≥ 0 exist with Σ_y s_y ≤ δ and
p_xy ≤ t q_y - w_x (q_y - s_y) for every letter x: the dual vector of the envelope is v_x = 1/w_x, and w_x = 0 is a
letter that no outcome raises above t (the right limit). For fixed w that is a cone of columns with their payment s/δ.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from leakwise.exact import float_above, float_below
from leakwise.optimize.problem.cones import Cone
from leakwise.optimize.totals.cone import TotalCone
from leakwise.types import Floats

__all__ = ["EnvelopeTotal"]


class EnvelopeTotal(TotalCone):
    """Columns that, with what they pay, prove the envelope by the weights w."""

    def __init__(self, inner: Cone, ratio: Fraction, delta: Fraction, weights: Sequence[Fraction]) -> None:
        super().__init__(inner)
        self.ratio, self.delta, self.weights = ratio, delta, tuple(weights)
        slopes = np.array([float(weight) for weight in self.weights])
        lifts, used = inner.entry_box()[1], slopes > 0
        # No column needs to pay more than this one.
        needed = 1 + (lifts[used] - float_below(ratio)) / slopes[used]
        self.most = max(float(needed.max(initial=0.0)), 1.0) * (1 + 2.0**-40)

    @property
    def dual(self) -> tuple[Fraction, ...]:
        """The dual vector of the envelope; 0 for letters that are not raised above the limit."""
        return tuple(1 / weight if weight else Fraction(0) for weight in self.weights)

    def paid(self, column: Sequence[int]) -> bool:
        mass = self.letters.exact_least_mass(column[:-1])
        sure = mass - self.delta * column[-1]
        pairs = zip(column[:-1], self.weights, strict=True)
        return all(value + weight * sure <= self.ratio * mass for value, weight in pairs)

    def payments(self) -> Floats:
        p, size = self.letters.probabilities, len(self.letters)
        slopes = np.array([float(weight) for weight in self.weights])
        rows = np.eye(size) + (slopes - float_above(self.ratio))[:, None] * p
        rows = np.concatenate([rows, -slopes[:, None] * float_above(self.delta)], axis=1)
        highest = np.append(-self.most * p, float_above(self.delta))
        return np.concatenate([rows, highest[None, :]])

    def entry_box(self) -> tuple[Floats, Floats]:
        low, high = self.inner.entry_box()
        return np.append(low, 0.0), np.append(high, self.most / float_below(self.delta))
