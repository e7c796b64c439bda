"""Gaussian noise: leakage bounded except with a small probability, for one prior or for a set around an estimate."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from leakwise.charts.shown import Parts, Shown, Table
from leakwise.charts.table import number
from leakwise.errors import InvalidInput
from leakwise.exact import Factor, exact_fraction, last_that_holds, level
from leakwise.guarantee import at_most
from leakwise.noise.additive import UP, AdditiveNoise
from leakwise.noise.continuous.density import Density
from leakwise.noise.continuous.outcomes import Bends
from leakwise.noise.uncertain import largest_lift, largest_tail
from leakwise.priors import Ball, Prior
from leakwise.types import Floats

__all__ = ["Gaussian", "NoiseGuarantee"]

# Tails that differ by less than this share of them have too few digits left in their difference.
_CANCELS = 2.0**-5


@dataclass(frozen=True, repr=False)
class NoiseGuarantee(Shown):
    """What Gaussian noise guarantees around an estimate: leakage at most ε except with probability δ.

    Attributes
    ----------
    epsilon, delta
        The tight form: the supremum over the set is already taken at ε, so that ε itself holds, except with probability
        δ = δ₁ + δ₂ - δ₁δ₂ with δ₁ over outcomes and δ₂ the failure of the set.
    printed_epsilon
        ε* as [ED] prints it for an l1 ball, which counts the sensitivity a second time; None for other sets.
    outcome_delta, search_delta
        δ₁, proven from above, and the largest value that a search over the set found: the truth is between.
    """

    epsilon: float
    delta: float
    printed_epsilon: float | None
    outcome_delta: float
    search_delta: float
    failure: float

    def _shown(self) -> Parts:
        rows = [
            ["ε (nats)", at_most(self.epsilon, 6)],
            ["δ in all", at_most(self.delta)],
            ["δ₁ over outcomes, at most", at_most(self.outcome_delta)],
            ["δ₁ over outcomes, found", number(self.search_delta)],
            ["failure probability of the set", at_most(self.failure)],
        ]
        if self.printed_epsilon is not None:
            rows.append(["ε* as printed in [ED]", number(self.printed_epsilon, 6)])
        return [Table(["", "guarantee"], rows, "Gaussian noise around an estimate", align="ll")]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "printed_epsilon": self.printed_epsilon,
            "outcome_delta": self.outcome_delta,
            "search_delta": self.search_delta,
            "failure": self.failure,
        }


class Gaussian(AdditiveNoise):
    """Y = X + G with G normal of mean 0 and standard deviation σ.

    On the cell of a value the mixture over its own density is a sum of exponentials of linear functions, hence convex:
    the outcomes that leak more than ε form one interval for each value.

    Parameters
    ----------
    values
        The reals that the secret can take, in the order of the prior's letters; none for a secret with a density.
    scale
        The standard deviation σ.

    Examples
    --------
    >>> from leakwise import Prior
    >>> noise = Gaussian([-1, 1], scale=2)
    >>> print(f"{noise.tail(Prior([0.5, 0.5]), 0.5):.4f}")
    0.1681
    """

    name: ClassVar[str] = "Gaussian"

    def log_density(self, distance: Floats) -> Floats:
        logs: Floats = -0.5 * (distance / self.scale) ** 2
        return logs

    def upper_tail(self, distance: float) -> float:
        return 0.5 * math.erfc(distance / self.scale / math.sqrt(2))

    def within(self, distance: float) -> float:
        return 0.5 * math.erf(distance / self.scale / math.sqrt(2))

    def apart(self, near: float, far: float) -> float:
        tail = self.upper_tail(near)
        difference = tail - self.upper_tail(far)
        if not tail or difference > tail * _CANCELS:
            return difference
        # Three points of Gauss-Legendre: next to exact on so short an interval.
        middle, step = (near + far) / 2 / self.scale, (far - near) / 2 / self.scale
        ends = sum(math.exp(-((middle + side * step * math.sqrt(0.6)) ** 2) / 2) for side in (-1, 1))
        return self.peak * (far - near) * (5 * ends + 8 * math.exp(-(middle**2) / 2)) / 18

    def maximal_leakage(self, prior: Any = None) -> float:
        if isinstance(prior, Density) or not self.values:
            return super().maximal_leakage(prior)
        gaps = np.diff(np.sort(self.points))
        return math.log1p(math.fsum(math.erf(gap / (2 * math.sqrt(2) * self.scale)) for gap in gaps)) * UP

    def ratios(self, y: Any, place: int) -> Floats:
        # (y-x_k)² - (y-x_i)² = (x_i-x_k)(2y-x_i-x_k): no squares of large numbers to cancel.
        outcomes = np.atleast_1d(np.asarray(y, dtype=np.float64))
        x, own = self.points[:, None], self.points[place]
        exponent = (x - own) * (2 * outcomes - x - own) / (2 * self.scale**2)
        ratios: Floats = np.exp(np.minimum(exponent, 700.0))
        return ratios

    def pml(self, outcomes: Any, prior: Any) -> Floats:
        if isinstance(prior, Density):
            return super().pml(outcomes, prior)
        known = self._known(prior)
        y = np.atleast_1d(np.asarray(outcomes, dtype=np.float64))
        if not np.isfinite(y).all():
            raise InvalidInput("outcomes must be finite numbers.")
        best: Floats = np.zeros(len(y))
        with np.errstate(divide="ignore"):
            for place in np.flatnonzero(known.support):
                best = np.maximum(best, -np.log(known.least_mass(self.ratios(y, int(place)))))
        return best * UP

    def epsilon(self, prior: Any) -> float:
        """Return the ε of ε-PML over all outcomes; far out an outermost value stands alone, however large the noise.

        There it is -log of the least mass that the set gives to that value; rounded up, between the values by a search
        that proves its bound. With a density that mass is 0, and ε is infinite: ask for the envelope at a δ.
        """
        if isinstance(prior, Density):
            return super().epsilon(prior)
        known = self._known(prior)
        worst = max(largest_lift(self, known, place, left, right) for place, left, right in self._cells(known.support))
        return math.inf if math.isinf(worst) else math.log(worst) * UP + 2.0**-48

    def ratio_root(self, place: int, other: int, log_ratio: float) -> float | None:
        own, far = self.values[place], self.values[other]
        return self.scale**2 * log_ratio / (far - own) + (own + far) / 2

    def cell_minimum(self, place: int, left: float, right: float, prior: Prior) -> float:
        weights = prior.probabilities * (self.points - self.points[place])

        def rises(y: float) -> bool:
            return float(weights @ self.ratios(y, place)[:, 0]) > 0

        reach = 200 * (self.scale + self.span)
        low = left if math.isfinite(left) else self.values[place] - reach
        high = right if math.isfinite(right) else self.values[place] + reach
        if rises(low):
            return left
        if not rises(high):
            return right
        return last_that_holds(lambda y: not rises(y), low, high)

    # -- around an estimate -------------------------------------------------------------------------------------

    def guarantee(self, priors: Any, epsilon: object = None, *, lift: object = None) -> NoiseGuarantee:
        """Return the (ε, δ) promise for every prior of a set, and the form that [ED] prints ((17) and section VI-B).

        δ₁ = sup_Q P_Q(leakage for Q above ε). The supremum is often inside the set and not at its ends: for two values
        it is closed in on by branching over the whole interval of priors; for more it is bounded from above by letting
        each outcome choose its own worst prior.
        """
        asked, known = level(epsilon, lift), self._known(priors)
        found, proven = largest_tail(self, known, asked)
        failure = known.failure
        printed = None
        if isinstance(known, Ball):
            left = 1 - float(known.beta) / 2 * float(asked.above)
            printed = asked.epsilon - math.log(left) if left > 0 else math.inf
        delta = min(1.0, (proven + failure - proven * failure) * UP)
        return NoiseGuarantee(asked.epsilon, delta, printed, proven, found, failure)

    # -- probabilistic local differential privacy ---------------------------------------------------------------

    @classmethod
    def for_pldp(cls, values: Iterable[Any], epsilon: Any, delta: Any) -> Gaussian:
        """Return the noise that [ED] compares with: (ε, δ) probabilistic LDP by the formula of its reference [34].

        σ = Δ (f + sqrt(f² + ε)) / (√2 ε) with f the inverse of erfc at δ and Δ the span of the values.
        """
        from scipy.special import erfcinv

        points = list(values)
        eps, chance = float(exact_fraction(epsilon, "epsilon")), float(exact_fraction(delta, "delta"))
        if eps <= 0 or not 0 < chance < 1:
            raise InvalidInput(f"epsilon must be above 0 and delta between 0 and 1. Got {epsilon!r} and {delta!r}.")
        f = float(erfcinv(chance))
        return cls(points, cls(points, 1).span * (f + math.sqrt(f * f + eps)) / (math.sqrt(2) * eps))

    def pldp_delta(self, epsilon: Any) -> float:
        """Return the δ of (ε, δ) probabilistic LDP at this σ, by the same formula turned around."""
        eps = float(exact_fraction(epsilon, "epsilon"))
        if eps <= 0:
            raise InvalidInput(f"epsilon must be above 0. Got {epsilon!r} instead.")
        s = self.scale * math.sqrt(2) * eps / self.span
        return min(1.0, math.erfc((s * s - eps) / (2 * s)))

    # -- on a density -------------------------------------------------------------------------------------------

    @property
    def peak(self) -> float:
        """f(0) = 1/σ√2π."""
        return 1 / (self.scale * math.sqrt(2 * math.pi))

    def likelihood(self, y: Fraction, low: Fraction, high: Fraction) -> list[Factor]:
        bend = -1 / (2 * Fraction(self.scale) ** 2)
        return [(low, high, (bend * y * y, -2 * bend * y, bend))]

    def bends(self, density: Density, left: Floats, right: Floats, ends: Floats) -> Bends:
        # M'/M = E[X - y | y]/σ² and M''/M = E[(X - y)² | y]/σ⁴ - 1/σ².
        far = np.maximum(right - density.low, density.high - left) / self.scale
        rate = far / self.scale
        largest = Bends.grown(ends, (right - left) * rate / 2) / self.scale**2
        return Bends(rate, np.full(len(left), math.inf), -largest, largest * np.maximum(far**2 - 1, 0.0))

    def steepest(self, distance: Floats) -> Floats:
        z = np.maximum(distance / self.scale, 1.0)
        steep: Floats = z * np.exp(-(z**2) / 2) / self.scale
        return steep

    def remainder(self, half: Floats, away: Floats, order: int) -> Floats:
        # |f^{(n)}(s)| ≤ 1.09 √n! e^{-s²/4σ²} f(0)/σⁿ (Cramér), and interpolation at the points of Chebyshev.
        near = away / self.scale
        log_missed = order * np.log(half / (2 * self.scale)) - math.lgamma(order + 1) / 2
        smooth = 7 * np.exp(np.minimum(log_missed, 10.0)) * np.array([math.erfc(z / 2) for z in near.tolist()])
        constant = np.array([2 * math.erfc(z / math.sqrt(2)) for z in near.tolist()])
        missed: Floats = np.minimum(smooth, constant) * (1 + 1e-9)
        return missed

    def reach(self, chance: float) -> float:
        return self.scale * math.sqrt(-2 * math.log(chance))

    def entropy(self) -> float:
        return 0.5 + math.log(self.scale * math.sqrt(2 * math.pi))

    def entropy_beyond(self, reach: float) -> float:
        z = reach / self.scale
        return z * math.exp(-z * z / 2) / math.sqrt(2 * math.pi) + (1 + math.log(2 * math.pi)) * self.upper_tail(reach)

    def every_prior(self, density: Density) -> float:
        return math.inf
