"""Branch and bound against the other ways to price a column."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leakwise.optimize.bounds.chord import chord_duals
from leakwise.optimize.pricing.branch_and_bound import BranchPricing
from leakwise.optimize.pricing.lift_box import LiftPricing
from leakwise.optimize.pricing.vertex_list import list_vertices
from leakwise.optimize.problem.cones import LDPCone, LiftBox
from leakwise.optimize.problem.utilities import FInformation
from leakwise.optimize.search.limits import Limits
from optimize.cones import FUNCTIONS, names, priors, seeds


@given(priors(most=6), st.fractions(Fraction(11, 10), 4, max_denominator=20), names, seeds)
@settings(max_examples=25)
def test_branch_and_bound_against_windows(prior, lift, name, seed):
    f, cone = FUNCTIONS[name], LiftBox(prior, 1 / (2 * lift), lift)  # a box from below as well
    pricing = LiftPricing(cone, f)
    p = prior.probabilities
    low, high = cone.entry_box()
    start = chord_duals(f, p, low, high)
    shift = 0.3 * np.random.default_rng(seed).normal(size=len(pricing.groups.masses)) * pricing.groups.masses
    y = np.array([start[group[0]] for group in pricing.groups.letters]) + shift
    priced = pricing.price(y, most=20, above=-1.0, largest_window=10**6)
    found, largest = BranchPricing(cone, FInformation(f)).price(
        pricing.groups.per_letter(y), Limits(), accuracy=1e-8, nodes=5000
    )
    best = float((p @ f(found) - pricing.groups.per_letter(y) @ found).max())
    assert best <= priced.largest + 1e-9
    assert best <= largest + 1e-12
    if priced.largest > 1e-6:
        assert best == pytest.approx(priced.largest, abs=1e-6)


@given(priors(most=5), st.fractions(Fraction(11, 10), 4, max_denominator=20), names, seeds)
@settings(max_examples=25)
def test_branch_and_bound_against_the_two_valued_columns_of_ldp(prior, lift, name, seed):
    f, cone = FUNCTIONS[name], LDPCone(prior, lift)
    p = prior.probabilities
    y = 0.3 * np.random.default_rng(seed).normal(size=len(p)) * p
    vertices = list_vertices(cone)
    costs = p @ f(vertices) - y @ vertices
    found, largest = BranchPricing(cone, FInformation(f)).price(y, Limits(), accuracy=1e-8, nodes=5000)
    assert largest >= costs.max() - 1e-9
    assert float((p @ f(found) - y @ found).max()) == pytest.approx(float(costs.max()), abs=1e-6)
