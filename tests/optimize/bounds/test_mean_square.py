"""The mean of squared lifts over a range of lifts: never below what a vertex has, closer than letter by letter."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import leakwise as lw
from leakwise.optimize.bounds.mean_square import MeanSquare
from leakwise.optimize.pricing.vertex_list import list_vertices
from leakwise.optimize.problem.cones import Intersection, LDPCone, pml_cone


def both(prior, lift, ratio):
    return Intersection([pml_cone(prior, Fraction(lift)), LDPCone(prior, Fraction(ratio))])


def largest(cone, d):
    """max E Σ d λ² over all mechanisms of the cone, by a linear program over every vertex."""
    vertices = list_vertices(cone)
    answer = linprog(-(d @ vertices**2), A_eq=vertices, b_eq=np.ones(len(d)), method="highs")
    return -answer.fun


@given(
    st.lists(st.integers(1, 30), min_size=3, max_size=6),
    st.fractions("1.2", 6),
    st.integers(2, 12),
    st.lists(st.floats(0.05, 1), min_size=6, max_size=6),
)
@settings(max_examples=60)
def test_no_mechanism_is_above_it(weights, lift, times, d):
    prior, d = lw.Prior(weights), np.array(d[: len(weights)])
    for cone in (both(prior, lift, times * lift), LDPCone(prior, lift * times)):
        squares = MeanSquare(cone)
        reached = largest(cone, d)
        for one in (squares.simple(d), squares.priced(d)):
            assert reached <= d @ one.ceilings * (1 + 1e-9)
            assert d @ one.ceilings <= d @ squares.box * (1 + 1e-12)


@given(st.integers(3, 7), st.fractions("1.2", 6), st.integers(2, 12))
@settings(max_examples=30)
def test_a_uniform_prior_is_exact(size, lift, times):
    prior = lw.Prior.uniform(size)
    for cone in (both(prior, lift, times * lift), LDPCone(prior, lift * times)):
        assert np.ones(size) @ MeanSquare(cone).simple(np.ones(size)).ceilings == pytest.approx(
            largest(cone, np.ones(size)), rel=1e-9
        )


def test_two_limits_are_as_tight_as_their_common_box():
    # The least lift beside a lift of 2 is 2/20: (2-1)(1-1/10) = 0.9 above one, where the box has 0.95.
    prior = lw.Prior(np.random.default_rng(50).dirichlet(np.ones(50)))
    squares = MeanSquare(both(prior, 2, 20))
    assert np.median(squares.simple(np.ones(50)).ceilings) == pytest.approx(1.9, abs=2e-3)
    assert np.median(squares.box) > 1.94


def test_duals_of_their_own_bring_ldp_closer_where_masses_differ():
    prior, d = lw.Prior(np.random.default_rng(9).dirichlet(np.ones(9))), np.ones(9)
    cone = LDPCone(prior, Fraction(20))
    squares = MeanSquare(cone)
    best = largest(cone, d)
    assert best <= d @ squares.priced(d).ceilings <= 1.02 * best
    assert d @ squares.simple(d).ceilings > 1.1 * best
