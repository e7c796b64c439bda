"""What an exported sampler guarantees: by a certificate, or by its integers alone."""

from __future__ import annotations

import os
import warnings
from fractions import Fraction

from leakwise.alphabet import joined
from leakwise.errors import CertificateRejected, InvalidInput, LeakwiseWarning
from leakwise.guarantee import for_anyone, no_guess
from leakwise.mechanism import AnyMechanism, Mechanism, StratifiedMechanism
from leakwise.priors import AllPriors, Prior
from leakwise.proof import Certificate, StratifiedCertificate, certify, certify_by_stratum, verify

__all__ = ["AnyCertificate", "proven"]

AnyCertificate = Certificate | StratifiedCertificate

_NO_LIMIT = (
    "Nothing is guaranteed for someone of whom nothing is assumed: an outcome rules some values out. What "
    "holds for anyone who knew the prior is in the certificate of the mechanism, if it has one."
)


def proven(
    mechanism: AnyMechanism,
    drawn: AnyMechanism,
    certificate: AnyCertificate | str | os.PathLike[str] | None,
    stacklevel: int,
) -> str:
    """Return the guarantee of what is drawn from, with its adversary; one beyond the certificate's limits is refused.

    Parameters
    ----------
    mechanism
        The mechanism as it was given.
    drawn
        The same, rounded to powers of two where it had other denominators.
    certificate
        Its certificate, or the file of one. Without one, what holds for every prior is computed.
    """
    if certificate is None:
        lift = _for_every_prior(drawn)
        if lift is None:
            warnings.warn(_NO_LIMIT, LeakwiseWarning, stacklevel=stacklevel + 1)
            return _NO_LIMIT
        return _sentence(lift, drawn)
    known = certificate.verify() if isinstance(certificate, AnyCertificate) else verify(certificate)
    if not isinstance(known, AnyCertificate) or isinstance(known, StratifiedCertificate) != isinstance(
        drawn, StratifiedMechanism
    ):
        raise InvalidInput(
            f"certificate must be that of a {type(drawn).__name__}. Got a {type(known).__name__}, which is about "
            "something else."
        )
    if known.mechanism == drawn:
        return known.sentence
    if known.mechanism != mechanism:
        raise CertificateRejected(
            "The certificate is about another mechanism than the one to export. Nothing was exported; certify this one."
        )
    again: AnyCertificate
    if isinstance(known, StratifiedCertificate):
        assert isinstance(drawn, StratifiedMechanism)
        again = certify_by_stratum(drawn, known.priors, known.limits)
    else:
        assert isinstance(drawn, Mechanism)
        again = certify(drawn, known.prior, known.limits)
    if not again.holds:
        raise CertificateRejected(
            f"Rounded to what can be drawn exactly, the mechanism is beyond its limits: {again.sentence} Nothing was "
            "exported. Design it again with a slightly smaller lift."
        )
    return again.sentence


def _for_every_prior(drawn: AnyMechanism) -> Fraction | None:
    """The lift that no prior exceeds in any stratum; None where there is none."""
    lifts = []
    for one in drawn.mechanisms if isinstance(drawn, StratifiedMechanism) else (drawn,):
        lifts.append(certify(one, AllPriors(Prior.uniform(one.input_alphabet))).ratio)
    return None if None in lifts else max(lift for lift in lifts if lift is not None)


def _sentence(lift: Fraction, drawn: AnyMechanism) -> str:
    who = for_anyone(AllPriors(Prior.uniform(2)))
    if isinstance(drawn, Mechanism):
        return no_guess(lift, who)
    names = list(map(repr, drawn.given_columns.names))
    return no_guess(lift, who, seeing=f"as {joined(names)} make{'s' * (len(names) == 1)} it already")
