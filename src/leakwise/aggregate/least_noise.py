"""The least noise that keeps a limit, and whether any is needed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from leakwise.aggregate.aggregate import Aggregate, finite_bars
from leakwise.aggregate.arguments import read_delta
from leakwise.aggregate.envelope import AggregateEnvelope
from leakwise.charts.shown import Drawn, Parts, Table
from leakwise.charts.words import Kept
from leakwise.errors import Infeasible
from leakwise.exact import Level, as_typed, float_above, float_below, last_that_holds, level, log_upper
from leakwise.guarantee import at_least, at_most
from leakwise.proof import AggregateCertificate, Certificate, EnvelopeCertificate

__all__ = ["LeastNoise", "least_noise"]

# An ε of noise beyond which an outcome is wrong once in 10^17 times: as good as none.
_NEXT_TO_NONE = 40.0


@dataclass(frozen=True, repr=False, eq=False)
class LeastNoise(Drawn):
    """The least noise that keeps a limit on what an aggregate tells about a record.

    Attributes
    ----------
    noise
        The largest ε of the noise that was found to keep the limit; None where no noise is needed.
    aggregate
        The release with that noise.
    asked, delta
        The limit, and the probability of an exception.
    found
        What is proven with that noise.
    without
        What the release tells without noise, at the same δ.
    """

    aggregate: Aggregate
    asked: Level
    delta: Fraction
    found: AggregateEnvelope
    without: AggregateEnvelope

    @property
    def noise(self) -> float | None:
        """The largest ε of the noise that was found to keep the limit; None where no noise is needed."""
        return self.aggregate.noise

    @property
    def needed(self) -> bool:
        """Whether noise was added: without it, that the limit is kept is not proven."""
        return self.noise is not None

    @property
    def needs(self) -> bool:
        """Whether it is proven that the limit is exceeded without noise."""
        return self.without.certificate is None or self.without.attained > log_upper(self.asked.above)

    @property
    def certificate(self) -> AggregateCertificate | EnvelopeCertificate | Certificate | None:
        """The proof that the limit is kept."""
        return self.found.certificate

    @property
    def sentence(self) -> str:
        """The answer in words."""
        kind = self.aggregate.kind
        if self.noise is None:
            return f"This {kind} needs no noise for this limit. {self.found.sentence}"
        start = f"This {kind} needs noise:" if self.needs else f"That this {kind} needs no noise is not proven;"
        return (
            f"{start} ε = {at_least(self.noise)} is enough, a standard deviation of "
            f"{at_most(self.aggregate.deviation)}. {self.found.sentence}"
        )

    def _shown(self) -> Parts:
        rows = [
            ["limit", self.asked.words],
            ["except with probability δ", at_most(as_typed(self.delta), 6)],
            ["noise ε", "none needed" if self.noise is None else at_least(self.noise, 6)],
            ["standard deviation of the noise", at_most(self.aggregate.deviation, 6)],
            ["lift, proven", at_most(self.found.lift, 6)],
            ["lift without noise, proven", at_most(self.without.lift, 6)],
            ["lift for every prior", at_most(self.aggregate.anyone, 6)],
        ]
        return [Kept(self.sentence), Table(["", f"noise for a {self.aggregate.kind}"], rows, align="ll")]

    def chart(self) -> dict[str, Any]:
        """The leakage without noise and with the least as a Vega-Lite bar chart, beside the limit."""
        pairs = [("without noise", self.without.epsilon), ("with the least noise", self.found.epsilon)]
        return finite_bars(
            pairs,
            f"What the {self.aggregate.kind} tells, except with probability {at_most(as_typed(self.delta))}",
            reference=self.asked.epsilon,
            reference_label="limit",
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "needed": self.needed,
            "noise": self.noise,
            "deviation": self.aggregate.deviation,
            "limit": float_above(self.asked.above),
            "delta": float_above(self.delta),
            "lift": self.found.lift,
            "epsilon": self.found.epsilon,
            "needs": self.needs,
            "without_noise": self.without.lift,
            "anyone": self.aggregate.anyone,
            "sentence": self.sentence,
            "certificate": None if self.certificate is None else self.certificate.to_dict(),
        }


def least_noise(aggregate: Aggregate, lift: object, epsilon: object, delta: object, within: float) -> LeastNoise:
    """See :meth:`Aggregate.noise_for`.

    Noise of ratio α' > α is noise of ratio α plus something independent, so that more noise never tells more: what
    keeps the limit is an interval of ε.
    """
    asked, rare = level(epsilon, lift), read_delta(delta)
    without = aggregate.with_noise(None).envelope(rare)

    def kept(found: AggregateEnvelope) -> bool:
        return found.certificate is not None and asked.allows(_proven(found))

    if kept(without):
        return LeastNoise(without.aggregate, asked, rare, without, without)
    # At this ε no prior whatever gives a larger lift than the limit.
    sure = math.log(float_below(asked.below)) / aggregate.steps / float(aggregate.unit) * (1 - 1e-12)
    if sure < 1e-15:
        raise Infeasible(
            f"The limit {asked.words} leaves no room: only a {aggregate.kind} that is nothing but noise keeps it. "
            "Use a lift above 1, or a larger delta."
        )

    def holds(noise: float) -> bool:
        return kept(aggregate.with_noise(noise).envelope(rare))

    most = max(_NEXT_TO_NONE / float(aggregate.unit), 2 * sure)
    chosen = aggregate.with_noise(last_that_holds(holds, sure, most, within=within))
    return LeastNoise(chosen, asked, rare, chosen.envelope(rare), without)


def _proven(found: AggregateEnvelope) -> Fraction:
    """The lift of the certificate, exact."""
    proof = found.certificate
    if isinstance(proof, Certificate):
        assert proof.ratio is not None
        return proof.ratio
    assert proof is not None
    return proof.lift
