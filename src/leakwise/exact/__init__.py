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
from leakwise.exact.integrals import Factor, Piece, Pieces, negative_somewhere
from leakwise.exact.inverse_trace import inverse_trace, rank_of
from leakwise.exact.lattice_sums import clamped_noisy_law, law_of_sum
from leakwise.exact.level import Level, level, typed
from leakwise.exact.log_sums import LogSum
from leakwise.exact.logarithm import exp_lower, exp_upper, float_above, float_below, log_at_most, log_lower, log_upper
from leakwise.exact.noisy_binomial import noisy_binomial_tails
from leakwise.exact.rational_functions import Linear, RationalFunction, ones_as_mixture
from leakwise.exact.rationals import (
    as_typed,
    exact_fraction,
    floats_over_power_of_two,
    from_flint,
    is_exact_kind,
    over_common_denominator,
    to_flint,
)
from leakwise.exact.rounding import round_float_rows, round_integer_rows
from leakwise.exact.small_solution import small_solution

__all__ = [
    "Factor",
    "IntegerArray",
    "Level",
    "Linear",
    "LogSum",
    "Piece",
    "Pieces",
    "RationalFunction",
    "as_typed",
    "clamped_noisy_law",
    "exact_fraction",
    "exp_lower",
    "exp_upper",
    "float_above",
    "float_below",
    "floats_over_power_of_two",
    "from_flint",
    "integer_array",
    "integer_product",
    "inverse_trace",
    "is_exact_kind",
    "is_power_of_two",
    "last_that_holds",
    "law_of_sum",
    "level",
    "log_array",
    "log_at_most",
    "log_lower",
    "log_upper",
    "negative_somewhere",
    "noisy_binomial_tails",
    "ones_as_mixture",
    "over_common_denominator",
    "rank_of",
    "ratio_array",
    "round_float_rows",
    "round_integer_rows",
    "small_solution",
    "to_flint",
    "typed",
    "vector_times_matrix",
]
