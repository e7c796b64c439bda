"""[EN]: its four examples, the two quantiles, Figure 2 with the exact envelope, and the conjecture."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import pytest

import leakwise as lw
from leakwise.papers import leakage_envelopes as en
from leakwise.papers.leakage_envelopes_response import four_level_prior

FIGURES = [en.figure_2a, en.figure_2b, en.figure_2c, en.figure_2d]


def test_example_1_values_before_and_after_merging() -> None:
    result = en.example_1(fast=True)
    lifts = {(row["release"], row.get("outcome") or row.get("delta")): row["lift"] for row in result.rows}
    assert [lifts["Y", k] for k in (1, 2, 3, 4)] == pytest.approx([4, 4, 10 / 9, 10 / 9])
    assert [lifts["Z", k] for k in (1, 2)] == pytest.approx([1.2, 1.2])
    assert lifts["envelope", "1/10"] == pytest.approx(4)
    for delta, value in (("1/5", 0.2), ("1/2", 0.5), ("9/10", 0.9)):
        assert lifts["envelope", delta] == pytest.approx(8 / 9 + 14 / (45 * value))
    assert all(finding.agrees for finding in result.findings)


def test_example_2_quantiles() -> None:
    result = en.example_2(fast=True)
    row = next(row for row in result.rows if row["delta"] == "1/10")
    assert row["lower_quantile"] == pytest.approx(math.log(10 / 9))
    assert row["upper_quantile"] == row["envelope"] == pytest.approx(math.log(4))
    for row in result.rows:
        assert row["lower_quantile"] <= row["upper_quantile"] + 1e-12
        assert row["upper_quantile"] <= row["envelope"] + 1e-12
    assert all(finding.agrees for finding in result.findings)


def test_examples_3_and_4_events() -> None:
    three, four = en.example_3(fast=True), en.example_4(fast=True)
    assert [row["lift"] for row in three.rows] == pytest.approx([2, 2, 1])
    assert [row["lift"] for row in four.rows] == pytest.approx([1, 1 / 0.55, 2])
    assert [row["event"] for row in four.rows] == ["{3}", "{1, 3}", "{1}"]
    assert all(finding.agrees for result in (three, four) for finding in result.findings)


def test_figure_1_distribution() -> None:
    result = en.figure_1(fast=True)
    for row in result.rows:
        expected = 0.0 if row["t"] < math.log(10 / 9) - 1e-12 else 0.9 if row["t"] < math.log(4) - 1e-9 else 1.0
        assert row["distribution"] == pytest.approx(expected)
        assert row["after_post_processing"] <= row["distribution"] + 1e-12
    for column in ("distribution", "after_post_processing"):
        assert all(a <= b + 1e-12 for a, b in pairwise(result.column(column)))
    assert result.column("after_post_processing")[-1] == 1
    assert all(finding.agrees for finding in result.findings)


@pytest.mark.parametrize("figure", FIGURES)
def test_figure_2_order_of_the_curves(figure: Any) -> None:
    result = figure(fast=True)
    for row in result.rows:
        assert row["binary"] <= row["envelope"] + 1e-12
        assert row["lower"] <= row["envelope"] + 1e-12
        assert row["envelope"] <= row["upper"] + 1e-12
        assert row["condition"]
        assert row["lower"] == pytest.approx(row["envelope"], abs=1e-9)  # the conjecture
    for column in ("envelope", "upper", "binary", "dp"):
        assert all(a >= b - 1e-12 for a, b in pairwise(result.column(column)))
    assert result.rows[-1]["dp"] == 0
    assert result.rows[-1]["envelope"] > 0  # does not vanish as δ goes to 1
    assert all(finding.agrees for finding in result.findings)


def test_figure_2a_starts_at_log_alpha_over_q_1_below_epsilon_r() -> None:
    first = en.figure_2a(fast=True).rows[0]
    alpha, beta = math.e / (math.e + 2), 1 / (math.e + 2)
    assert first["envelope"] == pytest.approx(math.log(alpha / (beta + (alpha - beta) * 0.2)), abs=1e-9)
    assert first["envelope"] < 1
    assert first["dp"] == pytest.approx(math.log((alpha - first["delta"]) / beta), abs=1e-9)


def test_figure_2_the_gap_shrinks_with_k() -> None:
    finding = en.figure_2d(fast=True).findings[-1]
    before, after = (float(part) for part in str(finding.ours).removeprefix("from ").split(" to "))
    assert after < before
    assert finding.agrees


def test_the_four_level_prior() -> None:
    prior = four_level_prior(12, 0.1)
    assert prior.probabilities.tolist() == pytest.approx([x / 12 for x in (0.7, 0.9, 1.1, 1.3) for _ in range(3)])


def test_the_condition_is_told_apart() -> None:
    result = en.figure_2a(fast=True, prior=("1/50", "2/50", "47/50"), epsilon=3.0)
    held = [row for row in result.rows if row["condition"]]
    assert 0 < len(held) < len(result.rows)
    for row in held:
        assert row["lower"] == pytest.approx(row["envelope"], abs=1e-9)


def test_the_conjecture_on_random_instances() -> None:
    result = en.theorem_5_conjecture(fast=True)
    assert result.csv() == en.theorem_5_conjecture(fast=True).csv()
    for row in result.rows:
        assert row["condition_holds"] + row["condition_fails"] == row["instances"]
        assert row["largest_difference_under_condition"] is None or row["largest_difference_under_condition"] < 1e-9
        assert row["closed_form_against_program"] < 1e-7
    assert any(row["h_below_envelope"] > 0 for row in result.rows)
    assert max(row["largest_factor"] or 1 for row in result.rows) > 1.05
    assert all(finding.agrees for finding in result.findings)


def test_public_functions_agree_with_the_rows() -> None:
    result = en.figure_2b(fast=True)
    prior = lw.Prior(["1/10", "1/5", "1/5", "1/5", "3/10"])
    mechanism = lw.randomized_response(prior.labels, 1.0)
    for row in result.rows[:: len(result.rows) // 4]:
        solved = lw.envelope(mechanism, prior, row["delta"], method="primal")
        assert solved.epsilon == pytest.approx(row["envelope"], abs=1e-9)
