"""SQLite, by the module that comes with Python: rows out, rows in, every untouched value of the kind that it had."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from leakwise.errors import InvalidInput, some_of
from leakwise.tables.databases import FileDatabase, Shuffle, find_table, named_table, quoted
from leakwise.tables.kinds.plain import object_array, take_labels
from leakwise.tables.release.exchange import Exchanger

__all__ = ["LiteDatabase", "opened"]

_ROWS = 1 << 14
# Where released rows wait for their places: a table of the connection, in a file that only it knows.
_SHUFFLED = 'temp."leakwise released rows"'
_PLACE = '"leakwise place"'
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


class LiteDatabase(FileDatabase):
    """An open SQLite database."""

    _TABLES = "SELECT 'main', name FROM sqlite_master WHERE type IN ('table', 'view')"

    def names(self, table: str) -> list[str]:
        cursor = self._connection.execute(f"SELECT * FROM {self.qualified(table)} LIMIT 0")
        return [column[0] for column in cursor.description]

    def holds(self, table: str, name: str) -> type | None:
        return str if self._affinities(table).get(name) == "TEXT" else None

    def is_view(self, table: str) -> bool:
        _, name = named_table(self._tables(), table, str(self._path))
        statement = "SELECT type FROM sqlite_master WHERE name = ? AND type IN ('table', 'view')"
        return bool(self._connection.execute(statement, (name,)).fetchone() == ("view",))

    def holds_only(self, table: str) -> bool:
        own = find_table(self._tables(), table)
        (count,) = self._connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        return own is not None and count == 1

    def _affinities(self, table: str) -> dict[str, str]:
        _, name = named_table(self._tables(), table, str(self._path))
        found = self._connection.execute("SELECT name, type FROM pragma_table_xinfo(?)", (name,)).fetchall()
        return {column: _affinity(declared or "") for column, declared in found}

    def _read(self, table: str, names: Sequence[str]) -> Generator[list[tuple[Any, ...]], None, None]:
        columns = ", ".join(quoted(name) for name in names)
        # An index that has all columns would be read instead of the table, in the order of what it is an index of.
        stored = "" if self.is_view(table) else " NOT INDEXED"
        with closing(self._connection.execute(f"SELECT {columns} FROM {self.qualified(table)}{stored}")) as cursor:
            while rows := cursor.fetchmany(_ROWS):
                yield rows

    def batches(self, table: str, names: Sequence[str]) -> Iterator[Mapping[str, Any]]:
        chosen = list(dict.fromkeys(names))
        for rows in self._read(table, chosen):
            yield {name: list(values) for name, values in zip(chosen, zip(*rows, strict=True), strict=True)}

    def settle(self) -> None:
        self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def rewrite(
        self,
        source: LiteDatabase,
        table: str,
        target: str,
        exchange: Exchanger,
        told: Callable[[int], None],
        checks: Callable[[int], None],
        shuffle: Shuffle | None = None,
        carried: Mapping[bytes, bytes] | None = None,
        replace: bool = True,
    ) -> None:
        names = source.names(table)
        kept = [name for name in names if name not in exchange.dropped]
        affinities = source._affinities(table)
        labels = {name: _storable(outputs, name) for name, outputs in exchange.outputs.items()}
        kinds = {**affinities, **{name: _affinity_of(outputs) for name, outputs in labels.items()}}
        columns = ", ".join(f"{quoted(name)} {kinds.get(name, '')}".rstrip() for name in kept)
        place = f"{quoted('main')}.{quoted(target)}"
        insert = f"INSERT INTO {place} VALUES ({', '.join('?' * len(kept))})"
        connection = self._connection
        # What is dropped is written over with zeros, as not every build of SQLite does by itself.
        connection.execute("PRAGMA secure_delete = ON")
        order = None
        if shuffle is not None:
            from leakwise.sampling import random_order

            order = random_order(shuffle.rows, shuffle.stream)
            insert = f"INSERT INTO {_SHUFFLED} VALUES (?, {', '.join('?' * len(kept))})"
        if self is not source and connection.execute("PRAGMA freelist_count").fetchone() != (0,):
            # A write that fails would leave its rows in pages that were free before it.
            connection.execute("VACUUM")
        connection.execute("BEGIN IMMEDIATE")
        done = 0
        reading = source._read(table, names)
        try:
            if replace:
                connection.execute(f"DROP TABLE IF EXISTS {place}")
            connection.execute(f"CREATE TABLE {place} ({columns})")
            if order is not None:
                connection.execute(f"CREATE TABLE {_SHUFFLED} ({_PLACE} INTEGER, {columns})")
            for rows in reading:
                values: dict[str, Any] = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
                for name, (codes, outcomes) in exchange(values).items():
                    values[name] = take_labels(object_array(outcomes), codes).tolist()
                new = [values[name] for name in kept]
                if order is not None:
                    if done + len(rows) > order.size:
                        checks(done + len(rows))
                    new.insert(0, order[done : done + len(rows)].tolist())
                connection.executemany(insert, zip(*new, strict=True))
                done += len(rows)
                told(done)
            checks(done)
            if order is not None:
                chosen = ", ".join(quoted(name) for name in kept)
                connection.execute(f"INSERT INTO {place} SELECT {chosen} FROM {_SHUFFLED} ORDER BY {_PLACE}")
                connection.execute(f"DROP TABLE {_SHUFFLED}")
            connection.execute("COMMIT")
        finally:
            reading.close()
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            # Nothing stays in the log of a database that has one, not even where others hold it open.
            self.settle()


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
