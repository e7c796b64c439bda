"""Checked, JSON-safe data: what may enter a chart, and how it is named there."""

from __future__ import annotations

import math
import numbers
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from leakwise.errors import InvalidInput

__all__ = ["column", "display_width", "matrix", "names", "plain", "printable", "real", "same_length"]

# Joiners stay: they hold emoji and several scripts together, and cannot reorder or break a line.
_KEPT_FORMATS = "\u200c\u200d"
_ESCAPED_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Cn", "Zl", "Zp"})


def printable(value: object) -> str:
    r"""Return the text of a label with control, bidi and undefined characters written as escapes.

    A raw control character would break a table line, colour a terminal, or make an SVG that is not XML.

    >>> printable("two\nlines")
    'two\\nlines'
    """
    text = str(value)
    if text.isprintable():
        return text
    return "".join(
        character.encode("unicode_escape").decode("ascii")
        if unicodedata.category(character) in _ESCAPED_CATEGORIES and character not in _KEPT_FORMATS
        else character
        for character in text
    )


def display_width(text: str) -> int:
    """Return how many monospaced cells a text takes: wide East Asian letters two, combining marks none.

    >>> display_width("abc"), display_width("日本"), display_width("e\u0301")
    (3, 4, 1)
    """
    if text.isascii():
        return len(text)
    width = 0
    for character in text:
        if unicodedata.category(character) in ("Mn", "Me", "Cf"):
            continue
        width += 2 if unicodedata.east_asian_width(character) in "WF" else 1
    return width


def names(labels: Iterable[object], argument: str) -> list[str]:
    """Return labels as distinct texts; a repeated one gets its number, so that no two marks share a place.

    >>> names([1, "1", "a"], "labels")
    ['1', '1 (2)', 'a']
    """
    if isinstance(labels, str | bytes):
        raise InvalidInput(f"{argument} must be a sequence of labels. Got the single text {labels!r} instead.")
    texts = [printable(label) for label in labels]
    if not texts:
        raise InvalidInput(f"{argument} is empty. A chart needs at least one label.")
    taken = set(texts)
    seen: dict[str, int] = {}
    result = []
    for text in texts:
        count = seen[text] = seen.get(text, 0) + 1
        candidate = text
        while count > 1 and (candidate := f"{text} ({count})") in taken:
            count += 1
        seen[text] = count
        taken.add(candidate)
        result.append(candidate)
    return result


def real(value: object, argument: str, note: str | None) -> float | None:
    """Return one finite number as a Python float; ``None`` stays ``None`` where a note says what it stands for."""
    if value is None:
        if note is None:
            raise InvalidInput(
                f"{argument} contains None and no note explains it. Pass note=..., for instance "
                "note='Outcomes without a bar have infinite leakage.'"
            )
        return None
    if isinstance(value, bool | np.bool_) or not hasattr(value, "__float__"):
        raise InvalidInput(f"{argument} must hold numbers. Got {value!r} instead.")
    try:
        result = float(value)
    except (OverflowError, TypeError, ValueError) as error:
        raise InvalidInput(f"{argument} must hold numbers that fit a float. Got {value!r} instead.") from error
    if not math.isfinite(result):
        raise InvalidInput(
            f"{argument} contains {result}, which a chart cannot draw. Pass None in its place together with "
            "note=... that says what is missing."
        )
    return result


def column(values: Iterable[object], argument: str, note: str | None = None) -> list[float | None]:
    """Return a list of finite floats, or of None where a note explains it."""
    if isinstance(values, np.ndarray) and values.ndim != 1:
        raise InvalidInput(f"{argument} must have one dimension. Got an array of shape {values.shape} instead.")
    return [real(value, argument, note) for value in values]


def matrix(values: Any, rows: int, columns: int, note: str | None = None) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return a ``rows × columns`` float array; NaN marks an entry given as None (never one given as NaN)."""
    table = [column(row, "values", note) for row in values]
    if len(table) != rows or any(len(row) != columns for row in table):
        widths = sorted({len(row) for row in table})
        raise InvalidInput(
            f"values must have {rows} rows of {columns} entries, one for each label. "
            f"Got {len(table)} rows of {' or '.join(map(str, widths)) or '0'} entries instead."
        )
    return np.array([[math.nan if v is None else v for v in row] for row in table], dtype=np.float64)


def same_length(expected: int, what: str, **columns: Sequence[object]) -> None:
    """Refuse columns that do not have one entry for each label."""
    for argument, values in columns.items():
        if len(values) != expected:
            raise InvalidInput(
                f"{argument} must have one entry for each of the {expected} {what}. Got {len(values)} instead."
            )


def plain(value: Any, where: str = "spec") -> Any:
    """Return a copy that JSON can hold: numpy scalars and arrays become Python's own, NaN and infinity are refused.

    >>> plain({"a": np.float64(0.5), "b": (np.int64(2), None)})
    {'a': 0.5, 'b': [2, None]}
    """
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        return real(value, where, None)
    if isinstance(value, np.ndarray):
        return plain(value.tolist(), where)
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise InvalidInput(f"The keys of {where} must be texts. Got {key!r} instead.")
        return {str(key): plain(entry, f"{where}[{key!r}]") for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [plain(entry, f"{where}[{index}]") for index, entry in enumerate(value)]
    raise InvalidInput(f"{where} holds a {type(value).__name__}, which JSON cannot. Convert it to numbers and texts.")
