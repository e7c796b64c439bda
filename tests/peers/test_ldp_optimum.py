"""The optimal LDP mechanism beside an independent model in cvxpy."""

from __future__ import annotations

import math

import numpy as np
import pytest

import leakwise as lw

cp = pytest.importorskip("cvxpy", reason="cvxpy is not installed (pip install leakwise[peers])")


@pytest.mark.parametrize(
    ("letters", "epsilon", "seed"), [(2, 0.5, 0), (3, 1.0, 1), (4, 0.3, 2), (5, 1.7, 3), (8, 1.0, 4)]
)
def test_expected_utility(letters: int, epsilon: float, seed: int) -> None:
    """max Σ π_i u_ij p_ij over all p with p_ij ≤ e^ε p_kj, as the textbook writes it."""
    generator = np.random.default_rng(seed)
    pi, worth = generator.dirichlet(np.ones(letters)), generator.random((letters, letters))
    p = cp.Variable((letters, letters), nonneg=True)
    rules = [cp.sum(p, axis=1) == 1]
    rules += [p[i] <= math.exp(epsilon) * p[k] for i in range(letters) for k in range(letters) if i != k]
    theirs = cp.Problem(cp.Maximize(cp.sum(cp.multiply(pi[:, None] * worth, p))), rules).solve(solver=cp.CLARABEL)
    ours = lw.design(lw.Prior(pi), ldp=epsilon, utility=lw.Expected(worth))
    assert ours.value == pytest.approx(theirs, abs=1e-6)
    assert ours.bound >= theirs - 1e-6
    assert lw.ldp(ours.mechanism) <= epsilon * (1 + 1e-15)


@pytest.mark.parametrize(("letters", "epsilon", "seed"), [(2, 0.5, 0), (3, 1.0, 1), (4, 0.6, 2), (5, 1.2, 3)])
def test_mutual_information_over_staircase_columns(letters: int, epsilon: float, seed: int) -> None:
    """The optimum over the 2^N staircase patterns [Kairouz, Oh, Viswanath 2016], which their linear program is over."""
    pi = np.random.default_rng(seed).dirichlet(np.ones(letters))
    patterns = np.array(
        [[math.exp(epsilon) if code >> i & 1 else 1.0 for i in range(letters)] for code in range(2**letters)]
    ).T
    law = pi @ patterns
    worth = (pi[:, None] * patterns * np.log(patterns / law)).sum(axis=0)
    weights = cp.Variable(patterns.shape[1], nonneg=True)
    theirs = cp.Problem(cp.Maximize(worth @ weights), [patterns @ weights == 1]).solve(solver=cp.CLARABEL)
    ours = lw.design(lw.Prior(pi), ldp=epsilon, utility="mutual_information")
    assert ours.value == pytest.approx(theirs, abs=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_pml_with_distortion(seed: int) -> None:
    """The same for PML: p_ij ≤ e^ε Σ π p."""
    generator = np.random.default_rng(seed)
    letters = int(generator.integers(3, 7))
    pi = generator.dirichlet(np.ones(letters))
    worth = -np.abs(np.subtract.outer(np.arange(letters), np.arange(letters))).astype(float)
    p = cp.Variable((letters, letters), nonneg=True)
    rules = [cp.sum(p, axis=1) == 1, *(p[i] <= math.exp(0.7) * (pi @ p) for i in range(letters))]
    theirs = cp.Problem(cp.Maximize(cp.sum(cp.multiply(pi[:, None] * worth, p))), rules).solve(solver=cp.CLARABEL)
    ours = lw.design(lw.Prior(pi), epsilon=0.7, utility=lw.Expected(worth))
    assert ours.value == pytest.approx(theirs, abs=1e-6)
