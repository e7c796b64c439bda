"""Certificates and their checking on exact integers. Imports neither leakage nor optimize."""

from leakwise.proof.aggregates import AggregateCertificate, record_guarantee
from leakwise.proof.certificate import Certificate, load_certificate
from leakwise.proof.certificate import certify as _certify_one
from leakwise.proof.envelope import EnvelopeCertificate
from leakwise.proof.excess import telling_digits
from leakwise.proof.kept_limits import FOR_ANYONE, KeptLimit
from leakwise.proof.limits import NO_LIMITS, AskedLimits, asked_limits
from leakwise.proof.masks import MaskCertificate
from leakwise.proof.optimality import OptimalityClaim, ValueBox, largest_by_levels, proven_bound, value_box
from leakwise.proof.records import (
    PointwiseRecordCertificate,
    PosteriorTree,
    RecordClasses,
    RecordInformationCertificate,
    TangentProof,
)
from leakwise.proof.sets import is_checked, is_exact, least_mass_prover
from leakwise.proof.several import (
    EIGHTHS,
    LIFTS,
    SecretPart,
    SeveralCertificate,
    lift_of_few_digits,
    roundings,
    row_guarantee,
    shares_of_a_total,
)
from leakwise.proof.stratified import StratifiedCertificate, also_by_stratum, certify_by_stratum
from leakwise.proof.stratum_limits import limits_in_stratum, prior_cost
from leakwise.proof.verification import verify

certify = also_by_stratum(_certify_one)

# What the finder may know of the checker: the forms of what it claims, and the checker's own word on them.
__all__ = [
    "EIGHTHS",
    "FOR_ANYONE",
    "LIFTS",
    "NO_LIMITS",
    "AggregateCertificate",
    "AskedLimits",
    "Certificate",
    "EnvelopeCertificate",
    "KeptLimit",
    "MaskCertificate",
    "OptimalityClaim",
    "PointwiseRecordCertificate",
    "PosteriorTree",
    "RecordClasses",
    "RecordInformationCertificate",
    "SecretPart",
    "SeveralCertificate",
    "StratifiedCertificate",
    "TangentProof",
    "ValueBox",
    "asked_limits",
    "certify",
    "certify_by_stratum",
    "is_checked",
    "is_exact",
    "largest_by_levels",
    "least_mass_prover",
    "lift_of_few_digits",
    "limits_in_stratum",
    "load_certificate",
    "prior_cost",
    "proven_bound",
    "record_guarantee",
    "roundings",
    "row_guarantee",
    "shares_of_a_total",
    "telling_digits",
    "value_box",
    "verify",
]
