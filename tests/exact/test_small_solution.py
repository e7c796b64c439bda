"""Small whole numbers with a given weighted sum."""

from __future__ import annotations

import math

from hypothesis import given, settings
from hypothesis import strategies as st

from leakwise.exact import small_solution


@given(st.lists(st.integers(1, 2**54), min_size=2, max_size=9), st.integers(-(2**60), 2**60))
@settings(max_examples=60)
def test_the_sum_is_right_wherever_there_is_a_solution(weights, total):
    found = small_solution(weights, total)
    if total % math.gcd(*weights):
        assert found is None
    else:
        assert sum(w * x for w, x in zip(weights, found, strict=True)) == total


def test_entries_are_small():
    """Eight weights of 50 bits: entries of about 50/7 bits, where Bezout's own have 50."""
    weights = [5 ** (40 + 3 * k) % 2**50 for k in range(8)]
    found = small_solution(weights, 1)
    assert max(map(abs, found)) < 2**12


def test_no_weights_have_no_solution():
    assert small_solution([], 5) is None
    assert small_solution([], 0) == []
