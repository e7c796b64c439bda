"""Cones whose vertices can be listed: the same optimum as by pricing, and nothing left open."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import leakwise as lw
from leakwise.optimize.pricing.vertex_list import polytope_vertices
from leakwise.optimize.problem.prior_set_cone import RobustCone
from leakwise.optimize.problem.utilities import as_utility
from leakwise.optimize.search.any_cone import search_any, search_generic
from leakwise.optimize.search.limits import Limits

PRIOR = lw.Prior([5, 3, 2, 2, 1])
SETS = {
    "ball": PRIOR.ball("1/4"),
    "box": lw.Box(PRIOR, [f * Fraction(2, 3) for f in PRIOR.fractions], [f * Fraction(3, 2) for f in PRIOR.fractions]),
    "hull": lw.Hull([PRIOR, lw.Prior([1, 2, 2, 3, 5])], nominal=PRIOR),
}


@pytest.mark.parametrize("name", SETS)
def test_the_facets_of_a_set_of_priors_are_those_of_its_worst_members(name):
    cone = RobustCone(SETS[name], Fraction(9, 5))
    rows = cone.facets()
    vertices = polytope_vertices(PRIOR.probabilities, rows)
    masses = SETS[name].least_mass(vertices)
    assert (vertices.max(axis=0) <= 1.8 * masses * (1 + 1e-8)).all()
    objectives = np.random.default_rng(1).standard_normal((5, 20))
    np.testing.assert_allclose((objectives.T @ vertices).max(axis=1), cone.linear_max(objectives)[0], rtol=1e-7)


@pytest.mark.parametrize("name", SETS)
def test_listed_vertices_give_the_optimum_that_pricing_finds(name):
    cone, utility = RobustCone(SETS[name], Fraction(9, 5)), as_utility("mutual_information")
    listed, priced = search_any(cone, utility, Limits()), search_generic(cone, utility, Limits())
    assert "listed" in listed.how
    assert listed.found.bound == pytest.approx(priced.bound, abs=5e-8)
    value = utility.value(listed.found.lifts, listed.found.weights, PRIOR)
    assert value <= listed.found.bound <= value + 5e-8


@pytest.mark.parametrize("name", SETS)
def test_frequencies_for_a_set_of_few_letters_are_proven_to_the_last_digits(name):
    found = lw.design(SETS[name], lift="9/5", utility="frequencies")
    assert found.gap <= 1e-6 * abs(found.value)
