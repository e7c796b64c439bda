"""The bound of a box: weak duality for any multipliers, and derivatives against differences."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leakwise import records
from leakwise.records.adversaries.local import climb, feasible, vertex_bound
from leakwise.records.bounds.coarse import View
from leakwise.records.bounds.dual import Boxes, Mixture, _derivatives, _Dual, branched_letters, relax
from leakwise.records.bounds.tangent import contraction
from leakwise.records.queries.problem import Problem, entropy_of, information, joint_law


def random_problem(rng: np.random.Generator, letters: int) -> Problem:
    classes = rng.integers(1, 4, size=letters)
    letter = np.repeat(np.arange(letters), classes)
    rows = rng.dirichlet(np.full(int(rng.integers(2, 4)), 0.7), size=len(letter))
    return Problem(rows, letter, tuple(int(m) for m in rng.integers(1, 50, size=len(letter))))


def random_boxes(rng: np.random.Generator, problem: Problem, centre: np.ndarray, count: int) -> Boxes:
    """Boxes around a posterior (M×A)."""
    outputs, letters = centre.shape
    low = np.maximum(centre - rng.uniform(0, 0.3, size=(count, outputs, letters)), 0.0)
    high = np.minimum(centre + rng.uniform(0, 0.3, size=(count, outputs, letters)), 1.0)
    if letters == 2:
        low[:, :, 0], high[:, :, 0] = 1 - high[:, :, 1], 1 - low[:, :, 1]
    j = len(branched_letters(problem))
    return Boxes(low, high, 10 ** rng.uniform(-3, 2, size=count), rng.exponential(0.3, size=(count, 2, outputs, j)))


@given(st.integers(0, 10**6), st.integers(2, 3), st.floats(0.05, 0.95))
@settings(max_examples=80)
def test_any_multipliers_bound_every_belief_in_the_box(seed: int, letters: int, fraction: float) -> None:
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, letters)
    b = fraction * problem.room
    u = feasible(problem, rng.dirichlet(np.ones(len(problem.letter)))[None], b)
    joint = joint_law(problem, u)[0]
    posterior = (joint / joint.sum(axis=0)).T
    boxes = random_boxes(rng, problem, posterior, 5)
    truth = information(problem, u)[0]
    dual = _Dual(problem, boxes, b)
    assert (dual.value(boxes.scale, boxes.push)[0] >= truth - 1e-10 * (1 + boxes.scale)).all()
    assert (dual.at_zero(boxes.push) >= truth - 1e-10).all()
    relaxed = relax(problem, boxes, b, -math.inf, 1e-9)
    assert (relaxed.bound >= truth).all()
    assert (relaxed.bound <= dual.value(boxes.scale, boxes.push)[0] + 1e-9 * (1 + boxes.scale)).all()


@given(st.integers(0, 10**6), st.integers(2, 3), st.floats(0.05, 0.95))
@settings(max_examples=60, deadline=None)
def test_any_share_of_any_tangent_bounds_every_belief_in_the_box(seed: int, letters: int, fraction: float) -> None:
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, letters)
    b = fraction * problem.room
    view = View.whole(problem)
    u = feasible(problem, rng.dirichlet(np.full(len(problem.letter), 0.5))[None], b)
    joint = joint_law(problem, u)[0]
    boxes = random_boxes(rng, problem, (joint / joint.sum(axis=0)).T, 6)
    truth = information(problem, u)[0]
    others = rng.dirichlet(np.full(len(problem.letter), 0.5), size=6)
    others[0] = u[0]
    mixed = view.mixture(others, rng.uniform(0, 1.2 * view.among, size=6), 1.0)
    boxes.scale += mixed.paid
    assert (relax(problem, boxes, b, math.inf, math.inf, mixed).bound >= truth).all()
    assert (relax(problem, boxes, b, -math.inf, 1e-9, mixed).bound >= truth).all()
    assert (_Dual(problem, boxes, b, mixed).at_zero(boxes.push) >= truth - 1e-10).all()


def test_a_tangent_lowers_the_bound_of_a_box_that_its_chord_leaves_too_high() -> None:
    channel = records.count(20).geometric(1.0)
    problem = channel.cases[0].problem
    b = problem.shifted(0.97 * channel.query.max_entropy)
    u, value = climb(problem, problem.uniform[None] * np.linspace(0.5, 1.5, len(problem.letter)), b)
    joint = joint_law(problem, u)
    posterior = (joint / joint.sum(axis=1, keepdims=True)).transpose(0, 2, 1)
    push = np.zeros((1, 2, problem.rows.shape[1], 1))
    boxes = Boxes(np.maximum(posterior - 0.15, 0.0), np.minimum(posterior + 0.15, 1.0), np.ones(1), push)
    chord = relax(problem, boxes, b, -math.inf, 1e-9)
    mixed = View.whole(problem).mixture(chord.belief, chord.boxes.scale, 0.3)
    both = relax(problem, chord.boxes, b, math.inf, math.inf, mixed)
    assert value[0] <= both.bound[0] < chord.bound[0] - 1e-3


def test_a_tangent_with_half_of_the_contraction_would_prove_too_much() -> None:
    problem = records.parity(2).symmetric_channel(0.1).cases[0].problem
    knowing = np.array([0.5, 0.0, 0.5, 0.0]) if problem.rows[0, 0] != problem.rows[2, 0] else np.array([0.5, 0, 0, 0.5])
    eta = contraction(problem)
    boxes = Boxes(np.zeros((1, 2, 2)), np.ones((1, 2, 2)), np.full(1, eta), np.zeros((1, 2, 2, 1)))
    truth = information(problem, knowing[None])[0]
    for part, sound in ((1.0, True), (0.5, False)):
        whole = replace(View.whole(problem), among=part * eta)
        mixed = whole.mixture(np.full((1, 4), 0.25), np.full(1, eta), 1.0)
        bound = relax(problem, boxes, np.log(2), -math.inf, 1e-9, mixed).bound[0]
        assert bool(bound >= truth) is sound


@pytest.mark.parametrize("mixes", [False, True])
@given(st.integers(0, 10**6), st.integers(2, 3))
@settings(max_examples=20, deadline=None)
def test_derivatives(mixes: bool, seed: int, letters: int) -> None:
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, letters)
    centre = rng.dirichlet(np.ones(letters), size=problem.rows.shape[1])
    boxes = random_boxes(rng, problem, centre, 1)
    boxes.scale[:] = rng.uniform(0.2, 2.0)
    others = rng.dirichlet(np.full(len(problem.letter), 2.0))[None]
    mixed: Mixture | None = View.whole(problem).mixture(others, np.full(1, 0.4), 1.0) if mixes else None
    dual = _Dual(problem, boxes, 0.3, mixed)
    x = np.concatenate([boxes.scale, boxes.push.reshape(-1)])

    def g(v: np.ndarray) -> float:
        return float(dual.value(v[:1], v[1:].reshape(boxes.push.shape))[0][0])

    def gradient(v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        mu = v[1:].reshape(boxes.push.shape)
        _, w, r, z, p = dual.value(v[:1], mu)
        first, second = _derivatives(problem, dual, v[:1], w, r, z, p)
        return first[0], second[0]

    first, second = gradient(x)
    h = 1e-5
    steps = np.eye(len(x)) * h
    assert first == pytest.approx([(g(x + e) - g(x - e)) / (2 * h) for e in steps], abs=1e-7)
    columns = np.array([(gradient(x + e)[0] - gradient(x - e)[0]) / (2 * h) for e in steps])
    assert second == pytest.approx(columns, abs=1e-5)


@given(st.integers(0, 10**6), st.integers(2, 3), st.floats(0.0, 0.99))
@settings(max_examples=40)
def test_climbing_never_falls_and_stays_feasible(seed: int, letters: int, fraction: float) -> None:
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, letters)
    b = fraction * problem.room
    start = rng.dirichlet(np.ones(len(problem.letter)), size=3)
    before = information(problem, feasible(problem, start, b))
    u, value = climb(problem, start, b)
    assert (value >= before - 1e-13).all()
    assert (entropy_of(u, problem.log_sizes) >= b).all()
    assert value.max() <= vertex_bound(problem)[0]
    assert information(problem, u) == pytest.approx(value, abs=1e-14)
