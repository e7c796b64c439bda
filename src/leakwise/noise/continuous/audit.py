"""Everything that noise on a density leaks, in one result with a picture."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from leakwise.charts.shown import Drawn, Parts, Table
from leakwise.charts.specs import lines, vertical
from leakwise.exact import float_above
from leakwise.guarantee import at_least, at_most, lift_above
from leakwise.noise.continuous.density import Density
from leakwise.noise.continuous.envelope import envelope_between
from leakwise.noise.continuous.leakage import information_between, largest_leakage, maximal_leakage_of

if TYPE_CHECKING:
    from leakwise.noise.continuous.on_density import OnDensity

__all__ = ["DensityAudit"]

_DRAWN = 161


@dataclass(frozen=True, repr=False, eq=False)
class DensityAudit(Drawn):
    """What additive noise leaks about a secret with a density, all in nats.

    Attributes
    ----------
    epsilon
        The leakage at the worst outcome, proven and rounded up; infinite for Gaussian noise.
    epsilon_seen
        What some outcomes were seen to leak, rounded down: the truth is between both.
    envelope, envelope_seen
        Proven bounds of ε_c(δ), what holds after any post-processing except with probability ``delta``.
    every_prior
        The leakage when nothing is known of the secret but its interval: the ε of differential privacy.
    maximal_leakage
        log ∫ sup_x f(y-x) dy, rounded up.
    information, information_most
        Proven bounds of the mutual information of the secret and the outcome.
    """

    noise: OnDensity
    density: Density
    delta: Fraction
    epsilon: float
    epsilon_seen: float
    envelope: float
    envelope_seen: float
    every_prior: float
    maximal_leakage: float
    information: float
    information_most: float

    @property
    def gap(self) -> float:
        """How far the bounds of the envelope are apart; a finer grid narrows it."""
        return self.envelope - self.envelope_seen

    @property
    def sentence(self) -> str:
        """The guarantee in words."""
        chance = at_most(float_above(self.delta))
        if math.isinf(self.epsilon):
            after = at_most(lift_above(self.envelope))
            return (
                "Far out an outcome reveals the end of the interval: no limit holds for every outcome. Whatever is "
                f"done to the outcome, it makes no guess more than {after} times as likely for anyone who knew the "
                f"density, except with probability {chance}."
            )
        lift = at_most(lift_above(self.epsilon))
        return f"No outcome makes a guess more than {lift} times as likely for anyone who knew the density."

    def _shown(self) -> Parts:
        rows = [
            ["leakage ε, proven", at_most(self.epsilon, 6)],
            ["seen at an outcome", at_least(self.epsilon_seen, 6)],
            ["if only the interval is known (DP)", at_most(self.every_prior, 6)],
            [f"envelope at δ = {at_most(float_above(self.delta))}, proven", at_most(self.envelope, 6)],
            ["reached by a post-processing", at_least(self.envelope_seen, 6)],
            ["maximal leakage", at_most(self.maximal_leakage, 6)],
            ["mutual information, at least", at_least(self.information, 6)],
            ["mutual information, at most", at_most(self.information_most, 6)],
        ]
        return [Table(["", "nats"], rows, f"{self.noise.name[0].upper()}{self.noise.name[1:]} noise"), self.sentence]

    def chart(self) -> dict[str, Any]:
        """The leakage of each outcome above the density of the secret, as a Vega-Lite chart."""
        reach = min(3 * self.noise.scale, self.density.high - self.density.low)
        y = np.linspace(self.density.low - reach, self.density.high + reach, _DRAWN)
        leaks = self.noise.pml(y, self.density)
        curve = lines(
            {"leakage": (y.tolist(), leaks.tolist())},
            title="Leakage of each outcome",
            x_title="outcome",
            y_title="nats",
        )
        return vertical(curve, self.density.chart())

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; an infinite ε is None."""
        finite = {
            name: value if math.isfinite(value) else None
            for name in ("epsilon", "epsilon_seen", "every_prior")
            for value in [getattr(self, name)]
        }
        return {
            "noise": self.noise.to_dict(),
            "density": self.density.to_dict(),
            "delta": float_above(self.delta),
            **finite,
            "envelope": self.envelope,
            "envelope_seen": self.envelope_seen,
            "gap": self.gap,
            "maximal_leakage": self.maximal_leakage,
            "information": self.information,
            "information_most": self.information_most,
            "sentence": self.sentence,
        }


def audit(noise: OnDensity, density: Density, delta: Fraction, grid: int) -> DensityAudit:
    """See :meth:`OnDensity.audit`."""
    seen, proven = largest_leakage(noise, density)
    low, high = envelope_between(noise, density, delta, grid)
    information = information_between(noise, density)
    return DensityAudit(
        noise,
        density,
        delta,
        proven,
        seen,
        high,
        low,
        noise.every_prior(density),
        maximal_leakage_of(noise, density),
        *information,
    )
