"""The checker's bound on the mean of squared lifts: above every mechanism, and as close as the finder's."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import leakwise as lw
from leakwise.proof.optimality.mean_squares import largest_mean_square, range_box
from leakwise.proof.optimality.ranges import Range
from proof.vertices import range_vertices


@given(
    st.lists(st.integers(1, 30), min_size=3, max_size=6),
    st.floats(1.2, 6),
    st.floats(2, 12),
    st.lists(st.floats(0.05, 1), min_size=12, max_size=12),
    st.booleans(),
)
@settings(max_examples=60)
def test_no_vertex_is_outside_the_box_and_no_mechanism_above_the_mean(weights, lift, times, numbers, both):
    p = np.array(weights) / sum(weights)
    size = len(p)
    d, y = np.array(numbers[:size]), 5 * np.array(numbers[6 : 6 + size])
    where = Range(0.0, ((0.0, lift * times), *([(lift, 0.0)] if both else [])))
    vertices = range_vertices(p, where)
    low, high = range_box(p, where)
    assert (vertices >= low[:, None] - 1e-9).all()
    assert (vertices <= high[:, None] + 1e-9).all()
    bound = largest_mean_square(d, y, p, where)
    # A mechanism of N columns at most: its mean of squares by the definition.
    for chosen in itertools.islice(itertools.combinations(range(vertices.shape[1]), size), 60):
        columns = vertices[:, chosen]
        if np.linalg.cond(columns) < 1e9:
            shares = np.linalg.solve(columns, np.ones(size))
            if (shares >= -1e-12).all():
                assert d @ (columns**2 @ shares) <= bound * (1 + 1e-9)
    assert sum(y) + (d @ vertices**2 - y @ vertices).max() >= 0


def test_certificates_of_two_limits_carry_the_bound_of_the_design():
    prior = lw.Prior(np.random.default_rng(30).dirichlet(np.ones(30)))
    design = lw.design(prior, lift=2, ldp=math.log(20), utility="frequencies")
    claim = design.certificate.optimality
    assert len(claim.duals) == 90
    assert claim.bound == pytest.approx(design.bound, rel=1e-3)
    design.certificate.verify()


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_subset_selection_is_proven_optimal_for_a_uniform_prior(epsilon):
    size, ratio = 20, math.exp(epsilon)
    means = [(k * ratio**2 + size - k) * size / (k * ratio + size - k) ** 2 for k in range(1, size)]
    design = lw.design(lw.Prior.uniform(size), ldp=epsilon, utility="frequencies")
    assert design.certificate.optimality.bound == pytest.approx(
        -((size - 1) ** 2) / (size * (max(means) - 1)), rel=1e-6
    )
