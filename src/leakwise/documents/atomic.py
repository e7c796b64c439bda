"""A file written atomically, with no permission that the file it is made of lacks."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
from collections.abc import Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import BinaryIO

from leakwise.errors import InvalidInput

__all__ = ["created_like", "private", "write_atomically", "write_new", "written_aside"]

_HANDLES = "/proc/self/fd"
_MODE: ContextVar[int] = ContextVar("mode", default=0o666)


@contextlib.contextmanager
def created_like(*paths: str | os.PathLike[str] | None) -> Iterator[None]:
    """Files that are made meanwhile get no permission that one of the given files lacks.

    What is made of a table that only its owner may read must not be open to all. A path that is not there, or None,
    asks for nothing.
    """
    mode = _MODE.get()
    for path in paths:
        with contextlib.suppress(OSError):
            mode &= 0o666 if path is None else os.stat(path).st_mode
    token = _MODE.set(mode | 0o600)  # the owner can write and read what was just made
    try:
        yield
    finally:
        _MODE.reset(token)


@contextlib.contextmanager
def private() -> Iterator[None]:
    """Files that are made meanwhile are for their owner alone."""
    token = _MODE.set(0o600)
    try:
        yield
    finally:
        _MODE.reset(token)


def write_atomically(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file atomically: all of it, or nothing."""
    with written_aside(Path(path)) as stream:
        stream.write(content)


def write_new(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file that only its owner can read and write; one that exists stays, and is a FileExistsError."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    with os.fdopen(os.open(path, flags, 0o600), "wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())
    _sync_folder(Path(path).parent)


@contextlib.contextmanager
def written_aside(target: Path) -> Iterator[BinaryIO]:
    """A stream whose bytes become the target when all of them are on the disk, and vanish otherwise.

    Where the system has files without a name, a process that is killed leaves no trace: the file gets a name only when
    it is whole.
    """
    if "\0" in str(target):
        raise InvalidInput(f"Cannot write {str(target)!r}: a path has no zero byte.")
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
    """A new file: without a name where that is possible, else under a name of its own.

    Opened by hand and not by tempfile: the user's umask takes away from the permissions asked for, as always.
    """
    unnamed = getattr(os, "O_TMPFILE", 0)
    if unnamed and Path(_HANDLES).is_dir():
        try:
            return os.open(aside.parent, os.O_RDWR | unnamed, _MODE.get()), True
        except OSError as error:
            if error.errno not in (errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.ENOENT):
                raise
    return os.open(aside, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), _MODE.get()), False


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
