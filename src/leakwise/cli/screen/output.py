"""Printed results: a table for people, JSON for programs."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any, Protocol

import typer

__all__ = ["JsonOption", "Printable", "print_json", "print_table", "show", "tell_release"]

JsonOption = Annotated[
    bool, typer.Option("--json", help="Print JSON instead of a table. An infinite number is the text 'inf'.")
]


class Printable(Protocol):
    """A result that can be read as text, and as plain data on request."""

    def to_dict(self) -> dict[str, Any]: ...


def show(result: Printable, as_json: bool) -> None:
    """Print a result as a table or as JSON."""
    if as_json:
        print_json(result.to_dict())
    else:
        typer.echo(repr(result))


def tell_release(done: Printable, written: Mapping[str, Any], as_json: bool, *, err: bool = False) -> None:
    """Print what was released, and the files that were written; on standard error where the output is the table."""
    if as_json:
        print_json({**done.to_dict(), "files": {name: str(path) for name, path in written.items()}}, err=err)
        return
    typer.echo(repr(done), err=err)
    for name, path in written.items():
        typer.echo(f"{name}: {path}", err=err)


def print_json(data: Any, *, err: bool = False) -> None:
    """Print plain data as strict JSON."""
    typer.echo(json.dumps(_strict(data), ensure_ascii=False, allow_nan=False, indent=2), err=err)


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


def _cell(value: object, number: Callable[[object], str]) -> str:
    if value is None:
        return "—"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return number(value) if isinstance(value, (int, float)) else str(value)


def print_table(headers: Sequence[str], rows: Iterable[Sequence[object]], *, title: str | None = None) -> None:
    """Print a table: drawn by rich on a terminal, plain text in a pipe or a file."""
    from leakwise.charts.table import number, text_table

    body = [list(row) for row in rows]
    if not sys.stdout.isatty():
        typer.echo(text_table(headers, body, title=title, max_rows=1000))
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=None if title is None else Text(title), title_justify="left")
    for header in headers:
        table.add_column(Text(header))
    for row in body:
        table.add_row(*(Text(_cell(cell, number)) for cell in row))
    Console().print(table)
