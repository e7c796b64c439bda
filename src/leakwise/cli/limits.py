"""Options for the limits beyond the lift: for anyone, and for single values."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

import typer

from leakwise.cli.reading import label, number
from leakwise.errors import InvalidInput

__all__ = ["AnyoneOption", "CeilingOption", "FloorOption", "LiftOfOption", "read_anyone", "read_value_limits"]

AnyoneOption = Annotated[
    str | None,
    typer.Option(
        "--anyone", metavar="LIFT", help="A second limit, for anyone, whatever they knew: the lift for every prior."
    ),
]
LiftOfOption = Annotated[
    list[str] | None,
    typer.Option("--lift-of", metavar="VALUE=LIFT", help="A lift of its own for a value, such as HIV=1.2."),
]
CeilingOption = Annotated[
    list[str] | None,
    typer.Option(
        "--ceiling",
        metavar="VALUE=PROBABILITY",
        help="No outcome makes the value (or one of several, HIV,TB=0.08) more likely than this.",
    ),
]
FloorOption = Annotated[
    list[str] | None,
    typer.Option("--floor", metavar="VALUE=LIFT", help="The least lift of a value: HIV=0.5 is 'at least half as'."),
]


def read_anyone(text: str | None) -> Any:
    """Return the limit for anyone: a number, or None for the word none."""
    return None if text is None or text.strip().lower() == "none" else number(text, "--anyone")


def read_value_limits(
    lift_of: list[str] | None, ceiling: list[str] | None, floor: list[str] | None, letters: Iterable[Any] | None
) -> dict[str, Any]:
    """Return the limits of single values as ``lw.design`` takes them, with the values of the domain.

    >>> read_value_limits(["HIV=1.2"], ["HIV,TB=0.08"], None, ["HIV", "TB"])["ceiling"]
    {('HIV', 'TB'): Fraction(2, 25)}
    """
    named = {str(one): one for one in letters or ()}

    def value(word: str) -> Any:
        return named.get(word.strip(), label(word.strip()))

    def pairs(option: str, given: list[str] | None, *, several: bool = False) -> dict[Any, Any] | None:
        found: dict[Any, Any] = {}
        for text in given or ():
            name, equals, amount = text.rpartition("=")
            if not equals:
                raise InvalidInput(f"{option} must be VALUE=NUMBER, such as HIV=1.2. Got {text!r} instead.")
            words = name.split(",") if several and name not in named else [name]
            key = value(words[0]) if len(words) == 1 else tuple(value(word) for word in words)
            if key in found:
                raise InvalidInput(f"{option} names {name!r} twice. Give each value once.")
            found[key] = number(amount, option)
        return found or None

    return {
        "lift_of": pairs("--lift-of", lift_of),
        "ceiling": pairs("--ceiling", ceiling, several=True),
        "floor": pairs("--floor", floor),
    }
