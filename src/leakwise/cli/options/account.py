"""What is typed for the ledger of a release: whose data it is, and which columns are outcomes of earlier releases."""

from __future__ import annotations

from typing import Annotated

import typer

from leakwise.errors import InvalidInput

__all__ = ["KeyOption", "NewPeopleOption", "OutcomeOption", "SameAsOption", "read_outcomes"]

KeyOption = Annotated[
    str | None,
    typer.Option(
        "--key",
        metavar="NAME",
        help="With --ledger: the column that tells people apart. The same people in data of another name are asked "
        "about.",
    ),
]
SameAsOption = Annotated[
    str | None,
    typer.Option("--same-as", metavar="DATASET", help="The data is that of DATASET in the ledger, and counts with it."),
]
NewPeopleOption = Annotated[
    bool, typer.Option("--new-people", help="The keys are those of other data, but the people are not the same.")
]
OutcomeOption = Annotated[
    list[str] | None,
    typer.Option(
        "--outcome",
        metavar="NAME=ENTRY",
        help="The --given column NAME contains the outcomes of entry ENTRY of the ledger: beside all earlier outcomes "
        "a release adds its own lift.",
    ),
]


def read_outcomes(words: list[str] | None) -> dict[str, int] | None:
    """Return the given columns that contain outcomes, with the numbers of the entries.

    >>> read_outcomes(["first=3"])
    {'first': 3}
    """
    found: dict[str, int] = {}
    for one in words or ():
        name, equals, entry = one.rpartition("=")
        if not (name and equals and entry.isdecimal()):
            raise InvalidInput(f"--outcome must be NAME=ENTRY, a given column and the number of an entry. Got {one!r}.")
        found[name] = int(entry)
    return found or None
