"""What leaks: measures of a mechanism, every leakage on the safe side of the truth."""

from leakwise.leakage.audit import Audit, audit
from leakwise.leakage.average import (
    Vulnerability,
    attaining_gain,
    g_leakage,
    g_vulnerability,
    maximal_leakage,
    min_entropy_leakage,
    pointwise_g_leakage,
)
from leakwise.leakage.capacity import Capacity, capacity
from leakwise.leakage.differential import ldp, privacy_profile, probabilistic_ldp
from leakwise.leakage.inferential import InformationPrivacy, local_information_privacy, zeros_allowed
from leakwise.leakage.information import f_information, mutual_information
from leakwise.leakage.pointwise import epsilon, lifts, pml
from leakwise.leakage.profile import PrivacyProfile
from leakwise.leakage.refinement import Refinement, reduced, refines
from leakwise.leakage.tail import Quantiles, pml_quantiles, psi1, psi2, tail_probability

__all__ = [
    "Audit",
    "Capacity",
    "InformationPrivacy",
    "PrivacyProfile",
    "Quantiles",
    "Refinement",
    "Vulnerability",
    "attaining_gain",
    "audit",
    "capacity",
    "epsilon",
    "f_information",
    "g_leakage",
    "g_vulnerability",
    "ldp",
    "lifts",
    "local_information_privacy",
    "maximal_leakage",
    "min_entropy_leakage",
    "mutual_information",
    "pml",
    "pml_quantiles",
    "pointwise_g_leakage",
    "privacy_profile",
    "probabilistic_ldp",
    "psi1",
    "psi2",
    "reduced",
    "refines",
    "tail_probability",
    "zeros_allowed",
]
