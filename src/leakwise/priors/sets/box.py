"""Every probability between two bounds, and within an l1 radius besides if there is one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from leakwise.charts.table import number
from leakwise.errors import Infeasible, InvalidInput
from leakwise.exact import exact_fraction, float_above, float_below
from leakwise.priors.prior import Prior
from leakwise.priors.sets.around_estimate import Around, as_matrix, checked_radius, lowered, transport_rows
from leakwise.types import Bools, Floats, Indices

__all__ = ["Box"]


class Box(Around):
    """All priors Q with lower_i ≤ Q_i ≤ upper_i, and ‖Q - π‖₁ ≤ β where β is given.

    The least mass fills the smallest entries of a column first: from the lower bounds for the box alone; where that
    moves more than β/2 of mass, from the estimate, and β/2 exactly.

    Parameters
    ----------
    nominal
        The estimate; it must be inside.
    lower, upper
        One bound per letter, in the order of the labels.
    beta
        An l1 radius around the estimate, or None.
    failure, method
        As for every set: the probability that the true prior is outside, and the inequality it comes from.

    Examples
    --------
    >>> box = Box(Prior([0.5, 0.5]), lower=["0.4", "0.3"], upper=["0.7", "0.6"])
    >>> box.exact_least_mass([1, 0])
    Fraction(2, 5)
    """

    kind = "box"
    lower: tuple[Fraction, ...]
    upper: tuple[Fraction, ...]
    beta: Fraction | None

    def __init__(
        self,
        nominal: Prior,
        lower: Iterable[object],
        upper: Iterable[object],
        beta: object = None,
        failure: object = 0,
        method: str | None = None,
    ) -> None:
        super().__init__(nominal, failure, method)
        low = tuple(exact_fraction(value, "lower") for value in lower)
        high = tuple(exact_fraction(value, "upper") for value in upper)
        if not len(low) == len(high) == len(nominal):
            raise InvalidInput(
                f"lower and upper must have one bound per letter ({len(nominal)}). Got {len(low)} and {len(high)}."
            )
        radius = None if beta is None else checked_radius(beta)
        for label, least, most, here in zip(nominal.labels, low, high, nominal.fractions, strict=True):
            if not 0 <= least <= most <= 1:
                raise InvalidInput(
                    f"The bounds of {label!r} must satisfy 0 ≤ lower ≤ upper ≤ 1. Got {least} and {most}."
                )
            if not least <= here <= most:
                raise Infeasible(
                    f"The estimate of {label!r}, {float(here):g}, is not between its bounds {float(least):g} and "
                    f"{float(most):g}.",
                    witness=label,
                )
        self._set(lower=low, upper=high, beta=radius)

    @property
    def support(self) -> Bools:
        """The letters that some prior of the box gives mass to."""
        possible = np.array([bound > 0 for bound in self.upper])
        if self.beta == 0:
            possible &= self.nominal.support
        return possible

    @property
    def is_everything(self) -> bool:
        far = self.beta is None or self.beta / 2 >= 1 - min(self.nominal.fractions)
        return far and not any(self.lower) and all(bound == 1 for bound in self.upper)

    def least_mass(self, columns: npt.ArrayLike) -> Floats:
        values, single = as_matrix(columns, len(self))
        order = np.argsort(values, axis=0)
        v = np.take_along_axis(values, order, axis=0)
        low = np.array([float_below(bound) for bound in self.lower])
        high = np.array([float_above(bound) for bound in self.upper])
        p = self.nominal.probabilities
        width, room = (high - low)[order], 1.0 - float(low.sum())
        above = np.clip(room - (np.cumsum(width, axis=0) - width), 0.0, width)
        filled = low[order] + above
        loose = np.where(above > 0, v, 0.0).max(axis=0)
        if self.beta is not None:
            c = float(self.beta) / 2
            here = p[order]
            far = np.maximum(here - filled, 0.0).sum(axis=0) > c
            up = (high - p)[order]
            added = np.clip(c - (np.cumsum(up, axis=0) - up), 0.0, up)
            down = (p - low)[order]
            # From the largest entry downwards: what the larger ones have given already is summed from the far end.
            given = np.cumsum(down[::-1], axis=0)[::-1] - down
            taken = np.clip(c - given, 0.0, down)
            filled = np.where(far, here + added - taken, filled)
            loose = np.where(far, np.where((taken > 0) | (added > 0), v, 0.0).max(axis=0), loose)
        total = np.einsum("ij,ij->j", np.maximum(filled, 0.0), v)
        least = lowered(total, 2 * loose, len(self))
        return least[0] if single else least

    def exact_least_mass(self, column: Sequence[int]) -> Fraction:
        values = [int(value) for value in column]
        rising = sorted(range(len(values)), key=values.__getitem__)
        masses = self.least_member(rising)
        return sum((mass * value for mass, value in zip(masses, values, strict=True)), Fraction(0))

    def least_member(self, rising: Sequence[int]) -> tuple[Fraction, ...]:
        """The masses of the prior that gives a column the least mass, for the letters in the order of its entries."""
        filled = list(self.lower)
        room = 1 - sum(self.lower, Fraction(0))
        for place in rising:
            added = min(room, self.upper[place] - self.lower[place])
            filled[place] += added
            room -= added
        nominal = self.nominal.fractions
        moved = sum((max(here - there, Fraction(0)) for here, there in zip(nominal, filled, strict=True)), Fraction(0))
        if self.beta is not None and moved > self.beta / 2:
            filled = list(nominal)
            for places, bounds, sign in ((rising, self.upper, 1), (rising[::-1], self.lower, -1)):
                room = self.beta / 2
                for place in places:
                    step = min(room, abs(bounds[place] - nominal[place]))
                    filled[place] += sign * step
                    room -= step
        return tuple(filled)

    def exact_worst_member(self, column: Floats) -> tuple[Fraction, ...]:
        return self.least_member(np.argsort(column, kind="stable").tolist())

    def scale_rows(self) -> Floats:
        low, high = (np.array([float(bound) for bound in side]) for side in (self.lower, self.upper))
        moved = 1.0 if self.beta is None else min(float(self.beta) / 2, 1.0)
        return transport_rows(self.nominal.probabilities, low, high, moved)

    def reordered(self, order: Indices) -> Box:
        return Box(
            self.nominal.reordered(order),
            [self.lower[place] for place in order],
            [self.upper[place] for place in order],
            self.beta,
            self.exact_failure,
            self.method,
        )

    def _key(self) -> tuple[object, ...]:
        return (self.lower, self.upper, self.beta)

    def _size(self) -> list[tuple[str, str]]:
        widest = max(high - low for low, high in zip(self.lower, self.upper, strict=True))
        rows = [("widest interval", number(float(widest)))]
        return rows if self.beta is None else [*rows, ("radius β (l1)", number(float(self.beta)))]
