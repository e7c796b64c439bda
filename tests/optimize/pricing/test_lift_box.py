"""The best column of a box of lifts against all vertices."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leakwise.optimize.bounds.chord import chord_duals
from leakwise.optimize.pricing.lift_box import LiftPricing
from leakwise.optimize.pricing.vertex_list import list_vertices
from leakwise.optimize.problem.cones import pml_cone
from optimize.cones import FUNCTIONS, lifts_asked, names, priors, seeds


@given(priors(), lifts_asked, names, seeds, st.floats(0, 1))
@settings(max_examples=120)
def test_lift_pricing_against_all_vertices(prior, lift, name, seed, noise):
    f, cone = FUNCTIONS[name], pml_cone(prior, lift)
    pricing = LiftPricing(cone, f)
    p = prior.probabilities
    low, high = cone.entry_box()
    generator = np.random.default_rng(seed)
    # duals that treat letters of one mass alike, as those of the master do
    start = chord_duals(f, p, low, high)
    y = np.array([start[group[0]] for group in pricing.groups.letters])
    y = y + noise * generator.normal(size=len(y)) * pricing.groups.masses
    vertices = list_vertices(cone)
    per_letter = pricing.groups.per_letter(y)
    costs = p @ f(vertices) - per_letter @ vertices
    best = float(costs.max())
    priced = pricing.price(y, most=50, above=1e-9, largest_window=10**6)
    assert priced.complete
    assert priced.largest >= best - 1e-12  # an upper bound on every reduced cost
    if best > 1e-8:
        assert priced.largest == pytest.approx(best, abs=1e-9)
        assert pricing.costs_of(priced.vertices, y).max() == pytest.approx(best, abs=1e-9)
    elif len(priced.vertices):
        assert pricing.costs_of(priced.vertices, y).max() <= 1e-8
