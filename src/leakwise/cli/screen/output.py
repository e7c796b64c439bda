"""Printed results: words and a short table for people, JSON for programs."""

from __future__ import annotations

import json
import math
import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Protocol, TextIO

import typer

from leakwise.charts.shown import Parts, Shown
from leakwise.charts.words import Notice
from leakwise.charts.wrapping import wrapped

__all__ = ["AllOption", "JsonOption", "Printable", "Said", "print_json", "say", "show", "tell_release"]

JsonOption = Annotated[
    bool, typer.Option("--json", help="Print JSON instead of a table. An infinite number is the text 'inf'.")
]
AllOption = Annotated[bool, typer.Option("--all", help="Show everything: every sentence, every table, every row.")]


class Printable(Protocol):
    """A result that can be read as text, and as plain data on request."""

    def _shown(self) -> Parts: ...

    def to_dict(self) -> Any: ...


@dataclass(frozen=True, repr=False)
class Said(Shown):
    """What a command says that has no result of its own: the words, and the plain data."""

    parts: Parts
    data: Any

    def _shown(self) -> Parts:
        return self.parts

    def to_dict(self) -> Any:
        """Return plain data."""
        return self.data


def show(result: Printable, as_json: bool, everything: bool = False, *, err: bool = False) -> None:
    """Print a result: the guarantee, a few sentences and a short table; everything; or JSON."""
    if as_json:
        print_json(result.to_dict(), err=err)
        return
    from leakwise.cli.screen.layout import laid_out

    stream = sys.stderr if err else sys.stdout
    lines = laid_out(result._shown(), _width(stream), everything=everything)
    coloured = _coloured(stream)
    for line in lines:
        typer.echo(typer.style(line.text, fg=line.colour) if coloured and line.colour else line.text, err=err)


def tell_release(
    done: Printable, written: Mapping[str, Any], as_json: bool, everything: bool, *, err: bool = False
) -> None:
    """Print what was released, and the files that were written; on standard error where the output is the table."""
    files = {name: str(path) for name, path in written.items()}
    listed = [Notice(f"{name}: {path}") for name, path in files.items()]
    data = {**done.to_dict(), "files": files} if as_json else {}
    show(Said([*done._shown(), *listed], data), as_json, everything, err=err)


def say(message: str, *, colour: str | None = None) -> None:
    """Say on standard error what happens, in one line: on a terminal in as many as it takes."""
    # Whatever a label or a file name in the message contains.
    words = " ".join(message.split())
    for line in wrapped(words, _width(sys.stderr) if sys.stderr.isatty() else None):
        typer.echo(typer.style(line, fg=colour) if colour and _coloured(sys.stderr) else line, err=True)


def print_json(data: Any, *, err: bool = False) -> None:
    """Print plain data as strict JSON."""
    typer.echo(json.dumps(_strict(data), ensure_ascii=False, allow_nan=False, indent=2), err=err)


def _width(stream: TextIO) -> int | None:
    """The columns of the terminal; None where there is none, unless COLUMNS says so."""
    if stream.isatty() or os.environ.get("COLUMNS", "").isdecimal():
        return max(20, shutil.get_terminal_size().columns)
    return None


def _coloured(stream: TextIO) -> bool:
    """Whether to colour: on a terminal that can, unless NO_COLOR says no (no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _strict(data: Any) -> Any:
    """Return the same without what JSON cannot express: infinities become text, NumPy numbers plain ones."""
    if isinstance(data, Mapping):
        return {str(key): _strict(value) for key, value in data.items()}
    if hasattr(data, "tolist"):
        return _strict(data.tolist())
    if isinstance(data, (list, tuple)):
        return [_strict(value) for value in data]
    if isinstance(data, float) and not math.isfinite(data):
        return str(data)
    return data
