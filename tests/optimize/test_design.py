"""Designs: feasible on exact integers, bounded, equal to closed forms and enumeration, above randomized response."""

from __future__ import annotations

import warnings
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import leakwise as lw
from leakwise.optimize.problem.cones import LiftBox
from leakwise.optimize.problem.utilities import as_utility
from optimize.promises import F_UTILITIES, UTILITIES, check, priors

# -- the engine ----------------------------------------------------------------------------------------------------


@settings(max_examples=40)
@given(priors(most=7), st.floats(0.05, 2.0), st.sampled_from(F_UTILITIES))
def test_columns_equal_enumeration(prior, epsilon, utility):
    columns = lw.design(prior, epsilon=epsilon, utility=utility, method="columns")
    listed = lw.design(prior, epsilon=epsilon, utility=utility, method="enumeration")
    check(columns, prior, epsilon)
    check(listed, prior, epsilon)
    assert columns.value == pytest.approx(listed.value, abs=1e-9)
    assert columns.gap < 1e-9


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("utility", F_UTILITIES)
def test_columns_equal_enumeration_at_ten_letters(seed, utility):
    prior = lw.Prior(np.random.default_rng(seed).dirichlet(np.ones(10)))
    columns = lw.design(prior, epsilon=0.5 + 0.3 * seed, utility=utility, method="columns")
    listed = lw.design(prior, epsilon=0.5 + 0.3 * seed, utility=utility, method="enumeration")
    assert columns.value == pytest.approx(listed.value, abs=1e-9)
    assert columns.gap < 1e-9


@given(priors(), st.floats(0.05, 1.5), st.sampled_from([*UTILITIES, "frequencies"]))
@settings(max_examples=40)
def test_never_below_randomized_response_of_the_same_pml(prior, epsilon, utility):
    design = lw.design(prior, epsilon=epsilon, utility=utility)
    check(design, prior, epsilon)
    response = lw.randomized_response(len(prior), pml=epsilon, prior=prior)
    value = as_utility(utility).interval(response.kernel, prior)[0]
    assert (
        design.value >= value - 1e-6 * max(1.0, abs(value))
        if utility == "frequencies"
        else design.value >= value - 1e-9
    )


@given(priors(), st.floats(0.05, 1.0), st.floats(0.01, 0.5), st.sampled_from(UTILITIES))
@settings(max_examples=30)
def test_monotone_in_epsilon(prior, epsilon, more, utility):
    less = lw.design(prior, epsilon=epsilon, utility=utility)
    assert lw.design(prior, epsilon=epsilon + more, utility=utility).value >= less.value - 1e-9


@pytest.mark.parametrize("seed", range(40))
def test_forty_random_designs_are_certified(seed):
    generator = np.random.default_rng(seed)
    letters = int(np.exp(generator.uniform(np.log(2), np.log(22))))
    prior = lw.Prior(generator.dirichlet(np.full(letters, generator.choice([0.3, 1.0, 5.0]))))
    epsilon = float(generator.uniform(0.05, 2.5))
    design = lw.design(prior, epsilon=epsilon, utility=UTILITIES[seed % 5])
    check(design, prior, epsilon)
    assert design.gap <= 1e-8
    assert design.mechanism.shape[1] <= letters or "Theorem" in design.method


@pytest.mark.parametrize(("letters", "epsilon"), [(60, 0.8), (100, 0.3)])
def test_large_alphabets_reach_a_relative_gap_of_1e_6(letters, epsilon):
    prior = lw.Prior(np.random.default_rng(letters).dirichlet(np.ones(letters)))
    design = lw.design(prior, epsilon=epsilon)
    check(design, prior, epsilon)
    assert design.gap <= 1e-6 * design.bound


def test_hundreds_of_letters_by_blocks():
    prior = lw.Prior(np.random.default_rng(5).dirichlet(np.ones(300)))
    design = lw.design(prior, epsilon=0.8)
    check(design, prior, 0.8)
    assert "blocks" in design.method
    assert design.gap <= 1e-5 * design.bound


def test_a_heavy_letter_among_many():
    weights = np.concatenate([[60.0], np.random.default_rng(1).uniform(0.5, 1.5, 50)])
    prior = lw.Prior((weights / weights.sum()).tolist())
    design = lw.design(prior, epsilon=1.2)
    check(design, prior, 1.2)
    assert design.gap <= 1e-3 * design.bound


# -- words and errors ------------------------------------------------------------------------------------------------


def test_beyond_epsilon_max_the_identity():
    design = lw.design({"a": 0.5, "b": 0.3, "c": 0.2}, epsilon=2.0)
    assert "ε_max" in design.method
    assert design.mechanism.matrix.tolist() == np.eye(3).tolist()


def test_epsilon_zero_is_constant():
    design = lw.design([0.5, 0.3, 0.2], epsilon=0)
    assert design.mechanism.shape == (3, 1)
    assert design.epsilon == 0


def test_errors_tell_the_way_out():
    prior = [0.5, 0.3, 0.2]
    with pytest.raises(lw.InvalidInput, match="Did you mean 'mutual_information'"):
        lw.design(prior, epsilon=1, utility="mutual_infomation")
    with pytest.raises(lw.InvalidInput, match="Give a limit"):
        lw.design(prior)
    with pytest.raises(lw.InvalidInput, match="at least 0"):
        lw.design(prior, epsilon=-1)
    with pytest.raises(lw.InvalidInput, match="Did you mean 'columns'"):
        lw.design(prior, epsilon=1, method="column")
    with pytest.raises(lw.InvalidInput, match="must be convex"):
        lw.FInformation(lambda x: -((x - 1) ** 2))
    with pytest.raises(lw.InvalidInput, match="must not be negative"):
        lw.Gain([[1, -1], [0, 1]])
    with pytest.raises(lw.InvalidInput, match="2 rows for 3 letters"):
        lw.design(prior, epsilon=1, utility=lw.Gain([[1, 0], [0, 1]]))
    with pytest.raises(lw.InvalidInput, match="vertices"):
        lw.design(np.random.default_rng(0).dirichlet(np.ones(30)), epsilon=1, method="enumeration")
    with pytest.raises(lw.Infeasible):
        LiftBox(lw.Prior(prior), Fraction(3, 2), Fraction(2))


def test_own_f_equals_the_named_one():
    own = lw.FInformation(lambda x: (x - 1) ** 2, name="mine")
    prior = [0.4, 0.35, 0.25]
    assert lw.design(prior, epsilon=0.5, utility=own).value == lw.design(prior, epsilon=0.5, utility="chi_square").value


def test_a_time_limit_returns_the_best_with_its_gap():
    prior = lw.Prior(np.random.default_rng(2).dirichlet(np.ones(45)))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        design = lw.design(prior, epsilon=1.5, time_limit=1e-9)
    assert [warning.category for warning in caught] == [lw.LeakwiseWarning]
    check(design, prior, 1.5)
    assert design.gap > 0


def test_progress_is_told():
    seen = []
    lw.design(
        np.random.default_rng(3).dirichlet(np.ones(12)), epsilon=0.7, progress=lambda *report: seen.append(report)
    )
    assert seen
    stage, value, bound = seen[-1]
    assert stage == "columns"
    assert value <= bound + 1e-12


def test_results_print_plot_and_turn_into_data():
    design = lw.design({"a": 0.5, "b": 0.3, "c": 0.2}, lift=2)
    text = repr(design)
    assert "bound (nothing is better)" in text
    assert "PML lift = 2" in text
    assert "<table" in design._repr_html_()
    assert design.to_dict()["gap"] == design.gap
    assert "lift" in str(design.plot().to_dict())
    assert design.chart()["title"]


# -- numbers at the edge of what doubles hold --------------------------------------------------------------------------
@pytest.mark.parametrize("utility", ["mutual_information", "chi_square", "hellinger", "guessing", "total_variation"])
@pytest.mark.parametrize("ldp", [None, 0.01])
def test_an_enormous_epsilon_is_no_crash(utility, ldp):
    prior = lw.Prior([1.0, 1e-80, 4e-206, 1e-133])
    with np.errstate(all="ignore"):
        design = lw.design(prior, epsilon=400.0, ldp=ldp, utility=utility)
    assert design.epsilon <= 400.0
    assert design.value <= design.bound
    if ldp is not None:
        assert design.gap <= 1e-9


def test_large_lifts_do_not_widen_the_bound():
    # The roundings of a letter's terms are bounded by its own mass, not by the largest lift of all.
    weights = np.array([0.0765, 2.34e-05, 1.0, 1.03e-07, 0.000105, 0.00794])
    for utility in ("mutual_information", "total_variation"):
        design = lw.design(lw.Prior(weights / weights.sum()), epsilon=11.0, utility=utility)
        assert design.gap <= 1e-6


def test_columns_that_are_all_alike_are_no_crash():
    with pytest.warns(lw.LeakwiseWarning, match="gap"):
        design = lw.design([0.0002764, 0.9997236], epsilon=1e-12, lip=0.5, utility="frequencies")
    assert design.value <= design.bound


def test_a_named_information_may_be_called_otherwise():
    own = lw.FInformation("chi_square", name="mine")
    assert own.name == "mine"
    assert lw.FInformation("chi_square").name == "chi_square"
    assert lw.FInformation(lambda x: (x - 1) ** 4).name == "f_information"
    found = lw.design([0.5, 0.3, 0.2], lift=1.5, utility=own)
    assert found.utility == "mine"
    assert found.certificate.verify().optimality.utility == "chi_square"  # the checker still knows it
