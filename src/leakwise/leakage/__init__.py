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
from leakwise.leakage.capacity import ShannonCapacity, shannon_capacity
from leakwise.leakage.capacity_bounds import (
    capacity_bound,
    estimation_bound,
    estimation_failure,
    leakage_sensitivity,
    lipschitz_bound,
    output_divergence,
    sensitivity_bound,
)
from leakwise.leakage.composed import (
    CompositionBounds,
    CompositionTable,
    adaptive,
    adaptive_bound,
    composition_bounds,
    composition_table,
    conditional_maximal_leakage,
)
from leakwise.leakage.differential import ldp, privacy_profile, probabilistic_ldp, probabilistic_ldp_bound
from leakwise.leakage.empirical import SampleLeakage, epsilon_from_sample
from leakwise.leakage.envelopes import Envelope, EnvelopeCurve, envelope, envelope_curve, failure_probability
from leakwise.leakage.events import event_leakage
from leakwise.leakage.inferential import InformationPrivacy, local_information_privacy, zeros_allowed
from leakwise.leakage.information import f_information, mutual_information
from leakwise.leakage.pointwise import epsilon, lifts, pml
from leakwise.leakage.profile import PrivacyProfile
from leakwise.leakage.refinement import Refinement, reduced, refines
from leakwise.leakage.samples_needed import sample_size
from leakwise.leakage.tail import Quantiles, pml_quantiles, psi1, psi2, tail_probability

__all__ = [
    "Audit",
    "ShannonCapacity",
    "CompositionBounds",
    "CompositionTable",
    "Envelope",
    "EnvelopeCurve",
    "InformationPrivacy",
    "PrivacyProfile",
    "Quantiles",
    "Refinement",
    "SampleLeakage",
    "Vulnerability",
    "adaptive",
    "adaptive_bound",
    "attaining_gain",
    "audit",
    "shannon_capacity",
    "capacity_bound",
    "composition_bounds",
    "composition_table",
    "conditional_maximal_leakage",
    "envelope",
    "envelope_curve",
    "epsilon",
    "epsilon_from_sample",
    "estimation_bound",
    "estimation_failure",
    "event_leakage",
    "f_information",
    "failure_probability",
    "g_leakage",
    "g_vulnerability",
    "ldp",
    "leakage_sensitivity",
    "lifts",
    "lipschitz_bound",
    "local_information_privacy",
    "maximal_leakage",
    "min_entropy_leakage",
    "mutual_information",
    "output_divergence",
    "pml",
    "pml_quantiles",
    "pointwise_g_leakage",
    "privacy_profile",
    "probabilistic_ldp",
    "probabilistic_ldp_bound",
    "psi1",
    "psi2",
    "reduced",
    "refines",
    "sample_size",
    "sensitivity_bound",
    "tail_probability",
    "zeros_allowed",
]
