"""The bound from one centre: above whatever is reached, for zeros and tiny probabilities too, and close to it."""

from __future__ import annotations

import time

import numpy as np
import pytest

import leakwise as lw
from leakwise import records
from leakwise.records.adversaries.local import climb, starting_beliefs, vertex_bound
from leakwise.records.bounds.centre import centre_bound
from leakwise.records.bounds.coarse import views
from leakwise.records.bounds.laws import LawSearch
from leakwise.records.queries.problem import Problem, information
from leakwise.types import Floats


def some_problem(seed: int) -> Problem:
    """Three values, a few classes each; some outcomes impossible, some next to impossible."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 5, size=3)
    rows = rng.dirichlet(np.full(int(rng.integers(2, 7)), 0.7), size=int(sizes.sum()))
    if seed % 3 == 1:
        rows[rng.random(rows.shape) < 0.3] = 0.0
        rows[:, 0] += 1e-3
    if seed % 3 == 2:
        rows[rng.random(rows.shape) < 0.3] *= 1e-200
        rows[:, 0] += 1e-3
    rows /= rows.sum(axis=1, keepdims=True)
    largest = 10 ** int(rng.integers(1, 60))
    many = [max(1, round(largest * float(x))) for x in rng.random(len(rows)) ** 4]
    if seed % 5 == 4:  # all but one value are next to impossible for who knows nothing
        many[: sizes[0]] = [10**400 * m for m in many[: sizes[0]]]
    return Problem(rows, np.repeat(np.arange(3), sizes), tuple(many))


def best_known(problem: Problem, b: float, seed: int) -> tuple[float, Floats]:
    _, vertices = vertex_bound(problem)
    u, value = climb(problem, starting_beliefs(problem, vertices, 100, seed), b, steps=200)
    best = int(value.argmax())
    return float(value[best]), u[best]


@pytest.mark.parametrize("seed", range(18))
@pytest.mark.parametrize("part", [0.2, 0.7])
def test_no_belief_reaches_more(seed: int, part: float) -> None:
    """Also where it starts from a bad belief, and is told a value that is far too small."""
    problem = some_problem(seed)
    b = part * problem.room - (1 - part) * 2.0
    value, belief = best_known(problem, b, seed)
    assert centre_bound(problem, b, belief, value, 1e-3, time.monotonic() + 0.3)[0] >= value
    poor = float(information(problem, problem.uniform[None])[0])
    assert centre_bound(problem, b, problem.uniform, poor, 1e-3, time.monotonic() + 0.3)[0] >= value


@pytest.mark.parametrize("seed", range(9))
def test_no_law_in_a_box_is_worth_more_than_its_bound(seed: int) -> None:
    """Every belief lies in a box that is still open and bounds it, or is below what has been closed."""
    problem = some_problem(seed)
    rng = np.random.default_rng(seed)
    centre = rng.dirichlet(np.ones(problem.rows.shape[1]))
    for lam in (0.01, 0.3, 2.0):
        for view in views(problem, lam):
            search = LawSearch(problem, view, centre, lam, np.full(3, -1e3), 1e-3)
            search.found = [v[:0] for v in search.found]  # as if nothing better had been seen
            for _ in range(4):
                search.heap, opened = [], search.heap
                for _, _, k, cell, belief in opened:
                    search.enter(k, search.values[k].split(cell, belief))
            for k, value in enumerate(search.values):
                v = np.concatenate([np.eye(len(value.rows)), rng.dirichlet(np.full(len(value.rows), 0.3), size=300)])
                reached, law = value.reached(v), v @ value.groups
                left = [(cell, float(cell.bound[0])) for _, _, j, cell, _ in search.heap if j == k]
                covered = np.full(len(v), -np.inf)
                for cell, bound in left:
                    inside = ((law >= cell.low - 1e-15) & (law <= cell.high + 1e-15)).all(axis=1)
                    assert (reached[inside] <= bound + 1e-13).all()
                    covered[inside] = np.maximum(covered[inside], bound)
                assert (np.maximum(covered, search.enough[k]) >= reached - 1e-13).all()
                assert (search.bounds[k] >= reached).all()


@pytest.mark.parametrize(("part", "tolerance"), [(0.5, 2e-3), (0.8, 1e-3), (0.95, 1e-4)])
def test_sums_of_three_values_close(part: float, tolerance: float) -> None:
    """Gaps of 0.008, 0.16 and 0.02 were left after ten seconds by boxes of posteriors."""
    channel = records.weighted_sum([1] * 4, alphabet=3).geometric(epsilon=1.0)
    r = lw.records.leakage(channel, entropy=part * channel.query.max_entropy, tolerance=tolerance, time_limit=20)
    assert r.closed
    assert r.gap <= tolerance
    value, _ = best_known(channel.cases[0].problem, channel.cases[0].problem.shifted(r.entropy), 1)
    assert value <= r.bound
    assert r.value >= value - 1e-6


def test_modular_sums_of_three_values_close() -> None:
    channel = records.modular_sum(10, 3, alphabet=3).symmetric_channel(flip=0.3)
    r = lw.records.leakage(channel, entropy=0.95 * channel.query.max_entropy, tolerance=1e-5, time_limit=20)
    assert r.closed
