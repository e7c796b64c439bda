"""Lists, tuples, NumPy arrays, and mappings from names to columns; and what the other kinds share."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import numpy.typing as npt

from leakwise.alphabet import code_dtype
from leakwise.errors import InvalidInput
from leakwise.types import Array

__all__ = [
    "column",
    "decode",
    "distinct",
    "fitting_array",
    "give_back",
    "hold",
    "in_order",
    "is_column",
    "is_table",
    "names",
    "natural_array",
    "object_array",
    "replace",
    "row_labels",
    "same_values",
    "take",
    "take_labels",
    "without_missing",
]

# Labels taken at once: np.take makes an index of eight bytes for every row.
_BLOCK = 1 << 17


def is_table(data: Any) -> bool:
    return isinstance(data, Mapping)


def is_column(data: Any) -> bool:
    return isinstance(data, (list, tuple, np.ndarray))


def names(table: Any) -> list[Hashable]:
    return list(table)


def hold(table: Any, names: Sequence[Hashable] | None) -> Any:
    return table


def give_back(held: Any, original: Any) -> Any:
    return held


def column(table: Any, name: Any) -> Any:
    return table[name]


def replace(table: Any, columns: Mapping[Any, Any], drop: Sequence[Any]) -> Any:
    return {name: columns.get(name, values) for name, values in table.items() if name not in drop}


def take(data: Any, places: Array) -> Any:
    if isinstance(data, np.ndarray):
        return data[places]
    return type(data)([data[place] for place in places.tolist()])


def decode(codes: Array, labels: Sequence[Any], like: Any) -> Any:
    if isinstance(like, np.ndarray):
        values = fitting_array(labels, like.dtype)
        return take_labels(natural_array(labels) if values is None else values, codes)
    rows = take_labels(object_array(labels), codes).tolist()
    return tuple(rows) if isinstance(like, tuple) else rows


def row_labels(data: Any) -> list[tuple[Hashable, list[Any], Array]]:
    return []


def distinct(column: Any) -> list[Any]:
    values: Iterable[Any]
    if isinstance(column, np.ndarray):
        if column.ndim != 1:
            raise InvalidInput(f"A column must have one dimension. Got an array of shape {column.shape} instead.")
        values = column.tolist() if column.dtype.kind == "O" else np.unique(column).tolist()
    else:
        values = column
    try:
        return in_order(dict.fromkeys(None if value != value else value for value in values))
    except TypeError as error:
        raise InvalidInput(f"A column to group by must hold plain values: {error}.") from error


# ------------------------------------------------------------------------------------- what the other kinds share


def in_order(values: Iterable[Any]) -> list[Any]:
    """Return values sorted where they can be, else as they come; a missing one (None) last."""
    given = list(values)
    known = [value for value in given if value is not None]
    with suppress(TypeError):
        known.sort()
    return known + [None] * (len(given) > len(known))


def object_array(labels: Sequence[Any]) -> Array:
    """Return one Python object per label; a tuple stays one label."""
    array = np.empty(len(labels), dtype=np.object_)
    for place, label in enumerate(labels):
        array[place] = label
    return array


def natural_array(labels: Sequence[Any]) -> Array:
    """Return the labels in the type NumPy gives to one kind of them, as objects where they are of several kinds."""
    kinds = {type(label) for label in labels}
    if kinds <= {int, float} or kinds in ({bool}, {str}, {bytes}):
        array = np.array(labels)
        if array.tolist() == list(labels):
            return array
    return object_array(labels)


def fitting_array(labels: Sequence[Any], dtype: np.dtype[Any]) -> Array | None:
    """Return the labels in the given type, or None where they would change by it. Texts may grow longer."""
    if dtype.kind == "O":
        return object_array(labels)
    wanted: Any = {"U": str, "S": bytes}.get(dtype.kind, dtype)
    # NaN is how a column of floats says that a value is missing.
    given = [np.nan if label is None and dtype.kind == "f" else label for label in labels]
    try:
        with np.errstate(all="ignore"):
            array = np.array(given, dtype=wanted)
    except (TypeError, ValueError, OverflowError):
        return None
    if array.ndim != 1 or not same_values(array.tolist(), labels):
        return None
    return array.astype(dtype) if array.dtype.kind in "US" and array.itemsize < dtype.itemsize else array


def same_values(found: Iterable[Any], labels: Sequence[Any]) -> bool:
    """Return whether a typed array gives the labels back: the same values, missing ones as None or NaN."""

    def same(value: Any, label: Any) -> bool:
        if label is None or value is None:
            return label is None and (value is None or bool(value != value))
        # 1 == True and 1 == 1.0 are wanted here; "1" == 1 is false as it should be.
        return bool(value == label)

    return all(same(value, label) for value, label in zip(found, labels, strict=True))


def take_labels(labels: Array, codes: Array) -> Array:
    """Return the label of every code."""
    rows = np.empty(codes.size, labels.dtype)
    for start in range(0, codes.size, _BLOCK):
        part = slice(start, start + _BLOCK)
        rows[part] = labels.take(codes[part])
    return rows


def without_missing(labels: Sequence[Any]) -> tuple[list[Any], npt.NDArray[np.signedinteger[Any]] | None]:
    """The labels but None, and the new code of every old one (-1 for None); no new codes when None is not there."""
    if None not in labels:
        return list(labels), None
    known = [label for label in labels if label is not None]
    # A signed type that has room for -1 beside every code.
    moved = np.full(len(labels), -1, dtype=np.promote_types(code_dtype(len(labels)), np.int8))
    moved[[label is not None for label in labels]] = np.arange(len(known))
    return known, moved
