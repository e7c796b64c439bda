"""PostgreSQL, by ADBC: Arrow batches out by COPY, an Arrow stream in by COPY, and one transaction around it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from secrets import token_hex
from typing import Any

import adbc_driver_manager as adbc
import pyarrow as pa

from leakwise.errors import InvalidInput, did_you_mean, some_of
from leakwise.tables.address import Address
from leakwise.tables.databases import Shuffle, quoted
from leakwise.tables.databases.postgres_columns import COLUMNS, Column, Values, read_columns
from leakwise.tables.databases.postgres_session import SESSION, connected, literal, said_by
from leakwise.tables.formats.carried_mechanism import KEY
from leakwise.tables.formats.columns import Replacement
from leakwise.tables.release.exchange import Exchanger
from leakwise.tables.release.shuffle import shuffled

__all__ = ["PostgresDatabase", "opened"]

# An index that has all columns could be read instead of the table, in the order of what it is an index of.
_STORED = ("enable_indexscan", "enable_indexonlyscan", "enable_bitmapscan")
_NOTE = "Released by Leakwise. Estimates find the mechanism here: "


@contextmanager
def opened(address: Address, *, write: bool, snapshot: str | None = None) -> Iterator[PostgresDatabase]:
    """The database: the rows of one moment to read, or a transaction to write in."""
    with connected(address) as connection:
        database = PostgresDatabase(connection, address)
        if not write:
            database.run("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            if snapshot is not None:
                database.run(f"SET TRANSACTION SNAPSHOT {literal(snapshot)}")
        database.configure(SESSION)
        yield database


class PostgresDatabase:
    """An open PostgreSQL database, in a transaction."""

    def __init__(self, connection: Any, address: Address) -> None:
        self._connection, self._address = connection, address

    # ------------------------------------------------------------------------------------------- what there is

    def run(self, statement: str) -> None:
        """Execute a statement that answers nothing."""
        with self._connection.cursor() as cursor:
            cursor.execute(statement)

    def ask(self, statement: str, *values: str) -> list[tuple[Any, ...]]:
        """Return the rows of a query."""
        with self._connection.cursor() as cursor:
            cursor.execute(statement, values or None)
            rows: list[tuple[Any, ...]] = cursor.fetchall()
            return rows

    def configure(self, settings: Mapping[str, str]) -> None:
        """Set what the session goes by."""
        self.ask("SELECT " + ", ".join(f"set_config({literal(k)}, {literal(v)}, false)" for k, v in settings.items()))

    def _find(self, table: str) -> tuple[str, str] | None:
        """Schema and name of a table. Names are as they are; one without a schema is looked for as the server does."""
        schema, dot, rest = table.partition(".")
        found = self.ask(
            "SELECT n.nspname, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
            "WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND ((c.relname = $1 AND n.nspname = ANY "
            "(current_schemas(false))) OR (n.nspname = $2 AND c.relname = $3)) "
            "ORDER BY c.relname = $1 DESC, array_position(current_schemas(false), n.nspname)",
            table,
            schema if dot else "",
            rest,
        )
        return None if not found else (str(found[0][0]), str(found[0][1]))

    def _found(self, table: str) -> tuple[str, str]:
        if (found := self._find(table)) is not None:
            return found
        rows = self.ask(
            "SELECT CASE WHEN n.nspname = ANY (current_schemas(false)) THEN c.relname::text "
            "ELSE n.nspname || '.' || c.relname END FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
            "WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname !~ '^(pg_|information_schema$)' ORDER BY 1"
        )
        titles = [str(name) for (name,) in rows]
        raise InvalidInput(
            f"{table!r} is not a table of {str(self._address)!r}, which has {some_of(titles, 12) or 'none'}."
            + did_you_mean(table, titles)
        )

    def has(self, table: str) -> bool:
        return self._find(table) is not None

    def qualified(self, table: str) -> str:
        schema, name = self._found(table)
        return f"{quoted(schema)}.{quoted(name)}"

    def identity(self, table: str) -> tuple[Any, ...]:
        ((server, database, oid),) = self.ask(
            "SELECT (SELECT system_identifier::text FROM pg_control_system()), current_database()::text, "
            "$1::regclass::oid::text",
            self.qualified(table),
        )
        return server, database, oid

    def is_view(self, table: str) -> bool:
        """Whether reading it may follow anything: a view, or a table of another server."""
        found = self.ask("SELECT relkind::text FROM pg_class WHERE oid = $1::regclass", self.qualified(table))
        return found[0][0] in ("v", "f")

    def holds_only(self, table: str) -> bool:
        return False  # a server has always more, and gives nobody its files

    def columns(self, table: str) -> list[Column]:
        return self._columns_at(self.qualified(table))

    def _columns_at(self, place: str) -> list[Column]:
        # Without a path of schemas types are named in full, and mean the same to whoever reads them.
        ((path,),) = self.ask("SELECT current_setting('search_path')")
        self.configure({"search_path": ""})
        found = self.ask(COLUMNS, place)
        self.configure({"search_path": path})
        return read_columns(found)

    def names(self, table: str) -> list[str]:
        return [column.name for column in self.columns(table)]

    def holds(self, table: str, name: str) -> type | None:
        return next((column.holds for column in self.columns(table) if column.name == name), None)

    def metadata(self, table: str) -> Mapping[bytes, bytes]:
        ((note,),) = self.ask("SELECT obj_description($1::regclass, 'pg_class')", self.qualified(table))
        if not isinstance(note, str) or not note.startswith(_NOTE):
            return {}
        return {KEY: note.removeprefix(_NOTE).encode()}

    # ---------------------------------------------------------------------------------------------------- rows

    def rows(self, table: str) -> int:
        ((count,),) = self.ask(f"SELECT count(*) FROM {self.qualified(table)}")
        return int(count)

    def read(self, table: str, columns: Sequence[Column], typed: Sequence[str]) -> Generator[Any, None, None]:
        if not self.is_view(table):
            self.configure(dict.fromkeys(_STORED, "off"))
        chosen = ", ".join(column.selected(column.name in typed) for column in columns)
        with self._connection.cursor() as cursor:
            cursor.execute(f"SELECT {chosen} FROM {self.qualified(table)}")
            schema = pa.schema([column.field(column.name in typed) for column in columns])
            with cursor.fetch_record_batch() as reader:
                while (batch := self._next(reader)) is not None:
                    yield pa.RecordBatch.from_arrays(batch.columns, schema=schema)

    def _next(self, reader: Any) -> Any:
        try:
            batch = reader.read_next_batch()
            batch.validate(full=True)  # a database without an encoding holds texts that are none
            return batch
        except StopIteration:
            return None
        except (OSError, pa.ArrowException) as error:
            raise InvalidInput(f"The database {self._address} says: {said_by(error, self._address)}") from None

    def batches(self, table: str, names: Sequence[str]) -> Iterator[Mapping[str, Any]]:
        known = {column.name: column for column in self.columns(table)}
        chosen = [known[name] for name in dict.fromkeys(names)]
        for batch in self.read(table, chosen, names):
            values = Values(batch, known)
            yield {name: values[name] for name in names}

    def hold(self, table: str) -> str:
        # Once read, the table cannot be dropped, changed in its columns, or put into another order.
        self.ask(f"SELECT FROM {self.qualified(table)} LIMIT 0")
        ((name,),) = self.ask("SELECT pg_export_snapshot()")
        return str(name)

    def settle(self) -> None:
        """Nothing waits outside of the transaction."""

    # ------------------------------------------------------------------------------------------------- writing

    def check_place(self, table: str) -> None:
        self._place(table)

    def _place(self, target: str) -> tuple[str, str]:
        """Where a table is made: in a schema that there is, else in the first of the path under the whole name."""
        if (found := self._find(target)) is not None:
            return found
        schema, dot, rest = target.partition(".")
        known = [name for (name,) in self.ask("SELECT nspname::text FROM pg_namespace")]
        if dot and rest and schema in known:
            found = schema, rest
        else:
            ((first,),) = self.ask("SELECT current_schema()::text")
            if first is None:
                raise InvalidInput(f"out must name a schema that there is: schema.table. Got {target!r} instead.")
            found = str(first), target
        ((most, may),) = self.ask(
            "SELECT current_setting('max_identifier_length'), has_schema_privilege($1, 'CREATE')", found[0]
        )
        if len(found[1].encode()) > int(most):
            raise InvalidInput(
                f"out must be the name of a table of at most {most} bytes, or PostgreSQL would cut it off. Got "
                f"{found[1]!r} instead."
            )
        if not may:
            raise InvalidInput(
                f"You may not make tables in the schema {found[0]!r} of {self._address}. Name another in out "
                "(schema.table), or ask for the right to: GRANT CREATE ON SCHEMA."
            )
        return found

    def rewrite(
        self,
        source: PostgresDatabase,
        table: str,
        target: str,
        exchange: Exchanger,
        told: Callable[[int], None],
        checks: Callable[[int], None],
        shuffle: Shuffle | None = None,
        carried: Mapping[bytes, bytes] | None = None,
        replace: bool = True,
    ) -> None:
        columns = [
            one for one in source.columns(table) if one.name not in exchange.dropped or one.name in exchange.reads
        ]
        known = {column.name: column for column in columns}
        schema = pa.schema([column.field(column.name in exchange.reads) for column in columns])
        replacement = Replacement(schema, exchange.outputs, {}, drop=exchange.dropped)
        wanted = {
            column.name: column.type_of(exchange.outputs.get(column.name))
            for column in columns
            if column.name not in exchange.dropped
        }
        self._refuse_types({name: kind for name, kind in wanted.items() if kind is not None})
        done = 0

        def released() -> Generator[Any, None, None]:
            nonlocal done
            with closing(source.read(table, columns, exchange.reads)) as read:
                for batch in read:
                    yield replacement.batch(batch, exchange(Values(batch, known)))
                    done += batch.num_rows
                    told(done)

        with closing(released()) as rows:  # before the connection that it reads from
            batches: Iterator[Any] = rows
            if shuffle is not None:
                tables = shuffled(rows, Path(tempfile.gettempdir()), shuffle.stream)
                batches = (batch for one in tables for batch in one.to_batches())
            self.write(
                replacement.schema, batches, target, wanted, lambda: checks(done), carried or {}, replace=replace
            )

    def write(
        self,
        schema: Any,
        batches: Iterator[Any],
        target: str,
        wanted: Mapping[str, str | None],
        checks: Callable[[], None],
        carried: Mapping[bytes, bytes],
        *,
        replace: bool,
    ) -> None:
        """Write record batches as a table, in the place of one that stands there if it is to be replaced, and commit.

        ``wanted`` are the types of columns, where they do not follow from those of the schema; ``checks`` is called
        before the commit, and what it raises leaves everything as it was.
        """
        place, name = self._place(target)
        draft = f"leakwise released rows {token_hex(8)}"
        made, final = (f"{quoted(place)}.{quoted(one)}" for one in (draft, name))
        trouble: list[BaseException] = []

        def watched() -> Iterator[Any]:
            try:
                yield from batches
            except GeneratorExit:
                raise
            except BaseException as error:
                trouble.append(error)  # ADBC would make a text of it
                raise

        try:
            with self._connection.cursor() as cursor:
                reader = pa.RecordBatchReader.from_batches(schema, watched())
                cursor.adbc_ingest(draft, reader, mode="create", db_schema_name=place)
        except adbc.Error:
            if trouble:
                raise trouble[0] from None
            raise
        checks()
        kinds = {column.name: column.kind for column in self._columns_at(made)}
        changes = [
            f"ALTER COLUMN {quoted(column)} TYPE {kind} USING {quoted(column)}::{kind}"
            for column, kind in wanted.items()
            if kind not in (None, kinds[column])
        ]
        if changes:
            self.run(f"ALTER TABLE {made} {', '.join(changes)}")
        if replace:
            self.run(f"DROP TABLE IF EXISTS {final}")
        self.run(f"ALTER TABLE {made} RENAME TO {quoted(name)}")
        if KEY in carried:
            self.run(f"COMMENT ON TABLE {final} IS {literal(_NOTE + carried[KEY].decode())}")
        self._connection.commit()

    def takes(self, field: Any) -> bool:
        """Return whether a column of this Arrow type can be written. Where not, the transaction is over."""
        with self._connection.cursor() as cursor:
            try:
                cursor.adbc_ingest(f"leakwise {token_hex(8)}", pa.schema([field]).empty_table(), mode="create")
            except (adbc.InternalError, adbc.NotSupportedError):
                return False
        return True

    def arrow_fields(self, table: str) -> list[Any]:
        """Return the columns as the fields of an Arrow table; numbers of any length with as many digits as occur."""
        place, fields = self.qualified(table), []
        for column in self.columns(table):
            digits = column.digits
            if column.beneath == "numeric" and digits is None:
                name = quoted(column.name)
                ((before, after),) = self.ask(
                    f"SELECT max(length(trunc(abs({name}))::text)), max(scale({name})) FROM {place} "
                    f"WHERE {name} NOT IN ('NaN', 'Infinity', '-Infinity')"
                )
                digits = int(before or 1) + int(after or 0), int(after or 0)
            fields.append(column.field(True, digits))
        return fields

    def _refuse_types(self, wanted: Mapping[str, str]) -> None:
        for name, kind in wanted.items():
            if self.ask("SELECT to_regtype($1) IS NULL", kind) == [(True,)]:
                raise InvalidInput(
                    f"Column {name!r} has the type {kind}, which {self._address} does not have. Make the type there, "
                    "or leave the column out (drop, --drop)."
                )
