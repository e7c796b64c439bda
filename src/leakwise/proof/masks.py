"""The proof that no mechanism on a mask leaks less, checked on integers by code of its own.

A mechanism whose largest lift is c has columns q_j λ_j with 0 ≤ λ_j ≤ c on the allowed letters A_j, π·λ_j = 1 and
Σ_j q_j λ_j = 1. For a vector y with Σ y > 0 one of them must have y·λ_j > 0. The largest y·λ over an output is a
continuous knapsack, and it rises with c: so y itself says below which c no mechanism exists, as a rational number. With
Σ y = 0 the same holds where the maximum is below zero for every smaller c.

For a set of priors each output has a prior of the set as its witness: a mechanism for the whole set is one for the
witness. Membership in the set is checked exactly.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import msgspec
import numpy as np
from flint import arb, ctx, fmpq

from leakwise.alphabet import Label, alphabet_from_plain, label_to_plain, newest
from leakwise.documents import read_document, read_integer, write_document, write_integer
from leakwise.errors import CertificateRejected, InvalidInput
from leakwise.exact import log_lower
from leakwise.guarantee import at_least, at_most
from leakwise.mechanism.files import MechanismBody, mechanism_from_body, mechanism_to_body
from leakwise.priors import AllPriors, Ball, Box, Hull, KLBall, Prior, PriorSet
from leakwise.priors.prior import PriorBody
from leakwise.priors.sets.files import SetBody, set_from_body, set_to_body
from leakwise.proof.certificate import Certificate, certify
from leakwise.proof.shown import ShownCertificate
from leakwise.proof.tails import check_failure
from leakwise.types import Bools

__all__ = ["MaskCertificate", "divergence_within", "load_mask_certificate", "proven_ratio"]

FORMAT = "leakwise.mask-certificate"
VERSION = 2  # 2: bins with infinite edges, and of dates
PRECISION = 192


def proven_ratio(
    priors: PriorSet,
    allowed: Bools,
    duals: Sequence[int],
    witnesses: Sequence[Sequence[int]] | None = None,
) -> Fraction | None:
    """The number below which y proves that no mechanism on the mask has its largest lift; None: there is none at all.

    ``duals`` are the entries of y over any positive denominator, zero outside the support. ``witnesses`` holds, for a
    set, one prior per output: weights over the letters, or over the corners of a hull.
    """
    size, count = allowed.shape
    letters = [letter for letter in range(size) if priors.support[letter]]
    total = sum(duals[letter] for letter in letters)
    if total < 0:
        raise CertificateRejected("The duals of the certificate add up to less than zero: they prove nothing.")
    least: Fraction | None = None
    fixed = _witness(priors, None) if isinstance(priors, Prior) else None
    order = None if fixed is None else _by_density(letters, duals, fixed[0])
    for output in range(count):
        if fixed is not None and order is not None:
            weights, denominator = fixed
            here = [letter for letter in order if allowed[letter, output]]
        else:
            if witnesses is None or len(witnesses) != count:
                raise CertificateRejected("A certificate for a set of priors needs a prior of the set per output.")
            weights, denominator = _witness(priors, witnesses[output])
            here = _by_density([letter for letter in letters if allowed[letter, output]], duals, weights)
        bound = _output_bound(here, duals, weights, denominator, strict=total == 0)
        if bound is not None and (least is None or bound < least):
            least = bound
    return least


def _by_density(letters: Sequence[int], duals: Sequence[int], weights: Sequence[int]) -> list[int]:
    """By y per mass, largest first. Letters without mass come first where y gains by them; elsewhere they stay 0."""
    free = [letter for letter in letters if not weights[letter] and duals[letter] > 0]
    rest = [letter for letter in letters if weights[letter]]
    return free + sorted(rest, key=lambda letter: Fraction(-duals[letter], weights[letter]))


def _output_bound(
    letters: Sequence[int], duals: Sequence[int], weights: Sequence[int], denominator: int, *, strict: bool
) -> Fraction | None:
    """The c up to which max y·λ ≤ 0 on one output (strict: below which it is < 0); None: for every c."""
    whole = sum(weights[letter] for letter in letters)
    if not whole:
        return None  # the witness gives the output no chance: it cannot be used at all
    usable = Fraction(denominator, whole)
    gain, mass = 0, 0
    for letter in letters:
        y, weight = duals[letter], weights[letter]
        if gain > 0 and gain + y <= 0:
            # c·gain + (y/w)(1 - c·mass) = 0
            return max(usable, Fraction(y * denominator, y * mass - gain * weight))
        gain += y
        mass += weight
    if gain > 0:
        return usable  # positive wherever it can be used
    if not strict or duals[letters[0]] < 0:
        return None
    top = sum(weights[letter] for letter in letters if not duals[letter])
    return max(usable, Fraction(denominator, top))


# ------------------------------------------------------------------------------------------------ members of a set


def _witness(priors: PriorSet, given: Sequence[int] | None) -> tuple[list[int], int]:
    """Weights and denominator of a prior of the set, its membership checked."""
    if isinstance(priors, Prior):
        return [int(weight) for weight in priors.weights.tolist()], priors.denominator
    assert given is not None
    values = [int(value) for value in given]
    if min(values, default=-1) < 0 or not sum(values):
        raise CertificateRejected("A prior of the certificate has a negative weight, or none.")
    if isinstance(priors, Hull):
        if len(values) != len(priors.corners):
            raise CertificateRejected("A prior of the certificate must mix the corners of the hull.")
        mixed = [Fraction(0)] * len(priors.alphabet)
        for share, corner in zip(values, priors.corners, strict=True):
            mixed = [m + Fraction(share, sum(values)) * f for m, f in zip(mixed, corner.fractions, strict=True)]
        common = int(np.lcm.reduce(np.array([m.denominator for m in mixed], dtype=np.object_)))
        return [int(m * common) for m in mixed], common
    total = sum(values)
    if len(values) != len(priors.alphabet) or not _inside([Fraction(v, total) for v in values], priors):
        raise CertificateRejected("A prior of the certificate is not in the set of priors.")
    return values, total


def _inside(masses: Sequence[Fraction], priors: PriorSet) -> bool:
    nominal = priors.nominal.fractions
    distance = sum((abs(q - p) for q, p in zip(masses, nominal, strict=True)), Fraction(0))
    if isinstance(priors, AllPriors):
        return True
    if isinstance(priors, Ball):
        return distance <= priors.beta
    if isinstance(priors, Box):
        within = all(low <= q <= high for low, q, high in zip(priors.lower, masses, priors.upper, strict=True))
        return within and (priors.beta is None or distance <= priors.beta)
    if isinstance(priors, KLBall):
        return divergence_within(nominal, masses, priors.radius)
    return False


def divergence_within(nominal: Sequence[Fraction], masses: Sequence[Fraction], radius: Fraction) -> bool:
    """Return whether KL(π‖Q) ≤ radius, in balls: True only when it is certain."""
    with ctx.workprec(PRECISION):
        total = arb(0)
        for p, q in zip(nominal, masses, strict=True):
            if p and not q:
                return False
            if p:
                ratio = p / q
                total += arb(fmpq(p.numerator, p.denominator)) * arb(fmpq(ratio.numerator, ratio.denominator)).log()
        return bool(total <= arb(fmpq(radius.numerator, radius.denominator)))


# ------------------------------------------------------------------------------------------------- the certificate


class MaskBody(msgspec.Struct, forbid_unknown_fields=True):
    """What a mask certificate file holds: the mechanism, the prior, the mask, the duals."""

    mechanism: MechanismBody
    prior: PriorBody  # for a set of priors its nominal one
    outputs: list[Any]
    outputs_declared: bool
    allowed: list[list[int]]  # per letter, the outputs that may be given
    duals: list[str]
    ratio_numerator: str
    ratio_denominator: str
    witnesses: list[list[str]] | None = None
    around: SetBody | None = None


@dataclass(frozen=True, repr=False)
class MaskCertificate(ShownCertificate):
    """A proof that a mechanism keeps to a mask, what it leaks, and that no other on the mask leaks less than ``lower``.

    Attributes
    ----------
    guarantee
        The certificate of what the mechanism leaks.
    allowed, outputs
        The mask and the labels of its columns.
    duals
        The vector y, as integers over any positive denominator.
    ratio
        No mechanism on the mask has a largest lift below this, exact.
    witnesses
        For a set of priors: one of its priors per output.
    """

    guarantee: Certificate
    allowed: Bools
    outputs: tuple[Label, ...]
    duals: tuple[int, ...]
    ratio: Fraction
    witnesses: tuple[tuple[int, ...], ...] | None = None

    @classmethod
    def of(
        cls,
        guarantee: Certificate,
        allowed: Bools,
        outputs: Sequence[Label],
        duals: Sequence[int],
        witnesses: Sequence[Sequence[int]] | None = None,
    ) -> MaskCertificate:
        """Return the certificate with the ratio that its duals prove."""
        kept = None if witnesses is None else tuple(tuple(map(int, witness)) for witness in witnesses)
        # A ratio below one is no news: the average lift is one.
        ratio = proven_ratio(guarantee.prior, allowed, duals, kept)
        least = Fraction(1) if ratio is None else max(ratio, Fraction(1))
        return cls(guarantee, allowed, tuple(outputs), tuple(map(int, duals)), least, kept)

    @cached_property
    def lower(self) -> float:
        """No mechanism on the mask leaks less than this, in nats; rounded down."""
        return log_lower(self.ratio)

    @property
    def epsilon_upper(self) -> float:
        """What the mechanism leaks at most, rounded up."""
        return self.guarantee.epsilon_upper

    @property
    def gap(self) -> float:
        """How far the mechanism may be from the least leakage."""
        return max(0.0, self.epsilon_upper - self.lower)

    @property
    def holds(self) -> bool:
        """Whether the mechanism keeps to the mask and its leakage is bounded."""
        return self.guarantee.holds and self._misplaced() is None

    @property
    def sentence(self) -> str:
        """The claim in words."""
        return (
            f"{self.guarantee.sentence} No mechanism that keeps to the mask can guarantee less than "
            f"{at_least(self.ratio)}."
        )

    def _misplaced(self) -> tuple[Label, Label] | None:
        """A pair that the mechanism uses although the mask forbids it."""
        mechanism = self.guarantee.mechanism
        places = {label: place for place, label in enumerate(self.outputs)}
        weights = mechanism.kernel.weights
        for column, label in enumerate(mechanism.outputs):
            place = places.get(label)
            used = np.asarray(weights[:, column] != 0, dtype=np.bool_)
            bad = used if place is None else used & ~self.allowed[:, place]
            if bad.any():
                return mechanism.inputs[int(np.flatnonzero(bad)[0])], label
        return None

    def verify(self) -> MaskCertificate:
        """Compute everything again from the integers; raise CertificateRejected when a claim is not proven."""
        check_failure(self.guarantee.prior)
        return self.verify_for_the_set()

    def verify_for_the_set(self) -> MaskCertificate:
        """Check all but where the set of priors comes from: its failure probability may be stated, not proven."""
        self.guarantee.verify_for_the_set()
        pair = self._misplaced()
        if pair is not None:
            raise CertificateRejected(f"The mechanism gives {pair[1]!r} for {pair[0]!r}, which the mask forbids.")
        found = proven_ratio(self.guarantee.prior, self.allowed, self.duals, self.witnesses)
        if self.ratio > 1 and found is not None and found < self.ratio:
            raise CertificateRejected(
                f"The certificate claims that no mechanism has a largest lift below {float(self.ratio):.12g}; "
                f"its duals prove {float(found):.12g}. Do not rely on it."
            )
        if self.ratio < 1 or (self.guarantee.ratio is not None and self.ratio > self.guarantee.ratio):
            raise CertificateRejected(
                f"A largest lift is at least 1, and the mechanism has one of {self.guarantee.largest_lift:.12g}: that "
                f"none is below {float(self.ratio):.12g} cannot be."
            )
        return self

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the certificate, with the mechanism, the prior and the mask it speaks of."""
        priors = self.guarantee.prior
        body = MaskBody(
            mechanism_to_body(self.guarantee.mechanism),
            priors.nominal.to_body(),
            [label_to_plain(label) for label in self.outputs],
            True,
            [np.flatnonzero(row).tolist() for row in self.allowed],
            [_write_signed(value) for value in self.duals],
            write_integer(self.ratio.numerator),
            write_integer(self.ratio.denominator),
            None if self.witnesses is None else [[write_integer(value) for value in w] for w in self.witnesses],
            None if isinstance(priors, Prior) else set_to_body(priors),
        )
        chosen = self.guarantee.mechanism
        write_document(path, FORMAT, newest(1, VERSION, chosen.input_alphabet, chosen.output_alphabet), body)

    def _rows(self) -> list[list[str]]:
        return [
            ["proven ε (nats, rounded up)", at_most(self.epsilon_upper, 6)],
            ["least possible ε (rounded down)", at_least(self.lower, 6)],
            ["gap", at_most(self.gap, 2)],
            ["pairs allowed", f"{int(self.allowed.sum()):,} of {self.allowed.size:,}"],
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: the claim and both sides."""
        return {
            "holds": self.holds,
            "epsilon_upper": float(self.epsilon_upper),
            "lower": self.lower,
            "gap": self.gap,
            "ratio": str(self.ratio) if self.ratio.denominator.bit_length() < 4096 else float(self.ratio),
            "guarantee": self.guarantee.to_dict(),
            "sentence": self.sentence,
        }


def _write_signed(value: int) -> str:
    return write_integer(value) if value >= 0 else f"-{write_integer(-value)}"


def _read_signed(text: str, name: str) -> int:
    return -read_integer(text[1:], name) if text.startswith("-") else read_integer(text, name)


def load_mask_certificate(path: str | os.PathLike[str]) -> MaskCertificate:
    """Read a mask certificate as it stands, unchecked."""
    name = str(path)
    body = read_document(path, FORMAT, VERSION, MaskBody)
    nominal = Prior.from_body(body.prior, name)
    priors = nominal if body.around is None else set_from_body(body.around, nominal, name)
    # What the mechanism leaks is not read but found again.
    guarantee = certify(mechanism_from_body(body.mechanism, name), priors)
    outputs = alphabet_from_plain(body.outputs, declared=body.outputs_declared, name=name)
    rows = guarantee.mechanism.shape[0]
    denominator = read_integer(body.ratio_denominator, name)
    places_fit = all(0 <= place < len(outputs) for row in body.allowed for place in row)
    if len(body.allowed) != rows or len(body.duals) != rows or not places_fit or not denominator:
        raise InvalidInput(f"{name!r} is not a valid mask certificate: its mask, its duals or its ratio do not fit.")
    allowed = np.zeros((rows, len(outputs)), dtype=np.bool_)
    for letter, places in enumerate(body.allowed):
        allowed[letter, places] = True
    witnesses = None
    if body.witnesses is not None:
        witnesses = tuple(tuple(read_integer(value, name) for value in witness) for witness in body.witnesses)
    duals = tuple(_read_signed(value, name) for value in body.duals)
    ratio = Fraction(read_integer(body.ratio_numerator, name), denominator)
    return MaskCertificate(guarantee, allowed, outputs.labels, duals, ratio, witnesses)
