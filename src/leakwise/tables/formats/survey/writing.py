"""Stata and SPSS files as they are written: whole, since pyreadstat takes a frame and a path.

What a file says beside its rows is what it is given here: labels of columns and of values, formats, declared missing
values. No label of the file, no note, no order of sorting, and no time but that of the writing.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc

from leakwise.errors import InvalidInput, require
from leakwise.tables.formats.names import Kind

__all__ = ["TAG", "Written", "survey_sink", "write_survey"]

TAG = "\0"
"""What the column of extended missing values has after the name of the column that they belong to."""

_MEASURES = ("nominal", "ordinal", "scale")


@dataclass(frozen=True)
class Written:
    """What a file says of one of its columns."""

    name: str
    labels: dict[Any, str] = field(default_factory=dict)
    missing: list[tuple[Any, Any]] = field(default_factory=list)
    title: str | None = None
    format: str | None = None
    measure: str | None = None
    width: int | None = None

    @property
    def tags(self) -> list[str]:
        """The extended missing values that have a label."""
        return [code for code in self.labels if isinstance(code, str) and code.startswith(".")]


def write_survey(target: BinaryIO, kind: Kind, table: Any, columns: Sequence[Written]) -> None:
    """Write a table, and what is said of its columns, into a stream."""
    stata = kind.ending == ".dta"
    library = require("pyreadstat", extra="survey", purpose=f"Writing {kind.ending} files")
    polars = require("polars", extra="survey", purpose=f"Writing {kind.ending} files")
    series, tags, labels = {}, {}, {}
    for one in columns:
        numbers = not pa.types.is_string(table.schema.field(one.name).type)
        whole = pa.types.is_integer(table.schema.field(one.name).type)
        found = sorted({*one.tags, *_tags_in(table, one.name)}) if stata and numbers else []
        series[one.name] = _tagged(polars, table, one.name) if found else polars.from_arrow(table.column(one.name))
        if found:
            tags[one.name] = [tag[1:] for tag in found]
        if one.labels:
            labels[one.name] = {
                code[1:] if code in found else int(code) if whole else code: text for code, text in one.labels.items()
            }
    choice: dict[str, Any] = {
        "column_labels": {one.name: one.title for one in columns if one.title},
        "variable_value_labels": labels,
        "variable_format": {one.name: one.format for one in columns if one.format},
    }
    if stata:
        # Version 14 (format 118) is what every Stata since then reads; 119 is for its largest edition alone.
        choice |= {"version": 14, "missing_user_values": tags}
    else:
        choice |= {
            "missing_ranges": {
                one.name: [{"lo": low, "hi": high} for low, high in one.missing] for one in columns if one.missing
            },
            "variable_measure": {one.name: one.measure for one in columns if one.measure in _MEASURES},
            "variable_display_width": {one.name: one.width for one in columns if one.width},
            **({"compress": True} if kind.ending == ".zsav" else {"row_compress": True}),
        }
    write = library.write_dta if stata else library.write_sav
    # It writes to paths only, and makes files that all can read: in a folder that nobody else can enter.
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"released{kind.ending}"
        try:
            write(polars.DataFrame(series), str(path), **choice)
        except (library.ReadstatError, library.PyreadstatError) as error:
            raise InvalidInput(f"Cannot write a {kind.ending} file: {error}.") from error
        with path.open("rb") as stream:
            shutil.copyfileobj(stream, target, 1 << 20)


def _tags_in(table: Any, name: str) -> list[str]:
    if name + TAG not in table.schema.names:
        return []
    return [one for one in table.column(name + TAG).unique().to_pylist() if one is not None]


def _tagged(polars: Any, table: Any, name: str) -> Any:
    """Numbers, with the letters of the extended missing values between them, as the writer takes them."""
    values = table.column(name).to_pylist()
    if name + TAG in table.schema.names:
        tags = table.column(name + TAG).to_pylist()
        values = [value if tag is None else tag[1:] for value, tag in zip(values, tags, strict=True)]
    return polars.Series(name, values, dtype=polars.Object)


class _Held:
    def __init__(self, schema: Any) -> None:
        self.tables = [schema.empty_table()]
        self.write = self.tables.append


@contextmanager
def survey_sink(kind: Kind, target: BinaryIO, schema: Any) -> Iterator[_Held]:
    """Hold the rows of a table of another kind, and write them when all have come."""
    plain = pa.schema([(field.name, _plain_type(field)) for field in schema])
    held = _Held(schema)
    yield held
    table = pa.concat_tables(held.tables)
    held.tables.clear()
    columns = [_plain(table.column(place), field) for place, field in enumerate(plain)]
    write_survey(target, kind, pa.Table.from_arrays(columns, schema=plain), [Written(name) for name in plain.names])


def _plain_type(field: Any) -> Any:
    """The type of a column that Stata and SPSS have one for."""
    kind = field.type
    if isinstance(kind, pa.BaseExtensionType):
        kind = kind.storage_type
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        kind = kind.value_type
    small = pa.types.is_integer(kind) and kind.bit_width + pa.types.is_unsigned_integer(kind) <= 32
    if small or pa.types.is_boolean(kind):
        return pa.int32()
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind) or pa.types.is_null(kind):
        return pa.float64()
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return pa.string()
    if pa.types.is_date(kind):
        return pa.date32()
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us")
    raise pa.ArrowTypeError(f"{field.name} is of the type {kind}")


def _plain(column: Any, field: Any) -> Any:
    if pa.types.is_run_end_encoded(column.type):
        column = pc.run_end_decode(column)
    if isinstance(column.type, pa.BaseExtensionType):
        column = column.cast(column.type.storage_type)
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    try:
        found = column.cast(field.type, safe=not pa.types.is_decimal(column.type))
    except pa.ArrowInvalid as error:
        raise InvalidInput(
            f"Column {field.name!r} has values that Stata and SPSS have no room for: {error}. Release into another "
            "kind of file."
        ) from error
    return pc.if_else(pc.is_nan(found), None, found) if pa.types.is_floating(found.type) else found
