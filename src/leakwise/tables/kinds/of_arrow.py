"""pyarrow: Tables, RecordBatches and Datasets; Arrays and ChunkedArrays as columns."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from leakwise.errors import InvalidInput, some_of
from leakwise.tables.formats.carried_mechanism import KEY
from leakwise.tables.kinds.arrow_buffers import without_hidden
from leakwise.tables.kinds.arrow_schema import released_schema
from leakwise.tables.kinds.plain import in_order, same_values, take_labels, without_missing
from leakwise.tables.kinds.streams import is_dataset
from leakwise.types import Array

Make = Callable[[Array], Any]


def is_table(data: Any) -> bool:
    return isinstance(data, (pa.Table, pa.RecordBatch)) or is_dataset(data)


def is_column(data: Any) -> bool:
    return isinstance(data, (pa.Array, pa.ChunkedArray))


def names(table: Any) -> list[Hashable]:
    return list(table.schema.names)


def hold(table: Any, names: Sequence[Hashable] | None) -> Any:
    if not is_dataset(table):
        return table
    try:
        return table.to_table(None if names is None else [str(name) for name in names])
    except (pa.ArrowException, OSError) as error:
        raise InvalidInput(f"Cannot read the rows of the dataset: {error}.") from error


def give_back(held: Any, original: Any) -> Any:
    return held


def column(table: Any, name: Any) -> Any:
    return table.column(name)


def replace(table: Any, columns: Mapping[Any, Any], drop: Sequence[Any]) -> Any:
    carried = {key: note for key, note in (table.schema.metadata or {}).items() if key == KEY}
    new = {name: (values.type, _labels(values)) for name, values in columns.items()}
    schema = released_schema(table.schema, new, carried, drop)
    arrays = [
        columns[name] if name in columns else without_hidden(table.column(place))
        for place, name in enumerate(table.schema.names)
        if name not in drop
    ]
    return type(table).from_arrays(arrays, schema=schema)


def _labels(values: Any) -> list[Any]:
    """What a new column can hold, as far as its type says it."""
    chunks = values.chunks if isinstance(values, pa.ChunkedArray) else [values]
    listed = chunks[0].dictionary.to_pylist() if chunks and pa.types.is_dictionary(values.type) else []
    return [*listed, None] if values.null_count else listed


def take(data: Any, places: Array) -> Any:
    if not is_table(data):
        return _take(data, places)
    return type(data).from_arrays([_take(column, places) for column in data.columns], schema=data.schema)


def _take(column: Any, places: Array) -> Any:
    kind = column.type
    if pa.types.is_string_view(kind) or pa.types.is_binary_view(kind):
        # Arrow cannot take from views, but it can make them.
        plain = pa.large_string() if pa.types.is_string_view(kind) else pa.large_binary()
        return column.cast(plain).take(pa.array(places)).cast(kind)
    return column.take(pa.array(places))


def decode(codes: Array, labels: Sequence[Any], like: Any) -> Any:
    chunks = like.chunks if isinstance(like, pa.ChunkedArray) else [like]
    make, _ = maker(labels, like.type, ordered=_keeps_order(labels, like.type, chunks))
    if not isinstance(like, pa.ChunkedArray):
        return make(codes)
    # Chunk by chunk, because one array of texts cannot hold more than 2 GiB of them.
    ends = np.cumsum([0, *(len(chunk) for chunk in like.chunks)])
    parts = [make(codes[start:end]) for start, end in pairwise(ends.tolist())]
    return pa.chunked_array(parts or [make(codes)])


def maker(labels: Sequence[Any], wanted: Any, *, ordered: bool = False) -> tuple[Make, Any]:
    """Return what turns codes into an array of the wanted type where the labels fit it, and the type that it has."""
    if pa.types.is_run_end_encoded(wanted):
        wanted = wanted.value_type
    make = _dictionary(labels, wanted, ordered) if pa.types.is_dictionary(wanted) else _values(labels, wanted)
    return make, make(np.zeros(0, dtype=np.uint8)).type


def _keeps_order(labels: Sequence[Any], wanted: Any, chunks: Sequence[Any]) -> bool:
    """Where the order of a dictionary had a meaning it still has it, if the values are the same."""
    if not pa.types.is_dictionary(wanted) or not wanted.ordered or not chunks:
        return False
    known, _ = without_missing(labels)
    return all(chunk.dictionary.to_pylist() == known for chunk in chunks)


def row_labels(data: Any) -> list[tuple[Hashable, list[Any], Array]]:
    return []


def distinct(column: Any) -> list[Any]:
    try:
        if pa.types.is_dictionary(column.type):
            # Of a dictionary those values that occur: one for each number, not one for each row.
            chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
            values = [one for part in chunks for one in part.dictionary.take(part.indices.unique()).to_pylist()]
        else:
            values = column.unique().to_pylist()
    except pa.ArrowNotImplementedError as error:
        raise InvalidInput(f"A column to group by must hold plain values. Got {column.type}.") from error
    return in_order(dict.fromkeys(None if value != value else value for value in values))


def _values(labels: Sequence[Any], wanted: Any) -> Make:
    values = _typed(labels, wanted)
    result = values.type
    if pa.types.is_string_view(result) or pa.types.is_binary_view(result):
        # Arrow cannot take from views, but it can make them.
        values = values.cast(pa.large_string() if pa.types.is_string_view(result) else pa.large_binary())

    def make(codes: Array) -> Any:
        return values.take(pa.array(codes)).cast(result)

    return make


def _dictionary(labels: Sequence[Any], wanted: Any, ordered: bool) -> Make:
    """The codes themselves are the indices: no value is looked up."""
    known, moved = without_missing(labels)
    dictionary = _typed(known, wanted.value_type)
    index = np.dtype(wanted.index_type.to_pandas_dtype())
    if len(known) - 1 > np.iinfo(index).max:
        index = np.dtype(np.int32)

    def make(codes: Array) -> Any:
        if moved is None:
            indices = pa.array(codes.astype(index, copy=False))
        else:
            places = take_labels(moved, codes)
            missing = places < 0
            indices = pa.array(np.where(missing, 0, places).astype(index), mask=missing)
        return pa.DictionaryArray.from_arrays(indices, dictionary, ordered=ordered)

    return make


def _typed(labels: Sequence[Any], wanted: Any) -> Any:
    """The labels in the type of the column where they fit it, else in the one Arrow gives them."""
    for kind in (wanted, None):
        try:
            values = pa.array(list(labels), type=kind)
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            continue
        if same_values(values.to_pylist(), labels):
            return values
    raise InvalidInput(
        f"The outcomes {some_of(labels)} cannot stand in one Arrow column. Name them by texts or by numbers: "
        "Mechanism(..., outputs=[...])."
    )
