"""CSV files that contain a matrix, a distribution, or a table: read as text, numbers kept exact."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from leakwise.errors import InvalidInput, did_you_mean, some_of
from leakwise.exact import exact_fraction

__all__ = ["exists", "is_json", "read_column", "read_distribution", "read_labelled_matrix"]

Row = list[str]

_COUNT_WORDS = {"count", "counts", "n", "number", "frequency", "rows", "weight", "weights"}
_CLOSE = Fraction(1, 10**9)


def exists(path: Path) -> bool:
    """Return whether a file exists; a text that cannot be a path is not one."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def is_json(path: Path) -> bool:
    """Return whether a file begins like JSON: what Leakwise saves does, a CSV never."""
    with path.open("rb") as stream:
        return stream.read(64).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{")


def _rows(path: Path) -> list[Row]:
    try:
        # utf-8-sig: spreadsheets begin their files with a byte-order mark.
        with path.open(newline="", encoding="utf-8-sig") as stream:
            rows = [[cell.strip() for cell in row] for row in csv.reader(stream, strict=True)]
    except OSError as error:
        raise InvalidInput(f"Cannot read {str(path)!r}: {error.strerror}.") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise InvalidInput(f"{str(path)!r} is not a CSV file in UTF-8: {error}.") from error
    if not any(any(row) for row in rows):
        raise InvalidInput(f"{str(path)!r} is empty.")
    return rows


def _filled_rows(path: Path) -> list[Row]:
    """Return the rows that are not blank: spreadsheets end their files with rows of commas."""
    return [row for row in _rows(path) if any(row)]


def _value(cell: str) -> Fraction | None:
    """Return the exact number in a cell, or None for a text ('nan' and 'inf' are texts)."""
    try:
        return exact_fraction(cell, "cell")
    except InvalidInput:
        return None


def _is_number(cell: str) -> bool:
    return cell.lower().lstrip("+-") in ("nan", "inf", "infinity") or _value(cell) is not None


# ----------------------------------------------------------------------------------------------------- a matrix


def read_labelled_matrix(path: Path) -> tuple[list[list[Any]], Row | None, Row | None]:
    """Return a matrix, the labels of its rows and those of its columns, as far as it has them.

    The first row contains labels when a cell after its first is not a number, or when its first cell is empty; the
    first column when it contains a text, or when the rows sum to 1 without it and not with it.
    """
    rows = _filled_rows(path)
    name = repr(str(path))
    first = rows[0]
    header = first[0] == "" or any(not _is_number(cell) for cell in first[1:])
    body = rows[1:] if header else rows
    if not body:
        raise InvalidInput(f"{name} has a row of labels but no row of numbers.")
    # A corner cell may be left out altogether, as R does.
    shorter = header and all(len(row) == len(first) + 1 for row in body)
    width = len(body[0])
    uneven = [place for place, row in enumerate(body, 1 + header) if len(row) != width]
    if uneven or (header and len(first) != width - shorter):
        raise InvalidInput(f"The rows of {name} must all have the same length. Rows {some_of(uneven or [1])} do not.")
    labelled = shorter or (header and first[0] == "") or _first_column_is_labels(body)
    columns = first if shorter else first[1:] if labelled else first
    cells = [row[1:] if labelled else row for row in body]
    if not cells[0]:
        raise InvalidInput(f"{name} has labels but no numbers.")
    for place, row in enumerate(cells, 1 + header):
        bad = [cell for cell in row if not _is_number(cell)]
        if bad:
            raise InvalidInput(f"{name} must contain only numbers besides its labels. Row {place} has {some_of(bad)}.")
    inputs = [row[0] for row in body] if labelled else None
    return _exact_or_float(cells), inputs, columns if header else None


def _first_column_is_labels(body: Sequence[Row]) -> bool:
    if len(body[0]) < 2:
        return False
    if any(not _is_number(row[0]) for row in body):
        return True
    with_it = all(_sums_to_one(row) for row in body)
    return not with_it and all(_sums_to_one(row[1:]) for row in body)


def _sums_to_one(cells: Row) -> bool:
    values = [value for value in map(_value, cells) if value is not None]
    return len(values) == len(cells) and abs(sum(values, Fraction(-1))) <= _CLOSE


def _exact_or_float(cells: list[Row]) -> list[list[Any]]:
    """Return decimals exactly where every row sums to exactly 1, else floats, which may miss 1 by 1e-9."""
    exact = [[_value(cell) for cell in row] for row in cells]
    if all(None not in row and sum(v for v in row if v is not None) == 1 for row in exact):
        return exact
    return [
        [float(text) if value is None else float(value) for value, text in zip(values, texts, strict=True)]
        for values, texts in zip(exact, cells, strict=True)
    ]


# ----------------------------------------------------------------------------------------------- a distribution


def read_distribution(path: Path) -> tuple[Row, list[Any], bool]:
    """Return labels, values, and whether the values are counts, from rows of ``label,probability`` or ``label,count``.

    A header that says count decides; without one, whole numbers are counts.
    """
    rows = _filled_rows(path)
    name = repr(str(path))
    if any(len(row) != 2 for row in rows):
        raise InvalidInput(f"{name} must have two columns: label,probability or label,count.")
    head = None if _is_number(rows[0][1]) else rows[0]
    body = rows if head is None else rows[1:]
    values = [_value(cell) for _, cell in body]
    bad = [cell for (_, cell), value in zip(body, values, strict=True) if value is None]
    if bad or not body:
        raise InvalidInput(f"The second column of {name} must contain finite numbers. Got {some_of(bad) or 'none'}.")
    numbers = [value for value in values if value is not None]
    whole = all(value.denominator == 1 for value in numbers)
    counts = head[1].lower() in _COUNT_WORDS if head is not None else whole
    return [text for text, _ in body], [v.numerator if whole else v for v in numbers], counts or whole


# ------------------------------------------------------------------------------------------------------ a table


def read_column(path: Path, column: str) -> Row:
    """Return the cells of a named column; an empty one is kept, as a missing value."""
    rows = _rows(path)
    while not rows[-1]:
        rows.pop()
    head = rows[0]
    # A blank line is a missing value where the table has one column, and nothing at all where it has more.
    rows = [row or [""] for row in rows] if len(head) == 1 else [row for row in rows if row]
    if head.count(column) != 1:
        problem = "more than one column" if column in head else "no column"
        raise InvalidInput(
            f"{str(path)!r} has {problem} {column!r}. Its columns are {some_of(head, 12)}.{did_you_mean(column, head)}"
        )
    place = head.index(column)
    short = [number for number, row in enumerate(rows[1:], 2) if len(row) != len(head)]
    if short:
        raise InvalidInput(f"Rows {some_of(short)} of {str(path)!r} do not have {len(head)} cells, as its header has.")
    return [row[place] for row in rows[1:]]
