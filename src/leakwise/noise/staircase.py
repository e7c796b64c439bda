"""Staircase noise: level steps that fall by e^{-ε} once in every width, the least noise for differential privacy."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from leakwise.charts.shown import Parts, Table
from leakwise.charts.table import number
from leakwise.errors import InvalidInput
from leakwise.exact import Factor, exact_fraction, float_above
from leakwise.noise.continuous.density import Density
from leakwise.noise.continuous.on_density import OnDensity
from leakwise.noise.continuous.outcomes import MERGED, Bends
from leakwise.types import Floats

__all__ = ["Staircase"]

_MOST_BREAKS = 20_000


class Staircase(OnDensity):
    """Y = X + S with the density of Geng and Viswanath: a on [0, γΔ), a·e^{-ε} on [γΔ, Δ), and e^{-ε} less for every Δ.

    Parameters
    ----------
    epsilon
        By how much the logarithm of the density falls in every width.
    width
        Δ, the sensitivity for which it is ε-differentially private.
    step
        γ above 0 and at most 1, the share of a width at which the density falls; by default 1/(1 + e^{ε/2}), the best
        for the expected size of the noise.

    Examples
    --------
    >>> noise = Staircase(epsilon=2, width=100)
    >>> print(f"{noise.epsilon(Density.uniform(0, 100)):.4f}")
    2.0000
    """

    name: ClassVar[str] = "staircase"
    smooth: ClassVar[bool] = False
    smoothness: ClassVar[int] = 1

    def __init__(self, epsilon: Any, width: Any, step: Any = None) -> None:
        fall = self._positive(epsilon, "epsilon")
        wide = self._positive(width, "width")
        share = 1 / (1 + math.exp(fall / 2)) if step is None else float(exact_fraction(step, "step"))
        if not 0 < share <= 1:
            raise InvalidInput(f"step must be above 0 and at most 1. Got {step!r} instead.")
        object.__setattr__(self, "fall", fall)
        object.__setattr__(self, "scale", wide)
        object.__setattr__(self, "step", share)
        # Beyond the ends a shift by a width multiplies all densities by e^{-ε}: a geometric series.
        object.__setattr__(self, "repeated", 1 / -math.expm1(-fall))
        object.__setattr__(self, "falling", fall / math.expm1(fall))

    fall: float
    step: float

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"A noise mechanism cannot be changed ({name!r}); make a new one.")

    @property
    def peak(self) -> float:
        """f(0) = (1 - e^{-ε}) / (2Δ(γ + e^{-ε}(1-γ)))."""
        down = math.exp(-self.fall)
        return -math.expm1(-self.fall) / (2 * self.scale * (self.step + down * (1 - self.step)))

    def shape(self, distance: Floats) -> Floats:
        steps = np.floor(np.asarray(distance) / self.scale + (1 - self.step))
        values: Floats = np.exp(-self.fall * steps)
        return values

    def shape_between(self, closest: Floats, farthest: Floats) -> tuple[Floats, Floats]:
        # No step ends inside a cell: the middle of it has the value of all of it.
        return super().shape_between((closest + farthest) / 2, (closest + farthest) / 2)

    def _radius(self, step: int) -> Fraction:
        """The distance at which the density falls from that step to the next."""
        return (step + Fraction(self.step)) * Fraction(self.scale)

    def likelihood(self, y: Fraction, low: Fraction, high: Fraction) -> list[Factor]:
        near, far = max(low - y, y - high, Fraction(0)), max(abs(y - low), abs(y - high))
        first = max(math.floor(near / Fraction(self.scale) - Fraction(self.step)) + 1, 0)
        last = math.floor(far / Fraction(self.scale) - Fraction(self.step)) + 1
        if last - first > _MOST_BREAKS:
            raise InvalidInput(f"width must not be so much smaller than the interval. Got {self.scale:g} instead.")
        found: list[Factor] = []
        for step in range(first, last + 1):
            inner, outer = self._radius(step - 1) if step else Fraction(0), self._radius(step)
            exponent = (-Fraction(self.fall) * step, Fraction(0), Fraction(0))
            found += [(y - outer, y - inner, exponent), (y + inner, y + outer, exponent)]
        return found

    def breaks(self, density: Density) -> Floats:
        if np.spacing(max(abs(density.low), abs(density.high))) > 1e-12 * self.scale:
            # A width beyond the ends would not be one, up to the last digits of its place.
            raise InvalidInput(
                f"width = {self.scale:g} is too small for floats as large as the density's ({density.high:g}). "
                "Subtract a constant from the secret."
            )
        far = density.high - density.low + self.scale
        radii = np.array([float(self._radius(k)) for k in range(min(math.ceil(far / self.scale), _MOST_BREAKS) + 1)])
        edges = np.array(density.edges)[:, None]
        if 2 * len(radii) * len(edges) > _MOST_BREAKS:
            raise InvalidInput("The density has too many pieces for so many steps of the noise; merge pieces.")
        found: Floats = np.concatenate([(edges + radii).ravel(), (edges - radii).ravel()])
        return found

    def kinks(self, cuts: Floats) -> tuple[Floats, float]:
        need = math.ceil((cuts[-1] - cuts[0]) / self.scale) + 1
        far = min(need, max(_MOST_BREAKS // (2 * len(cuts)), 1))
        radii = np.array([float(self._radius(k)) for k in range(far)])
        found: Floats = np.concatenate([(cuts[:, None] + radii).ravel(), (cuts[:, None] - radii).ravel()])
        missed = 0.0 if far == need else 4 * len(cuts) * self.upper_tail(float(radii[-1]))
        return found, missed

    def remainder(self, half: Floats, away: Floats, order: int) -> Floats:
        # Straight lines between the kinks.
        return np.zeros(len(half))

    def bends(self, density: Density, left: Floats, right: Floats, ends: Floats) -> Bends:
        # M' = Σ_j Δk_j [π(y+r_j) - π(y-r_j)] with Σ_j Δk_j = 1. A break is known to the last digit of y only.
        # Of steps nearer than the support is, nothing is left: what remains adds up to k at that distance.
        near = np.minimum(density.distance(left), density.distance(right))
        level = self.shape(np.maximum(near * (1 - 1e-12) - 1e-12 * self.scale, 0.0))
        peak, slope = (one * level for one in density.steepness)
        digit = 2 * np.spacing(np.maximum(np.abs(left), np.abs(right))) + MERGED * self.scale
        none = np.full(len(left), math.inf)
        bend = 2 * slope + 32 * peak * digit / (right - left) ** 2
        return Bends(none, peak, -bend, bend)

    def upper_tail(self, distance: float) -> float:
        if distance < 0:
            return 1 - self.upper_tail(-distance)
        if math.isinf(distance):
            return 0.0
        whole, rest = divmod(distance, self.scale)
        down = math.exp(-self.fall)
        first = max(self.step * self.scale - rest, 0.0)
        second = self.scale - max(rest, self.step * self.scale)
        period = self.scale * (self.step + (1 - self.step) * down)
        tail = first + down * second + down / -math.expm1(-self.fall) * period
        return self.peak * math.exp(-self.fall * whole) * tail

    def within(self, distance: float) -> float:
        return self.apart(0.0, distance)

    def apart(self, near: float, far: float) -> float:
        if far - near > self.scale:
            return self.upper_tail(near) - self.upper_tail(far)
        first = math.floor(near / self.scale + (1 - self.step))
        ends = [float(self._radius(step)) for step in range(first, first + 3)]
        lengths = [max(min(b, far) - max(a, near), 0.0) for a, b in itertools.pairwise([near, *ends])]
        return self.peak * math.fsum(n * math.exp(-self.fall * (first + k)) for k, n in enumerate(lengths))

    def reach(self, chance: float) -> float:
        return self.scale * (math.ceil(-math.log(chance) / self.fall) + 1)

    def entropy(self) -> float:
        down = math.exp(-self.fall)
        return -math.log(self.peak) + self.fall * 2 * self.scale * self.peak * down / math.expm1(-self.fall) ** 2

    def every_prior(self, density: Density) -> float:
        widths = math.ceil((Fraction(density.high) - Fraction(density.low)) / Fraction(self.scale))
        return float_above(Fraction(self.fall) * widths)

    def worst_ranges(self, density: Density) -> list[tuple[float, float]]:
        return [(density.low - self.scale, density.high + self.scale)]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Staircase):
            return NotImplemented
        return (self.fall, self.scale, self.step) == (other.fall, other.scale, other.step)

    def __hash__(self) -> int:
        return hash((self.fall, self.scale, self.step))

    def _shown(self) -> Parts:
        rows = [["ε for a width", number(self.fall)], ["width", number(self.scale)], ["step", number(self.step)]]
        return [Table(["", self.name], rows, "Additive staircase noise", align="ll")]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {"noise": self.name, "epsilon": self.fall, "width": self.scale, "step": self.step}
