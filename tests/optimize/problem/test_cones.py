"""Cones against linear programs: maxima, entry boxes, snapped columns, membership."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leakwise.optimize.problem.cones import LDPCone
from optimize.cones import CONES, cone_of, lifts_asked, linear_program, priors, seeds


@given(priors(most=6), lifts_asked, seeds, st.sampled_from(CONES))
@settings(max_examples=80)
def test_linear_max_against_a_linear_program(prior, lift, seed, kind):
    cone = cone_of(kind, prior, lift)
    objectives = np.random.default_rng(seed).normal(size=(len(prior), 3))
    values, vertices = cone.linear_max(objectives)
    assert prior.probabilities @ vertices == pytest.approx(np.ones(3), abs=1e-9)
    assert np.sum(objectives * vertices, axis=0) == pytest.approx(values, abs=1e-8)
    for objective, value in zip(objectives.T, values, strict=True):
        assert value == pytest.approx(linear_program(cone, objective), abs=1e-7)


@given(priors(most=6), lifts_asked, st.sampled_from(CONES))
@settings(max_examples=40)
def test_entry_boxes_hold_every_lift_and_are_reached_by_single_constraints(prior, lift, kind):
    cone = cone_of(kind, prior, lift)
    low, high = cone.entry_box()
    for letter, unit in enumerate(np.eye(len(prior))):
        most, least = linear_program(cone, unit), -linear_program(cone, -unit)
        assert low[letter] <= least + 1e-9
        assert most <= high[letter] + 1e-9
        if kind != "both":
            assert (low[letter], high[letter]) == pytest.approx((least, most), abs=1e-7)


@given(priors(most=6), lifts_asked, seeds, st.sampled_from(CONES), st.integers(20, 60))
@settings(max_examples=80)
def test_snapped_columns_are_in_the_cone_and_close(prior, lift, seed, kind, bits):
    cone = cone_of(kind, prior, lift)
    objectives = np.random.default_rng(seed).normal(size=(len(prior), 2))
    mass = 1 << bits
    for vertex in cone.linear_max(objectives)[1].T:
        column = cone.snap(vertex, mass)
        assert all(isinstance(value, int) and value >= 0 for value in column)
        assert cone.contains(column)
        if bits >= 50:
            # the free letter takes up what rounding did to the others, in proportion to their mass over its own
            room = 1e-9 * max(1.0, 1 / float(prior.least_probability))
            assert np.array(column, dtype=float) / mass == pytest.approx(vertex, abs=room)


@given(priors(most=5), lifts_asked, st.sampled_from(CONES))
@settings(max_examples=40)
def test_membership_is_decided_exactly(prior, lift, kind):
    cone = cone_of(kind, prior, lift)
    assert cone.contains([7] * len(prior))
    if isinstance(cone, LDPCone):
        scale = lift.denominator
        column = [scale] * len(prior)
        column[0] = lift.numerator
        assert cone.contains(column)
        column[0] += 1
        assert not cone.contains(column)
    if kind == "pml":
        # v = (x, 1, …, 1) has lift x / (π_0 x + 1 - π_0): solve for the x that reaches it
        share = prior.fractions[0]
        if lift * share < 1:
            x = lift * (1 - share) / (1 - lift * share)
            column = [x.denominator] * len(prior)
            column[0] = x.numerator
            assert cone.contains(column)
            column[0] += 1
            assert not cone.contains(column)
