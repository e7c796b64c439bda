"""The vertices that [EX] Algorithm 1 lists, and how many there are."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import leakwise as lw
from leakwise.exact import level
from leakwise.optimize.pricing.vertex_list import list_vertices, vertex_count_bound
from leakwise.optimize.problem.cones import pml_cone


def test_ex_example_3_vertices_of_region_2():
    prior = lw.Prior([0.5, 0.3, 0.2])
    assert prior.region(0.4) == 2
    vertices = list_vertices(pml_cone(prior, level(0.4).below))
    assert prior.probabilities @ vertices == pytest.approx(np.ones(vertices.shape[1]))
    inner = (vertices > 1e-9) & (vertices < math.exp(0.4) - 1e-9)
    assert (inner.sum(axis=0) <= 1).all()
    # the last vector shown in the paper, (e^ε, e^ε, r_3(3)), would need r_3(3) ≥ 0: infeasible here
    assert 1 - math.exp(0.4) * (1 - 0.2) < 0


@pytest.mark.parametrize(("letters", "lift"), [(4, 3), (5, 2), (6, "7/2")])
def test_erratum_of_14_the_uniform_prior_has_fewer_vertices(letters, lift):
    prior = lw.Prior.uniform(letters)
    region = prior.region(lift=lift)
    count = list_vertices(pml_cone(prior, Fraction(lift))).shape[1]
    exact = Fraction(lift) * (letters - region) == letters  # on a border the free letter vanishes
    assert count <= (letters - region + 1) * math.comb(letters, region - 1) <= vertex_count_bound(letters, region)
    if not exact:
        assert count == (letters - region + 1) * math.comb(letters, region - 1)


def test_enumeration_lists_the_vertices_of_every_bound_on_lifts():
    prior = lw.Prior([5, 4, 3, 2, 1])
    for constraint in (
        {"lip": 0.5},
        {"ldp": 0.7},
        {"epsilon": 0.4, "ldp": 0.7},
        {"epsilon": 0.3, "lip": 0.5, "ldp": 0.7},
    ):
        listed = lw.design(prior, method="enumeration", **constraint)
        searched = lw.design(prior, method="columns", **constraint)
        assert listed.value == pytest.approx(searched.value, abs=1e-9)
