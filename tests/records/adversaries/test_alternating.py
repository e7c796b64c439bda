"""The paper's own algorithms, and what is wrong with their printed form."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leakwise import records
from leakwise.errors import InvalidInput
from leakwise.records.adversaries.alternating import (
    Full,
    _entropy,
    _information,
    conditional_gradient,
    conditional_update,
    entropy_projection,
    marginal_update,
    record_information,
    simplex_projection,
)
from leakwise.records.adversaries.beliefs import Belief


def setting(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A marginal p(a), conditionals p(x_-i | a), and q(y | x), inside the simplex so that differences are accurate."""
    rng = np.random.default_rng(seed)
    laws = rng.dirichlet(np.ones(2)), rng.dirichlet(np.ones(4), size=2), rng.dirichlet(np.ones(3), size=(2, 4))
    p, c, q = (0.8 * law + 0.2 / law.shape[-1] for law in laws)
    return p, c, q


def differences(f: object, x: np.ndarray, h: float = 1e-6) -> np.ndarray:
    result = np.empty(x.size)
    for k in range(x.size):
        e = np.zeros(x.size)
        e[k] = h
        e = e.reshape(x.shape)
        result[k] = (f(x + e) - f(x - e)) / (2 * h)  # type: ignore[operator]
    return result.reshape(x.shape)


def channel_information(marginal: np.ndarray, channel: np.ndarray) -> float:
    """I as (38) writes it, also where the laws do not sum to one."""
    output = marginal @ channel
    return float((marginal[:, None] * channel * np.log(channel / output)).sum())


# ---------------------------------------------------------------------------------------------------------- Theorem 8


@given(st.integers(0, 10**6))
@settings(max_examples=20)
def test_theorem_8_channel_derivative(seed: int) -> None:
    """(35) as printed is right."""
    p, c, q = setting(seed)

    def f(x: np.ndarray) -> float:
        return channel_information(p, np.einsum("at,aty->ay", c, x))

    w = np.einsum("at,aty->ay", c, q)
    expected = (p[:, None] * c)[:, :, None] * np.log(w / (p @ w))[:, None, :]
    assert differences(f, q) == pytest.approx(expected, abs=1e-7)


@given(st.integers(0, 10**6))
@settings(max_examples=20)
def test_theorem_8_marginal_derivative(seed: int) -> None:
    """(36) as printed is right."""
    p, c, q = setting(seed)
    w = np.einsum("at,aty->ay", c, q)
    expected = (w * np.log(w / (p @ w))).sum(axis=1) - 1
    assert differences(lambda x: channel_information(x, w), p) == pytest.approx(expected, abs=1e-7)


@given(st.integers(0, 10**6))
@settings(max_examples=20)
def test_theorem_8_conditional_derivative_and_its_slip(seed: int) -> None:
    """(37) as printed carries p(a) - p(a)² Σ_y p(y|a) q / p(y) too many; without it, it is the derivative."""
    p, c, q = setting(seed)
    numeric = differences(lambda x: channel_information(p, np.einsum("at,aty->ay", x, q)), c)
    w = np.einsum("at,aty->ay", c, q)
    extra = p[:, None] - p[:, None] ** 2 * np.einsum("ay,aty->at", w / (p @ w), q)
    for a in range(2):
        right = conditional_gradient(p, c, q, a)
        assert numeric[a] == pytest.approx(right, abs=1e-7)
    printed = np.array([conditional_gradient(p, c, q, a) for a in range(2)]) + extra
    assert np.abs(extra).max() > 1e-3
    assert np.abs(printed - numeric).max() > 1e-3


@given(st.integers(0, 10**6))
@settings(max_examples=20)
def test_theorem_9_entropy_derivatives(seed: int) -> None:
    p, c, _ = setting(seed)

    def joint(x: np.ndarray) -> float:
        t = p[:, None] * x
        return float(-(t * np.log(t)).sum())

    assert differences(joint, c) == pytest.approx(-p[:, None] * (np.log(p[:, None] * c) + 1), abs=1e-6)


def test_the_gradient_of_a_class_is_that_of_its_datasets() -> None:
    q = records.modular_sum(3, 3)
    space = q.orbit_space()
    rng = np.random.default_rng(3)
    view = space.views[0]
    belief = Belief(0, rng.dirichlet(np.ones(view.successor.size)).reshape(view.successor.shape))
    rows = rng.dirichlet(np.ones(3), size=len(space))
    gradient = belief.gradient(space, rows)
    numeric = differences(lambda x: float((belief.gradient(space, x) * x).sum()), rows)
    assert numeric == pytest.approx(gradient, abs=1e-6)
    other = rng.dirichlet(np.ones(3), size=len(space))
    # Convex and homogeneous: the gradient is a cut without a constant.
    assert belief.information(space, other) >= (gradient * other).sum() - 1e-12
    assert belief.information(space, rows) == pytest.approx(float((gradient * rows).sum()))


# ------------------------------------------------------------------------------------------------------- Algorithms 2–5


@given(st.lists(st.floats(-3, 3), min_size=1, max_size=8))
def test_algorithm_4_is_the_nearest_law(v: list[float]) -> None:
    x = np.array(v)
    p = simplex_projection(x)
    assert p.sum() == pytest.approx(1)
    assert (p >= 0).all()
    rng = np.random.default_rng(0)
    for other in rng.dirichlet(np.ones(len(x)), size=20):
        assert ((p - x) ** 2).sum() <= ((other - x) ** 2).sum() + 1e-9


@given(st.integers(0, 10**6), st.floats(0.1, 0.95))
def test_algorithm_5_reaches_its_target(seed: int, part: float) -> None:
    v = np.random.default_rng(seed).dirichlet(np.ones(5))
    w = entropy_projection(v, part * math.log(5))
    assert float(_entropy(w)) == pytest.approx(part * math.log(5), abs=1e-6)


def test_algorithm_5_cannot_leave_ties() -> None:
    w = entropy_projection(np.full(4, 0.25), 0.5)
    assert w == pytest.approx(np.full(4, 0.25))


@given(st.integers(0, 10**6), st.floats(0.0, 0.95))
@settings(max_examples=25)
def test_algorithms_2_and_3_stay_feasible_and_do_not_fall(seed: int, part: float) -> None:
    p, c, q = setting(seed)
    b = part * float(_entropy((p[:, None] * c).reshape(-1)))
    before = record_information(p[:, None] * c, q)
    new = marginal_update(p, c, q, b, 1e-9)
    after = record_information(new[:, None] * c, q)
    assert after >= before - 1e-7
    assert float(_entropy((new[:, None] * c).reshape(-1))) >= b - 1e-9
    rows = conditional_update(new, c, q, max(b, float(_entropy(new)) + 1e-3), 1e-7)
    assert rows.sum(axis=1) == pytest.approx(1)


def test_a_record_seen_from_its_side_and_back() -> None:
    full = Full(np.random.default_rng(0).dirichlet([1, 1], size=12), (2, 3, 2))
    p = np.random.default_rng(1).dirichlet(np.ones(12))
    for i in range(3):
        pi, qi = full.around(p, i)
        assert full.back(pi, i) == pytest.approx(p)
        assert record_information(pi, qi) == pytest.approx(_information(np.einsum("at,aty->ay", pi, qi)))


# ------------------------------------------------------------------------------------------------- Algorithm 1, 6 and 9


@pytest.mark.parametrize("b", [0.0, 1.0, 2.3])
@pytest.mark.parametrize("query", [records.parity(4), records.modular_sum(4, 3), records.count(4)])
def test_alternating_is_never_above_global(query: records.Query, b: float) -> None:
    channel = query.symmetric_channel(0.25)
    local = records.leakage(channel, b, method="alternating", restarts=1, seed=1)
    best = records.leakage(channel, b, tolerance=1e-5)
    assert local.value <= best.bound + 1e-9
    assert local.adversary.entropy >= b - 1e-8
    assert local.value <= local.bound
    assert not local.closed
    assert "local optimum" in local.method


def test_it_under_reports_parity() -> None:
    """The safety-critical erratum, reproduced: at b = 2 the paper's own algorithm misses much of the leakage."""
    channel = records.parity(4).laplace(1.0)
    local = records.leakage(channel, 2.0, method="alternating", restarts=2)
    assert local.value < 0.9 * records.leakage(channel, 2.0).value


def test_the_same_seed_gives_the_same_answer() -> None:
    channel = records.parity(3).symmetric_channel(0.3)
    first, again = (records.leakage(channel, 1.5, method="alternating", restarts=1, seed=4).value for _ in range(2))
    assert first == again


def test_too_large_for_the_full_table() -> None:
    with pytest.raises(InvalidInput, match="method='global'"):
        records.leakage(records.parity(40).symmetric_channel(0.3), 1.0, method="alternating")


def test_algorithms_6_and_9_end() -> None:
    q = records.parity(2)
    primal = records.least_leakage(q, 0.3, 0.5, method="alternating", restarts=1, time_limit=3)
    dual = records.least_distortion(q, 0.1, 0.0, method="alternating", restarts=1, time_limit=3)
    for d in (primal, dual):
        assert not d.closed
        assert "nothing proven" in d.method
        assert d.channel.rows.sum(axis=1) == pytest.approx(1)
    # What Algorithm 6 calls the leakage is that of one adversary; the certified one is not below it.
    assert records.leakage(primal.channel, 0.5, tolerance=1e-4).bound >= primal.leakage - 1e-6


def test_a_channel_with_zeros_gives_a_finite_value_below_the_certified_one() -> None:
    """A belief near 1e-300 once made the product of two probabilities 0, and the leakage infinite."""
    pairs = [(1.0, 0.73), (0.75, 0.46), (0.5, 0.73), (0.75, 1.0)]
    rows = [[u * v, u * (1 - v), (1 - u) * v, (1 - u) * (1 - v)] for u, v in pairs]
    channel = records.Query(lambda x: 2 * x[0] + x[1], [2, 2]).channel(rows, by="dataset")
    best = records.leakage(channel, 0.0)
    assert best.value == pytest.approx(0.245832, abs=1e-6)
    for seed in range(5):
        local = records.leakage(channel, 0.0, method="alternating", restarts=1, seed=seed)
        assert 0 < local.value <= best.bound + 1e-9
