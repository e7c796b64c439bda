"""Skewed priors: the heaviest letters first, against all vertices, and proven optima."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import leakwise as lw
from leakwise.optimize.pricing.heaviest_first import Letters, heaviest_first
from leakwise.optimize.pricing.lift_box import LiftPricing
from leakwise.optimize.pricing.vertex_list import list_vertices
from leakwise.optimize.problem.cones import LiftBox, pml_cone
from leakwise.optimize.search.limits import Limits
from leakwise.optimize.search.near_perfect import search_near_perfect
from optimize.cones import FUNCTIONS, lifts_asked, names, seeds


@st.composite
def skewed(draw):
    """A few heavy letters, many light ones, some of them alike."""
    weights = draw(st.lists(st.integers(0, 30).map(lambda k: 2**k), min_size=2, max_size=8))
    return lw.Prior(weights)


@given(skewed(), lifts_asked, st.booleans(), names, seeds, st.floats(0, 3), st.sampled_from([1, 3, 10**6]))
@settings(max_examples=150)
def test_heaviest_first_against_all_vertices(prior, lift, below, name, seed, noise, branches):
    cone = LiftBox(prior, 1 / (2 * lift) if below else Fraction(0), lift)
    f, pricing = FUNCTIONS[name], LiftPricing(cone, FUNCTIONS[name])
    order = np.argsort(-pricing.groups.masses, kind="stable")
    masses, sizes = pricing.groups.masses[order], pricing.groups.sizes[order]
    y = noise * np.random.default_rng(seed).normal(size=len(masses)) * masses
    box = (pricing.box_low[order], pricing.box_high[order])
    letters = Letters(f, masses, sizes, y, pricing.low, pricing.high, box)
    vertices = list_vertices(cone)
    unsorted = np.empty_like(y)
    unsorted[order] = y
    costs = prior.probabilities @ f(vertices) - pricing.groups.per_letter(unsorted) @ vertices
    best = float(costs.max())
    counts, free, largest, exact = heaviest_first(letters, most=5, above=best - 1, branches=branches)
    assert largest >= best - 1e-11 * (1 + abs(best))  # whether or not all branches were followed
    if branches == 10**6:
        assert exact
        assert largest == pytest.approx(best, abs=1e-9)
        back = np.empty_like(counts)
        back[:, order] = counts
        found = pricing.completed(back, order[free])
        assert pricing.costs_of(found, unsorted).max() == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_skewed_priors_are_solved_to_a_proven_optimum(seed):
    weights = np.random.default_rng(seed).dirichlet(np.full(30, 0.1))
    d = lw.design(lw.Prior(weights), 0.8)
    assert d.gap < 1e-9


def test_a_heavy_letter_among_sixty_does_not_leave_the_constant_answer():
    prior = lw.Prior(np.random.default_rng(0).dirichlet(np.full(60, 0.3)))
    cone = pml_cone(prior, Fraction(739, 100))
    found = search_near_perfect(cone, FUNCTIONS["mutual_information"], Limits())
    value = prior.probabilities @ FUNCTIONS["mutual_information"](found.lifts) @ found.weights
    assert found.bound - value < 0.01 * value
