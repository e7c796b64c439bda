"""[WC]: the numbers that its text and captions state, and the optimum beside them."""

from __future__ import annotations

import math

import pytest

from leakwise.papers import worst_case_utility as wc


def test_example_1_is_optimal_where_the_paper_says() -> None:
    result = wc.example_1(fast=True)
    for row in result.rows:
        heavy = row["p1"] >= 0.5
        assert row["least"] == pytest.approx(math.log(2) if heavy else -math.log(row["p2"] + row["p3"]), abs=1e-9)
        assert (row["mechanism_9"] is not None) == heavy
        assert row["utility_safe"] >= row["least"] - 1e-12
    assert all(finding.agrees for finding in result.findings)


def test_figure_1_jumps_where_the_text_says() -> None:
    told: list[float] = []
    result = wc.figure_1(fast=True, progress=lambda share, words: told.append(share))
    assert told[-1] == 1.0
    at, seen = result.column("epsilon"), result.column("utility_safe_seen")
    jumps = [b for a, b, u, v in zip(at, at[1:], seen, seen[1:], strict=False) if v > u]
    assert jumps == [0.85, 1.3, 1.95]
    assert [row["utility_safe_order"] for row in result.rows if row["epsilon"] in (0.8, 0.85, 1.3, 1.95)] == [
        1,
        3,
        5,
        7,
    ]
    for row in result.rows:
        assert row["utility_safe_possible"] <= row["utility_safe_seen"]
        assert row["utility_safe_possible"] <= row["optimum"]
        below = row["epsilon"] < math.log(7)
        for peer in ("exponential", "randomized_response"):
            assert row[f"{peer}_possible"] == (-37 if below else 0)
    assert all(finding.agrees for finding in result.findings)
    assert sum(finding.beyond for finding in result.findings) == 2


def test_figure_1_the_optimum_is_a_step_function_with_the_levels_of_the_table() -> None:
    result = wc.figure_1(fast=True, epsilons=(0.0, 0.69, 0.7, 1.25, 1.26, 1.94, 1.95))
    assert result.column("optimum_order") == [4, 4, 5, 5, 6, 6, 7]
    assert result.column("optimum")[0] == -10
    optimum = result.column("optimum")
    assert optimum == sorted(optimum)


def test_figure_1_draws_depend_on_the_seed_only() -> None:
    few = (1.7, 1.9)
    first = wc.figure_1(epsilons=few, draws=50)
    assert first.csv() == wc.figure_1(epsilons=few, draws=50).csv()
    assert first.csv() != wc.figure_1(epsilons=few, draws=50, seed=3).csv()


def test_figure_2_both_lines_are_one() -> None:
    result = wc.figure_2(fast=True)
    for row in result.rows:
        p = row["p_min"]
        assert row["least_h2"] == pytest.approx(-math.log(p + 2 * (1 - p) / 3), abs=1e-9)
        assert row["least_h3"] == pytest.approx(-math.log(p + (1 - p) / 3), abs=1e-9)
        for level in (2, 3):
            assert row[f"safe_h{level}"] == pytest.approx(row[f"least_h{level}"], abs=1e-9)
            assert row[f"proven_h{level}"] <= row[f"least_h{level}"]
    assert result.findings[0].agrees


def test_figure_3_the_lines_part_for_the_lower_level() -> None:
    result = wc.figure_3(fast=True)
    for row in result.rows:
        p = row["p_min"]
        assert row["safe_h2"] == pytest.approx(-math.log(3 * p), abs=1e-9)
        assert row["least_h2"] == pytest.approx(min(math.log(1.5), -math.log(3 * p)), abs=1e-9)
        assert row["safe_h3"] == pytest.approx(row["least_h3"], abs=1e-9)
        assert row["least_h3"] == pytest.approx(-math.log(2 * p), abs=1e-9)
    gaps = [row["safe_h2"] - row["least_h2"] for row in result.rows]
    assert gaps == sorted(gaps, reverse=True)
    assert gaps[-1] > 0.1
    assert all(finding.agrees for finding in result.findings)


def test_figure_3_from_two_ninths_on_the_lines_meet_again() -> None:
    result = wc.figure_3(least_masses=(0.2, 0.23, 0.25), levels=(2,))
    assert result.rows[0]["safe_h2"] > result.rows[0]["least_h2"] + 0.1
    assert result.rows[1]["safe_h2"] == pytest.approx(result.rows[1]["least_h2"], abs=1e-9)
