"""Theorems 1 to 3 of the article, from the definition of the envelope and without the library's own program."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import linprog

import leakwise as lw

SEEDS = range(12)


def drawn(seed: int) -> tuple[lw.Mechanism, lw.Prior, np.ndarray, np.ndarray]:
    """Return a random mechanism and prior as the library takes them, with the lifts and the law of the outcome."""
    rng = np.random.default_rng(seed)
    letters, outcomes = int(rng.integers(2, 5)), int(rng.integers(2, 6))
    rows = rng.dirichlet(np.full(outcomes, 0.6), size=letters)
    rows[rng.random(rows.shape) < 0.15] = 0
    rows[:, 0] += 1e-3
    mechanism = lw.Mechanism(rows / rows.sum(1, keepdims=True))
    prior = lw.Prior(rng.integers(1, 20, size=letters).tolist())
    law = prior.probabilities @ mechanism.matrix
    return mechanism, prior, mechanism.matrix / law, law


def program(lifts: np.ndarray, law: np.ndarray, t: float, letters: np.ndarray | None = None) -> float:
    """Return (3) as it is written, over some of the letters, by a solver of its own."""
    used = np.arange(len(lifts)) if letters is None else np.flatnonzero(letters)
    if not len(used):
        return 0.0
    size, outcomes = len(used), len(law)
    lift_rows = np.zeros((size, size * outcomes))
    for k, x in enumerate(used):
        lift_rows[k, k * outcomes : (k + 1) * outcomes] = t - lifts[x]
    shares = np.tile(np.eye(outcomes), size)
    solved = linprog(
        -np.ones(size * outcomes),
        np.vstack([shares, lift_rows]),
        np.concatenate([law, np.zeros(size)]),
        bounds=(0, None),
    )
    assert solved.status == 0
    return float(-solved.fun)


def exceeded(kernel: np.ndarray, lifts: np.ndarray, law: np.ndarray, t: float) -> float:
    """Return the probability that a post-processing has an outcome of lift t or more."""
    joint = law[:, None] * kernel
    mass = joint.sum(0)
    seen = mass > 0
    largest = ((lifts @ joint)[:, seen] / mass[seen]).max(0)
    return float(mass[seen][largest >= t].sum())


@pytest.mark.parametrize("seed", SEEDS)
def test_theorem_1_no_post_processing_beats_the_program(seed: int) -> None:
    mechanism, prior, lifts, law = drawn(seed)
    rng = np.random.default_rng(seed + 100)
    for t in (1.1, 1.5, 2.5):
        most = program(lifts, law, t)
        for _ in range(30):
            outcomes = int(rng.integers(2, 8))
            blurred = rng.dirichlet(np.full(outcomes, 0.3), size=len(law))
            merged = np.eye(outcomes)[rng.integers(0, outcomes, size=len(law))]
            assert max(exceeded(blurred, lifts, law, t), exceeded(merged, lifts, law, t)) <= most + 1e-9
    for delta in (0.05, 0.3, 0.8):
        envelope = lw.envelope(mechanism, prior, delta)
        t = math.exp(envelope.epsilon)
        assert program(lifts, law, t * (1 - 1e-6)) >= delta - 1e-7
        assert program(lifts, law, t * (1 + 1e-6)) <= delta + 1e-5 or t >= lifts.max() * (1 - 1e-9)
        attained = lw.measures.pml_quantiles(mechanism.then(envelope.post_processing), prior, delta)
        assert len(envelope.post_processing.outputs) <= len(lifts) + 1
        assert attained.upper == pytest.approx(envelope.epsilon, abs=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_theorem_2_every_dual_vector_is_an_upper_bound(seed: int) -> None:
    _, _, lifts, law = drawn(seed)
    rng = np.random.default_rng(seed + 200)
    for t in (1.05, 1.6, 3.0):
        value = program(lifts, law, t)
        vectors = np.vstack([rng.exponential(2, size=(200, len(lifts))), np.full((1, len(lifts)), 1 / t)])
        worth = 1 + vectors[:, :, None] * (lifts - t)
        bounds = np.maximum(worth.max(1), 0) @ law
        assert bounds.min() >= value - 1e-9
        assert bounds[-1] == pytest.approx((lifts.max(0) @ law) / t)  # Theorem 3 of [EN]
        size = len(lifts)  # the least bound, as a program in u and v, is the value
        rows = [
            np.concatenate([-np.eye(len(law))[y], np.eye(size)[x] * (lifts[x, y] - t)])
            for x, y in np.ndindex(lifts.shape)
        ]
        least = linprog(np.concatenate([law, np.zeros(size)]), rows, -np.ones(lifts.size), bounds=(0, None))
        best = np.maximum((1 + least.x[len(law) :, None] * (lifts - t)).max(0), 0) @ law
        assert best == pytest.approx(value, abs=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_corollary_1_letters_that_stay_below_are_left_out(seed: int) -> None:
    mechanism, prior, lifts, law = drawn(seed)
    jumps = np.sort(lifts.max(1))
    for t in (*jumps[:2], 1.2, 2.0):
        expected = program(lifts, law, float(t), lifts.max(1) > t * (1 + 1e-12))
        found = lw.failure_probability(mechanism, prior, lift=float(t) * (1 + 1e-10))
        assert found == pytest.approx(expected, abs=1e-7)
        beyond = [program(lifts, law, float(t) * (1 + step)) for step in (1e-3, 1e-5)]  # the limit, with all letters
        assert beyond[0] <= beyond[1] + 1e-7 <= expected + 2e-7
        assert beyond[1] == pytest.approx(expected, rel=1e-3, abs=1e-4)


@pytest.mark.parametrize("seed", SEEDS)
def test_theorem_3_closed_form_of_randomized_response(seed: int) -> None:
    rng = np.random.default_rng(seed)
    letters = int(rng.integers(2, 7))
    masses = np.sort(rng.dirichlet(np.full(letters, 0.8)) + 0.01)
    masses /= masses.sum()
    truth = rng.uniform(1 / letters, 0.99)
    lie = (1 - truth) / (letters - 1)
    law = lie + (truth - lie) * masses
    lifts = np.where(np.eye(letters) > 0, truth, lie) / law
    for delta in rng.uniform(0.01, 0.99, size=4):
        whole = np.concatenate([[0], np.cumsum(law)])
        n = int(np.searchsorted(whole, delta))
        theta = (delta - whole[n - 1]) / law[n - 1]
        terms = [
            min(truth / law[size - 1], (size * truth + (n - 1 - size + theta) * lie) / delta)
            for size in range(1, n + 1)
        ]
        assert program(lifts, law, max(terms) * (1 - 1e-7)) >= delta - 1e-8
        assert program(lifts, law, max(terms) * (1 + 1e-7)) < delta + 1e-8
        if n >= 2:  # the lower bound of [EN] is the last two terms, and exact where [EN] conjectures it
            condition = masses[n - 1] * ((n - 2) * truth + lie) <= truth * masses[: n - 1].sum() + lie
            assert max(terms[-2:]) == pytest.approx(max(terms)) if condition else max(terms[-2:]) <= max(terms)
