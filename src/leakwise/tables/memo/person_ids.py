"""Ids of persons as bytes that are the same in every kind of table: 7 in pandas, "7" in CSV, an int64 in Parquet.

A whole number is its decimal digits, a text is its UTF-8 bytes as they are: "7" is 7, and "07" and " 7" are others.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from leakwise.errors import InvalidInput, some_of
from leakwise.sampling import ByteTexts
from leakwise.types import Array

__all__ = ["id_bytes"]

# Beyond it, floats skip whole numbers, so that an id may have lost its last digits.
_WHOLE = 2**53
_TENS = np.array([10**power for power in range(1, 20)], dtype=np.uint64)
_ZERO, _MINUS = b"0-"


def id_bytes(column: Any, name: str = "person") -> ByteTexts:
    """Return the ids of a column, one for each row; missing ones, fractions and the like are refused.

    >>> bytes(id_bytes([7, "7", "07"]).data)
    b'7707'
    """
    library = type(column).__module__.partition(".")[0]
    if library == "pandas":
        return _of_pandas(column, name)
    if library == "polars":
        return _of_polars(column, name)
    if library == "pyarrow":
        return _of_arrow(column, name)
    if isinstance(column, np.ndarray) and column.dtype.kind in "iuf":
        return _of_numbers(column, name)
    return _of_values(column, name)


def _of_pandas(column: Any, name: str) -> ByteTexts:
    import pandas as pd

    if isinstance(column.dtype, pd.CategoricalDtype):
        values = pd.Categorical(column)
        _refuse_missing(int((values.codes < 0).sum()), len(values), name)
        return id_bytes(values.categories, name).take(values.codes)
    _refuse_missing(int(pd.isna(column).sum()), len(column), name)
    if pd.api.types.is_integer_dtype(column.dtype):
        unsigned = str(column.dtype).lower().startswith("uint")
        return _of_numbers(column.to_numpy(np.uint64 if unsigned else np.int64), name)
    if pd.api.types.is_float_dtype(column.dtype):
        return _of_numbers(column.to_numpy(np.float64), name)
    array = getattr(column, "array", column)
    return _of_arrow(array.__arrow_array__(), name) if _in_arrow(array) else _of_values(column.tolist(), name)


def _in_arrow(array: Any) -> bool:
    """Whether the texts of a pandas column lie in Arrow's memory, whose bytes can be taken as they are."""
    return hasattr(array, "_pa_array") and hasattr(array, "__arrow_array__")


def _of_polars(column: Any, name: str) -> ByteTexts:
    _refuse_missing(int(column.null_count()), len(column), name)
    if column.dtype.is_integer() or column.dtype.is_float():
        return _of_numbers(column.to_numpy(), name)
    return _of_values(column.to_list(), name)


def _of_arrow(column: Any, name: str) -> ByteTexts:
    import pyarrow as pa

    _refuse_missing(column.null_count, len(column), name)
    if isinstance(column, pa.ChunkedArray):
        parts = [_of_arrow(chunk, name) for chunk in column.chunks]
        sizes = np.cumsum([0, *(part.data.size for part in parts)])
        starts = [part.starts + before for part, before in zip(parts, sizes.tolist(), strict=False)]
        lengths = [part.lengths for part in parts]
        joined = [np.concatenate([np.zeros(0, np.int64), *pieces]) for pieces in (starts, lengths)]
        return ByteTexts(np.concatenate([np.zeros(0, np.uint8), *(part.data for part in parts)]), *joined)
    kind = column.type
    if pa.types.is_dictionary(kind):
        if column.dictionary.null_count:  # a missing value may be among the values of a dictionary
            return _of_arrow(column.cast(kind.value_type), name)
        return _of_arrow(column.dictionary, name).take(column.indices.to_numpy(zero_copy_only=False))
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return _of_numbers(column.to_numpy(zero_copy_only=False), name)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_binary(kind):
        whole = column.cast(pa.large_binary())
        _, offsets, data = whole.buffers()
        ends = np.frombuffer(offsets, dtype=np.int64)[whole.offset : whole.offset + len(whole) + 1]
        held = np.frombuffer(data, dtype=np.uint8) if data is not None else np.zeros(0, np.uint8)
        return _filled(ByteTexts(held, ends[:-1], np.diff(ends)), name)
    return _of_values(column.to_pylist(), name)


def _of_numbers(values: Array, name: str) -> ByteTexts:
    if values.dtype.kind == "f":
        _refuse_missing(int(np.isnan(values).sum()), values.size, name)
        wrong = (np.floor(values) != values) | (np.abs(values) >= _WHOLE)
        if wrong.any():
            _refuse(values[wrong].tolist(), values.size, name)
        values = values.astype(np.int64)
    below = values < 0
    # In two's complement also right for the least number, which has no positive counterpart.
    left = values.astype(np.uint64)
    left = np.where(below, np.uint64(0) - left, left)
    lengths = 1 + np.searchsorted(_TENS, left, side="right").astype(np.int64)
    width = int(lengths.max(initial=1)) + 1
    texts = np.empty((values.size, width), dtype=np.uint8)
    for place in range(width - 1, 0, -1):
        rest = left // np.uint64(10)
        texts[:, place] = left - rest * np.uint64(10) + np.uint64(_ZERO)
        left = rest
    rows = np.flatnonzero(below)
    texts[rows, width - 1 - lengths[rows]] = _MINUS
    starts = np.arange(1, values.size + 1, dtype=np.int64) * width - lengths - below
    return ByteTexts(texts.reshape(-1), starts, lengths + below)


def _of_values(column: Iterable[Any], name: str) -> ByteTexts:
    texts: list[bytes] = []
    wrong: list[Any] = []
    for value in column:
        if isinstance(value, str):
            try:
                texts.append(value.encode())
            except UnicodeEncodeError:
                wrong.append(value)
        elif isinstance(value, int | np.integer) and not isinstance(value, bool):
            texts.append(b"%d" % int(value))
        elif isinstance(value, bytes):
            texts.append(value)
        elif isinstance(value, float) and value.is_integer() and abs(value) < _WHOLE:
            texts.append(b"%d" % int(value))
        else:
            texts.append(b"")
            wrong += [] if value is None or value != value else [value]
    if wrong:
        _refuse(wrong, len(texts), name)
    return _filled(ByteTexts.of(texts), name)


def _filled(texts: ByteTexts, name: str) -> ByteTexts:
    """Refuse empty texts: in a CSV file a missing id is one."""
    _refuse_missing(int((texts.lengths == 0).sum()), len(texts), name)
    return texts


def _refuse_missing(missing: int, rows: int, name: str) -> None:
    if missing:
        raise InvalidInput(
            f"{name} has no id in {missing:,} of {rows:,} rows: a draw that is to repeat needs to know whose it is. "
            "Give those rows ids of their own, or remove them."
        )


def _refuse(wrong: list[Any], rows: int, name: str) -> None:
    raise InvalidInput(
        f"{name} must contain texts or whole numbers (of floats, below 2**53). Got {some_of(wrong, 3)} among {rows:,} "
        "rows. Convert the ids to text first, the same way for every release."
    )
