"""``leakwise advise``: a few sensible settings for the release of a table."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from leakwise.cli.options.database import FromSqlOption
from leakwise.cli.options.domain import MissingOption, OccurringOption
from leakwise.cli.options.row import DropOption, read_names
from leakwise.cli.options.secret import check_columns, read_letters
from leakwise.cli.options.typed import number
from leakwise.cli.screen.output import AllOption, JsonOption, say, show

__all__ = ["advise"]


def advise(
    table: Annotated[
        Path,
        typer.Argument(
            metavar="TABLE",
            help="A CSV, TSV, Parquet, Arrow, JSON-lines, Stata or SPSS file, its address (s3://...), a folder "
            "of them or a pattern; with --from-sql the name of a table.",
            show_default=False,
        ),
    ],
    column: Annotated[list[str], typer.Option("--column", "-c", metavar="NAME", help="The secret column: one.")],
    domain: OccurringOption = None,
    missing: MissingOption = False,
    lift: Annotated[
        str, typer.Option("--lift", metavar="LIFT", help="The limit to start from: LIFT times as likely.")
    ] = "2",
    drop: DropOption = None,
    failure: Annotated[
        float, typer.Option("--failure", metavar="PROBABILITY", help="The probability that the rows mislead.")
    ] = 1e-6,
    time_limit: Annotated[float, typer.Option("--time-limit", help="Seconds for the design of each setting.")] = 5.0,
    from_sql: FromSqlOption = None,
    as_json: JsonOption = False,
    everything: AllOption = False,
) -> None:
    """Show a few sensible ways to release a table, with accuracy and guarantee, as commands to copy.

    The table is read, and each setting is tried without a draw: nothing is written or spent. What is printed contains
    exact figures of the table, and is for its owner.

    It is about one secret; of several, leakwise release --dry-run with --protect for each shows the same.

    \b
    leakwise advise clinic.csv -c hiv --drop name
    leakwise advise clinic.csv -c hiv --domain no,yes --lift 1.5 --drop name,age
    """
    from leakwise.tables.databases.sql_table import SqlTable
    from leakwise.tables.formats import open_table
    from leakwise.workflow.advise import advise as run

    opened = open_table(table, "TABLE") if from_sql is None else SqlTable(from_sql, str(table))
    left_out = read_names(drop) or []
    check_columns(opened, column, left_out)
    # More than one secret is refused there: taken for one alone, the others would go out as they are.
    one = len(column) == 1
    domains = None if domain is None else [domain]
    letters = read_letters(opened, column, domains, missing=missing) if one else None
    found = run(
        str(table) if from_sql is None else opened,
        column[0] if one else tuple(column),
        domain=letters,
        lift=number(lift, "--lift"),
        drop=left_out,
        failure=failure,
        time_limit=time_limit,
        progress=_trying if sys.stderr.isatty() else None,
    )
    show(found, as_json, everything)


def _trying(title: str) -> None:
    say(f"Trying: {title} …")
