"""The largest square over all vertices, by the checker's own tables: never below a list of them, and not far above."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import leakwise as lw
from leakwise.optimize.pricing.vertex_list import box_vertices as listed_box
from leakwise.proof.optimality.frequencies import largest_square, largest_square_in_range
from leakwise.proof.optimality.ranges import Range
from proof.vertices import box_vertices, range_vertices


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(1, 30), min_size=2, max_size=6),
    st.floats(1.1, 5),
    st.floats(1.5, 12),
    st.sampled_from(["box", "two limits", "LDP", "ball"]),
    st.integers(0, 2**32 - 1),
)
def test_no_vertex_of_a_list_is_above_the_largest_square(weights, lift, times, kind, seed):
    p = np.array(weights) / sum(weights)
    generator = np.random.default_rng(seed)
    root, y = generator.standard_normal((len(p), len(p) + 1)), 5 * generator.standard_normal(len(p))
    if kind == "box":
        vertices, where = box_vertices(p, 0.1, lift), Range(0.1, ((lift, 0.0),))
    else:
        pieces = {"two limits": ((0.0, lift * times), (lift, 0.0)), "LDP": ((0.0, lift),), "ball": ((lift, 0.1),)}
        where = Range(0.0, pieces[kind])
        vertices = range_vertices(p, where)
    largest = float((((root.T @ vertices) ** 2).sum(axis=0) - y @ vertices).max())
    shown = largest_square_in_range(root, y, p, where, box=kind == "box")
    assert largest <= shown <= largest + 1e-8 * (1 + abs(largest))
    assert largest_square(root, y, p, vertices) >= largest


def test_more_letters_than_one_table_holds_are_looked_at_table_by_table():
    p = np.random.default_rng(14).dirichlet(np.ones(14))
    root, y = np.random.default_rng(1).standard_normal((14, 14)), np.random.default_rng(2).standard_normal(14)
    vertices = listed_box(p, 0.0, 2.0)
    largest = float((((root.T @ vertices) ** 2).sum(axis=0) - y @ vertices).max())
    shown = largest_square_in_range(root, y, p, Range(0.0, ((2.0, 0.0),)), box=True)
    assert largest <= shown <= largest * (1 + 1e-9)
    assert largest_square_in_range(np.eye(21), np.zeros(21), np.full(21, 1 / 21), Range(0.0, ((2.0, 0.0),))) == np.inf


@pytest.mark.parametrize("anyone", [None, 50])
def test_the_bound_over_all_vertices_of_seventeen_values_is_checked_and_a_better_one_refused(anyone, tmp_path):
    prior = lw.Prior(np.random.default_rng(17).dirichlet(np.ones(17)))
    design = lw.design(prior, lift=5, anyone=anyone, utility="frequencies")
    claim = design.certificate.optimality
    assert claim.root is not None  # not the bound over J alone, which is 1% above
    assert claim.bound == pytest.approx(design.bound, rel=1e-9)
    forged = replace(claim, bound=claim.bound - 1e-4 * abs(claim.bound))
    replace(design.certificate, optimality=forged).save(tmp_path / "forged.json")
    with pytest.raises(lw.CertificateRejected):
        lw.verify(tmp_path / "forged.json")
