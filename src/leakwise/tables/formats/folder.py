"""A folder of Parquet files that are one table, as Spark writes it. It is read; Spark itself writes such folders."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec

from leakwise.errors import InvalidInput
from leakwise.tables.formats.carried_mechanism import KEY, Carried, carried_secrets, pack
from leakwise.tables.formats.columns import ArrowColumns
from leakwise.tables.formats.parquet import ParquetTable

__all__ = ["ParquetFolder", "is_parquet_folder"]

# Where Spark notes the schema of the DataFrame, with what its columns carry.
_ROW_METADATA = b"org.apache.spark.sql.parquet.row.metadata"


class _Field(msgspec.Struct):
    name: str
    metadata: dict[str, Any] = {}


class _Schema(msgspec.Struct):
    fields: list[_Field] = []


def _parts(path: Path) -> list[Path]:
    """The files of rows; names that begin with a dot or an underscore are not for readers."""
    return sorted(one for one in path.glob("*.parquet") if one.name[0] not in "._" and one.is_file())


def is_parquet_folder(path: Path) -> bool:
    """Return whether the user means a table in several files."""
    return path.is_dir() and bool(_parts(path))


class ParquetFolder(ArrowColumns):
    """The table in a folder of Parquet files."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        if (path / "_temporary").exists() or not (path / "_SUCCESS").exists():
            raise InvalidInput(
                f"{str(path)!r} is not whole: a job is writing to it, or was stopped there. Read it when the job is "
                "done. (If another program wrote it and it is whole, put an empty file _SUCCESS there.)"
            )
        self._files = [ParquetTable(part) for part in _parts(path)]
        self._schema = self._files[0]._schema
        self.names: list[str] = list(self._schema.names)
        for one in self._files:
            if one.names != self.names:
                raise InvalidInput(
                    f"The files of {str(path)!r} are not of one table: {one.path.name!r} has the columns {one.names}, "
                    f"{self._files[0].path.name!r} has {self.names}."
                )

    @property
    def rows(self) -> int | None:
        return sum(one.rows or 0 for one in self._files)

    @cached_property
    def metadata(self) -> Mapping[bytes, bytes]:
        found = dict(self._schema.metadata or {})
        secrets = _told_by_spark(found.get(_ROW_METADATA, b"{}"), str(self.path))
        return {**found, **pack(secrets, {})} if secrets else found

    def arrow_batches(self, names: Sequence[str] | None = None) -> Iterator[Any]:
        for one in self._files:
            yield from one.arrow_batches(self.names if names is None else names)


def _told_by_spark(note: bytes, name: str) -> list[Carried]:
    """The released secrets that the columns of a DataFrame spoke of."""
    try:
        fields = msgspec.json.decode(note, type=_Schema).fields
    except msgspec.DecodeError:
        return []  # not of the form that Spark writes: it says nothing about a release
    found: list[Carried] = []
    for field in fields:
        if (told := field.metadata.get(KEY.decode())) is not None:
            found += [one for one in carried_secrets({KEY: str(told).encode()}, name) if one not in found]
    return found
