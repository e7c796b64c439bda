"""The bound over J alone: below every mechanism, attained where it must be, and quick at any size."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import leakwise as lw
from leakwise.optimize.bounds.least_trace import _safe_value, least_trace_bound
from leakwise.optimize.problem.cones import Intersection, LDPCone, pml_cone
from leakwise.optimize.search.limits import Limits


def dirichlet(size, seed=0):
    return lw.Prior(np.random.default_rng(seed).dirichlet(np.ones(size)))


@pytest.mark.parametrize("lift", [Fraction(3, 2), Fraction(2), Fraction(5)])
def test_a_uniform_prior_has_the_closed_form(lift):
    size = 40
    least, _ = least_trace_bound(pml_cone(lw.Prior.uniform(size), lift), Limits())
    assert least == pytest.approx(1 / size + (size - 1) ** 2 / (size * float(lift - 1)), rel=1e-9)


def test_subset_selection_is_the_optimum_of_a_uniform_prior_under_ldp():
    # All sets of d letters evenly: J = (c-1)·(I - 11ᵀ/N)·N/(N-1) + 11ᵀ with c the mean of λ².
    size, ratio = 20, math.exp(2)
    least, _ = least_trace_bound(LDPCone(lw.Prior.uniform(size), Fraction(ratio)), Limits())
    best = min(
        1 / size + (size - 1) ** 2 / (size * (((d * ratio**2 + size - d) / (d * ratio + size - d) ** 2) * size - 1))
        for d in range(1, size)
    )
    assert least == pytest.approx(best, rel=1e-9)
    assert 1 / size - least == pytest.approx(-13.197, abs=5e-4)  # d = 2


@pytest.mark.parametrize("size", [5, 60])
def test_the_multipliers_prove_the_bound_by_themselves(size):
    prior = dirichlet(size)
    cone, p = pml_cone(prior, Fraction(2)), prior.probabilities
    low, high = cone.entry_box()
    least, point = least_trace_bound(cone, Limits())
    assert _safe_value(point, p, low + high - low * high) == least
    rough, _ = least_trace_bound(cone, Limits(seconds=0.0))  # without any time
    assert 0.98 * least < rough <= least


def test_the_bound_is_the_least_trace_of_all_such_matrices():
    # A matrix J that meets both conditions, found by projected steps from the dual: no bound may be above its trace.
    prior = dirichlet(12, 3)
    cone, p = pml_cone(prior, Fraction(2)), prior.probabilities
    low, high = cone.entry_box()
    least, point = least_trace_bound(cone, Limits())
    d, v = np.split(point, 2)
    values, vectors = np.linalg.eigh(np.diag(d) + np.outer(p, v) + np.outer(v, p))
    information = (vectors / np.sqrt(values)) @ vectors.T
    assert information @ p == pytest.approx(np.ones(12), abs=1e-6)
    assert (np.diag(information) <= (low + high - low * high) * (1 + 1e-5)).all()
    assert least == pytest.approx(np.trace(np.linalg.inv(information)), rel=1e-5)


def test_a_thousand_letters_are_bounded_in_seconds():
    size = 1000
    least, _ = least_trace_bound(pml_cone(dirichlet(size), Fraction(2)), Limits(seconds=0.0))
    assert 0.999 * (size - 1) < least < size - 1


def test_two_limits_beside_a_heavy_letter_have_the_bound_of_the_relaxed_program():
    """A semidefinite program over a fine grid of least lifts has -6.5452 here; duals s·d alone had -6.4453."""
    weights = 1 / np.arange(1, 25)
    prior = lw.Prior(weights / weights.sum())
    p = prior.probabilities
    cone = Intersection([pml_cone(prior, Fraction(5)), LDPCone(prior, Fraction(50))])
    assert -6.546 < float(p @ p) - least_trace_bound(cone, Limits())[0] < -6.54
