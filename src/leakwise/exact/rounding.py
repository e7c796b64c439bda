"""Rows of probabilities as integers over one denominator: sums exact, zeros kept, nothing vanishes."""

from __future__ import annotations

import numpy as np

from leakwise.errors import InvalidInput
from leakwise.exact.integers import IntegerArray
from leakwise.types import Bools, Counts, Floats

__all__ = ["round_float_rows", "round_integer_rows"]


def round_float_rows(matrix: Floats, bits: int) -> Counts:
    """Return rows of floats as integers over 2^bits (bits ≤ 60).

    Each entry goes to the nearest integer; what the row then misses of 2^bits goes to its largest entry, where it
    matters least. The caller has checked that the rows are within 1e-9 of 1.
    """
    scaled = np.rint(np.ldexp(matrix, bits)).astype(np.int64)
    way_out = "Give the matrix as Fractions to keep them exactly, or set them to zero yourself."
    _refuse_vanished(scaled == 0, matrix != 0, bits, way_out)
    missing = (1 << bits) - scaled.sum(axis=1)
    rows = np.arange(len(scaled))
    largest = scaled.argmax(axis=1)
    scaled[rows, largest] += missing
    return scaled


def round_integer_rows(weights: IntegerArray, denominator: int, bits: int) -> IntegerArray:
    """Integer rows over ``denominator`` as integer rows over 2^bits, by largest remainders."""
    target = 1 << bits
    wide = weights.astype(np.object_) * target
    floor: IntegerArray = wide // denominator
    remainder = wide - floor * denominator
    missing = target - floor.sum(axis=1)
    for row, units in enumerate(missing):
        # Stable sort: among equal remainders the first letters take the units, so that the result is one.
        order = sorted(range(floor.shape[1]), key=lambda column: -remainder[row, column])
        for column in order[: int(units)]:
            floor[row, column] += 1
    way_out = "Use more bits (at most 64), or set them to zero in the matrix yourself."
    _refuse_vanished(floor == 0, weights != 0, bits, way_out)
    return floor


def _refuse_vanished(is_zero: Bools, was_positive: Bools, bits: int, way_out: str) -> None:
    vanished = np.argwhere(is_zero & was_positive)
    if len(vanished):
        row, column = (int(index) for index in vanished[0])
        raise InvalidInput(
            f"{len(vanished)} positive probabilities are too small for the denominator 2^{bits} and would become "
            f"impossible, the first in row {row}, column {column}. {way_out}"
        )
