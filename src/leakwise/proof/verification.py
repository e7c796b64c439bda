"""Any certificate file, read and checked from its integers."""

from __future__ import annotations

import os

from leakwise.documents import document_format
from leakwise.proof import aggregates, certificate, envelope, masks, stratified_file
from leakwise.proof.aggregates import AggregateCertificate
from leakwise.proof.certificate import Certificate
from leakwise.proof.envelope import EnvelopeCertificate
from leakwise.proof.masks import MaskCertificate
from leakwise.proof.records import PointwiseRecordCertificate, RecordInformationCertificate
from leakwise.proof.records import information as record_information
from leakwise.proof.records import pointwise as pointwise_records
from leakwise.proof.several import SeveralCertificate, several_file
from leakwise.proof.stratified import StratifiedCertificate

__all__ = ["verify"]


def verify(
    path: str | os.PathLike[str],
) -> (
    AggregateCertificate
    | Certificate
    | EnvelopeCertificate
    | MaskCertificate
    | PointwiseRecordCertificate
    | RecordInformationCertificate
    | SeveralCertificate
    | StratifiedCertificate
):
    """Read a certificate file and check it from its integers; raise CertificateRejected when it proves nothing.

    Takes the certificates of a leakage or a design, of all strata of one, of several secrets of a row, of an envelope,
    of a least leakage, of what a noisy answer tells about a record, and of a count or a histogram.
    """
    kind = document_format(path)
    if kind == aggregates.FORMAT:
        return aggregates.load_aggregate_certificate(path).verify()
    if kind == envelope.FORMAT:
        return envelope.load_envelope_certificate(path).verify()
    if kind == masks.FORMAT:
        return masks.load_mask_certificate(path).verify()
    if kind == stratified_file.FORMAT:
        return stratified_file.load_stratified_certificate(path).verify()
    if kind == several_file.FORMAT:
        return several_file.load_several_certificate(path).verify()
    if kind == record_information.FORMAT:
        return record_information.load_record_information_certificate(path).verify()
    if kind == pointwise_records.FORMAT:
        return pointwise_records.load_pointwise_record_certificate(path).verify()
    return certificate.load_certificate(path).verify()
