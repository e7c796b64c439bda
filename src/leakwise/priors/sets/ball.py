"""The l1 ball around an estimate, cut by the simplex, of any radius ([ED] (5) and, beyond 2π_min, the mathematics)."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from leakwise.charts.table import number
from leakwise.priors.prior import Prior
from leakwise.priors.sets.around_estimate import Around, as_matrix, checked_radius, descending, lowered, transport_rows
from leakwise.types import Bools, Floats, Indices

__all__ = ["Ball"]


class Ball(Around):
    """All priors Q with ‖Q - π‖₁ ≤ β.

    The least mass of a column moves β/2 of mass from its largest entries, as far as their prior mass allows, onto its
    smallest one:  min Q·v = π·v - T(v) + (β/2) min v, with T(v) the sum of v over the top β/2 of prior mass. Exact
    at every radius; [ED] needs β < 2π_min. From radius 2 on (and often before) every prior is inside.

    Parameters
    ----------
    nominal
        The centre π.
    beta
        The radius in l1 distance, twice the total variation.
    failure
        The probability that the true prior is outside.
    method
        The inequality the radius comes from.

    Examples
    --------
    >>> ball = Ball(Prior(["0.5", "0.3", "0.2"]), beta="0.2")
    >>> ball.exact_least_mass([4, 0, 2])
    Fraction(2, 1)
    """

    kind = "l1 ball"
    beta: Fraction

    def __init__(self, nominal: Prior, beta: object, failure: object = 0, method: str | None = None) -> None:
        super().__init__(nominal, failure, method)
        self._set(beta=checked_radius(beta))

    @property
    def moved(self) -> Fraction:
        """How much mass a prior of the set may move, β/2, at most all of it."""
        return min(self.beta / 2, Fraction(1))

    @property
    def is_everything(self) -> bool:
        # The point mass on letter i is at distance 2(1 - π_i).
        return self.moved >= 1 - min(self.nominal.fractions)

    @property
    def support(self) -> Bools:
        return super().support if self.beta else self.nominal.support

    def least_mass(self, columns: npt.ArrayLike) -> Floats:
        values, single = as_matrix(columns, len(self))
        if not self.beta:
            return self.nominal.least_mass(columns)
        c = float(self.moved)
        order = np.argsort(-values, axis=0)
        sorted_values = np.take_along_axis(values, order, axis=0)
        p = self.nominal.probabilities[order]
        kept = np.clip(np.cumsum(p, axis=0) - c, 0.0, p)
        total = np.einsum("ij,ij->j", kept, sorted_values) + c * sorted_values[-1]
        loose = np.where(kept > 0, sorted_values, 0.0).max(axis=0)
        # Misplaced mass counts with the largest value it may belong to; below all kept mass that is the smallest entry.
        least = lowered(total, np.maximum(loose, sorted_values[-1]), len(self))
        return least[0] if single else least

    def exact_least_mass(self, column: Sequence[int]) -> Fraction:
        values = [int(value) for value in column]
        weights, total = self.nominal.weights.tolist(), self.nominal.denominator
        # In integers: masses over total·q, with c = p/q.
        c = self.moved
        to_move, unit = c.numerator * total, c.denominator
        mass = to_move * min(values)
        for place in descending(values):
            here = weights[place] * unit
            taken = min(here, to_move)
            to_move -= taken
            mass += (here - taken) * values[place]
        return Fraction(mass, total * unit)

    def exact_worst_member(self, column: Floats) -> tuple[Fraction, ...]:
        masses, room = list(self.nominal.fractions), self.moved
        for place in np.argsort(-column, kind="stable").tolist():
            taken = min(room, masses[place])
            masses[place] -= taken
            room -= taken
        masses[int(column.argmin())] += self.moved
        return tuple(masses)

    def scale_rows(self) -> Floats:
        size = len(self)
        return transport_rows(self.nominal.probabilities, np.zeros(size), np.ones(size), float(self.moved))

    def reordered(self, order: Indices) -> Ball:
        return Ball(self.nominal.reordered(order), self.beta, self.exact_failure, self.method)

    def _key(self) -> tuple[object, ...]:
        return (self.beta,)

    def _size(self) -> list[tuple[str, str]]:
        return [("radius β (l1)", number(float(self.beta)))]
