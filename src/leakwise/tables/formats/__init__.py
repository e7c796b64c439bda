"""One module for each kind of file. Files are read and written in batches, so that memory does not grow with rows.

A file is opened for what it is by its name: ``.csv``, ``.tsv``, ``.parquet``, ``.arrow`` (also ``.feather``, ``.ipc``,
``.arrows``), ``.jsonl`` (also ``.ndjson``), ``.dta``, ``.sav`` (also ``.zsav``); files of text may be compressed
(``.csv.gz``, ``.jsonl.zst``).
"""

from __future__ import annotations

import contextlib
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from leakwise.alphabet import Alphabet
from leakwise.errors import InvalidInput, did_you_mean, require
from leakwise.tables.address import refuse_address
from leakwise.tables.formats.names import COMPRESSIONS, SUFFIXES, Kind, kind_of
from leakwise.tables.formats.remote import fetched, uri_of
from leakwise.types import Array

__all__ = ["Columns", "Exchange", "Reorder", "TableFile", "is_path", "open_table", "readable"]

Columns = Mapping[str, Any]


class Exchange(Protocol):
    """From columns of a batch to the codes and the labels of what stands in the place of some of them."""

    @property
    def reads(self) -> Sequence[str]:
        """The columns that it must be shown."""

    @property
    def outputs(self) -> Mapping[str, Sequence[Any]]:
        """The columns that are exchanged, with the labels that can stand in each from now on."""

    @property
    def dropped(self) -> Sequence[str]:
        """The columns that do not go out."""

    @property
    def closed(self) -> bool:
        """Whether no column may go out that the table did not name when it was opened."""

    def __call__(self, columns: Columns, /) -> Mapping[str, tuple[Array, Sequence[Any]]]:
        """Return what stands in the place of the columns that are exchanged."""


Reorder = Callable[[Iterable[Any]], Iterator[Any]]
"""From the released rows as Arrow tables, one after the other, to those of the reordered table."""


class TableFile(ABC):
    """A table in a file that can be read, and rewritten with some columns exchanged, batch by batch.

    It stands for its path wherever one is taken, so that what one step has opened the next need not open again.
    """

    names: list[str]
    kind: Kind | None = None
    """The kind of file into which a release keeps the bytes that it does not exchange; None where there is none."""
    text_format: str | None = None
    """The format whose fields it holds as they were written, if it is one of text."""
    closed: bool = False
    """Whether no column may go out that it did not name when it was opened."""
    remembers: bool = False
    """Whether what is read next will be written: then it may be kept in memory, where that takes little of it."""

    copied: bool = False
    """Whether its file is a copy that nobody named: of what came from the standard input."""
    in_batches: bool = False
    """Whether it is released into batches where no place is named: it came in batches, and has no place itself."""
    files: Sequence[Path] = ()
    """The files that it is read from: several for a folder, none for rows that come from elsewhere."""

    def __init__(self, path: Path, files: Sequence[Path] | None = None) -> None:
        self.path = path
        self.files = [path] if files is None else list(files)
        self._stamps = [_stamp(one) for one in self.files]

    def __fspath__(self) -> str:
        return str(self.path)

    @property
    def title(self) -> str | None:
        """What a ledger calls the table, where its user says nothing else: the file or folder, or the whole pattern."""
        if self.copied:
            return None
        if not self.path.exists():
            return str(self.path)
        return self.path.name or self.path.resolve().name

    @property
    def changed(self) -> bool:
        """Whether the file is another than the one that was opened."""
        return [_stamp(one) for one in self.files] != self._stamps

    @property
    def rows(self) -> int | None:
        """The number of rows, where the file says it without being read."""
        return None

    @property
    def metadata(self) -> Mapping[bytes, bytes]:
        """What the file carries beside its rows; nothing where its kind has no room for it."""
        return {}

    @property
    def parts(self) -> Sequence[int]:
        """How many rows each part has of which a released file keeps the bounds; empty where it keeps none."""
        return ()

    def constants(self, place: int) -> Mapping[str, Any]:
        """Return the columns that the names of folders give the rows of one of its files, with their value there."""
        return {}

    def holds(self, name: str) -> type | None:
        """Return the type of a column's values, where there is one; None for whole numbers, or if unknown."""
        return None

    def labels(self, name: str) -> Mapping[Any, str]:
        """Return what the file calls the values of a column, where it has names for them beside the values."""
        return {}

    @abstractmethod
    def batches(self, names: Sequence[str]) -> Iterator[Columns]:
        """Return the named columns, a batch at a time."""

    @abstractmethod
    def arrow_schema(self, names: Sequence[str], drawn: Sequence[str] = ()) -> Any:
        """Return the Arrow schema of columns.

        Columns of ``drawn`` are those that are exchanged: their types are those that the file declares, if it does,
        and never what their values look like.
        """

    @abstractmethod
    def pieces(self, reads: Sequence[str], schema: Any) -> Iterator[tuple[Columns, Any]]:
        """Return columns as they are encoded, and others as a record batch of their Arrow schema, batch by batch."""

    def keeps(self, out: Path) -> bool:
        """Return whether a release into this file keeps the bytes, and the bounds, that it does not exchange."""
        return self.kind is not None and self.kind.alike(kind_of(out, "out"))

    def rewrite(
        self,
        target: BinaryIO,
        out: Path,
        exchange: Exchange,
        carried: Mapping[bytes, bytes],
        reorder: Reorder | None = None,
    ) -> Iterator[int]:
        """Write the table with columns exchanged and dropped; yields the rows of every batch written.

        The name ``out`` says in which kind of file. ``reorder`` puts the released rows into another order.
        """
        from leakwise.tables.formats.compression import compressed
        from leakwise.tables.formats.sinks import write_as

        with compressed(target, out) as stream:
            if self.keeps(out):
                yield from self._rewrite_alike(stream, exchange, carried, reorder)
            else:
                yield from write_as(self, stream, out, exchange, carried, reorder)

    def _rewrite_alike(
        self, target: BinaryIO, exchange: Exchange, carried: Mapping[bytes, bytes], reorder: Reorder | None
    ) -> Iterator[int]:
        """Write into a file of the same kind. A table that has none never comes here."""
        raise InvalidInput(f"{str(self.path)!r} has no kind of file of its own.")

    @abstractmethod
    def encode(self, column: Any, alphabet: Alphabet, *, name: str, outside: bool = False) -> Array:
        """Return the codes of a column of a batch; with ``outside``, -1 for a value that is not declared."""

    def plain(self, column: Any) -> Any:
        """Return a column of a batch in plain values: as it is, where they are."""
        return column

    @abstractmethod
    def distinct(self, column: Any) -> tuple[list[Any], Array]:
        """Return the values of a column of a batch, each once, and the place of every row among them."""


def _stamp(path: Path) -> tuple[int, ...]:
    found = path.stat()
    # A copy that was put in its place may have its size, and was perhaps given its time.
    return found.st_size, found.st_mtime_ns, found.st_dev, found.st_ino, found.st_ctime_ns


def is_path(data: object) -> bool:
    """Return whether the user means a file."""
    return isinstance(data, (str, os.PathLike))


def open_table(path: str | os.PathLike[str], name: str = "file") -> TableFile:
    """Return the table in a file; one that is open already, as it is."""
    if isinstance(path, TableFile):
        return path
    refuse_address(path, name)
    if (uri := uri_of(path)) is not None:
        return fetched(uri, lambda here: open_table(here, name))
    with readable(path):
        return _open(Path(path), name)


@contextlib.contextmanager
def readable(path: str | os.PathLike[str]) -> Iterator[None]:
    """A file that may not be read, or a disk that fails, as an error that names the file."""
    try:
        yield
    except OSError as error:
        raise InvalidInput(f"Cannot read {str(path)!r}: {error.strerror or error}.") from error


def _open(source: Path, name: str) -> TableFile:
    from leakwise.tables.formats.folders.parts import is_pattern

    if source.is_dir() or is_pattern(source):
        require("pyarrow", extra="data", purpose="Reading folders of files")
        from leakwise.tables.formats.folders.folder import open_parts

        return open_parts(source, _open_file)
    kind_of(source, name)
    if not source.is_file():
        raise InvalidInput(f"Cannot read {name} {str(source)!r}: it does not exist.{_near(source)}")
    return _open_file(source)


def _open_file(source: Path) -> TableFile:
    require("pyarrow", extra="data", purpose=f"Reading {source.suffix} files")
    kind = kind_of(source).format
    if kind == "parquet":
        from leakwise.tables.formats.parquet import ParquetTable

        return ParquetTable(source)
    if kind == "ipc":
        from leakwise.tables.formats.ipc import IpcTable

        return IpcTable(source)
    if kind in ("stata", "spss"):
        from leakwise.tables.formats.survey.survey_file import SurveyTable

        return SurveyTable(source)
    if kind == "delimited":
        from leakwise.tables.formats.delimited import DelimitedTable

        return DelimitedTable(source)
    from leakwise.tables.formats.json_lines import JsonLinesTable

    return JsonLinesTable(source)


def _near(path: Path) -> str:
    try:
        beside = [one.name for one in path.parent.iterdir() if one.suffix.lower() in (*SUFFIXES, *COMPRESSIONS)]
    except OSError:
        return ""
    return did_you_mean(path.name, beside)
