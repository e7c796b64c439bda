"""``-`` for a table: the standard input, and the standard output.

What comes in is read once, into a file that only its owner can read: where the system has files without a name it never
has one, and vanishes with the process. What goes out is a whole file, sent when everything else is done: a release that
fails sends nothing.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import sys
import tempfile
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from leakwise.errors import InvalidInput, LeakwiseWarning, did_you_mean
from leakwise.tables.formats.names import SUFFIXES, kind_of
from leakwise.tables.formats.remote import private_file

if TYPE_CHECKING:
    from leakwise.tables.formats import TableFile

__all__ = [
    "FormatOption",
    "OutFormatOption",
    "StandardOutput",
    "is_standard",
    "named_or_piped",
    "standard_output",
    "warn_of_pipe",
]

_PROCESSES = Path("/proc")

FormatOption = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="KIND",
        help="What kind of table the standard input is (TABLE -): csv, csv.gz, parquet, … [default: none]",
    ),
]
OutFormatOption = Annotated[
    str | None,
    typer.Option(
        "--out-format",
        metavar="KIND",
        help="What kind of table goes to the standard output (--out -) [default: that of TABLE].",
    ),
]


def is_standard(text: str | os.PathLike[str] | None) -> bool:
    """Return whether a stream is meant instead of a file."""
    return text is not None and os.fspath(text) == "-"


def named_or_piped(ctx: typer.Context, table: str | os.PathLike[str], format: str | None) -> Path | TableFile:
    """Return the path of a table; where it is ``-``, the table on the standard input, until the command ends."""
    if not is_standard(table):
        if format is not None:
            raise InvalidInput(
                f"--format is for a table on the standard input (TABLE -). The name of {os.fspath(table)!r} says what "
                "kind it is."
            )
        return Path(table)
    ending = _ending(format, "--format")
    if sys.stdin.isatty():
        raise InvalidInput("TABLE - is the standard input, and nothing was sent to it: leakwise … - < table.csv")
    from leakwise.tables.formats import open_table

    folder = tempfile.mkdtemp(prefix="leakwise-")  # for its owner alone
    place = Path(folder) / f"stdin{ending}"
    # Without a name, where the system has such files: the path is a link to it, which leads nowhere when the process is
    # gone, however that ended.
    handles = _PROCESSES / str(os.getpid()) / "fd"
    file = tempfile.TemporaryFile() if handles.is_dir() else private_file(place)  # noqa: SIM115
    ctx.call_on_close(lambda: _remove(file, folder))
    try:
        if handles.is_dir():
            place.symlink_to(handles / str(file.fileno()))
        shutil.copyfileobj(sys.stdin.buffer, file, 1 << 20)
        file.flush()
    except OSError as error:
        raise InvalidInput(f"Cannot read the standard input: {error.strerror or error}.") from error
    found = open_table(place, "TABLE")
    found.copied = True
    return found


def _remove(file: Any, folder: str) -> None:
    with contextlib.suppress(OSError):  # of a disk that was full
        file.close()
    shutil.rmtree(folder, ignore_errors=True)


class StandardOutput:
    """A file that is written aside, and sent to the standard output when it is whole."""

    def __init__(self, ctx: typer.Context, ending: str) -> None:
        folder = tempfile.mkdtemp(prefix="leakwise-")
        ctx.call_on_close(lambda: shutil.rmtree(folder, ignore_errors=True))
        self.path = Path(folder) / f"stdout{ending}"

    def send(self) -> None:
        """Send the file."""
        try:
            with self.path.open("rb") as file:
                shutil.copyfileobj(file, sys.stdout.buffer, 1 << 20)
            sys.stdout.flush()
        except OSError as error:
            if error.errno == errno.EPIPE:  # what is still held back would be tried again when the process ends
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise InvalidInput(
                f"The table was released, but the standard output broke off: {error.strerror or error}. What arrived "
                "is not whole; it counts as a release all the same."
            ) from error


def standard_output(
    ctx: typer.Context, table: str, out: str | None, format: str | None, out_format: str | None, *, tables: bool
) -> StandardOutput | None:
    """Return where the released table goes, if that is the standard output; ``tables`` are those of a database."""
    if tables or not (is_standard(out) or (out is None and is_standard(table))):
        if out_format is not None:
            raise InvalidInput("--out-format is for the standard output (--out -): the name of a file says its kind.")
        return None
    if out_format is not None:
        ending = _ending(out_format, "--out-format")
    elif is_standard(table):
        ending = _ending(format, "--format")
    else:
        from leakwise.tables.release.paths import released_path

        ending = kind_of(released_path(Path(table), "released")).ending
    if sys.stdout.isatty() and ending not in (".csv", ".tsv", ".jsonl", ".ndjson"):
        raise InvalidInput(
            f"A {ending} file cannot be shown on a terminal. Name --out FILE, or send it on: … > table{ending}"
        )
    return StandardOutput(ctx, ending)


def warn_of_pipe(target: Path, mechanism: object, *, settings: bool) -> None:
    """Say that the mechanism of what goes to the standard output is neither in it nor in a file, where that is so."""
    if settings and mechanism is None:
        raise InvalidInput("--save-config names the mechanism: with --out - say where it is, --save-mechanism FILE.")
    if mechanism is None and not kind_of(target).carries:
        warnings.warn(
            f"The mechanism is not saved, and nothing can be estimated without it: a {kind_of(target).ending} table "
            "has no place for it. --save-mechanism FILE saves it.",
            LeakwiseWarning,
            stacklevel=2,
        )


def _ending(text: str | None, option: str) -> str:
    if text is None:
        raise InvalidInput(f"{option} must say what kind of table the standard input is: {_kinds()}.")
    try:
        return kind_of(Path(f"table.{text.removeprefix('.').lower()}")).ending
    except InvalidInput:
        near = did_you_mean(text.removeprefix("."), [suffix[1:] for suffix in SUFFIXES])
        raise InvalidInput(f"{option} must be one of {_kinds()}. Got {text!r} instead.{near}") from None


def _kinds() -> str:
    return f"{', '.join(suffix[1:] for suffix in SUFFIXES)}; csv.gz, csv.zst and the like where compressed"
