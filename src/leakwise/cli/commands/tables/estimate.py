"""``leakwise estimate``: the true frequencies behind released columns, with intervals."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from leakwise.cli.files.standard_streams import FormatOption, named_or_piped
from leakwise.cli.options.database import FromSqlOption
from leakwise.cli.options.row import read_any_mechanism
from leakwise.cli.options.several import columns_of
from leakwise.cli.screen.output import JsonOption, show
from leakwise.errors import InvalidInput

__all__ = [
    "ClustersOption",
    "PlotOption",
    "StrataOption",
    "WeightsOption",
    "mechanisms_by_column",
    "register",
    "save_picture",
]

PlotOption = Annotated[
    Path | None, typer.Option("--plot", metavar="FILE", help="Also save a picture: .png, .svg, .html or .json.")
]

WeightsOption = Annotated[
    str | None, typer.Option("--weights", metavar="NAME", help="A column of sampling weights of a survey.")
]
StrataOption = Annotated[str | None, typer.Option("--strata", metavar="NAME", help="The strata of a survey.")]
ClustersOption = Annotated[str | None, typer.Option("--clusters", metavar="NAME", help="The clusters of a survey.")]


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command()(estimate)


def estimate(
    ctx: typer.Context,
    table: Annotated[
        Path,
        typer.Argument(
            metavar="TABLE",
            help="A released CSV, TSV, Parquet, Arrow, JSON-lines, Stata or SPSS file, its address (s3://...), a "
            "folder of them or a pattern ('r/*.csv'), - for the standard input; with --from-sql the name of a table.",
        ),
    ],
    mechanism: Annotated[
        list[str] | None,
        typer.Option(
            "--mechanism",
            "-m",
            metavar="MECHANISM",
            help="The mechanism that released it; with --joint NAME=MECHANISM for each column. Files written by "
            "leakwise contain theirs, or have it next to them.",
        ),
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option("--column", "-c", metavar="NAME", help="The released column; several if released together."),
    ] = None,
    joint: Annotated[
        str | None,
        typer.Option(
            "--joint",
            metavar="A,B",
            help="The joint table of columns that were each released by itself; two that were released as one secret "
            "are A+B.",
        ),
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option(
            "--by", metavar="NAME", help="A column that was not randomized: one estimate for each of its values."
        ),
    ] = None,
    weights: WeightsOption = None,
    strata: StrataOption = None,
    clusters: ClustersOption = None,
    confidence: Annotated[float, typer.Option("--confidence", help="The confidence of the intervals.")] = 0.95,
    simultaneous: Annotated[
        bool, typer.Option("--simultaneous", help="Let the confidence hold for all intervals together.")
    ] = False,
    format: FormatOption = None,
    from_sql: FromSqlOption = None,
    plot: PlotOption = None,
    as_json: JsonOption = False,
) -> None:
    """Estimate the frequencies of the true values behind released columns, with standard errors and intervals.

    \b
    leakwise estimate out.parquet
    leakwise estimate survey.released.csv -c smokes --by sex
    leakwise estimate out.parquet --joint sex,income --by region --plot table.svg
    leakwise estimate people.csv --joint sex,income -m sex=sex.json -m income=income.json
    leakwise estimate - --format csv -m smokes.json -c smokes < people.csv
    leakwise estimate people --from-sql shop.duckdb -m smokes.json -c smokes
    leakwise estimate people_released --from-sql postgresql://ada@db.example/clinic
    """
    from leakwise.tables.databases.sql_table import SqlTable
    from leakwise.tables.estimate.estimate import estimate as recover

    data: Any = named_or_piped(ctx, table, format) if from_sql is None else SqlTable(from_sql, str(table))
    names = None if not column else column[0] if len(column) == 1 else tuple(column)
    chosen: Any
    if joint is not None:
        if names is not None:
            raise InvalidInput("--joint names the columns; leave --column out.")
        names_of = [columns_of(name.strip()) for name in joint.split(",") if name.strip()]
        columns = [one[0] if len(one) == 1 else one for one in names_of]
        known = mechanisms_by_column(mechanism, "--joint")
        if strangers := [name for name in known if name not in columns]:
            raise InvalidInput(f"--mechanism names {strangers[0]!r}, which --joint does not.")
        chosen = {name: known.get(name) for name in columns}
    elif mechanism is not None and len(mechanism) > 1:
        raise InvalidInput("--mechanism may be given several times with --joint only, as NAME=MECHANISM.")
    else:
        chosen = None if mechanism is None else read_any_mechanism(mechanism[0])
    groups: Any = None if not by else by if joint is not None or len(by) > 1 else by[0]
    found = recover(
        data,
        chosen,
        names,
        by=groups,
        weights=weights,
        strata=strata,
        clusters=clusters,
        confidence=confidence,
        simultaneous=simultaneous,
    )
    show(found, as_json)
    save_picture(found, plot)


def mechanisms_by_column(given: list[str] | None, what: str) -> dict[Any, Any]:
    """Return the mechanisms of ``NAME=MECHANISM`` words."""
    found: dict[Any, Any] = {}
    for word in given or []:
        name, equals, text = word.partition("=")
        if not equals or not name or ":" in name:
            raise InvalidInput(f"With {what} a mechanism is given as NAME=MECHANISM. Got {word!r} instead.")
        own = columns_of(name)
        found[own[0] if len(own) == 1 else own] = read_any_mechanism(text)
    return found


def save_picture(found: Any, plot: Path | None) -> None:
    """Save the picture of a result, if one is wanted."""
    if plot is not None:
        from leakwise.charts.render import save

        typer.echo(f"Picture saved: {save(found.chart(), plot)}", err=True)
