"""What counts, histograms and totals have in common: a release of many records, seen as a mechanism on one of them."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from leakwise.aggregate.arguments import read_noise, read_unknown
from leakwise.charts.shown import Drawn, Parts, Table
from leakwise.charts.specs import Spec, bars
from leakwise.charts.table import number
from leakwise.charts.words import Broken, Kept, Notice
from leakwise.errors import InvalidInput
from leakwise.exact import exact_fraction, float_above, log_upper
from leakwise.guarantee import at_most, lift_above
from leakwise.mechanism import Mechanism
from leakwise.proof import AggregateCertificate, Certificate, record_guarantee
from leakwise.types import Counts

if TYPE_CHECKING:
    from leakwise.aggregate.envelope import AggregateEnvelope
    from leakwise.aggregate.least_noise import LeastNoise
    from leakwise.sampling import SecureStream

__all__ = ["Aggregate", "finite_bars"]

# The probabilities at which a picture shows the leakage.
_SHOWN = ("0", "1e-9", "1e-6", "1e-3")
# Up to here the power of a ratio is written out.
_FEW_STEPS = 4096
# Noise that is drawn takes about so many trials at most; true answers and noise are 64-bit numbers.
_MOST_TRIALS, _MOST_STEPS = 10**8, 1 << 62


@dataclass(frozen=True, repr=False, eq=False)
class Aggregate(Drawn):
    """A release of many independent records, seen as a mechanism on one of them.

    Records that the adversary knows only shift the outcome, so that the unknown ones alone count. With the sum S of
    the other unknown records and the noise Z, P(y|x) = P(S + Z = y - g(x)), and P(y) is that of all of them.

    Attributes
    ----------
    unknown
        m, the records that the adversary does not know, with the one that it is after.
    noise
        ε of the two-sided geometric noise, P(Z = z) proportional to e^{-ε|z|}; None is no noise.
    ratio
        α ≥ e^{-ε}, exact: what the noise is drawn with.
    """

    unknown: int
    noise: float | None
    ratio: Fraction

    kind: ClassVar[str]

    # -- what each kind answers for itself ----------------------------------------------------------------------

    @property
    @abstractmethod
    def steps(self) -> int:
        """By how many steps of the noise a changed record can move the outcome, over all cells."""

    @property
    @abstractmethod
    def prior_words(self) -> str:
        """The prior of a record, in words."""

    @property
    @abstractmethod
    def certificate(self) -> AggregateCertificate | Certificate | None:
        """The proof of ``lift``; None where there is no bound."""

    @property
    @abstractmethod
    def largest(self) -> Fraction | None:
        """The largest lift of any outcome, exact, or an upper bound where ``exact`` is False; None without a bound."""

    @property
    @abstractmethod
    def mechanism(self) -> Mechanism:
        """The mechanism on one record in exact integers, with the outcomes clamped to what the records can be."""

    @abstractmethod
    def envelope(self, delta: object) -> AggregateEnvelope:
        """Return what the release tells about a record, except with probability delta, after any post-processing."""

    @property
    def unit(self) -> Fraction:
        """The step of the lattice on which the release lies."""
        return Fraction(1)

    @property
    def exact(self) -> bool:
        """Whether ``lift`` is the truth, not an upper bound."""
        return True

    def with_noise(self, noise: object) -> Self:
        """Return the same release with other noise.

        >>> from leakwise import aggregate
        >>> print(f"{aggregate.count(unknown=1000, prior=0.3).with_noise(1).epsilon:.4f}")
        0.5843
        """
        epsilon, ratio = read_noise(noise, self.unit)
        return replace(self, noise=epsilon, ratio=ratio)

    # -- figures ------------------------------------------------------------------------------------------------

    @property
    def lift(self) -> float:
        """The largest lift of any outcome, rounded up; infinite without a bound."""
        return math.inf if self.largest is None else float_above(self.largest)

    @property
    def epsilon(self) -> float:
        """The leakage in nats, rounded up: the logarithm of ``lift``."""
        return math.inf if self.largest is None else log_upper(self.largest)

    @property
    def anyone(self) -> float:
        """The lift for every prior, rounded up: e^ε of differential privacy, for anyone who knows all other records."""
        if not self.ratio:
            return math.inf
        if self.steps <= _FEW_STEPS:
            return float_above(1 / self.ratio**self.steps)
        power = lift_above(float_above(Fraction(log_upper(1 / self.ratio)) * self.steps))
        return float_above(power) if isinstance(power, Fraction) else power

    @property
    def deviation(self) -> float:
        """The standard deviation of the noise, on the count or on each cell."""
        alpha = float(self.ratio)
        return math.sqrt(2 * alpha) / float(1 - self.ratio) * float(self.unit)

    def noise_for(
        self, lift: object = None, *, epsilon: object = None, delta: object = 0, within: float = 1e-6
    ) -> LeastNoise:
        """Return the least noise that keeps a limit, or that none is needed, with the certificate that shows it.

        Parameters
        ----------
        lift, epsilon
            The limit, one of the two.
        delta
            The probability, over outcomes, of a leakage above the limit that is accepted.
        within
            How close to the least noise, as a share of its ε. The answer keeps the limit in any case.

        >>> from leakwise import aggregate
        >>> print(aggregate.count(unknown=10_000, prior=0.3).noise_for(lift=1.1, delta=1e-6).noise)
        None
        """
        from leakwise.aggregate.least_noise import least_noise

        return least_noise(self, lift, epsilon, delta, within)

    # -- drawing ------------------------------------------------------------------------------------------------

    def sample(
        self, answer: Any, *, records: int | None = None, clamp: bool = True, stream: SecureStream | None = None
    ) -> Any:
        """Draw the release of a true answer: the noise is added exactly.

        Parameters
        ----------
        answer
            The true answer: a number, or for a histogram one for each value.
        records
            How many records it is about, known ones among them; the unknown ones alone by default.
        clamp
            Put outcomes outside what the records can be on the ends. All outcomes beyond what the unknown ones can be
            have the same lifts, so that clamping changes no leakage.
        """
        from leakwise.sampling.geometric import two_sided_geometric

        about = self if records is None else replace(self, unknown=read_unknown(records, "records"))
        if about.unknown < self.unknown:
            raise InvalidInput(f"records must be at least the {self.unknown:,} unknown ones. Got {records!r} instead.")
        if (1 - self.ratio) * _MOST_TRIALS < 1 or about._last > _MOST_STEPS:
            raise InvalidInput(
                f"sample draws noise of an ε of at least {1 / _MOST_TRIALS:g} a step, and answers of at most 2^62 "
                f"steps. This {self.kind} has noise {self.noise!r}, and up to {about._last:,} steps."
            )
        truth = about._in_steps(answer)
        if self.ratio:
            truth = truth + two_sided_geometric(self.ratio, truth.size, stream).reshape(truth.shape)
        return about._from_steps(np.clip(truth, 0, about._last) if clamp else truth)

    @property
    def _last(self) -> int:
        """The largest answer, in steps."""
        return self.unknown

    def _in_steps(self, answer: Any) -> Counts:
        return self._whole(exact_fraction(answer, "answer"), answer)

    def _whole(self, steps: Fraction, answer: object) -> Counts:
        if steps.denominator != 1 or not 0 <= steps <= self._last:
            raise InvalidInput(
                f"answer must be what {self.unknown:,} records can add up to (records= says how many). Got {answer!r}."
            )
        return np.array(int(steps), dtype=np.int64)

    def _from_steps(self, steps: Counts) -> Any:
        return int(steps)

    # -- looks --------------------------------------------------------------------------------------------------

    @property
    def known(self) -> str:
        """How far the prior itself is known, where it comes from a sample; else nothing."""
        return ""

    @property
    def sentence(self) -> str:
        """What the release tells about a record, in words."""
        proof = self.certificate
        if proof is None:
            return (
                f"Without noise this {self.kind} can tell a record outright, and there is no bound for every outcome: "
                "some prior of the set makes a value as rare as it likes."
            )
        if isinstance(proof, AggregateCertificate):
            return f"{proof.sentence} {self.known}".rstrip()
        return f"{record_guarantee(self.largest, self.kind, self.unknown, Fraction(0))} {self.known}".rstrip()

    def _shown(self) -> Parts:
        bound = "" if self.exact else " (upper bound)"
        rows = [
            ["unknown records", f"{self.unknown:,}"],
            ["prior of a record", self.prior_words],
            ["two-sided geometric noise", "none" if self.noise is None else f"ε = {number(self.noise)}"],
            ["its standard deviation", number(self.deviation)],
            [f"largest lift of an outcome{bound}", at_most(self.lift, 6)],
            [f"leakage ε (nats){bound}", at_most(self.epsilon, 6)],
            ["lift for every prior", at_most(self.anyone, 6)],
        ]
        ask = Notice(
            "Rare outcomes set this figure: a delta leaves them out (.envelope, --delta), and a limit finds the least "
            "noise (.noise_for, --lift)."
        )
        words = Broken(self.sentence) if self.certificate is None else Kept(self.sentence)
        return [words, Table(["", f"{self.kind} of independent records"], rows, align="ll"), ask]

    def chart(self) -> dict[str, Any]:
        """The leakage at several probabilities of exception as a Vega-Lite bar chart."""
        found = [self.envelope(delta).epsilon for delta in _SHOWN]
        names = ["any outcome", *(f"except with probability {delta}" for delta in _SHOWN[1:])]
        pairs = list(zip(names, found, strict=True))
        return finite_bars(pairs, f"What a {self.kind} of {self.unknown:,} unknown records tells about one")

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "kind": self.kind,
            "unknown": self.unknown,
            "prior": self.prior_words,
            "noise": self.noise,
            "ratio": float_above(self.ratio),
            "deviation": self.deviation,
            "lift": self.lift,
            "epsilon": self.epsilon,
            "exact": self.exact,
            "anyone": self.anyone,
            "sentence": self.sentence,
        }


def finite_bars(pairs: Sequence[tuple[str, float]], title: str, **reference: Any) -> Spec:
    """Return leakages, in nats, as a Vega-Lite bar chart; what is infinite has no bar."""
    kept = {name: value for name, value in pairs if math.isfinite(value)}
    return bars(kept, kept.values(), title=title, value_title="nats", **reference)
