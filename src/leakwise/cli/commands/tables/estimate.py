"""``leakwise estimate``: the true frequencies behind released columns, with intervals."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from leakwise.cli.files.standard_streams import FormatOption, named_or_piped
from leakwise.cli.options.database import FromSqlOption
from leakwise.cli.options.results import (
    ClustersOption,
    ConfidenceOption,
    PlotOption,
    SimultaneousOption,
    StrataOption,
    WeightsOption,
    save_picture,
)
from leakwise.cli.options.row import read_any_mechanism
from leakwise.cli.options.several import columns_of, mechanisms_by_column
from leakwise.cli.screen.output import AllOption, JsonOption, show
from leakwise.errors import InvalidInput

__all__ = ["estimate"]


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
            help="The mechanism that released it; with --joint NAME=MECHANISM for each column [default: the one in the "
            "file or next to it].",
        ),
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option(
            "--column",
            "-c",
            metavar="NAME",
            help="The released column; several if released together [default: that of the mechanism].",
        ),
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
    confidence: ConfidenceOption = 0.95,
    simultaneous: SimultaneousOption = False,
    format: FormatOption = None,
    from_sql: FromSqlOption = None,
    plot: PlotOption = None,
    as_json: JsonOption = False,
    everything: AllOption = False,
) -> None:
    """Estimate the frequencies of the true values behind released columns, with standard errors and intervals.

    \b
    leakwise estimate survey.released.csv
    leakwise estimate survey.released.csv -c smokes --by sex
    leakwise estimate out.parquet --joint sex,income --by region --plot table.svg
    leakwise estimate out.csv --joint sex,income -m sex=sex.json -m income=income.json
    leakwise estimate - --format csv -m smokes.json -c smokes < people.csv
    leakwise estimate people --from-sql shop.db -m smokes.json -c smokes
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
    show(found, as_json, everything)
    save_picture(found, plot)
