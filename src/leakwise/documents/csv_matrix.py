"""A matrix from a CSV file, with the labels it has: read as text, numbers kept exact."""

from __future__ import annotations

import csv
import os
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from leakwise.errors import InvalidInput, some_of
from leakwise.exact import exact_fraction

__all__ = ["Row", "exact_value", "filled_rows", "is_number", "read_labelled_matrix", "read_matrix", "read_rows"]

Row = list[str]

_CLOSE = Fraction(1, 10**9)


def read_rows(path: str | os.PathLike[str]) -> list[Row]:
    """Return the cells of a CSV file as texts; an empty file is an error."""
    try:
        # utf-8-sig: spreadsheets begin their files with a byte-order mark.
        with open(path, newline="", encoding="utf-8-sig") as stream:
            rows = [[cell.strip() for cell in row] for row in csv.reader(stream, strict=True)]
    except OSError as error:
        raise InvalidInput(f"Cannot read {str(path)!r}: {error.strerror}.") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise InvalidInput(f"{str(path)!r} is not a CSV file in UTF-8: {error}.") from error
    if not any(any(row) for row in rows):
        raise InvalidInput(f"{str(path)!r} is empty.")
    return rows


def filled_rows(path: str | os.PathLike[str]) -> list[Row]:
    """Return the rows that are not blank: spreadsheets end their files with rows of commas."""
    return [row for row in read_rows(path) if any(row)]


def exact_value(cell: str) -> Fraction | None:
    """Return the exact number in a cell, or None for a text ('nan' and 'inf' are texts)."""
    try:
        return exact_fraction(cell, "cell")
    except InvalidInput:
        return None


def is_number(cell: str) -> bool:
    """Return whether a cell is a number, 'nan' and 'inf' among them."""
    return cell.lower().lstrip("+-") in ("nan", "inf", "infinity") or exact_value(cell) is not None


def read_labelled_matrix(path: str | os.PathLike[str]) -> tuple[list[list[Any]], Row | None, Row | None]:
    """Return a matrix, the labels of its rows and those of its columns, as far as it has them.

    The first row contains labels when a cell after its first is not a number, or when its first cell is empty; the
    first column when it contains a text, or when the rows sum to 1 without it and not with it.
    """
    cells, inputs, outputs = read_matrix(path)
    for place, row in enumerate(cells, 1 + (outputs is not None)):
        bad = [cell for cell in row if not is_number(cell)]
        if bad:
            raise InvalidInput(
                f"{str(path)!r} must contain only numbers besides its labels. Row {place} has {some_of(bad)}."
            )
    return _exact_or_float(cells), inputs, outputs


def read_matrix(path: str | os.PathLike[str], *, labelled: bool = False) -> tuple[list[Row], Row | None, Row | None]:
    """Do as :func:`read_labelled_matrix`, with the cells as texts; ``labelled`` where both sides have labels."""
    rows = filled_rows(path)
    name = repr(str(path))
    first = rows[0]
    header = labelled or first[0] == "" or any(not is_number(cell) for cell in first[1:])
    body = rows[1:] if header else rows
    if not body:
        raise InvalidInput(f"{name} has a row of labels but no row of numbers.")
    # A corner cell may be left out altogether, as R does.
    shorter = header and all(len(row) == len(first) + 1 for row in body)
    width = len(body[0])
    uneven = [place for place, row in enumerate(body, 1 + header) if len(row) != width]
    if uneven or (header and len(first) != width - shorter):
        raise InvalidInput(f"The rows of {name} must all have the same length. Rows {some_of(uneven or [1])} do not.")
    sided = labelled or shorter or (header and first[0] == "") or _first_column_is_labels(body)
    columns = first if shorter else first[1:] if sided else first
    cells = [row[1:] if sided else row for row in body]
    if not cells[0]:
        raise InvalidInput(
            f"{name} has labels but no numbers. Columns have theirs in the first row, a row has its own at its start."
        )
    return cells, [row[0] for row in body] if sided else None, columns if header else None


def _first_column_is_labels(body: Sequence[Row]) -> bool:
    if len(body[0]) < 2:
        return False
    if any(not is_number(row[0]) for row in body):
        return True
    with_it = all(_sums_to_one(row) for row in body)
    return not with_it and all(_sums_to_one(row[1:]) for row in body)


def _sums_to_one(cells: Row) -> bool:
    values = [value for value in map(exact_value, cells) if value is not None]
    return len(values) == len(cells) and abs(sum(values, Fraction(-1))) <= _CLOSE


def _exact_or_float(cells: list[Row]) -> list[list[Any]]:
    """Return decimals exactly where every row sums to exactly 1, else floats, which may miss 1 by 1e-9."""
    exact = [[exact_value(cell) for cell in row] for row in cells]
    if all(None not in row and sum(v for v in row if v is not None) == 1 for row in exact):
        return exact
    return [
        [float(text) if value is None else float(value) for value, text in zip(values, texts, strict=True)]
        for values, texts in zip(exact, cells, strict=True)
    ]
