"""Bounds over intervals of the least lift: above every column of the range, and close to the best where it is small."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import leakwise as lw
from leakwise.optimize.bounds.ranges import over_intervals, range_bound
from leakwise.optimize.pricing.vertex_list import list_vertices
from leakwise.optimize.problem.cones import Intersection, LDPCone, pml_cone
from optimize.cones import FUNCTIONS, names, priors, seeds


@given(priors(most=6), st.fractions(Fraction(11, 10), 4, max_denominator=20), names, seeds, st.booleans())
@settings(max_examples=40)
def test_no_column_of_a_range_is_above_its_bound(prior, ratio, name, seed, capped):
    cone = Intersection([pml_cone(prior, ratio), LDPCone(prior, ratio**2)]) if capped else LDPCone(prior, ratio)
    where = cone.lift_range()
    p, f = prior.probabilities, FUNCTIONS[name]
    lifts = list_vertices(LDPCone(prior, ratio))
    duals = np.random.default_rng(seed).normal(size=len(p)) * p
    for y in (np.zeros(len(p)), duals):
        worth = p @ f(lifts) - y @ lifts
        assert float(worth.max()) <= range_bound(f, p, y, where)


def test_many_equal_letters_reach_the_bound_without_duals():
    prior = lw.Prior.uniform(1000)
    f = FUNCTIONS["mutual_information"]
    bound = range_bound(f, prior.probabilities, np.zeros(1000), LDPCone(prior, Fraction(3)).lift_range())
    value = lw.design(prior, ldp=np.log(3)).value
    assert value <= bound
    assert bound == pytest.approx(value, rel=1e-5)


def test_what_is_not_a_number_bounds_nothing():
    assert over_intervals(lambda left, right: np.full(len(left), np.nan), 0.0, 1.0) == np.inf
