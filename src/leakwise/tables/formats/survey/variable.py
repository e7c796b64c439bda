"""A variable of a Stata or SPSS file: its codes, what they are labelled, and which of them stand for a missing value.

Values are shown as the file has them: numbers and texts, dates where the format of the variable says so, ``".a"`` to
``".z"`` for the extended missing values of Stata, None for the one that has no name. A domain may name a value by its
code or by its label.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from leakwise.alphabet import Alphabet
from leakwise.errors import InvalidInput, some_of

__all__ = ["TAGS", "Stored", "Variable", "number_text"]

TAGS = frozenset(f".{chr(letter)}" for letter in range(ord("a"), ord("z") + 1))
"""The extended missing values of Stata."""

# The longest label of a value that the format has room for, in bytes.
_LONGEST = {"sav": 120, "dta": 32_000}
# New codes are looked for below this number.
_MOST = 1 << 20


@dataclass(frozen=True)
class Clock:
    """How a format counts time: from when, how many microseconds a unit has, and whether it shows dates only."""

    origin: datetime.datetime
    unit: int
    dates: bool

    def shown(self, raw: float) -> datetime.date:
        """Return the date or the time that a number stands for; what the format does not show is cut off."""
        whole = math.floor(raw)
        # Seconds since 1582 are known to about two microseconds.
        rest = 10 * round((raw - whole) * self.unit / 10)
        moment = self.origin + datetime.timedelta(microseconds=whole * self.unit + rest)
        return moment.date() if self.dates else moment

    def raw(self, shown: datetime.date) -> float:
        """Return the number that stands for a date or a time."""
        if not isinstance(shown, datetime.datetime):
            shown = datetime.datetime.combine(shown, datetime.time())
        return (shown - self.origin) // datetime.timedelta(microseconds=1) / self.unit


@dataclass(frozen=True)
class Stored:
    """How the outcomes of a column are written: the code of each, and the labels of the codes."""

    codes: list[Any]
    labels: dict[Any, str]
    format: str | None
    missing: list[Any]


@dataclass(frozen=True)
class Variable:
    """What the file says about one of its columns."""

    name: str
    kind: str
    """``"text"``, ``"whole"`` or ``"number"``."""
    labels: Mapping[Any, str] = field(default_factory=dict)
    missing: Sequence[tuple[Any, Any]] = ()
    """What the user of SPSS declared to be missing: each from one value to another, both included."""
    clock: Clock | None = None
    title: str | None = None
    format: str | None = None
    measure: str | None = None
    width: int | None = None
    ending: str = "dta"
    tagged: bool = False
    """Whether extended missing values of Stata occur in it: numbers are then shown as texts beside them."""

    def shown(self, value: Any) -> Any:
        """Return a value as other kinds of files have it: dates as dates, texts where some are extended missing."""
        if self.kind == "text" or value is None or value in TAGS:
            return value
        if self.clock is not None:
            found = self._exact_date(value)
            return found.isoformat() if self.tagged else found
        return number_text(value) if self.tagged else _whole(value)

    def _exact_date(self, value: float) -> datetime.date:
        assert self.clock is not None
        shown = self.date(value)
        if self.clock.raw(shown) != value:
            what = "time of day" if self.clock.dates else "part of a millisecond"
            raise InvalidInput(
                f"Column {self.name!r} has the format {self.format!r}, and a value with a {what} that it does not "
                "show. Round it first, or give it another format."
            )
        return shown

    def date(self, value: float) -> datetime.date:
        """Return the date or time of a number."""
        assert self.clock is not None
        try:
            return self.clock.shown(value)
        except OverflowError:
            raise InvalidInput(
                f"Column {self.name!r} has the format {self.format!r}, and a value that is not a date: {value!r}."
            ) from None

    def is_missing(self, value: Any) -> bool:
        """Return whether a value stands for a missing one, whichever of them."""
        if value is None or (self.kind != "text" and value in TAGS):
            return True
        return any(low <= value <= high for low, high in self.missing)

    # -- what a domain names ------------------------------------------------------------------------------------

    def named(self, letters: Alphabet) -> Alphabet:
        """Return the values that letters name, as they are shown."""
        keys = self.keys(letters)
        return Alphabet([self._of_key(key) for key in keys]) if self.tagged else Alphabet(keys)

    def _of_key(self, key: Any) -> Any:
        if isinstance(key, datetime.date):
            return key.isoformat()
        return number_text(key) if isinstance(key, int | float) and not isinstance(key, bool) else key

    def has_labels(self, letters: Alphabet) -> bool:
        """Return whether every letter is the label of a value, or the variable has nothing but texts."""
        texts = set(self.labels.values())
        return self.kind == "text" or all(letter is None or letter in texts for letter in letters)

    def keys(self, letters: Alphabet) -> list[Any]:
        """Return the value that each letter names, by its code or by its label; the letter itself where it is neither.

        A text that names two values, and two letters that name one, are refused.
        """
        found = [self._key(letter) for letter in letters]
        known: dict[Any, Any] = {}
        for letter, key in zip(letters, found, strict=True):
            if key in known:
                raise InvalidInput(
                    f"{known[key]!r} and {letter!r} are one value of column {self.name!r}. Name it once, by its code "
                    "or by its label."
                )
            known[key] = letter
        return found

    def _key(self, letter: Any) -> Any:
        if not isinstance(letter, str) or (self.kind != "text" and letter in TAGS):
            return letter
        code = self._code(letter)
        named = [one for one, text in self.labels.items() if text == letter and one != code]
        if code is not None:
            named.insert(0, code)
        if len(named) > 1:
            raise InvalidInput(
                f"{letter!r} can be several values of column {self.name!r}: {some_of(named)}, by their codes or by "
                "their labels. Name the values of its domain by codes that are no labels: "
                f"{some_of([one for one in self.labels if str(one) != letter])}."
            )
        return named[0] if named else letter

    def _code(self, text: str) -> Any:
        """The code that a text is; None where it is a label, or nothing that is known."""
        if self.kind == "text":
            return text if text in self.labels or text not in self.labels.values() else None
        try:
            number = float(text)
        except ValueError:
            return None
        return number if math.isfinite(number) and self.clock is None else None

    # -- what is written ----------------------------------------------------------------------------------------

    def stored(self, outcomes: Sequence[Any]) -> Stored:
        """Return how outcomes are written: those that are values of the file as they are, others as new codes.

        It depends on the outcomes and on what the file says of its codes, and never on the rows.
        """
        keys = self.keys(Alphabet(outcomes))
        if self.kind == "text":
            return self._texts(keys)
        codes = [self._number(key) for key in keys]
        used = {code for code in codes if code is not None}
        taken = used | set(self.labels)
        fresh = (number for number in range(1, _MOST) if number not in taken and not self.is_missing(number))
        labels = {code: self.labels[code] for code in used if code in self.labels}
        for place, (key, code) in enumerate(zip(keys, codes, strict=True)):
            if code is None and key is not None:
                if (new := next(fresh, None)) is None:
                    raise InvalidInput(
                        f"Column {self.name!r} has no code left for the outcome {key!r}: its missing values are "
                        f"{some_of(self.missing)}. Write another kind of file."
                    )
                codes[place], labels[new] = new, _label(key, self.name, self.ending)
        dated = self.clock is not None and all(isinstance(key, datetime.date | None) for key in keys)
        return Stored(codes, labels, self.format if dated else None, self._kept_missing(codes))

    def _number(self, key: Any) -> Any:
        """The code of an outcome that is a number, a date or a missing value; None where it needs a new one."""
        if isinstance(key, str) and key in TAGS:
            return key
        if self.clock is not None and isinstance(key, datetime.date):
            return self.clock.raw(key)
        if isinstance(key, bool):
            return int(key)
        return key if isinstance(key, int | float) and abs(key) < 2**53 else None

    def _texts(self, keys: Sequence[Any]) -> Stored:
        texts = ["" if key is None else str(key) for key in keys]
        if len(set(texts)) < len(texts):
            raise InvalidInput(
                f"The outcomes {some_of(keys)} of column {self.name!r} would be written alike. Name them apart: "
                "Mechanism(..., outputs=[...])."
            )
        labels = {text: self.labels[text] for text in texts if text in self.labels}
        return Stored(list(texts), labels, None, self._kept_missing(texts))

    def _kept_missing(self, codes: Sequence[Any]) -> list[Any]:
        """What was declared missing among the codes that can occur."""
        known = [code for code in codes if code is not None and code not in TAGS]
        return [one for one in self.missing if any(one[0] <= code <= one[1] for code in known)]


def _label(key: Any, name: str, ending: str) -> str:
    text = str(key)
    if len(text.encode()) > _LONGEST[ending]:
        raise InvalidInput(
            f"The outcome {text!r} of column {name!r} is longer than the label of a value can be in a .{ending} file "
            f"({_LONGEST[ending]} bytes). Name the outcomes by shorter texts (--outcome), or write another kind of "
            "file."
        )
    return text


def number_text(number: float) -> str:
    """Return a number as text, from which the very same number can be read.

    >>> number_text(2.0), number_text(0.1)
    ('2', '0.1')
    """
    return repr(_whole(number))


def _whole(number: float) -> float:
    """A number without a point where it is whole: SPSS has no others."""
    return int(number) if float(number).is_integer() and abs(number) < 2**53 else number
