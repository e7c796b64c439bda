"""What both samplers share: checked integers in, checked codes in, a result array out, and the search."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from leakwise.errors import InvalidInput, some_of
from leakwise.types import Array, Bools, Indices, Words

__all__ = [
    "BLOCK",
    "RestOfWords",
    "blend",
    "blocks",
    "checked_bits",
    "checked_words",
    "exact_integers",
    "lower_bound",
    "prepare",
    "row_sums",
]

# Rows handled at once. The largest scratch array then takes 1 MiB, and Python's cost per call is spread thin.
BLOCK = 1 << 17

# Given the places in the block whose draw the leading bits do not settle, the remaining bits of their words.
RestOfWords = Callable[[Indices], Array]

_MODULUS = 1 << 64


def checked_bits(bits: int) -> int:
    """Return ``bits`` as an int from 1 to 64."""
    try:
        value = operator.index(bits)
    except TypeError:
        value = 0
    if not 1 <= value <= 64:
        raise InvalidInput(f"bits must be an integer from 1 to 64 (the denominator is 2**bits). Got {bits!r} instead.")
    return value


def exact_integers(values: ArrayLike, name: str, ndim: int) -> tuple[Words, Bools | None]:
    """Return non-negative integers up to 2**64 as unsigned words, and where (if anywhere) the value is 2**64 itself.

    A word cannot hold 2**64, the weight of a sure outcome when ``bits`` is 64: it is stored as 0 and marked.
    """
    array = np.asarray(values)
    if array.ndim != ndim or array.size == 0:
        raise InvalidInput(f"{name} must be a non-empty array of {ndim} dimension(s). Got shape {array.shape} instead.")
    if array.dtype.kind == "u":
        return array.astype(np.uint64), None
    if array.dtype.kind == "i":
        if int(array.min()) < 0:
            raise InvalidInput(f"{name} must not be negative. Got {_first(array, array < 0)} among them.")
        return array.astype(np.uint64), None
    if array.dtype.kind != "O":
        raise InvalidInput(
            f"{name} must be integers. Got an array of {array.dtype} instead; "
            f"convert exactly first (integers beyond 2**63 belong in an array of dtype=object)."
        )
    try:
        integers = [operator.index(value) for value in array.ravel()]
    except TypeError as error:
        raise InvalidInput(f"{name} must be integers. Got something else among them: {error}.") from error
    bad = [value for value in integers if not 0 <= value <= _MODULUS]
    if bad:
        raise InvalidInput(f"{name} must lie from 0 to 2**64. Got {some_of(bad)} among them.")
    words = np.array([value % _MODULUS for value in integers], dtype=np.uint64).reshape(array.shape)
    if _MODULUS not in integers:
        return words, None
    return words, np.array([value == _MODULUS for value in integers]).reshape(array.shape)


def row_sums(words: Words, whole: Bools | None) -> list[int]:
    """Return the exact sums over the last axis, as Python integers."""
    # Halves of 32 bits cannot overflow a 64-bit sum before 2**32 of them.
    low = np.atleast_1d((words & np.uint64(0xFFFF_FFFF)).sum(axis=-1, dtype=np.uint64))
    high = np.atleast_1d((words >> np.uint64(32)).sum(axis=-1, dtype=np.uint64))
    sums = [(h << 32) + v for h, v in zip(high.tolist(), low.tolist(), strict=True)]
    if whole is not None:
        certain = np.atleast_1d(whole.sum(axis=-1))
        sums = [total + _MODULUS * int(count) for total, count in zip(sums, certain, strict=True)]
    return sums


def prepare(codes: ArrayLike, rows: int, dtype: np.dtype[Any], out: Array | None) -> tuple[Array, Array, Array]:
    """Return the codes checked and flat, the result array in the shape of the codes, and a flat view of it."""
    array = np.asarray(codes)
    if array.size == 0 and not isinstance(codes, np.ndarray):
        array = array.astype(np.intp)  # an empty list has no dtype of its own
    if array.dtype.kind not in "iu":
        raise InvalidInput(
            f"codes must be an array of integer row numbers. Got dtype {array.dtype} instead; "
            f"encode the values by their place in the alphabet first."
        )
    if array.size:
        high = int(array.max())
        low = int(array.min()) if array.dtype.kind == "i" else 0
        if high >= rows or low < 0:
            wrong = (array >= rows) | (array < 0) if array.dtype.kind == "i" else array >= rows
            raise InvalidInput(
                f"codes must lie from 0 to {rows - 1}. Got {_first(array, wrong)} "
                f"({int(wrong.sum())} of {array.size} are outside); check the values against the alphabet."
            )
    if out is None:
        result = np.empty(array.shape, dtype)
    elif out.shape != array.shape or not np.can_cast(dtype, out.dtype, "safe"):
        raise InvalidInput(
            f"out must be an array of shape {array.shape} whose dtype holds every {dtype}. "
            f"Got {out.dtype} of shape {out.shape} instead."
        )
    elif not (out.flags.c_contiguous and out.flags.writeable):
        raise InvalidInput("out must be C-contiguous and writable. Leave it out for a new array.")
    else:
        result = out
        in_place = (
            array.flags.c_contiguous
            and array.itemsize == out.itemsize
            and array.__array_interface__["data"][0] == out.__array_interface__["data"][0]
        )
        # Each block of codes is read before it is written, which is enough exactly when both run in step.
        if not in_place and np.may_share_memory(array, out):
            array = array.copy()
    return array.reshape(-1), result, result.reshape(-1)


def checked_words(words: ArrayLike, count: int, bits: int) -> Words:
    """Given random words, one for each code, checked to be ``bits`` wide."""
    flat = np.asarray(words).reshape(-1)
    if flat.size != count:
        raise InvalidInput(f"words must be one for each of the {count} codes. Got {flat.size} instead.")
    if count == 0:
        return np.empty(0, np.uint64)
    given, whole = exact_integers(flat, "words", 1)
    if whole is not None or int(given.max()) >> bits:
        raise InvalidInput(f"words must be integers below 2**{bits}. Got {max(map(int, flat))} among them.")
    return given


def blend(letters: Array, others: Array, choose: Bools) -> Array:
    """Return ``others`` where chosen, else ``letters``, in the dtype of ``letters``.

    By bit masks: a masked copy mispredicts a branch at every other random choice, at six times the cost.
    """
    mask = np.multiply(choose, letters.dtype.type(np.iinfo(letters.dtype).max))
    mixture: Array = letters ^ others.astype(letters.dtype, copy=False)
    mixture &= mask
    mixture ^= letters
    return mixture


def blocks(count: int) -> Iterator[slice]:
    """Return the slices that cover ``count`` rows, a block each."""
    return (slice(start, min(start + BLOCK, count)) for start in range(0, count, BLOCK))


def lower_bound(tops: Words, start: Indices, count: Indices, u: Words) -> Indices:
    """For each ``u`` the first place ``k`` of its run ``start, …, start + count - 1`` with ``tops[k] >= u``.

    ``tops`` rises within a run, and its last value in the run is at least ``u``. All searches halve together.
    """
    place = start.astype(np.intp)
    left = count.astype(np.intp)
    steps = (int(left.max()) - 1).bit_length() if left.size else 0
    for _ in range(steps):
        half = left >> 1
        # A run of length one has half = 0: it looks at a place of no meaning and then moves by nothing.
        place += half * (tops.take(place + (half - 1), mode="wrap") < u)
        left -= half
    return place


def _first(array: Array, wrong: Bools) -> str:
    return some_of(int(value) for value in array[wrong].ravel()[:6])
