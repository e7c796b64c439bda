"""The bound that fixes P(a): recognised where it applies, valid everywhere, and tighter than boxes on counts."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leakwise import records
from leakwise.records.adversaries.local import climb, feasible
from leakwise.records.bounds.separable import Separable, _Node, separable_bound, separable_of
from leakwise.records.queries.problem import information, joint_law


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
    x = np.array([rng.normal(0, 0.5), rng.normal(0, 0.5), math.exp(rng.uniform(-3, 2))])
    truth = information(problem, u)[0]
    joint = joint_law(problem, u)[0]
    posterior = joint[1] / joint.sum(axis=0)
    around = np.array(
        [posterior * rng.uniform(0.3, 1, size=n + 1), 1 - (1 - posterior) * rng.uniform(0.3, 1, size=n + 1)]
    )
    for sides in (None, around):
        node = _Node.of(s, b, low, high, 320, sides)
        assert node.bound(x) >= truth
        found, _ = node.minimised(x)
        assert truth <= found <= node.bound(x)


@given(st.integers(0, 10**6))
@settings(max_examples=20, deadline=None)
def test_derivatives_of_the_smooth_bound(seed: int) -> None:
    rng = np.random.default_rng(seed)
    node = _Node.of(of(records.count(6).symmetric_channel(0.3)), 0.7, 0.3, 0.6, 320)
    x = np.array([rng.normal(0.2, 0.1), rng.normal(0.2, 0.1), math.exp(rng.uniform(-1.5, 0.5))])
    value, first, second = node.smooth(x, 1e-2)
    assert node.bound(x) - 1e-12 <= value <= node.bound(x) + 7 * 1e-2 * math.log(320)
    h = 1e-5
    sides = [(node.smooth(x + e, 1e-2), node.smooth(x - e, 1e-2)) for e in np.eye(3) * h]
    assert first == pytest.approx([(right[0] - left[0]) / (2 * h) for right, left in sides], abs=1e-6)
    inside = np.array([(right[1] - left[1]) / (2 * h) for right, left in sides])
    # Where the best P is near an end of the interval, the differences may straddle the kink.
    if 1e-3 < node.best(x, 0.0, 0.0)[1] - node.low < node.high - node.low - 1e-3:
        assert second == pytest.approx(inside, rel=1e-2, abs=1e-2)


def test_splitting_a_posterior_covers_it_and_helps() -> None:
    """The gap that multipliers leave, with two cells equally good, is closed by its halves."""
    q = records.count(20)
    problem = q.symmetric_channel(0.3).cases[0].problem
    s, b = of(q.symmetric_channel(0.3)), problem.shifted(0.97 * q.max_entropy)
    starts = np.random.default_rng(0).dirichlet(np.full(len(problem.letter), 0.5), size=60)
    u, values = climb(problem, starts, b)
    value = float(values.max())
    p = float(u[values.argmax(), problem.letter == 1].sum())
    node = _Node.of(s, b, min(p, 1 - p) - 1e-3, min(p, 1 - p) + 1e-3, 320)
    whole, x = node.minimised(np.array([0.35, 0.34, 0.46]))
    assert whole > value + 1e-3
    cut = node.cut(x, whole - value)
    assert cut is not None
    halves = node.halves(*cut)
    y = cut[0]
    assert (halves[0].allowed | halves[1].allowed)[y].all()
    assert (halves[0].allowed[y] & halves[1].allowed[y]).sum() <= 1
    bounds = [half.minimised(x)[0] for half in halves]
    assert value <= max(bounds) < whole - 2e-4


@pytest.mark.parametrize("part", [0.9, 0.97, 0.99])
def test_counts_near_the_largest_entropy(part: float) -> None:
    """Splitting P alone left gaps of 0.0014 and 0.0023 here, and boxes of posteriors alone more than 0.1."""
    q = records.count(20)
    r = records.leakage(q.symmetric_channel(0.3), part * q.max_entropy, tolerance=1e-4, time_limit=120)
    assert r.closed
    assert r.gap <= 1e-4
    assert r.boxes <= 1


def test_a_mirror_image_needs_no_work_of_its_own() -> None:
    """Both halves of P are searched where the values differ, and only then."""
    s = of(records.count(6).symmetric_channel(0.3))
    assert s.mirrored
    sizes = s.sizes.copy()
    sizes[1, 2] += 0.5
    assert not Separable(s.kappa, s.tau, sizes).mirrored
    b = 0.8 * math.log(64) - math.log(10)
    one = separable_bound(s, b, 0.05, 1e-3, time.monotonic() + 20)
    slightly = s.sizes.copy()
    slightly[1, 2] += 1e-9
    both = separable_bound(Separable(s.kappa, s.tau, slightly), b, 0.05, 1e-3, time.monotonic() + 40)
    assert one == pytest.approx(both, abs=2e-3)


def test_it_bounds_what_boxes_prove() -> None:
    q = records.modular_sum(6, 3)
    c = q.symmetric_channel(0.3)
    b = 0.97 * q.max_entropy
    r = records.leakage(c, b, tolerance=1e-5)
    bound = separable_bound(of(c), c.cases[0].problem.shifted(b), r.value, 1e-2, time.monotonic() + 60)
    assert bound >= r.value
    assert bound == pytest.approx(r.value, abs=1.2e-2)


def test_small_probabilities_that_differ_are_not_a_symmetric_channel() -> None:
    """They agree up to 1e-15, but one is three times the other."""
    rows = np.full((4, 4), 1e-16) + np.eye(4)
    assert separable_of(records.count(3).channel(rows).cases[0].problem) is not None
    rows[0, 2] = 3e-16
    assert separable_of(records.count(3).channel(rows).cases[0].problem) is None
