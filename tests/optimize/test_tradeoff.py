"""The trade-off curve: each point a certified design, above its comparisons, below its bound."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import leakwise as lw
from leakwise.optimize.pricing.shared_tables import shared_tables, tables_of
from leakwise.optimize.pricing.subset_sums import HalfTables

UTILITIES = ["mutual_information", "total_variation", "chi_square", "hellinger", "guessing", "frequencies"]
PRIOR = lw.Prior({"a": 0.5, "b": 0.3, "c": 0.2})


def priors(most=5):
    return st.lists(st.integers(1, 9), min_size=2, max_size=most).map(lw.Prior)


@given(priors(), st.lists(st.floats(0, 3), min_size=1, max_size=3), st.sampled_from(UTILITIES))
@settings(max_examples=25)
@pytest.mark.filterwarnings("ignore:.*designs behind the curve:leakwise.errors.LeakwiseWarning")
def test_every_point_is_a_design_of_its_own(prior, epsilons, utility):
    curve = lw.tradeoff(prior, epsilons, utility)
    assert curve.epsilons.tolist() == epsilons
    for epsilon, design, value, bound, gap in zip(
        epsilons, curve.designs, curve.values, curve.bounds, curve.gaps, strict=True
    ):
        assert lw.certify(design.mechanism, prior, epsilon=epsilon).holds
        assert (design.value, design.bound, design.gap) == (value, bound, gap)
        assert value <= bound


@given(priors(), st.lists(st.floats(0.02, 2), min_size=1, max_size=3), st.sampled_from(UTILITIES))
@settings(max_examples=25)
def test_no_comparison_beats_the_bound(prior, epsilons, utility):
    curve = lw.tradeoff(prior, epsilons, utility)
    assert (curve.randomized_response <= curve.bounds).all()
    # ε-LDP implies ε-PML ([EX] section II): the optimal LDP mechanism is a candidate
    assert (curve.ldp <= curve.bounds).all()


@pytest.mark.parametrize("utility", UTILITIES)
def test_the_curve_rises_from_nothing_to_the_secret_itself(utility):
    curve = lw.tradeoff(PRIOR, utility=utility)
    assert len(curve) == 40
    assert (np.diff(curve.values[1:]) >= -1e-6 * np.abs(curve.values[2:])).all()
    start = {"guessing": 0.5, "frequencies": -math.inf}.get(utility, 0.0)
    assert curve.values[0] == pytest.approx(start, abs=1e-9)
    identity = lw.design(PRIOR, epsilon=3, utility=utility).value
    assert curve.values[-1] == pytest.approx(identity, abs=1e-9)
    assert curve.randomized_response[-1] == pytest.approx(identity, abs=1e-9)


def test_the_grid_has_the_borders_and_the_ends():
    curve = lw.tradeoff(PRIOR)
    assert set(PRIOR.regions().tolist()) <= set(curve.epsilons.tolist())
    assert curve.epsilons[0] == 0
    assert curve.epsilons[-1] == PRIOR.epsilon_max
    assert (np.diff(curve.epsilons) > 0).all()
    assert np.diff(curve.epsilons).max() < 0.1


def test_many_borders_are_thinned_out():
    prior = lw.Prior(np.random.default_rng(0).integers(5, 50, 60).tolist())
    from leakwise.optimize.tradeoff import _grid

    grid = _grid(prior)
    assert len(grid) == 40
    assert grid[0] == 0
    assert grid[-1] == prior.epsilon_max


def test_the_uniform_prior_against_theorem_4():
    curve = lw.tradeoff(lw.Prior.uniform(4), [math.log(4 / 3), math.log(2)])
    assert curve.values == pytest.approx([math.log(4 / 3), math.log(2)], abs=1e-9)


def test_beyond_twelve_letters_ldp_is_left_out():
    curve = lw.tradeoff(lw.Prior.uniform(13), [0.5])
    assert curve.ldp is None
    assert "ldp" not in curve.to_dict()


def test_letters_of_mass_zero_are_kept():
    curve = lw.tradeoff({"a": 0.5, "b": 0.5, "never": 0}, [0.2])
    same = lw.tradeoff({"a": 0.5, "b": 0.5}, [0.2])
    assert curve.values == pytest.approx(same.values, abs=1e-12)
    assert curve.randomized_response == pytest.approx(same.randomized_response, abs=1e-12)
    assert curve.designs[0].mechanism.shape[0] == 3


def test_labelled_utilities():
    curve = lw.tradeoff(PRIOR, [0, 0.4, 2], lw.Expected(-np.abs(np.subtract.outer(range(3), range(3)))))
    assert curve.values[-1] == pytest.approx(0, abs=1e-9)
    assert (np.diff(curve.values) > 0).all()


def test_a_notebook_shows_a_sentence_the_curve_and_the_table_folded():
    html = lw.tradeoff(PRIOR, [0, 0.3, 1])._repr_html_()
    parts = ["<p>At ε = 0.3000: best ", "optimal for ε-PML", "<details>", "best ε-LDP</th>"]
    places = [html.index(part) for part in parts]
    assert places == sorted(places)


def test_it_prints_plots_and_turns_into_data():
    curve = lw.tradeoff(PRIOR, [0, 0.3, 1])
    assert "randomized response" in repr(curve)
    assert "best ε-LDP" in curve._repr_html_()
    plain = curve.to_dict()
    assert plain["value"] == curve.values.tolist()
    assert plain["regions"] == PRIOR.regions().tolist()
    frame = curve.to_pandas()
    assert frame["value"].tolist() == plain["value"]
    assert frame["region"].tolist() == [1, 2, 3]
    drawn = str(curve.plot().to_dict())
    assert "optimal for ε-PML" in drawn
    assert "ε₁" in drawn


def test_the_picture_of_frequencies_is_a_standard_error():
    curve = lw.tradeoff(PRIOR, [0, 0.5], "frequencies")
    assert curve.values[0] == -math.inf
    drawn = curve.chart()
    points = drawn["layer"][0]["data"]["values"]
    assert points[0]["y"] is None
    assert points[1]["y"] == pytest.approx(math.sqrt(-curve.values[1]))


def test_close_borders_are_all_marked_and_share_a_label():
    curve = lw.tradeoff(lw.Prior([1000, 3, 2, 1]), [0, 1])
    marks = [layer for layer in curve.chart()["layer"] if layer["mark"]["type"] == "rule"]
    assert [mark["name"] for mark in marks[0]["data"]["values"]] == ["", "", "ε₁ … ε₃"]


def test_progress_and_errors():
    seen = []
    lw.tradeoff(PRIOR, [0.1, 0.2], progress=lambda *report: seen.append(report))
    assert seen == [(1, 2), (2, 2)]
    with pytest.raises(lw.InvalidInput, match="at least one"):
        lw.tradeoff(PRIOR, [])
    with pytest.raises(lw.InvalidInput, match="epsilons must be at least 0"):
        lw.tradeoff(PRIOR, [-1])
    with pytest.raises(lw.InvalidInput, match="Did you mean 'guessing'"):
        lw.tradeoff(PRIOR, [1], "guesing")


def test_a_time_limit_is_told_once():
    prior = lw.Prior(np.random.default_rng(2).dirichlet(np.ones(45)))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        curve = lw.tradeoff(prior, [1.4, 1.5], time_limit=1e-9)
    assert [warning.category for warning in caught] == [lw.LeakwiseWarning]
    assert "2 designs behind the curve" in str(caught[0].message)
    assert (curve.gaps > 0).all()


def test_tables_are_shared_only_within_the_block_and_for_the_same_masses():
    masses, sizes = np.array([0.5, 0.3, 0.2]), np.ones(3, dtype=np.int64)
    with shared_tables():
        first = tables_of(masses, sizes)
        assert tables_of(masses.copy(), sizes) is first
        assert tables_of(np.array([0.6, 0.2, 0.2]), sizes) is not first
    assert isinstance(tables_of(masses, sizes), HalfTables)
    assert tables_of(masses, sizes) is not tables_of(masses, sizes)
