"""Proofs of what a noisy answer about a whole dataset tells about one record, checked by code of their own."""

from leakwise.proof.records.boxes import PosteriorTree
from leakwise.proof.records.classes import RecordClasses
from leakwise.proof.records.information import RecordInformationCertificate
from leakwise.proof.records.pointwise import PointwiseRecordCertificate
from leakwise.proof.records.tangents import TangentProof

__all__ = [
    "PointwiseRecordCertificate",
    "PosteriorTree",
    "RecordClasses",
    "RecordInformationCertificate",
    "TangentProof",
]
