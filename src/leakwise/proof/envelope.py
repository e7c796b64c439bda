"""Proofs of what survives post-processing, checked on exact integers by code of its own.

The claim: whatever is done to the outcome, the probability of a leakage above log t is at most δ. A dual vector v
proves it:

    δ_c(log t)  ≤  Σ_y max(0, max_x q_y + v_x (p_xy - t q_y)),    x over the letters with a lift above t.

Why: let W_x be the part of the outcomes whose post-processing speaks most for the letter x with a lift above t. Then
Σ_y w_xy (p_xy/q_y - t) ≥ 0, so that adding v_x times it to the mass Σ w_xy makes nothing smaller; and w_xy is at most
q_y in all. A letter whose largest lift is at most t has no such part. Where v_x t ≥ 1 the terms fall with q_y: then
the least mass that a set of priors gives to each outcome proves the claim for all of the set.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import msgspec
import numpy as np

from leakwise.alphabet import newest
from leakwise.documents import read_document, read_fraction, write_document, write_fraction
from leakwise.errors import CertificateRejected, InvalidInput
from leakwise.exact import float_above, log_upper
from leakwise.guarantee import at_most, except_with, no_guess
from leakwise.mechanism import CommonLawKernel, Mechanism
from leakwise.mechanism.files import MechanismBody, mechanism_from_body, mechanism_to_body
from leakwise.mechanism.mechanism import align_prior
from leakwise.priors import Prior, PriorSet
from leakwise.priors.prior import PriorBody
from leakwise.proof.sets import least_mass_prover
from leakwise.proof.shown import ShownCertificate
from leakwise.proof.tails import check_failure

__all__ = ["EnvelopeCertificate", "load_envelope_certificate"]

FORMAT = "leakwise.envelope"
VERSION = 2  # 2: bins with infinite edges, and of dates


class EnvelopeBody(msgspec.Struct, forbid_unknown_fields=True):
    """The claim and the dual vector, as integers."""

    mechanism: MechanismBody
    prior: PriorBody
    lift: list[str]
    delta: list[str]
    dual: list[list[str]]


@dataclass(frozen=True, repr=False, eq=False)
class EnvelopeCertificate(ShownCertificate):
    """A proof that after any post-processing a leakage above log(lift) has probability at most delta.

    Attributes
    ----------
    mechanism, prior
        What the claim is about; for a set of priors it holds for every one of them.
    lift, delta
        The claim: δ_c(log lift) ≤ delta, hence ε_c(delta) ≤ log lift.
    dual
        One number for each letter; 0 where the letter cannot reach the lift.
    """

    mechanism: Mechanism
    prior: PriorSet
    lift: Fraction
    delta: Fraction
    dual: tuple[Fraction, ...]

    @property
    def epsilon_upper(self) -> float:
        """The proven ε_c(δ) in nats, rounded up."""
        return log_upper(max(self.lift, Fraction(1)))

    @property
    def sentence(self) -> str:
        """The guarantee in words."""
        unless = f", {except_with(self.delta)}" if self.delta else ""
        return no_guess(self.lift, self.prior, seeing="whatever is done to the outcome", unless=unless)

    def bound(self) -> Fraction:
        """Return the probability that the dual vector proves, computed from the integers."""
        if isinstance(self.prior, Prior):
            return _dual_value(self.mechanism, self.prior, self.lift, self.dual)
        return _set_value(self.mechanism, self.prior, self.lift, self.dual)

    def verify(self) -> EnvelopeCertificate:
        """Compute the claim again from the integers; raise CertificateRejected when it is not proven."""
        if any(value < 0 for value in self.dual) or len(self.dual) != self.mechanism.shape[0]:
            raise CertificateRejected("The dual vector must hold one number of at least 0 for each letter.")
        if self.lift < 1:
            raise CertificateRejected(f"A lift is at least 1. The certificate claims {float(self.lift):g}.")
        check_failure(self.prior)
        found = self.bound()
        if found > self.delta:
            raise CertificateRejected(
                f"The dual vector proves a failure probability of {float(found):.12g}, more than the "
                f"{float(self.delta):.12g} claimed. Do not rely on it; compute the envelope again."
            )
        return self

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the certificate, with the mechanism and the prior it speaks of."""
        if not isinstance(self.prior, Prior):
            raise InvalidInput("Only certificates for a single prior can be stored so far.")
        body = EnvelopeBody(
            mechanism_to_body(self.mechanism),
            self.prior.to_body(),
            write_fraction(self.lift),
            write_fraction(self.delta),
            [write_fraction(value) for value in self.dual],
        )
        alphabets = (self.mechanism.input_alphabet, self.mechanism.output_alphabet)
        write_document(path, FORMAT, newest(1, VERSION, *alphabets), body)

    def _rows(self) -> list[list[str]]:
        return [
            ["after any post-processing, ε (nats, rounded up)", at_most(self.epsilon_upper, 6)],
            ["lift e^ε", at_most(self.lift, 6)],
            ["except with probability δ", at_most(self.delta, 6)],
            ["letters in the dual vector", str(sum(value > 0 for value in self.dual))],
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: the claim and the dual vector."""
        return {
            "epsilon_upper": self.epsilon_upper,
            "lift": float_above(self.lift),
            "delta": float_above(self.delta),
            "dual": [float(value) for value in self.dual],
            "sentence": self.sentence,
        }


def load_envelope_certificate(path: str | os.PathLike[str]) -> EnvelopeCertificate:
    """Read a certificate of an envelope as it stands, unchecked; its ``verify`` checks it."""
    name = str(path)
    body = read_document(path, FORMAT, VERSION, EnvelopeBody)
    mechanism = mechanism_from_body(body.mechanism, name)
    prior = align_prior(Prior.from_body(body.prior, name), mechanism)
    assert isinstance(prior, Prior)
    lift, delta = read_fraction(body.lift, name), read_fraction(body.delta, name)
    dual = tuple(read_fraction(value, name) for value in body.dual)
    if len(dual) != mechanism.shape[0]:
        raise InvalidInput(f"{name!r} is not a valid certificate: its dual vector has {len(dual)} entries.")
    return EnvelopeCertificate(mechanism, prior, lift, delta, dual)


# ------------------------------------------------------------------------------------------ the check itself

# All of this is in units of 1/(D·Dπ·scale·b), where t = a/b and v_x = k_x/scale: integers only.


def _dual_value(mechanism: Mechanism, prior: Prior, lift: Fraction, dual: tuple[Fraction, ...]) -> Fraction:
    kernel = mechanism.kernel
    law = kernel.output_law(prior.weights)
    scale = math.lcm(*(value.denominator for value in dual))
    steps = [value.numerator * (scale // value.denominator) for value in dual]
    total = 0
    if isinstance(kernel, CommonLawKernel):
        heights = _structured_heights(kernel, prior, law, lift, steps, scale)
    else:
        heights = _dense_heights(kernel.weights, prior, law, lift, steps, scale)
    for height in heights:
        total += height
    return Fraction(total, mechanism.denominator * prior.denominator * scale * lift.denominator)


def _dense_heights(
    weights: Any, prior: Prior, law: list[int], lift: Fraction, steps: list[int], scale: int
) -> Iterator[int]:
    a, b = lift.numerator, lift.denominator
    factor = prior.denominator * b
    beyond = [row for row in np.flatnonzero(prior.support).tolist() if _reaches_beyond(weights[row], law, a, factor)]
    for start in range(0, len(law), 4096):
        masses = law[start : start + 4096]
        parts = [(steps[row], weights[row, start : start + 4096].tolist()) for row in beyond]
        for place, mass in enumerate(masses):
            at, height = mass * a, 0
            for step, part in parts:
                height = max(height, mass * b * scale + step * (part[place] * factor - at))
            yield height


def _reaches_beyond(row: Any, law: list[int], a: int, factor: int) -> bool:
    """Whether some outcome has a lift strictly above a/b for this letter."""
    return any(weight * factor > mass * a for weight, mass in zip(row.tolist(), law, strict=True))


def _structured_heights(
    kernel: CommonLawKernel, prior: Prior, law: list[int], lift: Fraction, steps: list[int], scale: int
) -> Iterator[int]:
    """The same for a common law plus a diagonal: all letters but the own one look alike to an outcome."""
    a, b = lift.numerator, lift.denominator
    factor = prior.denominator * b
    common = kernel.common.tolist()
    shared = [weight * factor - mass * a for weight, mass in zip(common, law, strict=True)]
    own = [gap + kernel.diagonal * factor for gap in shared]
    above = [place for place, gap in enumerate(shared) if gap > 0][:2]
    beyond = [
        place
        for place in np.flatnonzero(prior.support).tolist()
        if own[place] > 0 or any(other != place for other in above)
    ]
    present = set(beyond)
    ordered = sorted(beyond, key=steps.__getitem__)
    for place, (gap, self_gap, mass) in enumerate(zip(shared, own, law, strict=True)):
        height, base = 0, mass * b * scale
        # Of the other letters only the smallest or the largest step can be the highest.
        for other in (*ordered[:2], *ordered[-2:]):
            if other != place:
                height = max(height, base + steps[other] * gap)
        if place in present:
            height = max(height, base + steps[place] * self_gap)
        yield height


def _set_value(mechanism: Mechanism, priors: PriorSet, lift: Fraction, dual: tuple[Fraction, ...]) -> Fraction:
    """The same for all priors of a set at once: with the least mass of each outcome, and v t ≥ 1."""
    columns = mechanism.weights.T.tolist()
    prove = least_mass_prover(priors)
    least = [prove(column) for column in columns]
    total = Fraction(0)
    letters = []
    for letter in np.flatnonzero(priors.support).tolist():
        if all(column[letter] <= lift * mass for column, mass in zip(columns, least, strict=True)):
            continue  # no prior of the set lets this letter reach beyond the lift
        if dual[letter] * lift < 1:
            raise CertificateRejected(
                f"For a set of priors the dual vector must be at least 1/lift; letter {letter} is not."
            )
        letters.append(letter)
    for column, mass in zip(columns, least, strict=True):
        total += max([Fraction(0), *(mass + dual[letter] * (column[letter] - lift * mass) for letter in letters)])
    return total / mechanism.denominator
