"""A table in a database, DuckDB, SQLite or PostgreSQL: released in batches into another table, atomically."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from leakwise.alphabet import Alphabet, Bins, encode_column
from leakwise.errors import InvalidInput
from leakwise.mechanism import AnyMechanism
from leakwise.tables.address import Address, address_of
from leakwise.tables.databases import Database, Shuffle, kind_of, open_database
from leakwise.tables.databases.beside import moved_into_place
from leakwise.tables.formats.carried_mechanism import Carried, pack
from leakwise.tables.kinds import frames
from leakwise.tables.memo.draws import Memo
from leakwise.tables.release.checking import CheckedSecret, RowBeside, RowCheck, Seen
from leakwise.tables.release.exchange import Exchanger, Look, Watch
from leakwise.tables.release.file import Progress
from leakwise.tables.strata.drawn_columns import DrawnColumns
from leakwise.types import Array

if TYPE_CHECKING:
    from leakwise.sampling import SecureStream

__all__ = ["CheckedTable", "SqlTable", "check_table", "reading", "refuse_place", "refuse_table", "release_table"]


class _Moment:
    """A moment that a server keeps the rows of, so that several reads see the same ones."""

    def __init__(self, address: Address, table: str) -> None:
        with contextlib.ExitStack() as stack:
            database = stack.enter_context(open_database(address, "PostgreSQL", write=False))
            self.name = database.hold(table)
            # What cannot change as long as the table is held.
            self.names, self.is_view = database.names(table), database.is_view(table)
            self.metadata = database.metadata(table)
            # Called where a release ends, and where it fails before anyone could.
            self.end = weakref.finalize(self, stack.pop_all().close)


@dataclass(frozen=True)
class SqlTable:
    """A table of a DuckDB, SQLite or PostgreSQL database, as the source or the target of a release.

    Parameters
    ----------
    database
        The file of a DuckDB or SQLite database: its first bytes tell which of them it is, and a new one is of the kind
        of the source. Or the address of a PostgreSQL database, ``postgresql://user@host:port/database``. A password in
        it is never shown; better leave it out, and put it into ``PGPASSWORD`` or the file ``~/.pgpass``.
    table
        The name of a table (or of a view to read from), as it is; ``schema.table`` where no table has this very name.

    Examples
    --------
    >>> SqlTable("shop.duckdb", "customers")
    SqlTable(database=...('shop.duckdb'), table='customers')
    >>> SqlTable("postgresql://ada:secret@db.example/shop", "sales.customers")
    SqlTable(database='postgresql://ada@db.example/shop', table='sales.customers')
    """

    database: Path | Address
    table: str
    _moment: _Moment | None = field(default=None, repr=False, compare=False)

    def __init__(self, database: Any, table: str) -> None:
        if not isinstance(table, str) or not table or "\0" in table:
            raise InvalidInput(f"table must be the name of a table in the database. Got {table!r} instead.")
        object.__setattr__(self, "database", address_of(database) or database)
        if not isinstance(self.database, Address):
            object.__setattr__(self, "database", Path(database))
        object.__setattr__(self, "table", table)
        object.__setattr__(self, "_moment", None)

    @property
    def path(self) -> Path | Address:
        """The file of the database, or its address."""
        return self.database

    @property
    def on_server(self) -> bool:
        """Whether a server has the table, and no file of ours."""
        return isinstance(self.database, Address)

    def at_one_moment(self) -> SqlTable:
        """Return the table as it is now, however often it is read, and whoever changes it meanwhile.

        Files are not changed by others between two reads, or that is found out; the table of a server is in use.
        """
        if not isinstance(self.database, Address):
            return self
        held = SqlTable(self.database, self.table)
        object.__setattr__(held, "_moment", _Moment(self.database, self.table))
        return held

    def let_go(self) -> None:
        """Let the server forget the moment whose rows are read."""
        if self._moment is not None:
            self._moment.end()
        object.__setattr__(self, "_moment", None)

    @property
    def identity(self) -> tuple[Any, ...] | None:
        """What no other table has, however it is named; None where there is no such table."""
        with reading(self) as source:
            return source.identity(self.table) if source.has(self.table) else None

    @property
    def names(self) -> list[str]:
        """The columns of the table."""
        if self._moment is not None:
            return self._moment.names
        with reading(self) as source:
            return source.names(self.table)

    def holds(self, name: str) -> type | None:
        """Return ``str`` or ``bool`` where the database says that a column holds nothing else."""
        with reading(self) as source:
            return source.holds(self.table, name)

    @property
    def metadata(self) -> Mapping[bytes, bytes]:
        """What the table carries beside its rows: on a server the mechanism, in a comment; elsewhere nothing."""
        if self._moment is not None:
            return self._moment.metadata
        with reading(self) as source:
            return source.metadata(self.table)

    def batches(self, names: Sequence[str]) -> Iterator[Mapping[str, Any]]:
        """Return the named columns, a batch at a time."""
        with reading(self) as source:
            yield from source.batches(self.table, names)

    def encode(self, column: Any, alphabet: Alphabet, *, name: str, outside: bool = False) -> Array:
        """Return the codes of a column of a batch; with ``outside``, -1 for a value that is not declared."""
        return encode_column(column, alphabet, name=name, outside=outside)

    def plain(self, column: Any) -> Any:
        """Return a column of a batch in plain values: as it is."""
        return column

    def distinct(self, column: Any) -> tuple[list[Any], Array]:
        """Return the values of a column of a batch, each once, and the place of every row among them."""
        return frames.groups_of(column)

    def order(self, asked: str | None) -> str | None:
        """The order asked for. A view has none of its own: how it is read can follow the secret, so it is shuffled.

        PostgreSQL promises none for a table, either: rows come as they happen to lie.
        """
        if self.on_server:
            if asked == "keep":
                raise InvalidInput(
                    "order must be 'shuffle', or left out: a table of PostgreSQL has no order that could be kept, and "
                    "as its rows happen to lie they tell when they were entered. Got 'keep'."
                )
            return "shuffle"
        return asked if asked is not None else "shuffle" if self.is_view else None

    @property
    def is_view(self) -> bool:
        """Whether the database makes the rows each time that they are read."""
        if self._moment is not None:
            return self._moment.is_view
        with reading(self) as source:
            return source.is_view(self.table)

    def __str__(self) -> str:
        return f"{self.table} in {self.database}"


@dataclass(frozen=True)
class CheckedTable(CheckedSecret):
    """A table of a database whose secret columns were checked."""

    source: SqlTable


def check_table(
    source: SqlTable,
    names: Sequence[Hashable],
    alphabet: Alphabet,
    *,
    what: str = "inputs",
    watch: Iterable[Look] = (),
    progress: Progress | None = None,
    beside: RowBeside | None = None,
) -> CheckedTable:
    """Read the secret columns of a table whole, and refuse what is outside the declared domain."""
    columns = tuple(str(name) for name in names)
    check = RowCheck(columns, alphabet, what=what, watch=watch, beside=beside)
    with reading(source) as database:
        frames.check_names(database.names(source.table), check.reads)
        total = None if progress is None else database.rows(source.table)
        for batch in database.batches(source.table, check.reads):
            check.add(batch)
            if progress is not None:
                progress("checking", check.seen.rows, total)
    if not check.seen.rows:
        raise InvalidInput(f"{source} has no rows: there is nothing to release.")
    strata = None if check.strata is None else check.strata.strata()
    return CheckedTable(columns, check.seen.rows, check.seen.counts, strata, check.order, source)


def refuse_table(source: SqlTable, target: Any, *, overwrite: bool) -> None:
    """Everything about the place of the output that can be known to be wrong beforehand."""
    if not isinstance(target, SqlTable):
        raise InvalidInput(
            "out must be a table of a database too: lw.SqlTable(database, table)"
            + (", or the path of a file" if source.on_server else "")
            + f". Got {target!r}."
            + ("" if source.on_server else " Export the released table afterwards.")
        )
    kind = kind_of(source.database, "the source")
    if source.on_server != target.on_server:
        raise _of_another_kind(source, kind)
    if isinstance(target.database, Address) or target.database.exists():
        if kind_of(target.database, "out") != kind:
            raise _of_another_kind(source, kind)
        there = refuse_place(target, source, overwrite=overwrite)
        if there and kind == "DuckDB" and not _same(source, target):
            with reading(target) as database:
                if not database.holds_only(target.table):
                    raise InvalidInput(
                        f"{str(target.database)!r} holds more than {target.table!r}, and DuckDB keeps the rows of a "
                        "table that is replaced in the free blocks of its file, where anyone who gets the file could "
                        "read both releases. Release into a database of its own: lw.SqlTable(another, table)."
                    )
    elif not target.database.parent.is_dir():
        raise InvalidInput(
            f"Cannot write {str(target.database)!r}: the folder {str(target.database.parent)!r} does not exist."
        )


def refuse_place(target: SqlTable, source: SqlTable | None = None, *, overwrite: bool) -> bool:
    """Refuse a table that is not to be replaced, or is the source; return whether there is one."""
    with reading(target) as database:
        there = database.has(target.table)
        found = database.identity(target.table) if there else None
        database.check_place(target.table)
    if there and source is not None and found == source.identity:
        raise InvalidInput(
            f"out must not be the table itself: {target.table!r}. The true values would be lost. Choose another name."
        )
    if there and not overwrite:
        raise InvalidInput(
            f"The table {target.table!r} exists already in {str(target.database)!r}. A second release of the same "
            "secret reveals more than the first alone; if it is to take the first one's place, say overwrite "
            "(overwrite=True, --overwrite)."
        )
    return there


def _of_another_kind(source: SqlTable, kind: str) -> InvalidInput:
    return InvalidInput(
        f"out must be a database of the same kind as {str(source.database)!r} ({kind}). Export the released table "
        "afterwards."
    )


def release_table(
    checked: Sequence[tuple[CheckedTable, AnyMechanism]],
    target: SqlTable,
    *,
    stream: SecureStream | None = None,
    overwrite: bool = False,
    after: Sequence[Watch] = (),
    progress: Progress | None = None,
    shuffle: bool = False,
    coarsen: Mapping[Any, Bins] | None = None,
    drop: Sequence[Any] = (),
    memo: Memo | None = None,
    drawn: DrawnColumns | None = None,
) -> SqlTable:
    """Write the released rows of one table, of which every secret was checked, in one transaction."""
    source = checked[0][0].source
    refuse_table(source, target, overwrite=overwrite)
    seen = [Seen(np.zeros_like(one.counts)) for one, _ in checked]
    exchange = Exchanger(
        [(one.names, mechanism) for one, mechanism in checked],
        stream=stream,
        before=[each.add for each in seen],
        after=after,
        coarsen=coarsen,
        drop=drop,
        memo=memo,
        drawn=drawn,
    )

    def checks(rows: int) -> None:
        """Called with the rows that are ready to be committed."""
        same = all((each.counts == one.counts).all() for each, (one, _) in zip(seen, checked, strict=True))
        if rows != checked[0][0].rows or not same:
            raise InvalidInput(f"{source} was changed while it was released. Nothing was written; try again.")

    def told(rows: int) -> None:
        if progress is not None:
            progress("writing", rows, checked[0][0].rows)

    kind = kind_of(source.database, "the source")
    reorder = Shuffle(checked[0][0].rows, stream) if shuffle else None
    carried: Mapping[bytes, bytes] = {}
    if target.on_server:
        secrets = [Carried(one.names, mechanism) for one, mechanism in checked]
        carried = pack(secrets, source.metadata, unsafe_seed=stream is not None and stream.seeded)
    try:
        with _place(source, target, kind) as path, contextlib.ExitStack() as stack:
            into = stack.enter_context(open_database(path, kind, write=True))
            # One connection where source and target are one file: two would lock each other out.
            outof = into if _same(source, target) else stack.enter_context(reading(source))
            into.rewrite(outof, source.table, target.table, exchange, told, checks, reorder, carried, replace=overwrite)
    finally:
        source.let_go()
    return target


@contextlib.contextmanager
def _place(source: SqlTable, target: SqlTable, kind: str) -> Iterator[Path | Address]:
    """The file to write to: a new one that takes the target's place where rows could stay behind in the old."""
    path = target.database
    if isinstance(path, Address) or isinstance(source.database, Address):
        yield path
        return
    if not path.exists():
        with moved_into_place(path, like=source.database) as made:
            yield made
        return
    # A database that holds the source holds the true values. SQLite writes over what it drops.
    if kind == "SQLite" or _same(source, target):
        yield path
        return
    with open_database(path, kind, write=True) as database:
        database.settle()
        there = database.has(target.table)
    with moved_into_place(path, like=path, start=None if there else path) as made:
        yield made


@contextlib.contextmanager
def reading(table: SqlTable) -> Iterator[Database]:
    """Open the database of a table to read it, at its moment where it has one."""
    kind, snapshot = kind_of(table.database, "database"), None if table._moment is None else table._moment.name
    with open_database(table.database, kind, write=False, snapshot=snapshot) as database:
        yield database


def _same(source: SqlTable, target: SqlTable) -> bool:
    one, other = source.database, target.database
    return isinstance(one, Path) and isinstance(other, Path) and other.exists() and one.samefile(other)
