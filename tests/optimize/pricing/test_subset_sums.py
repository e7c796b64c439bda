"""Windows of subset masses against brute force."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from leakwise.optimize.pricing.subset_sums import HalfTables
from optimize.cones import seeds


@given(st.lists(st.integers(1, 3), min_size=1, max_size=6), seeds, st.floats(0, 1), st.floats(0, 0.5))
@settings(max_examples=60)
def test_windows_of_subset_masses_against_brute_force(sizes, seed, start, width):
    masses = np.random.default_rng(seed).dirichlet(np.ones(len(sizes))) / np.array(sizes)
    tables = HalfTables(masses, np.array(sizes, dtype=np.int64))
    total, counts = tables.in_window(start, start + width, 10**6)
    every = list(itertools.product(*(range(size + 1) for size in sizes)))
    assert tables.in_window(-1.0, 2.0, 10**6)[0] == len(every)
    expected = {choice for choice in every if start <= float(np.dot(choice, masses)) <= start + width}
    edge = {
        choice
        for choice in every
        if min(abs(np.dot(choice, masses) - start), abs(np.dot(choice, masses) - start - width)) < 1e-12
    }
    found = {tuple(choice) for choice in counts.tolist()}
    assert total == len(counts) == len(found)
    assert found ^ expected <= edge
    if total:
        assert tables.in_window(start, start + width, total - 1) == (total, None)
