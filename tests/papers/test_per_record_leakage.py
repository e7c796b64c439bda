"""The exhibits of [PR]: one test for each on its data, and the numbers that the paper states."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from leakwise.charts.render import svg
from leakwise.papers import Result, exhibits
from leakwise.papers import per_record_leakage as pr
from leakwise.papers.per_record_leakage.table import PRINTED

NAMES = [made.name for made in exhibits("PR")]
LOG2 = math.log(2)


@cache
def shown(name: str) -> Result:
    return getattr(pr, name)(fast=True)


def found(result: Result, words: str) -> Any:
    """The one finding whose claim has these words."""
    (finding,) = [f for f in result.findings if words in f.claim]
    return finding


def of(name: str, **wanted: object) -> list[Mapping[str, Any]]:
    return [row for row in shown(name).rows if all(row[key] == value for key, value in wanted.items())]


def binary_entropy(p: float) -> float:
    return -p * math.log(p) - (1 - p) * math.log1p(-p)


def exact(flip: float, n: int, b: float) -> float:
    """L(b) = log 2 - h(p*α) with h(α) = max(0, b - (n-1) log 2), worked out once more."""
    left = b - (n - 1) * LOG2
    low, high = 0.0, 0.5
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if middle > 0 and binary_entropy(middle) < left else (low, middle)
    alpha = 0.0 if left <= 0 else high
    return LOG2 - binary_entropy(flip * (1 - alpha) + (1 - flip) * alpha)


def test_every_exhibit_of_the_paper_is_there() -> None:
    numbers = {made.number for made in exhibits("PR")}
    assert numbers == {"Figure 1", "Figure 3", "Figure 4", "Figure 5", "Figure 6", "Figure 7", "Table 3"}


@pytest.mark.parametrize("name", ["figure_1", "figure_5", "figure_7", "table_3"])
def test_a_second_run_gives_the_same_bytes(name: str) -> None:
    again = getattr(pr, name)(fast=True)
    assert again.csv() == shown(name).csv()
    assert again.chart == shown(name).chart
    assert list(again.findings) == list(shown(name).findings)


@pytest.mark.parametrize("name", NAMES)
def test_charts_can_be_drawn(name: str) -> None:
    pytest.importorskip("vl_convert")
    chart = shown(name).chart
    assert chart is not None
    assert svg(chart).startswith("<svg")


def test_figure_1_is_a_saddle() -> None:
    rows = shown("figure_1").rows
    side = round(math.sqrt(len(rows)))
    table = np.array([row["information"] for row in rows]).reshape(side, side)
    assert (np.diff(table, n=2, axis=1) <= 1e-12).all()  # concave in the record
    assert (np.diff(table, n=2, axis=0) >= -1e-12).all()  # convex in the others
    assert table[side // 2] == pytest.approx(np.zeros(side), abs=1e-12)  # nothing is learnt where X2 is a fair coin
    assert table[0, side // 2] == pytest.approx(LOG2 - binary_entropy(0.1), abs=1e-9)
    allowed = [row for row in rows if row["feasible"]]
    assert 0 < len(allowed) < len(rows)
    assert all(row["entropy"] >= 1.0 for row in allowed)  # type: ignore[operator]
    assert max(float(row["information"]) for row in allowed) <= exact(0.1, 2, 1.0) + 1e-9  # type: ignore[arg-type]


def test_figure_3_is_flat_up_to_the_knee_and_then_falls_to_nothing() -> None:
    start = {flip: of("figure_3", flip=flip)[0]["leakage"] for flip in (0.1, 0.2, 0.3, 0.4)}
    assert start[0.1] == pytest.approx(0.368, abs=5e-4)  # section 7.2
    assert start[0.3] == pytest.approx(0.0823, abs=5e-5)
    for flip in start:
        curve = of("figure_3", flip=flip)
        assert all(a["leakage"] >= b["leakage"] - 1e-13 for a, b in pairwise(curve))
        for row in curve:
            assert row["leakage"] == pytest.approx(exact(flip, 4, row["b"]), abs=1e-9)
            if row["b"] <= 3 * LOG2:
                assert row["leakage"] == pytest.approx(start[flip], abs=1e-12)
        assert curve[-1]["leakage"] == pytest.approx(0, abs=1e-12)


def test_figure_3_alternating_never_exceeds_and_stays_below() -> None:
    tried = [row for row in of("figure_3", flip=0.1) if row["alternating"] is not None]
    assert all(row["alternating"] <= row["bound"] + 1e-9 for row in tried)
    assert max(row["leakage"] - row["alternating"] for row in tried) > 0.05
    assert not found(shown("figure_3"), "furthest off").agrees
    assert found(shown("figure_3"), "non-monotonic").agrees  # the paper itself says where they come from


def test_figure_4_capacities_rise_with_epsilon_and_cross_where_the_flips_agree() -> None:
    for n in (4, 5, 6):
        for name in ("laplace", "exponential"):
            curve = of("figure_4", n=n, mechanism=name)
            assert all(a["capacity"] < b["capacity"] < LOG2 for a, b in pairwise(curve))
        lines = of("figure_4", n=n, mechanism="symmetric")
        assert lines[0]["capacity"] == pytest.approx(0.0823, abs=5e-5)  # the caption says 0.0931
        for row in lines:
            assert row["capacity"] == pytest.approx(exact(0.3, n, row["b"]), abs=1e-9)
    assert of("figure_4", n=4, mechanism="symmetric", b=2.5)[0]["capacity"] == pytest.approx(0.0400, abs=5e-5)
    low, high = (of("figure_4", n=4, mechanism="laplace")[k]["capacity"] for k in (0, -1))
    assert low < 0.0823 < high
    crossing = found(shown("figure_4"), "for a fixed ε")
    assert "1.0217" in crossing.ours
    assert "1.6946" in crossing.ours


def test_figure_5_three_mechanisms_are_one_channel() -> None:
    for row in of("figure_5", mechanism="laplace"):
        assert row["parameter"] == pytest.approx(-2 * math.log(2 * row["distortion"]))
        (same,) = of("figure_5", n=row["n"], mechanism="symmetric", entropy_share=0.0, distortion=row["distortion"])
        (other,) = of("figure_5", n=row["n"], mechanism="exponential", distortion=row["distortion"])
        assert same["leakage"] == pytest.approx(row["leakage"], abs=1e-12) == pytest.approx(other["leakage"], abs=1e-12)
        assert same["parameter"] < row["parameter"] < other["parameter"]
        assert same["dp"] == pytest.approx(math.log((1 - row["distortion"]) / row["distortion"]), abs=1e-9)
    for n in (4, 5, 6):
        for distortion in {row["distortion"] for row in of("figure_5", n=n)}:
            curve = [row["leakage"] for row in of("figure_5", n=n, mechanism="symmetric", distortion=distortion)]
            assert all(a > b for a, b in pairwise(curve))  # a larger b, less leakage
    assert found(shown("figure_5"), "exponential mechanism at ε = 1").ours == pytest.approx(0.5, abs=1e-9)


def test_figure_6_the_optimum_is_the_symmetric_channel() -> None:
    rows = shown("figure_6").rows
    assert all(a["least_leakage"] > b["least_leakage"] for a, b in pairwise(rows))  # type: ignore[operator]
    for row in rows:
        assert row["closed"]
        assert row["proven_bound"] <= row["least_leakage"] + 1e-12  # type: ignore[operator]
        assert row["least_leakage"] == pytest.approx(exact(row["D"], 3, 1.5), abs=2e-5)  # type: ignore[arg-type]
        assert row["distortion"] == pytest.approx(row["D"], abs=1e-9)


def test_figure_6_algorithm_6_reports_less_than_its_mechanism_leaks() -> None:
    result = pr.figure_6(records=2, entropy=0.8, distortions=(0.2,))
    (row,) = result.rows
    assert row["least_leakage"] == pytest.approx(exact(0.2, 2, 0.8), abs=2e-5)
    assert row["alternating_true"] >= row["least_leakage"] - 1e-3  # type: ignore[operator]
    assert row["alternating_reported"] < row["alternating_true"] - 0.1  # type: ignore[operator]
    assert not found(result, "our run of Algorithm 6").agrees


def test_figure_7_the_least_distortion_is_the_flip_that_leaks_l() -> None:
    rows = shown("figure_7").rows
    assert all(a["least_distortion"] > b["least_distortion"] for a, b in pairwise(rows))  # type: ignore[operator]
    for row in rows:
        flip = float(row["least_distortion"])  # type: ignore[arg-type]
        assert LOG2 - binary_entropy(flip) == pytest.approx(row["L"], abs=1e-3)
        assert row["leakage"] <= row["L"] + 1e-9  # type: ignore[operator]
        assert row["alternating_true"] > row["L"] + 0.05  # type: ignore[operator]
    assert not found(shown("figure_7"), "stays below L").agrees
    (made,) = [made for made in exhibits("PR") if made.name == "figure_7"]
    assert "our reconstruction" in made.shows
    assert "reconstruction" in found(shown("figure_7"), "stays below L").why


def test_table_3_printed_beside_certified() -> None:
    flips = {"Laplace": 0.5 * math.exp(-0.5), "exponential": 1 / (math.exp(0.5) + 1)}
    for row in shown("table_3").rows:
        name, b = str(row["mechanism"]), float(row["b"])  # type: ignore[arg-type]
        truth = exact(flips[name], 4, 4 * LOG2 if b == 2.77 else b)
        assert row["certified"] <= truth + 1e-9  # type: ignore[operator]
        assert row["certified"] == pytest.approx(truth, abs=1e-6)
        assert row["certified_bound"] >= truth - 1e-9  # type: ignore[operator]
        assert row["printed"] == PRINTED[name].get(b)
    values = {(row["mechanism"], row["b"]): row["certified"] for row in shown("table_3").rows}
    expected = {2.0: (0.0795, 0.0303), 2.2: (0.0713, 0.0272), 2.5: (0.0387, 0.0149), 2.7: (0.0110, 0.0043)}
    for b, (laplace, exponential) in expected.items():
        assert values["Laplace", b] == pytest.approx(laplace, abs=5e-5)
        assert values["exponential", b] == pytest.approx(exponential, abs=5e-5)


def test_table_3_is_too_low_wherever_the_adversary_is_held() -> None:
    for name, column in PRINTED.items():
        for b in (0.5, 1.0, 1.5, 2.0):
            (finding,) = [f for f in shown("table_3").findings if f.claim == f"{name}, b = {b:g}"]
            assert not finding.agrees
            assert finding.ours > finding.printed == column[b]
    assert found(shown("table_3"), "Laplace, b = 2.77").agrees
    (start,) = [f for f in shown("table_3").findings if f.claim == "Laplace, b = 0"]
    assert start.agrees  # 0.079 for 0.0795: the difference of two rounded numbers
    assert not found(shown("table_3"), "binary entropy (exponential").agrees


def test_parameters_may_be_ones_own() -> None:
    result = pr.figure_3(records=(3,), flips=(0.25,), points=5, alternating_points=2, restarts=1)
    assert {row["n"] for row in result.rows} == {3}
    assert pr.figure_5(records=(7,), distortions=(0.25,)).rows[0]["n"] == 7
