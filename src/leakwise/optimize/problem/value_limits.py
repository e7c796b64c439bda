"""The cone of limits that single values have: a largest lift, a ceiling on the posterior of values, a least lift."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import cached_property

import numpy as np

from leakwise.errors import Infeasible
from leakwise.exact import float_above, float_below
from leakwise.optimize.problem.cone import Cone, Lifts
from leakwise.priors import Prior, PriorSet
from leakwise.proof import AskedLimits
from leakwise.types import Floats

__all__ = ["RobustValueLimits", "ValueLimits"]

# How much stricter limits must be for rounded columns to keep these: much more than 2^-60, much less than matters.
_MARGIN = Fraction(1, 1 << 40)
_CLOSE = 1e-9  # what linear programs are trusted with


class ValueLimits(Cone):
    """Columns with b_i π·v ≤ v_i ≤ t_i π·v, and Σ_{i∈A} π_i v_i ≤ c π·v for sets A of values.

    A ceiling c on a single value is a largest lift c/π_i.
    """

    def __init__(self, prior: Prior, asked: AskedLimits) -> None:
        place, masses = prior.alphabet.index, prior.fractions
        # No lift exceeds 1/π_i anyhow.
        tops, floors = [1 / mass for mass in masses], [Fraction(0)] * len(prior)
        sets = list[tuple[frozenset[int], Fraction]]()
        for label, most in asked.lift_of:
            if label in place:
                tops[place[label]] = min(tops[place[label]], most.below)
        for values, share in asked.ceiling:
            inside = frozenset(place[label] for label in values if label in place)
            if len(inside) == 1:
                (one,) = inside
                tops[one] = min(tops[one], share / masses[one])
            elif inside:
                sets.append((inside, share))
        for label, least in asked.floor:
            if label in place:
                floors[place[label]] = max(floors[place[label]], least)
        self._set(prior, tops, floors, sets)
        if self.slightly_smaller() is None:
            raise Infeasible(
                "A limit that no outcome may tell anything at all about a value (lift_of or floor of exactly 1, a "
                "ceiling at the prior) leaves only the constant release: integers over a power of two are that exact "
                "only if they say nothing. Allow a little, such as lift_of 1.001.",
                witness=asked.describe(),
            )

    def _set(
        self,
        prior: Prior,
        tops: Sequence[Fraction],
        floors: Sequence[Fraction],
        sets: Iterable[tuple[frozenset[int], Fraction]],
    ) -> None:
        self.prior, self.tops, self.floors, self.sets = prior, list(tops), list(floors), list(sets)
        self.top_floats = np.array([float_above(top) for top in self.tops])
        self.floor_floats = np.array([float_below(floor) for floor in self.floors])

    def contains(self, column: Sequence[int]) -> bool:
        mass = self.prior.exact_least_mass(column)
        limits = zip(column, self.floors, self.tops, strict=True)
        if not all(floor * mass <= value <= top * mass for value, floor, top in limits):
            return False
        shares = self.prior.fractions
        return all(sum(shares[i] * column[i] for i in inside) <= most * mass for inside, most in self.sets)

    def entry_box(self) -> tuple[Floats, Floats]:
        p, low, high = self.prior.probabilities, self.floor_floats, self.top_floats
        # The others take at least their floors and at most their tops of the mass 1.
        least, most = float(p @ low), float(p @ high)
        low = np.maximum(low, (1 - (most - p * high)) / p - 1e-12)
        return np.maximum(low, 0.0), np.minimum(high, (1 - (least - p * self.floor_floats)) / p + 1e-12)

    def inequalities(self) -> Floats:
        p, eye = self.prior.probabilities, np.eye(len(self.prior))
        rows = [eye - self.top_floats[:, None] * p, self.floor_floats[:, None] * p - eye]
        for inside, most in self.sets:
            members = np.isin(np.arange(len(p)), list(inside))
            rows.append(np.where(members, p, 0.0)[None, :] - float_above(most) * p[None, :])
        return np.concatenate(rows)

    def lifts(self) -> Lifts:
        p = self.prior.probabilities
        sums = [
            (np.where(np.isin(np.arange(len(p)), list(inside)), p, 0.0), float_above(most))
            for inside, most in self.sets
        ]
        # A value without a limit of its own may have the lift 1/π_i, and no margin is to be kept from that.
        free = [top * mass >= 1 for top, mass in zip(self.tops, self.prior.fractions, strict=True)]
        return Lifts([], self.floor_floats, np.where(free, np.inf, self.top_floats), sums)

    def slightly_smaller(self) -> ValueLimits | None:
        masses = self.prior.fractions
        tops = [top * (1 - _MARGIN) if top * mass < 1 else top for top, mass in zip(self.tops, masses, strict=True)]
        floors = [floor * (1 + _MARGIN) for floor in self.floors]
        sets = [(inside, most * (1 - _MARGIN)) for inside, most in self.sets]
        room = [top - 1 for top in tops] + [1 - floor for floor in floors]
        room += [most - sum(masses[i] for i in inside) for inside, most in sets]
        if min(room) < 4 * _MARGIN:
            return None
        smaller = ValueLimits.__new__(ValueLimits)
        smaller._set(self.prior, tops, floors, sets)
        return smaller


class RobustValueLimits(Cone):
    """The same limits for every prior of a convex set, cut out by the worst members of the set.

    v_i ≤ t_i min_Q Q·v, v_i ≥ b_i max_Q Q·v, and Σ_{i∈A} Q_i v_i ≤ c Q·v for every Q.
    """

    def __init__(self, priors: PriorSet, asked: AskedLimits) -> None:
        self.priors, self.prior = priors, priors.nominal
        place = priors.alphabet.index
        self.tops = [(place[label], most.below) for label, most in asked.lift_of]
        self.floors = [(place[label], least) for label, least in asked.floor]
        self.sets = [([place[label] for label in values], most) for values, most in asked.ceiling]

    def inequalities(self) -> Floats:
        return self._rows(np.ones(len(self.prior)))

    def cut(self, column: Floats) -> Floats | None:
        rows = self._rows(column)
        broken = rows @ column > _CLOSE * float(column.max())
        return rows[broken] if broken.any() else None

    @cached_property
    def _facets(self) -> Floats | None:
        # Sets without corners would be cut for ever.
        return None if self.priors.scale_rows() is None else self._cut_out(self.inequalities(), self.cut)

    def _rows(self, column: Floats) -> Floats:
        """One row for each limit, at the prior of the set that is worst for it."""
        eye = np.eye(len(column))
        least, most = self.priors.worst_member(column), self.priors.worst_member(float(column.max()) - column)
        rows = [eye[i] - float_above(top) * least for i, top in self.tops]
        rows += [float_below(floor) * most - eye[i] for i, floor in self.floors]
        for inside, share in self.sets:
            weights = float_above(share) - np.isin(np.arange(len(column)), inside)
            room = weights * column
            rows.append(-weights * self.priors.worst_member(room - room.min()))
        return np.array(rows)

    def contains(self, column: Sequence[int]) -> bool:
        largest = max(column)
        least = self.priors.exact_least_mass(column)
        if any(column[i] > top * least for i, top in self.tops):
            return False
        most = largest - self.priors.exact_least_mass([largest - value for value in column])
        return not any(column[i] < floor * most for i, floor in self.floors) and all(
            self._below(column, inside, share) for inside, share in self.sets
        )

    def _below(self, column: Sequence[int], inside: list[int], share: Fraction) -> bool:
        up, down = share.numerator, share.denominator
        room = [value * (up - down * (place in inside)) for place, value in enumerate(column)]
        lowest = min(room)
        return lowest + self.priors.exact_least_mass([value - lowest for value in room]) >= 0
