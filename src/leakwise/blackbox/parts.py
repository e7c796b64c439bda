"""An answer as a row of numbers: the entries of a list, the bits of a whole number, the last binary digit of a float.

Every entry depends on its own answer alone. So whatever is read off the rows is a post-processing of the program, which
leaks no more than the program does.
"""

from __future__ import annotations

import datetime
import json
import math
import zlib
from collections.abc import Hashable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from leakwise.alphabet.labels import plain_value
from leakwise.types import Floats

__all__ = ["Parts"]

MOST_PARTS = 256
FIRST_CODE = -1e200  # of texts and the like, which stand for themselves among the numbers
FEW = 4  # parts of which the last binary digit is a column of its own
_NUMBERS = (int, float, bool)
_PLAIN = {"b1", "f2", "f4", "f8", *(f"{kind}{size}" for kind in "iu" for size in (1, 2, 4, 8))}


class Parts:
    """Columns learned from some answers; :meth:`read` gives the rows of any others."""

    def __init__(self, answers: Sequence[Any]) -> None:
        split = [_pieces(answer) for answer in answers]
        self.width = min(max((len(one) for one in split), default=0), MOST_PARTS)
        self.lengths = len({len(one) for one in split}) > 1
        pieces = {piece for one in split for piece in one[: self.width] if isinstance(piece, Hashable)}
        self.texts = {_code(piece): str(piece) for piece in pieces if _code(piece) <= FIRST_CODE}
        whole = [one[0] for one in split if len(one) == 1 and type(one[0]) is int and one[0] >= 0]
        self.bits = min(max(whole).bit_length(), 64) if self.width == 1 and len(whole) == len(split) > 0 else 0
        self.digits = self.width if self.width <= FEW and not self.bits else 0
        one = "the answer" if self.width == 1 else "answer[{}]"
        named = [one.format(place) for place in range(self.width)]
        self.names = [
            *named,
            *(f"bit {place} of the answer" for place in range(self.bits)),
            *(f"the exponent of the last binary digit of {name}" for name in named[: self.digits]),
            *(["the length"] if self.lengths else []),
            *(["the sum"] if self.width > 1 else []),
        ]

    def read(self, answers: Sequence[Any]) -> Floats:
        """Return a row for each answer; NaN where it has no such part."""
        parts, lengths = self._entries(answers)
        columns = [parts]
        if self.bits:
            columns.append(np.array([_bits(answer, self.bits) for answer in answers]).reshape(-1, self.bits))
        columns += [_last_digit(parts[:, place])[:, None] for place in range(self.digits)]
        if self.lengths:
            columns.append(lengths[:, None])
        if self.width > 1:
            with np.errstate(all="ignore"):
                columns.append(np.where(parts > FIRST_CODE, parts, 0.0).sum(axis=1)[:, None])
        return np.concatenate(columns, axis=1)

    def value(self, number: float) -> str:
        """The part that a number stands for, in words."""
        if number <= FIRST_CODE:
            return repr(self.texts[number]) if number in self.texts else "a certain text"
        return f"{number:.17g}"

    def _entries(self, answers: Sequence[Any]) -> tuple[Floats, Floats]:
        plain = all(isinstance(one, np.ndarray) and one.dtype.str[1:] in _PLAIN for one in answers) or all(
            type(one) in (list, tuple) and {type(part) for part in one} <= {*_NUMBERS} for one in answers
        )
        if plain and len({np.shape(one) for one in answers}) == 1 and np.ndim(answers[0]) == 1:
            try:
                found = np.array(answers, dtype=np.float64)
            except OverflowError:  # a whole number beyond all floats: entry by entry below
                found = np.zeros((0, 0))
            if found.shape == (len(answers), self.width):
                return found, np.full(len(answers), float(self.width))
        split = [_pieces(answer) for answer in answers]
        rows = np.full((len(answers), self.width), np.nan)
        for row, pieces in zip(rows, split, strict=True):
            some = pieces[: self.width]
            row[: len(some)] = [_code(piece) for piece in some]
        return rows, np.array([len(pieces) for pieces in split], dtype=np.float64)


def _pieces(answer: Any) -> list[Any]:
    """An answer taken apart: lists, arrays and mappings by their entries, a text by its JSON or its characters."""
    if isinstance(answer, np.ndarray):
        answer = answer.tolist()
    if isinstance(answer, dict):
        answer = [answer[key] for key in sorted(answer, key=str)]
    if isinstance(answer, (list, tuple)):
        return [piece for part in answer for piece in (_pieces(part) if not isinstance(part, str) else [part])]
    if isinstance(answer, bytes):
        return np.unpackbits(np.frombuffer(answer[: MOST_PARTS // 8], dtype=np.uint8)).tolist()
    if isinstance(answer, str):
        try:
            read = json.loads(answer)
        except (ValueError, RecursionError):
            return list(answer[:MOST_PARTS])
        return list(answer[:MOST_PARTS]) if isinstance(read, str) else _pieces(read)
    plain = plain_value(answer)
    return [plain]


def _code(piece: Any) -> float:
    """A number as it is; what is none has a negative number of its own, far from those that come."""
    if isinstance(piece, (int, float, Decimal, Fraction)):
        try:
            return float(piece)
        except (OverflowError, ValueError):
            return math.inf
    if isinstance(piece, (str, bytes, datetime.date, datetime.time, datetime.timedelta)):
        return FIRST_CODE * (1 + zlib.crc32(repr(piece).encode()))
    return math.nan  # None, and objects of which only their own equality is known


def _bits(answer: Any, count: int) -> list[float]:
    pieces = _pieces(answer)
    number = pieces[0] if len(pieces) == 1 else None
    if type(number) is not int or number < 0:
        return [math.nan] * count
    return [float(number >> place & 1) for place in range(count)]


def _last_digit(numbers: Floats) -> Floats:
    """The k of an odd number times 2^k: floats that were computed differently end at different places."""
    kept = np.isfinite(numbers) & (numbers != 0)
    mantissa, exponent = np.frexp(np.where(kept, numbers, 1.0))
    whole = np.abs(mantissa * 2.0**53).astype(np.int64)
    return np.where(kept, np.log2((whole & -whole).astype(np.float64)) + exponent - 53, np.nan)
