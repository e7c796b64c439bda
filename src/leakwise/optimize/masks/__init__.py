"""Worst-case utility: masks of allowed answers, the least leakage on them, and the levels that a leakage allows."""

from leakwise.optimize.masks.curve import WorstCaseCurve, worst_case_curve
from leakwise.optimize.masks.helpers import distance_utility, ordered_utility, read_utility
from leakwise.optimize.masks.least_leakage import LeastLeakage, least_leakage
from leakwise.optimize.masks.mask import Mask
from leakwise.optimize.masks.utility_safe import UtilitySafe, utility_safe
from leakwise.optimize.masks.worst_case import WorstCase

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
