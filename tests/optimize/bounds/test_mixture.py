"""The bound of LDP by mixtures of uniform priors: below every optimum, and close where limits are strict."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import leakwise as lw
from leakwise.optimize.bounds.mixture import mixture_bound
from leakwise.proof import load_certificate


def trace(matrix, p):
    """Of J⁻¹, by the definition."""
    return np.trace(np.linalg.inv((matrix / (p @ matrix)) @ matrix.T))


@given(
    st.lists(st.integers(1, 40), min_size=2, max_size=5),
    st.floats(0.05, 4),
    st.lists(st.floats(0.01, 1), min_size=32, max_size=32),
)
@settings(max_examples=60, deadline=None)
def test_no_mechanism_is_below_the_bound(weights, epsilon, shares):
    # A column and the one that raises the other letters add up to a constant.
    p, ratio = np.array(weights) / sum(weights), math.exp(epsilon)
    sets = (np.arange(2 ** len(p)) >> np.arange(len(p))[:, None]) & 1
    often = np.array(shares[: sets.shape[1]])
    matrix = np.concatenate([np.where(sets, ratio, 1.0) * often, np.where(sets, 1.0, ratio) * often], axis=1)
    matrix /= matrix.sum(axis=1, keepdims=True)
    assert (matrix.max(axis=0) <= ratio * matrix.min(axis=0) * (1 + 1e-12)).all()
    assert mixture_bound(p, ratio)[0] <= trace(matrix, p) * (1 + 1e-9)


@pytest.mark.parametrize("weights", [[5, 1], [9, 3, 1], [8, 4, 2, 1], [6, 6, 1, 1, 1], [20, 5, 4, 3, 2, 1]])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_the_bound_is_below_the_optimum_over_every_vertex_and_near_it(weights, epsilon):
    prior = lw.Prior(weights)
    p = prior.probabilities
    optimum = float(p @ p) - lw.design(prior, ldp=epsilon, utility="frequencies").bound
    least, _ = mixture_bound(p, math.exp(epsilon))
    assert least <= optimum * (1 + 1e-9)
    assert least > {0.1: 0.995, 1.0: 0.9, 3.0: 0.6}[epsilon] * optimum


@pytest.mark.parametrize(("inside", "others"), [(2, 2), (1, 4), (3, 2), (4, 1)])
def test_a_uniform_prior_on_some_letters_has_the_bound_of_its_neighbour(inside, others):
    """Near the prior that is uniform on some letters all the shares but a few are of one number of letters."""
    rare = 10**6
    prior = lw.Prior([rare] * inside + [1] * others)
    p = prior.probabilities
    optimum = float(p @ p) - lw.design(prior, ldp=1.0, utility="frequencies").bound
    assert mixture_bound(p, math.e)[0] == pytest.approx(optimum, rel=1e-4)


@pytest.mark.parametrize("size", [17, 60])
@pytest.mark.parametrize("epsilon", [0.5, 3.0])
def test_a_uniform_prior_has_the_variance_of_subset_selection(size, epsilon):
    ratio = math.exp(epsilon)
    means = [(k * ratio**2 + size - k) * size / (k * ratio + size - k) ** 2 for k in range(1, size)]
    exact = 1 / size + (size - 1) ** 2 / (size * (max(means) - 1))
    assert mixture_bound(np.full(size, 1 / size), ratio)[0] == pytest.approx(exact, rel=1e-9)


@pytest.mark.parametrize(("epsilon", "gap"), [(0.5, 0.02), (1.0, 0.06)])
def test_designs_under_ldp_alone_state_a_small_gap_for_uneven_priors(epsilon, gap):
    # By what lifts share alone it was above 20% and 15%.
    weights = 1 / np.arange(1, 25)
    design = lw.design(lw.Prior(weights / weights.sum()), ldp=epsilon, utility="frequencies")
    assert design.gap < gap * -design.bound
    design.certificate.verify()
    assert design.certificate.optimality.bound == pytest.approx(design.bound, rel=1e-9)


def test_thousands_of_letters_have_it_as_well(tmp_path):
    weights = 1 / np.arange(1, 1501)
    prior = lw.Prior(weights / weights.sum())
    design = lw.design(prior, ldp=0.5, utility="frequencies")
    assert design.gap < 0.03 * -design.bound
    design.certificate.save(tmp_path / "c.json")
    assert load_certificate(tmp_path / "c.json").verify().optimality.bound <= design.bound * (1 - 1e-9)
