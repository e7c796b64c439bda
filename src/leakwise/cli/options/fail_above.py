"""``--fail-above``: a limit on what is proven, for a check that runs unattended."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Annotated, Any

import typer

from leakwise.charts.words import Broken, Kept, Notice
from leakwise.cli.options.typed import number
from leakwise.cli.screen.output import Printable, Said
from leakwise.errors import InvalidInput

__all__ = ["FailAboveOption", "judged", "read_fail_above"]

FailAboveOption = Annotated[
    str | None,
    typer.Option(
        "--fail-above",
        metavar="LIFT",
        help="End in exit code 1 unless this lift is proven: 2 means 'at most twice as likely'. With --json 'limit' "
        "and 'kept' say so.",
    ),
]


def read_fail_above(text: str | None) -> int | Fraction | None:
    """Return the limit, if one is typed.

    >>> read_fail_above("3/2")
    1.5
    """
    if text is None:
        return None
    limit = number(text, "--fail-above")
    if limit < 1:
        raise InvalidInput(f"--fail-above must be a lift of at least 1 (1 reveals nothing). Got {text!r} instead.")
    return limit


def judged(
    result: Printable, limit: int | Fraction | None, prove: Callable[[], Fraction | float | None], compared: str = ""
) -> tuple[Printable, bool]:
    """Return the result with what ``--fail-above`` says of it, and whether the limit is kept.

    Parameters
    ----------
    result
        What is shown.
    limit
        The largest lift that is allowed; None where none was typed: nothing is said, and nothing is broken.
    prove
        Gives the lift that is proven, exact or rounded up; None or infinity where there is no bound.
    compared
        What that lift is of, where the result shows several.
    """
    if limit is None:
        return result, True
    from leakwise.exact import float_above, level
    from leakwise.guarantee import at_most
    from leakwise.proof import telling_digits

    asked, found = level(lift=limit), prove()
    proven = None if found is None or found == math.inf else Fraction(found)
    kept = proven is not None and asked.allows(proven)
    words: str
    if proven is None:
        words = Broken(f"The limit of --fail-above, a lift of {at_most(asked.shown)}, is broken: there is no bound.")
    elif kept:
        words = Kept(f"The limit of --fail-above is kept: at most {at_most(asked.shown)} times as likely.")
    else:
        digits = telling_digits(proven, asked)
        words = Broken(
            f"The limit of --fail-above is broken: at most {at_most(asked.above, digits)} times as likely is allowed, "
            f"and {at_most(proven, digits)} times is what is proven."
        )
    data: dict[str, Any] = {
        "lift": math.inf if proven is None else float_above(proven),
        **result.to_dict(),
        "limit": float(limit),
        "kept": kept,
    }
    return Said([*result._shown(), words, *([Notice(compared)] if compared else [])], data), kept
