"""Integers over a denominator, rationals, and logarithms with a proven side. Knows nothing of privacy."""

from leakwise.exact.bisection import last_that_holds
from leakwise.exact.integers import (
    IntegerArray,
    integer_array,
    integer_product,
    is_power_of_two,
    log_array,
    ratio_array,
    vector_times_matrix,
)
from leakwise.exact.level import Level, level, typed
from leakwise.exact.logarithm import (
    exp_lower,
    exp_upper,
    float_above,
    float_below,
    log_at_most,
    log_lower,
    log_upper,
)
from leakwise.exact.rationals import (
    exact_fraction,
    floats_over_power_of_two,
    is_exact_kind,
    over_common_denominator,
)
from leakwise.exact.rounding import round_float_rows, round_integer_rows
from leakwise.exact.small_solution import small_solution

__all__ = [
    "IntegerArray",
    "Level",
    "exact_fraction",
    "exp_lower",
    "exp_upper",
    "float_above",
    "float_below",
    "floats_over_power_of_two",
    "integer_array",
    "integer_product",
    "is_exact_kind",
    "is_power_of_two",
    "last_that_holds",
    "level",
    "log_array",
    "log_at_most",
    "log_lower",
    "log_upper",
    "over_common_denominator",
    "ratio_array",
    "round_float_rows",
    "round_integer_rows",
    "small_solution",
    "typed",
    "vector_times_matrix",
]
