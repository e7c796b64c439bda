"""The certified leakage: parity exactly, everything else between both sides, and never below any search."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import leakwise as lw
from leakwise import records
from leakwise.errors import InvalidInput
from leakwise.records.adversaries.local import climb
from leakwise.records.bounds.closed_form import binary_entropy, inverse_binary_entropy, parity_of
from leakwise.records.queries.problem import information

LOG2 = math.log(2)


def parity_truth(n: int, flip: float, b: float) -> float:
    """The closed form, log 2 - h(p*α) with h(α) = max(0, b - (n-1) log 2)."""
    alpha = inverse_binary_entropy(max(0.0, b - (n - 1) * LOG2))
    return LOG2 - binary_entropy(flip * (1 - alpha) + (1 - flip) * alpha)


# ------------------------------------------------------------------------------------------------------------- parity


@pytest.mark.parametrize("n", range(2, 13))
def test_parity_without_its_closed_form(n: int) -> None:
    """To 1e-8, over the whole range of b; the part before (n-1) log 2 is flat."""
    flip = 0.1 + 0.03 * n
    channel = records.parity(n).symmetric_channel(flip)
    for b in (0.0, 0.6 * n * LOG2, (n - 1) * LOG2, (n - 1 + 0.05 * n) * LOG2, (n - 0.1) * LOG2, n * LOG2):
        r = records.leakage(channel, min(b, channel.query.max_entropy), closed_form=False, tolerance=1e-8)
        truth = parity_truth(n, flip, b)
        assert r.closed
        assert r.value <= truth + 1e-12
        assert r.bound >= truth - 1e-12
        assert r.gap <= 1e-8


def test_parity_of_a_thousand_bits() -> None:
    channel = records.parity(1000).symmetric_channel(0.3)
    for b in (0.0, 999 * LOG2, 999.3 * LOG2, 999.9 * LOG2):
        closed = records.leakage(channel, b)
        opened = records.leakage(channel, b, closed_form=False, tolerance=1e-7)
        assert closed.method.startswith("closed form")
        assert opened.closed
        for r in (closed, opened):
            assert r.value - 1e-10 <= parity_truth(1000, 0.3, b) <= r.bound + 1e-10


@given(st.integers(2, 40), st.floats(0.0, 0.5), st.floats(0.0, 1.0))
def test_the_closed_form_is_reached_by_its_adversary(n: int, flip: float, fraction: float) -> None:
    channel = records.parity(n).symmetric_channel(flip)
    b = fraction * channel.query.max_entropy
    r = records.leakage(channel, b)
    case = channel.cases[0]
    if parity_of(case.problem) is None:  # flip = 1/2: one class only
        assert flip == 0.5
        return
    assert information(case.problem, r.belief[None])[0] == pytest.approx(r.value, abs=1e-10)
    assert r.adversary.entropy >= b - 1e-9
    assert r.bound == pytest.approx(parity_truth(n, flip, b), abs=1e-10)


def test_one_bit_is_not_parity_of_many() -> None:
    """With no other record to know about, the record itself must stay uncertain: L is flat up to log 2."""
    r = records.leakage(records.parity(1).symmetric_channel(0.3), 0.6, tolerance=1e-8)
    assert r.value == pytest.approx(LOG2 - binary_entropy(0.3), abs=1e-7)


TABLE_3 = [  # b, printed for Laplace and exponential, the truth for both
    (0.0, 0.079, 0.032, 0.0795, 0.0303),
    (0.5, 0.062, 0.024, 0.0795, 0.0303),
    (1.0, 0.041, 0.015, 0.0795, 0.0303),
    (1.5, 0.022, 0.008, 0.0795, 0.0303),
    (2.0, 0.009, 0.003, 0.0795, 0.0303),
    (2.2, None, None, 0.0713, 0.0272),
    (2.5, None, None, 0.0387, 0.0149),
    (2.7, None, None, 0.0110, 0.0043),
]


@pytest.mark.parametrize(("b", "laplace", "exponential", "truth_l", "truth_e"), TABLE_3)
def test_table_3_under_reports(
    b: float, laplace: float | None, exponential: float | None, truth_l: float, truth_e: float
) -> None:
    q = records.parity(4)
    for channel, printed, truth in ((q.laplace(1.0), laplace, truth_l), (q.exponential(1.0), exponential, truth_e)):
        r = records.leakage(channel, b, closed_form=False, tolerance=1e-7)
        assert r.value == pytest.approx(truth, abs=6e-5)
        if printed is not None and b >= 0.5:
            assert printed < r.value - 0.003  # safety-critical: the paper's number is too small


def test_figure_4_horizontal_line() -> None:
    for n in (4, 5, 6):
        assert records.leakage(records.parity(n).symmetric_channel(0.3), 0.0).value == pytest.approx(0.0823, abs=5e-5)


# ------------------------------------------------------------------------------------------------- other sums, counts


@pytest.mark.parametrize(("n", "modulus", "flip"), [(4, 3, 0.3), (6, 3, 0.2), (5, 4, 0.3), (1000, 3, 0.3)])
@pytest.mark.parametrize("part", [0.4, 0.85])
def test_sums_against_many_starts(n: int, modulus: int, flip: float, part: float) -> None:
    """Never below a local search with many starts; the bound never below it either."""
    channel = records.modular_sum(n, modulus).symmetric_channel(flip)
    b = channel.query.max_entropy - (1 - part) * math.log(2 * modulus)
    r = records.leakage(channel, b, tolerance=1e-4, time_limit=20)
    problem = channel.cases[0].problem
    starts = np.random.default_rng(1).dirichlet(np.full(len(problem.letter), 0.5), size=200)
    _, found = climb(problem, starts, problem.shifted(b))
    assert r.closed
    assert found.max() <= r.bound
    assert r.value >= found.max() - 1e-6
    assert r.gap <= 1e-4


def test_against_a_solver_that_knows_nothing_of_classes() -> None:
    """SLSQP on the 2^3 probabilities, many starts: the global value is not below the best of them."""
    from scipy.optimize import minimize

    channel = records.modular_sum(3, 3).symmetric_channel(0.2)
    q = channel.by_dataset().reshape(2, 4, 3)
    b = 1.8

    def leak(p: np.ndarray) -> float:
        joint = np.einsum("at,aty->ay", np.maximum(p, 0).reshape(2, 4), q) + 1e-300
        return float((joint * np.log(joint / (joint.sum(1, keepdims=True) * joint.sum(0)))).sum())

    def entropy(p: np.ndarray) -> float:
        p = np.maximum(p, 1e-300)
        return float(-(p * np.log(p)).sum())

    rng = np.random.default_rng(0)
    best = 0.0
    for _ in range(25):
        start = 0.5 * rng.dirichlet(np.ones(8)) + 0.5 / 8
        done = minimize(
            lambda p: -leak(p),
            start,
            bounds=[(0, 1)] * 8,
            constraints=[
                {"type": "eq", "fun": lambda p: p.sum() - 1},
                {"type": "ineq", "fun": lambda p: entropy(p) - b},
            ],
            method="SLSQP",
            options={"maxiter": 200},
        )
        p = np.maximum(done.x, 0) / np.maximum(done.x, 0).sum()
        share = 0.0
        while entropy((1 - share) * p + share / 8) < b:
            share += 1e-7
        best = max(best, leak((1 - share) * p + share / 8))
    r = records.leakage(channel, b, tolerance=1e-6)
    assert best <= r.bound + 1e-7
    assert best == pytest.approx(r.value, abs=1e-5)


def test_counts_of_twenty() -> None:
    q = records.count(20)
    for channel, part in ((q.geometric(1.0), 0.5), (q.geometric(0.3), 0.3), (q.symmetric_channel(0.3), 0.6)):
        r = records.leakage(channel, part * q.max_entropy, tolerance=1e-3)
        assert r.closed
        assert 0 < r.value <= r.bound <= LOG2


def test_what_does_not_close_is_said() -> None:
    q = records.count(20)
    r = records.leakage(q.geometric(0.3), 0.97 * q.max_entropy, tolerance=1e-6, time_limit=0.5)
    assert not r.closed
    assert 0 < r.value < r.bound
    assert "not closed" in repr(r)
    assert r.to_dict()["closed"] is False


@given(st.integers(0, 10**6), st.floats(0.2, 0.95))
@settings(max_examples=12)
def test_records_of_three_values(seed: int, part: float) -> None:
    rng = np.random.default_rng(seed)
    query = records.Query(lambda x: (x[0] + 2 * x[1]) % 2, [3, 2])
    channel = query.channel(rng.dirichlet([1, 1], size=2))
    b = part * query.max_entropy
    r = records.leakage(channel, b, tolerance=1e-3, time_limit=10)
    assert r.value <= r.bound
    for case in channel.cases:
        starts = rng.dirichlet(np.ones(len(case.problem.letter)), size=40)
        assert climb(case.problem, starts, case.problem.shifted(b))[1].max() <= r.bound


@given(st.integers(0, 10**6))
@settings(max_examples=10)
def test_monotone_in_b_and_under_post_processing(seed: int) -> None:
    rng = np.random.default_rng(seed)
    q = records.modular_sum(3, 3)
    rows = rng.dirichlet([1.0, 1.0, 1.0], size=3)
    channel = q.channel(rows)
    low, high = sorted(rng.uniform(0, q.max_entropy, size=2))
    first = records.leakage(channel, low, tolerance=1e-4)
    second = records.leakage(channel, high, tolerance=1e-4)
    assert second.value <= first.bound
    after = records.leakage(q.channel(rows @ rng.dirichlet([1.0, 1.0], size=3), outputs=[0, 1]), low, tolerance=1e-4)
    assert after.value <= first.bound


def test_relabelling_outputs_changes_nothing() -> None:
    q = records.count(4)
    c = q.laplace(0.8)
    a = records.leakage(c, 2.0, tolerance=1e-5)
    b = records.leakage(q.channel(c.rows[:, ::-1]), 2.0, tolerance=1e-5)
    assert a.value == pytest.approx(b.value, abs=1e-5)


def test_at_the_largest_entropy_only_the_uniform_belief_is_left() -> None:
    q = records.count(3)
    c = q.laplace(1.0)
    r = records.leakage(c, q.max_entropy)
    problem = c.cases[0].problem
    assert r.value == pytest.approx(float(information(problem, problem.uniform[None])[0]), abs=1e-12)
    assert r.gap < 1e-12


def test_a_constant_mechanism_leaks_nothing() -> None:
    r = records.leakage(records.count(4).channel(np.full((5, 2), 0.5)), 1.0)
    assert r.value == 0
    assert r.bound < 1e-9


# ------------------------------------------------------------------------------------------------- curves and results


def test_curves_are_monotone_and_follow_the_truth() -> None:
    channel = records.parity(4).symmetric_channel(0.3)
    curve = records.leakage_curve(channel, 9, closed_form=False, tolerance=1e-6)
    truth = [parity_truth(4, 0.3, b) for b in curve.x]
    assert (np.diff(curve.value) <= 1e-12).all()
    assert (np.diff(curve.bound) <= 1e-12).all()
    assert curve.value == pytest.approx(truth, abs=1e-6)
    assert (curve.bound >= np.array(truth) - 1e-12).all()
    assert curve.chart()["$schema"]
    assert "entropy" in repr(curve)
    assert "<table" in curve._repr_html_()
    assert len(curve.to_dict()["x"]) == 9
    assert records.leakage_curve(channel, [0.0, 2.5]).x.tolist() == [0.0, 2.5]
    assert curve.plot().to_dict()["$schema"]


def test_the_result_speaks() -> None:
    r = lw.records.leakage(records.parity(3).symmetric_channel(0.25), 1.5)
    assert "the others sum to 0 mod 2" in r.adversary.sentence
    assert "record 0" in repr(r.adversary)
    assert "alike" in repr(r)
    assert "<table" in r._repr_html_()
    data = r.to_dict()
    assert data["value"] <= data["bound"]
    assert sum(c["probability"] for c in data["adversary"]["classes"]) == pytest.approx(1)
    big = records.leakage(records.parity(2000).symmetric_channel(0.25), 1.0)
    assert "2^1998" in repr(big.adversary)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"entropy": -0.1}, "at least 0"),
        ({"entropy": 3.0}, r"2\.772589"),
        ({"entropy": math.nan}, "at least 0"),
        ({"entropy": "much"}, "number of nats"),
        ({"tolerance": 0.0}, "tolerance"),
        ({"time_limit": -1}, "time_limit"),
        ({"method": "magic"}, "method"),
        ({"method": "alternating", "restarts": 0}, "restarts"),
    ],
)
def test_bad_input(options: dict[str, object], words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        records.leakage(records.parity(4).symmetric_channel(0.3), **options)  # type: ignore[arg-type]


def test_bad_curves() -> None:
    with pytest.raises(InvalidInput, match="at least 2 points"):
        records.leakage_curve(records.parity(4).symmetric_channel(0.3), 1)
