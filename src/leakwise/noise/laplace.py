"""Laplace noise: the leakage is largest at the values themselves ([ED] Proposition 3 for any finite set of reals)."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from leakwise.exact import Factor, float_above
from leakwise.noise.additive import UP, AdditiveNoise
from leakwise.noise.continuous.density import Density
from leakwise.noise.continuous.outcomes import Bends
from leakwise.priors import Prior
from leakwise.types import Floats

__all__ = ["Laplace"]


class Laplace(AdditiveNoise):
    """Y = X + L with density ``e^{-|t|/b} / 2b``.

    For every prior Q the leakage is largest at y = x_k for some k, because ``|y-x_i| - |y-x_k| ≤ |x_i-x_k|``:

        ``ε = max_k -log Σ_i Q_i e^{-|x_i-x_k|/b}``.

    [ED] Proposition 3 is the case of two values, [ED] (16) the case of two values and an l1 ball.

    Parameters
    ----------
    values
        The reals that the secret can take, in the order of the prior's letters; none for a secret with a density.
    scale
        The scale b.

    Examples
    --------
    >>> from leakwise import Prior
    >>> noise = Laplace([-1, 1], scale=2)
    >>> print(f"{noise.epsilon(Prior([0.3, 0.7])):.4f} {noise.ldp():.4f}")
    0.5843 1.0000
    >>> print(f"{Laplace(scale=20).epsilon(Density.uniform(0, 100)):.4f}")  # log 5/(1 - e^-5)
    1.6162
    """

    name: ClassVar[str] = "Laplace"
    memoryless: ClassVar[bool] = True
    fineness: ClassVar[int] = 1

    def log_density(self, distance: Floats) -> Floats:
        logs: Floats = -np.abs(distance) / self.scale
        return logs

    def upper_tail(self, distance: float) -> float:
        if distance >= 0:
            return 0.5 * math.exp(-distance / self.scale)
        return 1 - 0.5 * math.exp(distance / self.scale)

    def within(self, distance: float) -> float:
        return -0.5 * math.expm1(-distance / self.scale)

    def apart(self, near: float, far: float) -> float:
        return -self.upper_tail(near) * math.expm1((near - far) / self.scale)

    def maximal_leakage(self, prior: Any = None) -> float:
        if isinstance(prior, Density) or not self.values:
            return super().maximal_leakage(prior)
        gaps = np.diff(np.sort(self.points))
        return math.log1p(math.fsum(-np.expm1(-gaps / (2 * self.scale)))) * UP

    def ldp(self) -> float:
        """Return the ε of local differential privacy, the span over the scale: the leakage when nothing is known."""
        return self.span / self.scale * UP

    def epsilon(self, prior: Any) -> float:
        if isinstance(prior, Density):
            return super().epsilon(prior)
        known = self._known(prior)
        distances = np.abs(self.points[:, None] - self.points[None, :])
        least = known.least_mass(np.exp(-distances / self.scale))[known.support]
        # e^{-d/b} is known to some units of d/b: they come on top.
        units = (self.span / self.scale + 8) * 2.0**-50
        found = -math.log(float(least.min())) if least.min() > 0 else math.inf
        return min(max(found, 0.0) * UP + units, self.ldp())

    def ratio_root(self, place: int, other: int, log_ratio: float) -> float | None:
        # At distance u from the own value towards the other the logarithm is -(d - 2u)/b; beyond the own value, -d/b.
        towards = self.values[other] - self.values[place]
        step = (abs(towards) + self.scale * log_ratio) / 2
        return None if step < 0 else self.values[place] + math.copysign(step, towards)

    def cell_minimum(self, place: int, left: float, right: float, prior: Prior) -> float:
        return self.values[place]

    # -- on a density -------------------------------------------------------------------------------------------

    @property
    def peak(self) -> float:
        """f(0) = 1/2b."""
        return 0.5 / self.scale

    def likelihood(self, y: Fraction, low: Fraction, high: Fraction) -> list[Factor]:
        rate, none = 1 / Fraction(self.scale), Fraction(0)
        return [(low, min(y, high), (-y * rate, rate, none)), (max(y, low), high, (y * rate, -rate, none))]

    def bends(self, density: Density, left: Floats, right: Floats, ends: Floats) -> Bends:
        # M'' = M/b² - 2π/b, and |M'| ≤ M/b.
        rate = np.full(len(left), 1 / self.scale)
        largest = Bends.grown(ends, (right - left) * rate / 2)
        return Bends(rate, np.full(len(left), math.inf), -2 * density.steepness[0] * rate, largest * rate**2)

    def steepest(self, distance: Floats) -> Floats:
        return self.shape(distance) / self.scale

    def remainder(self, half: Floats, away: Floats, order: int) -> Floats:
        # Every derivative is a probability over a power of b; interpolation at the points of Chebyshev.
        with np.errstate(over="ignore"):
            log_missed = order * np.log(half / (2 * self.scale)) - math.lgamma(order + 1)
            missed: Floats = 4 * np.exp(np.minimum(log_missed, 0.0) - away / self.scale)
        return missed

    def reach(self, chance: float) -> float:
        return -self.scale * math.log(chance)

    def entropy(self) -> float:
        return 1 + math.log(2 * self.scale)

    def every_prior(self, density: Density) -> float:
        return float_above((Fraction(density.high) - Fraction(density.low)) / Fraction(self.scale))

    def worst_ranges(self, density: Density) -> list[tuple[float, float]]:
        # From an edge into a gap, or beyond the ends, the leakage does not rise.
        return list(density.support)
