"""The files of ``leakwise release``: what is read, what is written, and what must not be written over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from leakwise.cli.files.beside_table import waiting
from leakwise.cli.files.standard_streams import named_or_piped
from leakwise.cli.options import csv_files
from leakwise.errors import InvalidInput
from leakwise.tables.address import address_of, refuse_address
from leakwise.tables.formats.names import COMPRESSIONS, SUFFIXES, kind_of, stem_of
from leakwise.tables.formats.remote import shown_uri, uri_of
from leakwise.tables.release.paths import file_of, ledger_files, refuse_same_files, released_path

if TYPE_CHECKING:
    from leakwise.tables import SqlTable
    from leakwise.tables.formats import TableFile

__all__ = ["check_paths", "files_beside", "places_of_mechanisms", "source_and_target"]


_ENDINGS = (*SUFFIXES, *COMPRESSIONS)


def source_and_target(
    ctx: typer.Context, table: str, out: str | None, from_sql: str | None, to_sql: str | None, format: str | None = None
) -> tuple[Path | TableFile | SqlTable, Path | SqlTable]:
    """Return the files, or the tables of databases, that are read and written."""
    from leakwise.tables import SqlTable

    if out == "-" and (from_sql is not None or to_sql is not None):
        raise InvalidInput("--out must be the name of a table or a file beside --from-sql and --to-sql. Got '-'.")
    if from_sql is None:
        refuse_address(table, "TABLE")
        refuse_address(out, "--out")
        file = named_or_piped(ctx, table, format)
        if to_sql is not None:
            if address_of(to_sql) is None:
                raise InvalidInput(
                    "--to-sql needs --from-sql: a table of a database is released into a database, and a file into a "
                    "file, or to PostgreSQL. Import the released file afterwards."
                )
            if out is None and table == "-":
                raise InvalidInput("--out must name the table that the standard input is released to.")
            return file, SqlTable(to_sql, f"{stem_of(Path(table))}_released" if out is None else out)
        if out is None and uri_of(table) is not None:
            raise InvalidInput(f"--out must be given: TABLE {shown_uri(table)!r} is not a file of this machine.")
        if out is not None and uri_of(out) is not None:
            raise InvalidInput(
                f"--out must be a file of this machine: the report is written next to it. Got {shown_uri(out)!r}. Copy "
                "the files to their place afterwards, or use lw.protect(..., out=...), which puts the table there."
            )
        return file, Path(out) if out is not None else released_path(Path(table))
    source = SqlTable(from_sql, table)
    if source.on_server and to_sql is None and out is not None and out.lower().endswith(_ENDINGS):
        return source, Path(out)
    return source, SqlTable(to_sql or from_sql, f"{table}_released" if out is None else out)


def files_beside(
    target: Path | SqlTable, report: Path | None, mechanism: Path | None, *, settings: bool
) -> tuple[Path, Path | None]:
    """Return where the report goes and, if it is saved, the mechanism: next to the table unless said otherwise.

    It is saved where the table has no place for it, and for ``settings`` that name it.
    """
    table = _beside(target)
    carries = kind_of(target, "--out").carries if isinstance(target, Path) else target.on_server
    if mechanism is None and (settings or not carries):
        mechanism = table.with_name(f"{stem_of(table)}.mechanism.json")
    return report or table.with_name(f"{stem_of(table)}.report.html"), mechanism


def _beside(target: Path | SqlTable) -> Path:
    """The file whose name the report and the mechanism share."""
    if isinstance(target, Path):
        return target
    name, place = _in_name(target.table), target.path
    return (
        place.with_name(f"{place.stem}.{name}.sql")
        if isinstance(place, Path)
        else Path(f"{_in_name(place.name)}.{name}.sql")
    )


def _in_name(text: str) -> str:
    return "".join(sign if sign.isalnum() or sign in "_-" else "_" for sign in text)


def places_of_mechanisms(
    columns: Sequence[str], several: Mapping[Any, Any] | None, keep: Path | None, *, joint: bool
) -> list[tuple[tuple[str, ...], Path | None]]:
    """Return the columns of each secret with the file that its mechanism is kept in: one each where there are several.

    >>> places_of_mechanisms([], {"ill": 2, ("age", "sex"): 3}, Path("t.mechanism.json"), joint=False)[1]
    (('age', 'sex'), PosixPath('t.age+sex.mechanism.json'))
    """
    from leakwise.tables.estimate.beside import secret_in_name

    secrets = [tuple(columns)] if several is None else [one if isinstance(one, tuple) else (one,) for one in several]
    if several is None or joint:
        return [(tuple(name for one in secrets for name in one), keep)]
    if keep is None:
        return [(one, None) for one in secrets]
    stem = keep.name.removesuffix(keep.suffix).removesuffix(".mechanism")
    end = keep.name.removeprefix(stem)
    return [(one, keep.with_name(f"{stem}.{secret_in_name(one)}{end}")) for one in secrets]


def check_paths(
    data: Path | TableFile | SqlTable,
    given: dict[str, str | None],
    target: Path | SqlTable,
    pages: Mapping[str, Path | None],
    waits: Mapping[str, Path | None],
    settings: Path | None,
    ledger: Path | None,
    *,
    overwrite: bool,
) -> None:
    """Refuse beforehand what would fail after the release was made, or destroy a file that is needed.

    ``waits`` are the files that wait under another name until the table is written.
    """
    from leakwise.tables import SqlTable

    for option, page in pages.items():
        if page is not None and page.suffix.lower() not in (".html", ".htm", ".json"):
            raise InvalidInput(f"{option} must end in .html or .json. Got {str(page)!r} instead.")
    source, out = file_of(data), file_of(target)
    read = {name: Path(text) for name, text in given.items() if text is not None and csv_files.exists(Path(text))}
    drafts = {f"{name} (while it waits)": waiting(one) for name, one in waits.items() if one is not None}
    written = {**pages, **waits, "--save-config": settings}
    # A database may be read and written at once; that a file is not released onto itself is said by the release.
    refuse_same_files(
        {**read, "--from-sql" if isinstance(data, SqlTable) else "TABLE": source, "--out": out},
        {**written, **drafts, **ledger_files(ledger, "--ledger")},
    )
    refuse_same_files(dict(read), {"--out": out})
    for option, place in {**written, "--out": out}.items():
        if place is None:
            continue
        if not place.parent.is_dir():
            raise InvalidInput(f"Cannot write {str(place)!r}: the folder {str(place.parent)!r} does not exist.")
        # That the table itself was released before is said by the release, which knows what a second one means.
        again = isinstance(target, Path) and target.exists()
        if place is not out and place.exists() and not overwrite and not again:
            raise InvalidInput(f"{str(place)!r} exists already. Name another {option}, or use --overwrite.")
