"""Near-perfect columns of large alphabets are vertices that average to one."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import leakwise as lw
from leakwise.optimize.problem.cones import pml_cone
from leakwise.optimize.search.limits import Limits
from leakwise.optimize.search.near_perfect import search_near_perfect
from optimize.cones import FUNCTIONS


def is_vertex(cone, lifts):
    span = cone.high_float - cone.low_float
    between = (lifts > cone.low_float + 1e-9 * span) & (lifts < cone.high_float - 1e-9 * span)
    return (between.sum(axis=0) <= 1).all()


@pytest.mark.parametrize("epsilon", [0.3, 1.1])
def test_near_perfect_columns_are_vertices_that_average_to_one(epsilon):
    prior = lw.Prior(np.random.default_rng(7).dirichlet(np.ones(48)))
    cone = pml_cone(prior, Fraction(math.exp(epsilon)).limit_denominator(10**6))
    found = search_near_perfect(cone, FUNCTIONS["mutual_information"], Limits())
    constant = np.all(found.lifts == 1, axis=0)
    assert is_vertex(cone, found.lifts[:, ~constant])
    assert prior.probabilities @ found.lifts == pytest.approx(np.ones(found.lifts.shape[1]), abs=1e-9)
    assert found.lifts @ found.weights == pytest.approx(np.ones(48), abs=1e-9)
    assert (found.weights > 0).all()


@pytest.mark.parametrize("size", [31, 35])
def test_thirty_letters_and_a_few_more_need_no_list_of_subsets_at_a_lift_of_five(size):
    """What is wanted of a column must reach the letters that make its mass right, or few columns are steered at all."""
    prior = lw.Prior(np.random.default_rng(size + 100).dirichlet(np.ones(size)))
    f = FUNCTIONS["mutual_information"]
    found = search_near_perfect(pml_cone(prior, Fraction(5)), f, Limits())
    value = prior.probabilities @ f(found.lifts) @ found.weights
    assert value <= found.bound <= value * (1 + 1e-5)
