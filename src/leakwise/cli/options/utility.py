"""What a mechanism is to be good for, by name or as a matrix."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from leakwise.cli.options import csv_files
from leakwise.cli.options.typed import label
from leakwise.documents.csv_matrix import read_labelled_matrix
from leakwise.errors import InvalidInput

if TYPE_CHECKING:
    from leakwise.priors import Prior

__all__ = ["UtilityMatrixOption", "UtilityOption", "read_utility"]

UtilityOption = Annotated[
    str | None,
    typer.Option(
        "--utility",
        "-u",
        metavar="NAME",
        help="mutual_information, total_variation, chi_square, hellinger, guessing or frequencies [default: "
        "mutual_information].",
    ),
]
UtilityMatrixOption = Annotated[
    Path | None,
    typer.Option(
        "--utility-matrix",
        metavar="FILE",
        help="Instead of --utility: a CSV of what each outcome (column) is worth for each value (row); labels in the "
        "first row and column, or plain numbers.",
    ),
]


def read_utility(name: str | None, matrix: Path | None, prior: Prior) -> Any:
    """Return the utility that the options name, its rows in the order of the prior's values."""
    if matrix is None:
        return name or "mutual_information"
    if name is not None:
        raise InvalidInput(f"Give either --utility or --utility-matrix. Got {name!r} and {str(matrix)!r}.")
    from leakwise.optimize import Expected

    if not csv_files.exists(matrix):
        raise InvalidInput(f"--utility-matrix: there is no file {str(matrix)!r}.")
    values, letters, outputs = read_labelled_matrix(matrix)
    rows = [[float(cell) for cell in row] for row in values]
    names = None if outputs is None else [label(word) for word in outputs]
    if letters is not None:
        places = {word: place for place, word in enumerate(letters)}
        missing = [str(letter) for letter in prior.labels if str(letter) not in places]
        if missing or len(places) != len(prior):
            raise InvalidInput(
                f"--utility-matrix must have one row for each value of the prior. It has rows for "
                f"{', '.join(places)}; the values are {', '.join(map(str, prior.labels))}."
            )
        rows = [rows[places[str(letter)]] for letter in prior.labels]
    return Expected(rows, outputs=names)
