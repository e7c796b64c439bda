"""DuckDB: Arrow batches out, an Arrow stream in, neither of them copied."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from leakwise.errors import InvalidInput
from leakwise.tables.databases import FileDatabase, Shuffle, find_table, named_table, quoted
from leakwise.tables.formats.columns import Replacement, held_type
from leakwise.tables.release.exchange import Exchanger
from leakwise.tables.release.shuffle import shuffled

__all__ = ["DuckDatabase", "opened"]

_ROWS = 1 << 17
_STREAM = "leakwise released rows"


@contextmanager
def opened(path: Path, *, write: bool) -> Iterator[DuckDatabase]:
    """The database; nobody else may write to it meanwhile, which DuckDB sees to."""
    try:
        connection = duckdb.connect(str(path), read_only=not write)
    except duckdb.Error as error:
        raise InvalidInput(f"Cannot open {str(path)!r}: {error}") from error
    try:
        # Types that Arrow does not know (UUID, HUGEINT, …) go through it as they are.
        connection.execute("SET arrow_lossless_conversion = true")
        # The rows of a table in the order in which they are stored, however many threads read them.
        connection.execute("SET preserve_insertion_order = true")
        yield DuckDatabase(connection, path)
    except duckdb.Error as error:
        raise InvalidInput(f"The database {str(path)!r} says: {error}") from error
    finally:
        connection.close()


def _batches(connection: Any, statement: str) -> Iterator[Any]:
    """The record batches of a query."""
    # A cursor of its own: a connection has one open result at a time.
    with connection.cursor() as cursor:
        found = cursor.sql(statement)
        yield from (
            found.to_arrow_reader(_ROWS) if hasattr(found, "to_arrow_reader") else found.fetch_arrow_reader(_ROWS)
        )


class DuckDatabase(FileDatabase):
    """An open DuckDB database."""

    _TABLES = "SELECT table_schema, table_name FROM information_schema.tables WHERE table_catalog = current_database()"

    def names(self, table: str) -> list[str]:
        return list(self._schema(table).names)

    def holds(self, table: str, name: str) -> type | None:
        return held_type(self._schema(table).field(name).type)

    def is_view(self, table: str) -> bool:
        schema, name = named_table(self._tables(), table, str(self._path))
        statement = (
            "SELECT table_type FROM information_schema.tables WHERE table_catalog = current_database() "
            "AND table_schema = ? AND table_name = ?"
        )
        return bool(self._connection.execute(statement, [schema, name]).fetchone() == ("VIEW",))

    def holds_only(self, table: str) -> bool:
        places = ("tables", "views", "sequences", "types", "functions", "schemas", "indexes")
        known: list[Any] = []
        for place in places:
            inside = "" if place in ("sequences", "indexes") else "AND NOT internal "
            statement = f"SELECT * FROM duckdb_{place}() WHERE database_name = current_database() {inside}"
            found = self._connection.execute(statement)
            names = [column[0] for column in found.description]
            known += [(place, dict(zip(names, row, strict=True))) for row in found.fetchall()]
        own = find_table(self._tables(), table)
        return all(
            (place == "tables" and (row["schema_name"], row["table_name"]) == own)
            or (place == "schemas" and row["schema_name"] == "main")
            for place, row in known
        )

    def _schema(self, table: str) -> Any:
        found = self._connection.sql(f"SELECT * FROM {self.qualified(table)} LIMIT 0")
        return found.to_arrow_table().schema if hasattr(found, "to_arrow_table") else found.fetch_arrow_table().schema

    def _types(self, table: str) -> dict[str, str]:
        """The columns with their types as DuckDB writes them."""
        found = self._connection.execute(f"DESCRIBE SELECT * FROM {self.qualified(table)}").fetchall()
        return {name: kind for name, kind, *_ in found}

    def batches(self, table: str, names: Sequence[str]) -> Iterator[Mapping[str, Any]]:
        columns = ", ".join(quoted(name) for name in dict.fromkeys(names))
        for batch in _batches(self._connection, f"SELECT {columns} FROM {self.qualified(table)}"):
            yield {name: batch.column(name) for name in names}

    def settle(self) -> None:
        self._connection.execute("CHECKPOINT")

    def rewrite(
        self,
        source: DuckDatabase,
        table: str,
        target: str,
        exchange: Exchanger,
        told: Callable[[int], None],
        checks: Callable[[int], None],
        shuffle: Shuffle | None = None,
        carried: Mapping[bytes, bytes] | None = None,
        replace: bool = True,
    ) -> None:
        types, place_of_source = source._types(table), source.qualified(table)
        replacement = Replacement(source._schema(table), exchange.outputs, {}, drop=exchange.dropped)
        trouble: list[BaseException] = []
        done = 0

        def released() -> Iterator[Any]:
            nonlocal done
            try:
                for batch in _batches(source._connection, f"SELECT * FROM {place_of_source}"):
                    yield replacement.batch(batch, exchange(batch))
                    done += batch.num_rows
                    told(done)
            except BaseException as error:
                trouble.append(error)  # DuckDB would make a text of it
                raise

        # Untouched columns get the very types that they had; the types of the others follow from the outcomes.
        columns = ", ".join(
            quoted(name) if name in exchange.outputs else f"CAST({quoted(name)} AS {kind}) AS {quoted(name)}"
            for name, kind in types.items()
            if name not in exchange.dropped
        )
        place = self._place(target)
        batches = released()
        if shuffle is not None:
            tables = shuffled(batches, self._path.parent, shuffle.stream)
            batches = (batch for table in tables for batch in table.to_batches())
        reader = pa.RecordBatchReader.from_batches(replacement.schema, batches)
        connection = self._connection
        connection.register(_STREAM, reader)
        connection.execute("BEGIN TRANSACTION")
        try:
            if replace:
                connection.execute(f"DROP TABLE IF EXISTS {place}")
            connection.execute(f"CREATE TABLE {place} AS SELECT {columns} FROM {quoted(_STREAM)}")
            checks(done)
            connection.execute("COMMIT")
        except BaseException as error:
            connection.execute("ROLLBACK")
            if trouble:
                raise trouble[0] from error
            raise
        finally:
            connection.unregister(_STREAM)

    def _place(self, target: str) -> str:
        """Where a table is made: in a schema that there is, else in the main one under the whole name."""
        schema, dot, rest = target.partition(".")
        schemas = self._connection.execute("SELECT schema_name FROM information_schema.schemata").fetchall()
        if dot and rest and (schema,) in schemas and find_table(self._tables(), target) in (None, (schema, rest)):
            return f"{quoted(schema)}.{quoted(rest)}"
        return f"{quoted('main')}.{quoted(target)}"
