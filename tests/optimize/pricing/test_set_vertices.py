"""Vertices as sets of letters: what is best among them is best in a list of all, for one limit or two, or LDP alone."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import leakwise as lw
from leakwise.optimize.pricing.set_vertices import ListedVertices, SetVertices
from leakwise.optimize.pricing.vertex_list import list_vertices
from leakwise.optimize.problem.cones import Intersection, LDPCone, LiftBox, pml_cone


def cones(prior, lift, times):
    box, ldp = pml_cone(prior, lift), LDPCone(prior, lift * times)
    return {"one limit": box, "two": Intersection([box, ldp]), "LDP": ldp, "both sides": LiftBox(prior, 1 / lift, lift)}


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(1, 30), min_size=2, max_size=7),
    st.fractions(Fraction(11, 10), 5),
    st.integers(2, 12),
    st.sampled_from(["one limit", "two", "LDP", "both sides"]),
    st.integers(0, 2**32 - 1),
)
def test_the_best_vertices_are_those_of_a_list_of_all(weights, lift, times, kind, seed):
    cone = cones(lw.Prior(weights), lift, times)[kind]
    generator = np.random.default_rng(seed)
    size = len(weights)
    root, y = generator.standard_normal((size, size)), 5 * generator.standard_normal(size)
    centre = root @ root.T
    every = list_vertices(cone)
    columns, largest = SetVertices(cone).best(centre, y, 5)
    listed, true = ListedVertices(every).best(centre, y, 5)
    assert largest == pytest.approx(true, rel=1e-9, abs=1e-9)
    assert listed[:, 0] @ centre @ listed[:, 0] - y @ listed[:, 0] == pytest.approx(true)
    costs = np.einsum("ij,ij->j", columns, centre @ columns) - y @ columns
    assert costs[0] == pytest.approx(largest)
    assert (np.diff(costs) <= 1e-9).all()
    assert cone.prior.probabilities @ columns == pytest.approx(np.ones(columns.shape[1]))
    assert (np.abs(columns[:, :1] - every).max(axis=0)).min() < 1e-9


def test_twenty_letters_have_over_a_million_vertices_and_none_is_missed_by_a_climb():
    prior = lw.Prior(np.random.default_rng(20).dirichlet(np.ones(20)))
    cone = pml_cone(prior, Fraction(2))
    vertices = SetVertices(cone)
    assert len(vertices) > 1_000_000
    generator = np.random.default_rng(1)
    root, y = generator.standard_normal((20, 20)), generator.standard_normal(20)
    centre = root @ root.T
    columns, largest = vertices.best(centre, y, 3)
    lifts = cone.linear_max(generator.standard_normal((20, 400)))[1]
    for _ in range(40):
        lifts = cone.linear_max(2 * centre @ lifts - y[:, None])[1]
    climbed = float((np.einsum("ij,ij->j", lifts, centre @ lifts) - y @ lifts).max())
    assert climbed <= largest + 1e-9
    assert columns[:, 0] @ centre @ columns[:, 0] - y @ columns[:, 0] == pytest.approx(largest)
