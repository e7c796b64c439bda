"""``leakwise audit --table``: what the columns of a table say about its secret, and what an outcome adds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

import typer

from leakwise.cli.options.domain import read_domain
from leakwise.cli.options.fail_above import judged
from leakwise.cli.options.reading import named_after
from leakwise.cli.options.row import read_any_mechanism
from leakwise.cli.screen.output import show
from leakwise.errors import InvalidInput
from leakwise.guarantee import percent

__all__ = ["GivenOption", "TableOption", "audit_a_table"]

TableOption = Annotated[
    Path | None,
    typer.Option(
        "--table",
        metavar="FILE",
        help="Look at the rows of a table instead: what its other columns (--given) say about --column alone, what an "
        "outcome adds, and both together. The output contains exact figures: it is for the table's owner.",
    ),
]
GivenOption = Annotated[
    list[str] | None,
    typer.Option(
        "--given",
        metavar="NAME",
        help="With --table: a column that goes out as it is; may be repeated. age=bins:0,100,10 for numbers, "
        "sex=f,m to declare its values.",
    ),
]


def audit_a_table(
    table: Path,
    mechanism: str,
    column: str | None,
    given: Sequence[str] | None,
    domain: str | None,
    others: dict[str, Any],
    limit: int | Fraction | None,
    as_json: bool,
    everything: bool,
) -> bool:
    """Read the options of ``--table``, show the audit, and return whether the limit of ``--fail-above`` is kept.

    What is judged is what the outcome adds: the given columns say what they say with any mechanism. And of it the upper
    end of its interval, for the population behind the rows.
    """
    from leakwise.tables.strata.audit import audit_table

    if named := [name for name, value in others.items() if value is not None]:
        raise InvalidInput(f"--table goes without {', '.join(named)}: the table itself says how frequent values are.")
    if column is None:
        raise InvalidInput("--table needs --column NAME: the secret.")
    chosen = read_any_mechanism(mechanism)
    letters = None if domain is None else read_domain(domain)
    if letters is not None and not hasattr(chosen, "given"):
        from leakwise.priors import Prior

        chosen = named_after(chosen, Prior.uniform(letters))
    columns = None if not given else dict(map(_given, given))
    result = audit_table(table, column, given=columns, mechanism=chosen, domain=letters)
    adds = [one.added for one in result.strata if one.added is not None]
    compared = (
        f"Compared is the most that an outcome adds to {result.given_columns.words}, in any stratum: the upper end of "
        f"its interval, {percent(result.confidence)} for all strata together. What the given columns say by themselves "
        "does not count."
    )
    told, kept = judged(result, limit, lambda: max((one.high for one in adds), default=math.inf), compared)
    show(told, as_json, everything)
    return kept


def _given(text: str) -> tuple[str, Any]:
    name, equals, values = text.partition("=")
    return name, read_domain(values) if equals else None
