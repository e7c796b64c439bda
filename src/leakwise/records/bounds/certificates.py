"""What is proven about a mechanism on datasets, as certificates that the checker reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from leakwise.proof import PosteriorTree, RecordClasses, RecordInformationCertificate, TangentProof
from leakwise.records.queries.channel import Channel

__all__ = ["information_certificate", "stored_classes"]

_BITS = 60  # of the bound that is claimed


def stored_classes(channel: Channel) -> tuple[RecordClasses, ...]:
    """Return the classes of every record, alike ones once, as certificates hold them."""
    return tuple(
        RecordClasses(
            case.records,
            tuple(str(letter) for letter in case.letters),
            tuple(case.problem.letter.tolist()),
            case.problem.multiplicities,
            tuple(tuple(row) for row in case.problem.rows.tolist()),
        )
        for case in channel.cases
    )


def information_certificate(
    channel: Channel, b: float, proofs: Sequence[PosteriorTree | TangentProof | None]
) -> RecordInformationCertificate:
    """Return the certificate of a proof for each case, with the bound that the checker itself finds in it."""
    claim = RecordInformationCertificate(
        f"{channel.name} on {channel.query.name}",
        stored_classes(channel),
        tuple(str(outcome) for outcome in channel.outputs),
        Fraction(b),
        Fraction(0),
        tuple(proofs),
    )
    proven = claim.proven()
    return replace(claim, bound=Fraction(-((-proven.numerator << _BITS) // proven.denominator), 1 << _BITS))
