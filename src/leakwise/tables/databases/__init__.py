"""One module for each kind of database. A file is known by its first bytes, PostgreSQL by its address."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from leakwise.errors import InvalidInput, did_you_mean, require, some_of
from leakwise.tables.address import Address
from leakwise.tables.release.exchange import Exchanger

if TYPE_CHECKING:
    from leakwise.sampling import SecureStream

__all__ = ["Database", "FileDatabase", "Shuffle", "find_table", "kind_of", "named_table", "open_database", "quoted"]

_ENDINGS = {"DuckDB": (".duckdb", ".ddb"), "SQLite": (".sqlite", ".sqlite3", ".db3")}


@dataclass(frozen=True)
class Shuffle:
    """That the rows are to be put into a random order: how many there are, and where random words come from."""

    rows: int
    stream: SecureStream | None


class Database(Protocol):
    """An open database whose tables can be read in batches, and into which a released one can be written."""

    def names(self, table: str) -> list[str]:
        """Return the columns of a table."""

    def holds(self, table: str, name: str) -> type | None:
        """Return ``str`` or ``bool`` where a column holds nothing else."""

    def has(self, table: str) -> bool:
        """Return whether there is a table (or view) of that name."""

    def qualified(self, table: str) -> str:
        """Return the name as it stands in a statement."""

    def is_view(self, table: str) -> bool:
        """Return whether it is a view, which has no rows and no order of its own."""

    def identity(self, table: str) -> tuple[Any, ...]:
        """Return what no other table has, however the database and the table are named."""

    def metadata(self, table: str) -> Mapping[bytes, bytes]:
        """Return what the table carries beside its rows."""

    def holds_only(self, table: str) -> bool:
        """Return whether there is nothing in the database but this table."""

    def rows(self, table: str) -> int:
        """Return the number of rows."""

    def batches(self, table: str, names: Sequence[str]) -> Iterator[Mapping[str, Any]]:
        """Return the named columns, a batch at a time; of a table in the order in which its rows are stored."""

    def check_place(self, table: str) -> None:
        """Refuse a name that no table can be made under."""

    def hold(self, table: str) -> str:
        """Keep a table as it is as long as this connection lasts, and return the name of the moment for others."""

    def settle(self) -> None:
        """Write everything to the one file of the database."""

    def rewrite(
        self,
        source: Any,
        table: str,
        target: str,
        exchange: Exchanger,
        told: Callable[[int], None],
        checks: Callable[[int], None],
        shuffle: Shuffle | None = None,
        carried: Mapping[bytes, bytes] | None = None,
        replace: bool = True,
    ) -> None:
        """Write a table of the source with its secret columns exchanged, in one transaction.

        A table that stands there is an error, unless it is to be replaced. ``shuffle`` puts the rows into a random
        order. ``told`` is called with the rows done after every batch, ``checks`` before the commit: what it raises
        rolls everything back. Where a table can carry something beside its rows, that is what is ``carried``.
        """


class FileDatabase:
    """What is alike in the databases that are one file."""

    _TABLES: ClassVar[str]  # asks for the schemas and names of its tables and views

    def __init__(self, connection: Any, path: Path) -> None:
        self._connection, self._path = connection, path

    def _tables(self) -> list[tuple[str, str]]:
        found: list[tuple[str, str]] = self._connection.execute(self._TABLES).fetchall()
        return found

    def qualified(self, table: str) -> str:
        schema, name = named_table(self._tables(), table, str(self._path))
        return f"{quoted(schema)}.{quoted(name)}"

    def has(self, table: str) -> bool:
        return find_table(self._tables(), table) is not None

    def identity(self, table: str) -> tuple[Any, ...]:
        found = self._path.stat()
        return found.st_dev, found.st_ino, self.qualified(table)

    def metadata(self, table: str) -> Mapping[bytes, bytes]:
        return {}

    def rows(self, table: str) -> int:
        (count,) = self._connection.execute(f"SELECT count(*) FROM {self.qualified(table)}").fetchone()
        return int(count)

    def check_place(self, table: str) -> None:
        pass  # any name will do

    def hold(self, table: str) -> str:
        return ""  # a file that is changed meanwhile is found out


def kind_of(path: Path | Address, name: str) -> str:
    """Return ``"DuckDB"``, ``"SQLite"`` or ``"PostgreSQL"``."""
    if isinstance(path, Address):
        return "PostgreSQL"
    if path.is_file():
        with path.open("rb") as stream:
            head = stream.read(16)
        if head[8:12] == b"DUCK":
            return "DuckDB"
        if head == b"SQLite format 3\0":
            return "SQLite"
        if head:
            raise InvalidInput(f"{name} {str(path)!r} is neither a DuckDB nor a SQLite database.")
    elif path.exists():
        raise InvalidInput(f"{name} {str(path)!r} must be the file of a database. It is a folder.")
    else:
        raise InvalidInput(f"Cannot read {name} {str(path)!r}: there is no such database.")
    for kind, endings in _ENDINGS.items():  # an empty file, which both take for a database without tables
        if path.suffix.lower() in endings:
            return kind
    return "SQLite"


def open_database(
    path: Path | Address, kind: str, *, write: bool, snapshot: str | None = None
) -> AbstractContextManager[Database]:
    """Return the database, closed at the end of the block; a new file is made where it is to be written.

    ``snapshot`` names the moment that a server is to read the rows of.
    """
    if isinstance(path, Address):
        require("pyarrow", extra="postgres", purpose="Reading PostgreSQL databases")
        require("adbc_driver_postgresql.dbapi", extra="postgres", purpose="Reading PostgreSQL databases")
        from leakwise.tables.databases.postgres import opened as server

        return server(path, write=write, snapshot=snapshot)
    if kind == "DuckDB":
        require("duckdb", extra="sql", purpose="Reading DuckDB databases")
        require("pyarrow", extra="sql", purpose="Reading DuckDB databases")
        from leakwise.tables.databases.duck import opened as duck

        return duck(path, write=write)
    from leakwise.tables.databases.lite import opened as lite

    return lite(path, write=write)


def quoted(name: str) -> str:
    """Return a name that a statement takes as it is, whatever signs it has."""
    return '"' + name.replace('"', '""') + '"'


def find_table(known: Sequence[tuple[str, str]], table: str) -> tuple[str, str] | None:
    """Schema and name of a table among those there are. Both kinds take names for the same that differ in case only."""
    schema, dot, rest = table.partition(".")
    for wanted in (("main", table), *([(schema, rest)] if dot else [])):
        for one in known:
            if [word.lower() for word in one] == [word.lower() for word in wanted]:
                return one
    return None


def named_table(known: Sequence[tuple[str, str]], table: str, path: str) -> tuple[str, str]:
    """As :func:`find_table`; a table that is missing is an error that offers the nearest."""
    if (found := find_table(known, table)) is not None:
        return found
    titles = [name if schema == "main" else f"{schema}.{name}" for schema, name in known]
    raise InvalidInput(
        f"{table!r} is not a table of {path!r}, which has {some_of(titles, 12) or 'none'}."
        + did_you_mean(table, titles)
    )
