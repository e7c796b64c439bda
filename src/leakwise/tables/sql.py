"""A table in a database, DuckDB or SQLite: released in batches into another table, whole or not at all."""

from __future__ import annotations

import contextlib
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from leakwise.alphabet import Alphabet
from leakwise.errors import InvalidInput
from leakwise.mechanism import Mechanism
from leakwise.tables import frames
from leakwise.tables.databases import Database, kind_of, open_database
from leakwise.tables.exchange import Exchanger, Watch
from leakwise.tables.files import Progress, Seen
from leakwise.tables.joint import encode_columns

if TYPE_CHECKING:
    from leakwise.sampling import SecureStream

__all__ = ["CheckedTable", "SqlTable", "check_table", "refuse_table", "release_table"]


@dataclass(frozen=True)
class SqlTable:
    """A table of a DuckDB or SQLite database, as the source or the target of a release.

    Parameters
    ----------
    database
        The file of the database. Its first bytes tell what kind it is; a new one is of the kind of the source.
    table
        The name of a table (or of a view to read from), as it is; ``schema.table`` where no table has this very name.

    Examples
    --------
    >>> SqlTable("shop.duckdb", "customers")
    SqlTable(database=...('shop.duckdb'), table='customers')
    """

    database: Path
    table: str

    def __init__(self, database: Any, table: str) -> None:
        if not isinstance(table, str) or not table or "\0" in table:
            raise InvalidInput(f"table must be the name of a table in the database. Got {table!r} instead.")
        object.__setattr__(self, "database", Path(database))
        object.__setattr__(self, "table", table)

    @property
    def path(self) -> Path:
        """The file of the database."""
        return self.database

    @property
    def names(self) -> list[str]:
        """The columns of the table."""
        with _reading(self) as source:
            return source.names(self.table)

    def holds(self, name: str) -> type | None:
        """``str`` or ``bool`` where the database says that a column holds nothing else."""
        with _reading(self) as source:
            return source.holds(self.table, name)

    def __str__(self) -> str:
        return f"{self.table} in {self.database}"


@dataclass(frozen=True)
class CheckedTable:
    """A table whose secret columns were read and found to be within their declared domain."""

    source: SqlTable
    names: tuple[str, ...]
    rows: int
    counts: npt.NDArray[np.int64] = field(repr=False)


def check_table(
    source: SqlTable,
    names: Sequence[Hashable],
    alphabet: Alphabet,
    *,
    watch: Sequence[Watch] = (),
    progress: Progress | None = None,
) -> CheckedTable:
    """Read the secret columns of a table whole, and refuse what is outside the declared domain."""
    columns = tuple(str(name) for name in names)
    seen = Seen(np.zeros(len(alphabet), dtype=np.int64))
    with _reading(source) as database:
        frames.check_names(database.names(source.table), list(columns))
        total = database.rows(source.table)
        for batch in database.batches(source.table, columns):
            codes = encode_columns([batch[name] for name in columns], columns, alphabet, "inputs")
            seen.add(codes)
            for each in watch:
                each(codes)
            if progress is not None:
                progress("checking", seen.rows, total)
    if not seen.rows:
        raise InvalidInput(f"{source} has no rows: there is nothing to release.")
    return CheckedTable(source, columns, seen.rows, seen.counts)


def refuse_table(source: SqlTable, target: Any, *, overwrite: bool) -> None:
    """Everything about the place of the output that can be known to be wrong beforehand."""
    if not isinstance(target, SqlTable):
        raise InvalidInput(
            f"out must be a table of a database too: lw.SqlTable(database, table). Got {target!r}. Export the released "
            "table afterwards."
        )
    kind = kind_of(source.database, "the source")
    if target.database.exists():
        if kind_of(target.database, "out") != kind:
            raise InvalidInput(
                f"out must be a database of the same kind as {str(source.database)!r} ({kind}). Export the released "
                "table afterwards."
            )
        with _reading(target) as database:
            there = database.has(target.table)
            same = (
                there and _same(source, target) and database.qualified(target.table) == database.qualified(source.table)
            )
        if same:
            raise InvalidInput(
                f"out must not be the table itself: {target.table!r}. The true values would be lost. Choose another "
                "name."
            )
        if there and not overwrite:
            raise InvalidInput(
                f"The table {target.table!r} exists already in {str(target.database)!r}. A second release of the same "
                "secret reveals more than the first alone; if it is to take the first one's place, say overwrite "
                "(overwrite=True, --overwrite)."
            )
    elif not target.database.parent.is_dir():
        raise InvalidInput(
            f"Cannot write {str(target.database)!r}: the folder {str(target.database.parent)!r} does not exist."
        )


def release_table(
    checked: Sequence[tuple[CheckedTable, Mechanism]],
    target: SqlTable,
    *,
    stream: SecureStream | None = None,
    overwrite: bool = False,
    after: Sequence[Watch] = (),
    progress: Progress | None = None,
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
    )

    def checks(rows: int) -> None:
        """Called with the rows that are ready to be committed."""
        same = all((each.counts == one.counts).all() for each, (one, _) in zip(seen, checked, strict=True))
        if rows != checked[0][0].rows or not same:
            raise InvalidInput(f"{source} was changed while it was released. Nothing was written; try again.")

    def told(rows: int) -> None:
        if progress is not None:
            progress("writing", rows, checked[0][0].rows)

    new = not target.database.exists()
    try:
        with contextlib.ExitStack() as stack:
            kind = kind_of(source.database, "the source")
            # One connection where source and target are one database: two would lock each other out.
            into = stack.enter_context(open_database(target.database, kind, write=True))
            outof = into if _same(source, target) else stack.enter_context(_reading(source))
            into.rewrite(outof, source.table, target.table, exchange, told, checks)
    except BaseException:
        if new:
            for name in target.database.parent.glob(f"{_escaped(target.database.name)}*"):
                if name.name[len(target.database.name) :] in ("", ".wal", "-wal", "-shm", "-journal"):
                    name.unlink(missing_ok=True)
        raise
    return target


@contextlib.contextmanager
def _reading(table: SqlTable) -> Iterator[Database]:
    with open_database(table.database, kind_of(table.database, "database"), write=False) as database:
        yield database


def _same(source: SqlTable, target: SqlTable) -> bool:
    return target.database.exists() and source.database.samefile(target.database)


def _escaped(name: str) -> str:
    """A file name that glob takes as it is."""
    return "".join(f"[{sign}]" if sign in "*?[" else sign for sign in name)
