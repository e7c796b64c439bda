"""Types for the columns of a file of text, where its rows go into a file that has types.

A column becomes numbers, truth values, dates or times only where every text of it is what writing the value back gives:
``007`` and ``1.10`` beside ``1.1`` stay texts. So nothing is lost, and what another program would guess from the first
rows is not guessed. The whole column is read first; columns that are exchanged are never looked at.
"""

from __future__ import annotations

import decimal
import json
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from leakwise.errors import InvalidInput
from leakwise.tables.formats import Columns, TableFile

__all__ = ["ColumnType", "JsonType", "TextTable", "TextType"]

_WHOLE = r"^-?\d+$"
_DECIMAL_DIGITS = 38
# Digits and a sign of whole numbers that floats hold exactly, and that are written without an exponent.
_EXACT_DIGITS = 15
# Where most of so many texts are different, it is no use to look for those that are the same.
_SAMPLE = 1024
_FEW = 16


class ColumnType(Protocol):
    """Finds the type of a column, batch by batch, and then makes arrays of that type."""

    def add(self, column: Any) -> None:
        """See a column of a batch."""

    @property
    def found(self) -> Any:
        """The Arrow type that all rows seen have."""

    def array(self, column: Any, kind: Any) -> Any:
        """Return a column of a batch in the type that was found, or as texts."""


class TextTable(TableFile):
    """A table whose file has no types."""

    def __init__(self, path: Path, files: Sequence[Path] | None = None) -> None:
        super().__init__(path, files)
        self._types: dict[str, ColumnType] = {}

    @abstractmethod
    def new_type(self, name: str) -> ColumnType:
        """Return what finds the type of a column."""

    def arrow_schema(self, names: Sequence[str], drawn: Sequence[str] = ()) -> Any:
        """Return the schema of columns, which are read whole the first time; those that are drawn for are texts."""
        known = self._types
        if new := [name for name in names if name not in known and name not in drawn]:
            found = {name: self.new_type(name) for name in new}
            for batch in self.batches(new):
                for name, one in found.items():
                    one.add(batch[name])
            known.update(found)
        return pa.schema([(name, pa.string() if name in drawn else known[name].found) for name in names])

    @abstractmethod
    def constant(self, value: Any, count: int) -> Any:
        """Return a column of a batch in which every row has this value."""

    def refusing_batches(self, names: Sequence[str]) -> Iterator[Columns]:
        """Return columns as :meth:`batches` does; rows with a column of which nothing is known are refused."""
        return self.batches(names)

    def pieces(self, reads: Sequence[str], schema: Any) -> Iterator[tuple[Columns, Any]]:
        types = {name: self._types.get(name) or self.new_type(name) for name in schema.names}
        for batch in self.refusing_batches(list(dict.fromkeys([*reads, *schema.names]))):
            try:
                columns = [types[field.name].array(batch[field.name], field.type) for field in schema]
            except (pa.ArrowException, ValueError) as error:
                raise InvalidInput(f"{str(self.path)!r} was changed while it was read: {error}.") from error
            yield batch, pa.record_batch(columns, schema=schema)


class TextType:
    """The type of a column of texts: the first of a list in which all of them are what its values are written as.

    Parameters
    ----------
    texts
        Makes texts, and missing ones, of a column of a batch.
    """

    def __init__(self, texts: Callable[[Any], Any]) -> None:
        self._texts = texts
        self._alive: list[_Reading] | None = None

    def add(self, column: Any) -> None:
        texts = self._texts(column).drop_null()
        if not len(texts) or self._alive == []:
            return
        if self._alive is None:
            self._alive = _readings(texts[0].as_py())
        if len(texts[:_SAMPLE].unique()) < min(len(texts), _SAMPLE) // 2:
            texts = texts.unique()
        # Arrow reads all texts, and words an error for each that fails: so a few of them come first.
        alive = [one for one in self._alive if one.fits(texts[:_FEW])]
        if alive and isinstance(alive[0], _Whole) and alive[0].fits(texts):
            # What is a whole number is nothing else but, maybe, a float: written as such, if it has few enough digits.
            self._alive = [alive[0], *(one for one in alive if isinstance(one, _Floats) and one.fits_whole(texts))]
        else:
            self._alive = [one for one in alive if not isinstance(one, _Whole) and one.fits(texts)]

    @property
    def found(self) -> Any:
        return self._alive[0].kind if self._alive else pa.string()

    def array(self, column: Any, kind: Any) -> Any:
        texts = self._texts(column)
        return self._alive[0].values(texts) if self._alive and kind != pa.string() else texts


class _Reading:
    """A type, and how its values are written."""

    def __init__(self, kind: Any, form: Callable[[Any], Any] = lambda texts: texts) -> None:
        self.kind, self._form = kind, form

    def values(self, texts: Any) -> Any:
        return texts.cast(self.kind)

    def fits(self, texts: Any) -> bool:
        try:
            written = self._form(self.values(texts).cast(pa.string()))
        except pa.ArrowInvalid:
            return False
        return bool(written.equals(texts))


class _Whole(_Reading):
    """Whole numbers."""


class _Floats(_Reading):
    """Numbers, all as Arrow writes them or all as most programs do; that is found out once for both."""

    def __init__(self) -> None:
        super().__init__(pa.float64())
        self._forms: list[Callable[[Any], Any]] = [_as_arrow, _with_point]

    def fits(self, texts: Any) -> bool:
        try:
            written = self.values(texts).cast(pa.string())
        except pa.ArrowInvalid:
            return False
        self._forms = [form for form in self._forms if form(written).equals(texts)]
        return bool(self._forms)

    def fits_whole(self, texts: Any) -> bool:
        """Return whether texts of whole numbers fit."""
        if pc.max(pc.binary_length(texts)).as_py() > _EXACT_DIGITS:
            return self.fits(texts)
        self._forms = [form for form in self._forms if form is _as_arrow]
        return bool(self._forms)


class _Capital(_Reading):
    """Truth values as Python writes them."""

    def values(self, texts: Any) -> Any:
        return pc.utf8_lower(texts).cast(self.kind)


def _readings(first: str) -> list[_Reading]:
    """The readings that a column with this text in it can have."""
    found = [
        _Whole(pa.int64()),
        _Reading(pa.bool_()),
        _Capital(pa.bool_(), pc.utf8_capitalize),
        _Floats(),
        _Reading(pa.date32()),
    ]
    for unit in ("s", "ms", "us", "ns"):
        found += [_Reading(pa.timestamp(unit)), _Reading(pa.timestamp(unit), _with_t)]
    if 0 < (places := len(first.partition(".")[2])) < _DECIMAL_DIGITS:
        found.append(_Reading(pa.decimal128(_DECIMAL_DIGITS, places)))
    return found


def _as_arrow(texts: Any) -> Any:
    return texts


def _with_point(texts: Any) -> Any:
    """Floats as most programs write them: 1.0 where Arrow writes 1, and 1e-05 where it writes 0.00001."""
    whole = pc.match_substring_regex(texts, _WHOLE)
    texts = pc.if_else(whole, pc.binary_join_element_wise(texts, "0", "."), texts)
    small = pc.and_(pc.invert(whole), pc.match_substring_regex(texts, r"^-?0\.0000"))
    if not pc.any(small).as_py():
        return texts
    repr_ = pa.array([repr(float(text)) for text in texts.filter(small).to_pylist()])
    return pc.replace_with_mask(texts, small, repr_)


def _with_t(texts: Any) -> Any:
    return pc.replace_substring(texts, " ", "T")


class JsonType:
    """The type of a column of JSON values: all of one kind, or missing."""

    def __init__(self, name: str, where: str) -> None:
        self._name, self._where = name, where
        self._seen: set[type] = set()
        self._exact = True

    def add(self, column: Sequence[bytes]) -> None:
        for raw in set(column):
            value = json.loads(raw, parse_float=decimal.Decimal)
            self._seen.add(type(value))
            if isinstance(value, int):
                self._exact &= int(float(value)) == value if abs(value) < 1 << 63 else False
                if not -(1 << 63) <= value < 1 << 63:
                    self._seen.add(object)
            elif isinstance(value, decimal.Decimal) and decimal.Decimal(repr(float(value))) != value:
                self._seen.add(object)

    @property
    def found(self) -> Any:
        seen = self._seen - {type(None)}
        kinds: dict[type, Any] = {bool: pa.bool_(), int: pa.int64(), str: pa.string(), decimal.Decimal: pa.float64()}
        if seen == {int, decimal.Decimal} and self._exact:
            return pa.float64()
        if not seen:
            return pa.string()
        if len(seen) == 1 and (kind := kinds.get(next(iter(seen)))) is not None:
            return kind
        if seen & {list, dict}:
            what = "lists or objects"
        else:
            what = "numbers that no column of numbers can hold exactly" if object in seen else "values of several types"
        raise InvalidInput(
            f"Column {self._name!r} of {self._where} has {what}, which only JSON lines hold. Release it into a .jsonl "
            "file, or drop the column."
        )

    def array(self, column: Sequence[bytes], kind: Any) -> Any:
        return pa.array([json.loads(raw) for raw in column], type=kind)
