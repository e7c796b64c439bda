"""A count of records: the lift rises with the outcome, is largest in the tail, and tails are the worst events."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from leakwise.aggregate.aggregate import Aggregate
from leakwise.aggregate.arguments import read_delta, read_noise, read_unknown
from leakwise.aggregate.envelope import AggregateEnvelope, Piece, attained_by_thresholds, by_thresholds, result
from leakwise.aggregate.exact_mechanism import refuse_long
from leakwise.aggregate.side import attained_lift
from leakwise.errors import InvalidInput
from leakwise.exact import clamped_noisy_law, exact_fraction, float_above, law_of_sum
from leakwise.mechanism import DenseKernel, Mechanism
from leakwise.priors import Hull, Prior, PriorSet
from leakwise.proof import AggregateCertificate
from leakwise.types import Floats

__all__ = ["Count", "count"]

_MOST_PIECES = 16
# A proven value within this share of an attained one is close enough to stop dividing an interval of priors.
_CLOSE = Fraction(1, 1000)
_MOST_OUTCOMES = 5_000_000
_LEAST_CHANCE = Fraction(1, 10**300)  # floats are coarse below


@dataclass(frozen=True, repr=False, eq=False)
class Count(Aggregate):
    """A noisy count of the records that have a property, as a mechanism on one of them.

    Attributes
    ----------
    low, high
        The interval of the probability that a record has the property; equal where it is known.
    """

    low: Fraction
    high: Fraction

    kind: ClassVar[str] = "count"

    @property
    def steps(self) -> int:
        return 1

    @property
    def prior_words(self) -> str:
        if self.low == self.high:
            return f"1 with probability {float(self.low):.10g}"
        return f"1 with probability {float(self.low):.10g} to {float(self.high):.10g}"

    @property
    def prior(self) -> PriorSet:
        """The prior of a record over 0 and 1, or the set of those of the interval."""
        ends = [Prior({0: 1 - p, 1: p}) for p in sorted({self.low, self.high})]
        return ends[0] if len(ends) == 1 else Hull(ends)

    def _pieces(self, parts: int) -> list[Piece]:
        """The interval in equal parts, each by the least probabilities of 1 and of 0."""
        edges = [self.low + (self.high - self.low) * Fraction(i, parts) for i in range(parts + 1)]
        return [(left, 1 - right) for left, right in itertools.pairwise(edges)]

    @property
    def largest(self) -> Fraction | None:
        """The largest lift: 1/(p + (1-p)α) for the rarer value, that of the tail, for every m."""
        if self.low == self.high and self.low in (0, 1):
            return Fraction(1)
        bottom = min(p + (1 - p) * self.ratio for p in (self.low, 1 - self.high))
        return 1 / bottom if bottom else None

    @property
    def certificate(self) -> AggregateCertificate | None:
        if self.largest is None:
            return None
        nothing = ((Fraction(0), 0), (Fraction(0), 0))
        pieces = tuple(self._pieces(1))
        return AggregateCertificate(
            self.kind, self.unknown, self.ratio, pieces, (nothing,), self.largest, Fraction(0)
        ).verify()

    def envelope(self, delta: object) -> AggregateEnvelope:
        """Return what the count tells about a record, except with probability delta, after any post-processing.

        The best event for a value is a tail of the outcomes, found in floats and proven between rationals, for a
        thousand records or a hundred million. For an interval of priors the least probability of each value is the
        worst for that value; the interval is divided until both values together are bounded closely.

        >>> print(f"{count(unknown=10_000, prior=0.3).envelope(1e-6).lift:.4f}")
        1.0761
        """
        rare = read_delta(delta)
        if rare == 0:
            least = self.largest or Fraction(1)
            return result(self, rare, self.largest, least, self.certificate, "the tail, in closed form")
        parts = 1
        while True:
            pieces = self._pieces(parts)
            lift, proof, events = by_thresholds(self, pieces, rare, self.ratio)
            if self.low == self.high:
                reached = attained_lift(events[0], rare)
            else:
                edges = {left for left, _ in pieces} | {self.high}
                reached = max(attained_by_thresholds(self, (p, 1 - p), rare, self.ratio) for p in edges)
            close = lift is None or lift - reached <= _CLOSE * max(lift - 1, Fraction(1, 10**9))
            if self.low == self.high or close or parts >= _MOST_PIECES:
                return result(self, rare, lift, reached, proof, "thresholds on the count")
            parts *= 2

    @cached_property
    def pml(self) -> Floats:
        """The leakage of each outcome 0 … m in nats, rounded up; those beyond the ends are as these.

        >>> print(count(unknown=3, prior=0.5, noise=1).pml.round(4))
        [0.3799 0.172  0.172  0.3799]
        """
        if self.low != self.high:
            raise InvalidInput("pml needs one prior: an outcome has a leakage for each one of an interval.")
        if self.unknown > _MOST_OUTCOMES:
            raise InvalidInput(f"pml writes out at most {_MOST_OUTCOMES:,} outcomes. Use envelope(delta) instead.")
        from leakwise.aggregate.outcome_lifts import outcome_lifts

        if self.low in (0, 1):
            return np.zeros(self.unknown + 1)
        if min(self.low, 1 - self.low) < _LEAST_CHANCE:
            raise InvalidInput("pml is computed in floats, for probabilities of at least 1e-300. Use envelope(delta).")
        lifts = outcome_lifts(self.unknown, self.low, self.ratio)
        leaks: Floats = np.maximum(np.log(np.minimum(lifts, self.lift)) * (1 + 2.0**-50), 0.0)
        return np.minimum(leaks, self.epsilon)

    @cached_property
    def mechanism(self) -> Mechanism:
        if self.low != self.high:
            raise InvalidInput("mechanism needs one prior: what the others' count adds depends on it.")
        one, unit = self.low.numerator, self.low.denominator
        refuse_long(
            self, 2 * (self.unknown + 1), self.unknown * (unit.bit_length() + self.ratio.denominator.bit_length())
        )
        law = law_of_sum([unit - one, one], self.unknown - 1)
        rows, denominator = clamped_noisy_law(law, unit ** (self.unknown - 1), self.ratio, [0, 1], self.unknown)
        kernel = DenseKernel(np.array(rows, dtype=np.object_), denominator)
        return Mechanism.from_kernel(kernel, [0, 1], list(range(self.unknown + 1)))

    def to_dict(self) -> dict[str, Any]:
        return {**super().to_dict(), "prior": [float_above(self.low), float_above(self.high)]}


def count(*, unknown: int, prior: object, noise: object = None) -> Count:
    """Return a count of independent records, as a mechanism on one of them.

    P(y|x) = Q_{m-1}(y - x) and P(y) = Q_m(y), with Q the distribution of a binomial count plus the noise. Q is
    log-concave, so that the largest lift is in the tail, e^ε/(1-p+pe^ε) with p the rarer value's probability, for every
    m. What happens with all but a small probability is far less: ``.envelope(delta)``.

    Parameters
    ----------
    unknown
        m, the records that the adversary does not know, with the one that it is after. Known ones shift the count.
    prior
        The probability that a record has the property; or the pair of both ends of an interval, for the worst in it.
    noise
        ε of two-sided geometric noise, P(Z = z) proportional to e^{-ε|z|}; None is no noise.

    Examples
    --------
    >>> c = count(unknown=1000, prior=0.3, noise=1)
    >>> print(f"{c.epsilon:.4f} {c.envelope(1e-6).epsilon:.4f} {c.anyone:.4f}")
    0.5843 0.2172 2.7183
    """
    records = read_unknown(unknown)
    ends = prior if isinstance(prior, (tuple, list)) else (prior, prior)
    if len(ends) != 2:
        raise InvalidInput(f"prior must be a probability, or the two ends of an interval. Got {prior!r} instead.")
    low, high = (exact_fraction(end, "prior") for end in ends)
    if not 0 <= low <= high <= 1:
        raise InvalidInput(
            f"prior must be a probability between 0 and 1, or the lower and the upper end of an interval of them. "
            f"Got {prior!r} instead."
        )
    return Count(records, *read_noise(noise), low, high)
