"""The exhibits of [ED]: one test for each on its data, and the numbers that the paper states."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import leakwise as lw
from leakwise.charts.render import svg
from leakwise.papers import Result, exhibits
from leakwise.papers import empirical_distributions as ed
from leakwise.papers.empirical_distributions.bounds import random_priors
from leakwise.papers.empirical_distributions.laplace import empirical_information, feature_counts, noise_scale

NAMES = [made.name for made in exhibits("ED")]


@cache
def shown(name: str) -> Result:
    return getattr(ed, name)(fast=True)


def found(name: str, words: str) -> Any:
    """The one finding whose claim has these words."""
    (finding,) = [f for f in shown(name).findings if words in f.claim]
    return finding


def of(name: str, **wanted: object) -> list[Mapping[str, Any]]:
    return [row for row in shown(name).rows if all(row[key] == value for key, value in wanted.items())]


def test_every_exhibit_of_the_paper_is_there() -> None:
    numbers = {made.number for made in exhibits("ED")}
    figures = {f"Figure {n}" for n in ("2a", "2b", "3a", "3b", "4", "5", "6a", "6b", "7")}
    assert numbers == figures | {"Example 1", "Example 2", "Theorem 5"}


@pytest.mark.parametrize("name", ["example_1", "figure_2a", "figure_3b", "figure_5", "figure_7"])
def test_a_second_run_gives_the_same_bytes(name: str) -> None:
    again = getattr(ed, name)(fast=True)
    assert again.csv() == shown(name).csv()
    assert again.chart == shown(name).chart
    assert list(again.findings) == list(shown(name).findings)


@pytest.mark.parametrize("name", NAMES)
def test_charts_can_be_drawn(name: str) -> None:
    pytest.importorskip("vl_convert")
    chart = shown(name).chart
    assert chart is not None
    assert svg(chart).startswith("<svg")


def test_example_1_leaks_log_nine_eighths_at_every_outcome() -> None:
    assert shown("example_1").column("pml") == pytest.approx([math.log(9 / 8)] * 4, abs=1e-12)
    assert sum(shown("example_1").column("probability")) == pytest.approx(1)
    assert min(shown("example_1").column("least_entry")) > 0  # no zeros in the first privacy region
    assert all(finding.agrees for finding in shown("example_1").findings)


def test_example_1_notices_a_mechanism_that_is_not_optimal() -> None:
    worse = (("0.25",) * 4,) * 4
    result = ed.example_1(matrix=worse)
    assert [f.agrees for f in result.findings if "optimal" in f.claim] == [False]


def test_example_2_leaks_log_n_over_k_and_no_mechanism_says_more() -> None:
    for row in shown("example_2").rows:
        assert row["epsilon"] == pytest.approx(math.log(10 / row["k"]), abs=1e-9)  # type: ignore[operator]
        assert row["mutual_information"] == pytest.approx(row["optimum"], abs=1e-9)
    assert all(finding.agrees for finding in shown("example_2").findings)


@pytest.mark.parametrize(("name", "slope", "most"), [("figure_2a", (9 / 8 - 1) / 0.2, 0.4), ("figure_2b", 5.0, 0.2)])
def test_figure_2_bound_holds_with_equality(name: str, slope: float, most: float) -> None:
    drawn, exact = of(name, kind="random"), of(name, kind="exact")
    assert len(drawn) == 500
    assert max(row["beta"] for row in drawn) <= most + 1e-12
    assert all(row["divergence"] <= row["theorem_4"] + 1e-12 for row in drawn)
    for row in exact:
        assert row["theorem_4"] == pytest.approx(-math.log(1 - row["beta"] / 2 * slope), abs=1e-9)
        assert row["divergence"] == pytest.approx(row["theorem_4"], abs=1e-9)
        assert row["theorem_3"] >= 2 * row["divergence"]  # half of the Lipschitz bound suffices already
    assert max(row["divergence"] / row["theorem_4"] for row in drawn) > 0.95  # the cloud reaches the curve


def test_random_priors_are_priors_within_the_distance() -> None:
    prior = np.array([0.4, 0.2, 0.2, 0.2])
    others = random_priors(prior, 0.4, 300, np.random.default_rng(1))
    assert (others >= -1e-15).all()
    assert others.sum(axis=1) == pytest.approx(np.ones(300))
    assert (np.abs(others - prior).sum(axis=1) <= 0.4 + 1e-12).all()


def test_figure_3a_is_corollary_3_and_falls_with_samples_and_increase() -> None:
    sets = 2**20 - 2
    for m in (1_000, 100_000):
        curve = of("figure_3a", m=m)
        assert all(a["weissman"] >= b["weissman"] for a, b in pairwise(curve))
        for row in curve:
            exponent = 2 * m * (1 / 5 - math.exp(-row["target"])) ** 2
            assert row["weissman"] == pytest.approx(min(1.0, sets * math.exp(-exponent)), rel=1e-9, abs=1e-300)
            assert row["layer_cake"] <= row["weissman"]
    at = {row["m"]: row["weissman"] for row in of("figure_3a", increase=0.15)}
    assert at[1_000] == 1.0
    assert at[10_000] < 1.0
    assert at[1_000_000] < 1e-100


def test_figure_3b_split_and_layer_cake_promise_less_leakage_than_8() -> None:
    for row in of("figure_3b", kind="measured"):
        assert row["epsilon"] < row["layer_cake"] < row["equation_8"]
        assert row["epsilon"] < row["split"] < row["equation_8"]
    (printed,) = of("figure_3b", kind="formula", k=4, m=10_000)
    assert printed["equation_8"] == pytest.approx(1.8056, abs=5e-5)
    for k in (10, 4, 2):
        curve = [row["equation_8"] for row in of("figure_3b", kind="formula", k=k)]
        assert all(a > b > math.log(20 / k) for a, b in pairwise(curve))
    assert found("figure_3b", "samples until").ours == "6,667 suffice"


def test_where_equation_8_is_infinite_nothing_is_drawn() -> None:
    result = ed.figure_3b(samples=(1_000,), singular=(2,), repeats=1)
    assert result.rows[0]["equation_8"] is None
    assert result.rows[0]["layer_cake"] is not None
    assert "log 10 at m = 1,000" in next(str(f.ours) for f in result.findings if "says nothing" in f.claim)


def test_theorem_5_is_the_optimum_from_known_prior_to_randomized_response() -> None:
    for row in shown("theorem_5").rows:
        for entry in ("p11", "p21"):
            assert row[f"theorem_{entry}"] == pytest.approx(row[f"optimal_{entry}"], abs=1e-9)
        assert row["theorem_leakage"] == pytest.approx(0.3, abs=1e-9)
    even = of("theorem_5", p1=0.5)
    assert all(a["optimum"] > b["optimum"] for a, b in pairwise(even))
    # Remark 3: at β = 1 it is Warner's mechanism, e^ε / (1 + e^ε).
    assert even[-1]["beta"] == 1
    assert even[-1]["theorem_p11"] == pytest.approx(1 / (1 + math.exp(-0.3)))
    assert not found("theorem_5", "Appendix C").agrees


def test_figure_4_pml_keeps_more_than_ldp_and_more_with_more_samples() -> None:
    for feature in ("income", "sex"):
        gains = []
        for m in (1_000, 10_000, 40_000):
            rows = of("figure_4", feature=feature, m=m)
            assert all(row["pml"] > row["ldp"] > 0 for row in rows)
            assert all(a["pml"] < b["pml"] for a, b in pairwise(rows))  # more leakage, more information
            gains.append([row["pml"] - row["ldp"] for row in rows])
        assert all(a < b < c for a, b, c in zip(*gains, strict=True))
    assert float(found("figure_4", "N inside").printed) < 0


def test_figure_4_takes_the_data_of_the_package_too() -> None:
    assert feature_counts("income") == (37_155, 11_687)
    assert sum(feature_counts("sex")) == 48_842
    for feature in ("income", "sex"):
        training, whole = feature_counts(feature, "training"), feature_counts(feature)
        assert sum(training) == 32_561
        assert training[1] / sum(training) == pytest.approx(whole[1] / sum(whole), abs=0.005)
    result = ed.figure_4(features=("sex",), part="training", epsilons=(0.5,), samples=(5_000,), iterations=3)
    assert result.rows[0]["pml"] > result.rows[0]["ldp"]  # type: ignore[operator]
    with pytest.raises(lw.InvalidInput, match="feature must be"):
        feature_counts("age")


def test_figure_5_information_falls_with_the_failure_down_to_ldp() -> None:
    deltas = (1e-3, 1e-6, 1e-9, 1e-12, 0.0)
    for feature in ("income", "sex"):
        for m in (200, 2_000, 20_000):
            curve = [of("figure_5", feature=feature, m=m, failure=delta)[0]["information"] for delta in deltas]
            assert all(a >= b for a, b in pairwise(curve))
        assert curve[-2] > 1.1 * curve[-1]
    # Remark 4: p̂_min = 1/2 and β = 1 give ε = 2/b.
    assert found("figure_5", "Remark 4").ours == pytest.approx(math.log(2), abs=1e-9)
    # (16) as printed goes beyond LDP where the ball reaches the border.
    clamped = found("figure_5", "(16)")
    assert clamped.printed > clamped.ours == pytest.approx(math.log(2), abs=1e-9)


def test_the_noise_scale_is_that_of_equation_16() -> None:
    counts, epsilon, failure = (30_000, 10_000), 0.5, 1e-9
    beta = math.sqrt(2 * (math.log(2) - math.log(failure)) / sum(counts))
    least = counts[1] / sum(counts) - beta / 2
    b = noise_scale(counts, epsilon, failure)
    assert 2 / b - math.log(least * math.expm1(2 / b) + 1) == pytest.approx(epsilon, abs=1e-6)
    assert noise_scale(counts, epsilon, 0.0) == 2 / epsilon
    assert noise_scale(counts, 1.6, failure) == 0.0  # e^1.6 is beyond 1/least: the bit itself may be released


def test_empirical_information_is_that_of_the_library() -> None:
    table = np.array([[120, 30], [45, 205]])
    prior = lw.Prior.from_counts(table.sum(axis=1).tolist())
    mechanism = lw.Mechanism(table / table.sum(axis=1, keepdims=True))
    assert float(empirical_information(table)) == pytest.approx(lw.mutual_information(mechanism, prior), abs=1e-12)


@pytest.mark.parametrize("name", ["figure_6a", "figure_6b", "figure_7"])
def test_gaussian_curves(name: str) -> None:
    for m in (100, 1_000, 10_000):
        curve = of(name, m=m)
        assert all(a["delta"] >= b["delta"] >= 1e-6 for a, b in pairwise(curve))
        for row in curve:
            assert row["found_delta"] <= row["delta_outcomes"] <= row["found_delta"] + 1e-5
            assert row["delta"] <= max(row["pldp_probability"], 1e-6 * (1 + 1e-6))
            assert row["pldp_probability"] <= row["pldp_delta"]
            # The printed ε* is ε - log(1 - βe^ε/2): more than the ε that holds.
            if row["printed_epsilon"] is not None:
                beta = math.sqrt(2 * (math.log(2) + math.log(1e6)) / m)
                added = -math.log(1 - beta * math.exp(row["epsilon"]) / 2)
                assert row["printed_epsilon"] == pytest.approx(row["epsilon"] + added, abs=1e-9)
    # The floor δ₂ is reached for every m but 100, as the caption says.
    assert {m: of(name, m=m)[-1]["delta"] < 1.1e-6 for m in (1_000, 10_000)} == {1_000: True, 10_000: True}
    assert of(name, m=100)[-2]["delta"] > 1e-4


def test_figure_6b_more_noise_leaks_less() -> None:
    for less, more in zip(shown("figure_6b").rows, shown("figure_6a").rows, strict=True):
        assert less["delta"] <= more["delta"] * (1 + 1e-5)  # type: ignore[operator]


def test_figure_7_a_skewed_estimate_needs_a_larger_epsilon() -> None:
    def reached(name: str) -> float:
        return min(row["epsilon"] for row in of(name, m=10_000) if row["delta"] <= 0.01)

    assert reached("figure_7") > reached("figure_6a")
    assert found("figure_7", "skewed").agrees


def test_parameters_may_be_ones_own() -> None:
    result = ed.figure_6a(estimate=(0.4, 0.6), sigma=3.0, samples=(500,), epsilons=(0.2, 0.4), failure=1e-3)
    assert [row["epsilon"] for row in result.rows] == [0.2, 0.4]
    assert ed.figure_2b(letters=6, singular=3, draws=50).rows[0]["kind"] == "random"
