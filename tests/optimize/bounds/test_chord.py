"""The chord bound: the maximum of its linear program, and above every vertex."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from scipy.optimize import linprog

import leakwise as lw
from leakwise.optimize.bounds.chord import chord_duals, chord_maxima, chord_maximum
from leakwise.optimize.pricing.vertex_list import list_vertices
from leakwise.optimize.problem.cones import pml_cone
from optimize.cones import FUNCTIONS, lifts_asked, names, priors, seeds


@given(priors(), lifts_asked, names, seeds)
@settings(max_examples=80)
def test_the_chord_maximum_is_that_of_its_linear_program_and_above_every_vertex(prior, lift, name, seed):
    f, cone = FUNCTIONS[name], pml_cone(prior, lift)
    p = prior.probabilities
    low, high = cone.entry_box()
    y = np.random.default_rng(seed).normal(size=len(p)) * p
    found = chord_maximum(f, p, low, high, y)
    slope = np.divide(f(high) - f(low), high - low, out=np.zeros_like(p), where=high > low)
    base = float(p @ (f(low) - slope * low))
    answer = linprog(-(p * slope - y), A_eq=p[None, :], b_eq=[1.0], bounds=list(zip(low, high, strict=True)))
    assert found == pytest.approx(base - answer.fun, abs=1e-8)
    vertices = list_vertices(cone)
    assert found >= (p @ f(vertices) - y @ vertices).max() - 1e-12


@given(priors(), names, seeds)
def test_the_maxima_of_many_cubes_are_those_of_each_and_never_below(prior, name, seed):
    f, p, generator = FUNCTIONS[name], prior.probabilities, np.random.default_rng(seed)
    y = generator.normal(size=len(p)) * p
    low, high = generator.random(9), 1 + 3 * generator.random(9)
    low[:3], high[0] = [1, 0, 0.5], 1
    found = chord_maxima(f, p, low, high, y)
    one_by_one = [
        chord_maximum(f, p, np.full(len(p), a), np.full(len(p), b), y) for a, b in zip(low, high, strict=True)
    ]
    assert found == pytest.approx(one_by_one, rel=1e-12, abs=1e-12)
    assert (found >= np.array(one_by_one) - 1e-15).all()


@given(priors(most=7), lifts_asked, names)
@settings(max_examples=40)
def test_the_global_bound_of_math_section_2(prior, lift, name):
    f, cone = FUNCTIONS[name], pml_cone(prior, lift)
    p = prior.probabilities
    low, high = cone.entry_box()
    duals = chord_duals(f, p, low, high)
    bound = duals.sum() + max(chord_maximum(f, p, low, high, duals), 0.0)
    formula = float(p @ (f(np.zeros_like(p)) + (f(high) - f(np.zeros_like(p))) / high))
    assert bound <= formula + 1e-9  # the box from below, which the formula does not use, can only help
    assert bound >= lw.design(prior, lift=lift, utility=name).value
