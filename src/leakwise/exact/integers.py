"""Arrays of exact integers: machine words while they fit, Python integers beyond."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from leakwise.types import Array, Floats

__all__ = [
    "IntegerArray",
    "integer_array",
    "integer_product",
    "is_power_of_two",
    "log_array",
    "ratio_array",
    "vector_times_matrix",
]

# int64 where the denominator leaves room for sums and differences of two weights, object (Python int) beyond.
IntegerArray = Array

_WORD_LIMIT = 1 << 61
_EXACT_FLOAT = 1 << 53
# Below this floats lose digits.
_NORMAL = 1e-300


def integer_array(values: Iterable[Any] | Array, denominator: int) -> IntegerArray:
    """Return a read-only array of integers, in machine words when weights over ``denominator`` fit them."""
    dtype = np.int64 if denominator <= _WORD_LIMIT else np.object_
    # In an object array, machine words become Python integers.
    array = values.astype(dtype) if isinstance(values, np.ndarray) else np.array(list(values), dtype=dtype)
    array.flags.writeable = False
    return array


def ratio_array(weights: IntegerArray, denominator: int) -> Floats:
    """Return the float view of weights over a denominator, read-only, each the float nearest to the truth."""
    small = weights.dtype == np.int64 and denominator <= _EXACT_FLOAT and weights.max(initial=0) <= _EXACT_FLOAT
    if small or (weights.dtype == np.int64 and is_power_of_two(denominator)):
        floats = weights / float(denominator)  # one rounding only: of the quotient, or of the weight
    else:
        # Python divides integers of any size with one rounding; a float denominator might overflow.
        divide = np.frompyfunc(lambda weight: weight / denominator, 1, 1)
        floats = divide(weights).astype(np.float64)
    floats.flags.writeable = False
    return floats


def log_array(weights: IntegerArray, denominator: int) -> Floats:
    """Return the logarithms of weights over a denominator, each within 2 units; -∞ only where a weight is 0.

    A probability below all floats has a logarithm, too.
    """
    floats = ratio_array(weights, denominator)
    with np.errstate(divide="ignore"):
        logs: Floats = np.log(floats)
    below = np.asarray((floats < _NORMAL) & (weights != 0), dtype=np.bool_)
    if below.any():
        logs[below] = [_log_of_tiny(int(weight), denominator) for weight in weights[below].tolist()]
    return logs


def _log_of_tiny(weight: int, denominator: int) -> float:
    shift = denominator.bit_length() - weight.bit_length()
    return math.log((weight << shift) / denominator) - shift * math.log(2.0)


def vector_times_matrix(vector: IntegerArray, matrix: IntegerArray) -> list[int]:
    """Return the exact product of a row vector and a matrix."""
    product = np.dot(vector.astype(np.object_), matrix.astype(np.object_))
    return [int(value) for value in product]


def integer_product(left: IntegerArray, right: IntegerArray) -> IntegerArray:
    """Return the exact product of two integer matrices, as Python integers."""
    from flint import fmpz_mat

    rows, inner = left.shape
    columns = right.shape[1]
    product = fmpz_mat(rows, inner, left.ravel().tolist()) * fmpz_mat(inner, columns, right.ravel().tolist())
    entries = np.array([int(entry) for entry in product.entries()], dtype=np.object_)
    return entries.reshape(rows, columns)


def is_power_of_two(number: int) -> bool:
    """Return whether an integer is 1, 2, 4, 8 …"""
    return number > 0 and number & (number - 1) == 0
