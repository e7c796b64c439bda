"""SQLite, by the module that comes with Python: rows out, rows in, every untouched value of the kind that it had."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from leakwise.errors import InvalidInput, some_of
from leakwise.tables.databases import find_table, named_table, quoted
from leakwise.tables.exchange import Exchanger
from leakwise.tables.kinds.plain import object_array, take_labels

__all__ = ["LiteDatabase", "opened"]

_ROWS = 1 << 14
_KINDS = (str, int, float, bytes, type(None))


@contextmanager
def opened(path: Path, *, write: bool) -> Iterator[LiteDatabase]:
    """The database, made where it is to be written and is not there."""
    address = f"file:{quote(str(path.absolute()))}?mode={'rwc' if write else 'ro'}"
    try:
        with closing(sqlite3.connect(address, uri=True, isolation_level=None)) as connection:
            yield LiteDatabase(connection, path)
    except sqlite3.Error as error:
        raise InvalidInput(f"The database {str(path)!r} says: {error}.") from error


class LiteDatabase:
    """An open SQLite database."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection, self._path = connection, path

    def _tables(self) -> list[tuple[str, str]]:
        statement = "SELECT 'main', name FROM sqlite_master WHERE type IN ('table', 'view')"
        return self._connection.execute(statement).fetchall()

    def qualified(self, table: str) -> str:
        schema, name = named_table(self._tables(), table, str(self._path))
        return f"{quoted(schema)}.{quoted(name)}"

    def has(self, table: str) -> bool:
        return find_table(self._tables(), table) is not None

    def names(self, table: str) -> list[str]:
        cursor = self._connection.execute(f"SELECT * FROM {self.qualified(table)} LIMIT 0")
        return [column[0] for column in cursor.description]

    def holds(self, table: str, name: str) -> type | None:
        return str if self._affinities(table).get(name) == "TEXT" else None

    def rows(self, table: str) -> int:
        (count,) = self._connection.execute(f"SELECT count(*) FROM {self.qualified(table)}").fetchone()
        return int(count)

    def _affinities(self, table: str) -> dict[str, str]:
        _, name = named_table(self._tables(), table, str(self._path))
        found = self._connection.execute("SELECT name, type FROM pragma_table_xinfo(?)", (name,)).fetchall()
        return {column: _affinity(declared or "") for column, declared in found}

    def _read(self, table: str, names: Sequence[str]) -> Iterator[list[tuple[Any, ...]]]:
        columns = ", ".join(quoted(name) for name in names)
        with closing(self._connection.execute(f"SELECT {columns} FROM {self.qualified(table)}")) as cursor:
            while rows := cursor.fetchmany(_ROWS):
                yield rows

    def batches(self, table: str, names: Sequence[str]) -> Iterator[Mapping[str, Any]]:
        chosen = list(dict.fromkeys(names))
        for rows in self._read(table, chosen):
            yield {name: list(values) for name, values in zip(chosen, zip(*rows, strict=True), strict=True)}

    def rewrite(
        self,
        source: LiteDatabase,
        table: str,
        target: str,
        exchange: Exchanger,
        told: Callable[[int], None],
        checks: Callable[[int], None],
    ) -> None:
        names = source.names(table)
        affinities = source._affinities(table)
        labels = {name: _storable(outputs, name) for name, outputs in exchange.outputs.items()}
        kinds = {**affinities, **{name: _affinity_of(outputs) for name, outputs in labels.items()}}
        columns = ", ".join(f"{quoted(name)} {kinds.get(name, '')}".rstrip() for name in names)
        place = f"{quoted('main')}.{quoted(target)}"
        insert = f"INSERT INTO {place} VALUES ({', '.join('?' * len(names))})"
        connection = self._connection
        connection.execute("BEGIN IMMEDIATE")
        done = 0
        try:
            connection.execute(f"DROP TABLE IF EXISTS {place}")
            connection.execute(f"CREATE TABLE {place} ({columns})")
            for rows in source._read(table, names):
                values: dict[str, Any] = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
                for name, (codes, outcomes) in exchange(values).items():
                    values[name] = take_labels(object_array(outcomes), codes).tolist()
                connection.executemany(insert, zip(*(values[name] for name in names), strict=True))
                done += len(rows)
                told(done)
            checks(done)
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise


def _affinity(declared: str) -> str:
    """What SQLite makes of a declared type, by its own five rules."""
    words = declared.upper()
    if "INT" in words:
        return "INTEGER"
    if any(word in words for word in ("CHAR", "CLOB", "TEXT")):
        return "TEXT"
    if "BLOB" in words or not words:
        return "BLOB"
    return "REAL" if any(word in words for word in ("REAL", "FLOA", "DOUB")) else "NUMERIC"


def _affinity_of(labels: Sequence[Any]) -> str:
    """A declared type under which every outcome stays what it is."""
    kinds = {type(label) for label in labels} - {type(None)}
    if kinds <= {int, bool}:
        return "INTEGER"
    return "TEXT" if kinds == {str} else "REAL" if kinds == {float} else "BLOB"


def _storable(labels: Sequence[Any], name: str) -> Sequence[Any]:
    wrong = [label for label in labels if not isinstance(label, _KINDS)]
    large = [label for label in labels if isinstance(label, int) and not -(1 << 63) <= label < 1 << 63]
    if wrong or large:
        raise InvalidInput(
            f"The outcomes {some_of(wrong or large)} of column {name!r} cannot stand in a SQLite table. Name the "
            "outcomes by texts or numbers: Mechanism(..., outputs=[...])."
        )
    return labels
