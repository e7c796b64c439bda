"""Rounded rows: sums exact, zeros kept, nothing vanishes, little moved."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leakwise.errors import InvalidInput
from leakwise.exact import over_common_denominator, round_float_rows, round_integer_rows
from strategies import Matrix, matrices

UNIT = 1 << 60


@given(matrices())
def test_float_rows(matrix: Matrix) -> None:
    floats = np.array([[float(entry) for entry in row] for row in matrix])
    rounded = round_float_rows(floats, 60)
    assert rounded.dtype == np.int64
    for row, given_row in zip(rounded.tolist(), floats.tolist(), strict=True):
        assert sum(row) == UNIT
        change = [abs(Fraction(weight, UNIT) - Fraction(entry)) for weight, entry in zip(row, given_row, strict=True)]
        off = abs(1 - sum(map(Fraction, given_row)))
        largest = max(range(len(row)), key=lambda place: given_row[place])
        assert all((weight == 0) == (entry == 0) for weight, entry in zip(row, given_row, strict=True))
        assert min(row) >= 0
        # All but one entry move by half a unit at most; one takes up what the row missed.
        assert sum(moved > Fraction(1, 2 * UNIT) for moved in change) <= 1
        assert max(change) <= off + Fraction(len(row) + 1, 2 * UNIT)
        assert row[largest] == max(row) or abs(row[largest] - max(row)) <= (off * UNIT) + len(row)


def test_a_float_row_that_misses_one_is_filled_at_its_largest_entry() -> None:
    assert round_float_rows(np.array([[0.25, 0.75 - 2.0**-31]]), 60).tolist() == [[1 << 58, 3 << 58]]


@pytest.mark.parametrize("small", [2.0**-62, 1e-300, 5e-324])
def test_a_float_too_small_is_refused_and_not_dropped(small: float) -> None:
    with pytest.raises(InvalidInput, match=r"1 positive probabilities are too small.*row 1, column 0.*Fractions"):
        round_float_rows(np.array([[0.5, 0.5], [small, 1.0]]), 60)


@given(matrices(), st.integers(1, 64))
def test_integer_rows(matrix: Matrix, bits: int) -> None:
    entries, denominator = over_common_denominator([entry for row in matrix for entry in row])
    weights = np.array(entries, dtype=object).reshape(len(matrix), -1)
    target = 1 << bits
    exact = [[entry * target for entry in row] for row in matrix]
    try:
        rounded = round_integer_rows(weights, denominator, bits)
    except InvalidInput:
        # Refused only where an entry below one unit exists; such an entry may have become zero.
        assert any(0 < entry < 1 for row in exact for entry in row)
        return
    for row, truth in zip(rounded.tolist(), exact, strict=True):
        assert sum(row) == target
        assert all(abs(weight - entry) < 1 for weight, entry in zip(row, truth, strict=True))
        assert all((weight == 0) == (entry == 0) for weight, entry in zip(row, truth, strict=True))


def test_integer_rows_that_are_dyadic_stay_exactly() -> None:
    assert round_integer_rows(np.array([[1, 3], [4, 0]]), 4, 60).tolist() == [[1 << 58, 3 << 58], [1 << 60, 0]]


def test_equal_remainders_go_to_the_first_letters() -> None:
    assert round_integer_rows(np.array([[1, 1, 1]]), 3, 2).tolist() == [[2, 1, 1]]


def test_an_integer_too_small_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"too small for the denominator 2\^2.*row 0, column 0.*more bits"):
        round_integer_rows(np.array([[1, 999]]), 1000, 2)
