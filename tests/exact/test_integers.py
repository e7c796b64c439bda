"""Integer arrays: exact at any size, read-only, floats the nearest."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from leakwise.exact import (
    integer_array,
    integer_product,
    is_power_of_two,
    log_array,
    log_upper,
    ratio_array,
    vector_times_matrix,
)

sizes = st.integers(1, 4)
integers = st.one_of(st.integers(0, 100), st.integers(0, 2**200))


@given(st.data())
def test_products_are_those_of_python(data: st.DataObject) -> None:
    rows, inner, columns = data.draw(sizes), data.draw(sizes), data.draw(sizes)
    left = [[data.draw(integers) for _ in range(inner)] for _ in range(rows)]
    right = [[data.draw(integers) for _ in range(columns)] for _ in range(inner)]
    expected = [[sum(row[k] * right[k][j] for k in range(inner)) for j in range(columns)] for row in left]
    product = integer_product(np.array(left, dtype=object), np.array(right, dtype=object))
    assert product.tolist() == expected
    assert all(type(entry) is int for entry in product.flat)
    assert vector_times_matrix(np.array(left[0], dtype=object), np.array(right, dtype=object)) == expected[0]


def test_products_of_words_do_not_overflow() -> None:
    big = np.array([[1 << 60, 1 << 60]])
    assert integer_product(big, big.T).tolist() == [[1 << 121]]
    assert vector_times_matrix(big[0], big.T) == [1 << 121]


@given(st.lists(st.integers(0, 2**70), min_size=1, max_size=5))
def test_arrays_are_words_while_they_fit(weights: list[int]) -> None:
    denominator = sum(weights) + 1
    array = integer_array(weights, denominator)
    assert array.tolist() == weights
    assert array.dtype == (np.int64 if denominator <= 1 << 61 else np.object_)
    assert integer_array(array, 1 << 80).tolist() == weights
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 1


def test_an_array_is_copied() -> None:
    given_array = np.array([1, 2])
    kept = integer_array(given_array, 3)
    given_array[0] = 9
    assert kept.tolist() == [1, 2]


@given(st.lists(st.integers(0, 2**1200), min_size=1, max_size=4), st.integers(1, 2**1300))
def test_ratios_are_the_nearest_floats(weights: list[int], extra: int) -> None:
    denominator = max(weights) + extra
    floats = ratio_array(integer_array(weights, denominator), denominator)
    assert floats.tolist() == [weight / denominator for weight in weights]
    assert not floats.flags.writeable


@given(st.lists(st.integers(0, 2**61), min_size=1, max_size=4), st.integers(1, 2**61))
@example([9_999_999_999_999_993], 3)
def test_ratios_of_words_are_the_nearest_floats(weights: list[int], denominator: int) -> None:
    array = np.array(weights, dtype=np.int64)
    assert ratio_array(array, denominator).tolist() == [float(Fraction(weight, denominator)) for weight in weights]


def test_powers_of_two() -> None:
    assert [number for number in range(-4, 20) if is_power_of_two(number)] == [1, 2, 4, 8, 16]
    assert is_power_of_two(1 << 500)
    assert not is_power_of_two((1 << 500) + 1)


def test_logarithms_go_on_below_the_floats() -> None:
    weights, denominator = [0, 1, 7 * 10**100, 10**410], 10**410
    logs = log_array(integer_array(weights, denominator), denominator)
    assert logs[0] == -math.inf
    for found, weight in zip(logs[1:].tolist(), weights[1:], strict=True):
        assert found == pytest.approx(log_upper(Fraction(weight, denominator)), rel=1e-15, abs=1e-15)
