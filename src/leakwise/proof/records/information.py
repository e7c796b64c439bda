"""The proof that no adversary with H(X) ≥ b learns more than so much about a record, on average: I(X_i; Y) ≤ L.

Each record has a proof of its own. A tree of boxes of posteriors (:mod:`~leakwise.proof.records.boxes`); a tangent, for
those who know little (:mod:`~leakwise.proof.records.tangents`); or none, where the entropy is not needed: I is convex
in what is believed of the others given the value, so that it is largest where one class is certain for each value, and
there it is at most the capacity of a channel with these rows, which is at most max_a D(row_a ‖ r) for every r.
"""

from __future__ import annotations

import base64
import binascii
import itertools
import math
import os
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import msgspec
import numpy as np
from flint import arb, ctx

from leakwise.documents import read_document, write_document, write_fraction
from leakwise.errors import CertificateRejected, InvalidInput
from leakwise.exact import float_above
from leakwise.guarantee import at_most
from leakwise.proof.records.boxes import PRECISION, PosteriorTree, ball, normalised, tree_bound, upper
from leakwise.proof.records.classes import (
    ClassesBody,
    RecordClasses,
    check_classes,
    classes_from_body,
    classes_to_body,
    read_claim,
)
from leakwise.proof.records.tangents import TangentProof, tangent_bound
from leakwise.proof.shown import ShownCertificate
from leakwise.types import Floats

__all__ = ["FORMAT", "RecordInformationCertificate", "load_record_information_certificate"]

FORMAT = "leakwise.record-information"
VERSION = 1
MOST_CORNERS = 40_000
_MOST_NUMBERS = 1 << 26
_ROUNDS = 600


class TreeBody(msgspec.Struct, forbid_unknown_fields=True, tag="tree"):
    """Splits from the root (outcome, value, cut), null for a leaf; the multipliers of the leaves as 32-bit floats."""

    nodes: list[tuple[int, int, str] | None]
    multipliers: str


class TangentBody(msgspec.Struct, forbid_unknown_fields=True, tag="tangent"):
    """The belief at which the tangent is taken, and the multiplier of the entropy; floats in hexadecimal."""

    belief: list[str]
    scale: str


class InformationBody(msgspec.Struct, forbid_unknown_fields=True):
    """The claim, the classes it is about, and a proof for each record."""

    about: str
    outcomes: list[str]
    entropy: list[str]
    bound: list[str]
    cases: list[ClassesBody]
    proofs: list[TreeBody | TangentBody | None]


@dataclass(frozen=True, repr=False, eq=False)
class RecordInformationCertificate(ShownCertificate):
    """A proof that no adversary with H(X) ≥ ``entropy`` learns more than ``bound`` nats about a record, on average.

    What is checked starts from the classes of datasets; that the query and its mechanism have these classes is not.

    Attributes
    ----------
    about
        The mechanism and the query, in words.
    cases
        The classes of every record, alike ones once.
    outcomes
        What the outcomes are called.
    entropy
        b, in nats, exact.
    bound
        The mutual information that is not exceeded, exact.
    proofs
        For each case the tree of boxes, or the tangent; None where no entropy is needed.
    """

    about: str
    cases: tuple[RecordClasses, ...]
    outcomes: tuple[str, ...]
    entropy: Fraction
    bound: Fraction
    proofs: tuple[PosteriorTree | TangentProof | None, ...]

    @property
    def sentence(self) -> str:
        """The guarantee in words."""
        least = at_most(float_above(self.entropy), 6)
        return (
            f"No adversary whose uncertainty about the dataset is at least {least} nats learns more "
            f"than {at_most(self.bound, 6)} nats about a record, on average (mutual information)."
        )

    def proven(self) -> Fraction:
        """Return the bound that the trees prove, computed from the integers."""
        if self.entropy < 0 or len(self.proofs) != len(self.cases):
            raise CertificateRejected("An entropy is at least 0, and each record needs a proof.")
        check_classes(self.cases, len(self.outcomes))
        most = Fraction(0)
        for case, proof in zip(self.cases, self.proofs, strict=True):
            if proof is None:
                found = _corner_bound(case)
            elif isinstance(proof, TangentProof):
                found = tangent_bound(case, self.entropy, proof)
            else:
                found = tree_bound(case, self.entropy, proof)
            most = max(most, found)
        return most

    @property
    def boxes(self) -> int:
        """How many boxes of posteriors the trees have."""
        return sum(len(proof.multipliers) for proof in self.proofs if isinstance(proof, PosteriorTree))

    def verify(self) -> RecordInformationCertificate:
        """Compute the bound again; raise CertificateRejected when the claim is not proven."""
        found = self.proven()
        if found > self.bound:
            raise CertificateRejected(
                f"The boxes prove {float_above(found):.12g} nats, more than the {float(self.bound):.12g} claimed. Do "
                "not rely on the certificate; compute the leakage again."
            )
        return self

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the certificate, with the classes it is about."""
        body = InformationBody(
            self.about,
            list(self.outcomes),
            write_fraction(self.entropy),
            write_fraction(self.bound),
            [classes_to_body(case) for case in self.cases],
            [_proof_body(proof) for proof in self.proofs],
        )
        write_document(path, FORMAT, VERSION, body)

    def _rows(self) -> list[list[str]]:
        return [
            ["about", self.about],
            ["adversary's entropy, at least", f"{at_most(float_above(self.entropy), 6)} nats"],
            ["proven mutual information, at most", f"{at_most(self.bound, 6)} nats"],
            ["boxes of posteriors", f"{self.boxes:,}"],
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: the claim."""
        return {
            "about": self.about,
            "entropy": float_above(self.entropy),
            "bound": float_above(self.bound),
            "boxes": self.boxes,
            "sentence": self.sentence,
        }


def _proof_body(proof: PosteriorTree | TangentProof | None) -> TreeBody | TangentBody | None:
    if proof is None:
        return None
    if isinstance(proof, TangentProof):
        return TangentBody([x.hex() for x in proof.belief], proof.scale.hex())
    nodes = [None if node is None else (node[0], node[1], node[2].hex()) for node in proof.nodes]
    return TreeBody(nodes, base64.b64encode(proof.multipliers.astype("<f4").tobytes()).decode())


def _proof_from_body(body: TreeBody | TangentBody | None, width: int, name: str) -> PosteriorTree | TangentProof | None:
    if body is None:
        return None
    try:
        if isinstance(body, TangentBody):
            return TangentProof(tuple(float.fromhex(x) for x in body.belief), float.fromhex(body.scale))
        nodes = tuple(None if n is None else (n[0], n[1], float.fromhex(n[2])) for n in body.nodes)
        numbers = np.frombuffer(base64.b64decode(body.multipliers, validate=True), dtype="<f4").astype(np.float64)
        return PosteriorTree(nodes, numbers.reshape(-1, width))
    except (ValueError, OverflowError, binascii.Error) as error:
        raise InvalidInput(f"{name!r} is not a valid certificate: its proof cannot be read ({error}).") from error


def load_record_information_certificate(path: str | os.PathLike[str]) -> RecordInformationCertificate:
    """Read a certificate as it stands, unchecked; its ``verify`` checks it."""
    name = str(path)
    body = read_document(path, FORMAT, VERSION, InformationBody)
    cases = tuple(classes_from_body(case, name) for case in body.cases)
    if len(body.proofs) != len(cases) or not all(case.records for case in cases):
        raise InvalidInput(f"{name!r} is not a valid certificate: each record needs classes and a proof.")
    proofs = []
    for case, proof in zip(cases, body.proofs, strict=True):
        letters = len(case.values)
        width = 1 + 2 * len(body.outcomes) * (1 if letters == 2 else letters)
        proofs.append(_proof_from_body(proof, width, name))
    entropy, bound = read_claim(body.entropy, name), read_claim(body.bound, name)
    return RecordInformationCertificate(body.about, cases, tuple(body.outcomes), entropy, bound, tuple(proofs))


# ------------------------------------------------------------------------------------- without the entropy


def _corner_bound(case: RecordClasses) -> Fraction:
    """The largest capacity of a channel with one class for each value of the record, from above."""
    blocks = [[k for k, a in enumerate(case.letter) if a == b] for b in range(len(case.values))]
    count = math.prod(map(len, blocks))
    if count > MOST_CORNERS:
        raise CertificateRejected(f"A record without a tree may have {MOST_CORNERS:,} corners at most.")
    if count * len(blocks) * len(case.rows[0]) > _MOST_NUMBERS:
        raise CertificateRejected("The corners of a record without a tree have too many outcomes to be checked.")
    corners = np.array(list(itertools.product(*blocks)))
    rows = np.array(case.rows)
    weights = _near_capacity(rows[corners])
    most = Fraction(0)
    with ctx.workprec(PRECISION):
        exact = normalised(case)
        entropies = [
            sum((p * p.log() for p, f in zip(e, row, strict=True) if f), arb(0))
            for e, row in zip(exact, case.rows, strict=True)
        ]
        for corner, p in zip(corners.tolist(), weights.tolist(), strict=True):
            mixed = [
                sum((ball(q) * exact[k][y] for q, k in zip(p, corner, strict=True)), arb(0))
                for y in range(rows.shape[1])
            ]
            total = sum(map(ball, p), arb(0))
            logs = [(m / total).log() if m > 0 else None for m in mixed]
            for k in corner:
                told = entropies[k]
                for y, log in enumerate(logs):
                    if case.rows[k][y]:
                        if log is None:
                            raise CertificateRejected("A probability of the certificate is too small to be checked.")
                        told = told - exact[k][y] * log
                most = max(most, upper(told))
    return most


def _near_capacity(channels: Floats) -> Floats:
    """Weights of the inputs at which the capacity is nearly reached, N×A; any weights prove a bound."""
    count, letters, _ = channels.shape
    with np.errstate(divide="ignore", invalid="ignore"):
        own = np.where(channels > 0, channels * np.log(channels), 0.0).sum(axis=2)

    def told(p: Floats) -> Floats:
        mixed = np.maximum(np.einsum("na,nay->ny", p, channels), 1e-300)
        return np.asarray(own - (channels * np.log(mixed)[:, None, :]).sum(axis=2))

    if letters == 2:
        low, high = np.zeros(count), np.ones(count)
        for _ in range(54):
            middle = (low + high) / 2
            d = told(np.stack([1 - middle, middle], axis=1))
            more = d[:, 1] > d[:, 0]
            low, high = np.where(more, middle, low), np.where(more, high, middle)
        p = np.stack([1 - low, low], axis=1)
    else:
        p = np.full((count, letters), 1.0 / letters)
        for _ in range(_ROUNDS):
            d = told(p)
            p = p * np.exp(2.0 * (d - d.max(axis=1, keepdims=True)))
            p /= p.sum(axis=1, keepdims=True)
    return np.maximum(p, 1e-12)
