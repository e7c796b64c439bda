"""Leakwise: what a randomized release leaks, what to release instead, and the release itself.

The names that most people need are here; less common measures and bounds are in :mod:`leakwise.measures`, the classes
of results in :mod:`leakwise.results`. A name loads what it needs when it is first used.

>>> import leakwise as lw
>>> prior = lw.Prior({"no": 0.75, "yes": 0.25})
>>> m = lw.randomized_response(["no", "yes"], lift=3)
>>> print(f"{lw.epsilon(m, prior):.4f}")
0.6931
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:  # what editors and type checkers read; a test compares it with the table below
    from leakwise import aggregate as aggregate
    from leakwise import measures as measures
    from leakwise import noise as noise
    from leakwise import papers as papers
    from leakwise import records as records
    from leakwise import results as results
    from leakwise import sklearn as sklearn
    from leakwise import spark as spark
    from leakwise.alphabet import bins as bins
    from leakwise.blackbox import audit_program as audit_program
    from leakwise.blackbox import audit_samples as audit_samples
    from leakwise.errors import CertaintyWarning as CertaintyWarning
    from leakwise.errors import CertificateRejected as CertificateRejected
    from leakwise.errors import Infeasible as Infeasible
    from leakwise.errors import InvalidInput as InvalidInput
    from leakwise.errors import LeakwiseError as LeakwiseError
    from leakwise.errors import LeakwiseWarning as LeakwiseWarning
    from leakwise.errors import MissingExtra as MissingExtra
    from leakwise.errors import NotConverged as NotConverged
    from leakwise.errors import RowOrderWarning as RowOrderWarning
    from leakwise.errors import UnsafeSeedWarning as UnsafeSeedWarning
    from leakwise.exported import export as export
    from leakwise.leakage import audit as audit
    from leakwise.leakage import envelope as envelope
    from leakwise.leakage import envelope_curve as envelope_curve
    from leakwise.leakage import epsilon as epsilon
    from leakwise.leakage import failure_probability as failure_probability
    from leakwise.leakage import ldp as ldp
    from leakwise.leakage import maximal_leakage as maximal_leakage
    from leakwise.leakage import mutual_information as mutual_information
    from leakwise.leakage import pml as pml
    from leakwise.leakage import sample_size as sample_size
    from leakwise.mechanism import Mechanism as Mechanism
    from leakwise.mechanism import StratifiedMechanism as StratifiedMechanism
    from leakwise.mechanism import catalog as catalog
    from leakwise.mechanism import compose as compose
    from leakwise.mechanism import constant as constant
    from leakwise.mechanism import exponential as exponential
    from leakwise.mechanism import identity as identity
    from leakwise.mechanism import randomized_response as randomized_response
    from leakwise.mechanism import symmetric_channel as symmetric_channel
    from leakwise.mechanism import truncated_geometric as truncated_geometric
    from leakwise.optimize import Expected as Expected
    from leakwise.optimize import FInformation as FInformation
    from leakwise.optimize import Gain as Gain
    from leakwise.optimize import WorstCase as WorstCase
    from leakwise.optimize import best_invariant as best_invariant
    from leakwise.optimize import compare as compare
    from leakwise.optimize import design as design
    from leakwise.optimize import distance_utility as distance_utility
    from leakwise.optimize import least_leakage as least_leakage
    from leakwise.optimize import ordered_utility as ordered_utility
    from leakwise.optimize import read_utility as read_utility
    from leakwise.optimize import tradeoff as tradeoff
    from leakwise.optimize import utility as utility
    from leakwise.optimize import utility_safe as utility_safe
    from leakwise.optimize import worst_case_curve as worst_case_curve
    from leakwise.optimize.from_data import design_from_data as design_from_data
    from leakwise.priors import AllPriors as AllPriors
    from leakwise.priors import Ball as Ball
    from leakwise.priors import Box as Box
    from leakwise.priors import Hull as Hull
    from leakwise.priors import KLBall as KLBall
    from leakwise.priors import LayerCake as LayerCake
    from leakwise.priors import Prior as Prior
    from leakwise.priors import PriorByStratum as PriorByStratum
    from leakwise.priors import PriorSet as PriorSet
    from leakwise.proof import certify as certify
    from leakwise.proof import verify as verify
    from leakwise.tables import Ledger as Ledger
    from leakwise.tables import SqlTable as SqlTable
    from leakwise.tables.estimate.estimate import estimate as estimate
    from leakwise.tables.estimate.regression.regress import regress as regress
    from leakwise.tables.kinds.batches import batches as batches
    from leakwise.tables.memo.key import MemoKey as MemoKey
    from leakwise.tables.release.release import release as release
    from leakwise.tables.strata.audit import audit_table as audit_table
    from leakwise.workflow.advise import advise as advise
    from leakwise.workflow.protect import protect as protect
    from leakwise.workflow.simulate import simulate as simulate

__version__ = "0.1.0"

__all__ = [
    "AllPriors",
    "Ball",
    "Box",
    "CertaintyWarning",
    "CertificateRejected",
    "Expected",
    "FInformation",
    "Gain",
    "Hull",
    "Infeasible",
    "InvalidInput",
    "KLBall",
    "LayerCake",
    "LeakwiseError",
    "LeakwiseWarning",
    "Ledger",
    "Mechanism",
    "MemoKey",
    "MissingExtra",
    "NotConverged",
    "Prior",
    "PriorByStratum",
    "PriorSet",
    "RowOrderWarning",
    "SqlTable",
    "StratifiedMechanism",
    "UnsafeSeedWarning",
    "WorstCase",
    "advise",
    "aggregate",
    "audit",
    "audit_program",
    "audit_samples",
    "audit_table",
    "batches",
    "best_invariant",
    "bins",
    "catalog",
    "certify",
    "compare",
    "compose",
    "constant",
    "design",
    "design_from_data",
    "distance_utility",
    "envelope",
    "envelope_curve",
    "epsilon",
    "estimate",
    "exponential",
    "export",
    "failure_probability",
    "identity",
    "ldp",
    "least_leakage",
    "maximal_leakage",
    "measures",
    "mutual_information",
    "noise",
    "ordered_utility",
    "papers",
    "pml",
    "protect",
    "randomized_response",
    "read_utility",
    "records",
    "regress",
    "release",
    "results",
    "sample_size",
    "simulate",
    "sklearn",
    "spark",
    "symmetric_channel",
    "tradeoff",
    "truncated_geometric",
    "utility",
    "utility_safe",
    "verify",
    "worst_case_curve",
]

_PLACES = {
    "leakwise.alphabet": "bins",
    "leakwise.blackbox": "audit_program audit_samples",
    "leakwise.errors": (
        "CertaintyWarning CertificateRejected Infeasible InvalidInput LeakwiseError LeakwiseWarning MissingExtra "
        "NotConverged RowOrderWarning UnsafeSeedWarning"
    ),
    "leakwise.exported": "export",
    "leakwise.leakage": (
        "audit envelope envelope_curve epsilon failure_probability ldp maximal_leakage mutual_information pml "
        "sample_size"
    ),
    "leakwise.mechanism": (
        "Mechanism StratifiedMechanism catalog compose constant exponential identity k_singular randomized_response "
        "symmetric_channel truncated_geometric"
    ),
    "leakwise.optimize": (
        "Expected FInformation Gain WorstCase best_invariant compare design distance_utility least_leakage "
        "ordered_utility read_utility tradeoff utility utility_safe worst_case_curve"
    ),
    "leakwise.optimize.from_data": "design_from_data",
    "leakwise.priors": "AllPriors Ball Box Hull KLBall LayerCake Prior PriorByStratum PriorSet",
    "leakwise.proof": "certify verify",
    "leakwise.tables": "Ledger SqlTable",
    "leakwise.tables.estimate.estimate": "estimate",
    "leakwise.tables.estimate.regression.regress": "regress",
    "leakwise.tables.kinds.batches": "batches",
    "leakwise.tables.memo.key": "MemoKey",
    "leakwise.tables.release.release": "release",
    "leakwise.tables.strata.audit": "audit_table",
    "leakwise.workflow.advise": "advise",
    "leakwise.workflow.protect": "protect",
    "leakwise.workflow.simulate": "simulate",
}
_PLACE_OF = {name: place for place, names in _PLACES.items() for name in names.split()}

# Where the names of version 0.1 have gone. They work for one version more, and say so.
_MOVED = {
    "leakwise.measures": (
        "adaptive_bound attaining_gain shannon_capacity capacity_bound composition_bounds composition_table "
        "epsilon_from_sample estimation_bound estimation_failure f_information g_leakage g_vulnerability "
        "leakage_sensitivity lipschitz_bound local_information_privacy min_entropy_leakage output_divergence "
        "pml_quantiles pointwise_g_leakage privacy_profile probabilistic_ldp psi1 psi2 reduced refines "
        "sensitivity_bound tail_probability zeros_allowed"
    ),
    "leakwise.results": (
        "Audit BlackBoxAudit ShannonCapacity Certificate Composition CompositionBounds CompositionTable "
        "DataDesign Design Envelope EnvelopeCurve Estimate GroupedEstimate LeastLeakage PrivacyProfile "
        "Protection Refinement SampleLeakage Tradeoff UtilitySafe WorstCaseCurve"
    ),
}
_MOVED_TO = {name: (place, name) for place, names in _MOVED.items() for name in names.split()}
_MOVED_TO |= {
    "capacity": ("leakwise.measures", "shannon_capacity"),
    "Capacity": ("leakwise.results", "ShannonCapacity"),
}


def _load(name: str) -> object:
    import importlib.util

    if name in _PLACE_OF:
        return getattr(importlib.import_module(_PLACE_OF[name]), name)
    if name in _MOVED_TO:
        import warnings

        place, new = _MOVED_TO[name]
        short = place.replace("leakwise", "lw")
        warnings.warn(
            f"lw.{name} is now {short}.{new}; the old name goes in version 0.3.", DeprecationWarning, stacklevel=3
        )
        return getattr(importlib.import_module(place), new)
    if not name.startswith("_") and importlib.util.find_spec(f"leakwise.{name}"):
        return importlib.import_module(f"leakwise.{name}")
    from leakwise.errors import did_you_mean

    rooms = () if name.startswith("_") else ("measures", "catalog", "results")
    room = next((one for one in rooms if name in vars(_load(one))["__all__"]), None)
    hint = did_you_mean(name, __all__) if room is None else f" It is lw.{room}.{name}."
    raise AttributeError(f"module 'leakwise' has no attribute {name!r}.{hint}")


if not TYPE_CHECKING:  # a type checker is to report a misspelt name

    def __getattr__(name: str) -> object:
        found = _load(name)
        if name not in _MOVED_TO:
            globals()[name] = found
        return found

    def __dir__() -> list[str]:
        from leakwise.rooms import offering

        return offering(globals())()
