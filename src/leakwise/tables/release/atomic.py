"""A file written whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from leakwise.documents import creation_mode
from leakwise.errors import InvalidInput

__all__ = ["check_target", "written_aside"]

_HANDLES = "/proc/self/fd"


def check_target(target: Path, sources: tuple[Path, ...] = (), *, overwrite: bool = False) -> None:
    """Refuse a place that cannot or must not be written to, before any work is done."""
    folder = target.parent
    if not folder.is_dir():
        raise InvalidInput(f"Cannot write {str(target)!r}: the folder {str(folder)!r} does not exist.")
    if target.is_dir():
        raise InvalidInput(f"Cannot write {str(target)!r}: it is a folder. Name a file in it.")
    for source in sources:
        if target.exists() and source.exists() and os.path.samefile(target, source):
            raise InvalidInput(
                f"out must not be the table itself: {str(target)!r}. The true values would be lost. Choose another "
                "name."
            )
    if target.exists() and not overwrite:
        raise InvalidInput(
            f"{str(target)!r} exists already. A second release of the same secret reveals more than the first alone; "
            "if it is to take the first one's place, say overwrite (overwrite=True, --overwrite)."
        )
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InvalidInput(f"Cannot write {str(target)!r}: the folder {str(folder)!r} is not open for writing.")


@contextlib.contextmanager
def written_aside(target: Path) -> Iterator[BinaryIO]:
    """A stream whose bytes become the target when all of them are on the disk, and vanish otherwise.

    Where the system has files without a name, a process that is killed leaves no trace: the file gets a name
    only when it is whole.
    """
    aside = target.parent / f".{secrets.token_hex(12)}.part"
    try:
        handle, nameless = _open(aside)
        # Closed first by the with statement, so that an error of closing ends here too.
        with os.fdopen(handle, "wb", buffering=1 << 20) as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
            if nameless:
                _name(stream.fileno(), aside)
        os.replace(aside, target)
        _sync_folder(target.parent)
    except OSError as error:
        raise InvalidInput(
            f"Cannot write {str(target)!r}: {error.strerror or error}. Nothing was left behind."
        ) from error
    finally:
        with contextlib.suppress(OSError):
            aside.unlink()


def _open(aside: Path) -> tuple[int, bool]:
    """A new file: without a name where that is possible, else under a name of its own."""
    unnamed = getattr(os, "O_TMPFILE", 0)
    if unnamed and Path(_HANDLES).is_dir():
        try:
            return os.open(aside.parent, os.O_RDWR | unnamed, creation_mode()), True
        except OSError as error:
            if error.errno not in (errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.ENOENT):
                raise
    return os.open(aside, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), creation_mode()), False


def _name(handle: int, aside: Path) -> None:
    """Give a name to a file that has none."""
    known = os.open(_HANDLES, os.O_RDONLY)
    try:
        # Python follows the link to the file only where it is told a folder to start from.
        os.link(str(handle), aside, src_dir_fd=known, follow_symlinks=True)
    finally:
        os.close(known)


def _sync_folder(folder: Path) -> None:
    """The new name itself on the disk, where a folder can be opened."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
