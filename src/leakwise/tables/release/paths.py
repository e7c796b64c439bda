"""Files that one call reads and writes: none of them may be another."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from leakwise.errors import InvalidInput

__all__ = ["file_of", "ledger_files", "refuse_same_files", "released_path"]


def refuse_same_files(read: Mapping[str, Path | None], written: Mapping[str, Path | None]) -> None:
    """Refuse a file to be written that is one of those read or another of those written, before anything is done.

    Files are the same by their resolved path, by what they are on the disk (links, names that differ in case), and
    where they do not exist yet by names that differ in case only.

    Parameters
    ----------
    read, written
        Files by the name of the argument or option that gives them; None where there is none.
    """
    sources = [(name, path) for name, path in read.items() if path is not None]
    targets = [(name, path) for name, path in written.items() if path is not None]
    for place, (name, path) in enumerate(targets):
        for other, taken in (*sources, *targets[:place]):
            if _same(path, taken):
                raise InvalidInput(
                    f"{other} and {name} must be different files. Got {str(taken)!r} and {str(path)!r}: one would "
                    "destroy the other. Nothing was done; choose another name."
                )


def ledger_files(path: Path | None, name: str) -> dict[str, Path | None]:
    """Return the files of a ledger: its own, and those that SQLite puts beside it."""
    if path is None:
        return {}
    return {name: path, **{f"{name} (its {end})": Path(f"{path}{end}") for end in ("-wal", "-shm", "-journal")}}


def released_path(table: Path, of_pattern: str | None = None) -> Path:
    """Return where a table is released to if nobody says otherwise: next to it, in the same kind of file.

    Where a pattern names the files there is no such place, unless ``of_pattern`` gives it a name.

    >>> released_path(Path("data/survey.csv.gz")).name
    'survey.released.csv.gz'
    """
    from leakwise.tables.formats.folders.parts import is_pattern, kind_of_parts
    from leakwise.tables.formats.names import kind_of, stem_of

    if is_pattern(table):
        if of_pattern is not None:
            return Path(f"{of_pattern}{kind_of_parts(table).ending}")
        raise InvalidInput(f"out (--out) must be given: {str(table)!r} names several files, which are released as one.")
    if table.is_dir():
        table = table.resolve()
        return table.with_name(f"{table.name}.released{kind_of_parts(table).ending}")
    return table.with_name(f"{stem_of(table)}.released{kind_of(table).ending}")


def file_of(data: Any) -> Path | None:
    """Return the file behind the data, or behind a table of a database; None for what is in memory or on a server."""
    from leakwise.tables.databases.sql_table import SqlTable
    from leakwise.tables.formats import is_path
    from leakwise.tables.formats.remote import uri_of

    if isinstance(data, SqlTable):
        return data.path if isinstance(data.path, Path) else None
    return Path(data) if is_path(data) and uri_of(data) is None else None


def _same(one: Path, other: Path) -> bool:
    first, second = one.resolve(), other.resolve()
    if first == second:
        return True
    try:
        return os.path.samefile(one, other)
    except OSError:
        # One of them is not there: on many systems it would be, under a name that differs in case only.
        return str(first).casefold() == str(second).casefold()
