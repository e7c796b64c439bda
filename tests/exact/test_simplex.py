"""The best mixture in fractions: against SciPy's linear programs, and exact where floats are not."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from leakwise.exact.simplex import best_mixture


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_the_mixture_is_exact_and_the_best(data: st.DataObject) -> None:
    size, count = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 9))
    entries = data.draw(st.lists(st.integers(0, 5), min_size=size * count, max_size=size * count))
    matrix = np.array(entries).reshape(size, count)
    utilities = [float(value) for value in data.draw(st.lists(st.integers(-9, 9), min_size=count, max_size=count))]
    columns = [{row: Fraction(int(v), 3) for row, v in enumerate(column) if v} for column in matrix.T]
    weights = best_mixture(columns, size, utilities)
    # An empty column is left out, whatever its utility.
    bounds = [(0, None) if column else (0, 0) for column in columns]
    answer = linprog([-value for value in utilities], A_eq=matrix / 3, b_eq=np.ones(size), bounds=bounds)
    if weights is None:
        assert answer.status == 2
        return
    assert min(weights) >= 0
    for row in range(size):
        assert sum(w * column.get(row, 0) for w, column in zip(weights, columns, strict=True)) == 1
    assert answer.status == 0
    value = sum(float(w) * u for w, u in zip(weights, utilities, strict=True))
    assert value == pytest.approx(-answer.fun, abs=1e-9)


def test_a_hair_is_told_from_nothing() -> None:
    hair = Fraction(1, 10**40)
    assert best_mixture([{0: Fraction(1), 1: 1 - hair}], 2) is None
    weights = best_mixture([{0: Fraction(1), 1: 1 - hair}, {1: Fraction(1)}], 2)
    assert weights == [1, hair]
