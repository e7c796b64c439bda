"""What leaks: measures of a mechanism, every leakage on the safe side of the truth."""

from leakwise.leakage.audit import Audit
from leakwise.leakage.audit import audit as _audit_one
from leakwise.leakage.bounds.from_sample import SampleLeakage, epsilon_from_sample
from leakwise.leakage.bounds.sample_size import sample_size
from leakwise.leakage.bounds.wrong_prior import (
    capacity_bound,
    estimation_bound,
    estimation_failure,
    leakage_sensitivity,
    lipschitz_bound,
    output_divergence,
    sensitivity_bound,
)
from leakwise.leakage.composition import (
    CompositionBounds,
    CompositionTable,
    adaptive,
    adaptive_bound,
    composition_bounds,
    composition_table,
    conditional_maximal_leakage,
)
from leakwise.leakage.envelopes import Envelope, EnvelopeCurve, envelope, envelope_curve, failure_probability
from leakwise.leakage.many_releases.simulated import SimulatedEnvelope, simulated_envelope
from leakwise.leakage.measures.average import (
    Vulnerability,
    attaining_gain,
    g_leakage,
    g_vulnerability,
    maximal_leakage,
    min_entropy_leakage,
    pointwise_g_leakage,
)
from leakwise.leakage.measures.differential import ldp, privacy_profile, probabilistic_ldp, probabilistic_ldp_bound
from leakwise.leakage.measures.events import event_leakage
from leakwise.leakage.measures.frequency_shift import frequency_shift
from leakwise.leakage.measures.information import f_information, mutual_information
from leakwise.leakage.measures.information_privacy import InformationPrivacy, local_information_privacy, zeros_allowed
from leakwise.leakage.measures.pointwise import epsilon, lifts, pml
from leakwise.leakage.measures.privacy_profile import PrivacyProfile
from leakwise.leakage.measures.refinement import Refinement, reduced, refines
from leakwise.leakage.measures.shannon_capacity import ShannonCapacity, shannon_capacity
from leakwise.leakage.measures.tail import Quantiles, pml_quantiles, psi1, psi2, tail_probability
from leakwise.leakage.rows.memo_lift import MemoLift, memo_lift
from leakwise.leakage.rows.row_lift import RowLift, row_lift
from leakwise.leakage.rows.tree_prior import TreePrior
from leakwise.leakage.stratified_audit import StratifiedAudit, also_by_stratum
from leakwise.rooms import not_a_function

audit = also_by_stratum(_audit_one)

__all__ = [
    "Audit",
    "CompositionBounds",
    "CompositionTable",
    "Envelope",
    "EnvelopeCurve",
    "InformationPrivacy",
    "MemoLift",
    "PrivacyProfile",
    "Quantiles",
    "Refinement",
    "RowLift",
    "SampleLeakage",
    "ShannonCapacity",
    "SimulatedEnvelope",
    "StratifiedAudit",
    "TreePrior",
    "Vulnerability",
    "adaptive",
    "adaptive_bound",
    "attaining_gain",
    "audit",
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
    "frequency_shift",
    "g_leakage",
    "g_vulnerability",
    "ldp",
    "leakage_sensitivity",
    "lifts",
    "lipschitz_bound",
    "local_information_privacy",
    "maximal_leakage",
    "memo_lift",
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
    "row_lift",
    "sample_size",
    "sensitivity_bound",
    "shannon_capacity",
    "simulated_envelope",
    "tail_probability",
    "zeros_allowed",
]

not_a_function(
    __name__, "lw.epsilon for the leakage of a mechanism, lw.pml for that of each outcome, or lw.audit for all measures"
)
