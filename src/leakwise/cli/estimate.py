"""``leakwise estimate``: the true frequencies behind a released column, with intervals."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from leakwise.cli.output import JsonOption, show
from leakwise.cli.row_options import read_any_mechanism

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command()(estimate)


def estimate(
    table: Annotated[
        Path, typer.Argument(metavar="TABLE", help="A released CSV, TSV, Parquet, Arrow or JSON-lines file.")
    ],
    mechanism: Annotated[
        str | None,
        typer.Option(
            "--mechanism",
            "-m",
            metavar="MECHANISM",
            help="The mechanism that released it; Parquet and Arrow files written by leakwise contain theirs.",
        ),
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option("--column", "-c", metavar="NAME", help="The released column; several if released together."),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            "--by", metavar="NAME", help="A column that was not randomized: one estimate for each of its values."
        ),
    ] = None,
    confidence: Annotated[float, typer.Option("--confidence", help="The confidence of the intervals.")] = 0.95,
    simultaneous: Annotated[
        bool, typer.Option("--simultaneous", help="Let the confidence hold for all intervals together.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Estimate the frequencies of the true values behind a released column, with standard errors and intervals.

    \b
    leakwise estimate out.parquet
    leakwise estimate survey.released.csv -m survey.released.mechanism.json -c smokes --by sex
    """
    from leakwise.tables.estimate.estimate import estimate as recover

    names = None if not column else column[0] if len(column) == 1 else tuple(column)
    found = recover(
        table,
        None if mechanism is None else read_any_mechanism(mechanism),
        names,
        by=by,
        confidence=confidence,
        simultaneous=simultaneous,
    )
    show(found, as_json)
