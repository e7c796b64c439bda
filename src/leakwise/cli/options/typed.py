"""What is typed between commas: names, quoted or not, and exact numbers.

A text that reads as a whole number is taken as that number wherever it names a value, so that ``0=0.5,1=0.5`` and a
file with numbered values agree.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from leakwise.errors import InvalidInput

if TYPE_CHECKING:
    from leakwise.alphabet import Label

__all__ = ["is_number", "is_whole", "label", "number", "number_if_given", "typed_words", "whole"]

_WHOLE = re.compile(r"-?(0|[1-9][0-9]*)", re.ASCII)
# A name in double quotes (and, in a prior, its number), or all up to the next comma.
_WORD = re.compile(r'\s*"((?:[^"]|"")*)"\s*(=[^,]*)?(?=,|\Z)|[^,]*')


def is_whole(text: str) -> bool:
    """Return whether a text reads as a whole number."""
    return _WHOLE.fullmatch(text.strip()) is not None


def label(text: str) -> Label:
    """Return a value as typed: a whole number where it reads as one; a missing one where nothing is typed."""
    word = text.strip()
    return int(word) if is_whole(word) else word or None


def typed_words(text: str) -> Iterator[tuple[str | None, str]]:
    """Yield what is written between commas: a name in double quotes, or None, and the text after it.

    A quoted name may contain commas; ``""`` in it is one quote, as in CSV.
    """
    place = 0
    while place <= len(text):
        found = _WORD.match(text, place)
        assert found is not None  # its second way matches everything
        yield (None, found[0].strip()) if found[1] is None else (found[1].replace('""', '"'), found[2] or "")
        place = found.end() + 1


def number(text: str, name: str) -> int | Fraction:
    """Return a number as typed, exact: 3, 0.25, 1/3."""
    from leakwise.exact import exact_fraction

    value = exact_fraction(text, name)
    return value.numerator if is_whole(text) else _Typed(value)


class _Typed(Fraction):
    """A number that messages show as people write it: 1.5, or 1/3."""

    __slots__ = ()

    def __repr__(self) -> str:
        try:
            near = f"{float(self):.15g}"
        except OverflowError:
            return str(self)
        return near if Fraction(near) == self else str(self)


def number_if_given(text: str | None, name: str) -> Any:
    """Return a number as typed, and None where nothing was."""
    return None if text is None else number(text, name)


def is_number(text: str) -> bool:
    """Return whether a text reads as a number."""
    try:
        number(text, "number")
    except InvalidInput:
        return False
    return True


def whole(text: str, name: str) -> int:
    """Return a whole number as typed."""
    if not is_whole(text):
        raise InvalidInput(f"{name} must be a whole number. Got {text!r} instead.")
    return int(text)
