"""Certificates by stratum on file: the integers of all mechanisms and priors, and one claim per stratum."""

from __future__ import annotations

import os
from dataclasses import replace
from fractions import Fraction
from typing import Any

import msgspec

from leakwise.alphabet import label_from_plain, label_to_plain
from leakwise.documents import read_document, read_integer, write_document, write_integer
from leakwise.errors import InvalidInput
from leakwise.mechanism.stratified_file import StratifiedBody, stratified_from_body, stratified_to_body, version_of
from leakwise.priors.by_stratum_file import PriorByStratumBody, priors_from_body, priors_to_body
from leakwise.proof.limits_file import LevelBody, LimitsBody, level_body, level_from_body, limits_body, limits_from_body
from leakwise.proof.stratified import StratifiedCertificate

__all__ = [
    "FORMAT",
    "StratifiedCertificateBody",
    "load_stratified_certificate",
    "save_stratified_certificate",
    "stratified_body",
    "stratified_certificate_from_body",
]

FORMAT = "leakwise.stratified-certificate"
VERSION = 2  # 2: bins with infinite edges, and of dates


class RatioBody(msgspec.Struct, forbid_unknown_fields=True):
    """The largest lift in a stratum; one over zero where it has no bound."""

    stratum: Any
    numerator: str
    denominator: str


class StratifiedCertificateBody(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """The claim "in no stratum has an outcome a lift above this ratio for its prior", and its parts."""

    mechanism: StratifiedBody
    priors: PriorByStratumBody
    ratios: list[RatioBody]
    asked: LevelBody | None = None
    further: LimitsBody | None = None


def save_stratified_certificate(certificate: StratifiedCertificate, path: str | os.PathLike[str]) -> None:
    """Write a certificate, with the mechanisms and the priors it is about."""
    write_document(path, FORMAT, version_of(certificate.mechanism, VERSION), stratified_body(certificate))


def stratified_body(certificate: StratifiedCertificate) -> StratifiedCertificateBody:
    """Return a certificate as a file body."""
    return StratifiedCertificateBody(
        stratified_to_body(certificate.mechanism),
        priors_to_body(certificate.priors),
        [RatioBody(label_to_plain(key), *_written(one)) for key, one in certificate.ratios.items()],
        level_body(certificate.asked),
        limits_body(certificate.limits.further, certificate.mechanism.input_alphabet)
        if certificate.limits.further
        else None,
    )


def load_stratified_certificate(path: str | os.PathLike[str]) -> StratifiedCertificate:
    """Read a certificate as it stands, unchecked."""
    return stratified_certificate_from_body(read_document(path, FORMAT, VERSION, StratifiedCertificateBody), str(path))


def stratified_certificate_from_body(body: StratifiedCertificateBody, name: str) -> StratifiedCertificate:
    """Return the certificate that a file body describes, unchecked."""
    mechanism, priors = stratified_from_body(body.mechanism, name), priors_from_body(body.priors, name)
    if priors.given_columns != mechanism.given_columns or priors.labels != mechanism.inputs:
        raise InvalidInput(f"{name!r} is not a valid certificate: its mechanisms and its priors are of other columns.")
    ratios = {priors.given_columns.stratum(label_from_plain(one.stratum)): _read(one, name) for one in body.ratios}
    if not ratios:
        raise InvalidInput(f"{name!r} is not a valid certificate: it makes no claim.")
    further = limits_from_body(body.further, mechanism.input_alphabet, name)
    return StratifiedCertificate(mechanism, priors, ratios, replace(further, level=level_from_body(body.asked, name)))


def _written(ratio: Fraction | None) -> tuple[str, str]:
    return write_integer(1 if ratio is None else ratio.numerator), write_integer(
        0 if ratio is None else ratio.denominator
    )


def _read(body: RatioBody, name: str) -> Fraction | None:
    denominator = read_integer(body.denominator, name)
    return Fraction(read_integer(body.numerator, name), denominator) if denominator else None
