"""Designs for statistics: brute force where it is possible, the error that estimate() really makes, and the bound."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog, minimize

import leakwise as lw
from leakwise.exact import level
from leakwise.optimize.bounds.least_trace import least_trace_bound
from leakwise.optimize.pricing.vertex_list import list_vertices
from leakwise.optimize.problem.cones import LDPCone, pml_cone
from leakwise.optimize.problem.utilities import as_utility
from leakwise.optimize.search.limits import Limits

FREQUENCIES = as_utility("frequencies")


def priors(least=2, most=5):
    return st.lists(st.integers(1, 9), min_size=least, max_size=most).map(lw.Prior)


def value_of(matrix, p):
    """The definition: Σπ² - trace J⁻¹ with J = Σ_j q_j λ_j λ_jᵀ."""
    law = p @ matrix
    lifts = matrix / law
    return float(p @ p - np.trace(np.linalg.inv((lifts * law) @ lifts.T)))


def test_the_identity_has_the_error_of_counting():
    # q = π and λ = e_i/π_i: J⁻¹ = diag π, so that the sum of the variances is 1 - Σπ², that of a multinomial.
    prior = lw.Prior([0.5, 0.3, 0.2])
    design = lw.design(prior, epsilon=3, utility="frequencies")
    assert design.value == pytest.approx(-(1 - 0.38), rel=1e-8)


@given(st.integers(1, 9), st.integers(1, 9), st.floats(0.05, 2))
@settings(max_examples=20)
def test_two_letters_against_a_grid_of_all_mechanisms(first, second, epsilon):
    prior = lw.Prior([first, second])
    design = lw.design(prior, epsilon=epsilon, utility="frequencies")
    p, t = prior.probabilities, math.exp(epsilon)
    one, two = (grid.ravel() for grid in np.meshgrid(np.linspace(0, 1, 301), np.linspace(0, 1, 301)))
    matrices = np.stack([one, 1 - one, two, 1 - two]).reshape(2, 2, -1)
    law = np.einsum("i,ijk->jk", p, matrices)
    allowed = (matrices.max(axis=0) <= t * law).all(axis=0) & (np.abs(one - two) > 1e-9) & (law > 0).all(axis=0)
    lifts = matrices[:, :, allowed] / law[:, allowed]
    information = np.einsum("ijk,ljk,jk->ilk", lifts, lifts, law[:, allowed])
    determinant = information[0, 0] * information[1, 1] - information[0, 1] ** 2
    values = p @ p - (information[0, 0] + information[1, 1]) / determinant
    best = float(values.max(initial=-math.inf))
    assert best <= design.bound
    assert best <= design.value + 1e-6 * abs(design.value)  # Theorem 2 is optimal for every sublinear utility


@given(priors(least=3, most=4), st.floats(0.1, 1.5))
@settings(max_examples=15)
def test_three_and_four_letters_against_another_solver_over_all_vertices(prior, epsilon):
    design = lw.design(prior, epsilon=epsilon, utility="frequencies", method="columns")
    p = prior.probabilities
    vertices = list_vertices(pml_cone(prior, level(epsilon).below))

    def error(weights):
        information = (vertices * weights) @ vertices.T
        inverse = np.linalg.pinv(information)
        return float(np.trace(inverse)), -np.einsum("ij,ij->j", inverse @ vertices, inverse @ vertices)

    start = np.linalg.lstsq(vertices, np.ones(len(p)), rcond=None)[0]
    found = minimize(
        error,
        np.maximum(start, 1e-3),
        jac=True,
        method="SLSQP",
        bounds=[(1e-9, None)] * vertices.shape[1],
        constraints={"type": "eq", "fun": lambda w: vertices @ w - 1, "jac": lambda w: vertices},
        options={"maxiter": 500, "ftol": 1e-12},
    )
    reached = float(p @ p) - found.fun
    if np.abs(vertices @ found.x - 1).max() < 1e-8:
        assert reached <= design.bound + 1e-6 * abs(reached)
        assert design.value >= reached - 1e-4 * abs(reached)
    assert design.gap <= 1e-6 * max(1.0, abs(design.value))


def random_mechanism(cone, generator):
    """Random columns of the cone with weights that add up to one: a corner of those, by a linear program."""
    size = len(cone.prior)
    columns = cone.linear_max(generator.standard_normal((size, 6 * size)))[1]
    columns = np.concatenate([np.ones((size, 1)), columns], axis=1)
    costs = np.concatenate([[10.0], generator.uniform(0, 1, columns.shape[1] - 1)])
    answer = linprog(costs, A_eq=columns, b_eq=np.ones(size), method="highs")
    return (columns * answer.x)[:, answer.x > 1e-12]


@given(priors(most=6), st.floats(0.1, 2), st.integers(0, 10**6), st.sampled_from(["pml", "ldp"]))
@settings(max_examples=40)
def test_the_trace_bound_is_below_every_mechanism(prior, epsilon, seed, kind):
    factor = level(epsilon).below
    cone = pml_cone(prior, factor) if kind == "pml" else LDPCone(prior, factor)
    least, _ = least_trace_bound(cone, Limits())
    bound = {"epsilon": epsilon} if kind == "pml" else {"ldp": epsilon}
    best = lw.design(prior, utility="frequencies", **bound)
    p = prior.probabilities
    assert least > 0
    assert p @ p - least >= best.value  # nothing beats the bound, the optimum least of all
    matrix = random_mechanism(cone, np.random.default_rng(seed))
    assert matrix.sum(axis=1) == pytest.approx(np.ones(len(p)), abs=1e-9)
    if np.linalg.matrix_rank(matrix, tol=1e-6) == len(p):
        assert value_of(matrix, p) <= p @ p - least + 1e-6


def test_the_trace_bound_is_attained_where_the_masses_allow_it():
    # Uniform prior, e^ε = N/k: columns of k raised letters, all C(N,k) of them evenly, have J as the bound asks.
    prior = lw.Prior.uniform(6)
    least, _ = least_trace_bound(pml_cone(prior, level(lift=2).below), Limits())
    design = lw.design(prior, lift=2, utility="frequencies")
    p = prior.probabilities
    assert p @ p - least == pytest.approx(design.value, rel=1e-6)


@given(priors(most=5), st.floats(0.1, 1.5))
@settings(max_examples=15)
def test_at_most_as_many_outcomes_as_the_information_has_entries(prior, epsilon):
    design = lw.design(prior, epsilon=epsilon, utility="frequencies")
    size = len(prior)
    assert design.mechanism.shape[1] <= size * (size + 1) // 2
    assert value_of(design.mechanism.matrix, prior.probabilities) == pytest.approx(design.value, rel=1e-7)


@pytest.mark.parametrize("bound", [{"ldp": 0}, {"lip": 0}, {"epsilon": 0}, {"epsilon": 1, "ldp": 0}])
def test_where_only_constants_are_allowed_nothing_can_be_recovered(bound):
    design = lw.design([0.5, 0.3, 0.2], utility="frequencies", **bound)
    assert design.value == design.bound == -math.inf
    assert design.gap == 0
    assert lw.mutual_information(design.mechanism, lw.Prior([0.5, 0.3, 0.2])) < 1e-12


@pytest.mark.parametrize(("weights", "epsilon"), [([5, 3, 2], 0.4), ([4, 3, 2, 1, 1], 0.9)])
def test_the_value_is_the_error_that_estimate_makes(weights, epsilon):
    """The mean of the squared error over 600 releases of a million rows is the promised one.

    Its relative standard deviation is at most √(2/600) = 0.058 (all variance in one direction); 5 of them are a false
    alarm of less than 1e-6, were the seed not fixed.
    """
    prior = lw.Prior(weights)
    design = lw.design(prior, epsilon=epsilon, utility="frequencies")
    m, p, rows, runs = design.mechanism, prior.probabilities, 10**6, 600
    law = p @ m.matrix
    generator = np.random.default_rng(20)
    squares, promised = [], []
    for _ in range(runs):
        counts = generator.multinomial(rows, law / law.sum())
        estimate = lw.estimate(dict(zip(m.outputs, counts.tolist(), strict=True)), m)
        squares.append(float(((estimate.frequencies - p) ** 2).sum()))
        promised.append(float((estimate.standard_error**2).sum()))
    expected = -design.value / rows
    assert np.mean(squares) == pytest.approx(expected, rel=5 * math.sqrt(2 / runs))
    assert np.mean(promised) == pytest.approx(expected, rel=0.02)  # the intervals know as much


def test_mutual_information_can_forget_statistics():
    """N = 12, ε = 0.3, for a prior whose informative optimum is rank-deficient.

    Not every prior has one: of seven random ones three did; for the others its standard error was 2.3 to 39 times that
    of ``frequencies``, which kept 82 to 95 % of the mutual information.
    """
    prior = lw.Prior(np.random.default_rng(0).dirichlet(np.ones(12)))
    informative = lw.design(prior, epsilon=0.3)
    statistical = lw.design(prior, epsilon=0.3, utility="frequencies")
    assert FREQUENCIES.interval(informative.mechanism.kernel, prior)[1] == -math.inf
    assert lw.mutual_information(statistical.mechanism, prior) > 0.8 * informative.value
    assert statistical.gap <= 1e-6 * abs(statistical.value)


def test_beyond_the_listed_vertices_the_trace_bound_speaks():
    prior = lw.Prior(np.random.default_rng(16).dirichlet(np.ones(17)))
    with pytest.warns(lw.LeakwiseWarning, match="time limit"):
        design = lw.design(prior, epsilon=0.8, utility="frequencies", time_limit=1e-9)
    assert lw.certify(design.mechanism, prior, epsilon=0.8).holds
    assert design.gap <= 0.2 * abs(design.value)


@pytest.mark.parametrize("limits", [{"lift": 2}, {"lift": 2, "anyone": 20}, {"ldp": 1}, {"ldp": 5}])
@pytest.mark.parametrize("rare", [10**6, 10**12])
def test_values_that_are_hardly_ever_seen_cost_no_more_than_rare_ones(limits, rare):
    def designed(scale):
        return lw.design(lw.Prior([scale, 2 * scale, 1, 3]), utility="frequencies", **limits)

    design = designed(rare)
    assert design.certificate.verify().holds
    assert design.gap <= 1e-6 * abs(design.bound)
    assert design.value == pytest.approx(designed(10**4).value, rel=1e-3)


def test_a_rare_value_and_a_loose_limit_for_anyone_do_not_end_in_a_constant():
    design = lw.design(lw.Prior([10**6 - 1, 1]), ldp=12, utility="frequencies")
    assert design.mechanism.shape == (2, 2)
    assert design.gap <= 0.01 * abs(design.bound)


def test_columns_that_are_all_near_one_are_told_apart():
    # The limits leave lifts between 0.9999 and 1.0001; eight outcomes are the least that identify eight frequencies.
    design = lw.design(lw.Prior.uniform(8), lift="1.0001", anyone="1.0001", utility="frequencies")
    assert design.mechanism.shape[1] >= 8
    assert design.gap <= 0.01 * abs(design.bound)


@pytest.mark.parametrize("limits", [{"lift": 2}, {"lift": 5, "anyone": 50}, {"ldp": 2}])
def test_no_time_at_all_is_no_reason_for_more_outcomes_than_eight_a_value(limits):
    masses = 1 / np.arange(1, 16)
    with pytest.warns(lw.LeakwiseWarning, match="time limit"):
        design = lw.design(lw.Prior(masses / masses.sum()), utility="frequencies", time_limit=1e-6, **limits)
    assert design.mechanism.shape[1] <= 120
    assert design.value > -np.inf


def test_too_few_outcomes_for_two_limits_end_in_randomized_response_and_not_in_a_constant():
    masses = 1 / np.arange(1, 16)
    with pytest.warns(lw.LeakwiseWarning, match="proven gap"):
        design = lw.design(lw.Prior(masses / masses.sum()), lift=5, anyone=50, outcomes=15, utility="frequencies")
    assert design.mechanism.shape == (15, 15)
    assert design.value > -np.inf
    assert design.certificate.verify().holds


def test_no_outcome_is_left_that_a_search_had_not_taken_to_zero_yet() -> None:
    """Vertices a little inside the best ones fade slowly: at the end each had a share of 2e-7 of the rows."""
    for masses in ([0.5, 0.5], [0.4, 0.3, 0.2, 0.1], [0.9, 0.05, 0.05]):
        d = lw.design(lw.Prior(masses), lift=2, anyone=20, utility="frequencies")
        shares = np.array(masses) @ d.mechanism.matrix
        assert shares.min() > 1e-6 / len(shares)
        assert d.gap <= 1e-6 * abs(d.value)
