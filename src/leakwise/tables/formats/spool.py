"""Rows that come once: those of a plan, a stream or a dataset, put into a file before any of them is checked.

A plan that is run twice, and files that are read twice, could give other rows than were checked. So they are read once,
into a file in the folder of temporary files that has no name (where the system has such files), that only its owner can
read, and that vanishes with the process. Memory does not grow with the rows.
"""

from __future__ import annotations

import re
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from leakwise.errors import InvalidInput
from leakwise.tables.formats.columns import ArrowColumns
from leakwise.tables.formats.sinks import regrouped
from leakwise.tables.kinds.streams import is_dataset, reader_of

__all__ = ["SpooledTable", "spooled"]

_ROWS = 1 << 17

Write = Callable[[BinaryIO], None]


class SpooledTable(ArrowColumns):
    """The table in a file of its own, which is written when the first row is asked for.

    Parameters
    ----------
    title
        What messages call the table.
    names
        Its columns, which are known before it is read.
    write
        Puts the rows into a stream, as a Parquet file.
    files
        Those that the rows are known to come from. They must not be written over.
    schema
        The types of its columns, where they are known: Parquet has no place for some of them.
    """

    in_batches = True

    def __init__(
        self, title: str, names: Sequence[str], write: Write, files: Iterable[Path] = (), schema: Any = None
    ) -> None:
        self.path, self.names, self._write, self._declared = Path(title), list(names), write, schema
        self.files = [one for one in files if one.is_file()]

    @property
    def title(self) -> str | None:
        return None  # as for a table in memory: its user must name it

    @property
    def changed(self) -> bool:
        return False  # nobody else can write to it

    @cached_property
    def _file(self) -> Any:
        # It stays open as long as the table is there.
        file = tempfile.TemporaryFile()  # noqa: SIM115
        weakref.finalize(self, file.close)
        try:
            self._write(file)
        except (pa.ArrowException, OSError) as error:
            raise InvalidInput(f"Cannot read {str(self.path)!r}: {error}.") from error
        return file

    def _open(self) -> Any:
        self._file.seek(0)
        return pq.ParquetFile(self._file, pre_buffer=False)

    @cached_property
    def _schema(self) -> Any:
        return self._open().schema_arrow if self._declared is None else self._declared

    @property
    def rows(self) -> int | None:
        return int(self._open().metadata.num_rows)

    @property
    def metadata(self) -> Mapping[bytes, bytes]:
        return self._schema.metadata or {}

    def arrow_batches(self, names: Sequence[str] | None = None) -> Iterator[Any]:
        wanted = self.names if names is None else list(names)
        for batch in self._open().iter_batches(batch_size=_ROWS, columns=wanted):
            chosen = batch.select(wanted)
            yield chosen if self._declared is None else chosen.cast(self.arrow_schema(wanted))


def spooled(data: Any) -> SpooledTable | None:
    """Return a table, a plan or a stream as a table in a file; None for anything else, such as a column."""
    title = f"the {type(data).__name__}"
    if type(data).__module__.startswith("polars") and hasattr(data, "lazy"):
        return _of_plan(data.lazy(), title)
    files = getattr(data, "files", ()) if is_dataset(data) else ()
    try:
        reader = reader_of(data)
    except InvalidInput:  # of batches, which says it all
        raise
    except (pa.ArrowException, ValueError, TypeError, OSError) as error:
        raise InvalidInput(f"Cannot read {title}: {error}.") from error
    if reader is None:
        return None
    return SpooledTable(title, reader.schema.names, lambda file: _spool(reader, file), map(Path, files), reader.schema)


def _of_plan(plan: Any, title: str) -> SpooledTable:
    import polars as pl

    def sink(file: BinaryIO) -> None:
        try:
            plan.sink_parquet(file, compression="lz4", statistics=False, maintain_order=True)
        except pl.exceptions.PolarsError as error:
            raise InvalidInput(f"The plan of {title} cannot be run into a file: {error}.") from error

    try:
        names = plan.collect_schema().names()
        scans = re.findall(r"SCAN \[(.*)\]", plan.explain(optimized=False))
    except pl.exceptions.PolarsError as error:
        raise InvalidInput(f"The plan of {title} cannot be run: {error}.") from error
    # Of many files it names the first ones only.
    return SpooledTable(title, names, sink, [Path(one) for scan in scans for one in scan.split(", ")])


def _spool(reader: Any, file: BinaryIO) -> None:
    with pq.ParquetWriter(file, reader.schema, compression="lz4", write_statistics=False) as writer:
        for table in regrouped(pa.Table.from_batches([batch], reader.schema) for batch in reader):
            writer.write_table(table)
