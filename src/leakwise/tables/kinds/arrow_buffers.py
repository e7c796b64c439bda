"""Arrow arrays that hold nothing but what they show.

An array that was set to null, sliced or filtered may keep the old values in its buffers, and files and pickles are made
of buffers. A dictionary that has a value twice, and a run of one value that is cut in two, show by which of them a row
stands for it what the value does not say.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["without_hidden"]


def without_hidden(column: Any) -> Any:
    """The column with no value under a null, and no row outside of it, in its buffers; itself where there is none.

    >>> hidden = pa.Array.from_buffers(pa.int64(), 2, [pa.py_buffer(b"\\2"), pa.py_buffer(np.array([77, 5]))])
    >>> hidden.to_pylist(), np.frombuffer(without_hidden(hidden).buffers()[1], np.int64).tolist()
    ([None, 5], [0, 5])
    """
    if isinstance(column, pa.ChunkedArray):
        return pa.chunked_array([without_hidden(chunk) for chunk in column.chunks], type=column.type)
    kind = column.type
    if isinstance(column, pa.ExtensionArray):
        return pa.ExtensionArray.from_storage(kind, without_hidden(column.storage))
    if pa.types.is_dictionary(kind):
        indices, dictionary = _each_once(column)
        return pa.DictionaryArray.from_arrays(without_hidden(indices), dictionary, ordered=kind.ordered)
    if pa.types.is_run_end_encoded(kind):
        return pc.run_end_encode(pc.run_end_decode(column), kind.run_end_type)
    if pa.types.is_struct(kind) and kind.num_fields:
        # Flattening puts the nulls of the structure onto its parts, under which they can then be cleaned.
        parts = [without_hidden(part) for part in column.flatten()]
        return pa.StructArray.from_arrays(
            parts, fields=list(kind), mask=column.is_null() if column.null_count else None
        )
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        copied = _copied(column)
        mask = copied.is_null() if copied.null_count else None
        return type(copied).from_arrays(copied.offsets, without_hidden(copied.values), type=kind, mask=mask)
    # Views share buffers of texts, and nobody counts which parts of those are still in view.
    more = _is_view(kind) or kind.num_fields or column.get_total_buffer_size() > column.nbytes
    return _copied(column) if column.null_count or column.offset or more else column


def _each_once(column: Any) -> tuple[Any, Any]:
    """The indices and the dictionary of a column, with every value once, and a missing one in the indices alone."""
    indices, dictionary = column.indices, column.dictionary
    if pa.types.is_nested(dictionary.type):
        return indices, dictionary
    known = dictionary.drop_null().unique()
    if len(known) == len(dictionary):
        return indices, dictionary
    return pc.index_in(dictionary, known).take(indices).cast(indices.type), known


def _is_view(kind: Any) -> bool:
    return bool(pa.types.is_string_view(kind) or pa.types.is_binary_view(kind))


def _copied(column: Any) -> Any:
    """New buffers, in which Arrow writes zeros (or nothing) where there is no value."""
    kind = column.type
    if pa.types.is_null(kind) or pa.types.is_union(kind):
        return column
    if _is_view(kind):
        # Arrow cannot take from views, but it can make them.
        plain = column.cast(pa.large_string() if pa.types.is_string_view(kind) else pa.large_binary())
        return _copied(plain).cast(kind)
    return column.take(pa.array(np.arange(len(column))))
