"""The cones of single constraints at a known prior: bounds on lifts (PML, LIP), and ε-LDP."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from leakwise.errors import Infeasible
from leakwise.exact import float_above, float_below, level
from leakwise.mechanism import Kernel, randomized_response
from leakwise.mechanism.catalog import same_pml_randomized_response
from leakwise.optimize.bounds.chord import knapsack
from leakwise.optimize.problem.cone import Band, Cone, Intersection
from leakwise.optimize.problem.lift_range import LiftRange
from leakwise.priors import Prior
from leakwise.types import Bools, Floats

__all__ = ["Band", "Cone", "Intersection", "LDPCone", "LiftBox", "pml_cone"]


# Floats end soon after; a lift is at most 1/π_i, and what is proven does not rest on it.
_MOST = 1e300

# How much smaller a cone must be for its rounded columns to be inside: much more than 2^-60, much less than matters.
_MARGIN = Fraction(1, 1 << 40)


class LiftBox(Cone):
    """All lifts between ``low`` and ``high``: ε-PML for low = 0 ([EX] Lemma 1), local information privacy above it.

    Vertices have entries low or high, but for at most one in between.
    """

    kind = "box"

    def __init__(self, prior: Prior, low: Fraction, high: Fraction) -> None:
        self.prior = prior
        self.low = low
        self.high = high
        if low > 1 or high < 1:
            raise Infeasible(
                f"No outcome can have all its lifts between {float(low):g} and {float(high):g}: their average is 1.",
                witness=(low, high),
            )
        self.low_float = float_below(low)
        self.high_float = min(float_above(high), _MOST)

    def entry_box(self) -> tuple[Floats, Floats]:
        p = self.prior.probabilities
        low, high = self.low_float, self.high_float
        # The others take at least low(1-p) and at most high(1-p) of the mass 1; beside nearly all of it floats leave
        # few digits of 1-p, which a large lift would magnify.
        others, heaviest = 1 - p, int(p.argmax())
        others[heaviest] = (self.prior.denominator - int(self.prior.weights[heaviest])) / self.prior.denominator
        return (
            np.maximum(low, (1 - high * others) / p),
            np.minimum(high, (1 - low * others) / p),
        )

    def linear_max(self, objectives: Floats) -> tuple[Floats, Floats]:
        # A continuous knapsack: raise letters from low to high in the order of gain per mass.
        p = self.prior.probabilities
        density = objectives / p[:, None]
        order = np.argsort(-density, axis=0, kind="stable")
        sorted_mass = p[order]
        before = np.cumsum(sorted_mass, axis=0) - sorted_mass
        span = self.high_float - self.low_float
        budget = (1 - self.low_float) / span if span > 0 else 0.0
        share = np.clip((budget - before) / sorted_mass, 0.0, 1.0)
        lifts = np.empty_like(density)
        np.put_along_axis(lifts, order, self.low_float + span * share, axis=0)
        return np.sum(objectives * lifts, axis=0), lifts

    def relaxed(
        self, costs: Floats, low: Floats | float = 0.0, high: Floats | float = np.inf
    ) -> tuple[float, Floats] | None:
        p = self.prior.probabilities
        bottom, top = np.full(len(p), self.low_float), np.full(len(p), self.high_float)
        bottom, top = np.maximum(bottom, low), np.minimum(top, high)
        if (top < bottom).any() or not float(p @ bottom) - 1e-13 <= 1 <= float(p @ top) + 1e-13:
            return None
        lifts = knapsack(costs, p, bottom, top)
        return float(costs @ lifts), lifts

    def inequalities(self) -> Floats:
        eye, p = np.eye(len(self.prior)), self.prior.probabilities
        rows = eye - self.high_float * p
        return np.concatenate([rows, self.low_float * p - eye]) if self.low else rows

    def contains(self, column: Sequence[int]) -> bool:
        mass = self.prior.exact_least_mass(column)
        return min(column) >= self.low * mass and max(column) <= self.high * mass

    def bands(self) -> list[Band]:
        return [Band(self.low_float, self.high_float, True)]

    def lift_range(self) -> LiftRange:
        return LiftRange(self.low, ((self.high, Fraction(0)),))

    def plain(self) -> Kernel | None:
        return None if self.low else same_pml_randomized_response(self.prior, level(lift=self.high)).kernel

    def slightly_smaller(self, margin: Fraction = _MARGIN) -> LiftBox | None:
        """As for every cone; columns that come very rarely need a larger ``margin`` for their roundings."""
        if (self.high - 1) < 4 * margin or (1 - self.low) < 4 * margin:
            return None
        return LiftBox(self.prior, self.low * (1 + margin), self.high * (1 - margin))

    def _between(self, lifts: Floats) -> Bools:
        """Which entries are at neither end of the box."""
        close = 1e-9 * (self.high_float - self.low_float) + 2.0**-50 * self.high_float
        inside: Bools = (lifts > self.low_float + close) & (lifts < self.high_float - close)
        return inside

    def slightly_inside(self, lifts: Floats) -> Floats | None:
        smaller = self.slightly_smaller()
        span = self.high_float - self.low_float
        between = self._between(lifts)
        if smaller is None or (between.sum(axis=0) != 1).any():
            return None
        p, free = self.prior.probabilities, between.argmax(axis=0)
        inside = np.where(lifts > self.low_float + 0.5 * span, smaller.high_float, smaller.low_float)
        places = np.arange(lifts.shape[1])
        inside[free, places] = 0.0
        inside[free, places] = (1 - p @ inside) / p[free]
        fits = (inside[free, places] > smaller.low_float) & (inside[free, places] < smaller.high_float)
        return inside if fits.all() else None

    def snap(self, lifts: Floats, mass: int) -> list[int]:
        span = self.high_float - self.low_float
        between = self._between(lifts)
        if between.sum() > 1 or span == 0:
            return super().snap(lifts, mass)
        upper = lifts > self.low_float + 0.5 * span
        # The free letter is the fractional one, or where there is none the heaviest other one.
        others = np.where(upper, -1.0, self.prior.probabilities)
        free = int(between.argmax()) if between.any() else int(others.argmax())
        one = 1 if self.low else 0  # keep a unit away from both ends, so that the free letter has room
        top = int(self.high * mass) - one
        bottom = -int(-self.low * mass // 1) + one if self.low else 0
        column = [top if here else bottom for here in upper]
        column[free] = 0
        rest = self.prior.exact_least_mass(column)
        weight = Fraction(int(self.prior.weights[free]), self.prior.denominator)
        needed = -int(-((Fraction(top) / self.high - rest) / weight) // 1)  # the least that keeps top within high·mass
        column[free] = min(max(needed, bottom, 0), top)
        return column if self.contains(column) else super().snap(lifts, mass)


def pml_cone(prior: Prior, high: Fraction) -> LiftBox:
    """Return ε-PML for a prior: max v ≤ e^ε π·v."""
    return LiftBox(prior, Fraction(0), high)


class LDPCone(Cone):
    """ε-LDP: max v ≤ t min v. Vertices have two values, t apart."""

    def __init__(self, prior: Prior, ratio: Fraction) -> None:
        self.prior = prior
        self.ratio = ratio
        self.ratio_float = float_above(ratio)

    def entry_box(self) -> tuple[Floats, Floats]:
        p, t = self.prior.probabilities, self.ratio_float
        return 1 / (t - (t - 1) * p), t / (1 + (t - 1) * p)

    def contains(self, column: Sequence[int]) -> bool:
        return max(column) <= self.ratio * min(column)

    def snap(self, lifts: Floats, mass: int) -> list[int]:
        bottom = -int(-Fraction(float(lifts.min())) * mass // 1)
        top = int(self.ratio * bottom)
        return [min(max(int(value * mass), bottom), top) for value in lifts]

    def bands(self) -> list[Band]:
        return [Band(1.0, self.ratio_float, False)]

    def lift_range(self) -> LiftRange:
        return LiftRange(Fraction(0), ((Fraction(0), self.ratio),))

    def plain(self) -> Kernel:
        return randomized_response(len(self.prior), lift=self.ratio).kernel

    def slightly_smaller(self) -> LDPCone | None:
        return None if self.ratio - 1 < 4 * _MARGIN else LDPCone(self.prior, self.ratio * (1 - _MARGIN))

    def inequalities(self) -> Floats:
        eye, ones = np.eye(len(self.prior)), np.ones((len(self.prior), 1))
        return np.block([[eye, -self.ratio_float * ones], [-eye, ones]])  # the further variable is the scale

    def facets(self) -> Floats:
        size, eye = len(self.prior), np.eye(len(self.prior))
        rows = [eye[i] - self.ratio_float * eye[k] for i, k in itertools.permutations(range(size), 2)]
        return np.array(rows).reshape(-1, size)
