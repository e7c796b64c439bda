"""Intervals where the usual ones fail: few rows, values that never came, much noise, weights and clusters."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import pytest

import leakwise as lw
from leakwise.mechanism.catalog import identity

Z = NormalDist().inv_cdf(0.975)


def wilson(count, rows):
    middle, half = count + Z**2 / 2, Z * np.sqrt(count * (rows - count) / rows + Z**2 / 4)
    return [(middle - half) / (rows + Z**2), (middle + half) / (rows + Z**2)]


def counts_of(table, *labels):
    return {
        tuple(of[at] for of, at in zip(labels, place, strict=True)): int(table[place])
        for place in np.ndindex(table.shape)
    }


def test_without_noise_shares_have_wilsons_interval_in_every_table():
    a, b = identity(["f", "m"]), identity([0, 1, 2])
    table = np.array([[5, 0, 2], [60, 30, 3]])
    e = lw.estimate(counts_of(table, a.inputs, b.inputs), {"a": a, "b": b})
    within, margin = e.table("b", given="a"), e.table("a")
    for place in range(3):
        np.testing.assert_allclose(within.intervals[place, 0], wilson(table[0, place], 7), atol=1e-5)
        np.testing.assert_allclose(e.intervals[0, place], wilson(table[0, place], 100), atol=1e-5)
    np.testing.assert_allclose(margin.intervals[0], wilson(7, 100), atol=1e-5)


@pytest.mark.parametrize("lift", [1.2, 1.5])
def test_cells_are_covered_under_strong_noise(lift):
    first, second = lw.randomized_response(["f", "m"], lift=lift), lw.randomized_response([0, 1, 2], lift=lift)
    truth = np.array([[0.05, 0.0, 0.0], [0.55, 0.40, 0.0]])
    outcomes = first.matrix.T @ truth @ second.matrix
    generator = np.random.default_rng(3)
    inside = []
    for _ in range(200):
        drawn = generator.multinomial(1000 if lift == 1.2 else 60, outcomes.reshape(-1)).reshape(2, 3)
        e = lw.estimate(counts_of(drawn, first.inputs, second.inputs), {"a": first, "b": second})
        inside.append((e.intervals[..., 0] <= truth) & (truth <= e.intervals[..., 1]))
    assert np.mean(inside, axis=0).min() > 0.93


def test_a_share_within_a_group_that_may_be_empty_can_be_anything():
    sex, income = lw.randomized_response(["f", "m"], lift=1.5), lw.randomized_response(["low", "high"], lift=9)
    table = np.array([[90, 30], [110, 40]])  # a fifth of the rows, or none at all
    e = lw.estimate(counts_of(table, sex.inputs, income.inputs), {"a": sex, "b": income})
    assert e.table("b", given="a").intervals[:, 0].tolist() == [[0.0, 1.0], [0.0, 1.0]]
    assert np.diff(e.table("b", given="a").intervals[0, 1])[0] < 1


def test_small_groups_have_means_that_cover():
    a, b = identity(["f", "m"]), identity([0, 1, 5])
    truth = np.array([[0.02, 0.02, 0.01], [0.45, 0.30, 0.20]])
    generator = np.random.default_rng(4)
    inside = []
    for _ in range(200):
        drawn = generator.multinomial(100, truth.reshape(-1)).reshape(2, 3)
        if drawn[0].any():
            e = lw.estimate(counts_of(drawn, a.inputs, b.inputs), {"a": a, "b": b})
            low, high = e.mean(column="b", given={"a": "f"}).interval
            inside.append(low <= 1.4 <= high)
    assert np.mean(inside) > 0.92


@pytest.mark.parametrize("kind", ["one column", "table"])
def test_a_column_that_shows_one_value_is_not_certain_to_have_no_other(kind):
    m = identity([0, 1, 5])
    e = lw.estimate({1: 20}, m) if kind == "one column" else lw.estimate({(1,): 20}, {"x": m}, by=[])
    low, high = e.mean().interval
    # One row in six may be a 5 and not be met in 20 rows.
    assert low == pytest.approx(1 - wilson(0, 20)[1], abs=0.02)
    assert high == pytest.approx(1 + 4 * wilson(0, 20)[1], abs=0.05)
    assert e.quantile(0.1).interval == (0.0, 1.0)
    assert e.quantile(0.5).interval == (1.0, 1.0)


def test_quantiles_at_ties_of_the_distribution_cover():
    m = lw.randomized_response([1, 2, 3, 4], lift=5)
    shares = np.array([0.25, 0.25, 0.25, 0.25])  # the median is 2: its distribution function is exactly one half there
    generator = np.random.default_rng(6)
    inside = []
    for _ in range(200):
        counts = generator.multinomial(400, shares @ m.matrix)
        e = lw.estimate(dict(zip(m.outputs, counts.tolist(), strict=True)), m)
        low, high = e.quantile(0.5).interval
        first, last = e.quantile(0.3).interval
        inside.append([low <= 2 <= high, first <= 2 <= last, high - low < 3])
    assert np.mean(inside, axis=0).min() > 0.93


def test_a_value_that_never_came_keeps_an_interval_with_weights_clusters_groups_and_strata():
    rows = 60
    table = {
        "x": ["a"] * rows,
        "w": [1.0 + row % 2 for row in range(rows)],
        "c": [row // 3 for row in range(rows)],
        "g": ["n", "s"] * (rows // 2),
    }
    m = identity(["a", "b"])
    for survey in ({"weights": "w"}, {"clusters": "c"}, {"weights": "w", "clusters": "c"}):
        e = lw.estimate(table, {"x": m}, **survey)
        assert e.standard_error.tolist() == [0.0, 0.0]  # as in R's survey
        assert 0.05 < e.intervals[1, 1] < 0.09
        assert e.total().intervals[1, 1] == pytest.approx(e.intervals[1, 1] * e.evidence.total_weight)
    by = lw.estimate(table, {"x": m}, by=["g"])
    low, high = by.difference("n", "s").intervals[1]
    assert low == pytest.approx(-high)
    assert high == pytest.approx(wilson(0, 30)[1], rel=0.05)
    other = lw.Mechanism([["0.99", "0.01"], ["0.01", "0.99"]], inputs=["a", "b"], outputs=["a", "b"])
    strata = lw.StratifiedMechanism({"n": m, "s": other}, given={"g": ["n", "s"]}, secret="x")
    for pooled in (lw.estimate(table, {"x": strata}, by=[]), lw.estimate(table, strata, "x")):
        assert pooled.intervals[1, 1] == pytest.approx(wilson(0, 60)[1], rel=0.1)
    half = lw.StratifiedMechanism({"n": m, "s": m}, given={"g": ["n", "s"]}, secret="x", impossible={"s": ["b"]})
    assert 0.02 < lw.estimate(table, half, "x").intervals[1, 1] < 0.07  # of 30 rows that might have shown one


def test_clusters_in_both_groups_are_allowed_for_in_differences():
    generator = np.random.default_rng(9)
    level = generator.beta(1, 1, 40)
    cluster, group = np.repeat(np.arange(40), 40), np.tile(["n", "s"], 800)
    x = (generator.random(1600) < level[cluster]).astype(int)
    t = {"x": x, "c": cluster, "g": group}
    m = identity([0, 1])
    apart = lw.estimate(t, {"x": m}, by=["g"], clusters="c")
    both = apart.difference("n", "s")
    # Villages are alike in both groups: the difference is known better than either.
    assert np.diff(both.intervals[1])[0] < 0.7 * np.diff(apart["n"].intervals[1])[0]
    assert np.diff(both.intervals[1])[0] == pytest.approx(2 * 2.02 * both.standard_error[1], rel=0.1)
