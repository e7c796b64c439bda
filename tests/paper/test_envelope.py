"""Theorems 1 to 3 of the article, from the definition of the envelope and without the library's own program."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import OptimizeResult, linprog

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


def solution(lifts: np.ndarray, law: np.ndarray, t: float, used: np.ndarray) -> OptimizeResult:
    """Solve (3) as it is written, over the letters used, by a solver of its own."""
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
    return solved


def program(lifts: np.ndarray, law: np.ndarray, t: float, letters: np.ndarray | None = None) -> float:
    """Return the value of (3), over some of the letters."""
    used = np.arange(len(lifts)) if letters is None else np.flatnonzero(letters)
    return -float(solution(lifts, law, t, used).fun) if len(used) else 0.0


def post_processing(lifts: np.ndarray, law: np.ndarray, t: float) -> np.ndarray:
    """Return the kernel that the proof of Theorem 1 makes of an optimum of (3)."""
    weights = np.maximum(solution(lifts, law, t, np.arange(len(lifts))).x.reshape(lifts.shape), 0)
    kernel = weights.T / np.maximum(law, weights.sum(0))[:, None]
    return np.hstack([kernel, np.maximum(1 - kernel.sum(1, keepdims=True), 0)])


def quantile(kernel: np.ndarray, lifts: np.ndarray, law: np.ndarray, delta: float) -> float:
    """Return exp(inf{s: Pr(ℓ(Z) > s) ≤ δ}) of a post-processing."""
    joint = law[:, None] * kernel
    mass = joint.sum(0)
    seen = mass > 1e-12
    largest = ((lifts @ joint)[:, seen] / mass[seen]).max(0)
    return min(float(s) for s in (1.0, *largest) if mass[seen][largest > s * (1 + 1e-10)].sum() <= delta)


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
        assert program(lifts, law, t * (1 + 1e-6)) < delta + 1e-9
        attained = lw.measures.pml_quantiles(mechanism.then(envelope.post_processing), prior, delta)
        assert len(envelope.post_processing.outputs) <= len(lifts) + 1
        assert attained.upper == pytest.approx(envelope.epsilon, abs=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_theorem_1_the_quantiles_of_post_processings_come_up_to_the_envelope(seed: int) -> None:
    mechanism, prior, lifts, law = drawn(seed)
    rng = np.random.default_rng(seed + 300)
    for delta in (0.02, 0.25, 0.7):
        t = math.exp(lw.envelope(mechanism, prior, delta).epsilon)
        for _ in range(20):
            kernel = rng.dirichlet(np.full(int(rng.integers(1, 7)), 0.3), size=len(law))
            assert quantile(kernel, lifts, law, delta) <= t * (1 + 1e-9)
        below = max(1.0, t * (1 - 1e-4))
        assert program(lifts, law, below) > delta  # V decreases strictly, so that a little less is reached by a Z
        kernel = post_processing(lifts, law, below)
        assert kernel.shape[1] == len(lifts) + 1
        assert np.allclose(kernel.sum(1), 1)
        assert quantile(kernel, lifts, law, delta) >= below * (1 - 1e-9)


EDGES: dict[str, tuple[list[list[float]], list[int]]] = {
    "one letter": ([[0.3, 0.7]], [1]),
    "nothing said": ([[0.4, 0.6], [0.4, 0.6]], [1, 3]),
    "everything said": (np.eye(3).tolist(), [1, 2, 5]),
    "ties": ([[0.5, 0.5, 0, 0], [0.5, 0.5, 0, 0], [0, 0, 0.5, 0.5]], [1, 1, 2]),
    "an outcome never seen": ([[0.2, 0.8, 0], [0.6, 0.4, 0]], [2, 3]),
}


@pytest.mark.parametrize("name", EDGES)
def test_theorem_1_at_its_edges(name: str) -> None:
    rows, weights = EDGES[name]
    mechanism, prior = lw.Mechanism(rows), lw.Prior(weights)
    law = prior.probabilities @ mechanism.matrix
    lifts, law = mechanism.matrix[:, law > 0] / law[law > 0], law[law > 0]
    most = float(lifts.max())
    assert program(lifts, law, 1.0) == pytest.approx(1)
    assert program(lifts, law, most * (1 + 1e-6)) == pytest.approx(0, abs=1e-9)
    grid = np.linspace(1, most, 12)
    values = np.array([program(lifts, law, float(t)) for t in grid])
    assert np.allclose(values, [program(lifts, law, float(t) * (1 - 1e-9)) for t in grid], atol=1e-7)  # from the left
    for first, second in itertools.pairwise(values):  # strictly less wherever it is less than 1 and more than 0
        assert second < first or second > 1 - 1e-9 or first < 1e-9
    for delta in (1e-3, 0.2, 0.5, 0.999):
        t = math.exp(lw.envelope(mechanism, prior, delta).epsilon)
        assert 1 <= t <= most * (1 + 1e-9)
        assert program(lifts, law, t * (1 - 1e-9)) >= delta - 1e-8
        assert program(lifts, law, t * (1 + 1e-6)) < delta


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
    for t in (1.0, *jumps, 1.2, 2.0):
        expected = program(lifts, law, float(t), lifts.max(1) > t * (1 + 1e-12))
        found = lw.failure_probability(mechanism, prior, lift=float(t) * (1 + 1e-10))
        assert found == pytest.approx(expected, abs=1e-7)
        beyond = [program(lifts, law, float(t) * (1 + step)) for step in (1e-3, 1e-5)]  # the limit, with all letters
        assert beyond[0] <= beyond[1] + 1e-7 <= expected + 2e-7
        assert beyond[1] == pytest.approx(expected, rel=1e-3, abs=1e-4)


def test_corollary_1_the_supremum_need_not_be_attained() -> None:
    # The secret is told, with the prior (1/4, 3/4): only the first letter reaches 2, and V(s) = 1/s for 4/3 < s ≤ 4.
    lifts, law = np.diag([4, 4 / 3]), np.array([1 / 4, 3 / 4])
    assert program(lifts, law, 2.0, lifts.max(1) > 2) == pytest.approx(1 / 2)
    for s in (1.4, 2.0, 2.01, 3.0, 4.0):  # so no post-processing exceeds 2 strictly with the probability 1/2
        assert program(lifts, law, s) == pytest.approx(1 / s)
    assert program(lifts, law, 4 / 3) == pytest.approx(1)  # the other letter, which is left out beyond it
    assert program(lifts, law, 4 / 3, lifts.max(1) > 4 / 3) == pytest.approx(3 / 4)


def closed_form(truth: float, lie: float, masses: np.ndarray, delta: float) -> tuple[int, float, list[float]]:
    """Return n and θ of Theorem 3, and the terms of (5)."""
    law = lie + (truth - lie) * masses
    whole = np.concatenate([[0], np.cumsum(law)])
    n = min(int(np.searchsorted(whole, delta)), len(law))
    theta = (delta - whole[n - 1]) / law[n - 1]
    sums = [(size * truth + (n - 1 - size + theta) * lie) / delta for size in range(1, n + 1)]
    return n, theta, [min(truth / law[size - 1], sums[size - 1]) for size in range(1, n + 1)]


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
        n, theta, terms = closed_form(truth, lie, masses, delta)
        assert program(lifts, law, max(terms) * (1 - 1e-7)) >= delta - 1e-8
        assert program(lifts, law, max(terms) * (1 + 1e-7)) < delta + 1e-8
        if n >= 2:  # the lower bound of [EN] is the last two terms, and exact where [EN] conjectures it
            published = published_bound(truth, lie, law, n, theta, delta)
            assert max(terms[-2:]) == pytest.approx(published)
            if masses[n - 1] * ((n - 2) * truth + lie) <= truth * masses[: n - 1].sum() + lie:
                assert published == pytest.approx(max(terms))


def published_bound(truth: float, lie: float, law: np.ndarray, n: int, theta: float, delta: float) -> float:
    """Return exp(h) of Theorem 5 of [EN], as it is printed there: three pieces that θ chooses between."""
    first = truth * ((n - 2) * law[n - 2] - law[: n - 2].sum()) / (truth * law[n - 1] - lie * law[n - 2])
    second = truth * ((n - 1) * law[n - 1] - law[: n - 1].sum()) / (law[n - 1] * (truth - lie))
    if theta <= first:
        return float(truth / law[n - 2])
    return float(((n - 1) * truth + theta * lie) / delta if theta <= second else truth / law[n - 1])


def test_theorem_3_without_the_condition_an_earlier_term_can_be_the_largest() -> None:
    truth, lie, masses, delta = 0.7, 0.1, np.array([0.01, 0.01, 0.49, 0.49]), 0.62
    n, _, terms = closed_form(truth, lie, masses, delta)
    assert n == 4
    assert masses[3] * (2 * truth + lie) > truth * masses[:3].sum() + lie
    assert terms[1] > 1.3 * max(terms[2:])
    lifts = np.where(np.eye(4) > 0, truth, lie) / (lie + (truth - lie) * masses)
    assert program(lifts, lie + (truth - lie) * masses, terms[1]) == pytest.approx(delta)


@pytest.mark.parametrize("truth", [1 / 4, 0.3, 0.7, 1.0])  # from nothing said to everything
@pytest.mark.parametrize("masses", [[0.25, 0.25, 0.25, 0.25], [0.1, 0.1, 0.4, 0.4], [0.001, 0.001, 0.001, 0.997]])
def test_theorem_3_with_ties_and_at_the_ends(truth: float, masses: list[float]) -> None:
    lie = (1 - truth) / 3
    law = lie + (truth - lie) * np.array(masses)
    lifts = np.where(np.eye(4) > 0, truth, lie) / law
    for delta in (1e-3, 0.5, 0.999, *np.cumsum(law)[:3]):
        most = max(closed_form(truth, lie, np.array(masses), float(delta))[2])
        assert most >= 1 - 1e-12
        assert program(lifts, law, most * (1 - 1e-7)) >= delta - 1e-8
        assert program(lifts, law, most * (1 + 1e-6)) < delta
