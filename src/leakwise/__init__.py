"""Leakwise: what a randomised release leaks, what to release instead, and the release itself.

>>> import leakwise as lw
>>> prior = lw.Prior({"no": 0.75, "yes": 0.25})
>>> m = lw.randomized_response(["no", "yes"], lift=3)
>>> print(f"{lw.epsilon(m, prior):.4f}")
0.6931
"""

from leakwise import records
from leakwise.alphabet import bins
from leakwise.errors import (
    CertificateRejected,
    Infeasible,
    InvalidInput,
    LeakwiseError,
    LeakwiseWarning,
    MissingExtra,
    NotConverged,
)
from leakwise.leakage import (
    Audit,
    Capacity,
    PrivacyProfile,
    Refinement,
    attaining_gain,
    audit,
    capacity,
    epsilon,
    f_information,
    g_leakage,
    g_vulnerability,
    ldp,
    local_information_privacy,
    maximal_leakage,
    min_entropy_leakage,
    mutual_information,
    pml,
    pml_quantiles,
    pointwise_g_leakage,
    privacy_profile,
    probabilistic_ldp,
    psi1,
    psi2,
    reduced,
    refines,
    tail_probability,
    zeros_allowed,
)
from leakwise.mechanism import (
    Mechanism,
    constant,
    exponential,
    identity,
    k_singular,
    randomized_response,
    symmetric_channel,
    truncated_geometric,
)
from leakwise.optimize import Design, Expected, FInformation, Gain, design
from leakwise.priors import Prior, PriorSet
from leakwise.proof import Certificate, certify, verify
from leakwise.tables import Estimate, GroupedEstimate, estimate, release

__version__ = "0.1.0.dev0"

__all__ = [
    "Audit",
    "Capacity",
    "Certificate",
    "CertificateRejected",
    "Design",
    "Estimate",
    "Expected",
    "FInformation",
    "Gain",
    "GroupedEstimate",
    "Infeasible",
    "InvalidInput",
    "LeakwiseError",
    "LeakwiseWarning",
    "Mechanism",
    "MissingExtra",
    "NotConverged",
    "Prior",
    "PriorSet",
    "PrivacyProfile",
    "Refinement",
    "attaining_gain",
    "audit",
    "bins",
    "capacity",
    "certify",
    "constant",
    "design",
    "epsilon",
    "estimate",
    "exponential",
    "f_information",
    "g_leakage",
    "g_vulnerability",
    "identity",
    "k_singular",
    "ldp",
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
    "randomized_response",
    "records",
    "reduced",
    "refines",
    "release",
    "symmetric_channel",
    "tail_probability",
    "truncated_geometric",
    "verify",
    "zeros_allowed",
]
