"""The columns of a table of PostgreSQL: as what they are read, and as what they are written again."""

from __future__ import annotations

import datetime
import decimal
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from leakwise.errors import InvalidInput
from leakwise.tables.databases import quoted
from leakwise.tables.formats.columns import held_type

__all__ = ["COLUMNS", "Column", "Values", "fitted", "fitting", "read_columns"]

# The type as it is written, the name of the type beneath (of a domain its own), and the labels of an enum.
COLUMNS = (
    "SELECT a.attname::text, format_type(a.atttypid, a.atttypmod), CASE WHEN b.typnamespace = "
    "'pg_catalog'::regnamespace THEN b.typname::text ELSE '' END, "
    "(SELECT array_agg(e.enumlabel::text) FROM pg_enum e WHERE e.enumtypid = a.atttypid) "
    "FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid "
    "JOIN pg_type b ON b.oid = CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE t.oid END "
    "WHERE a.attrelid = $1::regclass AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum"
)

# What ADBC gives out and takes in again without a change, whatever the value.
_EXACT = {
    "bool": pa.bool_(),
    "int2": pa.int16(),
    "int4": pa.int32(),
    "int8": pa.int64(),
    "float4": pa.float32(),
    "float8": pa.float64(),
    "text": pa.string(),
    "bytea": pa.binary(),
}
# What has values that Arrow has none for (infinity, years before Christ): as such only where it is read as values.
_DATED = {
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
    "timestamptz": pa.timestamp("us", "UTC"),
    "time": pa.time64("us"),
}
# The digits that Arrow has room for.
_MOST_DIGITS = 76
# The first and the last day that Python has, counted as Arrow and Unix count them.
_FIRST, _LAST = (
    day.toordinal() - datetime.date(1970, 1, 1).toordinal() for day in (datetime.date.min, datetime.date.max)
)


@dataclass(frozen=True)
class Column:
    """A column: its name, its type as it is written, the type beneath, and the labels where it is an enum."""

    name: str
    kind: str
    beneath: str
    labels: tuple[str, ...] | None

    def _read_as(self, typed: bool) -> tuple[str, Any]:
        """The type that it is read as, by its name in PostgreSQL and in Arrow."""
        known = {**_EXACT, **_DATED} if typed else _EXACT
        return (self.beneath, known[self.beneath]) if self.beneath in known else ("text", pa.string())

    def selected(self, typed: bool) -> str:
        """Return what stands in a query: the column as values where it is ``typed``, else so that none is lost."""
        return f"{quoted(self.name)}::pg_catalog.{self._read_as(typed)[0]}"

    def field(self, typed: bool, digits: tuple[int, int] | None = None) -> Any:
        """Return the field of Arrow that it becomes: of decimal numbers where it has so many digits, if Arrow can."""
        if digits is not None and digits[0] <= _MOST_DIGITS:
            return pa.field(self.name, (pa.decimal128 if digits[0] <= 38 else pa.decimal256)(*digits))
        return pa.field(self.name, self._read_as(typed)[1])

    @property
    def digits(self) -> tuple[int, int] | None:
        """How many digits its decimal numbers have, and how many of them after the point, where that is declared."""
        found = re.fullmatch(r"numeric\((\d+),(\d+)\)", self.kind)
        return None if found is None else (int(found[1]), int(found[2]))

    @property
    def holds(self) -> type | None:
        """The type of its values, where they are not whole numbers."""
        return decimal.Decimal if self.beneath == "numeric" else held_type(self._read_as(True)[1])

    def type_of(self, outcomes: Sequence[Any] | None) -> str | None:
        """Return its type in the released table; None where that follows from the outcomes that are drawn for it."""
        if outcomes is None:
            return self.kind
        known = None if self.labels is None else {*self.labels, None}
        return self.kind if known is not None and known.issuperset(outcomes) else None


def read_columns(rows: Sequence[tuple[Any, ...]]) -> list[Column]:
    """Return the columns that the catalogue tells of."""
    return [
        Column(str(name), str(kind), str(beneath), None if labels is None else tuple(labels))
        for name, kind, beneath, labels in rows
    ]


class Values(Mapping[str, Any]):
    """The columns of a batch as values: numbers of any length as such, and no date that would be taken for another."""

    def __init__(self, batch: Any, columns: Mapping[str, Column]) -> None:
        self._batch, self._columns = batch, columns

    def __iter__(self) -> Iterator[str]:
        return iter(self._batch.schema.names)

    def __len__(self) -> int:
        return int(self._batch.num_columns)

    def __getitem__(self, name: str) -> Any:
        column = self._batch.column(name)
        if self._columns[name].beneath == "numeric":
            return _decimals(column, name)
        if pa.types.is_date(column.type) or pa.types.is_timestamp(column.type):
            _refuse_beyond(column, name)
        return column

    def of_type(self, name: str, kind: Any) -> Any:
        """Return a column as an array of a type that its values have, such as decimal numbers of so many digits."""
        if not pa.types.is_decimal(kind):
            # Of numbers that are too long for Arrow the texts.
            return self[name] if self._columns[name].beneath != "numeric" else self._batch.column(name)
        texts = self._batch.column(name)
        _refuse_infinite(texts.unique().to_pylist(), name)
        return pc.if_else(pc.equal(texts, "NaN"), pa.scalar(None, texts.type), texts).cast(kind)


def fitting(schema: Any) -> Any:
    """Return a schema with the types that PostgreSQL has the like of, in the place of others with the same values."""
    return pa.schema([pa.field(field.name, _like(field.type)) for field in schema])


def _like(kind: Any) -> Any:
    if isinstance(kind, pa.BaseExtensionType):
        return _like(kind.storage_type)
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        return _like(kind.value_type)
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", kind.tz)
    if pa.types.is_time(kind):
        return pa.time64("us")
    if pa.types.is_uint64(kind):
        return pa.decimal128(20, 0)
    return pa.date32() if pa.types.is_date(kind) else kind


def fitted(column: Any, field: Any) -> Any:
    """Return a column in the type of a field that fits; a value that would not be itself there is an error."""
    if isinstance(column.type, pa.BaseExtensionType):
        column = column.cast(column.type.storage_type)
    if pa.types.is_run_end_encoded(column.type):
        column = pc.run_end_decode(column)
    try:
        return column if column.type == field.type else column.cast(field.type)
    except pa.ArrowInvalid as error:
        raise InvalidInput(
            f"Column {field.name!r} ({column.type}) cannot be written to a table of PostgreSQL, which has times to the "
            f"microsecond only: {error}. Round it first."
        ) from error


def _refuse_infinite(texts: Sequence[str | None], name: str) -> None:
    if any(text is not None and text.endswith("Infinity") for text in texts):
        raise InvalidInput(f"Column {name!r} contains infinity, which no domain can name. Replace it first.")


def _decimals(column: Any, name: str) -> Any:
    """Texts as decimal numbers; what is not a number is missing, as it is everywhere."""
    coded = column.dictionary_encode()
    _refuse_infinite(coded.dictionary.to_pylist(), name)
    known = [decimal.Decimal(text) for text in coded.dictionary.to_pylist()]
    values = [None if value.is_nan() else value for value in known]
    try:
        return pa.DictionaryArray.from_arrays(coded.indices, pa.array(values)).dictionary_decode()
    except pa.ArrowInvalid:  # more digits than Arrow has room for
        return [None if place is None else values[place] for place in coded.indices.to_pylist()]


def _refuse_beyond(column: Any, name: str) -> None:
    """Refuse dates that Python has none for: infinity, and years before 1 or after 9999."""
    found = pc.min_max(column)
    low, high = found["min"].value, found["max"].value  # days, or microseconds, since 1970
    if low is None:
        return
    day = 1 if pa.types.is_date(column.type) else 86_400_000_000
    if low < _FIRST * day or high >= (_LAST + 1) * day:
        raise InvalidInput(
            f"Column {name!r} contains a date that is infinite, or not within the years 1 to 9999, which no domain can "
            "name. Replace it first."
        )
