"""The best mechanism against a list of adversaries: close to its bound, and the bound below every other mechanism."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leakwise import records
from leakwise.records.adversaries.beliefs import Belief
from leakwise.records.designs.master import Master


def told(weights: np.ndarray, q: np.ndarray) -> float:
    joint = weights @ q
    ratio = joint / np.maximum(np.outer(joint.sum(axis=1), joint.sum(axis=0)), 1e-300)
    return float((joint[joint > 0] * np.log(ratio[joint > 0])).sum())


@given(st.integers(0, 10**6), st.integers(2, 4), st.integers(2, 4), st.floats(0.0, 0.9), st.booleans())
@settings(max_examples=40, deadline=None)
def test_no_mechanism_is_better_than_the_bound(seed: int, states: int, outputs: int, part: float, leaks: bool) -> None:
    rng = np.random.default_rng(seed)
    costs = np.abs(np.subtract.outer(np.arange(states), np.arange(outputs))) * rng.dirichlet(np.ones(states))[:, None]
    least, largest = float(costs.min(axis=1).sum()), float(costs.sum(axis=0).min())
    level = rng.uniform(0.01, 0.3) if leaks else least + part * (largest - least)
    master = Master(costs, leakage=level) if leaks else Master(costs, distortion=level)
    adversaries = [rng.dirichlet(np.full(2 * states, 0.3)).reshape(2, states) for _ in range(5)]
    for weights in adversaries:
        master.add(weights)
    q, bound = master.solve(1e-7, math.inf)
    assert (q >= 0).all()
    assert q.sum(axis=1) == pytest.approx(1.0)
    worst, cost = max(told(w, q) for w in adversaries), float((costs * q).sum())
    if leaks:
        assert worst <= level + 1e-9
        assert bound <= cost <= bound + 1e-5
    else:
        assert cost <= level + 1e-12
        assert bound <= worst <= bound + 1e-5
    # Any multipliers and any gradients give a bound, and no mechanism goes below it.
    weights = np.array(adversaries)
    others = rng.dirichlet(np.full(outputs, 0.5), size=(40, states))
    truth = np.eye(outputs)[costs.argmin(axis=1)]
    constant = np.eye(outputs)[np.full(states, costs.sum(axis=0).argmin())]
    for other in others:
        master.q = 0.5 * q + 0.5 * other
        lower = max(bound, master._bound(weights, rng.exponential(1.0, size=len(adversaries) + 1)))
        leaked, spent = max(told(w, other) for w in adversaries), float((costs * other).sum())
        if leaks:
            share = min(1.0, level / leaked)
            allowed = share * other + (1 - share) * constant
            assert lower <= float((costs * allowed).sum()) + 1e-12
        else:
            share = 1.0 if spent <= level else (level - least) / (spent - least)
            assert lower <= max(told(w, share * other + (1 - share) * truth) for w in adversaries) + 1e-12


def test_it_stops_in_time_with_a_bound_that_holds() -> None:
    q = records.count(3)
    space = q.orbit_space()
    master = Master(space.mass[:, None] * np.abs(np.subtract.outer(np.arange(4), np.arange(4))), distortion=0.3)
    master.add(Belief(0, np.full((2, 3), 1 / 6)).state_weights(space))
    late = master.solve(1e-9, time.monotonic())[1]
    assert 0 <= late <= master.solve(1e-9, math.inf)[1] + 1e-12


@pytest.mark.parametrize(("function", "level"), [(records.least_leakage, 0.5), (records.least_distortion, 0.2)])
def test_counts_of_four_bits_close(function: object, level: float) -> None:
    """Linear cuts alone needed 539 of them."""
    r = function(records.count(4), level, 1.6)  # type: ignore[operator]
    assert r.closed
    assert r.gap <= 1e-6
