"""Designs: feasible on exact integers, bounded, equal to closed forms and enumeration, above randomized response."""

from __future__ import annotations

import math
import warnings
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import leakwise as lw
from leakwise.exact import level
from leakwise.optimize.finish.utility_interval import utility_interval
from leakwise.optimize.pricing.vertex_list import list_vertices, vertex_count_bound
from leakwise.optimize.problem.cones import LDPCone, LiftBox, pml_cone
from leakwise.optimize.problem.utilities import as_utility

F_UTILITIES = ["mutual_information", "total_variation", "chi_square", "hellinger"]
UTILITIES = [*F_UTILITIES, "guessing"]


def priors(most=6, ties=True):
    weights = st.lists(st.integers(1, 6 if ties else 10**6), min_size=2, max_size=most)
    return weights.map(lw.Prior)


def check(design, prior, epsilon):
    """What every design promises."""
    assert lw.certify(design.mechanism, prior, epsilon=epsilon).holds
    assert design.epsilon <= epsilon + 1e-15
    assert design.value <= design.bound
    assert design.gap == max(0.0, design.bound - design.value)
    design.certificate.verify()
    assert design.mechanism.denominator == 2**60


# -- the paper's examples ----------------------------------------------------------------------------------------


def test_ex_example_1_high_privacy():
    design = lw.design(["2/5", "1/5", "1/5", "1/5"], lift="9/8")
    expected = [
        [0.325, 0.225, 0.225, 0.225],
        [0.45, 0.1, 0.225, 0.225],
        [0.45, 0.225, 0.1, 0.225],
        [0.45, 0.225, 0.225, 0.1],
    ]
    assert design.mechanism.matrix == pytest.approx(np.array(expected), abs=1e-15)
    assert "Theorem 3" in design.method
    assert design.mechanism.outputs == ("not 0", "not 1", "not 2", "not 3")


def test_ex_example_2_uniform_up_to_column_order():
    design = lw.design(lw.Prior.uniform(4), lift=3)
    assert "Theorem 4" in design.method
    columns = sorted(sorted(column) for column in design.mechanism.matrix.T.tolist())
    assert columns == [[0, 0, 0.25, 0.75]] * 4


@pytest.mark.parametrize(("letters", "epsilon"), [(3, 0.2), (3, 0.6), (5, 0.9), (7, 0.4), (30, 0.8)])
def test_ex_corollary_1_mutual_information_of_the_uniform_prior(letters, epsilon):
    prior = lw.Prior.uniform(letters)
    factor, region = math.exp(epsilon), prior.region(epsilon)
    raised = letters - region
    entries = [factor / letters] * raised + [1 - raised * factor / letters]
    expected = math.log(letters) + sum(entry * math.log(entry) for entry in entries if entry > 0)
    for method in ("auto", "columns"):
        assert lw.design(prior, epsilon=epsilon, method=method).value == pytest.approx(expected, abs=1e-10)


def test_math_uniform_30_at_08():
    assert lw.design(lw.Prior.uniform(30), epsilon=0.8, method="columns").value == pytest.approx(0.773862, abs=5e-7)


def test_ex_example_3_vertices_of_region_2():
    prior = lw.Prior([0.5, 0.3, 0.2])
    assert prior.region(0.4) == 2
    vertices = list_vertices(pml_cone(prior, level(0.4).below))
    assert prior.probabilities @ vertices == pytest.approx(np.ones(vertices.shape[1]))
    inner = (vertices > 1e-9) & (vertices < math.exp(0.4) - 1e-9)
    assert (inner.sum(axis=0) <= 1).all()
    # the last vector shown in the paper, (e^ε, e^ε, r_3(3)), would need r_3(3) ≥ 0: infeasible here
    assert 1 - math.exp(0.4) * (1 - 0.2) < 0


@pytest.mark.parametrize(("letters", "lift"), [(4, 3), (5, 2), (6, "7/2")])
def test_erratum_of_14_the_uniform_prior_has_fewer_vertices(letters, lift):
    prior = lw.Prior.uniform(letters)
    region = prior.region(lift=lift)
    count = list_vertices(pml_cone(prior, Fraction(lift))).shape[1]
    exact = Fraction(lift) * (letters - region) == letters  # on a border the free letter vanishes
    assert count <= (letters - region + 1) * math.comb(letters, region - 1) <= vertex_count_bound(letters, region)
    if not exact:
        assert count == (letters - region + 1) * math.comb(letters, region - 1)


@given(st.floats(0.02, 2.0), st.integers(1, 99))
def test_theorem_2_two_letters_equals_the_engine(epsilon, share):
    prior = lw.Prior([share, 100 - share])
    closed = lw.design(prior, epsilon=epsilon)
    check(closed, prior, epsilon)
    if "ε_max" not in closed.method:
        assert "Theorem 2" in closed.method
    engine = lw.design(prior, epsilon=epsilon, method="columns")
    assert engine.value == pytest.approx(closed.value, abs=1e-9)
    assert engine.bound >= closed.value


@given(priors(), st.floats(0.1, 0.999))
def test_theorem_3_high_privacy_equals_the_engine(prior, share):
    epsilon = share * float(prior.regions()[1]) if len(prior) > 1 else 0.1
    closed = lw.design(prior, epsilon=epsilon)
    check(closed, prior, epsilon)
    assert closed.gap < 1e-12
    engine = lw.design(prior, epsilon=epsilon, method="columns")
    assert engine.value == pytest.approx(closed.value, abs=1e-9)


@given(st.integers(2, 9), st.floats(0.05, 2.5), st.sampled_from(F_UTILITIES))
def test_theorem_4_uniform_equals_the_engine(letters, epsilon, utility):
    prior = lw.Prior.uniform(letters)
    closed = lw.design(prior, epsilon=epsilon, utility=utility)
    check(closed, prior, epsilon)
    engine = lw.design(prior, epsilon=epsilon, utility=utility, method="columns")
    assert engine.value == pytest.approx(closed.value, abs=1e-9)


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
    value = utility_interval(response.kernel, prior, as_utility(utility))[0]
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


def test_zero_mass_letters_get_the_output_law():
    prior = lw.Prior({"a": 0.5, "b": 0.3, "c": 0.2, "never": 0})
    design = lw.design(prior, epsilon=0.6)
    check(design, prior, 0.6)
    law = prior.probabilities @ design.mechanism.matrix
    assert design.mechanism.matrix[3] == pytest.approx(law, abs=1e-15)
    assert design.value == pytest.approx(lw.design([0.5, 0.3, 0.2], epsilon=0.6).value, abs=1e-12)


# -- labelled utilities --------------------------------------------------------------------------------------------


@given(priors(most=5), st.floats(0.05, 1.5))
@settings(max_examples=30)
def test_guessing_against_the_linear_program(prior, epsilon):
    design = lw.design(prior, epsilon=epsilon, utility="guessing", method="columns")
    check(design, prior, epsilon)
    assert design.value == pytest.approx(_labelled_optimum(prior, np.eye(len(prior)), epsilon), abs=1e-8)
    assert set(design.mechanism.outputs) <= set(prior.labels)


@given(priors(most=5), st.floats(0.05, 1.5), st.integers(0, 1000))
@settings(max_examples=30)
def test_expected_utility_against_the_linear_program(prior, epsilon, seed):
    matrix = np.random.default_rng(seed).normal(size=(len(prior), 3))
    design = lw.design(prior, epsilon=epsilon, utility=lw.Expected(matrix, outputs=["x", "y", "z"]))
    check(design, prior, epsilon)
    assert design.value == pytest.approx(_labelled_optimum(prior, matrix, epsilon), abs=1e-8)
    assert set(design.mechanism.outputs) <= {"x", "y", "z"}
    places = ["xyz".index(label) for label in design.mechanism.outputs]
    value = float((prior.probabilities[:, None] * design.mechanism.matrix * matrix[:, places]).sum())
    assert value == pytest.approx(design.value, abs=1e-9)


def _labelled_optimum(prior, utilities, epsilon):
    """The same as one plain linear program, by SciPy."""
    from scipy.optimize import linprog

    size, labels = utilities.shape
    p, factor = prior.probabilities, math.exp(epsilon)
    rows = []
    for label in range(labels):
        for letter in range(size):
            row = np.zeros((size, labels))
            row[:, label] -= factor * p
            row[letter, label] += 1
            rows.append(row.ravel())
    sums = [np.repeat(np.eye(size)[letter], labels).reshape(size, labels).ravel() for letter in range(size)]
    answer = linprog(-(p[:, None] * utilities).ravel(), rows, np.zeros(len(rows)), sums, np.ones(size), method="highs")
    return -answer.fun


# -- other constraints ---------------------------------------------------------------------------------------------


@given(priors(most=5), st.floats(0.1, 1.5))
@settings(max_examples=20)
def test_ldp_design_is_ldp_and_below_the_pml_optimum(prior, epsilon):
    design = lw.design(prior, ldp=epsilon)
    assert lw.ldp(design.mechanism) <= epsilon + 1e-12
    assert LDPCone(prior, level(epsilon).below).contains([int(w) for w in design.mechanism.weights[:, 0]])
    assert design.value <= lw.design(prior, epsilon=epsilon).value + 1e-9
    assert design.epsilon <= epsilon


def test_ldp_binary_is_warner():
    design = lw.design(lw.Prior([0.3, 0.7]), ldp=1.0)
    response = lw.randomized_response(2, epsilon=1.0)
    expected = utility_interval(response.kernel, lw.Prior([0.3, 0.7]), as_utility("mutual_information"))[0]
    assert design.value == pytest.approx(expected, abs=1e-12)


@given(priors(most=4), st.floats(0.2, 1.0), st.floats(0.2, 1.5))
@settings(max_examples=10)
def test_intersections_satisfy_both_and_never_beat_either(prior, epsilon, ldp):
    both = lw.design(prior, epsilon=epsilon, ldp=ldp)
    assert both.epsilon <= epsilon
    assert lw.ldp(both.mechanism) <= ldp + 1e-12
    one, other = lw.design(prior, epsilon=epsilon), lw.design(prior, ldp=ldp)
    assert both.value <= min(one.value, other.value) + 1e-8
    assert both.value >= 0 or both.value == pytest.approx(0, abs=1e-9)


@given(priors(most=5), st.floats(0.1, 1.0))
@settings(max_examples=20)
def test_local_information_privacy_bounds_both_sides(prior, bound):
    design = lw.design(prior, lip=bound)
    law = prior.probabilities @ design.mechanism.matrix
    density = np.log(design.mechanism.matrix / law)
    assert np.abs(density).max() <= bound + 1e-12
    generic = lw.design(prior, lip=bound, ldp=8.0)  # a bound that never binds: the generic pricer
    assert generic.value == pytest.approx(design.value, abs=1e-6)


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
    with pytest.raises(lw.InvalidInput, match="Give a bound"):
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


@pytest.mark.parametrize(
    ("lip", "utility"), [(4.462e-6, "total_variation"), (1e-7, "total_variation"), (3e-4, "chi_square")]
)
def test_narrow_boxes_of_lifts_keep_their_vertices(lip, utility):
    # A tolerance that is relative to the width of the box alone took raised letters for free ones.
    design = lw.design(lw.Prior([4, 1, 3, 2, 1, 2, 3, 1, 4, 3]), lip=lip, utility=utility)
    assert design.value > 0
    assert design.gap <= 1e-3 * design.bound + 1e-9


def test_outputs_too_rare_to_be_kept_still_serve_rare_letters():
    weights = np.array([0.702, 6.71e-08, 0.172, 0.00192, 6.08e-12, 1.05e-12, 3.31e-06, 0.000263, 1.0, 6.69e-11])
    design = lw.design(lw.Prior(weights / weights.sum()), epsilon=0.5801, utility="guessing")
    assert design.gap <= 1e-10


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


@pytest.mark.parametrize("letters", [9, 12, 24])
def test_intersections_with_ldp_are_exact_and_fast(letters):
    prior = lw.Prior(np.random.default_rng(letters).dirichlet(np.ones(letters)))
    design = lw.design(prior, epsilon=0.6, ldp=0.9)
    assert design.gap <= 1e-6 * design.bound
    assert design.value <= lw.design(prior, epsilon=0.6).value + 1e-9
    assert design.value <= lw.design(prior, ldp=0.9).value + 1e-9
    assert lw.ldp(design.mechanism) <= 0.9 + 1e-12


def test_enumeration_lists_the_vertices_of_every_bound_on_lifts():
    prior = lw.Prior([5, 4, 3, 2, 1])
    for constraint in (
        {"lip": 0.5},
        {"ldp": 0.7},
        {"epsilon": 0.4, "ldp": 0.7},
        {"epsilon": 0.3, "lip": 0.5, "ldp": 0.7},
    ):
        listed = lw.design(prior, method="enumeration", **constraint)
        searched = lw.design(prior, method="columns", **constraint)
        assert listed.value == pytest.approx(searched.value, abs=1e-9)


def test_a_named_information_may_be_called_otherwise():
    own = lw.FInformation("chi_square", name="mine")
    assert own.name == "mine"
    assert lw.FInformation("chi_square").name == "chi_square"
    assert lw.FInformation(lambda x: (x - 1) ** 4).name == "f_information"
    found = lw.design([0.5, 0.3, 0.2], lift=1.5, utility=own)
    assert found.utility == "mine"
    assert found.certificate.verify().optimality.utility == "chi_square"  # the checker still knows it
