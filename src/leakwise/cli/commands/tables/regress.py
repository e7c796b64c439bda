"""``leakwise regress``: a regression of true values from a released table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

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
from leakwise.cli.options.several import mechanisms_by_column
from leakwise.cli.screen.output import AllOption, JsonOption, show

__all__ = ["regress"]


def regress(
    ctx: typer.Context,
    formula: Annotated[str, typer.Argument(metavar="FORMULA", help="Such as 'income ~ age + C(sex)'.")],
    table: Annotated[
        Path,
        typer.Argument(
            metavar="TABLE",
            help="A released CSV, TSV, Parquet, Arrow, JSON-lines, Stata or SPSS file, its address (s3://...), a "
            "folder of them or a pattern, or - for the standard input; with --from-sql the name of a table.",
        ),
    ],
    mechanism: Annotated[
        list[str] | None,
        typer.Option(
            "--mechanism",
            "-m",
            metavar="NAME=MECHANISM",
            help="The mechanism that released a column [default: the one in the file or next to it].",
        ),
    ] = None,
    family: Annotated[
        str | None,
        typer.Option(
            "--family",
            help="linear, logistic, multinomial or poisson [default: what the values of the outcome call for].",
        ),
    ] = None,
    weights: WeightsOption = None,
    strata: StrataOption = None,
    clusters: ClustersOption = None,
    errors: Annotated[
        str, typer.Option("--errors", help="Where standard errors come from: information or sandwich.")
    ] = "information",
    confidence: ConfidenceOption = 0.95,
    simultaneous: SimultaneousOption = False,
    format: FormatOption = None,
    from_sql: FromSqlOption = None,
    plot: PlotOption = None,
    as_json: JsonOption = False,
    everything: AllOption = False,
) -> None:
    """Fit a regression of true values to a released table, with intervals, beside what released values alone would say.

    Two values are a logistic regression for the last value of the mechanism, numbers a linear one, others a multinomial
    one. A formula is code: do not run one from a stranger.

    \b
    leakwise regress "income ~ age + C(sex)" out.parquet
    leakwise regress "smokes ~ age" people_released --from-sql postgresql://ada@db.example/clinic
    leakwise regress "smokes ~ age" people.csv -m smokes=smokes.json --plot coefficients.svg
    """
    from leakwise.tables.databases.sql_table import SqlTable
    from leakwise.tables.estimate.regression.regress import regress as fit

    found = fit(
        formula,
        named_or_piped(ctx, table, format) if from_sql is None else SqlTable(from_sql, str(table)),
        mechanisms_by_column(mechanism, "regress"),
        family=family,
        weights=weights,
        strata=strata,
        clusters=clusters,
        errors=errors,
        confidence=confidence,
        simultaneous=simultaneous,
    )
    show(found, as_json, everything)
    save_picture(found, plot)
