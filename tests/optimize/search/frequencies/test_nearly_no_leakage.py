"""Frequencies at lifts of nearly 1, where J is 11ᵀ and something that floats hardly see."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

import leakwise as lw
from leakwise.optimize.problem.utilities import as_utility


@pytest.mark.parametrize(("epsilon", "closeness"), [(1e-3, 1e-8), (1e-4, 1e-6), (1e-5, 2e-5)])
@pytest.mark.parametrize("method", ["auto", "columns"])
def test_the_gap_stays_small(epsilon: float, closeness: float, method: str) -> None:
    for prior in (lw.Prior.uniform(4), lw.Prior([0.1, 0.2, 0.3, 0.4])):
        found = lw.design(prior, epsilon=epsilon, utility="frequencies", method=method)
        assert found.gap <= closeness * abs(found.value)
        assert found.certificate.verify().holds
        assert found.certificate.optimality is not None
        # In the first region a column of the optimum takes a letter off: with x = t - 1 its lifts are 1 + x, and
        # 1 - x(1 - π)/π for that letter, which comes with the probability π; so J - 11ᵀ has the inverse of this trace.
        step = math.expm1(epsilon)
        p = prior.probabilities
        variance = float((p * (1 - p)).sum()) / step**2
        assert found.value == pytest.approx(-variance, rel=closeness)


def test_a_limit_for_anyone_beside_it() -> None:
    prior = lw.Prior(np.arange(1, 6) / 15)
    found = lw.design(prior, epsilon=1e-4, ldp=2e-4, utility="frequencies")
    assert found.gap <= 1e-6 * abs(found.value)


@pytest.mark.parametrize("epsilon", [3e-7, 1e-7, 1e-9])
def test_where_floats_see_nothing_the_integers_do(epsilon: float) -> None:
    for prior in (lw.Prior.uniform(4), lw.Prior([0.1, 0.2, 0.3, 0.4])):
        found = lw.design(prior, epsilon=epsilon, utility="frequencies")
        p = prior.probabilities
        assert found.value == pytest.approx(-float((p * (1 - p)).sum()) / math.expm1(epsilon) ** 2, rel=1e-8)
        assert found.gap <= 1e-8 * abs(found.value)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", lw.LeakwiseWarning)  # of a gap that is open
            both = lw.design(prior, epsilon=epsilon, ldp=2 * epsilon, utility="frequencies")
        assert -math.inf < both.value <= both.bound < 0


def test_a_singular_mechanism_is_worth_nothing_and_an_unknown_one_is_no_bound() -> None:
    prior = lw.Prior([0.2, 0.3, 0.5])
    frequencies = as_utility("frequencies")
    nothing = lw.constant(["a", "b", "c"]).kernel
    assert frequencies.interval(nothing, prior) == (-math.inf, -math.inf)
    # Two of three values are released as one: three outcomes, and a matrix of rank two.
    rank_two = lw.Mechanism([["1/2", "1/4", "1/4"], ["1/2", "1/4", "1/4"], ["1/4", "1/4", "1/2"]]).kernel
    assert frequencies.interval(rank_two, prior) == (-math.inf, -math.inf)
    many = lw.Prior.uniform(80)  # too many for exact numbers
    low, high = frequencies.interval(lw.randomized_response(80, epsilon=1e-12).kernel, many)
    assert low == -math.inf
    assert high >= 1 / 80 - 1


def test_values_of_probability_zero_make_no_mechanism_singular() -> None:
    same = lw.Mechanism([["3/4", "1/4"], ["1/4", "3/4"], ["1/4", "3/4"]])  # the third value is told as the second
    two = lw.utility(lw.Mechanism([["3/4", "1/4"], ["1/4", "3/4"]]), [0.4, 0.6], "frequencies")
    assert lw.utility(same, lw.Prior([0.4, 0.6, 0]), "frequencies") == pytest.approx(two)
    assert lw.utility(same, lw.Prior([0.4, 0.3, 0.3]), "frequencies") == -math.inf
