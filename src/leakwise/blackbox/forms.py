"""Answers as they are: when two of them are the same to someone who sees them, not only equal.

Python calls 0.0 and -0.0 equal, 1 and True, 1 and Decimal("1.00"). Whoever counts such answers as one has put different
answers together: a post-processing, which may hide everything that the program gives away.
"""

from __future__ import annotations

import datetime
import enum
import struct
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

__all__ = ["Forms", "form"]

_BY_VALUE = (str, bytes, int, bool, type(None), datetime.date, datetime.timedelta)
_BY_PARTS: dict[type, Callable[[Any], tuple[Any, ...] | None]] = {
    float: lambda value: (struct.pack("<d", value),),
    complex: lambda value: (struct.pack("<dd", value.real, value.imag),),
    Decimal: lambda value: tuple(value.as_tuple()),
    Fraction: lambda value: (value.numerator, value.denominator),
    datetime.datetime: lambda value: (value.isoformat(), value.fold) if value.tzinfo is None else None,
    datetime.time: lambda value: (value.isoformat(), value.fold) if value.tzinfo is None else None,
}


def form(answer: Any) -> tuple[Any, ...] | None:
    """All that can be seen of an answer: its type and every bit of its value; None for types known by equality only.

    >>> form(0.0) == form(-0.0), form(1) == form(True), form((1, "a")) == form((1, "a"))
    (False, False, True)
    """
    kind = type(answer)
    if kind in _BY_VALUE:
        return (kind, answer)
    if kind in _BY_PARTS:
        parts = _BY_PARTS[kind](answer)
        return None if parts is None else (kind, *parts)
    if kind in (tuple, list):
        inner = tuple(form(part) for part in answer)
        return None if None in inner else (kind, inner)
    if isinstance(answer, enum.Enum):
        return (kind, answer.name)
    if kind is np.ndarray or isinstance(answer, np.generic):
        return None if answer.dtype.hasobject else (kind, answer.dtype.str, answer.shape, answer.tobytes())
    return None


class Forms:
    """Which answers each outcome has stood for so far, and whether any of them differ.

    ``merged`` is None, or says in words what was counted as one.
    """

    def __init__(self, what: str) -> None:
        self.what = what
        self.merged: str | None = None
        self._first: dict[int, tuple[tuple[Any, ...], Any]] = {}

    def note(self, place: int, answer: Any) -> None:
        """Take down that the outcome at a place stood for this answer."""
        here = form(answer)
        if here is None:
            self.merged = f"{self.what} of type {type(answer).__name__} can only be compared by their own equality"
            return
        first = self._first.setdefault(place, (here, answer))
        if first[0] != here:
            told = " and ".join(f"{value!r} ({type(value).__name__})" for value in (first[1], answer))
            self.merged = f"{self.what} that differ were counted as one: {told}"
