"""What speaks Arrow without being a table of a library that is known: streams, datasets, and plans of other engines.

A stream can be read once, and a plan that is run again could give other rows than were checked, and would release them
again. So each of them is read once.
"""

from __future__ import annotations

import os
from typing import Any

from leakwise.errors import InvalidInput, require
from leakwise.tables.formats import open_table
from leakwise.tables.formats.remote import uri_of
from leakwise.tables.kinds import frames
from leakwise.tables.kinds.batches import Batches

__all__ = ["folder_of", "in_a_file", "is_dataset", "is_reader", "reader_of", "refuse_spark", "rows_at_hand"]


def is_reader(data: Any) -> bool:
    """Return whether the data is a pyarrow RecordBatchReader."""
    return any(base.__name__ == "RecordBatchReader" and base.__module__ == "pyarrow.lib" for base in type(data).__mro__)


def refuse_spark(data: Any) -> None:
    """Refuse a DataFrame of Spark: it gives its rows in Arrow, but all of them, to this one machine."""
    if type(data).__module__.partition(".")[0] != "pyspark" or not hasattr(data, "columns"):
        return
    pandas = " of df.to_spark()" if hasattr(data, "to_spark") else ""
    raise InvalidInput(
        f"{type(data).__module__}.{type(data).__name__} is a DataFrame of Spark, whose rows do not belong into the "
        f"memory of one machine. Use lw.spark.release, lw.spark.protect or lw.spark.estimate{pandas}: they have Spark "
        "count, draw and write. (df.toArrow() brings the rows here, if they are few.)"
    )


def rows_at_hand(data: Any) -> Any:
    """Return a stream of Arrow rows, or what gives one, as an Arrow table; one column as a column; else as it is.

    >>> import pyarrow as pa
    >>> class Rows:
    ...     def __arrow_c_stream__(self, requested_schema=None):
    ...         return pa.table({"smokes": ["no", "yes"]}).__arrow_c_stream__(requested_schema)
    >>> rows_at_hand(Rows()).column_names
    ['smokes']
    """
    refuse_spark(data)
    if frames.is_column(data) or frames.is_table(data):
        return data
    if isinstance(data, (str, os.PathLike)) and uri_of(data) is not None:
        return open_table(data)  # fetched once, however often it is opened from here on
    if not _is_scanner(data) and not any(hasattr(data, name) for name in ("__arrow_c_stream__", "__arrow_c_array__")):
        return data
    pa = require("pyarrow", extra="data", purpose=f"Reading {type(data).__name__} as Arrow")
    try:
        if (reader := reader_of(data)) is not None:
            return reader.read_all()
        if hasattr(data, "__arrow_c_stream__"):
            return pa.chunked_array(data)
        column = pa.array(data)
        return pa.record_batch(data) if pa.types.is_struct(column.type) else column
    except pa.ArrowException as error:
        raise InvalidInput(f"Cannot read the rows of the {type(data).__name__}: {error}.") from error


def in_a_file(data: Any) -> Any:
    """Return a table, a plan or a stream as a table in a private file, to be released into another; else as it is."""
    refuse_spark(data)
    lazy = hasattr(data, "sink_parquet") or is_dataset(data) or _is_scanner(data)
    if not lazy and (frames.is_column(data) or not hasattr(data, "__arrow_c_stream__")):
        return data
    require("pyarrow", extra="data", purpose=f"Releasing {type(data).__name__} into a file")
    from leakwise.tables.formats.spool import spooled

    return spooled(data) or data


def reader_of(data: Any) -> Any:
    """Return a pyarrow RecordBatchReader over the rows of a table; None where the data is not one, or not in Arrow."""
    if frames.is_column(data):
        return None
    if isinstance(data, Batches):
        return data.reader()  # and not by way of C, where errors of the source would lose what they are
    if is_dataset(data):
        data = data.scanner()
    if _is_scanner(data):
        return data.to_reader()
    if not hasattr(data, "__arrow_c_stream__"):
        return None
    pa = require("pyarrow", extra="data", purpose=f"Reading {type(data).__name__} as Arrow")
    try:
        return pa.RecordBatchReader.from_stream(data)
    except pa.ArrowInvalid as error:
        if "non-struct" in str(error):  # a stream of one column: nothing but the stream itself says so
            return None
        raise


def folder_of(data: Any) -> Any:
    """Return the folder that all files of a pyarrow Dataset are in; anything else as it is."""
    files = getattr(data, "files", None) if is_dataset(data) else None
    return os.path.commonpath(files) if files else data


def is_dataset(data: Any) -> bool:
    """Return whether the data is a pyarrow Dataset."""
    return _is_of_datasets(data, "Dataset")


def _is_scanner(data: Any) -> bool:
    return _is_of_datasets(data, "Scanner")


def _is_of_datasets(data: Any, name: str) -> bool:
    return any(base.__name__ == name and base.__module__ == "pyarrow._dataset" for base in type(data).__mro__)
