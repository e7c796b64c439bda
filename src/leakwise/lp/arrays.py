"""Checked arrays for the solver: finite numbers, right sizes, compressed columns."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from leakwise.errors import InvalidInput
from leakwise.types import Counts, Floats

__all__ = ["Compressed", "MatrixLike", "bounds", "compress", "indices", "vector"]

MatrixLike: TypeAlias = ArrayLike | tuple[ArrayLike, ArrayLike, ArrayLike]

SMALLEST = 1e-12
"""Coefficients below this are zero to HiGHS. They are removed here, where it can be said aloud."""

LARGEST = 1e15
"""Coefficients above this are refused by HiGHS."""

INFINITE = 1e20
"""Costs and bounds from here on are infinite to HiGHS. They are refused here: inf must be written inf."""


class Compressed(NamedTuple):
    """A matrix by compressed columns (or rows): values, their minor indices, and where each line starts."""

    data: Floats
    indices: NDArray[np.int32]
    starts: NDArray[np.int32]


def vector(name: str, value: ArrayLike, size: int | None = None) -> Floats:
    """Return a finite float vector; a scalar is spread over ``size`` entries."""
    array = _numbers(name, value)
    if array.ndim == 0 and size is not None:
        array = np.full(size, float(array))
    array = np.atleast_1d(array)
    if array.ndim != 1 or (size is not None and array.size != size):
        expected = "a vector" if size is None else f"a number or a vector of length {size}"
        raise InvalidInput(f"{name} has shape {array.shape}; expected {expected}.")
    bad = np.flatnonzero(~(np.abs(array) < INFINITE))
    if bad.size:
        raise InvalidInput(
            f"{name}[{bad[0]}] is {array[bad[0]]}; every entry must be a finite number below {INFINITE:g} in "
            f"absolute value ({bad.size} of {array.size} are not). Remove or rescale them."
        )
    return array


def bounds(name: str, lower: ArrayLike, upper: ArrayLike, size: int) -> tuple[Floats, Floats]:
    """Lower and upper bounds of ``size`` lines; -inf and inf mean none."""
    low, up = (
        np.broadcast_to(_numbers(f"{name}_{side}", value), (size,)).copy()
        if np.ndim(value) == 0 or np.shape(value) == (size,)
        else _wrong_shape(f"{name}_{side}", np.shape(value), size)
        for side, value in (("lower", lower), ("upper", upper))
    )
    for side, array, forbidden in (("lower", low, np.inf), ("upper", up, -np.inf)):
        bad = np.flatnonzero(~((np.abs(array) < INFINITE) | (array == -forbidden)))
        if bad.size:
            raise InvalidInput(
                f"{name}_{side}[{bad[0]}] is {array[bad[0]]}; expected {-forbidden} (no bound) or a number "
                f"below {INFINITE:g} in absolute value."
            )
    bad = np.flatnonzero(low > up)
    if bad.size:
        i = bad[0]
        raise InvalidInput(f"{name}_lower[{i}] = {low[i]} exceeds {name}_upper[{i}] = {up[i]}: no value fits between.")
    return low, up


def compress(name: str, matrix: MatrixLike, lines: int, depth: int) -> Compressed:
    """Compressed lines (columns, each ``depth`` long) of a dense (depth × lines) array or a CSC triple.

    Coefficients smaller than 1e-12 in absolute value become zeros: the solver would drop them, and times variables up
    to 100 they stay below its feasibility tolerance of 1e-10.
    """
    if isinstance(matrix, tuple):
        data, minor, starts = _triple(name, matrix, lines, depth)
    else:
        dense = _numbers(name, matrix)
        if dense.ndim == 1 and lines == 1:
            dense = dense[:, None]
        if dense.shape != (depth, lines):
            raise InvalidInput(
                f"{name} has shape {dense.shape}; expected {(depth, lines)} (rows, columns), "
                "or a tuple (data, indices, indptr) of compressed columns."
            )
        by_line = dense.T
        line, minor = np.nonzero(by_line)
        data = by_line[line, minor]
        starts = np.concatenate(([0], np.cumsum(np.bincount(line, minlength=lines))))
    size = np.abs(data)
    bad = np.flatnonzero(~(size <= LARGEST))
    if bad.size:
        raise InvalidInput(
            f"{name} has the coefficient {data[bad[0]]}; every coefficient must be finite and at most "
            f"{LARGEST:g} in absolute value. Rescale the rows or columns concerned."
        )
    keep = size >= SMALLEST
    if not keep.all():
        starts = np.concatenate(([0], np.cumsum(keep)))[starts]
        data, minor = data[keep], minor[keep]
    return Compressed(np.ascontiguousarray(data, dtype=np.float64), minor.astype(np.int32), starts.astype(np.int32))


def indices(name: str, value: ArrayLike, size: int) -> NDArray[np.int32]:
    """Distinct indices below ``size``."""
    array = np.atleast_1d(np.asarray(value))
    if array.ndim != 1 or not (np.issubdtype(array.dtype, np.integer) or array.size == 0):
        raise InvalidInput(f"{name} must be a vector of integers, not {array.dtype} of shape {array.shape}.")
    bad = np.flatnonzero((array < 0) | (array >= size))
    if bad.size:
        raise InvalidInput(f"{name}[{bad[0]}] = {array[bad[0]]} is outside 0..{size - 1}.")
    return array.astype(np.int32)


def _numbers(name: str, value: ArrayLike) -> Floats:
    try:
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"{name} must be made of numbers; got {type(value).__name__}: {error}.") from error


def _wrong_shape(name: str, shape: tuple[int, ...], size: int) -> Floats:
    raise InvalidInput(f"{name} has shape {shape}; expected a number or a vector of length {size}.")


def _triple(
    name: str, matrix: tuple[ArrayLike, ArrayLike, ArrayLike], lines: int, depth: int
) -> tuple[Floats, Counts, Counts]:
    if len(matrix) != 3:
        raise InvalidInput(f"{name} is a tuple of {len(matrix)}; a tuple must be (data, indices, indptr).")
    data = _numbers(name, matrix[0])
    minor, starts = (np.asarray(part).astype(np.int64) for part in matrix[1:])
    sound = (
        data.ndim == minor.ndim == starts.ndim == 1
        and data.size == minor.size
        and starts.size == lines + 1
        and starts[0] == 0
        and starts[-1] == data.size
        and bool((np.diff(starts) >= 0).all())
    )
    if not sound:
        raise InvalidInput(
            f"{name} = (data, indices, indptr) has sizes {data.shape}, {minor.shape}, {starts.shape}; "
            f"expected equal sizes for the first two and a rising indptr of length {lines + 1} "
            f"from 0 to {data.size}."
        )
    if minor.size and (minor.min() < 0 or minor.max() >= depth):
        raise InvalidInput(f"{name} has an index {minor.min()}..{minor.max()} outside 0..{depth - 1}.")
    place = np.repeat(np.arange(lines), np.diff(starts)) * max(depth, 1) + minor
    if np.unique(place).size < place.size:
        raise InvalidInput(f"{name} gives the same coefficient twice; sum the duplicates first.")
    return data, minor, starts
