"""What a utility answers: what columns are worth, what integers are surely worth, what its outputs are called.

U(P) = Σ_j μ(p_j) = Σ_j q_j μ(λ_j), with q the output law and λ_j the lift of outcome j: a convex function of the lift
vector, so that the best columns are extreme rays of the privacy cone. A utility of your own is a subclass with
``columns_worth``; everything else has a default that holds for every convex μ.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import numpy as np

from leakwise.alphabet import Alphabet
from leakwise.errors import InvalidInput
from leakwise.mechanism import CommonLawKernel, Kernel
from leakwise.mechanism.catalog import BITS
from leakwise.priors import Prior, PriorSet
from leakwise.proof import OptimalityClaim
from leakwise.types import Floats, Indices

__all__ = ["Utility", "seen", "summed", "with_mass"]

_STEP = 1e-6
_MOST_SOLVED = 300
_TRIALS = 64
_CORNERS = 9  # up to so many letters boxes have few enough corners to look at them all


def seen(kernel: Kernel, prior: Prior) -> tuple[Floats, Floats]:
    """Return the lift vectors of the outcomes that can occur (N×M) and their probabilities."""
    law = kernel.output_law_floats(prior.weights, prior.denominator)
    here = law > 0
    return kernel.matrix[:, here] / law[here], law[here]


def with_mass(prior: Prior) -> Prior:
    """Return the prior over its letters with mass."""
    return prior if prior.support.all() else prior.reordered(np.flatnonzero(prior.support))


def summed(terms: Floats) -> tuple[float, float]:
    """Return the sum of many terms of at least zero in total, each accurate to some units, rounded down and up."""
    value, size = math.fsum(terms), math.fsum(np.abs(terms))
    slack = (size + 2.0) * 256 * 2.0**-53
    return max(value - slack, 0.0), value + slack


def _corners(low: Floats, high: Floats, p: Floats) -> Floats:
    """The corners of a box of lift vectors: all but one entry at an end (N×C)."""
    ends = np.where(np.arange(1 << len(p)) >> np.arange(len(p))[:, None] & 1, high[:, None], low[:, None])
    free = ends + (1 - p @ ends) / p[:, None]
    close = 1e-12 * (1 + np.abs(high))[:, None]
    letters, columns = np.nonzero((free >= low[:, None] - close) & (free <= high[:, None] + close))
    corners: Floats = ends[:, columns]
    corners[letters, np.arange(len(letters))] = np.maximum(free[letters, columns], 0.0)
    return corners


class Utility(ABC):
    """A utility of mechanisms that extreme rays maximise: Σ_j q_j μ(λ_j) for a convex μ.

    Attributes
    ----------
    name
        What to call it in results.
    kind
        The key of the table of searches; ``"convex"`` for a utility of your own.
    separable
        Whether μ is a sum of functions of one lift each: its chords on a box are then tighter.
    symmetric
        Whether it treats letters of equal mass alike, as the closed form for uniform priors needs.
    labelled
        Whether its outputs have labels of their own, so that outcomes which say the same are added up.
    said
        Whether an outcome is worth what it says, not what is read from it.
    structured
        Whether what a common law plus a diagonal is worth needs no matrix, so that there may be any number of letters.
    least
        What no mechanism is below.

    Examples
    --------
    >>> class Largest(Utility):  # how much more likely the most raised letter becomes, on average
    ...     name = "largest"
    ...
    ...     def columns_worth(self, lifts, prior):
    ...         return lifts.max(axis=0)
    >>> Largest().value(np.array([[1.5, 0.5], [0.5, 1.5]]), np.array([0.5, 0.5]), Prior([0.5, 0.5]))
    1.5
    """

    name: str = "utility"
    kind: str = "convex"
    separable: bool = False
    symmetric: bool = False
    labelled: bool = False
    said: bool = False
    structured: bool = False
    least: float = -np.inf

    @abstractmethod
    def columns_worth(self, lifts: Floats, prior: Prior) -> Floats:
        """Return μ of each lift vector (N×R): convex, finite for all lifts of at least zero."""

    def slopes(self, lifts: Floats, prior: Prior) -> Floats:
        """Return a subgradient of μ at each lift vector (N×R)."""
        slopes = np.empty_like(lifts)
        for letter, row in enumerate(lifts):
            above, below = lifts.copy(), lifts.copy()
            above[letter], below[letter] = row + _STEP, np.maximum(row - _STEP, 0.0)
            rise = self.columns_worth(above, prior) - self.columns_worth(below, prior)
            slopes[letter] = rise / (above[letter] - below[letter])
        return slopes

    def chord(self, low: Floats, high: Floats, prior: Prior) -> tuple[Floats, float]:
        """Return slopes and a constant of an affine function that is nowhere below μ on a box of lift vectors."""
        p = prior.probabilities
        if self.separable:
            corners = np.where(np.eye(len(p), dtype=bool), high[:, None], low[:, None])
            at_low = float(self.columns_worth(low[:, None], prior)[0])
            rise, width = self.columns_worth(corners, prior) - at_low, high - low
            slopes = np.divide(rise, width, out=np.zeros(len(p)), where=width > 0)
            return slopes, at_low - float(slopes @ low)
        if len(p) <= _CORNERS and (corners := _corners(low, high, p)).shape[1]:
            # A function above μ at the corners of the box, which are lift vectors, is above it everywhere between.
            worth = self.columns_worth(corners, prior)
            slopes = np.linalg.lstsq(corners.T, worth, rcond=None)[0].astype(np.float64)
            return slopes, float((worth - slopes @ corners).max())
        # Lift vectors above ``low`` are averages of the corners of a simplex.
        room = 1 - float(p @ low)
        if room < 1e-14:
            return np.zeros(len(p)), float(self.columns_worth(low[:, None], prior)[0])
        worth = self.columns_worth(low[:, None] + np.diag(room / p), prior)
        middle = float(p @ worth)
        slopes = p * (worth - middle) / room
        return slopes, middle - float(slopes @ low)

    def chord_gaps(self, low: Floats, high: Floats, point: Floats, prior: Prior) -> Floats:
        """Return for each letter how far the chord along it is above μ at a point: where a box is best cut."""
        size, width = len(low), high - low
        share = np.divide(point - low, width, out=np.zeros_like(width), where=width > 0)
        ends = [np.where(np.eye(size, dtype=bool), end[:, None], point[:, None]) for end in (low, high)]
        worth = self.columns_worth(np.concatenate([point[:, None], *ends], axis=1), prior)
        gaps: Floats = (1 - share) * worth[1 : 1 + size] + share * worth[1 + size :] - worth[0]
        return gaps

    def worth_said(self, lifts: Floats, says: Indices, prior: Prior) -> Floats:
        """Return what lift vectors are worth that say something: the same, where it is read from the outcome."""
        return self.columns_worth(lifts, prior)

    def value(self, lifts: Floats, law: Floats, prior: Prior) -> float:
        """Return U of the mechanism with these lifts (N×M) and this output law."""
        return float(law @ self.columns_worth(lifts, prior))

    def interval(self, kernel: Kernel, prior: Prior, says: Indices | None = None) -> tuple[float, float]:
        """Return U(P) rounded down and rounded up; ``says`` are the outputs, for utilities of what is said."""
        lifts, law = seen(kernel, prior)
        value = self.value(lifts, law, prior)
        # Lifts and masses are accurate to N units.
        units = (kernel.shape[0] + 24) * 2.0**-52
        slack = 2 * self._moved(lifts, law, prior, units) + abs(value) * units
        return max(value - slack, self.least), value + slack

    def _moved(self, lifts: Floats, law: Floats, prior: Prior, units: float) -> float:
        """How far U may move with lifts that are off by so many units of themselves."""
        moved = (np.abs(self.slopes(lifts, prior)) * lifts).sum(axis=0) + np.abs(self.columns_worth(lifts, prior))
        return units * (2 + float(law @ moved))

    def most(self, prior: Prior) -> float:
        """Return what the release of the secret itself is worth, rounded up: no mechanism beats it."""
        return self.interval(CommonLawKernel(np.zeros(len(prior), dtype=np.int64), 1 << BITS), prior)[1]

    def says(self, prior: Prior) -> Alphabet:
        """Return the labels of what outputs say; the letters themselves, unless the utility has others."""
        return prior.alphabet

    def best_constant(self, prior: Prior) -> Indices | None:
        """Return what the best constant answer says; None where outcomes say nothing."""
        return None

    def on_support(self, prior: Prior) -> Utility:
        """Return the utility on the letters with mass: for utilities that hold something for each letter."""
        return self

    def restricted(self, prior: Prior) -> Utility:
        """Return the utility on the letters with mass; a user's own is refused where it is not what it must be."""
        there = self.on_support(prior)
        if self.kind != "convex":
            return there
        try:
            return there.checked(with_mass(prior))
        except InvalidInput:
            raise
        except (ValueError, IndexError) as error:
            if prior.support.all():
                raise
            raise InvalidInput(
                f"The utility {self.name!r} does not fit the {int(prior.support.sum())} of {len(prior)} values that "
                f"have a positive probability: {error}. A utility that holds something for each value needs "
                "on_support(prior), which returns it for those of prior.support; or leave the other values out."
            ) from error

    def closed_forms(self, prior: Prior) -> bool:
        """Return whether a closed form of [EX] may answer, for those letters: its outcomes have no labels."""
        return True

    def closed_form_proof(
        self, kernel: Kernel, prior: Prior, box: tuple[Floats, Floats], bound: float
    ) -> tuple[Floats, Floats | None]:
        """Return duals (and a root) that prove a closed form with lifts in a box."""
        return np.empty(0), None

    def column_duals(self, kernel: Kernel, prior: Prior) -> tuple[Floats, Floats | None]:
        """Duals that leave the columns of a mechanism no reduced cost, for optima that are the only ones of vertices.

        Where the worth of a column depends on a matrix, it comes with them.
        """
        if len(prior) > _MOST_SOLVED:
            return np.empty(0), None
        lifts, law = seen(kernel, prior)
        try:
            goal, root = self.linearised(lifts, law)
        except np.linalg.LinAlgError:
            return np.empty(0), None
        worth = goal.columns_worth(lifts, prior)
        if not (np.isfinite(lifts).all() and np.isfinite(worth).all()):
            return np.empty(0), None
        duals: Floats = np.linalg.lstsq(lifts.T, worth, rcond=None)[0].astype(np.float64)
        return duals, root

    def linearised(self, lifts: Floats, law: Floats) -> tuple[Utility, Floats | None]:
        """Return what columns are worth beside those of a mechanism: the same, unless the utility is not a sum."""
        return self, None

    def claim(self, claim: OptimalityClaim, priors: PriorSet) -> tuple[OptimalityClaim | None, str | None]:
        """Complete what is claimed of optimality for the independent checker, or say why nothing is."""
        return None, f"no checker for the utility {self.name!r}"

    def checked(self, prior: Prior) -> Utility:
        """Return itself; refuse one that is not convex (or not separable, where it says so), by an example."""
        p = prior.probabilities
        generator = np.random.default_rng(len(p))
        ends = generator.exponential(size=(2, len(p), _TRIALS)) * generator.integers(0, 2, (2, len(p), _TRIALS))
        ends[:, p.argmax()] += p @ ends == 0
        first, second = ends / (p @ ends)[:, None, :]
        with np.errstate(all="ignore"):
            worth = [self.columns_worth(lifts, prior) for lifts in (first, second, (first + second) / 2)]
        if any(getattr(values, "shape", None) != (_TRIALS,) for values in worth):
            raise InvalidInput(
                f"columns_worth of the utility {self.name!r} must return an array of one finite number for each column "
                f"of lifts. Got {type(worth[0]).__name__} of shape {np.shape(worth[0])} for {_TRIALS} columns."
            )
        for lifts, values in ((first, worth[0]), (second, worth[1])):
            if not np.isfinite(values).all():
                place = int(np.isfinite(values).argmin())
                raise InvalidInput(
                    f"columns_worth of the utility {self.name!r} must be finite for every lift of at least 0, and is "
                    f"{values[place]} at the lifts {lifts[:, place].round(4)}. Where a formula has no value at lift 0, "
                    "as x·log(x), give it its limit there."
                )
        above = worth[2] - (worth[0] + worth[1]) / 2
        worst = int(above.argmax())
        if above[worst] > 1e-9 * (1 + np.abs(worth).max()):
            raise InvalidInput(
                f"The utility {self.name!r} is not convex in the lifts: halfway between {first[:, worst].round(4)} and "
                f"{second[:, worst].round(4)} it is {above[worst]:.3g} above the mean of both. Its bounds would not "
                "hold; use a convex function."
            )
        if self.separable:
            swapped = [np.concatenate([one[:1], other[1:]]) for one, other in ((first, second), (second, first))]
            off = worth[0] + worth[1] - sum(self.columns_worth(lifts, prior) for lifts in swapped)
            if np.abs(off).max() > 1e-9 * (1 + np.abs(worth).max()):
                raise InvalidInput(
                    f"The utility {self.name!r} says separable = True, but is no sum of functions of one lift each. "
                    "Leave separable out."
                )
        return self
