"""Fewer columns than an optimum has: which leave, what is lost, and that a limit on outcomes is kept on every way."""

from __future__ import annotations

import math
import warnings
from fractions import Fraction

import numpy as np
import pytest

import leakwise as lw
from leakwise.optimize.problem.cones import pml_cone
from leakwise.optimize.search.frequencies import search_frequencies
from leakwise.optimize.search.frequencies.elimination import eliminated
from leakwise.optimize.search.frequencies.weights import adding_up, linearised
from leakwise.optimize.search.limits import Limits


def dirichlet(size):
    return lw.Prior(np.random.default_rng(size).dirichlet(np.ones(size)))


def zipf(size):
    return lw.Prior(1 / np.arange(1, size + 1) / (1 / np.arange(1, size + 1)).sum())


@pytest.mark.parametrize(
    ("law", "size", "limits"),
    [
        (dirichlet, 16, {"lift": 5, "ldp": math.log(50)}),
        (zipf, 17, {"lift": 1.5}),
        (dirichlet, 18, {"lift": 2}),
        (zipf, 20, {"lift": 2, "ldp": math.log(20)}),
        (zipf, 20, {"ldp": 1.0}),
    ],
)
def test_sixteen_to_twenty_values_are_within_a_ten_thousandth_with_eight_outcomes_each(law, size, limits):
    """Exchanged columns and the bound over J alone left gaps of 0.3 to 3.7%."""
    design = lw.design(law(size), utility="frequencies", **limits)
    assert design.gap <= 1e-4 * abs(design.bound)
    assert design.mechanism.shape[1] <= 8 * size
    assert design.certificate.verify().optimality.bound == pytest.approx(design.bound, rel=1e-6)


def test_more_outcomes_than_an_optimum_has_are_not_used_and_the_gap_is_closed():
    design = lw.design(zipf(17), lift=2, utility="frequencies", outcomes=200)
    assert design.gap <= 1e-7 * abs(design.bound)
    assert design.mechanism.shape[1] <= 17 * 18 // 2 - 1


def test_the_columns_that_leave_are_those_that_are_missed_least():
    cone = pml_cone(dirichlet(9), Fraction(2))
    found = search_frequencies(cone, Limits())
    best = linearised(found.lifts, found.weights).value
    most = found.lifts.shape[1] - 6
    columns, weights = eliminated(found.lifts, found.weights, most)
    assert columns.shape[1] == most
    weights, miss = adding_up(columns, weights)
    assert miss < 1e-9
    lightest = np.argsort(found.weights)[6:]
    lighter, _ = adding_up(found.lifts[:, lightest], found.weights[lightest])
    assert best >= linearised(columns, weights).value > linearised(found.lifts[:, lightest], lighter).value


def test_columns_with_a_relation_leave_for_nothing():
    cone = pml_cone(dirichlet(6), Fraction(2))
    found = search_frequencies(cone, Limits())
    twice = np.concatenate([found.lifts, found.lifts], axis=1)
    halves = np.concatenate([found.weights, found.weights]) / 2
    columns, weights = eliminated(twice, halves, found.lifts.shape[1])
    assert linearised(columns, weights).value == pytest.approx(linearised(found.lifts, found.weights).value, rel=1e-6)


@pytest.mark.parametrize("method", ["auto", "enumeration"])
@pytest.mark.parametrize("outcomes", [8, 12, 20])
def test_a_limit_on_outcomes_is_kept_by_every_method(method, outcomes):
    """A list of all vertices gave as many outcomes as an optimum has, whatever was asked for."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lw.LeakwiseWarning)  # of the gap that so few leave
        design = lw.design(dirichlet(8), lift=2, utility="frequencies", method=method, outcomes=outcomes)
    assert design.mechanism.shape[1] <= outcomes
    assert np.linalg.matrix_rank(design.mechanism.matrix) == 8
    assert design.certificate.holds


def test_a_quarter_of_the_columns_of_an_optimum_lose_little():
    """Exchanged columns alone lost 3.6%."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lw.LeakwiseWarning)
        design = lw.design(dirichlet(20), lift=2, utility="frequencies", outcomes=60)
    assert design.mechanism.shape[1] <= 60
    assert design.gap <= 0.02 * abs(design.bound)


def test_little_time_gives_what_exchanges_give_at_least():
    prior = dirichlet(19)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lw.LeakwiseWarning)
        for seconds in (1e-3, 0.3, 0.7):
            design = lw.design(prior, lift=2, anyone=20, utility="frequencies", time_limit=seconds)
            assert design.mechanism.shape[1] <= 8 * 19
            assert design.certificate.holds
            assert np.isfinite(design.value)
