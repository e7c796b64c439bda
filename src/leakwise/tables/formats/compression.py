"""The bytes of a file of text, compressed or not: one way to open them, and one way to write them.

A compressed file has a header that may name the file it was made of and the time: the ones written here say neither.
"""

from __future__ import annotations

import contextlib
import gzip
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, cast

from leakwise.errors import InvalidInput
from leakwise.tables.formats.names import kind_of

__all__ = ["compressed", "opened"]

# Compressors are fed by so many bytes at a time: what they give may depend on where a feed ends, and the blocks in
# which a file is read end where the lengths of its secret fields put it.
_FEED = 1 << 20


@contextlib.contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """Open a file to be read, without its compression where its name says that it has one."""
    compression = kind_of(path).compression
    if compression is None:
        with path.open("rb") as stream:
            yield stream
        return
    import pyarrow as pa

    try:
        with pa.CompressedInputStream(pa.OSFile(str(path), "rb"), compression) as inner:
            yield cast(BinaryIO, io.BufferedReader(cast(Any, inner), buffer_size=_FEED))
    except OSError as error:
        if error.errno is not None:
            raise
        raise InvalidInput(
            f"{str(path)!r} is not a {compression} file, or it is damaged or cut off: {error}."
        ) from error


@contextlib.contextmanager
def compressed(target: BinaryIO, out: Path) -> Iterator[BinaryIO]:
    """Compress what is written into the target, where the name of the file says so."""
    compression = kind_of(out, "out").compression
    if compression is None:
        yield target
        return
    with contextlib.ExitStack() as stack:
        inner: Any
        if compression == "gzip":
            inner = stack.enter_context(gzip.GzipFile("", "wb", compresslevel=6, fileobj=target, mtime=0))
        else:
            import pyarrow as pa

            # Closing this one would close the target, too, whose owner has still to put it in place.
            inner = stack.enter_context(pa.CompressedOutputStream(pa.PythonFile(_Open(target), "w"), compression))
        feed = _Feed(inner)
        yield cast(BinaryIO, feed)
        feed.finish()


class _Open(io.RawIOBase):
    """A stream that stays open."""

    def __init__(self, target: BinaryIO) -> None:
        self._target = target

    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int:
        self._target.write(data)
        return len(memoryview(data).cast("B"))


class _Feed(io.RawIOBase):
    """Hands on what is written in pieces of one size."""

    def __init__(self, inner: Any) -> None:
        self._inner, self._held = inner, bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int:
        size = len(memoryview(data).cast("B"))
        self._held += data
        whole = len(self._held) // _FEED * _FEED
        for start in range(0, whole, _FEED):
            self._inner.write(bytes(self._held[start : start + _FEED]))
        del self._held[:whole]
        return size

    def finish(self) -> None:
        """Hand on the rest."""
        self._inner.write(bytes(self._held))
        self._held.clear()
