"""Files of other machines, by the file systems of pyarrow: ``s3://``, ``gs://``, ``abfs://``, ``hdfs://``, ``file://``.

A file is fetched once, into a folder that nobody else can enter, and read there; so it cannot change between the check
and the release. A released file is written here first, and put in its place when it is whole.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from leakwise.errors import InvalidInput, require
from leakwise.tables.formats.names import kind_of

__all__ = ["Upload", "fetched", "private_file", "shown_uri", "uri_of"]

_URI = re.compile(r"([a-z][a-z0-9+.-]+):/+(.*)", re.DOTALL)
# Where an object appears when it is whole, and never before.
_OBJECT_STORES = ("s3", "gcs", "abfs")

Table = TypeVar("Table")


def uri_of(path: str | os.PathLike[str]) -> str | None:
    """Return the address that is meant, also where a path has swallowed a slash; None for a path of this machine.

    >>> uri_of(Path("s3://bucket/survey.csv"))
    's3://bucket/survey.csv'
    """
    found = _URI.fullmatch(os.fspath(path))
    if found is None or os.path.exists(path):
        return None
    scheme, rest = found.groups()
    return f"file:///{rest}" if scheme == "file" else f"{scheme}://{rest}"


def shown_uri(uri: str) -> str:
    """Return an address without what may be secret in it: the user, the password, and the options.

    >>> shown_uri("s3://key:secret@bucket/survey.csv?region=eu-west-1")
    's3://bucket/survey.csv'
    """
    return _without_passwords(uri) if uri_of(uri) is not None else uri


class _Place:
    """A file system, and a path in it."""

    def __init__(self, uri: str) -> None:
        self.shown = shown_uri(uri)
        self._library = require("pyarrow.fs", extra="data", purpose="Reading and writing files of other machines")
        with self.reached("reach"):
            self.system, self.path = self._library.FileSystem.from_uri(uri)

    @contextmanager
    def reached(self, what: str) -> Iterator[None]:
        """What goes wrong on the way as an error that names the address."""
        try:
            yield
        except (OSError, ValueError, NotImplementedError) as error:  # Arrow's errors are among these
            if isinstance(error, InvalidInput):
                raise
            raise InvalidInput(f"Cannot {what} {self.shown!r}: {_redacted(error)}.") from None

    @property
    def local(self) -> Path | None:
        """The path, where it is one of this machine."""
        return Path(self.path) if isinstance(self.system, self._library.LocalFileSystem) else None

    def is_there(self) -> bool:
        """Return whether there is a file, or a folder."""
        with self.reached("reach"):
            return bool(self.system.get_file_info(self.path).type != self._library.FileType.NotFound)

    def fetch(self, folder: Path) -> Path:
        """Copy the file, or the folder, into a folder of this machine."""
        target = folder / (Path(self.path).name or "table")
        with self.reached("read"):
            kind = self.system.get_file_info(self.path).type
            if kind == self._library.FileType.NotFound:
                raise InvalidInput(f"Cannot read {self.shown!r}: it does not exist.")
            if kind == self._library.FileType.Directory:
                target.mkdir()
                here = self._library.LocalFileSystem()
                self._library.copy_files(
                    self.path, str(target), source_filesystem=self.system, destination_filesystem=here
                )
                return target
            kind_of(target)
            # As it is: by its name, pyarrow would decompress it.
            with self.system.open_input_stream(self.path, compression=None) as source, private_file(target) as copy:
                shutil.copyfileobj(source, copy, 1 << 20)
        return target

    def put(self, source: Path) -> None:
        """Copy a file of this machine to the place, where it appears when it is whole."""
        whole = self.system.type_name in _OBJECT_STORES
        aside = self.path if whole else f"{self.path}.{secrets.token_hex(8)}.part"
        with self.reached("write"):
            try:
                with source.open("rb") as stream, self.system.open_output_stream(aside, compression=None) as copy:
                    shutil.copyfileobj(stream, copy, 1 << 20)
                if not whole:
                    self.system.move(aside, self.path)
            except BaseException:
                if not whole:
                    with suppress(OSError):
                        self.system.delete_file(aside)
                raise


def private_file(path: Path) -> Any:
    """Open a new file to be written that only its owner can read."""
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600), "wb")


def _redacted(error: Exception) -> str:
    return _without_passwords(str(error)).rstrip(".")


def _without_passwords(text: str) -> str:
    return re.sub(r"(:/+)[^\s/@]*:[^\s/@]*@|\?\S*", r"\1", text)


def fetched(uri: str, opened: Callable[[Path], Table]) -> Table:
    """Return the table of an address, opened by ``opened`` from a copy that vanishes with it."""
    place = _Place(uri)
    if place.local is not None:
        return opened(place.local)
    folder = tempfile.mkdtemp()  # for its owner alone
    try:
        table = opened(place.fetch(Path(folder)))
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    weakref.finalize(table, shutil.rmtree, folder, ignore_errors=True)
    return table


class Upload:
    """A file that is written here, and put into its place at an address when it is whole."""

    def __init__(self, uri: str, *, overwrite: bool) -> None:
        self._place = _Place(uri)
        if self._place.local is not None:
            self.file = self._place.local
            return
        if not overwrite and self._place.is_there():
            raise InvalidInput(
                f"{self._place.shown!r} exists already. A second release of the same secret reveals more than the "
                "first alone; if it is to take the first one's place, say overwrite (overwrite=True)."
            )
        folder = tempfile.mkdtemp()
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        self.file = Path(folder) / Path(self._place.path).name

    def put(self) -> Path | str:
        """Put the file into its place; gives back its path, or its address."""
        if self._place.local is not None:
            return self.file
        self._place.put(self.file)
        return self._place.shown
