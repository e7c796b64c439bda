"""Texts of a file as letters of an alphabet, and back: what CSV and JSON lines share.

A file of text knows no types. A text is the letter that is this very text; where there is none, the number, the truth
value or the date it stands for. Each distinct text is looked at once.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any, BinaryIO

import numpy as np

from leakwise.alphabet import Alphabet, Bins, code_dtype
from leakwise.alphabet.columns import outside_domain, way_out_of_missing
from leakwise.errors import InvalidInput, counted, some_of
from leakwise.tables.formats import Reorder
from leakwise.types import Array

__all__ = ["TextCoder", "texts_of", "value_of", "write_reordered"]

# Distinct fields whose codes are kept from one batch to the next.
_REMEMBERED = 1 << 16

_TRUTH = ("true", "false")


def write_reordered(
    target: BinaryIO, batches: Iterable[Sequence[bytes]], reorder: Reorder, ending: bytes = b"\n"
) -> Iterator[int]:
    """Write lines in another order, all with one ending; yields how many at a time."""
    import pyarrow as pa

    tables = (pa.table({"line": pa.array(lines, type=pa.large_binary())}) for lines in batches)
    for table in reorder(tables):
        lines = table.column("line").to_pylist()
        target.write(ending.join([*lines, b""]))
        yield len(lines)


def value_of(text: str, alphabet: Alphabet) -> Any:
    """Return the value that a text stands for in an alphabet; the text itself where it is no letter in any reading."""
    index = alphabet.index
    if text in index:
        return text
    readings: list[Callable[[str], Any]] = [_truth, int, float]
    for kind in (datetime.datetime, datetime.date):
        if any(type(label) is kind for label in alphabet.labels):
            readings.append(kind.fromisoformat)
    for read in readings:
        with suppress(ValueError):
            value = read(text)
            # Python takes 1 for True; a text does not.
            if value in index and isinstance(value, bool) == isinstance(alphabet.labels[index[value]], bool):
                return value
    # True, TRUE and true are one truth value, whichever of them was declared as a text.
    if text.lower() in _TRUTH:
        return next((one for one in index if isinstance(one, str) and one.lower() == text.lower()), text)
    return text


def _truth(text: str) -> bool:
    if text.lower() in _TRUTH:
        return text.lower() == "true"
    raise ValueError


class TextCoder:
    """Codes for distinct texts in an alphabet, remembered from batch to batch.

    ``read`` turns the raw bytes of a field into its value in an alphabet; None is a missing one.
    """

    def __init__(self, alphabet: Alphabet, read: Callable[[bytes, Alphabet], Any]) -> None:
        self._alphabet = alphabet
        self._read = read
        self._known: dict[bytes, int] = {}

    def codes(self, distinct: Sequence[bytes], places: Array, name: str, outside: bool = False) -> Array:
        """Return the code of every row, given the distinct raw fields and the place of every row's field among them.

        A value that is not declared is an error; with ``outside`` its code is -1.
        """
        known = self._known
        if len(known) > _REMEMBERED:
            known.clear()
        known.update(self._new_codes([raw for raw in distinct if raw not in known]))
        table = np.array([known[raw] for raw in distinct], dtype=np.int64)
        if not outside and table.size and table.min() < 0:
            self._refuse(distinct, table, places, name)
        size = len(self._alphabet)
        result: Array = table.astype(np.min_scalar_type(-size) if outside else code_dtype(size))[places]
        return result

    def _new_codes(self, fields: Sequence[bytes]) -> dict[bytes, int]:
        values = [self._read(raw, self._alphabet) for raw in fields]
        codes = [self._lookup(value) for value in values]
        if isinstance(self._alphabet, Bins) and -1 in codes:
            binned = self._alphabet.codes_of_values(values)
            codes = [code if code >= 0 else bin for code, bin in zip(codes, binned, strict=True)]
        return dict(zip(fields, codes, strict=True))

    def _lookup(self, value: Any) -> int:
        try:
            return self._alphabet.index.get(value, -1)
        except TypeError:  # a JSON list or object
            return -1

    def _refuse(self, distinct: Sequence[bytes], table: Array, places: Array, name: str) -> None:
        outside = table < 0
        rows = int(outside[places].sum())
        bad = [self._read(distinct[place], self._alphabet) for place in np.flatnonzero(outside).tolist()]
        if all(value is None for value in bad):
            raise InvalidInput(
                f"{name} has {counted(rows, 'missing value')} among the {places.size} rows last read, and the declared "
                f"domain has no place for {'it' if rows == 1 else 'them'}. {way_out_of_missing(self._alphabet)}"
            )
        raise InvalidInput(
            f"{name} has {rows} of the {places.size} rows last read with values outside the declared domain: "
            + outside_domain(bad, self._alphabet)
        )


def texts_of(labels: Sequence[Any], write: Callable[[Any], str], name: str) -> list[bytes]:
    """Return how outcomes are written, each in a way of its own."""
    for label in labels:
        if isinstance(label, (tuple, bytes)):
            raise InvalidInput(
                f"The outcome {label!r} of column {name!r} has no way to be written in a file of text. Name the "
                "outcomes by texts or numbers: Mechanism(..., outputs=[...])."
            )
    texts = [write(label).encode() for label in labels]
    if len(set(texts)) < len(texts):
        twice = [label for label, text in zip(labels, texts, strict=True) if texts.count(text) > 1]
        raise InvalidInput(
            f"The outcomes {some_of(twice)} of column {name!r} would be written alike. Name them apart: Mechanism(..., "
            "outputs=[...])."
        )
    return texts
