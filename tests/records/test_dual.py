"""The bound of a box: weak duality for any multipliers, and derivatives against differences."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leakwise.records.dual import Boxes, _derivatives, _Dual, branched_letters, relax
from leakwise.records.local import climb, feasible, vertex_bound
from leakwise.records.problem import Problem, entropy_of, information, joint_law


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


@given(st.integers(0, 10**6), st.integers(2, 3))
@settings(max_examples=20)
def test_derivatives(seed: int, letters: int) -> None:
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, letters)
    centre = rng.dirichlet(np.ones(letters), size=problem.rows.shape[1])
    boxes = random_boxes(rng, problem, centre, 1)
    boxes.scale[:] = rng.uniform(0.2, 2.0)
    dual = _Dual(problem, boxes, 0.3)
    x = np.concatenate([boxes.scale, boxes.push.reshape(-1)])

    def g(v: np.ndarray) -> float:
        return float(dual.value(v[:1], v[1:].reshape(boxes.push.shape))[0][0])

    def gradient(v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        mu = v[1:].reshape(boxes.push.shape)
        _, w, r, z, p = dual.value(v[:1], mu)
        first, second = _derivatives(problem, dual, v[:1], mu, w, r, z, p)
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
