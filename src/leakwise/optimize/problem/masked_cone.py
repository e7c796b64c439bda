"""The cone of one output of a mask: ε-PML, and zero for every letter that the output is forbidden for."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from leakwise.exact import float_above
from leakwise.optimize.problem.cone import Cone
from leakwise.priors import Prior
from leakwise.types import Bools, Floats

__all__ = ["MaskedCone"]


class MaskedCone(Cone):
    """Columns v with max v ≤ e^ε π·v and v_i = 0 off the allowed letters."""

    def __init__(self, prior: Prior, high: Fraction, allowed: Bools) -> None:
        self.prior, self.high = prior, high
        self.allowed = np.asarray(allowed, dtype=np.bool_)

    def contains(self, column: Sequence[int]) -> bool:
        if any(value for value, here in zip(column, self.allowed, strict=True) if not here):
            return False
        return max(column) <= self.high * self.prior.exact_least_mass(column)

    def inequalities(self) -> Floats:
        eye = np.eye(len(self.allowed))
        return np.where(self.allowed[:, None], eye - float_above(self.high) * self.prior.probabilities, eye)
