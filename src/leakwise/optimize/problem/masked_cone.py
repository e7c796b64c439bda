"""The cone of one output of a mask: ε-PML, and zero for every letter that the output is forbidden for."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from leakwise.exact import float_above, float_below
from leakwise.optimize.problem.cones import Band, Cone, LiftBox
from leakwise.priors import Prior
from leakwise.types import Bools, Floats

__all__ = ["MaskedCone"]


class MaskedCone(Cone):
    """Columns v with max v ≤ e^ε π·v and v_i = 0 off the allowed letters.

    On the allowed letters, of mass s, it is the ε-PML cone of their own conditional prior with e^ε·s in place of e^ε,
    its lifts divided by s.
    """

    def __init__(self, prior: Prior, high: Fraction, allowed: Bools) -> None:
        self.prior = prior
        self.allowed = np.asarray(allowed, dtype=np.bool_)
        self._letters = np.flatnonzero(self.allowed)
        self.mass = Fraction(sum(int(prior.weights[letter]) for letter in self._letters), prior.denominator)
        self._share = float_below(self.mass)
        self.high = high
        self.inner = LiftBox(prior.reordered(self._letters), Fraction(0), high * self.mass)

    def _spread(self, values: Floats) -> Floats:
        full = np.zeros((len(self.allowed), *values.shape[1:]))
        full[self._letters] = values
        return full

    def entry_box(self) -> tuple[Floats, Floats]:
        low, high = self.inner.entry_box()
        return self._spread(low / self._share), self._spread(high / self._share)

    def linear_max(self, objectives: Floats) -> tuple[Floats, Floats]:
        values, lifts = self.inner.linear_max(objectives[self._letters])
        return values / self._share, self._spread(lifts / self._share)

    def contains(self, column: Sequence[int]) -> bool:
        if any(value for value, here in zip(column, self.allowed, strict=True) if not here):
            return False
        return self.inner.contains([column[int(letter)] for letter in self._letters])

    def inequalities(self) -> Floats:
        eye = np.eye(len(self.allowed))
        return np.where(self.allowed[:, None], eye - float_above(self.high) * self.prior.probabilities, eye)

    def bands(self) -> list[Band]:
        # The leakage only: the zeros of the mask are beside it, letter by letter, in entry_box.
        return [Band(0.0, float_above(self.high), tied=True)]

    def slightly_inside(self, lifts: Floats) -> Floats | None:
        inside = self.inner.slightly_inside(lifts[self._letters] * self._share)
        return None if inside is None else self._spread(inside / self._share)

    def snap(self, lifts: Floats, mass: int) -> list[int]:
        snapped = self.inner.snap(lifts[self._letters] * self._share, int(mass / self.mass))
        column = [0] * len(self.allowed)
        for letter, value in zip(self._letters.tolist(), snapped, strict=True):
            column[letter] = value
        return column
