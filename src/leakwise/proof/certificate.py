"""Certificates of privacy: data that anyone can check again, without trusting whoever found it."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import msgspec

from leakwise.alphabet import Alphabet, Label, label_to_plain, newest
from leakwise.documents import read_document, read_integer, write_document, write_integer
from leakwise.errors import CertificateRejected, InvalidInput, label_text
from leakwise.exact import Level, float_above, log_upper
from leakwise.guarantee import at_most, failure_at_most, no_guess, without_advice
from leakwise.mechanism import CodeKernel, Mechanism, SetMechanism
from leakwise.mechanism.files import mechanism_from_body, mechanism_to_body, sets_to_body
from leakwise.mechanism.mechanism import align_prior
from leakwise.priors import Prior, PriorSet
from leakwise.priors.sets.files import NEW_SETS, set_from_body, set_to_body
from leakwise.priors.support import over_support
from leakwise.proof.certificate_file import (
    CODED,
    EDGES,
    FORMAT,
    IN_TOTAL,
    LIMITED,
    MARGIN,
    PLAIN,
    VERSION,
    CertificateBody,
    LimitedBody,
    SurvivingBody,
)
from leakwise.proof.excess import more_than_asked, telling_digits
from leakwise.proof.kept_limits import KeptLimit, kept_limits
from leakwise.proof.limits import NO_LIMITS, AskedLimits, asked_limits
from leakwise.proof.limits_file import (
    level_body,
    level_from_body,
    limits_body,
    limits_from_body,
    numbers_body,
    numbers_from_body,
)
from leakwise.proof.optimality import OptimalityClaim, check_optimality, claim_from_body, claim_to_body
from leakwise.proof.outcomes import lift_of_outcome, name_of_outcome, number_of_outcome, worst_of, worst_of_anyone
from leakwise.proof.ratio import WorstOutcome
from leakwise.proof.sets import is_exact
from leakwise.proof.shown import ShownCertificate
from leakwise.proof.tails import check_failure

__all__ = ["Certificate", "LimitedBody", "certificate_from_body", "certify", "load_certificate"]


@dataclass(frozen=True, repr=False)
class Certificate(ShownCertificate):
    """A proof that a mechanism leaks at most so much about a secret with this prior.

    Attributes
    ----------
    mechanism, prior
        What the claim is about, with the exact integers that a release draws from.
    ratio
        The largest lift of any outcome, exact (for a KL ball or a layer cake rounded up); None when it has no bound,
        because a prior of the set gives an outcome no mass although a letter can cause it.
    epsilon_upper
        Its logarithm, rounded up: the ε of ε-PML that is proven.
    asked
        The largest lift that was asked for, if any.
    further
        The other limits that were asked for: for any prior whatever, and value by value.
    holds
        Whether every limit is kept, decided without rounding.
    outcome, letter
        Where the largest lift is reached.
    optimality
        For a design, the proof that no mechanism within the bound is better.
    remark
        For a design without such a proof: why only its privacy is checked again.
    dual
        One number per value, where a lift is to survive post-processing: the vector that proves it.
    """

    mechanism: Mechanism
    prior: PriorSet
    ratio: Fraction | None
    outcome: Label
    letter: Label
    asked: Level | None = None
    optimality: OptimalityClaim | None = None
    remark: str | None = None
    further: AskedLimits = NO_LIMITS
    dual: tuple[Fraction, ...] = ()

    @property
    def limits(self) -> AskedLimits:
        """Everything that was asked for."""
        return replace(self.further, level=self.asked)

    @cached_property
    def kept(self) -> tuple[KeptLimit, ...]:
        """Each further limit that was asked for, and whether it is kept, on the exact integers."""
        return tuple(kept_limits(self.mechanism, self.prior, self.further, self.dual))

    @cached_property
    def anyone(self) -> Fraction | None:
        """The lift that no prior whatever exceeds (e^ε of local differential privacy), exact; None without a bound."""
        return worst_of_anyone(self.mechanism)[0]

    @property
    def epsilon_upper(self) -> float:
        """The proven ε, rounded up; infinite when nothing is proven."""
        return over_support(math.inf if self.ratio is None else log_upper(self.ratio), self.prior)

    @property
    def largest_lift(self) -> float:
        """The largest lift as a float, infinite when it has no bound or is beyond floats."""
        return math.inf if self.ratio is None else float_above(self.ratio)

    @property
    def printed_lift(self) -> str:
        """The largest lift as text, rounded up; with the digits that show it when it is above the limit."""
        if self.ratio is None:
            return "∞"
        if self.asked is None or self._within:
            return at_most(self.ratio)
        return at_most(self.ratio, telling_digits(self.ratio, self.asked))

    @property
    def printed_limit(self) -> str:
        """The limit asked for as a lift, in the digits of :attr:`printed_lift`: the two never change places."""
        if self.asked is None:
            return "∞"
        if self.ratio is None or self._within:
            return at_most(self.asked.shown)
        return at_most(self.asked.above, telling_digits(self.ratio, self.asked))

    @property
    def holds(self) -> bool:
        """Whether the mechanism keeps every limit asked for; when none was asked, whether any bound holds."""
        return self._within and all(one.kept for one in self.kept)

    @property
    def _within(self) -> bool:
        """Whether the largest lift is within the one asked for."""
        return self.ratio is not None and (self.asked is None or self.asked.allows(self.ratio))

    @property
    def failure(self) -> float:
        """The probability, over the sample, that the prior itself is wrong; 0 for a prior taken as known."""
        return self.prior.failure

    @property
    def sentence(self) -> str:
        """The guarantee in words."""
        if self.ratio is None:
            return (
                f"Seeing the outcome {self.outcome!r} can make a guess any number of times as likely, without any "
                f"bound: a prior of the set gives it no chance, and the value {self.letter!r} can cause it. The "
                "guarantee does not hold."
            )
        words = no_guess(self.ratio, self.prior, anyone=None if self.further.anyone is None else self.anyone)
        if self.asked is not None and not self._within:
            words += f" {more_than_asked(self.mechanism, self.prior, self.ratio, self.asked)}"
        for one in self.kept:
            words += f" {one.sentence if one.kept else one.excess}".rstrip()
        words = without_advice(words) if self.further.in_total or self.further.lip is not None else words
        return words if self._within == self.holds else f"{words} The guarantee does not hold."

    def verify(self) -> Certificate:
        """Compute everything again from the integers; raise CertificateRejected when the claim is not proven."""
        check_failure(self.prior)
        return self.verify_for_the_set()

    def verify_for_the_set(self) -> Certificate:
        """Check all but where the set of priors comes from: its failure probability may be stated, not proven."""
        found = worst_of(self.mechanism, self.prior)
        # Without an exact number to agree on, the claim must be one that the computation bears out.
        agrees = found.ratio == self.ratio
        if not is_exact(self.prior) and found.ratio is not None and self.ratio is not None:
            agrees = found.ratio <= self.ratio
        if not agrees:
            given = math.inf if found.ratio is None else float(found.ratio)
            raise CertificateRejected(
                f"The certificate claims a largest lift of {self.largest_lift:.12g}; its integers give "
                f"{given:.12g}. Do not rely on it; certify the mechanism again."
            )
        self._check_place(found)
        if not self.holds:
            raise CertificateRejected(self.sentence)
        if self.optimality is not None:
            check_optimality(self.optimality, self.mechanism, self.prior, self.limits)
        return self

    def _check_place(self, found: WorstOutcome) -> None:
        """The outcome and the letter that are shown must be where the largest lift is reached; ties are all fine."""
        outcome = number_of_outcome(self.mechanism, self.outcome)
        letter = self.mechanism.inputs.index(self.letter)
        if found.ratio is None or (outcome, letter) == (found.outcome, found.letter):
            return
        here = lift_of_outcome(self.mechanism, self.prior, outcome, letter)
        # Bounds that rest on a search in floats agree to half their digits on every machine.
        least = found.ratio if is_exact(self.prior) else found.ratio * (1 - Fraction(1, 1 << 26))
        if here is None or here < least:
            raise CertificateRejected(
                f"The certificate shows the largest lift at the outcome {self.outcome!r} for {self.letter!r}; it is "
                f"reached at {name_of_outcome(self.mechanism, found.outcome)!r} for "
                f"{self.mechanism.inputs[found.letter]!r}."
            )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the certificate, with the mechanism and the prior it speaks of."""
        kept = self.optimality is not None and self.optimality.kept is not None
        new = self.further or kept or isinstance(self.prior, NEW_SETS)
        version = LIMITED if new else PLAIN
        if isinstance(self.mechanism, SetMechanism):
            return write_document(path, FORMAT, VERSION, self.to_body())
        version = CODED if isinstance(self.mechanism.kernel, CodeKernel) else version
        version = MARGIN if self.optimality is not None and self.optimality.utility == "margin" else version
        version = newest(version, EDGES, self.mechanism.input_alphabet, self.mechanism.output_alphabet)
        version = version if self.further.in_total is None else IN_TOTAL
        write_document(path, FORMAT, version, self.to_body())

    def to_body(self) -> CertificateBody:
        """Return the certificate as a file body."""
        m = self.mechanism
        own = sets_to_body(m) if isinstance(m, SetMechanism) else mechanism_to_body(m)
        body = CertificateBody(
            own,
            self.prior.nominal.to_body(),
            # Without a bound: one over zero.
            write_integer(1 if self.ratio is None else self.ratio.numerator),
            write_integer(0 if self.ratio is None else self.ratio.denominator),
            number_of_outcome(self.mechanism, self.outcome),
            self.mechanism.inputs.index(self.letter),
            level_body(self.asked),
            None if isinstance(self.prior, Prior) else set_to_body(self.prior),
            None if self.optimality is None else claim_to_body(self.optimality),
            self.remark,
        )
        if not self.further:
            return body
        parts = {**msgspec.structs.asdict(body), "further": limits_body(self.further, self.letters)}
        return SurvivingBody(**parts, dual=numbers_body(self.dual)) if self.dual else LimitedBody(**parts)

    @property
    def letters(self) -> Alphabet:
        """The values by the names that limits have for them."""
        declared = self.mechanism.input_alphabet.declared
        return self.mechanism.input_alphabet if declared else self.prior.alphabet

    def _rows(self) -> list[list[str]]:
        rows = [
            ["proven ε (nats, rounded up)", at_most(self.epsilon_upper, 6)],
            ["largest lift e^ε", self.printed_lift],
            ["reached at outcome", label_text(self.outcome)],
            ["by value", label_text(self.letter)],
        ]
        if self.asked is not None:
            rows.append(["asked", self.asked.words])
        rows += [[one.name, one.limit] for one in self.kept]
        if self.asked is not None or self.further:
            rows.append(["holds", "yes" if self.holds else "NO"])
        if self.failure:
            rows.append(["failure probability of the prior", failure_at_most(self.prior)])
        if self.optimality is not None:
            rows += self.optimality.rows
            rows += [["and within", "the limits of single values"]] if self.further.by_value else []
        elif self.remark is not None:
            rows.append(["optimality is not checked:", self.remark])
        return rows

    def _plain_ratio(self) -> str | float:
        if self.ratio is None:
            return math.inf
        return str(self.ratio) if self.ratio.denominator.bit_length() < 4096 else float_above(self.ratio)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: the claim and the verdict."""
        return {
            "holds": self.holds,
            "epsilon_upper": float(self.epsilon_upper),
            "ratio": self._plain_ratio(),
            "asked": None if self.asked is None else self.asked.words,
            "limits": [{"name": one.name, "limit": one.limit, "kept": one.kept} for one in self.kept],
            "outcome": label_to_plain(self.outcome),
            "letter": label_to_plain(self.letter),
            "failure": self.failure,
            "sentence": self.sentence,
            "optimality": self._plain_optimality(),
        }

    def _plain_optimality(self) -> dict[str, Any] | str | None:
        if self.optimality is None:
            return None if self.remark is None else f"Only the privacy is checked, not the optimality: {self.remark}."
        claim = self.optimality
        words = claim.words + (" and the limits of single values" if self.further.by_value else "")
        return {"utility": claim.utility, "value": claim.value, "bound": claim.bound, "compared_with": words}


# A ratio that rests on logarithms is rounded up to so many bits, so that another machine's last digits agree with it.
_BITS = 36


def _rounded_up(ratio: Fraction) -> Fraction:
    return Fraction(-((-ratio.numerator << _BITS) // ratio.denominator), 1 << _BITS)


def certify(
    mechanism: Mechanism,
    prior: Any,
    epsilon: object = None,
    *,
    lift: object = None,
    anyone: object = None,
    ldp: object = None,
    lip: object = None,
    lift_of: Mapping[Any, object] | None = None,
    ceiling: Mapping[Any, object] | None = None,
    floor: Mapping[Any, object] | None = None,
    maximal_leakage: object = None,
) -> Certificate:
    """Prove what a mechanism leaks, on the exact integers that a release draws from.

    Computes max_j max_i p_ij / min_Q Q·p_j as one rational number and compares it with e^ε without rounding. Without
    ``epsilon`` or ``lift`` it certifies the leakage it finds.

    Parameters
    ----------
    mechanism
        The mechanism, or a stratified one.
    prior
        A Prior, or a set of priors; for a stratified mechanism a :class:`PriorByStratum`.
    epsilon, lift
        The limit to keep: ε in nats, or e^ε. A float means its exact binary value.
    anyone, ldp
        The largest lift for any prior whatever; or the same limit in nats, the ε of local differential privacy.
    lip
        Local information privacy: every lift within e^±lip.
    lift_of, ceiling, floor
        Limits of single values: the largest lift (``{"HIV": 1.2}``), the largest posterior, also of a tuple or a
        frozenset of values (``{"HIV": 0.05}``), the least lift (``{"HIV": 0.5}``).
    maximal_leakage
        The largest log Σ_j max_i p_ij over the values that can occur, in nats.

    Examples
    --------
    >>> from leakwise import Prior, randomized_response
    >>> certificate = certify(randomized_response(2, lift=3), Prior.uniform(2), lift=1.5)
    >>> certificate.holds, certificate.ratio
    (True, Fraction(3, 2))
    >>> print(certify(randomized_response(2, lift=3), Prior.uniform(2), lift=2, anyone=3).sentence)
    No guess about the secret becomes more than 1.5 times as likely by seeing the outcome, for anyone who knew the \
prior, nor more than 3 times as likely for anyone, whatever they knew (rows independent).
    """
    if not isinstance(mechanism, Mechanism):
        raise InvalidInput(f"mechanism must be a lw.Mechanism. Got {type(mechanism).__name__} instead.")
    single = {"lift_of": lift_of, "ceiling": ceiling, "floor": floor}
    asked = asked_limits(epsilon, lift, anyone=anyone, ldp=ldp, lip=lip, **single, maximal_leakage=maximal_leakage)
    known = align_prior(prior, mechanism)
    asked = asked.for_priors(known, mechanism.input_alphabet)
    if isinstance(mechanism, SetMechanism) and replace(asked.further, anyone=None):
        mechanism.kernel  # noqa: B018 - other limits look at every outcome, and these are too many to list
    worst = worst_of(mechanism, known)
    outcome, letter = name_of_outcome(mechanism, worst.outcome), mechanism.inputs[worst.letter]
    ratio = worst.ratio
    if ratio is not None and not is_exact(known):
        ratio = _rounded_up(ratio)
    return Certificate(mechanism, known, ratio, outcome, letter, asked.level, further=asked.further)


def load_certificate(path: str | os.PathLike[str]) -> Certificate:
    """Read a certificate as it stands, unchecked; :func:`verify` reads and checks."""
    return certificate_from_body(read_document(path, FORMAT, VERSION, SurvivingBody), str(path))


def certificate_from_body(body: LimitedBody, name: str) -> Certificate:
    """Return the certificate that a file body describes, unchecked."""
    mechanism = mechanism_from_body(body.mechanism, name)
    nominal = Prior.from_body(body.prior, name)
    prior = align_prior(nominal if body.around is None else set_from_body(body.around, nominal, name), mechanism)
    denominator = read_integer(body.ratio_denominator, name)
    numerator = read_integer(body.ratio_numerator, name)
    unbounded = not denominator and body.around is not None
    rows, columns = mechanism.shape
    columns = 1 << rows if isinstance(mechanism, SetMechanism) else columns
    if not (denominator or unbounded) or not 0 <= body.outcome < columns or not 0 <= body.letter < rows:
        raise InvalidInput(f"{name!r} is not a valid certificate: its ratio or the place of its worst outcome is off.")
    ratio = None if unbounded else Fraction(numerator, denominator)
    outcome, letter = name_of_outcome(mechanism, body.outcome), mechanism.inputs[body.letter]
    optimality = None if body.optimality is None else claim_from_body(body.optimality, mechanism, name)
    asked = level_from_body(body.asked, name)
    found = Certificate(mechanism, prior, ratio, outcome, letter, asked, optimality, body.remark)
    dual = numbers_from_body(body.dual, name) if isinstance(body, SurvivingBody) and body.dual else ()
    return replace(found, further=limits_from_body(body.further, found.letters, name), dual=dual)
