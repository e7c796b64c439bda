"""Labels: unique, ordered, found by value, stored as plain data."""

from __future__ import annotations

import datetime
import math
import re
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Any, TypeAlias

import numpy as np

from leakwise.errors import InvalidInput, counted, did_you_mean, some_of
from leakwise.types import Indices

__all__ = [
    "MOST_LETTERS",
    "Alphabet",
    "Label",
    "alphabet_from_plain",
    "as_alphabet",
    "code_dtype",
    "is_missing",
    "label_from_plain",
    "label_to_plain",
    "plain_value",
]

Label: TypeAlias = Hashable

MOST_LETTERS = 100_000_000
"""Letters that are only counted, not listed: more would not fit into memory."""


class Alphabet:
    """An ordered set of labels.

    ``declared`` is False when nobody named the letters and they are called 0..N-1: such an alphabet fits any
    other of its size by position; declared labels must agree.
    """

    __slots__ = ("_index", "declared", "labels")

    labels: tuple[Label, ...]
    declared: bool

    def __init__(self, labels: Iterable[Label], *, name: str = "labels", declared: bool = True) -> None:
        if isinstance(labels, (str, bytes)):
            raise InvalidInput(f"{name} must be a list of labels. Got the single text {labels!r} instead.")
        if isinstance(labels, (set, frozenset)):
            raise InvalidInput(f"{name} must have an order, which a set has not. Give a list, such as sorted(...).")
        if isinstance(labels, np.ndarray):
            if labels.ndim != 1:
                raise InvalidInput(f"{name} must have one dimension. Got an array of shape {labels.shape} instead.")
            labels = list(labels)
        self.labels = tuple(_plain_label(label, name) for label in labels)
        self.declared = declared
        if not self.labels:
            raise InvalidInput(f"{name} must hold at least one label. Got none.")
        self._index: dict[Label, int] | None = None
        if declared and len(self.index) < len(self.labels):
            twice = [label for label, count in Counter(self.labels).items() if count > 1]
            raise InvalidInput(f"{name} must be different from each other. Twice or more: {some_of(twice)}.")

    @classmethod
    def numbered(cls, size: int, *, name: str = "labels") -> Alphabet:
        """Return the letters 0..size-1 that nobody named."""
        if isinstance(size, bool) or size < 1:
            raise InvalidInput(f"{name} must count at least one letter. Got {size!r} instead.")
        if size > MOST_LETTERS:
            raise InvalidInput(f"{name} must count at most {MOST_LETTERS:,} letters. Got more.")
        return cls(range(size), name=name, declared=False)

    @property
    def index(self) -> dict[Label, int]:
        """The code of each label."""
        if self._index is None:
            self._index = {label: code for code, label in enumerate(self.labels)}
        return self._index

    def __len__(self) -> int:
        return len(self.labels)

    def __iter__(self) -> Iterator[Label]:
        return iter(self.labels)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Alphabet) and self.labels == other.labels

    def __hash__(self) -> int:
        return hash(self.labels)

    def __repr__(self) -> str:
        return f"Alphabet({some_of(self.labels)})"

    def code(self, label: Label, *, name: str = "label") -> int:
        """Return the position of a label; an unknown one is an error that offers the nearest."""
        try:
            return self.index[_plain_label(label, name)]
        except KeyError:
            raise InvalidInput(
                f"{name} {label!r} is not among the {counted(len(self), 'value')}: {some_of(self.labels)}."
                + did_you_mean(label, self.labels)
            ) from None

    def positions_in(self, other: Alphabet, *, mine: str, theirs: str) -> Indices | None:
        """Return where each letter of this alphabet stands in ``other``; None when they stand in the same places.

        Both must hold the same letters. An undeclared alphabet fits by position.
        """
        if len(self) != len(other):
            raise InvalidInput(
                f"The {mine} has {counted(len(self), 'value')} and the {theirs} has {len(other):,}. They must be over "
                "the same values."
            )
        if self.labels == other.labels or not (self.declared and other.declared):
            return None
        missing = [label for label in self.labels if label not in other.index]
        if missing:
            raise InvalidInput(
                f"The {mine} has values that the {theirs} does not have: {some_of(missing)}. The {theirs} has "
                f"{some_of(other.labels)}. They must be over the same values."
            )
        return np.array([other.index[label] for label in self.labels], dtype=np.intp)


_PLAIN = (str, int, bool, type(None))


def _plain_label(label: object, name: str) -> Label:
    if type(label) in _PLAIN:
        return label
    label = plain_value(label)
    if label is not None and is_missing(label):
        raise InvalidInput(
            f"{name} must not hold {label!r}, which equals nothing. Use None for a missing value and clean the data."
        )
    if isinstance(label, tuple):
        return tuple(_plain_label(part, name) for part in label)
    try:
        hash(label)
    except TypeError:
        raise InvalidInput(f"{name} must hold plain values such as texts or numbers. Got {label!r} instead.") from None
    return label


def plain_value(value: object) -> object:
    """Return a NumPy or pyarrow scalar as the Python value it stands for; anything else as it is."""
    if isinstance(value, (np.datetime64, np.timedelta64)):
        if np.isnat(value):
            return value
        plain = value.item()
        # Below a microsecond Python has no dates, and NumPy would hand out a bare count of nanoseconds.
        if isinstance(plain, int) and np.datetime_data(value)[0] != "generic":
            rounded = value.astype(f"{value.dtype.kind}8[us]")
            plain = rounded.item() if rounded == value else value
        return plain
    if isinstance(value, np.generic):
        return value.item()
    as_py = getattr(value, "as_py", None)
    return value if as_py is None else as_py()


def is_missing(value: object) -> bool:
    """Return whether a value is None or equals nothing, not even itself: NaN, NaT, pandas.NA."""
    if value is None:
        return True
    try:
        return bool(value != value)
    except (TypeError, ArithmeticError):
        return True  # pandas.NA and signalling NaNs refuse to be compared
    except ValueError:
        return False  # an array: not one value, and not a missing one


def as_alphabet(letters: object, *, name: str) -> Alphabet:
    """Return an alphabet from a count of letters, a list of labels, or an alphabet."""
    if isinstance(letters, Alphabet):
        return letters
    if isinstance(letters, (int, np.integer)) and not isinstance(letters, bool):
        return Alphabet.numbered(int(letters), name=name)
    if isinstance(letters, Mapping) or not isinstance(letters, Iterable):
        raise InvalidInput(f"{name} must be a number of letters or a list of labels. Got {letters!r} instead.")
    return Alphabet(letters, name=name)


def alphabet_from_plain(labels: list[Any], *, declared: bool, name: str) -> Alphabet:
    """Return the alphabet of a file: stored labels, and whether someone had named them."""
    try:
        alphabet = Alphabet([label_from_plain(label) for label in labels], declared=True)
    except RecursionError as error:
        raise InvalidInput(f"{name!r} is damaged: its labels are nested too deeply.") from error
    if declared:
        return alphabet
    if alphabet.labels != tuple(range(len(alphabet))):
        raise InvalidInput(f"{name!r} is damaged: letters without names must be 0, 1, 2 … in order.")
    return Alphabet.numbered(len(alphabet))


def code_dtype(size: int) -> np.dtype[Any]:
    """Return the smallest unsigned integer type that holds the codes of ``size`` letters."""
    return np.min_scalar_type(max(size - 1, 0))


def label_to_plain(label: Label) -> Any:
    """Return a label as JSON data: itself, or a tagged object for tuples, dates, durations and decimals."""
    if label is None or isinstance(label, (bool, int, float, str)):
        if isinstance(label, float) and not math.isfinite(label):
            raise InvalidInput(f"The label {label!r} cannot be stored: use a finite number or a text.")
        if isinstance(label, int) and not -(2**63) <= label < 2**63:
            return {"integer": hex(label)}
        if isinstance(label, str) and not _is_unicode(label):
            raise InvalidInput(f"The label {label!r} cannot be stored: it is not valid Unicode.")
        return label
    if isinstance(label, tuple):
        return {"tuple": [label_to_plain(part) for part in label]}
    if isinstance(label, datetime.datetime):
        text = label.isoformat()
        if datetime.datetime.fromisoformat(text) != label:
            raise InvalidInput(f"The label {label!r} cannot be stored: it is finer than a microsecond.")
        return {"datetime": text}
    if isinstance(label, datetime.date):
        return {"date": label.isoformat()}
    if isinstance(label, datetime.timedelta):
        count = label // datetime.timedelta(microseconds=1)
        if datetime.timedelta(microseconds=count) != label:
            raise InvalidInput(f"The label {label!r} cannot be stored: it is finer than a microsecond.")
        return {"microseconds": count}
    if isinstance(label, Decimal) and _DECIMAL.fullmatch(str(label)):
        return {"decimal": str(label)}
    raise InvalidInput(
        f"The label {label!r} of type {type(label).__name__} cannot be stored. Use texts, numbers, booleans, dates, "
        "durations, None, or tuples of them."
    )


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


_INTEGER = re.compile(r"-?0x[0-9a-f]+", re.ASCII)
_DECIMAL = re.compile(r"-?\d+(\.\d+)?(E[+-]\d{1,4})?", re.ASCII)
_LONGEST = datetime.timedelta.max // datetime.timedelta(microseconds=1)


def label_from_plain(plain: Any) -> Label:
    """Return the label that :func:`label_to_plain` stored."""
    if isinstance(plain, dict):
        match list(plain.items()):
            case [("tuple", list(parts))]:
                return tuple(label_from_plain(part) for part in parts)
            case [("integer", str(digits))] if _INTEGER.fullmatch(digits):
                return int(digits, 16)
            case [("datetime", str(text))]:
                return _from_iso(datetime.datetime, text)
            case [("date", str(text))]:
                return _from_iso(datetime.date, text)
            case [("microseconds", int(count))] if abs(count) <= _LONGEST:
                return datetime.timedelta(microseconds=count)
            case [("decimal", str(digits))] if _DECIMAL.fullmatch(digits):
                return Decimal(digits)
        raise InvalidInput(f"{plain!r} is not a stored label.")
    if isinstance(plain, list):
        raise InvalidInput(f"{plain!r} is not a stored label.")
    assert isinstance(plain, Hashable)
    return plain


def _from_iso(kind: type[datetime.date], text: str) -> datetime.date:
    try:
        return kind.fromisoformat(text)
    except ValueError as error:
        raise InvalidInput(f"{text!r} is not a stored {kind.__name__}.") from error
