"""Merged outcomes: tangents that the entropy pays for bound every belief, and boxes for few outcomes close the gap."""

from __future__ import annotations

import itertools
import math
import time
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leakwise import records
from leakwise.records.adversaries.local import climb, feasible, vertex_bound
from leakwise.records.bounds.branch import solve
from leakwise.records.bounds.coarse import View, _fewest, views
from leakwise.records.bounds.dual import Boxes, branched_letters, relax
from leakwise.records.bounds.tangent import contraction, worth_of
from leakwise.records.queries.problem import Problem, information, joint_law


def random_problem(rng: np.random.Generator, letters: int, outcomes: int) -> Problem:
    letter = np.repeat(np.arange(letters), rng.integers(2, 5, size=letters))
    rows = rng.dirichlet(np.full(outcomes, 1.0), size=len(letter))
    return Problem(rows, letter, tuple(int(m) for m in rng.integers(1, 50, size=len(letter))))


def random_groups(rng: np.random.Generator, outcomes: int) -> list[np.ndarray]:
    order = rng.permutation(outcomes)
    ends = np.sort(rng.choice(np.arange(1, outcomes), size=int(rng.integers(1, outcomes - 1)), replace=False))
    return np.split(order, ends)


@given(st.integers(0, 10**6), st.integers(2, 3), st.integers(3, 6), st.floats(0.05, 0.95), st.floats(0.0, 1.0))
@settings(max_examples=80, deadline=None)
def test_any_groups_and_tangents_bound_every_belief_in_the_box(
    seed: int, letters: int, outcomes: int, fraction: float, part: float
) -> None:
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, letters, outcomes)
    view = View.merged(problem, random_groups(rng, outcomes))
    b = fraction * problem.room
    u = feasible(problem, rng.dirichlet(np.full(len(problem.letter), 0.4))[None], b)
    truth = information(problem, u)[0]
    joint = joint_law(view.coarse, u)[0]
    posterior = (joint / joint.sum(axis=0)).T
    shape = (6, *posterior.shape)
    low = np.maximum(posterior - rng.uniform(0, 0.3, size=shape), 0.0)
    high = np.minimum(posterior + rng.uniform(0, 0.3, size=shape), 1.0)
    low[0] = high[0] = posterior  # no chord has an error here: the tangents are alone
    if letters == 2:
        low[:, :, 0], high[:, :, 0] = 1 - high[:, :, 1], 1 - low[:, :, 1]
    push = rng.exponential(0.3, size=(6, 2, posterior.shape[0], len(branched_letters(problem))))
    boxes = Boxes(low, high, view.within + 10 ** rng.uniform(-3, 1, size=6), push)
    others = rng.dirichlet(np.full(len(problem.letter), 0.4), size=6)
    others[1] = u[0]
    mixed = view.mixture(others, boxes.scale, part)
    assert (relax(view.coarse, boxes, b, math.inf, math.inf, mixed).bound >= truth).all()
    assert (relax(view.coarse, boxes, b, -math.inf, 1e-9, mixed).bound >= truth).all()


def test_a_tenth_of_the_contraction_would_prove_too_much() -> None:
    """What is told within a group has to be paid for: with less the bound is below a belief that exists."""
    rows = np.array([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5]])[:, [0, 2, 1]]
    problem = Problem(np.tile(rows, (2, 1)), np.array([0, 0, 1, 1]), (1, 1, 1, 1))
    view = View.merged(problem, [np.array([0, 1]), np.array([2])])
    knowing = np.array([0.5, 0.0, 0.0, 0.5])
    truth = information(problem, knowing[None])[0]
    push = np.zeros((1, 2, 2, 1))
    boxes = Boxes(np.full((1, 2, 2), 0.5), np.full((1, 2, 2), 0.5), np.ones(1), push)
    assert truth == pytest.approx(0.5 * math.log(2))
    for part, sound in ((1.0, True), (0.1, False)):
        one = replace(view, within=part * view.within)
        mixed = one.mixture(np.full((1, 4), 0.25), np.ones(1), 0.0)
        bound = relax(view.coarse, boxes, math.log(2), -math.inf, 1e-9, mixed).bound[0]
        assert bool(bound >= truth) is sound


@given(st.integers(0, 10**6), st.integers(2, 3))
@settings(max_examples=30, deadline=None)
def test_no_belief_tells_more_within_a_group_than_its_contraction(seed: int, letters: int) -> None:
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, letters, 5)
    group = rng.permutation(5)[: int(rng.integers(2, 5))]
    eta = contraction(problem, group)
    for block in problem.blocks:
        rows = problem.rows[block][:, group]
        rows = rows / rows.sum(axis=1, keepdims=True)
        p, q = rng.dirichlet(np.full(len(rows), 0.3), size=(2, 400)) + 1e-12
        before = (p * np.log(p / q)).sum(axis=1) - p.sum(axis=1) + q.sum(axis=1)
        after = ((p @ rows) * np.log((p @ rows) / (q @ rows))).sum(axis=1) - p.sum(axis=1) + q.sum(axis=1)
        assert (after <= eta * before + 1e-12).all()


def test_the_fewest_groups() -> None:
    """Against all ways to cut a row of outcomes."""
    rng = np.random.default_rng(3)
    for _ in range(40):
        n, limit = 6, 0.55
        costs = np.full((n + 1, n + 1), np.inf)
        for i in range(n):
            costs[i, i + 1] = 0.0
            for j in range(i + 2, n + 1):
                costs[i, j] = costs[i, j - 1] + rng.uniform(0, 0.4)
        every = []
        for inner in range(1 << (n - 1)):
            ends = [0, *(k for k in range(1, n) if inner >> (k - 1) & 1), n]
            every.append((len(ends), max(costs[i, j] for i, j in itertools.pairwise(ends))))
        found = _fewest(costs, limit)
        worst = max(costs[i, j] for i, j in itertools.pairwise(found))
        assert (len(found), worst) == min(pair for pair in every if pair[1] <= limit)


def test_the_worth_of_entropy_is_the_slope_of_the_leakage() -> None:
    problem = records.count(20).geometric(0.3).cases[0].problem
    around = [problem.shifted(part * 20 * math.log(2)) for part in (0.969, 0.97, 0.971)]
    beliefs, values = [], []
    for b in around:
        starts = np.concatenate([0.9 * vertex_bound(problem)[1][:8] + 0.1 * problem.uniform])
        u, value = climb(problem, starts, b, steps=400)
        beliefs.append(u[value.argmax()])
        values.append(value.max())
    assert worth_of(problem, beliefs[1]) == pytest.approx((values[0] - values[2]) / (around[2] - around[0]), rel=1e-3)


def test_neighbours_are_merged_in_whatever_order_the_outcomes_are_listed() -> None:
    problem = records.count(12).geometric(0.3).cases[0].problem
    mixed = np.random.default_rng(0).permutation(problem.rows.shape[1])
    found = views(problem, 0.3), views(replace(problem, rows=problem.rows[:, mixed]), 0.3)
    assert [view.coarse.rows.shape for view in found[0]] == [view.coarse.rows.shape for view in found[1]]
    assert found[0][-1].coarse.rows.shape[1] <= 5
    for view in found[0]:
        assert view.coarse.rows.sum(axis=1) == pytest.approx(1.0)
        assert view.within <= 0.15


@pytest.mark.parametrize(("epsilon", "part"), [(0.3, 0.9), (0.3, 0.97), (0.3, 0.99), (0.3, 0.995), (1.0, 0.99)])
def test_counts_with_geometric_noise_close(epsilon: float, part: float) -> None:
    """Boxes for all 21 outcomes left gaps of 0.004 to 0.017 after ten seconds."""
    q = records.count(20)
    r = records.leakage(q.geometric(epsilon), part * q.max_entropy, tolerance=1e-4, time_limit=120)
    assert r.closed
    assert 0 <= r.gap <= 1e-4


@given(st.integers(0, 10**6), st.floats(0.5, 0.99))
@settings(max_examples=8, deadline=None)
def test_with_and_without_merging_the_same_is_enclosed(seed: int, part: float) -> None:
    """On small counts both searches end: neither bound is below what the other reaches, or what many beliefs do."""
    rng = np.random.default_rng(seed)
    q = records.count(int(rng.integers(3, 6)))
    problem = q.geometric(float(rng.uniform(0.2, 1.0))).cases[0].problem
    b = problem.shifted(part * q.max_entropy)
    reached = climb(problem, rng.dirichlet(np.full(len(problem.letter), 0.4), size=200), b)[1].max()
    merging = solve(problem, b, tolerance=1e-4, deadline=time.monotonic() + 20)
    alone = solve(problem, b, tolerance=1e-4, deadline=time.monotonic() + 20, keep=True)
    assert merging.bound >= max(reached, alone.value, merging.value)
    assert alone.bound >= merging.value
    if merging.closed and alone.closed:
        assert merging.bound == pytest.approx(alone.bound, abs=2.1e-4)
