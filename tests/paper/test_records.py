"""Theorems 10 to 13 of the article: beliefs over whole datasets, drawn at random, against classes and bounds."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import linprog

import leakwise as lw

SEEDS = range(10)


def entropy(law: np.ndarray) -> float:
    positive = law[law > 0]
    return float(-(positive * np.log(positive)).sum())


def information(joint: np.ndarray) -> float:
    return entropy(joint.sum(0)) + entropy(joint.sum(1)) - entropy(joint.ravel())


@pytest.mark.parametrize("seed", SEEDS)
def test_theorem_10_classes_have_the_value_of_all_datasets(seed: int) -> None:
    rng = np.random.default_rng(seed)
    alphabets, i = [((2,), 0), ((2, 2, 2), 0), ((2, 3, 2), 1), ((3, 1, 4), 2)][seed % 4]
    datasets = list(itertools.product(*map(range, alphabets)))
    answers = rng.dirichlet(np.full(3, 0.6), size=4)  # of a query: datasets with one answer are alike
    query = [sum(x) for x in datasets] if seed < 4 else rng.integers(0, 4, size=len(datasets)).tolist()
    rows = answers[np.minimum(query, 3)]
    values = np.array([x[i] for x in datasets])
    classes = np.column_stack([values, np.minimum(query, 3)])
    for _ in range(50):
        belief = rng.dirichlet(np.full(len(datasets), rng.uniform(0.2, 2)))
        joint = np.array([(belief[values == a, None] * rows[values == a]).sum(0) for a in range(alphabets[i])])
        averaged, bound = np.zeros(len(datasets)), 0.0
        for pair in {tuple(c) for c in classes.tolist()}:
            alike = (classes == pair).all(1)
            averaged[alike] = belief[alike].sum() / alike.sum()
            u = belief[alike].sum()
            bound += -u * math.log(u) + u * math.log(alike.sum())
        again = np.array([(averaged[values == a, None] * rows[values == a]).sum(0) for a in range(alphabets[i])])
        assert np.allclose(joint, again)
        assert entropy(averaged) == pytest.approx(bound)
        assert entropy(belief) <= bound + 1e-12
        assert averaged.max() <= belief.max() + 1e-12


@pytest.mark.parametrize("seed", SEEDS)
def test_theorem_11_any_multipliers_bound_every_belief_in_the_box(seed: int) -> None:
    rng = np.random.default_rng(seed)
    value = np.repeat([0, 1], [3, 2])
    rows, sizes = rng.dirichlet(np.full(3, 0.7), size=5), rng.integers(1, 40, size=5)
    if seed % 2:  # an outcome that only the value 1 can have, one that only the value 0 can, and one of both
        rows[:, :2] *= [[0, 1], [0, 1], [0, 0], [1, 0], [0, 0]]
        rows /= rows.sum(1, keepdims=True)
    for _ in range(40):
        u = rng.dirichlet(np.full(5, 0.8)) * (rng.random(5) < [1, 0.8, 0.8, 0.8, 1])
        u /= u.sum()
        joint = np.array([u[value == a] @ rows[value == a] for a in range(2)])
        posterior = np.where(joint.sum(0) > 0, joint[1] / np.maximum(joint.sum(0), 1e-300), rng.random(3))
        low, high = posterior * rng.random(3), posterior + (1 - posterior) * rng.random(3)
        start, slope = chords(low, high)
        b = entropy(u) + u @ np.log(sizes) - rng.exponential(0.2)
        up, down = rng.exponential(0.3, size=(2, 3))
        one = (value == 1)[:, None]
        c = (rows * (start + slope * one + up * (one - low) + down * (high - one))).sum(1)
        assert information(joint) <= right_side_of_8(10 ** rng.uniform(-1, 1.5), c, value, sizes, b) + 1e-9


def chords(low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return where the chords of the negative binary entropy start at 0, and their slopes."""
    at_low, at_high = (np.array([-entropy(np.array([p, 1 - p])) for p in ends]) for ends in (low, high))
    slope = (at_high - at_low) / (high - low)
    return at_low - slope * low, slope


def right_side_of_8(s: float, c: np.ndarray, value: np.ndarray, sizes: np.ndarray, b: float) -> float:
    inner = np.array([np.log(sizes[value == a] @ np.exp(c[value == a] / s)) for a in range(2)])
    return float((1 + s) * np.log(np.exp(inner * s / (1 + s)).sum()) - s * b)


def test_theorem_11_closes_on_parity_and_needs_the_signs_of_its_multipliers() -> None:
    n, flip, error = 4, 0.3, 0.1
    value, sizes = np.array([0, 0, 1, 1]), np.full(4, 2 ** (n - 2))
    rows = np.array([[1 - flip, flip], [flip, 1 - flip], [flip, 1 - flip], [1 - flip, flip]])  # of the parity
    u = np.array([1 - error, error, 1 - error, error]) / 2  # who knows the parity of the others up to errors
    b = entropy(u) + math.log(sizes[0])
    joint = np.array([u[value == a] @ rows[value == a] for a in range(2)])
    posterior = joint[1] / joint.sum(0)
    wrong = flip * (1 - error) + (1 - flip) * error
    truth = math.log(2) - entropy(np.array([wrong, 1 - wrong]))
    assert b == pytest.approx((n - 1) * math.log(2) + entropy(np.array([error, 1 - error])))
    assert information(joint) == pytest.approx(truth)
    one = (value == 1)[:, None]
    for width in (1e-3, 0.05):
        low, high = posterior - width, posterior + width
        start, slope = chords(low, high)
        c = (rows * (start + slope * one)).sum(1)
        s = (c[0] - c[1]) / math.log((1 - error) / error)  # makes u the best belief of the bound
        assert truth - 1e-12 <= right_side_of_8(s, c, value, sizes, b) <= truth + 3 * width**2
        for up, down in ((0.3, 0.0), (0.0, 0.3), (0.1, 0.1)):
            terms = (rows * (up * (one - low) + down * (high - one))).sum(1)
            assert right_side_of_8(s, c + terms, value, sizes, b) >= truth
            assert width < 0.05 or right_side_of_8(s, c - terms, value, sizes, b) < truth


@pytest.mark.parametrize("seed", SEEDS)
def test_theorem_12_largest_lift_at_a_full_class(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sizes, chances = rng.integers(1, 6, size=(2, 3)), rng.random((2, 3))  # three classes of the value, and of others
    cap = rng.uniform(1.05, 4) / sizes.sum()

    def fill(mass: float, classes: np.ndarray, order: np.ndarray) -> float:
        room = np.minimum(np.cumsum(sizes[classes][order] * cap), mass)
        return float(np.diff(room, prepend=0.0) @ chances[classes][order])

    def ratio(tau: float) -> float:
        of_value = fill(tau, 0, np.argsort(-chances[0]))
        return of_value / (tau * (of_value + fill(1 - tau, 1, np.argsort(chances[1]))))

    least, most = max(0.0, 1 - cap * sizes[1].sum()), min(1.0, cap * sizes[0].sum())
    full = np.cumsum(sizes[0][np.argsort(-chances[0])] * cap)
    others = 1 - np.cumsum(sizes[1][np.argsort(chances[1])] * cap)
    ends = [tau for tau in (*full, *others, least, most, 1e-12) if max(least, 1e-12) <= tau <= most]
    stated = max(ratio(tau) for tau in ends)
    assert max(ratio(tau) for tau in np.linspace(max(least, 1e-9), most, 2001)) <= stated * (1 + 1e-9)
    if least == 0:
        assert ratio(1e-12) == pytest.approx(chances[0].max() / fill(1.0, 1, np.argsort(chances[1])), rel=1e-9)
    for tau in rng.uniform(max(least, 1e-6), most, size=5):  # every program of a given mass, by a solver
        best = [
            linprog(sign * chances[k], A_eq=np.ones((1, 3)), b_eq=[mass], bounds=[(0, cap * m) for m in sizes[k]]).fun
            for k, sign, mass in ((0, -1, tau), (1, 1, 1 - tau))
        ]
        assert ratio(tau) == pytest.approx(-best[0] / (tau * (best[1] - best[0])), rel=1e-7)
    for _ in range(20):  # beliefs at the limit, and mixtures of two of them
        pair = [
            linprog(rng.normal(size=6), A_eq=np.ones((1, 6)), b_eq=[1], bounds=[(0, cap * m) for m in sizes.ravel()]).x
            for _ in range(2)
        ]
        belief = np.average(pair, axis=0, weights=rng.dirichlet([0.5, 0.5])).reshape(2, 3)
        if belief[0].sum() > 1e-9:
            lift = (belief[0] @ chances[0]) / belief[0].sum() / (belief * chances).sum()
            assert lift <= stated * (1 + 1e-6)
    cap = 1 / sizes.sum()  # the largest limit: only the uniform belief is left
    uniform = (chances[0] @ sizes[0] / sizes[0].sum()) / ((chances * sizes).sum() / sizes.sum())
    assert ratio(cap * sizes[0].sum()) == pytest.approx(uniform)
    cap = 1.0  # no limit on the belief
    for scale in (1.0, 0.5 * chances[1].min()):  # in the second case the outcome speaks against the value
        chances[0] *= scale
        free = [ratio(tau) for tau in np.linspace(1e-9, 1, 501)]
        assert max(free) == pytest.approx(max(1.0, chances[0].max() / chances[1].min()), rel=1e-6)
    cap, chances[1, 0] = 1 / sizes[1, 0], 0.0  # the outcome is impossible for others who fill a belief
    assert ratio(1e-9) == pytest.approx(1e9)


@pytest.mark.parametrize("seed", SEEDS)
def test_theorem_13_counts_among_unknown_records(seed: int) -> None:
    rng = np.random.default_rng(seed)
    p, epsilon = float(rng.uniform(0.05, 0.95)), float(rng.uniform(0.2, 2))
    far = int(40 / epsilon)
    noise = np.exp(-epsilon * np.abs(np.arange(-far, far + 1)))
    noise /= noise.sum()
    rare = min(p, 1 - p)
    closed = math.exp(epsilon) / (1 - rare + rare * math.exp(epsilon))
    envelopes = []
    others = noise  # the law of the other records and the noise; its place `far` is the answer 0
    inner = slice(far - 9, far + 15)  # the answers from -9 to 14, away from the ends of the listed noise
    for unknown in range(1, 5):
        rows = np.stack([np.concatenate([others, [0.0]]), np.concatenate([[0.0], others])])
        # Outcomes up to 0, and from the number of records on, have equal lifts, and count as one each.
        ends = [rows[:, : far + 1].sum(1), rows[:, far + unknown :].sum(1)]
        merged = np.column_stack([ends[0], rows[:, far + 1 : far + unknown], ends[1]])
        lifts = merged / ((1 - p) * merged[0] + p * merged[1])
        assert lifts.max() == pytest.approx(closed, rel=1e-9)
        assert (np.diff(lifts[1]) >= -1e-9).all()
        single = rows[:, inner] / ((1 - p) * rows[0, inner] + p * rows[1, inner])
        assert np.allclose(single[:, :10], lifts[:, :1], rtol=1e-9)
        assert np.allclose(single[:, 9 + unknown :], lifts[:, -1:], rtol=1e-9)
        m = lw.Mechanism(merged / merged.sum(1, keepdims=True))
        envelopes.append(lw.envelope(m, lw.Prior([1 - p, p]), 0.1).epsilon)
        others = np.convolve(others, [1 - p, p])
    assert all(a >= b - 1e-9 for a, b in itertools.pairwise(envelopes))
    # (a) for a record of three values, without noise, to which records of other laws are added
    weights, leakages, envelopes = rng.dirichlet([2, 2, 2]), [], []
    values, others = [0, 1, 3], np.ones(1)
    for _ in range(5):
        rows = np.stack([np.concatenate([np.zeros(v), others, np.zeros(3 - v)]) for v in values])
        rows = rows[:, rows.any(0)]
        m, prior = lw.Mechanism(rows / rows.sum(1, keepdims=True)), lw.Prior(weights.tolist())
        leakages.append(np.log((rows / (weights @ rows)).max()))
        envelopes.append(lw.envelope(m, prior, 0.2).epsilon)
        added = rng.dirichlet([2, 2, 2])
        others = np.convolve(others, [added[0], added[1], 0, added[2]])
    for falling in (leakages, envelopes):
        assert all(a >= b - 1e-9 for a, b in itertools.pairwise(falling))
    assert envelopes[0] > envelopes[-1] + 0.01
