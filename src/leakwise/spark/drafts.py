"""Drafts: where a release is drawn before it is finished, and what becomes of them when the driver dies.

A draft is a hidden folder beside the place of the release. Nothing in it was ever handed out, so a draft whose process
is gone can be removed and its rows drawn again.
"""

from __future__ import annotations

import os
import platform
import re
import secrets
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from leakwise.errors import InvalidInput, LeakwiseWarning, some_of
from leakwise.spark.folders import Folders

__all__ = ["DRAWN", "TABLE", "check_draft", "clear_abandoned", "clear_stream", "draft"]

DRAWN, TABLE = "/drawn", "/table"
"""In a draft: rows that were drawn and are to be shuffled, and the table that is to be released."""

_NOTE = "/owner.json"
_TOKEN = 24
_BATCH = re.compile(rf"\.leakwise-batch=\d+-[0-9a-f]{{{_TOKEN}}}")


class _Owner(msgspec.Struct, frozen=True):
    """The process that draws: its machine since when it is up, its space of process numbers, its number and start."""

    host: str
    boot: str
    space: str
    process: int
    started: str


@contextmanager
def draft(folders: Folders, target: str) -> Iterator[str]:
    """A new folder beside the target for the time of a release; whatever is left in it then is removed."""
    path = _beginning(target) + secrets.token_hex(_TOKEN // 2)
    folders.make(path)
    try:
        folders.write(path + _NOTE, msgspec.json.encode(_this_process()))
        yield path
    finally:
        folders.remove(path)


def check_draft(folders: Folders, path: str) -> None:
    """Refuse to release from a draft that someone took away while it was being written: rows may be missing."""
    if folders.read(path + _NOTE) is None:
        raise InvalidInput(
            f"The draft {path!r} was removed while it was being written, by another run of the same release. Nothing "
            "was released by this one."
        )


def clear_abandoned(folders: Folders, target: str) -> None:
    """Remove the drafts of a target whose process is gone; name those whose process cannot be seen from here."""
    start, here, unknown = _beginning(target), _this_process(), []
    for path in folders.beginning_with(start):
        token = path.rpartition("/")[2].removeprefix(start.rpartition("/")[2])
        if len(token) != _TOKEN:
            continue
        gone = _is_abandoned(folders, path, here)
        if gone:
            folders.remove(path)
        elif gone is None:
            unknown.append(path)
    if unknown:
        warnings.warn(
            f"Drafts of unfinished releases lie beside {target!r}, made by processes that cannot be seen from here: "
            f"{some_of(unknown)}. Remove them when those jobs no longer run. Their rows were never handed out.",
            LeakwiseWarning,
            stacklevel=4,
        )


def clear_stream(folders: Folders, folder: str) -> None:
    """Remove the drafts of all batches of a stream that nobody writes any more.

    Tasks may outlive a driver that was killed, and write after a restart has cleared its draft and released the batch:
    so every batch clears what any of them left. A stream has one driver at a time, by its checkpoint: a draft of
    another machine is one of a driver that was replaced. Should that run still, it finds its draft gone and releases
    nothing.
    """
    here = _this_process()
    for path in folders.beginning_with(f"{folder}/.leakwise-batch="):
        if _BATCH.fullmatch(path.rpartition("/")[2]) and _is_abandoned(folders, path, here) is not False:
            folders.remove(path)


def _is_abandoned(folders: Folders, path: str, here: _Owner) -> bool | None:
    """Whether nobody writes a draft any more; None where that cannot be known."""
    owner = _owner(folders.read(path + _NOTE))
    if owner is None:
        # The note comes before the first draw: draws without one were written by tasks that outlived their job.
        return any(folders.exists(path + part) for part in (DRAWN, TABLE))
    return _is_gone(owner, here)


def _beginning(target: str) -> str:
    folder, _, name = target.rpartition("/")
    return f"{folder}/.leakwise-{name}-"


def _this_process() -> _Owner:
    return _Owner(
        host=platform.node(),
        boot=_text("/proc/sys/kernel/random/boot_id"),
        space=os.readlink("/proc/self/ns/pid") if os.path.islink("/proc/self/ns/pid") else "",
        process=os.getpid(),
        started=_started(os.getpid()),
    )


def _owner(note: bytes | None) -> _Owner | None:
    """Whose draft it is; None where the note is not there yet, and with it no draws."""
    try:
        return None if note is None else msgspec.json.decode(note, type=_Owner)
    except msgspec.DecodeError:
        return None


def _is_gone(owner: _Owner, here: _Owner) -> bool | None:
    """Whether a process is gone; None where that cannot be known, as on another machine."""
    if owner.host != here.host:
        return None
    if owner.boot != here.boot:
        return True
    return _started(owner.process) != owner.started if owner.space == here.space else None


def _started(process: int) -> str:
    """When a process started, in ticks since the machine did; nothing where there is no such process."""
    after_name = _text(f"/proc/{process}/stat").rpartition(")")[2].split()
    if len(after_name) > 19:
        return after_name[19]
    if os.name != "posix" or os.path.exists("/proc/self/stat"):
        return ""
    try:
        os.kill(process, 0)  # asks for its existence, and does nothing to it
    except ProcessLookupError:
        return ""
    except PermissionError:
        pass
    return "running"


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
