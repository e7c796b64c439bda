"""[EX]: its examples, the kink of Figure 1a, simulations beside exact values, and the polytope of Figure 4."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

import leakwise as lw
from leakwise.papers import extremal_mechanisms as ex
from leakwise.papers.extremal_mechanisms_simulations import (
    binary_mechanism,
    correlation,
    high_privacy_mechanism,
    information,
)


def test_examples_1_and_2_give_the_printed_matrices() -> None:
    for result, printed in ((ex.example_1(fast=True), ex.EXAMPLE_1), (ex.example_2(fast=True), ex.EXAMPLE_2)):
        assert np.allclose(np.reshape(result.column("ours"), (4, 4)), printed, atol=1e-9)
        assert all(finding.agrees for finding in result.findings)


def test_example_2_with_another_prior_shows_ours_alone() -> None:
    result = ex.example_2(prior=("1/2", "1/2"), lift="3/2")
    assert "printed" not in result.columns
    assert not result.findings[0].agrees


def test_example_3_the_last_vector_is_infeasible() -> None:
    result = ex.example_3(fast=True)
    t = math.exp(0.45)
    last = next(row for row in result.rows if row["lift_1"] == row["lift_2"] == pytest.approx(t))
    assert last["lift_3"] < 0
    assert not last["feasible"]
    for row in result.rows:
        lifts = np.array([row["lift_1"], row["lift_2"], row["lift_3"]])
        assert lifts @ [0.5, 0.3, 0.2] == pytest.approx(1)
        assert sum(abs(x - t) > 1e-9 and abs(x) > 1e-9 for x in lifts) <= 1
    assert [finding.agrees for finding in result.findings] == [False, True, False, True]


@pytest.mark.parametrize("size", [3, 4, 5])
def test_the_number_of_vertices_of_a_uniform_prior(size: int) -> None:
    prior = lw.Prior.uniform(size)
    for region, (a, b) in enumerate(pairwise(prior.regions().tolist()), 1):
        count = lw.measures.extreme_columns(prior, (a + b) / 2).shape[1]
        assert count == (size - region + 1) * math.comb(size, region - 1)


def test_figure_1a_has_its_kink_at_log_1_5() -> None:
    result = ex.figure_1a(fast=True)
    at, value = np.array(result.column("epsilon")), np.array(result.column("optimal"))
    slopes = np.diff(value) / np.diff(at)
    drops = slopes[1:] - slopes[:-1]
    kink = at[1:-1][drops.argmin()]
    assert kink == pytest.approx(math.log(1.5), abs=1e-12)
    assert (drops < -1e-6).sum() == 1  # convex on both sides of it
    assert value[at == kink][0] == pytest.approx(math.log(1.5), abs=1e-9)
    assert all(finding.agrees for finding in result.findings)


@pytest.mark.parametrize("figure", [ex.figure_1a, ex.figure_1b])
def test_figure_1_order_of_the_curves(figure: object) -> None:
    rows = figure(fast=True).rows  # type: ignore[operator]
    for row in rows:
        assert row["ldp"] <= row["optimal"] + 1e-9
        assert row["randomized_response"] <= row["optimal"] + 1e-9
        assert row["optimal"] <= row["bound"] <= row["entropy"] + 1e-9
    values = [row["optimal"] for row in rows]
    assert all(a <= b + 1e-12 for a, b in pairwise(values))
    assert rows[0]["optimal"] == 0
    assert rows[-1]["optimal"] == pytest.approx(rows[-1]["entropy"], abs=1e-9)


def test_figure_1b_regions() -> None:
    regions = {row["epsilon"]: row["region"] for row in ex.figure_1b(fast=True).rows}
    assert [regions[border] for border in lw.Prior(["1/2", "3/10", "1/5"]).regions().tolist()] == [1, 2, 3]


# ------------------------------------------------------------------------------------------------- Figures 2 and 3


@pytest.mark.parametrize("figure", [ex.figure_2a, ex.figure_2b, ex.figure_3a, ex.figure_3b])
def test_figures_2_and_3_means_follow_the_exact_curves(figure: object) -> None:
    result = figure(fast=True)  # type: ignore[operator]
    assert result.csv() == figure(fast=True).csv()  # type: ignore[operator]
    for name in ("optimal", "response"):
        for row in result.rows:
            assert row[f"{name}_least"] <= row[f"{name}_mean"] <= row[f"{name}_most"]
            assert row[f"{name}_mean"] == pytest.approx(row[f"{name}_exact"], abs=0.09)
    for row in result.rows:
        assert abs(row["optimal_exact"]) >= abs(row["response_exact"]) - 1e-12
    last = result.rows[-1]
    assert abs(last["optimal_mean"]) > abs(last["response_mean"])
    assert result.findings[0].agrees


def test_figure_2b_starts_with_the_bias_of_the_estimate() -> None:
    first = ex.figure_2b(fast=True, repetitions=4).rows[0]
    assert first["optimal_exact"] == pytest.approx(0, abs=1e-12)
    assert first["optimal_mean"] == pytest.approx(0.008, abs=0.006)


def test_figure_3b_with_outputs_numbered_backwards_is_above_randomized_response() -> None:
    result = ex.figure_3b(fast=True)
    for row in result.rows:
        assert row["optimal_exact"] == pytest.approx(math.expm1(row["epsilon"]), abs=1e-9)
        assert row["optimal_exact"] >= row["response_exact"] - 1e-12
    assert all(finding.agrees for finding in result.findings)
    prior = lw.Prior([0.3, 0.2, 0.2, 0.2, 0.1])
    joint = prior.probabilities[:, None] * high_privacy_mechanism(prior, 0.1).matrix
    assert correlation(joint) == pytest.approx(-0.1052, abs=5e-5)
    assert correlation(joint[:, ::-1]) == pytest.approx(0.1052, abs=5e-5)


@pytest.mark.parametrize("epsilon", [0.1, 0.3, 0.5, 0.7])
def test_the_printed_binary_mechanism_is_optimal(epsilon: float) -> None:
    prior = lw.Prior([0.55, 0.45])
    mechanism = binary_mechanism(prior, epsilon)
    assert lw.epsilon(mechanism, prior) == pytest.approx(epsilon, abs=1e-9)
    assert lw.mutual_information(mechanism, prior) == pytest.approx(lw.design(prior, epsilon).value, abs=1e-9)


def test_the_printed_high_privacy_mechanism_is_optimal() -> None:
    prior = lw.Prior([0.3, 0.2, 0.2, 0.2, 0.1])
    mechanism = high_privacy_mechanism(prior, 0.1)
    assert lw.epsilon(mechanism, prior) == pytest.approx(0.1, abs=1e-9)
    assert lw.mutual_information(mechanism, prior) == pytest.approx(lw.design(prior, 0.1).value, abs=1e-9)


def test_uniform_binary_prior_makes_randomized_response_optimal() -> None:
    """Footnote 6: for a uniform binary prior the two mechanisms are identical."""
    prior = lw.Prior.uniform(2)
    ours = binary_mechanism(prior, 0.4).matrix
    assert np.allclose(ours, lw.randomized_response(2, pml=0.4, prior=prior).matrix, atol=1e-9)


def test_the_measures_of_a_table() -> None:
    table = np.array([[30.0, 10.0], [5.0, 55.0]])
    law = table / table.sum()
    rows = law / law.sum(axis=1, keepdims=True)
    mechanism = lw.Mechanism(rows.tolist())
    assert information(table) == pytest.approx(lw.mutual_information(mechanism, lw.Prior(law.sum(axis=1).tolist())))
    x = np.repeat([1, 1, 2, 2], [30, 10, 5, 55])
    y = np.repeat([1, 2, 1, 2], [30, 10, 5, 55])
    assert correlation(table) == pytest.approx(np.corrcoef(x, y)[0, 1])
    assert correlation(np.array([[1.0, 0.0], [2.0, 0.0]])) == 0


# --------------------------------------------------------------------------------------------------------- Figure 4


@pytest.mark.parametrize(("figure", "active"), [(ex.figure_4a, False), (ex.figure_4b, True)])
def test_figure_4_the_polytope_and_its_corners(figure: object, active: bool) -> None:
    result = figure(fast=True)  # type: ignore[operator]
    corners = [(row["p_11"], row["p_21"]) for row in result.rows if row["part"] == "corner"]
    assert corners[0] == (0, 0)
    assert corners[2] == (1, 1)
    low, high = corners[1], corners[3]
    assert low == pytest.approx((1 - high[0], 1 - high[1]))  # one mechanism up to the names of the outputs
    assert (low[1] == 0) == active
    for row in result.rows:
        if row["part"].endswith("border"):
            assert 0 <= row["p_21"] <= 1
    assert all(finding.agrees for finding in result.findings)


@pytest.mark.parametrize("masses", [(0.6, 0.4), (0.75, 0.25)])
def test_figure_4_the_border_is_where_the_leakage_is_epsilon(masses: tuple[float, float]) -> None:
    prior, epsilon = lw.Prior(list(masses)), math.log(1.5)
    for row in ex.figure_4a(fast=True, prior=masses).rows:
        x, y = row["p_11"], row["p_21"]
        mechanism = lw.Mechanism([[x, 1 - x], [y, 1 - y]])
        if row["part"].endswith("border"):
            assert lw.epsilon(mechanism, prior) <= epsilon + 1e-9
            outside = y - 1e-3 if row["part"] == "lower border" else y + 1e-3
            if 0 <= outside <= 1 and 0 < x < 1:
                beyond = lw.Mechanism([[x, 1 - x], [outside, 1 - outside]])
                assert lw.epsilon(beyond, prior) > epsilon
        elif row["part"].startswith("contour"):
            assert lw.mutual_information(mechanism, prior) == pytest.approx(row["information"], abs=1e-7)


def test_figure_4_draws_stars_and_contours() -> None:
    chart = ex.figure_4a(fast=True).chart
    assert chart is not None
    stars = chart["layer"][-1]
    assert len(stars["data"]["values"]) == 2
    assert {record["piece"] for record in chart["layer"][-3]["data"]["values"]} > {"contour, below 0.139171"}
