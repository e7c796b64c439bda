"""What to release: the optimal mechanism for a prior, a leakage bound and a utility."""

from leakwise.optimize.comparison.compare import compare
from leakwise.optimize.comparison.result import MechanismComparison
from leakwise.optimize.comparison.value import utility
from leakwise.optimize.design import design
from leakwise.optimize.design_result import Design
from leakwise.optimize.kept_comparison import InvariantComparison, best_invariant
from leakwise.optimize.margin_result import MarginDesign, StratifiedMarginDesign
from leakwise.optimize.problem.cones import Cone
from leakwise.optimize.problem.utilities import Expected, FInformation, Frequencies, Gain, Utility
from leakwise.optimize.stratified_result import StratifiedDesign
from leakwise.optimize.tradeoff import tradeoff
from leakwise.optimize.tradeoff_result import Tradeoff
from leakwise.optimize.worst_case import (
    LeastLeakage,
    Mask,
    UtilitySafe,
    WorstCase,
    WorstCaseCurve,
    distance_utility,
    least_leakage,
    ordered_utility,
    read_utility,
    utility_safe,
    worst_case_curve,
)
from leakwise.rooms import not_a_function

__all__ = [
    "Cone",
    "Design",
    "Expected",
    "FInformation",
    "Frequencies",
    "Gain",
    "InvariantComparison",
    "LeastLeakage",
    "MarginDesign",
    "Mask",
    "MechanismComparison",
    "StratifiedDesign",
    "StratifiedMarginDesign",
    "Tradeoff",
    "Utility",
    "UtilitySafe",
    "WorstCase",
    "WorstCaseCurve",
    "best_invariant",
    "compare",
    "design",
    "distance_utility",
    "least_leakage",
    "ordered_utility",
    "read_utility",
    "tradeoff",
    "utility",
    "utility_safe",
    "worst_case_curve",
]

not_a_function(__name__, "lw.design for the best mechanism within a limit, or lw.tradeoff for all limits")
