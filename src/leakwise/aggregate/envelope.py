"""What an aggregate tells about one record, except with a small probability: the result, and how it is proven."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from leakwise.aggregate.aggregate import Aggregate, finite_bars
from leakwise.aggregate.side import Measured, Side, attained_lift, proven_lift
from leakwise.charts.shown import Drawn, Parts, Table
from leakwise.charts.words import Broken, Kept, Notice
from leakwise.errors import CertificateRejected
from leakwise.exact import as_typed, float_above, log_lower, log_upper
from leakwise.guarantee import at_least, at_most
from leakwise.leakage import Envelope
from leakwise.proof import AggregateCertificate, Certificate, EnvelopeCertificate, record_guarantee

__all__ = ["AggregateEnvelope", "attained_by_thresholds", "by_thresholds", "of_program", "result"]

Piece = tuple[Fraction, ...]
_LOOSE = 0.1  # of a leakage: a gap that is said in words


@dataclass(frozen=True, repr=False, eq=False)
class AggregateEnvelope(Drawn):
    """ε_c(δ) of an aggregate: what it tells about a record whatever is done to it, except with probability δ.

    Attributes
    ----------
    aggregate, delta
        What is released, and the probability that is given up, exact.
    epsilon
        The leakage in nats, proven by ``certificate`` and rounded up.
    attained
        What some event of probability δ reaches, rounded down; ``gap`` is the difference.
    certificate
        What :func:`leakwise.verify` checks once it is saved; None where there is no bound.
    method
        How it was found.
    """

    aggregate: Aggregate
    delta: Fraction
    lift: float
    epsilon: float
    attained: float
    certificate: AggregateCertificate | EnvelopeCertificate | Certificate | None
    method: str

    @property
    def value(self) -> float:
        """What is attained, in nats; ``bound`` is what is proven."""
        return self.attained

    @property
    def bound(self) -> float:
        """The same as ``epsilon``."""
        return self.epsilon

    @property
    def gap(self) -> float:
        """How far the proven value may be from the truth."""
        return max(0.0, self.epsilon - self.attained)

    @property
    def sentence(self) -> str:
        """The guarantee in words."""
        proof = self.certificate
        if isinstance(proof, AggregateCertificate) and proof.kind == self.aggregate.kind:
            words = proof.sentence
        elif isinstance(proof, AggregateCertificate | EnvelopeCertificate):  # or of a mechanism that was written out
            words = record_guarantee(proof.lift, self.aggregate.kind, self.aggregate.unknown, self.delta)
            if isinstance(proof, AggregateCertificate):
                words += f" It is proven of a {proof.kind} of the same records, which tells at least as much."
        else:
            return self.aggregate.sentence
        return f"{words} {self.aggregate.known}".rstrip()

    def _shown(self) -> Parts:
        rows = [
            ["δ", at_most(as_typed(self.delta), 6)],
            ["leakage ε (nats), proven", at_most(self.epsilon, 6)],
            ["lift e^ε, proven", at_most(self.lift, 6)],
            ["attained (nats)", at_least(self.attained, 6)],
            ["gap", at_most(self.gap, 2)],
            ["for any outcome, δ = 0 (nats)", at_most(self.aggregate.epsilon, 6)],
            ["lift for every prior", at_most(self.aggregate.anyone, 6)],
            ["method", self.method],
        ]
        words = Broken(self.sentence) if self.certificate is None else Kept(self.sentence)
        parts: list[Any] = [words, Table(["", f"{self.aggregate.kind} of records"], rows, align="ll")]
        if self.certificate is not None and self.gap > _LOOSE * self.epsilon:
            parts.append(Notice("This is an upper bound that no known event reaches: the truth may be lower."))
        if self.aggregate.noise is None:
            parts.append(Notice("Only the other unknown records hide this one: whoever learns them learns more."))
        return parts

    def chart(self) -> dict[str, Any]:
        """The leakage with and without the exception as a Vega-Lite bar chart."""
        pairs = [("any outcome", self.aggregate.epsilon), ("proven", self.epsilon), ("attained", self.attained)]
        return finite_bars(
            pairs, f"What the {self.aggregate.kind} tells, except with probability {at_most(as_typed(self.delta))}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "delta": float_above(self.delta),
            "lift": self.lift,
            "epsilon": self.epsilon,
            "attained": self.attained,
            "gap": self.gap,
            "method": self.method,
            "sentence": self.sentence,
            "aggregate": self.aggregate.to_dict(),
            "certificate": None if self.certificate is None else self.certificate.to_dict(),
        }


def result(
    aggregate: Aggregate,
    delta: Fraction,
    lift: Fraction | None,
    attained: Fraction,
    certificate: AggregateCertificate | EnvelopeCertificate | Certificate | None,
    method: str,
) -> AggregateEnvelope:
    """Return a result from exact lifts."""
    return AggregateEnvelope(
        aggregate,
        delta,
        math.inf if lift is None else float_above(lift),
        math.inf if lift is None else log_upper(lift),
        max(0.0, log_lower(attained)),
        certificate,
        method,
    )


def of_program(aggregate: Aggregate, delta: Fraction, found: Envelope, bound: str | None = None) -> AggregateEnvelope:
    """Return the result of the linear program on a mechanism that is written out; ``bound`` says that it is no more."""
    lift, attained = float_above(found.certificate.lift), 0.0 if bound else found.attained
    return AggregateEnvelope(aggregate, delta, lift, found.epsilon, attained, found.certificate, bound or found.method)


def by_thresholds(
    aggregate: Aggregate, pieces: Sequence[Piece], delta: Fraction, ratio: Fraction
) -> tuple[Fraction | None, AggregateCertificate | None, list[list[Measured]]]:
    """Return the lift that thresholds on the counts prove for all pieces, its certificate, and the events of each.

    ``ratio`` is that of the noise on the counts; 0 where the counts without noise are to bound those with it.
    """
    found = [proven_lift(_sides(aggregate, piece, ratio), delta) for piece in pieces]
    lifts = [lift for lift, _ in found]
    events = [measured for _, measured in found]
    if None in lifts:
        return None, None, events
    lift = max(one for one in lifts if one is not None)
    marks = []
    for piece, measured in zip(pieces, events, strict=True):
        own = iter(measured)  # of the values in the support alone
        marks.append(tuple(next(own).mark if _possible(piece, chance) else (Fraction(0), 0) for chance in piece))
    claim = AggregateCertificate(
        aggregate.kind, aggregate.unknown, aggregate.ratio, tuple(pieces), tuple(marks), lift, delta
    )
    try:
        return lift, claim.verify(), events
    except CertificateRejected:
        # Lifts closer to each other than ninety bits: the largest of all is as good, and needs no thresholds.
        if aggregate.largest is None:
            raise
        proof = aggregate.certificate
        assert isinstance(proof, AggregateCertificate)
        return aggregate.largest, proof, events


def attained_by_thresholds(aggregate: Aggregate, piece: Piece, delta: Fraction, ratio: Fraction) -> Fraction:
    """Return a lift that events of probability delta on the counts of the values reach, for one prior."""
    return attained_lift(proven_lift(_sides(aggregate, piece, ratio), delta)[1], delta)


def _possible(piece: Piece, chance: Fraction) -> bool:
    """Whether a value is in the support: a least probability of 0 leaves it there, a single prior's does not."""
    return bool(chance) or sum(piece) < 1


def _sides(aggregate: Aggregate, piece: Piece, ratio: Fraction) -> list[Side]:
    least = aggregate.ratio**aggregate.steps
    return [Side(aggregate.unknown, chance, ratio, least) for chance in piece if _possible(piece, chance)]
