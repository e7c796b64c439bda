"""Options for the limits beyond the lift: for anyone, for single values, and for pairs of values and outcomes."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from typing import Annotated, Any

import typer

from leakwise.cli.options.typed import label, number
from leakwise.errors import InvalidInput

__all__ = [
    "AnyoneOption",
    "CeilingOption",
    "DeltaOption",
    "FloorOption",
    "ForbiddenOption",
    "KeepAtLeastOption",
    "LiftOfOption",
    "MarginOption",
    "MaximalLeakageOption",
    "RowsOption",
    "ValuesOption",
    "read_anyone",
    "read_margin",
    "read_masks",
    "read_value_limits",
]

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
        metavar="VALUE=NUMBER",
        help="No outcome makes the value (or one of several, HIV,TB=0.08) more likely than this. A name with a comma "
        "is quoted, '\"Ticino, sud\"=0.25'.",
    ),
]
FloorOption = Annotated[
    list[str] | None,
    typer.Option("--floor", metavar="VALUE=LIFT", help="The least lift of a value: HIV=0.5 is 'at least half as'."),
]
DeltaOption = Annotated[
    str | None,
    typer.Option(
        "--delta",
        metavar="PROBABILITY",
        help="With --epsilon or --lift alone: the lift may be exceeded with this probability, whatever is done to the "
        "outcome afterwards.",
    ),
]
MaximalLeakageOption = Annotated[
    str | None,
    typer.Option(
        "--maximal-leakage",
        metavar="NATS",
        help="A limit on all outcomes together, alone or with the others: on average over outcomes, no guess about "
        "anything becomes more than e^NATS times as likely.",
    ),
]
MarginOption = Annotated[
    list[str] | None,
    typer.Option(
        "--margin",
        metavar="[NAME=]NUMBER",
        help="Instead of a limit: the least lift is found with which every frequency is known within the margin (the "
        "half-width of a 95% interval), or that of a value, HIV=0.01; with --protect, those of a secret. May be "
        "repeated.",
    ),
]
RowsOption = Annotated[
    int | None, typer.Option("--rows", metavar="NUMBER", help="With --margin: how many rows will be released.")
]
ValuesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--values",
        metavar="VALUE=NUMBER",
        help="With --margin: the number that a value stands for. The mean of the numbers is then what is to be known. "
        "Once for each value.",
    ),
]
ForbiddenOption = Annotated[
    list[str] | None,
    typer.Option(
        "--forbidden",
        metavar="VALUE:OUTCOME",
        help="With the frequencies kept: a pair that must never occur. May be repeated. A name with a colon is quoted, "
        "'\"12:30\":none'.",
    ),
]
KeepAtLeastOption = Annotated[
    list[str] | None,
    typer.Option(
        "--keep-at-least",
        metavar="[VALUE=]NUMBER",
        help="With the frequencies kept: the least probability that a value (or every value) is released as it is. "
        "May be repeated.",
    ),
]


def read_anyone(text: str | None) -> Any:
    """Return the limit for anyone: a number, or None for the word none."""
    return None if text is None or text.strip().lower() == "none" else number(text, "--anyone")


def read_margin(margin: list[str] | None, values: list[str] | None, letters: Iterable[Any] | None) -> dict[str, Any]:
    """Return the margin and the numbers as ``lw.design`` takes them, with the values of the domain.

    >>> read_margin(["HIV=0.01"], None, ["HIV", "TB"]), read_margin(["0.02"], None, None)["margin"]
    ({'margin': {'HIV': 0.01}, 'values': None}, 0.02)
    """
    named = {str(one): one for one in letters or ()}
    if margin is not None and len(margin) == 1 and "=" not in margin[0]:
        return {"margin": number(margin[0], "--margin"), "values": _pairs("--values", values, named)}
    return {"margin": _pairs("--margin", margin, named), "values": _pairs("--values", values, named)}


def read_value_limits(
    lift_of: list[str] | None, ceiling: list[str] | None, floor: list[str] | None, letters: Iterable[Any] | None
) -> dict[str, Any]:
    """Return the limits of single values as ``lw.design`` takes them, with the values of the domain.

    >>> read_value_limits(["HIV=1.2"], ["HIV,TB=0.08"], None, ["HIV", "TB"])["ceiling"]
    {('HIV', 'TB'): 0.08}
    """
    named = {str(one): one for one in letters or ()}

    return {
        "lift_of": _pairs("--lift-of", lift_of, named),
        "ceiling": _pairs("--ceiling", ceiling, named, several=True),
        "floor": _pairs("--floor", floor, named),
    }


def _pairs(
    option: str, given: list[str] | None, named: dict[str, Any], *, several: bool = False
) -> dict[Any, Any] | None:
    """Return numbers by value, or (``several``) by a tuple of values."""
    found: dict[Any, Any] = {}
    for text in given or ():
        name, equals, amount = text.rpartition("=")
        if not equals:
            raise InvalidInput(f"{option} must be VALUE=NUMBER, such as HIV=1.2. Got {text!r} instead.")
        words = (_names(name, option) or [""]) if name not in named else [name]  # nothing is a missing value
        if len(words) > 1 and not several:
            words = [name.strip()]
        values = [named.get(word, label(word)) for word in words]
        key = values[0] if len(values) == 1 else tuple(values)
        if key in found:
            raise InvalidInput(f"{option} names {name!r} twice. Give each value once.")
        found[key] = number(amount, option)
    return found or None


def _names(text: str, option: str) -> list[str]:
    """Return the names in a list with commas; those that contain commas themselves are in double quotes."""
    try:
        (names,) = csv.reader([text], skipinitialspace=True, strict=True)
    except (csv.Error, ValueError):
        raise InvalidInput(
            f"{option} has a quote that does not belong there: {text!r}. Quote a whole name, and double a quote in it."
        ) from None
    return [name.strip() for name in names]


def read_masks(
    forbidden: list[str] | None, keep_at_least: list[str] | None, letters: Iterable[Any] | None
) -> dict[str, Any]:
    """Return forbidden pairs and shares to be kept as ``lw.design`` takes them, with the values of the domain.

    >>> read_masks(['"12:30":none'], ["none=0.5"], ["12:30", "none"])
    {'forbidden': [('12:30', 'none')], 'keep_at_least': {'none': 0.5}}
    """
    named = {str(one): one for one in letters or ()}
    return {
        "forbidden": [_pair(text, named) for text in forbidden] if forbidden else None,
        "keep_at_least": _shares(keep_at_least, named) if keep_at_least else None,
    }


def _pair(text: str, named: dict[str, Any]) -> tuple[Any, Any]:
    """Return a pair of values, plain or quoted; names may contain colons, so every colon is tried."""
    plain = {name.strip(): value for name, value in named.items()}
    quoted = {f'"{name.replace(chr(34), 2 * chr(34))}"': value for name, value in named.items()}
    known = quoted | plain
    ends = [place for place, sign in enumerate(text) if sign == ":"]
    halves = [(text[:end].strip(), text[end + 1 :].strip()) for end in ends]
    found = {(known[one], known[other]) for one, other in halves if one in known and other in known}
    if len(found) == 1:
        return found.pop()
    if found:
        raise InvalidInput(
            f"--forbidden {text!r} can be read in {len(found)} ways. Quote the names, such as '\"a:b\":c'."
        )
    raise InvalidInput(
        f"--forbidden must be VALUE:OUTCOME, both of them values of the prior ({', '.join(named)}). Got {text!r} "
        "instead."
    )


def _shares(texts: list[str], named: dict[str, Any]) -> Any:
    """Return the shares of --keep-at-least, by value or for all values."""
    shares = {}
    for text in texts:
        name, sign, share = text.rpartition("=")
        if not sign:
            if len(texts) > 1:
                raise InvalidInput(
                    "--keep-at-least takes one probability for all values, or VALUE=PROBABILITY for each. Got "
                    f"{' and '.join(texts)}."
                )
            return number(text, "--keep-at-least")
        if name not in named:
            (name,) = [*_names(name, "--keep-at-least"), ""][:1]
        if name not in named:
            raise InvalidInput(
                f"--keep-at-least names {name!r}, which is not a value of the prior. Its values are {', '.join(named)}."
            )
        shares[named[name]] = number(share, "--keep-at-least")
    return shares
