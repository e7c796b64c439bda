"""A table in several files: a folder, folders such as ``country=DE``, or the files of a pattern.

Its rows are those of the files, one after the other, with a column for each name in the names of folders. It is
released into one file: where one of its files ends is not to be seen there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from leakwise.alphabet import Alphabet
from leakwise.errors import InvalidInput
from leakwise.tables.formats import Columns, TableFile
from leakwise.tables.formats.carried_mechanism import KEY
from leakwise.tables.formats.columns import ArrowColumns
from leakwise.tables.formats.folders.parts import Part, find_parts
from leakwise.tables.formats.typed_texts import ColumnType, TextTable, TextType
from leakwise.types import Array

__all__ = ["open_parts"]


def open_parts(path: Path, open_file: Callable[[Path], TableFile]) -> TableFile:
    """Return the table in the files of a folder or of a pattern."""
    parts = find_parts(path)
    tables = [open_file(part.path) for part in parts]
    made = _Texts if isinstance(tables[0], TextTable) else _Arrays
    return made(path, parts, tables)


def _values_of_keys(parts: Sequence[Part], names: Sequence[str]) -> dict[str, tuple[Any, list[Any]]]:
    """The type of each column in the names of folders, and its value for each file.

    A column that the files have, too, is theirs.
    """
    found = {}
    for name in parts[0].keys:
        if name not in names:
            texts = pa.array([part.keys[name] for part in parts], type=pa.string())
            kind = TextType(lambda texts: texts)
            kind.add(texts)
            found[name] = (kind.found, kind.array(texts, kind.found).to_pylist())
    return found


def _refuse_different(path: Path, tables: Sequence[TableFile]) -> None:
    first = tables[0]
    for one in tables:
        if sorted(one.names) != sorted(first.names):
            raise InvalidInput(
                f"The files of {str(path)!r} are not of one table: {one.path.name!r} has the columns {one.names}, "
                f"{first.path.name!r} has {first.names}."
            )


class _Arrays(ArrowColumns):
    """The files have types: Parquet or Arrow."""

    def __init__(self, path: Path, parts: Sequence[Part], tables: Sequence[Any]) -> None:
        super().__init__(path, [part.path for part in parts])
        _refuse_different(path, tables)
        self._tables: Sequence[ArrowColumns] = tables
        self._keys = _values_of_keys(parts, tables[0].names)
        self.names = [*tables[0].names, *self._keys]
        try:
            schema = pa.unify_schemas(
                [one.arrow_schema(tables[0].names).remove_metadata() for one in tables], promote_options="permissive"
            )
        except pa.ArrowException as error:
            raise InvalidInput(f"The files of {str(path)!r} have columns of different types: {error}.") from error
        fields = [*schema, *(pa.field(name, kind) for name, (kind, _) in self._keys.items())]
        self._schema = pa.schema(fields, metadata=tables[0]._schema.metadata)

    @property
    def rows(self) -> int | None:
        known = [one.rows for one in self._tables]
        return None if None in known else sum(filter(None, known))

    @cached_property
    def metadata(self) -> Mapping[bytes, bytes]:
        if len({one.metadata.get(KEY) for one in self._tables}) > 1:
            raise InvalidInput(
                f"The files of {str(self.path)!r} were released by different mechanisms, or some were not released: "
                "they are not one released table. Name those that are by a pattern, or take each by itself."
            )
        return self._tables[0].metadata

    def arrow_batches(self, names: Sequence[str] | None = None) -> Iterator[Any]:
        wanted = self.names if names is None else list(names)
        schema = pa.schema([self._schema.field(name) for name in wanted])
        inside = [name for name in wanted if name not in self._keys]
        for place, one in enumerate(self._tables):
            # A file is counted by a column of its own where only those of its folders are asked for.
            for batch in one.arrow_batches(inside or one.names[:1]):
                columns = [
                    self._constant(name, place, batch.num_rows) if name in self._keys else batch.column(name)
                    for name in wanted
                ]
                cast = [
                    column if column.type == field.type else column.cast(field.type)
                    for column, field in zip(columns, schema, strict=True)
                ]
                yield pa.record_batch(cast, schema=schema)

    def constants(self, place: int) -> Mapping[str, Any]:
        return {name: values[place] for name, (_, values) in self._keys.items()}

    def _constant(self, name: str, place: int, count: int) -> Any:
        kind, values = self._keys[name]
        return pa.repeat(pa.scalar(values[place], kind), count)


class _Texts(TextTable):
    """The files are of text: CSV, TSV or JSON lines."""

    def __init__(self, path: Path, parts: Sequence[Part], tables: Sequence[Any]) -> None:
        super().__init__(path, [part.path for part in parts])
        _refuse_different(path, tables)
        self._tables: Sequence[TextTable] = tables
        self.text_format = tables[0].text_format
        self._keys = _values_of_keys(parts, tables[0].names)
        self.names = [*tables[0].names, *self._keys]

    def batches(self, names: Sequence[str]) -> Iterator[Columns]:
        return self._chained(names, lambda one: one.batches)

    def refusing_batches(self, names: Sequence[str]) -> Iterator[Columns]:
        return self._chained(names, lambda one: one.refusing_batches)

    def _chained(self, names: Sequence[str], read: Callable[[TextTable], Any]) -> Iterator[Columns]:
        inside = [name for name in names if name not in self._keys]
        for place, one in enumerate(self._tables):
            first = inside or one.names[:1]
            for batch in read(one)(first):
                count = len(batch[first[0]])
                keys = {name: one.constant(self._keys[name][1][place], count) for name in names if name in self._keys}
                yield {name: keys[name] if name in keys else batch[name] for name in names}

    def constants(self, place: int) -> Mapping[str, Any]:
        return {name: values[place] for name, (_, values) in self._keys.items()}

    def constant(self, value: Any, count: int) -> Any:
        return self._tables[0].constant(value, count)

    def new_type(self, name: str) -> ColumnType:
        return self._tables[0].new_type(name)

    def holds(self, name: str) -> type | None:
        found = {one.holds(name) for one in self._tables} if name not in self._keys else {None}
        return found.pop() if len(found) == 1 else None

    def encode(self, column: Any, alphabet: Alphabet, *, name: str, outside: bool = False) -> Array:
        return self._tables[0].encode(column, alphabet, name=name, outside=outside)

    def plain(self, column: Any) -> Any:
        return self._tables[0].plain(column)

    def distinct(self, column: Any) -> tuple[list[Any], Array]:
        return self._tables[0].distinct(column)
