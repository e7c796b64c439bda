"""Ranges of lifts beyond twenty letters: letters heavier than what a column raises are not left out."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import leakwise as lw
from leakwise.optimize.problem.cones import Intersection, LDPCone, pml_cone
from leakwise.optimize.problem.utilities import as_utility
from leakwise.optimize.search.dispatch import search
from leakwise.optimize.search.limits import Limits


@pytest.mark.parametrize("both", [True, False])
def test_a_letter_heavier_than_a_column_raises_does_not_make_the_design_constant(both):
    weights = 1 / np.arange(1, 25)
    prior = lw.Prior(weights / weights.sum())
    loose = LDPCone(prior, Fraction(50))
    cone = Intersection([pml_cone(prior, Fraction(5)), loose]) if both else loose
    utility = as_utility("mutual_information")
    found = search(cone, utility, Limits(), "columns").found
    value = utility.value(found.lifts, found.weights, prior)
    assert 0.9 * found.bound < value <= found.bound
    for column in found.lifts.T:
        assert cone.contains(cone.snap(column, 1 << 40))
    assert found.lifts @ found.weights == pytest.approx(np.ones(len(prior)), abs=1e-9)
