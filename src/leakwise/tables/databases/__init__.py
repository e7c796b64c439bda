"""One module for each kind of database. A kind is known by the first bytes of its file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from leakwise.errors import InvalidInput, did_you_mean, require, some_of
from leakwise.tables.release.exchange import Exchanger

if TYPE_CHECKING:
    from leakwise.sampling import SecureStream

__all__ = ["Database", "Shuffle", "find_table", "kind_of", "named_table", "open_database", "quoted"]

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

    def holds_only(self, table: str) -> bool:
        """Return whether there is nothing in the database but this table."""

    def rows(self, table: str) -> int:
        """Return the number of rows."""

    def batches(self, table: str, names: Sequence[str]) -> Iterator[Mapping[str, Any]]:
        """Return the named columns, a batch at a time; of a table in the order in which its rows are stored."""

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
    ) -> None:
        """Write a table of the source with its secret columns exchanged, in one transaction.

        A table that stands there is replaced. ``shuffle`` puts the rows into a random order. ``told`` is called with
        the rows done after every batch, ``checks`` before the commit: what it raises rolls everything back.
        """


def kind_of(path: Path, name: str) -> str:
    """Return ``"DuckDB"`` or ``"SQLite"``."""
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


def open_database(path: Path, kind: str, *, write: bool) -> AbstractContextManager[Database]:
    """Return the database, closed at the end of the block; a new one is made where it is to be written."""
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
