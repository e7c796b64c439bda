"""Rows that come in batches from any engine: taken once, in one place, whatever the engine runs again.

Engines run tasks again when a worker fails, and run plans again when someone asks twice. If the workers drew, rows
would be drawn for twice. So they only make batches, and the process that holds the :class:`Batches` draws.
"""

from __future__ import annotations

import shutil
import tempfile
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from leakwise.errors import InvalidInput, require

__all__ = ["Batches", "DrawnBatches", "batches", "refuse_engines"]

_OF_ENGINES = {
    "dask": "(part.compute() for part in frame.partitions)",
    "ray": 'dataset.iter_batches(batch_format="pyarrow")',
    "polars": "plan.collect_batches()",
}


class Batches:
    """Record batches of one schema, to be released or estimated from; made by :func:`leakwise.batches`.

    A source is read once. What :func:`leakwise.release` and :func:`leakwise.protect` give back for it is drawn already,
    and can be read again: the rows are the same each time.

    Attributes
    ----------
    schema
        The pyarrow schema. Of a source that was given without one, the first batch is asked for it.
    """

    def __init__(self, read: Callable[[], Any], *, once: bool = True) -> None:
        self._read, self._once, self._lock = read, once, threading.Lock()
        self._reader: Any = None
        self._taken = False

    @property
    def schema(self) -> Any:
        """The pyarrow schema of the batches."""
        with self._lock:
            return self._opened().schema

    def reader(self) -> Any:
        """Return the rows as a pyarrow RecordBatchReader; of a source once only."""
        with self._lock:
            if self._taken and self._once:
                raise InvalidInput(
                    "The batches were read already, and a second reading could release the same rows again. Make new "
                    "ones from the source, lw.batches(...), if nothing was released."
                )
            reader, self._taken = self._opened(), True
            if not self._once:
                self._reader = None
        return reader

    def __iter__(self) -> Iterator[Any]:
        return iter(self.reader())

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.reader().__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        state = "drawn, can be read again" if not self._once else "read" if self._taken else "to be read once"
        return f"Batches ({state})"

    def __reduce__(self) -> tuple[Any, tuple[Any]]:
        if self._once:
            raise InvalidInput(
                "Batches to be released cannot be copied or sent to workers: their rows are drawn for in one place. "
                "Let the workers make record batches, and give those to lw.batches."
            )
        return _drawn, (self.reader().read_all(),)

    def _opened(self) -> Any:
        if self._reader is None:
            self._reader = self._read()
        return self._reader


class DrawnBatches:
    """Where released batches are drawn to: a private file, of which nothing is given out before it is whole."""

    def __init__(self) -> None:
        folder = tempfile.mkdtemp()
        self._remove = weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        self.file = Path(folder) / "released.arrows"

    def put(self) -> Batches:
        """Return the rows of the file, which has no name from here on."""
        import pyarrow as pa

        rows = pa.memory_map(str(self.file)).read_buffer()
        self._remove()
        return Batches(lambda: pa.ipc.open_stream(rows), once=False)


def _drawn(table: Any) -> Batches:
    return Batches(table.to_reader, once=False)


def batches(source: Iterable[Any], schema: Any = None) -> Batches:
    """Return the rows of any engine, which come in batches, as one table that is read once.

    Give it to :func:`leakwise.release` or :func:`leakwise.protect`. All batches are taken into a private temporary file
    and checked before the first draw, so that an error leaves nothing behind; memory does not grow with the rows.
    With ``out=`` the released file appears atomically; without it released :class:`Batches` come back. Workers of the
    engine only make the batches: whatever of it is run again, each row is drawn for once, here.

    Parameters
    ----------
    source
        An iterable of pyarrow record batches or tables, of polars or pandas data frames (a pandas index does not go
        out), or of anything else that gives its rows in Arrow; for example ``dataset.iter_batches(batch_format=
        "pyarrow")`` of Ray, ``(part.compute() for part in frame.partitions)`` of Dask, ``plan.collect_batches()`` of
        polars. Or one thing that gives its rows in Arrow.
    schema
        The pyarrow schema of all batches, to which they are cast without loss. Left out, it is that of the first one,
        and the others must have it too.

    Examples
    --------
    >>> import leakwise as lw, pyarrow as pa
    >>> rows = (pa.record_batch({"smokes": ["no", "yes"], "age": [30 + n, 40]}) for n in range(3))
    >>> out = lw.release(lw.batches(rows), lw.randomized_response(["no", "yes"], lift=3), "smokes", order="shuffle")
    >>> sum(batch.num_rows for batch in out)
    6
    """
    pa = require("pyarrow", extra="data", purpose="Reading batches")
    if schema is not None and not isinstance(schema, pa.Schema):
        raise InvalidInput(f"schema must be a pyarrow Schema. Got {type(schema).__name__} instead.")
    if hasattr(source, "__arrow_c_stream__") and not isinstance(source, Iterator):
        source = pa.RecordBatchReader.from_stream(source)
    if isinstance(source, pa.RecordBatchReader) and schema is None:
        schema = source.schema
    if isinstance(source, (str, bytes)) or not isinstance(source, Iterable):
        raise InvalidInput(
            f"source must be an iterable of record batches. Got {type(source).__name__} instead."
            + (" Call it." if callable(source) else "")
        )
    given: Iterable[Any] = source
    return Batches(lambda: _reader(iter(given), schema))


def refuse_engines(data: Any) -> None:
    """Refuse what another engine is to run, and what can only be iterated over, with the way that there is for it."""
    engine = type(data).__module__.partition(".")[0]
    if engine in ("dask", "ray"):
        raise InvalidInput(
            f"A {type(data).__name__} of {engine} is not taken as it is: its tasks may be run again, and rows must be "
            f"drawn for once. Give its batches: lw.batches({_OF_ENGINES[engine]})."
        )
    if isinstance(data, Iterator) and not hasattr(data, "__arrow_c_stream__"):
        raise InvalidInput(
            f"A {type(data).__name__} is not a table. If it gives batches of rows (record batches, data frames), say "
            "so: lw.batches(...)."
        )


def _reader(parts: Iterator[Any], schema: Any) -> Any:
    import pyarrow as pa

    cast = schema is not None
    first = None if cast else next(parts, None)
    if not cast:
        if first is None:
            raise InvalidInput("source has no batches (or was read already), and no schema was given.")
        schema = _table(first, 1, None).schema

    def rows() -> Iterator[Any]:
        every = parts if first is None else chain([first], parts)
        for number, each in enumerate(every, 1):
            yield from _fitting(_table(each, number, schema), schema, number, cast=cast).to_batches()

    return pa.RecordBatchReader.from_batches(schema, rows())


def _table(part: Any, number: int, schema: Any) -> Any:
    """A batch as an Arrow table."""
    import pyarrow as pa

    library = type(part).__module__.partition(".")[0]
    try:
        if library == "pandas" and hasattr(part, "columns"):
            if any(name is not None for name in part.index.names):
                raise InvalidInput(
                    f"Batch {number} has the index {part.index.names!r}, which would not go out: reset_index() makes "
                    "columns of it, reset_index(drop=True) leaves it out."
                )
            known = schema if schema is not None and list(part.columns) == schema.names else None
            return pa.Table.from_pandas(part, schema=known, preserve_index=False)
        if library == "polars" and hasattr(part, "to_arrow"):
            import polars as pl

            part = part.to_arrow(compat_level=pl.CompatLevel.oldest())  # views are little known to others
        if isinstance(part, pa.Table):
            return part
        if isinstance(part, pa.RecordBatch) or hasattr(part, "__arrow_c_array__"):
            return pa.Table.from_batches([pa.record_batch(part)])
        if hasattr(part, "__arrow_c_stream__"):
            return pa.table(part)
    except (pa.ArrowException, TypeError) as error:
        raise InvalidInput(f"Batch {number} cannot be read as rows in Arrow: {error}.") from error
    ways = "; ".join(f"of {engine}: {way}" for engine, way in _OF_ENGINES.items())
    raise InvalidInput(
        f"source must give record batches, or data frames. Batch {number} is a {type(part).__name__} instead. Such "
        f"are, {ways}."
    )


def _fitting(table: Any, schema: Any, number: int, *, cast: bool) -> Any:
    """The table in the schema of all, refused where it has another."""
    import pyarrow as pa

    if table.column_names != schema.names:
        raise InvalidInput(
            f"All batches must have the same columns. Batch {number} has {table.column_names}, others {schema.names}."
        )
    for field, kind in zip(schema, table.schema.types, strict=True):
        # A part without any value of a column has no type for it.
        if not cast and kind not in (field.type, pa.null()):
            raise InvalidInput(
                f"All batches must have the same types. Column {field.name!r} of batch {number} is {kind}, before it "
                f"was {field.type}. Say the types of all: lw.batches(source, schema=pyarrow.schema(...))."
            )
    try:
        return table.cast(schema)
    except (pa.ArrowException, ValueError) as error:
        raise InvalidInput(f"Batch {number} does not fit the schema: {error}.") from error
