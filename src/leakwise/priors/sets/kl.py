"""The Kullback-Leibler ball: priors under which the estimate is not too surprising."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from leakwise.charts.table import number
from leakwise.errors import InvalidInput
from leakwise.exact import exact_fraction, exp_lower, float_above, last_that_holds, log_lower, log_upper
from leakwise.priors.prior import Prior
from leakwise.priors.sets.around_estimate import Around, as_matrix
from leakwise.types import Bools, Floats, Indices

__all__ = ["KLBall"]

_STEPS = 70
_BITS = 256
_MEMBER = 1 << 70


class KLBall(Around):
    """All priors Q with KL(π‖Q) = Σ π_i log(π_i/Q_i) ≤ radius, in nats.

    A letter that the sample never showed costs nothing but the mass it takes from the others. For any τ ≤ min v the
    weighted inequality of the means gives

        Q·v ≥ τ + e^{-radius} Π_i (v_i - τ)^{π_i},

    with equality for the best τ: every τ is a proof, so that the rounding of τ costs digits and never safety.

    Parameters
    ----------
    nominal
        The estimate π.
    radius
        The largest divergence.
    failure, method
        As for every set.

    Examples
    --------
    >>> ball = KLBall(Prior([0.5, 0.5]), radius=0.02)
    >>> print(f"{ball.least_mass([1.0, 0.0]):.6f}")  # KL(1/2 ‖ q) = 0.02
    0.400992
    """

    kind = "KL ball"
    radius: Fraction

    def __init__(self, nominal: Prior, radius: object, failure: object = 0, method: str | None = None) -> None:
        super().__init__(nominal, failure, method)
        largest = exact_fraction(radius, "radius")
        if largest < 0:
            raise InvalidInput(f"radius must be at least 0. Got {radius!r} instead.")
        self._set(radius=largest)

    @property
    def support(self) -> Bools:
        return super().support if self.radius else self.nominal.support

    def least_mass(self, columns: npt.ArrayLike) -> Floats:
        values, single = as_matrix(columns, len(self))
        if not self.radius:
            return self.nominal.least_mass(columns)
        seen = self.nominal.support
        p = self.nominal.probabilities[seen]
        least = values.min(axis=0)
        above = values[seen] - least
        radius = float_above(self.radius)
        gap = _best_gap(above, p, radius)
        # τ = min v: the letters at the minimum were never seen, or one of them was, and nothing is left.
        with np.errstate(divide="ignore"):
            mean = p @ np.where(above > 0, np.log(above), -np.inf)
        touching = np.where(np.isfinite(mean), np.exp(np.where(np.isfinite(mean), mean, 0.0) - radius), 0.0)
        # τ below it: s(e^x - 1), the two sides never formed, because their difference may be a unit of either.
        s = np.where(gap > 0, gap, 1.0)
        logs = p @ np.log1p(above / s)
        risen = np.where(gap > 0, s * np.expm1(logs - radius), touching)
        # Logarithms and their sum err by N units of the exponent, and the rest by units of what comes out.
        units = (len(p) + 32) * 2.0**-52
        exponent = np.where(gap > 0, logs, np.abs(np.where(np.isfinite(mean), mean, 0.0)) + 1) + radius
        error = units * (np.abs(risen) + (np.where(gap > 0, s, 0.0) + np.maximum(risen, 0.0)) * exponent)
        mass: Floats = np.maximum((least + risen - error) * (1 - 2.0**-50), least * (1 - 2.0**-50))
        return mass[0] if single else mass

    def exact_least_mass(self, column: Sequence[int]) -> Fraction:
        values = [int(value) for value in column]
        largest, smallest = max(values), min(values)
        if not self.radius:
            return self.nominal.exact_least_mass(values)
        if largest == smallest:
            return Fraction(smallest)
        seen = [(int(w), v - smallest) for w, v in zip(self.nominal.weights.tolist(), values, strict=True) if w]
        span, total = largest - smallest, self.nominal.denominator
        above = np.array([[part / span] for _, part in seen])
        p = np.array([weight / total for weight, _ in seen])
        gap = Fraction(float(_best_gap(above, p, float(self.radius))[0]))
        if gap == 0 and any(part == 0 for _, part in seen):
            return Fraction(smallest)
        # Σ π_i log(w_i + gap) - radius, each logarithm rounded down; the result is on the scale of the span. With a gap
        # the logarithms are taken in its units: what they have above 0 may be less than a unit of log(gap).
        unit = gap or Fraction(1)
        exponent = sum(
            (weight * Fraction(log_lower((Fraction(part, span) + gap) / unit)) for weight, part in seen), Fraction(0)
        )
        if exponent / total - self.radius < -_BITS:
            return Fraction(smallest)
        bound = unit * exp_lower(exponent / total - self.radius, _BITS) - gap
        return smallest + max(bound, Fraction(0)) * span

    def worst_member(self, column: Floats) -> Floats:
        """Return Q ∝ π/(v - τ) with τ below every entry; letters never seen take the rest where they are lowest."""
        v, p, radius = column, self.nominal.probabilities, float(self.radius)
        if radius == 0 or np.ptp(v) == 0:
            return p
        seen = p > 0
        least, span = float(v.min()), float(np.ptp(v))
        known, above = p[seen], v[seen] - least
        worst = np.zeros(len(p))

        def members(gaps: Floats) -> tuple[Floats, Floats]:
            """For each gap the member of the family, on the letters seen, and its divergence."""
            q = known / (above + gaps[:, None])
            q /= q.sum(axis=1, keepdims=True)
            return q, np.sum(known * np.log(known / q), axis=1)

        if not seen[v == least].any():
            shares, divergences = members(np.zeros(1))
            if divergences[0] <= radius:
                rest = 1 - np.exp(divergences[0] - radius)
                worst[seen] = shares[0] * (1 - rest)
                worst[int(v.argmin())] += rest
                return worst
        low, high = np.log(1e-16 * span), np.log(1e8 * span)
        for _ in range(16):  # each step cuts the interval into 32 parts
            steps = np.linspace(low, high, 33)
            near = members(np.exp(steps[1:-1]))[1] <= radius  # the divergence falls as the gap grows
            first = 1 + (int(near.argmax()) if near.any() else 31)
            low, high = float(steps[first - 1]), float(steps[first])
        worst[seen] = members(np.exp(np.array([high])))[0][0]
        return worst

    def exact_worst_member(self, column: Floats) -> tuple[Fraction, ...]:
        p, worst = self.nominal.probabilities, self.worst_member(column)
        # Towards the middle as far as it takes that rounding does not leave the ball.
        for inward in (1e-13, 1e-11, 1e-9, 1e-7, 1e-5, 1e-3):
            units = [int(mass * _MEMBER) for mass in ((1 - inward) * worst + inward * p).tolist()]
            units[int(np.argmax(p))] += _MEMBER - sum(units)
            member = tuple(Fraction(unit, _MEMBER) for unit in units)
            if self._holds(member):
                return member
        return self.nominal.fractions

    def _holds(self, masses: Sequence[Fraction]) -> bool:
        """Whether KL(π‖Q) ≤ radius, every logarithm rounded up: True only when it is certain."""
        pairs = [(p, q) for p, q in zip(self.nominal.fractions, masses, strict=True) if p]
        if not all(q for _, q in pairs):
            return False
        return sum((p * Fraction(log_upper(p / q)) for p, q in pairs), Fraction(0)) <= self.radius

    def reordered(self, order: Indices) -> KLBall:
        return KLBall(self.nominal.reordered(order), self.radius, self.exact_failure, self.method)

    def _key(self) -> tuple[object, ...]:
        return (self.radius,)

    def _size(self) -> list[tuple[str, str]]:
        return [("radius (KL, nats)", number(float(self.radius)))]


def _best_gap(above: Floats, p: Floats, radius: float) -> Floats:
    """The best distance s = min v - τ ≥ 0 for each column of v - min v over the letters seen, in floats.

    The derivative of -s + e^{-r} G(s), G(s) = Π (w_i + s)^{π_i}, falls with s; its sign is bisected on a log scale.
    """
    span = above.max(axis=0)
    scale = np.where(span > 0, span, 1.0)
    w = above / scale
    low, high = np.full(w.shape[1], -60.0), np.full(w.shape[1], math.log(4.0 / math.sqrt(min(radius, 1.0))) + 4.0)

    def rises(log_gap: Floats) -> Bools:
        # In units of the gap, so that masses below a unit of 1 still count.
        x = w / np.exp(log_gap)
        slope: Bools = p @ np.log1p(x) + np.log1p(-np.minimum(p @ (x / (1 + x)), 1 - 2.0**-53)) > radius
        return slope

    low = last_that_holds(rises, low, high, _STEPS)
    gap = np.exp(low) * scale
    # No rise even at the smallest gap: the letters at the minimum were never seen, or all entries are equal.
    result: Floats = np.where((low <= -59.9) | (span == 0), 0.0, gap)
    return result
