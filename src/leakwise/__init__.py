"""Leakwise: what a randomised release leaks, what to release instead, and the release itself.

>>> import leakwise as lw
>>> prior = lw.Prior({"no": 0.75, "yes": 0.25})
>>> m = lw.randomized_response(["no", "yes"], lift=3)
>>> print(f"{lw.epsilon(m, prior):.4f}")
0.6931
"""

from typing import TYPE_CHECKING

from leakwise import noise, records
from leakwise.alphabet import bins
from leakwise.blackbox import BlackBoxAudit, audit_program, audit_samples
from leakwise.errors import (
    CertificateRejected,
    Infeasible,
    InvalidInput,
    LeakwiseError,
    LeakwiseWarning,
    MissingExtra,
    NotConverged,
    UnsafeSeedWarning,
)
from leakwise.leakage import (
    Audit,
    Capacity,
    CompositionBounds,
    CompositionTable,
    Envelope,
    EnvelopeCurve,
    PrivacyProfile,
    Refinement,
    SampleLeakage,
    adaptive_bound,
    attaining_gain,
    audit,
    capacity,
    capacity_bound,
    composition_bounds,
    composition_table,
    envelope,
    envelope_curve,
    epsilon,
    epsilon_from_sample,
    estimation_bound,
    estimation_failure,
    event_leakage,
    f_information,
    failure_probability,
    g_leakage,
    g_vulnerability,
    ldp,
    leakage_sensitivity,
    lipschitz_bound,
    local_information_privacy,
    maximal_leakage,
    min_entropy_leakage,
    mutual_information,
    output_divergence,
    pml,
    pml_quantiles,
    pointwise_g_leakage,
    privacy_profile,
    probabilistic_ldp,
    probabilistic_ldp_bound,
    psi1,
    psi2,
    reduced,
    refines,
    sample_size,
    sensitivity_bound,
    tail_probability,
    zeros_allowed,
)
from leakwise.mechanism import (
    Composition,
    Mechanism,
    compose,
    constant,
    exponential,
    identity,
    k_singular,
    randomized_response,
    symmetric_channel,
    truncated_geometric,
)
from leakwise.optimize import (
    Design,
    Expected,
    FInformation,
    Gain,
    LeastLeakage,
    Tradeoff,
    UtilitySafe,
    WorstCase,
    WorstCaseCurve,
    design,
    distance_utility,
    least_leakage,
    ordered_utility,
    read_utility,
    tradeoff,
    utility_safe,
    worst_case_curve,
)
from leakwise.optimize.from_data import DataDesign, design_from_data
from leakwise.priors import AllPriors, Ball, Box, Hull, KLBall, LayerCake, Prior, PriorSet
from leakwise.proof import Certificate, certify, verify
from leakwise.tables import Estimate, GroupedEstimate, Ledger, SqlTable, estimate, release
from leakwise.workflow import Protection, protect

if TYPE_CHECKING:
    from leakwise import sklearn as sklearn
    from leakwise import spark as spark
else:
    # Rooms that stand on large libraries open when somebody goes in.
    def __getattr__(name: str) -> object:
        if name in ("sklearn", "spark"):
            import importlib

            return importlib.import_module(f"leakwise.{name}")
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted({*globals(), "sklearn", "spark"})


__version__ = "0.1.0"

__all__ = [
    "AllPriors",
    "Audit",
    "Ball",
    "BlackBoxAudit",
    "Box",
    "Capacity",
    "Certificate",
    "CertificateRejected",
    "Composition",
    "CompositionBounds",
    "CompositionTable",
    "DataDesign",
    "Design",
    "Envelope",
    "EnvelopeCurve",
    "Estimate",
    "Expected",
    "FInformation",
    "Gain",
    "GroupedEstimate",
    "Hull",
    "Infeasible",
    "InvalidInput",
    "KLBall",
    "LayerCake",
    "LeakwiseError",
    "LeakwiseWarning",
    "LeastLeakage",
    "Ledger",
    "Mechanism",
    "MissingExtra",
    "NotConverged",
    "Prior",
    "PriorSet",
    "PrivacyProfile",
    "Protection",
    "Refinement",
    "SampleLeakage",
    "SqlTable",
    "Tradeoff",
    "UnsafeSeedWarning",
    "UtilitySafe",
    "WorstCase",
    "WorstCaseCurve",
    "adaptive_bound",
    "attaining_gain",
    "audit",
    "audit_program",
    "audit_samples",
    "bins",
    "capacity",
    "capacity_bound",
    "certify",
    "compose",
    "composition_bounds",
    "composition_table",
    "constant",
    "design",
    "design_from_data",
    "distance_utility",
    "envelope",
    "envelope_curve",
    "epsilon",
    "epsilon_from_sample",
    "estimate",
    "estimation_bound",
    "estimation_failure",
    "event_leakage",
    "exponential",
    "f_information",
    "failure_probability",
    "g_leakage",
    "g_vulnerability",
    "identity",
    "k_singular",
    "ldp",
    "leakage_sensitivity",
    "least_leakage",
    "lipschitz_bound",
    "local_information_privacy",
    "maximal_leakage",
    "min_entropy_leakage",
    "mutual_information",
    "noise",
    "ordered_utility",
    "output_divergence",
    "pml",
    "pml_quantiles",
    "pointwise_g_leakage",
    "privacy_profile",
    "probabilistic_ldp",
    "probabilistic_ldp_bound",
    "protect",
    "psi1",
    "psi2",
    "randomized_response",
    "read_utility",
    "records",
    "reduced",
    "refines",
    "release",
    "sample_size",
    "sensitivity_bound",
    "symmetric_channel",
    "tail_probability",
    "tradeoff",
    "truncated_geometric",
    "utility_safe",
    "verify",
    "worst_case_curve",
    "zeros_allowed",
]
