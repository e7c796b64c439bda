"""Theorems 8 and 9 and the proposition of the article, on joint distributions that are listed whole."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

import leakwise as lw

SEEDS = range(10)


@pytest.mark.parametrize("seed", SEEDS)
def test_theorem_8_conditional_lifts_multiply_and_others_do_not(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, strata, first, second = 6, 2, 3, 3
    law = rng.dirichlet(np.full(rows, 0.7))
    of_stratum, of_first, of_second = (rng.integers(0, k, size=rows) for k in (strata, 2, 3))
    release_1 = _kernel(rng, (strata, 2, first))
    release_2 = _kernel(rng, (strata, first, 3, second))
    joint = np.zeros((rows, first, second))
    for r, i, j in itertools.product(range(rows), range(first), range(second)):
        u = of_stratum[r]
        joint[r, i, j] = law[r] * release_1[u, of_first[r], i] * release_2[u, i, of_second[r], j]
    for u in set(of_stratum.tolist()):
        given = joint * (of_stratum == u)[:, None, None]
        given /= given.sum()
        row = given.sum((1, 2))
        possible = row > 0

        t_1 = _largest_lift(given.sum(2), of_first)
        seen = [i for i in range(first) if given[:, i, :].sum() > 0]
        t_2 = max(_largest_lift(given[:, i, :] / given[:, i, :].sum(), of_second) for i in seen)
        likelihood = given[possible] / row[possible, None, None]
        assert (likelihood <= t_1 * t_2 * given.sum(0) * (1 + 1e-9)).all()
        alone = likelihood.sum(1)
        assert (alone <= t_1 * t_2 * given.sum((0, 1)) * (1 + 1e-9)).all()
        for s in range(3):  # (a): the chain rule, for the secret of the second release
            inside, everywhere = of_second == s, law[of_second == s].sum()
            if everywhere == 0 or row[inside].sum() == 0:
                continue
            stratum = of_stratum == u
            shown = given.sum(0) > 0
            whole = joint[inside & stratum].sum(0)[shown] / everywhere / joint[stratum].sum(0)[shown]
            of_u = law[inside & stratum].sum() / everywhere / law[stratum].sum()
            of_y_given_u = likelihood[inside[possible]].T @ row[possible & inside] / row[inside].sum()
            assert np.allclose(whole, of_u * of_y_given_u.T[shown] / given.sum(0)[shown])
    twice = lw.Mechanism([[0, "1/2", "1/2"], ["1/2", 0, "1/2"], ["1/2", "1/2", 0]]).repeat(2)
    assert lw.epsilon(twice, lw.Prior.uniform(3)) == pytest.approx(math.log(3))  # (c)


def test_theorem_8_the_product_is_attained() -> None:
    # Two independent columns, each released by itself: the lifts of a row multiply.
    law = np.outer([0.2, 0.8], [0.3, 0.7]).ravel()
    of_first, of_second = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    first, second = np.array([[0.9, 0.1], [0.4, 0.6]]), np.array([[1.0, 0.0], [0.5, 0.5]])
    joint = law[:, None, None] * first[of_first][:, :, None] * second[of_second][:, None, :]
    t_1, t_2 = _largest_lift(joint.sum(2), of_first), _largest_lift(joint.sum(1), of_second)
    assert min(t_1, t_2) > 1.4
    assert _largest_lift(joint.reshape(4, 4), np.arange(4)) == pytest.approx(t_1 * t_2)
    # The second release repeats the outcome of the first one: it adds nothing, and leaks t_1 > t_2 when seen alone.
    joint = law[:, None, None] * first[of_first][:, :, None] * np.eye(2)
    added = [_largest_lift(joint[:, i, :] / joint[:, i, :].sum(), of_second) for i in range(2)]
    assert added == pytest.approx([1, 1])
    assert _largest_lift(joint.sum(1), np.arange(4)) == pytest.approx(t_1)


def _kernel(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Return conditional laws in the last axis, with some outcomes that are impossible."""
    weights = rng.dirichlet(np.full(shape[-1], 0.7), size=shape[:-1])
    weights[..., 1:] *= rng.random((*shape[:-1], shape[-1] - 1)) < 0.8
    return weights / weights.sum(-1, keepdims=True)


def _largest_lift(joint: np.ndarray, secret: np.ndarray) -> float:
    """Return the largest lift of the values of a secret, a function of the row, at the outcomes of a joint law."""
    outcome = joint.sum(0)
    lifts = [1.0]
    for s in set(secret.tolist()):
        part = joint[secret == s]
        if part.sum() > 0:
            lifts.append(float(np.max(part.sum(0)[outcome > 0] / part.sum() / outcome[outcome > 0])))
    return max(lifts)


@pytest.mark.parametrize(("letters", "a", "n"), [(2, 2, 5), (3, 3, 3), (4, Fraction(3, 2), 4)])
def test_proposition_1_repeated_randomized_response(letters: int, a: Fraction, n: int) -> None:
    masses = [Fraction(k, letters * (letters + 1) // 2) for k in range(1, letters + 1)]
    largest = Fraction(0)
    for answers in itertools.product(range(letters), repeat=n):
        likelihood = [Fraction(a) ** answers.count(x) for x in range(letters)]
        whole = sum(p * value for p, value in zip(masses, likelihood, strict=True))
        largest = max(largest, max(likelihood) / whole)
    power = Fraction(a) ** n
    assert largest == power / (masses[0] * power + 1 - masses[0])
    repeated = lw.randomized_response(letters, lift=a).repeat(n)
    assert lw.epsilon(repeated, lw.Prior(masses)) == pytest.approx(math.log(largest), abs=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_theorem_9_a_prior_that_is_paid_for(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values, people, outcomes, statistics = 2 + seed % 2, 3, 2, 2
    prior = rng.dirichlet(np.ones(values), size=people)
    cost = float(rng.uniform(0.1, 1))
    # Any kernel of a function of the secrets that moves by one when a secret changes, in steps of the cost.
    tables = list(itertools.product(range(values), repeat=people))
    count = np.array([table.count(0) for table in tables])
    private = 1 / (1 + np.exp(-cost * (count - rng.uniform(0, people))))
    statistic = np.stack([private, 1 - private], axis=1)
    release = _kernel(rng, (statistics, people, values, outcomes))
    law = np.array([np.prod([prior[i, s] for i, s in enumerate(table)]) for table in tables])
    for h in range(statistics):
        average = prior[0] @ release[h, 0]
        t = float((release[h, 0][:, average > 0] / average[average > 0]).max())
        for seen in itertools.product(range(outcomes), repeat=people):
            shown = np.array([np.prod([release[h, i, s, seen[i]] for i, s in enumerate(table)]) for table in tables])
            joint = law * statistic[:, h] * shown
            if joint.sum() == 0:
                continue
            for s in range(values):
                is_s = np.array([table[0] == s for table in tables])
                lift = joint[is_s].sum() / joint.sum() / prior[0, s]
                bound = math.exp(cost) * t / (1 + (math.exp(cost) - 1) * prior[0, s] * t)
                assert lift <= bound * (1 + 1e-9) <= math.exp(cost) * t * (1 + 2e-9)


@pytest.mark.parametrize("s", range(3))
def test_theorem_9_the_bound_is_attained_by_one_row(s: int) -> None:
    prior = [Fraction(1, 6), Fraction(1, 3), Fraction(1, 2)]
    statistic = [Fraction(1, 2) if v == s else Fraction(1, 3) for v in range(3)]  # one value of it; the factor is 3/2
    release = [Fraction(3, 4) if v == s else Fraction(1, 4) for v in range(3)]
    average = sum(p * m for p, m in zip(prior, release, strict=True))
    t = max(Fraction(3, 4) / average, Fraction(3, 4) / (1 - average))  # over both outcomes
    together = sum(p * h * m for p, h, m in zip(prior, statistic, release, strict=True))
    factor = Fraction(3, 2)
    assert statistic[s] * release[s] / together == factor * t / (1 + (factor - 1) * prior[s] * t)
