"""Certificates of several secrets on file: the parts as their own files have them, and how they are linked."""

from __future__ import annotations

import os
from typing import Any

import msgspec

from leakwise.alphabet import label_from_plain, label_to_plain
from leakwise.documents import read_document, read_integer, write_document, write_integer
from leakwise.errors import InvalidInput
from leakwise.mechanism.stratified_file import version_of
from leakwise.priors import Prior, PriorByStratum
from leakwise.priors.by_stratum_file import PriorByStratumBody, priors_from_body, priors_to_body
from leakwise.priors.prior import PriorBody
from leakwise.priors.sets.files import SetBody, set_from_body, set_to_body
from leakwise.proof.certificate import Certificate, LimitedBody, certificate_from_body
from leakwise.proof.limits_file import LevelBody, level_body, level_from_body
from leakwise.proof.several.certificate import SeveralCertificate
from leakwise.proof.several.links import Known
from leakwise.proof.several.part import SecretPart
from leakwise.proof.stratified_file import (
    StratifiedCertificateBody,
    stratified_body,
    stratified_certificate_from_body,
)

__all__ = ["FORMAT", "load_several_certificate", "save_several_certificate"]

FORMAT = "leakwise.several-certificate"
VERSION = 2  # 2: bins with infinite edges, and of dates


class KnownBody(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """A prior, with a set around it or not; or priors by stratum."""

    prior: PriorBody | None = None
    around: SetBody | None = None
    strata: PriorByStratumBody | None = None


class PartBody(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """One secret: its columns, and its certificate of one kind or the other."""

    columns: list[Any]
    certificate: LimitedBody | None = None
    stratified: StratifiedCertificateBody | None = None
    alone: KnownBody | None = None
    possible: str = "0x1"
    least: bool = False


class SeveralBody(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """The claim "no guess about a row has a lift above the product of the parts", and its parts."""

    parts: list[PartBody]
    total: LevelBody | None = None
    joint: KnownBody | None = None


def save_several_certificate(certificate: SeveralCertificate, path: str | os.PathLike[str]) -> None:
    """Write a certificate."""
    body = SeveralBody(
        [_part(one) for one in certificate.parts],
        level_body(certificate.total),
        None if certificate.joint is None else _known(certificate.joint),
    )
    each = (one.certificate.mechanism for one in certificate.parts)
    write_document(path, FORMAT, max(version_of(one, VERSION) for one in each), body)


def load_several_certificate(path: str | os.PathLike[str]) -> SeveralCertificate:
    """Read a certificate as it stands, unchecked."""
    name = str(path)
    body = read_document(path, FORMAT, VERSION, SeveralBody)
    joint = None if body.joint is None else _read(body.joint, name)
    if joint is not None and not isinstance(joint, (Prior, PriorByStratum)):
        raise InvalidInput(f"{name!r} is not a valid certificate: a joint prior is not a set of priors.")
    return SeveralCertificate(
        tuple(_read_part(one, name) for one in body.parts), level_from_body(body.total, name), joint
    )


def _part(part: SecretPart) -> PartBody:
    columns, found = [label_to_plain(name) for name in part.names], part.certificate
    alone = None if part.alone is None else _known(part.alone)
    if isinstance(found, Certificate):
        own = msgspec.convert(msgspec.to_builtins(found.to_body()), LimitedBody)
        return PartBody(columns, own, alone=alone, possible=write_integer(part.possible), least=part.least)
    return PartBody(
        columns,
        stratified=stratified_body(found),
        alone=alone,
        possible=write_integer(part.possible),
        least=part.least,
    )


def _read_part(body: PartBody, name: str) -> SecretPart:
    columns = tuple(map(label_from_plain, body.columns))
    alone = None if body.alone is None else _read(body.alone, name)
    possible = read_integer(body.possible, name)
    if (body.certificate is None) == (body.stratified is None) or not columns or not possible:
        raise InvalidInput(f"{name!r} is not a valid certificate: every secret has columns, and one proof.")
    if body.certificate is not None:
        return SecretPart(columns, certificate_from_body(body.certificate, name), alone, possible, body.least)
    assert body.stratified is not None
    return SecretPart(columns, stratified_certificate_from_body(body.stratified, name), alone, possible, body.least)


def _known(known: Known) -> KnownBody:
    if isinstance(known, PriorByStratum):
        return KnownBody(strata=priors_to_body(known))
    return KnownBody(known.nominal.to_body(), None if isinstance(known, Prior) else set_to_body(known))


def _read(body: KnownBody, name: str) -> Known:
    if body.strata is not None:
        return priors_from_body(body.strata, name)
    if body.prior is None:
        raise InvalidInput(f"{name!r} is not a valid certificate: a prior is missing.")
    nominal = Prior.from_body(body.prior, name)
    return nominal if body.around is None else set_from_body(body.around, nominal, name)
