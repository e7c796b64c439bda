"""A database file written beside its place and moved there when it is finished.

A database keeps what it dropped: blocks that are free, and headers of earlier states, stay in the file until they are
written over. So a file that is to be shared gets no release written into it that may fail or be replaced: a new file
is made, and takes the old one's place.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from leakwise.errors import InvalidInput

__all__ = ["moved_into_place"]


@contextlib.contextmanager
def moved_into_place(target: Path, *, like: Path, start: Path | None = None) -> Iterator[Path]:
    """Give the path of a database to write, which becomes the target at the end of the block, and vanishes on errors.

    Parameters
    ----------
    target
        The place of the finished database.
    like
        The file whose mode it gets.
    start
        A database to begin with, byte by byte; a new one when left out. It must not change meanwhile.
    """
    try:
        # A folder that nobody else may enter: the database writes more files than the one we know.
        with tempfile.TemporaryDirectory(prefix=".leakwise-", dir=target.parent) as folder:
            made = Path(folder) / target.name
            stamp = None if start is None else _stamp(start)
            if start is not None:
                shutil.copyfile(start, made)
            yield made
            if start is not None and _stamp(start) != stamp:
                raise InvalidInput(
                    f"{str(start)!r} was changed while it was released to. Nothing was written; try again."
                )
            shutil.copymode(like, made)
            with made.open("rb") as stream:
                os.fsync(stream.fileno())
            os.replace(made, target)
    except OSError as error:
        raise InvalidInput(f"Cannot write {str(target)!r}: {error.strerror or error}. Nothing was written.") from error


def _stamp(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_size, found.st_mtime_ns
