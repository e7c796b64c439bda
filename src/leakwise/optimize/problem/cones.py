"""Privacy constraints as convex cones of columns.

A mechanism satisfies a constraint iff each of its columns lies in the cone. A cone is seen through its slice of *lift
vectors*, the columns λ with π·λ = 1, and answers: the box of each entry, the largest linear functional (with the vertex
that attains it), exact membership of an integer column, and an integer column close to a given one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from leakwise.errors import Infeasible
from leakwise.exact import Level, float_above, float_below, level
from leakwise.optimize.problem.lift_range import LiftRange
from leakwise.optimize.search.limits import Limits
from leakwise.priors import Prior
from leakwise.types import Bools, Floats

__all__ = ["Band", "Cone", "Intersection", "LDPCone", "LiftBox", "lip_cone", "pml_cone"]


# Floats end soon after; a lift is at most 1/π_i, and what is proven does not rest on it.
_MOST = 1e300

# How much smaller a cone must be for its rounded columns to be inside: much more than 2^-60, much less than matters.
_MARGIN = Fraction(1, 1 << 40)


@dataclass(frozen=True)
class Band:
    """Columns with low·s ≤ v ≤ high·s for a scale s, which is π·v if ``tied`` and any number otherwise."""

    low: float
    high: float
    tied: bool


class Cone(ABC):
    """A closed convex cone of non-negative columns over the letters of a prior of full support."""

    prior: Prior
    limits: Limits = Limits()  # those of whoever searches in it: linear programs of a cone end with them

    @abstractmethod
    def entry_box(self) -> tuple[Floats, Floats]:
        """Return the least and the largest value of each entry over the lift vectors of the cone (outer bounds)."""

    @abstractmethod
    def linear_max(self, objectives: Floats) -> tuple[Floats, Floats]:
        """max c·λ over the lift vectors, for each column c of an N×W matrix: the values and the vertices (N×W)."""

    @abstractmethod
    def contains(self, column: Sequence[int]) -> bool:
        """Return whether a column of integers is in the cone, decided exactly."""

    @abstractmethod
    def snap(self, lifts: Floats, mass: int) -> list[int]:
        """Return integers in the cone, exactly, close to ``mass`` · λ."""

    def inequalities(self) -> Floats:
        """Rows a with a·v ≤ 0 for every column v ≥ 0 of the cone, at most N² of them: for generic linear programs."""
        low, high = self.entry_box()
        p = self.prior.probabilities
        eye = np.eye(len(p))
        return np.concatenate([eye - high[:, None] * p, (low[:, None] * p - eye)[low > 0]])

    @abstractmethod
    def bands(self) -> list[Band]:
        """Return the cone as bands, all of which a column must be in: for sparse linear programs."""

    def lift_range(self) -> LiftRange | None:
        """Return the range that describes the lift vectors of the cone, where one does."""
        return None

    def slightly_smaller(self) -> Cone | None:
        """Return a cone whose columns, rounded to integers, lie in this one; None where there is none to speak of."""
        return None

    def slightly_inside(self, lifts: Floats) -> Floats | None:
        """The same vertices for a slightly smaller cone: rounded to integers they are inside this one, zeros kept.

        None where the cone does not know them, or a vertex has no counterpart.
        """
        return None

    def _mixed_into(self, lifts: Floats, mass: int) -> list[int]:
        """Fallback for :meth:`snap`: mix with the constant column, which is inside, until the integers are in."""
        share = 2.0**-44
        while share < 1:
            mixed = (1 - share) * lifts + share
            column = [int(value * mass) for value in mixed]
            if self.contains(column):
                return column
            share *= 4
        return [mass] * len(lifts)


class LiftBox(Cone):
    """All lifts between ``low`` and ``high``: ε-PML for low = 0 ([EX] Lemma 1), local information privacy above it.

    Vertices have entries low or high, but for at most one in between.
    """

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
        # The others take at least low(1-p) and at most high(1-p) of the mass 1.
        return (
            np.maximum(low, (1 - high * (1 - p)) / p),
            np.minimum(high, (1 - low * (1 - p)) / p),
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

    def contains(self, column: Sequence[int]) -> bool:
        mass = self.prior.exact_least_mass(column)
        return min(column) >= self.low * mass and max(column) <= self.high * mass

    def level(self) -> Level:
        """Return the bound on lifts as a level."""
        return level(lift=self.high)

    def bands(self) -> list[Band]:
        return [Band(self.low_float, self.high_float, True)]

    def slightly_smaller(self) -> LiftBox | None:
        if (self.high - 1) < 4 * _MARGIN or (1 - self.low) < 4 * _MARGIN:
            return None
        return LiftBox(self.prior, self.low * (1 + _MARGIN), self.high * (1 - _MARGIN))

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
            return self._mixed_into(lifts, mass)
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
        return column if self.contains(column) else self._mixed_into(lifts, mass)


def pml_cone(prior: Prior, high: Fraction) -> LiftBox:
    """Return ε-PML for a prior: max v ≤ e^ε π·v."""
    return LiftBox(prior, Fraction(0), high)


def lip_cone(prior: Prior, low: Fraction, high: Fraction) -> LiftBox:
    """Return local information privacy: both sides of the information density bounded."""
    return LiftBox(prior, low, high)


class LDPCone(Cone):
    """ε-LDP: max v ≤ t min v. Vertices have two values, t apart."""

    def __init__(self, prior: Prior, ratio: Fraction) -> None:
        self.prior = prior
        self.ratio = ratio
        self.ratio_float = float_above(ratio)

    def entry_box(self) -> tuple[Floats, Floats]:
        p, t = self.prior.probabilities, self.ratio_float
        return 1 / (t - (t - 1) * p), t / (1 + (t - 1) * p)

    def linear_max(self, objectives: Floats) -> tuple[Floats, Floats]:
        # max (c·v)/(π·v) over v in {1, t}^N is a threshold on c_i/π_i: try every threshold at once.
        p, t = self.prior.probabilities, self.ratio_float
        density = objectives / p[:, None]
        order = np.argsort(-density, axis=0, kind="stable")
        sorted_gain = np.take_along_axis(objectives, order, axis=0)
        gain = objectives.sum(axis=0) + (t - 1) * np.concatenate(
            [np.zeros((1, objectives.shape[1])), np.cumsum(sorted_gain, axis=0)]
        )
        mass = 1 + (t - 1) * np.concatenate([np.zeros((1, objectives.shape[1])), np.cumsum(p[order], axis=0)])
        ratio = gain / mass
        count = ratio.argmax(axis=0)
        raised = np.empty(objectives.shape, dtype=bool)
        np.put_along_axis(raised, order, np.arange(len(p))[:, None] < count, axis=0)
        columns = np.where(raised, t, 1.0)
        lifts = columns / (p @ columns)
        return np.sum(objectives * lifts, axis=0), lifts

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

    def slightly_smaller(self) -> LDPCone | None:
        return None if self.ratio - 1 < 4 * _MARGIN else LDPCone(self.prior, self.ratio * (1 - _MARGIN))

    def inequalities(self) -> Floats:
        size = len(self.prior)
        eye = np.eye(size)
        pairs = [eye[i] - self.ratio_float * eye[k] for i in range(size) for k in range(size) if i != k]
        return np.array(pairs).reshape(-1, size)


class Intersection(Cone):
    """Columns that are in every one of several cones over the same prior; linear functionals by linear programs."""

    def __init__(self, cones: Sequence[Cone]) -> None:
        self.prior = cones[0].prior
        self.cones = tuple(cones)

    def entry_box(self) -> tuple[Floats, Floats]:
        boxes = [cone.entry_box() for cone in self.cones]
        return np.max([low for low, _ in boxes], axis=0), np.min([high for _, high in boxes], axis=0)

    def linear_max(self, objectives: Floats) -> tuple[Floats, Floats]:
        from leakwise.lp import LinearProgram

        p = self.prior.probabilities
        rows = np.concatenate([p[None, :], self.inequalities()])
        lower = np.concatenate([[1.0], np.full(len(rows) - 1, -np.inf)])
        upper = np.concatenate([[1.0], np.zeros(len(rows) - 1)])
        low, high = self.entry_box()
        program = LinearProgram(objectives[:, 0], rows, lower, upper, low, high, maximize=True)
        values, vertices = [], []
        for objective in objectives.T:
            self.limits.check()
            program.change_costs(objective)
            solution = program.solve(self.limits.remaining)
            if not solution.optimal:
                raise self.limits.over()
            values.append(solution.objective)
            vertices.append(solution.x)
        return np.array(values), np.stack(vertices, axis=1)

    def contains(self, column: Sequence[int]) -> bool:
        return all(cone.contains(column) for cone in self.cones)

    def bands(self) -> list[Band]:
        return [band for cone in self.cones for band in cone.bands()]

    def lift_range(self) -> LiftRange | None:
        box, ldp = self.cones[0], self.cones[-1]
        if len(self.cones) == 2 and isinstance(box, LiftBox) and isinstance(ldp, LDPCone):
            return LiftRange(box.low, ((box.high, Fraction(0)), (Fraction(0), ldp.ratio)))
        return None

    def slightly_smaller(self) -> Cone | None:
        smaller = [cone.slightly_smaller() for cone in self.cones]
        inside = [cone for cone in smaller if cone is not None]
        return Intersection(inside) if len(inside) == len(smaller) else None

    def snap(self, lifts: Floats, mass: int) -> list[int]:
        return self._mixed_into(lifts, mass)

    def inequalities(self) -> Floats:
        return np.concatenate([cone.inequalities() for cone in self.cones])
