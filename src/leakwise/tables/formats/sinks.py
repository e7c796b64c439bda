"""Released rows into any kind of file: where the kind is another than the source's, or the source has none.

Rows are put into groups of one size, so that the bounds of what is written do not tell where a file of the source, or a
batch of it, ended.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from leakwise.errors import InvalidInput, some_of
from leakwise.tables.formats import Exchange, Reorder, TableFile
from leakwise.tables.formats.columns import Replacement
from leakwise.tables.formats.names import Kind, kind_of
from leakwise.tables.formats.survey.writing import survey_sink
from leakwise.tables.kinds.arrow_buffers import without_hidden

__all__ = ["Sink", "refuse_types", "regrouped", "released_pieces", "sink_for", "write_as"]

_ROWS = 1 << 17


class Sink(Protocol):
    """Where released rows go."""

    def write(self, table: Any, /) -> None:
        """Write an Arrow table of the schema that the sink was made for."""


def write_as(
    table: TableFile,
    target: BinaryIO,
    out: Path,
    exchange: Exchange,
    carried: Mapping[bytes, bytes],
    reorder: Reorder | None = None,
) -> Iterator[int]:
    """Write a table with columns exchanged and dropped in the kind of file that a name says; yields rows written."""
    schema, pieces = released_pieces(table, _schema(table, out, exchange), exchange, carried)
    with sink_for(out, target, schema) as sink:
        for piece in regrouped(pieces if reorder is None else reorder(pieces)):
            sink.write(piece)
            yield piece.num_rows


def released_pieces(
    table: TableFile, schema: Any, exchange: Exchange, carried: Mapping[bytes, bytes]
) -> tuple[Any, Generator[Any, None, None]]:
    """Return the schema of a released table, and its rows as Arrow tables; ``schema`` is that of the source."""
    others = pa.schema([field for field in schema if field.name not in exchange.outputs])
    replacement = Replacement(schema, exchange.outputs, carried, drop=exchange.dropped)
    names = replacement.schema.names

    def released() -> Generator[Any, None, None]:
        for read, batch in table.pieces(exchange.reads, others):
            new = exchange(read)
            arrays = [replacement.make[name](new[name][0]) if name in new else batch.column(name) for name in names]
            yield pa.Table.from_arrays(arrays, schema=replacement.schema)

    return replacement.schema, released()


def _schema(table: TableFile, out: Path, exchange: Exchange) -> Any:
    """The schema of all columns that go out, as the source has it; fields of text stay as they were written in CSV."""
    kept = [name for name in table.names if name not in exchange.dropped]
    return table.arrow_schema(kept, kept if _as_it_is(table, out) else list(exchange.outputs))


def _as_it_is(table: TableFile, out: Path) -> bool:
    return table.text_format == kind_of(out).format == "delimited"


def refuse_types(table: TableFile, out: Path, names: Sequence[str]) -> None:
    """Refuse, before anything is drawn, a column that the kind of the released file cannot hold.

    ``names`` are those that go out as they are.
    """
    if table.keeps(out):
        return
    if twice := {name for name in table.names if table.names.count(name) > 1}:
        raise InvalidInput(
            f"{str(table.path)!r} has {some_of(sorted(twice))} more than once, and a file of another kind names its "
            "columns apart. Rename one of them, or release into the same kind of file."
        )
    if _as_it_is(table, out):
        return  # texts fit
    for field in table.arrow_schema(names):
        try:
            with sink_for(out, io.BytesIO(), pa.schema([field])) as sink:
                sink.write(pa.schema([field]).empty_table())
        except (pa.ArrowException, TypeError) as error:
            ending = kind_of(out).ending
            raise InvalidInput(
                f"Column {field.name!r} of {str(table.path)!r} ({field.type}) cannot be written to a {ending} file. "
                "Release into another kind of file, or drop the column."
            ) from error


def regrouped(pieces: Iterable[Any], rows: int = _ROWS) -> Iterator[Any]:
    """Yield the rows of Arrow tables in tables of one size; the last one has what is left.

    >>> [one.num_rows for one in regrouped([pa.table({"a": range(n)}) for n in (1, 7, 2)], rows=4)]
    [4, 4, 2]
    """
    held: list[Any] = []
    count = 0
    for piece in pieces:
        start = 0
        while start < piece.num_rows:
            part = piece.slice(start, rows - count)
            held.append(part)
            start, count = start + part.num_rows, count + part.num_rows
            if count == rows:
                yield _joined(held)
                held, count = [], 0
    if held:
        yield _joined(held)


def _joined(parts: list[Any]) -> Any:
    # One chunk each: the bounds of chunks are those of the source.
    return pa.concat_tables(parts).unify_dictionaries().combine_chunks()


@contextmanager
def sink_for(out: Path, target: BinaryIO, schema: Any) -> Iterator[Sink]:
    """Open what writes Arrow tables of a schema to a stream, in the kind of file that a name says."""
    kind = kind_of(out, "out")
    with _MAKERS[kind.format](kind, target, schema) as sink:
        yield sink


class _Writer:
    def __init__(self, write: Any) -> None:
        self.write = write


@contextmanager
def _parquet(kind: Kind, target: BinaryIO, schema: Any) -> Iterator[Sink]:
    import pyarrow.parquet as pq

    with pq.ParquetWriter(target, schema) as writer:

        def write(table: Any) -> None:
            # Parquet has no place for a missing value in a dictionary.
            columns = [without_hidden(one) if pa.types.is_dictionary(one.type) else one for one in table.columns]
            plain = pa.Table.from_arrays(columns, schema=schema)
            writer.write_table(plain, row_group_size=max(1, plain.num_rows))

        yield _Writer(write)


@contextmanager
def _ipc(kind: Kind, target: BinaryIO, schema: Any) -> Iterator[Sink]:
    """Arrow batches. One dictionary must hold for a whole file, and the source may have several: so values go in."""
    stream = kind.ending == ".arrows"
    options = pa.ipc.IpcWriteOptions(compression="lz4" if kind.ending == ".feather" else None)
    plain = schema if stream else _converted(schema, pa.types.is_dictionary)
    new: AbstractContextManager[Any] = (pa.ipc.new_stream if stream else pa.ipc.new_file)(
        target, plain, options=options
    )
    with new as writer:

        def write(table: Any) -> None:
            shown = [without_hidden(column) for column in _cast(table, plain).columns]
            writer.write_table(pa.Table.from_arrays(shown, schema=plain), max(1, table.num_rows))

        yield _Writer(write)


@contextmanager
def _delimited(kind: Kind, target: BinaryIO, schema: Any) -> Iterator[Sink]:
    """Fields between commas or tabs: a missing value is empty, an empty text ``""``; quotes are where they must be."""
    delimiter = "\t" if kind.ending.startswith(".tsv") else ","
    plain = _converted(schema, _is_odd)
    if unfit := [field.name for field in plain if _is_binary(field.type) or pa.types.is_nested(field.type)]:
        raise pa.ArrowTypeError(f"{some_of(unfit)} has bytes or lists")
    special = f'[{delimiter}"\r\n]'

    def quoted(texts: Any) -> Any:
        odd = pc.or_(pc.match_substring_regex(texts, special), pc.equal(pc.binary_length(texts), 0))
        if not pc.any(odd).as_py():
            return texts
        doubled = pc.replace_substring(texts, '"', '""')
        return pc.if_else(odd, _joined_texts('"', doubled, '"'), texts)

    def write(table: Any) -> None:
        columns = []
        for column in _cast(table, plain).columns:
            texts = column.cast(pa.large_string())
            columns.append(pc.fill_null(quoted(texts) if _is_text(column.type) else texts, ""))
        for chunk in _joined_texts(_joined_texts(*columns, between=delimiter), "\n").chunks:
            target.write(_bytes(chunk))

    target.write(delimiter.join(quoted(pa.array(plain.names, pa.large_string())).to_pylist()).encode() + b"\n")
    yield _Writer(write)


@contextmanager
def _json_lines(kind: Kind, target: BinaryIO, schema: Any) -> Iterator[Sink]:
    encoder = msgspec.json.Encoder(decimal_format="number")
    plain = _converted(schema, lambda one: _is_odd(one) or pa.types.is_temporal(one))
    if unfit := [field for field in plain if _has_bytes(field.type)]:
        raise pa.ArrowTypeError(f"{some_of([field.name for field in unfit])} has bytes")
    yield _Writer(lambda table: target.write(encoder.encode_lines(_cast(table, plain).to_pylist())))


_MAKERS: dict[str, Callable[[Kind, BinaryIO, Any], AbstractContextManager[Sink]]] = {
    "parquet": _parquet,
    "ipc": _ipc,
    "delimited": _delimited,
    "json_lines": _json_lines,
    "stata": survey_sink,
    "spss": survey_sink,
}


def _converted(schema: Any, odd: Any) -> Any:
    """The schema with the types that a kind of file cannot hold as the values, or the texts, that they stand for."""
    fields = [field.with_type(_values(field.type) if odd(field.type) else field.type) for field in schema]
    return pa.schema(fields, metadata=schema.metadata)


def _cast(table: Any, schema: Any) -> Any:
    """The table with the values, or the texts, of the types that were converted."""
    columns = [_cast_column(column, field.type) for column, field in zip(table.columns, schema, strict=True)]
    return pa.Table.from_arrays(columns, schema=schema)


def _cast_column(column: Any, kind: Any) -> Any:
    if pa.types.is_run_end_encoded(column.type) and column.type != kind:
        column = pc.run_end_decode(column)
    return column if column.type == kind else column.cast(kind)


def _values(kind: Any) -> Any:
    if isinstance(kind, pa.BaseExtensionType):
        return kind.storage_type
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        return kind.value_type
    return pa.large_string()


def _joined_texts(*parts: Any, between: str = "") -> Any:
    """The texts of columns, or one text for all rows, put together row by row."""
    large = pa.large_string()
    columns = [pa.scalar(part, large) if isinstance(part, str) else part for part in parts]
    return pc.binary_join_element_wise(*columns, pa.scalar(between, large))


def _bytes(texts: Any) -> memoryview:
    """All texts of an array, one after the other."""
    _, ends, data = texts.buffers()
    first, last = memoryview(ends).cast("q")[texts.offset], memoryview(ends).cast("q")[texts.offset + len(texts)]
    return memoryview(data or b"")[first:last]


def _is_text(kind: Any) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _is_odd(kind: Any) -> bool:
    views = pa.types.is_string_view(kind)
    return bool(
        views
        or pa.types.is_dictionary(kind)
        or pa.types.is_run_end_encoded(kind)
        or isinstance(kind, pa.BaseExtensionType)
    )


def _is_binary(kind: Any) -> bool:
    tests = (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary, pa.types.is_binary_view)
    return any(is_one(kind) for is_one in tests)


def _has_bytes(kind: Any) -> bool:
    parts = [kind.field(place).type for place in range(kind.num_fields)] if kind.num_fields else []
    return _is_binary(kind) or any(map(_has_bytes, parts))
