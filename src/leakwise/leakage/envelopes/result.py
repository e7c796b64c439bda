"""What ``lw.envelope`` returns: the value, its bounds, the post-processing that attains it, and the proof."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

from leakwise.charts.shown import Drawn, Parts, Table
from leakwise.charts.specs import bars
from leakwise.charts.table import number
from leakwise.charts.words import Kept
from leakwise.exact import float_above
from leakwise.guarantee import at_least, at_most
from leakwise.mechanism import Mechanism
from leakwise.priors import Prior
from leakwise.proof import EnvelopeCertificate

__all__ = ["Envelope"]


@dataclass(frozen=True, repr=False, eq=False)
class Envelope(Drawn):
    """ε_c(δ): what holds with probability 1-δ whatever is done to the outcome.

    Attributes
    ----------
    epsilon
        The envelope in nats, proven by ``certificate`` and rounded up.
    attained
        What ``post_processing`` reaches, exact and rounded down; ``gap`` is the difference.
    lower, upper
        The bounds of [EN]: max{δ-quantile of ℓ(Y), ε_b} (14), rounded down, and min{𝓛 + log 1/δ, ε} (Theorem 3),
        rounded up.
    binary
        ε_b of Algorithm 1, the most that a two-valued post-processing reaches, rounded down.
    delta
        The probability that is given up, exact.
    method
        The theorem or the algorithm that found the value.
    certificate
        A dual vector that proves ``epsilon``; ``certificate.verify()`` checks it on the integers.
    published
        For k-ary randomized response, h of [EN] Theorem 5, a lower bound; else None.
    """

    mechanism: Mechanism
    prior: Prior
    delta: Fraction
    epsilon: float
    attained: float
    lower: float
    upper: float
    binary: float
    method: str
    certificate: EnvelopeCertificate
    published: float | None = None
    solves: int = 0
    _make: Callable[[], Mechanism] = field(default=lambda: _none(), compare=False)

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

    @cached_property
    def post_processing(self) -> Mechanism:
        """A mechanism over the outcomes; ``mechanism.then`` it has probability ≥ δ of a leakage of at least
        ``attained``.
        """
        return self._make()

    def __getstate__(self) -> dict[str, Any]:
        # What makes the post-processing is a function of the search, which cannot be pickled: what it makes can.
        made = {"post_processing": self.post_processing}
        return {name: value for name, value in vars(self).items() if name != "_make"} | made

    @property
    def sentence(self) -> str:
        """The guarantee in words."""
        return self.certificate.sentence

    def _shown(self) -> Parts:
        of_set = self.certificate.prior is not self.certificate.prior.nominal
        every, nominal = (" (whole set)", " (nominal prior)") if of_set else ("", "")
        rows = [
            ["δ", at_most(self.delta, 6)],
            ["envelope ε_c(δ), proven" + every, at_most(self.epsilon, 6)],
            ["attained" + (nominal or " by a post-processing"), at_least(self.attained, 6)],
            ["gap", at_most(self.gap, 2)],
            ["upper bound (Theorem 3)" + every, at_most(self.upper, 6)],
            ["lower bound (14)" + nominal, at_least(self.lower, 6)],
            ["binary envelope ε_b" + (nominal or " (Algorithm 1)"), at_least(self.binary, 6)],
        ]
        if self.published is not None:
            rows.append(["h of Theorem 5", at_least(self.published, 6)])
        rows.append(["method", self.method])
        return [Table(["", "envelope (nats)"], rows, Kept(self.sentence))]

    def chart(self) -> dict[str, Any]:
        """The bounds around the value as a Vega-Lite bar chart."""
        names = ["ε_b", "lower bound", "envelope", "upper bound"]
        values = [self.binary, self.lower, self.epsilon, self.upper]
        return bars(
            names,
            values,
            title=f"Leakage that survives post-processing, except with probability {number(float_above(self.delta))}",
            value_title="nats",
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "delta": float_above(self.delta),
            "epsilon": self.epsilon,
            "attained": self.attained,
            "gap": self.gap,
            "lower": self.lower,
            "upper": self.upper,
            "binary": self.binary,
            "published": self.published,
            "method": self.method,
            "sentence": self.sentence,
            "certificate": self.certificate.to_dict(),
        }


def _none() -> Mechanism:
    raise AssertionError("an envelope is made with its post-processing")
