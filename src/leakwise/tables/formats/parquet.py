"""Parquet: row groups in, row groups out, with the compression of the source."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from leakwise.errors import InvalidInput
from leakwise.tables.formats import Columns, Exchange, Reorder
from leakwise.tables.formats.carried_mechanism import KEY, Carried, carried_secrets, pack
from leakwise.tables.formats.columns import ArrowColumns, Replacement
from leakwise.tables.formats.names import kind_of

__all__ = ["ParquetTable"]

# A batch of all columns is held in memory two times over; one of the secret columns only is small.
_BYTES = 64 << 20
_ROWS = 1 << 20


# Where Spark notes the schema of the DataFrame, with what its columns carry.
_ROW_METADATA = b"org.apache.spark.sql.parquet.row.metadata"


class _Field(msgspec.Struct):
    name: str
    metadata: dict[str, Any] = {}


class _Schema(msgspec.Struct):
    fields: list[_Field] = []


class ParquetTable(ArrowColumns):
    """A Parquet file."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.kind = kind_of(path)
        with self._open() as file:
            self._schema = file.schema_arrow
            self._meta = file.metadata
        self.names: list[str] = self._names()

    def _open(self, names: Sequence[str] = ()) -> Any:
        try:
            # Texts of the secret columns come as dictionaries: one text per distinct value, not one per row.
            return pq.ParquetFile(self.path, read_dictionary=self._texts(names), buffer_size=1 << 20, pre_buffer=False)
        except (pa.ArrowException, OSError) as error:
            raise InvalidInput(
                f"{str(self.path)!r} is not a Parquet file, or it is damaged: {str(error).rstrip('.')}."
            ) from error

    def _texts(self, names: Sequence[str]) -> list[str]:
        """The columns that are not made of others: Parquet knows a column of lists only by its parts."""
        return [name for name in names if not pa.types.is_nested(self._schema.field(name).type)]

    @property
    def rows(self) -> int | None:
        return int(self._meta.num_rows)

    @property
    def parts(self) -> Sequence[int]:
        return [self._meta.row_group(place).num_rows for place in range(self._meta.num_row_groups)]

    @cached_property
    def metadata(self) -> Mapping[bytes, bytes]:
        found = dict(self._schema.metadata or {})
        secrets = _told_by_spark(found.get(_ROW_METADATA, b"{}"), str(self.path))
        return {**found, **pack(secrets, {})} if secrets else found

    def batches(self, names: Sequence[str]) -> Iterator[Columns]:
        with self._open(names) as file:
            for batch in self._read(file, _ROWS, columns=list(dict.fromkeys(names))):
                yield {name: batch.column(name) for name in names}

    def arrow_batches(self, names: Sequence[str] | None = None) -> Iterator[Any]:
        wanted = self.names if names is None else list(names)
        with self._open() as file:
            for place in range(self._meta.num_row_groups):
                for batch in self._read(file, self._most(place), row_groups=[place], columns=wanted):
                    yield batch.select(wanted)

    def _most(self, place: int, without: Iterable[str] = ()) -> int:
        """How many rows of a row group are read at a time, where all columns are.

        Where they are written so many at a time, the number is seen: it must not follow the columns ``without`` which,
        or without whose true values, the rows go out.
        """
        group = self._meta.row_group(place)
        columns = [group.column(one) for one in range(group.num_columns)]
        inside = tuple(f"{name}." for name in without)
        size = sum(one.total_uncompressed_size for one in columns if not f"{one.path_in_schema}.".startswith(inside))
        width = max(1, size // max(1, group.num_rows))
        return int(max(1024, min(_ROWS, _BYTES // width)))

    def _read(self, file: Any, rows: int, **choice: Any) -> Iterator[Any]:
        try:
            yield from file.iter_batches(batch_size=rows, **choice)
        except (pa.ArrowException, OSError) as error:
            raise InvalidInput(f"Cannot read {str(self.path)!r}: {error}.") from error

    def _rewrite_alike(
        self, target: BinaryIO, exchange: Exchange, carried: Mapping[bytes, bytes], reorder: Reorder | None
    ) -> Iterator[int]:
        replacement = Replacement(self._schema, exchange.outputs, carried, hidden=True, drop=exchange.dropped)
        with (
            self._open(list(exchange.outputs)) as file,
            pq.ParquetWriter(target, replacement.schema, compression=self._compression()) as writer,
        ):

            def released() -> Iterator[Any]:
                hidden = [*exchange.outputs, *exchange.dropped]
                for place in range(self._meta.num_row_groups):
                    for part in self._read(file, self._most(place, hidden), row_groups=[place]):
                        table = pa.Table.from_batches([part])
                        new = exchange({name: table.column(name) for name in exchange.reads})
                        yield replacement.batch(table, new)

            pieces = released()
            for piece in pieces if reorder is None else reorder(pieces):
                # One row group for each piece, however many rows it has.
                writer.write_table(piece, row_group_size=max(1, piece.num_rows))
                yield piece.num_rows

    def _compression(self) -> Any:
        """The codec of each column as the source has it."""
        if not self._meta.num_row_groups:
            return "snappy"
        group = self._meta.row_group(0)
        columns = [group.column(place) for place in range(group.num_columns)]
        plain = {"UNCOMPRESSED": "NONE", "LZ4_RAW": "LZ4"}
        return {one.path_in_schema: plain.get(one.compression, one.compression) for one in columns}


def _told_by_spark(note: bytes, name: str) -> list[Carried]:
    """The released secrets that the columns of a DataFrame spoke of."""
    try:
        fields = msgspec.json.decode(note, type=_Schema).fields
    except msgspec.DecodeError:
        return []  # not of the form that Spark writes: it says nothing about a release
    found: list[Carried] = []
    for field in fields:
        if (told := field.metadata.get(KEY.decode())) is not None:
            found += [one for one in carried_secrets({KEY: str(told).encode()}, name) if one not in found]
    return found
