"""A Stata (``.dta``) or SPSS (``.sav``, ``.zsav``) file as a table."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa

from leakwise.alphabet import Alphabet, Bins, encode_column
from leakwise.alphabet.columns import encode_distinct
from leakwise.errors import InvalidInput, require
from leakwise.tables.formats import Columns, Exchange, Reorder, TableFile
from leakwise.tables.formats.names import kind_of
from leakwise.tables.formats.survey.variable import Clock, Stored, Variable
from leakwise.tables.formats.survey.writing import TAG, Written, write_survey
from leakwise.types import Array

__all__ = ["SurveyColumn", "SurveyTable"]

# Values held at a time, as Python objects.
_VALUES = 1 << 21
_MOST_ROWS = 1 << 17

_SPSS, _STATA = datetime.datetime(1582, 10, 14), datetime.datetime(1960, 1, 1)
_SECOND = 1_000_000
# Stata keeps the largest numbers of four bytes for missing values.
_LARGEST_WHOLE = 2_147_483_600
_SPSS_DATE = re.compile(r"(A|E|J|S)?DATE\d*")
_SPSS_TIME = re.compile(r"(DATETIME|YMDHMS)[\d.]*")


class SurveyColumn(Sequence[Any]):
    """Values of a variable as the file has them."""

    def __init__(self, variable: Variable, values: Sequence[Any]) -> None:
        self.variable, self._values = variable, values

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, row: Any) -> Any:
        return self._values[row]

    def distinct(self) -> tuple[list[Any], Array]:
        """Return the values, each once, as a domain names them, and the place of every row among them."""
        known: dict[Any, int] = {}
        places = np.fromiter((known.setdefault(one, len(known)) for one in self._values), np.int64, len(self))
        return [self.variable.shown(value) for value in known], places


class SurveyTable(TableFile):
    """A Stata or SPSS file. It is read a part at a time; it is written whole, because pyreadstat writes frames."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._reader = require("pyreadstat", extra="survey", purpose=f"Reading {path.suffix} files")
        self.kind = kind_of(path)
        self.ending = "dta" if self.kind.ending == ".dta" else "sav"
        _, found = self._read(metadataonly=True)
        self.names: list[str] = list(found.column_names)
        self._rows: int | None = found.number_rows
        self._declared = {name: _variable(name, found, self.ending) for name in self.names}
        self._seen: dict[str, Variable] = {}

    def _read(self, **choice: Any) -> tuple[dict[str, list[Any]], Any]:
        read = self._reader.read_dta if self.ending == "dta" else self._reader.read_sav
        try:
            return read(  # type: ignore[no-any-return]
                str(self.path), user_missing=True, disable_datetime_conversion=True, output_format="dict", **choice
            )
        except (self._reader.ReadstatError, self._reader.PyreadstatError, ValueError, OverflowError) as error:
            raise InvalidInput(
                f"{str(self.path)!r} is not a {_MAKER[self.ending]} file that can be read, or it is damaged: {error}."
            ) from error

    @property
    def rows(self) -> int | None:
        return self._rows

    def variables(self, names: Sequence[str]) -> dict[str, Variable]:
        """Return what the file says of columns, and where extended missing values occur, which only the rows say."""
        unseen = [] if self.ending != "dta" else [one for one in dict.fromkeys(names) if one not in self._seen]
        if numbers := [name for name in unseen if self._declared[name].kind != "text"]:
            tagged = {name for _, found in self._parts(numbers) for name in found.missing_user_values}
            self._seen |= {name: replace(self._declared[name], tagged=name in tagged) for name in numbers}
        return {name: self._seen.get(name, self._declared[name]) for name in names}

    def holds(self, name: str) -> type | None:
        one = self._declared[name]
        if one.kind == "text":
            return str
        if one.clock is not None:
            return datetime.date if one.clock.dates else datetime.datetime
        return float if one.kind == "number" and not one.labels else None

    def labels(self, name: str) -> Mapping[Any, str]:
        one = self.variables([name])[name]
        return {one.shown(code): text for code, text in one.labels.items()}

    def _parts(self, names: Sequence[str]) -> Iterator[tuple[dict[str, list[Any]], Any]]:
        """Columns as they are in the file, a part of the rows at a time."""
        wanted = list(dict.fromkeys(names)) or self.names[:1]
        rows, start = max(1024, min(_MOST_ROWS, _VALUES // len(wanted))), 0
        while self._rows is None or start < self._rows:
            columns, found = self._read(usecols=wanted, row_offset=start, row_limit=rows)
            size = len(columns[wanted[0]])
            if self._rows is not None and size < min(rows, self._rows - start):
                raise InvalidInput(f"{str(self.path)!r} says that it has {self._rows} rows, and ends before that.")
            if not size:
                return
            for name, values in columns.items():
                if name in found.missing_user_values:
                    columns[name] = [f".{one}" if isinstance(one, str) else one for one in values]
            yield columns, found
            start += rows

    def _columns(self, values: Mapping[str, list[Any]], names: Sequence[str]) -> Columns:
        return {name: SurveyColumn(one, values[name]) for name, one in self.variables(names).items()}

    def batches(self, names: Sequence[str]) -> Iterator[Columns]:
        for values, _ in self._parts(names):
            yield self._columns(values, names)

    # -- into other kinds of files ------------------------------------------------------------------------------

    def arrow_schema(self, names: Sequence[str], drawn: Sequence[str] = ()) -> Any:
        # That extended missing values occur in a secret is not for its reader to know.
        known = {**self._declared, **self.variables([name for name in names if name not in drawn])}
        return pa.schema([(name, _arrow_type(known[name])) for name in names])

    def pieces(self, reads: Sequence[str], schema: Any) -> Iterator[tuple[Columns, Any]]:
        known = self.variables([*reads, *schema.names])
        for values, _ in self._parts([*reads, *schema.names]):
            arrays = [_shown_array(known[name], values[name]) for name in schema.names]
            yield self._columns(values, reads), pa.RecordBatch.from_arrays(arrays, schema=schema)

    # -- into a file of the same program ------------------------------------------------------------------------

    def rewrite(
        self,
        target: BinaryIO,
        out: Path,
        exchange: Exchange,
        carried: Mapping[bytes, bytes],
        reorder: Reorder | None = None,
    ) -> Iterator[int]:
        if not self.keeps(out):
            yield from super().rewrite(target, out, exchange, carried, reorder)
            return
        kept = [name for name in self.names if name not in exchange.dropped]
        stored = {name: self._declared[name].stored(labels) for name, labels in exchange.outputs.items()}
        others = [name for name in kept if name not in stored]
        known = {**self._declared, **self.variables([*exchange.reads, *others])}

        def released() -> Iterator[Any]:
            for values, _ in self._parts([*exchange.reads, *others]):
                new = exchange(self._columns(values, exchange.reads))
                arrays: dict[str, Any] = {}
                for name in kept:
                    if name in stored:
                        codes = pa.array(new[name][0])
                        arrays |= {key: one.take(codes) for key, one in stored_arrays[name].items()}
                    else:
                        arrays |= _raw_arrays(known[name], values[name])
                yield pa.table(arrays)

        stored_arrays = {name: _stored_arrays(self._declared[name], one) for name, one in stored.items()}
        pieces = list(released() if reorder is None else reorder(released()))
        written = [_written(known[name], stored.get(name)) for name in kept]
        write_survey(target, kind_of(out), pa.concat_tables(pieces), written)
        yield sum(piece.num_rows for piece in pieces)

    # -- values -------------------------------------------------------------------------------------------------

    def encode(self, column: Any, alphabet: Alphabet, *, name: str, outside: bool = False) -> Array:
        if isinstance(alphabet, Bins) and not column.variable.has_labels(alphabet):
            numbers = [None if column.variable.is_missing(one) else one for one in column]
            return encode_column(pa.array(numbers, type=pa.float64()), alphabet, name=name, outside=outside)
        values, places = column.distinct()
        return encode_distinct(values, places, column.variable.named(alphabet), name=name, outside=outside)

    def distinct(self, column: Any) -> tuple[list[Any], Array]:
        found: tuple[list[Any], Array] = column.distinct()
        return found

    def plain(self, column: Any) -> Any:
        values, places = column.distinct()
        return [values[place] for place in places.tolist()]


_MAKER = {"dta": "Stata", "sav": "SPSS"}


def _variable(name: str, found: Any, ending: str) -> Variable:
    kind = {"string": "text", "float": "number", "double": "number"}.get(found.readstat_variable_types[name], "whole")
    labels = found.variable_value_labels.get(name, {})
    if kind != "text":
        labels = {f".{code}" if isinstance(code, str) else code: text for code, text in labels.items()}
    form = found.original_variable_types.get(name)
    return Variable(
        name,
        kind,
        labels,
        [(one["lo"], one["hi"]) for one in found.missing_ranges.get(name, ())],
        None if kind == "text" else _clock(form or "", ending),
        found.column_names_to_labels.get(name),
        form,
        found.variable_measure.get(name),
        found.variable_display_width.get(name),
        ending,
    )


def _clock(form: str, ending: str) -> Clock | None:
    if ending == "dta":
        if form.startswith(("%td", "%d", "%-td", "%-d")):
            return Clock(_STATA, 86_400 * _SECOND, True)
        return Clock(_STATA, _SECOND // 1000, False) if form.startswith(("%tc", "%-tc")) else None
    if _SPSS_DATE.fullmatch(form):
        return Clock(_SPSS, _SECOND, True)
    return Clock(_SPSS, _SECOND, False) if _SPSS_TIME.fullmatch(form) else None


def _arrow_type(variable: Variable) -> Any:
    if variable.kind == "text" or variable.tagged:
        return pa.string()
    if variable.clock is not None:
        return pa.date32() if variable.clock.dates else pa.timestamp("us")
    return pa.int32() if variable.kind == "whole" else pa.float64()


def _shown_array(variable: Variable, values: Sequence[Any]) -> Any:
    """A column as other kinds of files have it; of a date what its format shows."""
    shown: Sequence[Any] = values
    if variable.tagged:
        shown = [variable.shown(one) for one in values]
    elif variable.clock is not None:
        shown = [None if one is None else variable.date(one) for one in values]
    return pa.array(shown, type=_arrow_type(variable))


def _raw_arrays(variable: Variable, values: Sequence[Any]) -> dict[str, Any]:
    """A column as it is in the file: its numbers, and its extended missing values in a column of their own."""
    if variable.kind == "text":
        return {variable.name: pa.array(values, type=pa.string())}
    kind = pa.int32() if variable.kind == "whole" else pa.float64()
    if not variable.tagged:
        return {variable.name: pa.array(values, type=kind)}
    tags = [one if isinstance(one, str) else None for one in values]
    numbers = [None if isinstance(one, str) else one for one in values]
    return {variable.name: pa.array(numbers, type=kind), variable.name + TAG: pa.array(tags, type=pa.string())}


def _stored_arrays(variable: Variable, stored: Stored) -> dict[str, Any]:
    """The codes of the outcomes, to be taken from; their type is the same whatever is drawn."""
    if variable.kind == "text":
        return {variable.name: pa.array(stored.codes, type=pa.string())}
    tags = [one if isinstance(one, str) else None for one in stored.codes]
    numbers = [None if isinstance(one, str) else one for one in stored.codes]
    whole = all(one is None or (float(one).is_integer() and abs(one) < _LARGEST_WHOLE) for one in numbers)
    arrays = {variable.name: pa.array(numbers, type=pa.float64()).cast(pa.int32() if whole else pa.float64())}
    return {**arrays, variable.name + TAG: pa.array(tags, type=pa.string())} if any(tags) else arrays


def _written(variable: Variable, stored: Stored | None) -> Written:
    """What the released file says of a column: of one that was exchanged nothing that came of its values."""
    if stored is None:
        return Written(
            variable.name,
            dict(variable.labels),
            list(variable.missing),
            variable.title,
            None if variable.kind == "text" else variable.format,
            variable.measure,
            variable.width,
        )
    return Written(variable.name, stored.labels, stored.missing, variable.title, stored.format, variable.measure)
