"""The bound that fixes P(a): recognised where it applies, valid everywhere, and tighter than boxes on counts."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leakwise import records
from leakwise.records.adversaries.local import climb, feasible
from leakwise.records.bounds.separable import Separable, _cells, _evaluate, separable_bound, separable_of
from leakwise.records.queries.problem import information


def of(channel: records.Channel) -> Separable:
    found = separable_of(channel.cases[0].problem)
    assert found is not None
    return found


def test_recognised() -> None:
    assert of(records.count(5).symmetric_channel(0.3)).tau == pytest.approx(0.7 - 0.06)
    assert of(records.modular_sum(5, 3).symmetric_channel(0.3)).kappa == pytest.approx(0.15)
    assert separable_of(records.count(5).geometric(1.0).cases[0].problem) is None
    assert separable_of(records.parity(5).symmetric_channel(0.3).cases[0].problem) is None
    assert separable_of(records.modular_sum(3, 3, alphabet=3).symmetric_channel(0.3).cases[0].problem) is None


@given(st.integers(0, 10**6), st.integers(3, 8), st.floats(0.05, 0.6), st.floats(0.1, 0.98))
@settings(max_examples=60)
def test_any_multipliers_bound_every_belief(seed: int, n: int, flip: float, part: float) -> None:
    rng = np.random.default_rng(seed)
    channel = records.count(n).symmetric_channel(flip)
    s, problem = of(channel), channel.cases[0].problem
    b = problem.shifted(part * problem.max_entropy)
    u = feasible(problem, rng.dirichlet(np.full(len(problem.letter), 0.5))[None], b)
    p = float(u[0, problem.letter == 1].sum())
    low, high = p * rng.uniform(0.2, 0.999), 1 - (1 - p) * rng.uniform(0.2, 0.999)
    x = np.array([rng.normal(0, 0.5), rng.normal(0, 0.5), rng.uniform(-3, 2)])
    bound, _ = _evaluate(x, s, _cells(s, low, high), low, high, b)
    assert bound >= information(problem, u)[0] - 1e-10


@given(st.integers(0, 10**6))
@settings(max_examples=20)
def test_its_gradient_is_a_subgradient(seed: int) -> None:
    """Between the one-sided slopes, which a maximum of smooth functions has."""
    rng = np.random.default_rng(seed)
    s = of(records.count(6).symmetric_channel(0.3))
    cells = _cells(s, 0.3, 0.6)
    x = np.array([rng.normal(0.2, 0.1), rng.normal(0.2, 0.1), rng.uniform(-1.5, 0.5)])
    value, gradient = _evaluate(x, s, cells, 0.3, 0.6, 0.7)
    h = 1e-7
    for k in range(3):
        e = np.zeros(3)
        e[k] = h
        right = (_evaluate(x + e, s, cells, 0.3, 0.6, 0.7)[0] - value) / h
        left = (value - _evaluate(x - e, s, cells, 0.3, 0.6, 0.7)[0]) / h
        assert min(left, right) - 1e-4 <= gradient[k] <= max(left, right) + 1e-4


@pytest.mark.parametrize("part", [0.97, 0.99])
def test_counts_near_the_largest_entropy(part: float) -> None:
    """Boxes of posteriors alone leave a gap of more than 0.1 here."""
    q = records.count(20)
    channel = q.symmetric_channel(0.3)
    problem = channel.cases[0].problem
    b = problem.shifted(part * q.max_entropy)
    starts = np.random.default_rng(0).dirichlet(np.full(len(problem.letter), 0.5), size=60)
    value = float(climb(problem, starts, b)[1].max())
    bound = separable_bound(of(channel), b, value, 5e-3, time.monotonic() + 30)
    assert value <= bound <= value + 6e-3


def test_it_bounds_what_boxes_prove() -> None:
    q = records.modular_sum(6, 3)
    c = q.symmetric_channel(0.3)
    b = 0.97 * q.max_entropy
    r = records.leakage(c, b, tolerance=1e-5)
    bound = separable_bound(of(c), c.cases[0].problem.shifted(b), r.value, 1e-2, time.monotonic() + 60)
    assert bound >= r.value
    assert bound == pytest.approx(r.value, abs=1.2e-2)
