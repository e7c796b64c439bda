"""Between servers and files: a table of PostgreSQL released like a file, and a file released into such a table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing
from pathlib import Path
from typing import Any

import pyarrow as pa

from leakwise.errors import InvalidInput
from leakwise.tables.address import Address
from leakwise.tables.databases.postgres import PostgresDatabase, opened
from leakwise.tables.databases.postgres_columns import Values, fitted, fitting
from leakwise.tables.databases.sql_table import SqlTable, reading
from leakwise.tables.formats import Exchange, Reorder, TableFile
from leakwise.tables.formats.columns import ArrowColumns
from leakwise.tables.formats.sinks import released_pieces
from leakwise.tables.formats.spool import spooled

__all__ = ["ServerTable", "refuse_types", "write_to_server"]


class ServerTable(ArrowColumns):
    """A table of a server, as it is at one moment, to be released into a file."""

    def __init__(self, table: SqlTable) -> None:
        self._table = table.at_one_moment()
        self.path = Path(f"{table.table} in {table.path.name}")
        with self._database() as database:
            self._columns = {column.name: column for column in database.columns(table.table)}
            self._schema = pa.schema(database.arrow_fields(table.table), metadata=dict(self._table.metadata))
        self.names = list(self._columns)
        # A view may give other rows each time, and in another order: it is run once.
        rows = pa.RecordBatchReader.from_batches(self._schema, self._read(self.names))
        self._kept = spooled(rows) if self._table.is_view else None

    def _database(self) -> Any:
        return reading(self._table)

    @property
    def title(self) -> str | None:
        return self._table.table

    @property
    def changed(self) -> bool:
        return False  # it is of one moment

    @property
    def metadata(self) -> Mapping[bytes, bytes]:
        return self._table.metadata

    def arrow_schema(self, names: Sequence[str], drawn: Sequence[str] = ()) -> Any:
        # How many digits the true values of a secret have is not told by the type of its outcomes.
        typed = [self._columns[name].field(True, self._columns[name].digits) for name in drawn if name in names]
        known = {field.name: field for field in typed}
        fields = [known.get(name, self._schema.field(name)) for name in names]
        return pa.schema(fields, metadata=self._schema.metadata)

    def arrow_batches(self, names: Sequence[str] | None = None) -> Iterator[Any]:
        return (
            self._read(self.names if names is None else names)
            if self._kept is None
            else self._kept.arrow_batches(names)
        )

    def _read(self, names: Sequence[str]) -> Iterator[Any]:
        chosen = [self._columns[name] for name in names]
        schema = pa.schema([self._schema.field(column.name) for column in chosen])
        with (
            self._database() as database,
            closing(database.read(self._table.table, chosen, [column.name for column in chosen])) as read,
        ):
            for batch in read:
                values = Values(batch, self._columns)
                arrays = [values.of_type(field.name, field.type) for field in schema]
                yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def _writing(table: SqlTable) -> AbstractContextManager[PostgresDatabase]:
    assert isinstance(table.database, Address)
    return opened(table.database, write=True)


def refuse_types(table: TableFile, out: SqlTable, names: Sequence[str]) -> None:
    """Refuse, before anything is drawn, a column that PostgreSQL has no type for; ``names`` go out as they are."""
    with _writing(out) as database:
        for field in fitting(table.arrow_schema(names)):
            if not database.takes(field):
                raise InvalidInput(
                    f"Column {field.name!r} of {str(table.path)!r} ({field.type}) cannot be written to a table of "
                    "PostgreSQL. Drop the column, or make texts of it first."
                )


def write_to_server(
    table: TableFile,
    out: SqlTable,
    exchange: Exchange,
    carried: Mapping[bytes, bytes],
    reorder: Reorder | None,
    told: Callable[[int], None],
    checks: Callable[[], None],
    *,
    replace: bool,
) -> None:
    """Write a file with columns exchanged and dropped as a table of a server, in one transaction.

    ``told`` is called with the rows of every batch, ``checks`` before the commit.
    """
    kept = [name for name in table.names if name not in exchange.dropped]
    schema, pieces = released_pieces(table, table.arrow_schema(kept, list(exchange.outputs)), exchange, {})
    known = fitting(schema)

    def rows() -> Iterator[Any]:
        for piece in pieces:
            yield pa.Table.from_arrays([fitted(piece[field.name], field) for field in known], schema=known)
            told(piece.num_rows)

    with _writing(out) as database, closing(pieces):
        batches = (batch for piece in (rows() if reorder is None else reorder(rows())) for batch in piece.to_batches())
        database.write(known, batches, out.table, {}, checks, carried, replace=replace)
