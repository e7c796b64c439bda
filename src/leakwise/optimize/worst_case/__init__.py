"""Worst-case utility: masks of allowed answers, the least leakage on them, and the levels that a leakage allows."""

from leakwise.optimize.worst_case.curve import WorstCaseCurve, worst_case_curve
from leakwise.optimize.worst_case.least_leakage import LeastLeakage, least_leakage
from leakwise.optimize.worst_case.mask import Mask
from leakwise.optimize.worst_case.utility import WorstCase
from leakwise.optimize.worst_case.utility_matrices import distance_utility, ordered_utility, read_utility
from leakwise.optimize.worst_case.utility_safe import UtilitySafe, utility_safe

__all__ = [
    "LeastLeakage",
    "Mask",
    "UtilitySafe",
    "WorstCase",
    "WorstCaseCurve",
    "distance_utility",
    "least_leakage",
    "ordered_utility",
    "read_utility",
    "utility_safe",
    "worst_case_curve",
]
