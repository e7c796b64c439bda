"""Noise asked with a density: the questions, and what a noise must say of its own shape to be asked them."""

from __future__ import annotations

import math
from abc import abstractmethod
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from leakwise.charts.shown import Shown
from leakwise.errors import InvalidInput
from leakwise.exact import Factor, exact_fraction, level
from leakwise.noise.continuous.density import Density
from leakwise.noise.continuous.leakage import largest_leakage, leakage_at, maximal_leakage_of, tail_between
from leakwise.noise.continuous.outcomes import SLACK, Bends
from leakwise.types import Floats

if TYPE_CHECKING:
    from leakwise.noise.continuous.audit import DensityAudit
    from leakwise.noise.continuous.bins import BinnedNoise

__all__ = ["OnDensity"]


class OnDensity(Shown):
    """Y = X + noise for a secret X with a density; f is symmetric and falls with the distance, k = f/f(0)."""

    name: ClassVar[str]
    scale: float
    # Beyond the ends of the density all outcomes say the same.
    memoryless: ClassVar[bool] = False
    # What a cell beyond the ends is to be multiplied by where it stands for all others a number of widths away.
    repeated: float = 1.0
    # -log m in the tails, on average above that of the cell that stands for them.
    falling: float = 1.0
    # Whether k has no jumps.
    smooth: ClassVar[bool] = True
    # Half the number of coefficients of the polynomials that P(outcome in an interval | x) is taken for.
    smoothness: ClassVar[int] = 8
    # How many times as many cells it takes as Laplace noise.
    fineness: ClassVar[int] = 2

    # -- shape of the noise -------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def peak(self) -> float:
        """f(0)."""

    @abstractmethod
    def likelihood(self, y: Fraction, low: Fraction, high: Fraction) -> list[Factor]:
        """Return k(y - x) as a function of x from low to high, piece by piece."""

    @abstractmethod
    def bends(self, density: Density, left: Floats, right: Floats, ends: Floats) -> Bends:
        """Return how fast M = ∫ π(x) k(y-x) dx can change on cells; ``ends`` is the larger value at their ends."""

    def shape_between(self, closest: Floats, farthest: Floats) -> tuple[Floats, Floats]:
        """Return bounds of k at distances between two, from below and from above."""
        low: Floats = self.shape(farthest) * (1 - SLACK)
        high: Floats = np.minimum(self.shape(closest) * (1 + SLACK), 1.0)
        return low, high

    @abstractmethod
    def shape(self, distance: Floats) -> Floats:
        """Return k at distances, in floats."""

    def steepest(self, distance: Floats) -> Floats:
        """Return the largest size of the slope of k at these distances and beyond, for noise without jumps."""
        raise NotImplementedError

    @abstractmethod
    def upper_tail(self, distance: float) -> float:
        """Return P(noise > distance)."""

    @abstractmethod
    def within(self, distance: float) -> float:
        """Return P(0 < noise < distance), with all its digits however small it is."""

    @abstractmethod
    def apart(self, near: float, far: float) -> float:
        """Return P(near < noise < far) for 0 ≤ near < far, with all its digits however small it is."""

    def between(self, left: float, right: float) -> float:
        """Return P(left < noise < right)."""
        if right <= left:
            return 0.0
        if left < 0 < right:
            return self.within(-left) + self.within(right)
        return self.apart(left, right) if left >= 0 else self.apart(-right, -left)

    @abstractmethod
    def reach(self, chance: float) -> float:
        """Return a distance that the noise exceeds with at most this probability."""

    @abstractmethod
    def entropy(self) -> float:
        """Return the differential entropy of the noise, in nats."""

    def entropy_beyond(self, reach: float) -> float:
        """Return ∫ -f log f over distances beyond a reach, both sides, in units of the scale, from above."""
        return 0.0

    @abstractmethod
    def every_prior(self, density: Density) -> float:
        """Return the leakage when nothing is known of the secret but its interval: differential privacy's ε."""

    def worst_ranges(self, density: Density) -> list[tuple[float, float]] | None:
        """Return intervals of outcomes in one of which the leakage is largest, or None where it has no bound."""
        return None

    def breaks(self, density: Density) -> Floats:
        """Return the outcomes at which M is not smooth, apart from the edges of the density."""
        return np.empty(0)

    def kinks(self, cuts: Floats) -> tuple[Floats, float]:
        """Return where P(outcome between two cuts | x) is not smooth in x, but for the cuts themselves.

        The number with it bounds what places that were left out can change, over all outcomes.
        """
        return np.empty(0), 0.0

    @abstractmethod
    def remainder(self, half: Floats, away: Floats, order: int) -> Floats:
        """Return by how much polynomials of a degree below the order miss P(outcome between cuts | x) on panels.

        That is, the sum over all intervals of the largest miss on the panel, at most. Panels are given by half of their
        widths, and by how far from them the nearest cut is.
        """

    # -- questions ----------------------------------------------------------------------------------------------

    def pml(self, outcomes: npt.ArrayLike, prior: Any) -> Floats:
        """The pointwise maximal leakage at each outcome, in nats, rounded up."""
        density = self._density(prior)
        y = np.atleast_1d(np.asarray(outcomes, dtype=np.float64))
        if not np.isfinite(y).all():
            raise InvalidInput("outcomes must be finite numbers.")
        return np.array([leakage_at(self, density, one) for one in y.tolist()])

    def epsilon(self, prior: Any) -> float:
        """Return the ε of ε-PML: the supremum of the leakage over all outcomes, in nats, rounded up."""
        return largest_leakage(self, self._density(prior))[1]

    def tail(self, prior: Any, epsilon: object = None, *, lift: object = None) -> float:
        """Return the probability, over outcomes, of a leakage above ε; rounded up."""
        return tail_between(self, self._density(prior), level(epsilon, lift))[1]

    def maximal_leakage(self, prior: Any = None) -> float:
        """Return the maximal leakage log ∫ sup_x f(y - x) dy, in nats, rounded up."""
        return maximal_leakage_of(self, self._density(prior))

    def envelope_bounds(self, prior: Any, delta: object, *, grid: int = 96) -> tuple[float, float]:
        """Enclose the (ε, δ) envelope: what holds after any post-processing, except with probability δ.

        Both bounds are proven; a finer ``grid`` brings them closer together.
        """
        from leakwise.noise.continuous.envelope import envelope_between

        return envelope_between(self, self._density(prior), self._chance(delta), grid)

    def audit(self, prior: Any, delta: object = "0.01", *, grid: int = 96) -> DensityAudit:
        """Return everything at once: ε, the envelope at δ, maximal leakage, mutual information, with a picture."""
        from leakwise.noise.continuous.audit import audit

        return audit(self, self._density(prior), self._chance(delta), grid)

    def best_bins(self, prior: Any, bins: int = 10, outcomes: int | None = None, *, grid: int = 100) -> BinnedNoise:
        """Return the finite mechanism in so many bins that tells most, exact, with what it loses and what it leaks.

        It never leaks more than the noise itself. The edges are the best of a ``grid`` of so many cells; ``outcomes``
        is the number of intervals that the outcome is told in, by default as many as bins.
        """
        from leakwise.noise.continuous.bins import best_bins

        return best_bins(self, self._density(prior), bins, outcomes, grid)

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""

    def _density(self, prior: Any) -> Density:
        if not isinstance(prior, Density):
            raise InvalidInput(
                f"prior must be a density, as lw.noise.Density.uniform(0, 100) is. Got {type(prior).__name__} instead."
            )
        return prior

    @staticmethod
    def _chance(delta: object) -> Fraction:
        chance = exact_fraction(delta, "delta")
        if not 0 < chance <= 1:
            raise InvalidInput(f"delta must be a probability above 0 and at most 1. Got {delta!r} instead.")
        return chance

    @staticmethod
    def _positive(value: Any, name: str) -> float:
        if value is None:
            raise InvalidInput(f"{name} must be given, such as {name}=2.")
        width = float(exact_fraction(value, name))
        if not width > 0 or not math.isfinite(width):
            raise InvalidInput(f"{name} must be above 0. Got {value!r} instead.")
        return width
