"""CSV files that contain a matrix, a distribution, or a table: read as text, numbers kept exact."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from leakwise.documents.csv_matrix import Row, exact_value, filled_rows, is_number, read_rows
from leakwise.errors import InvalidInput, did_you_mean, some_of

__all__ = ["exists", "is_json", "read_column", "read_distribution"]

_COUNT_WORDS = {"count", "counts", "n", "number", "frequency", "rows", "weight", "weights"}


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


# ----------------------------------------------------------------------------------------------- a distribution


def read_distribution(path: Path) -> tuple[Row, list[Any], bool]:
    """Return labels, values, and whether the values are counts, from rows of ``label,probability`` or ``label,count``.

    A header that says count decides; otherwise whole numbers that sum to more than 1 are counts.
    """
    rows = filled_rows(path)
    name = repr(str(path))
    if any(len(row) != 2 for row in rows):
        raise InvalidInput(f"{name} must have two columns: label,probability or label,count.")
    head = None if is_number(rows[0][1]) else rows[0]
    body = rows if head is None else rows[1:]
    values = [exact_value(cell) for _, cell in body]
    bad = [cell for (_, cell), value in zip(body, values, strict=True) if value is None]
    if bad or not body:
        raise InvalidInput(f"The second column of {name} must contain finite numbers. Got {some_of(bad) or 'none'}.")
    numbers = [value for value in values if value is not None]
    whole = all(value.denominator == 1 for value in numbers)
    counts = (head is not None and head[1].lower() in _COUNT_WORDS) or (whole and sum(numbers) > 1)
    return [text for text, _ in body], [v.numerator if whole else v for v in numbers], counts


# ------------------------------------------------------------------------------------------------------ a table


def read_column(path: Path, column: str) -> Row:
    """Return the cells of a named column; an empty one is kept, as a missing value."""
    rows = read_rows(path)
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
