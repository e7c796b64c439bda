"""Makes the files of the exhibits: a table, two pictures and a record each, and the pages around them.

A record names the code and the parameters that made it, and the digests of its files: what is still true is left as it
is, so that a run that was stopped goes on where it ended. Nothing in the files depends on the time or on the order of
the work: two runs give the same bytes.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import multiprocessing
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from threading import Thread
from typing import Any

import leakwise.errors
from leakwise.documents import write_atomically
from leakwise.errors import InvalidInput
from leakwise.papers.exhibit import SHOWN, Exhibit, exhibits, find

__all__ = ["Run", "code", "is_current", "make", "read_record", "run", "stamp"]

Told = Callable[[str, float, str], None]
"""Called with the full name of an exhibit, the share of it that is done, and a few words."""

# Rooms that no exhibit uses: a change there leaves the pictures as they are.
_OTHER_ROOMS = (
    "__init__.py",
    "__main__.py",
    "blackbox",
    "cli",
    "papers",
    "sklearn",
    "spark",
    "studio",
    "tables",
    "workflow",
)
_LIBRARIES = ("numpy", "scipy", "highspy", "python-flint", "vl-convert-python")
# The papers whose exhibits take longest are started first, so that no core waits for the last of them.
_LONGEST_FIRST = ("PR", "ED", "EN", "EX", "WC", "LW")


@dataclass
class Run:
    """What a run did: the full names of the exhibits made, of those still true, and of those that failed, with why."""

    directory: Path
    made: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "directory": str(self.directory),
            "gallery": str(self.directory / "index.html"),
            "made": self.made,
            "kept": self.kept,
            "failed": self.failed,
        }


def run(
    directory: str | os.PathLike[str],
    names: Sequence[str] = (),
    *,
    fast: bool = False,
    again: bool = False,
    jobs: int = 2,
    told: Told | None = None,
) -> Run:
    """Make the exhibits that are asked for, and the gallery of all that are there.

    Parameters
    ----------
    directory
        Where the files go: ``<directory>/<paper>/<name>.csv``, ``.svg``, ``.png``, ``.json``, and ``index.html``.
    names
        Papers or exhibits, as :func:`leakwise.papers.find` reads them; everything by default.
    fast
        Small settings: a look at the whole in seconds.
    again
        Make them even where their files are still true.
    jobs
        How many processes work at the same time; 1 works in this one.
    told
        Called as the work goes on.
    """
    from leakwise.papers.gallery import write_gallery

    if jobs < 1:
        raise InvalidInput(f"jobs must be at least 1. Got {jobs!r} instead.")
    target = Path(directory)
    wanted = find(names)
    result = Run(target)
    open_work = []
    for made in wanted:
        if not again and is_current(target, made, fast=fast):
            result.kept.append(made.full_name)
            if told is not None:
                told(made.full_name, 1.0, "still true")
        else:
            open_work.append(made)
    for made, error in _work(target, open_work, fast, jobs, told):
        if error is None:
            result.made.append(made.full_name)
        else:
            result.failed[made.full_name] = error
    places = {made.full_name: place for place, made in enumerate(wanted)}
    result.made.sort(key=places.__getitem__)
    write_gallery(target)
    return result


# ------------------------------------------------------------------------------------------------------ one exhibit


def make(
    directory: Path, made: Exhibit, *, fast: bool = False, told: Told | None = None, mark: str | None = None
) -> None:
    """Compute one exhibit and write its files; its record is written last, and all at once.

    ``mark`` is its stamp, where someone has it already.
    """
    from leakwise.charts import render

    mark = mark or stamp(made, fast=fast)  # of the code as it is now, not as it may be when the work is done
    progress = None if told is None else lambda share, words: told(made.full_name, share, words)
    with warnings.catch_warnings(record=True) as notes:
        warnings.simplefilter("always")
        result = made(fast=fast, progress=progress)
    base = directory / made.full_name
    base.parent.mkdir(parents=True, exist_ok=True)
    files: dict[str, bytes] = {"csv": result.csv().encode()}
    if result.chart is not None:
        files |= {"svg": render.svg(result.chart).encode(), "png": render.png(result.chart)}
    for suffix in ("csv", "svg", "png", "json"):
        _file(base, suffix).unlink(missing_ok=True)
    for suffix, content in files.items():
        write_atomically(_file(base, suffix), content)
    record = {
        "stamp": mark,
        "files": {suffix: hashlib.sha256(content).hexdigest() for suffix, content in files.items()},
        "paper": made.paper,
        "name": made.name,
        "number": made.number,
        "title": made.title,
        "shows": made.shows,
        "printed": made.printed,
        "seed": made.seed,
        "parameters": {name: _plain(value) for name, value in made.parameters.items()},
        "fast": fast,
        "rows": len(result.rows),
        "description": None if result.chart is None else result.chart.get("description"),
        "findings": [{**f.to_dict(), "ours": _number(f.ours)} for f in result.findings],
        "notes": sorted({str(note.message) for note in notes}),
    }
    write_atomically(_file(base, "json"), (json.dumps(record, ensure_ascii=False, indent=1) + "\n").encode())
    if told is not None:
        told(made.full_name, 1.0, "made")


def _file(base: Path, suffix: str) -> Path:
    return base.with_name(f"{base.name}.{suffix}")


def _number(value: float | str) -> float | str:
    # JSON has no infinity.
    return str(value) if isinstance(value, float) and not abs(value) < float("inf") else value


def _plain(value: object) -> object:
    """A parameter as JSON: numbers and texts as they are, sequences as lists, the rest as text."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, (list, tuple)):
        return [_plain(entry) for entry in value]
    return str(value)


def read_record(directory: Path, made: Exhibit) -> dict[str, Any] | None:
    """The record of an exhibit, or None where there is none."""
    try:
        found = json.loads(_file(directory / made.full_name, "json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if not isinstance(found, dict) or "files" not in found:
        return None
    for finding in found["findings"]:
        finding.setdefault("beyond", False)  # records of older versions do not say
    return found


def is_current(directory: Path, made: Exhibit, *, fast: bool) -> bool:
    """Whether the files of an exhibit are those that it would make now."""
    record = read_record(directory, made)
    if record is None or record["stamp"] != stamp(made, fast=fast):
        return False
    for suffix, digest in record["files"].items():
        file = _file(directory / made.full_name, suffix)
        if not file.is_file() or hashlib.sha256(file.read_bytes()).hexdigest() != digest:
            return False
    return True


def stamp(made: Exhibit, *, fast: bool) -> str:
    """A digest of all that an exhibit depends on: the code, its libraries, its texts, parameters and settings."""
    facts = [
        code(SHOWN[made.paper].module),
        made.full_name,
        made.number,
        made.title,
        made.shows,
        made.printed,
        repr(sorted((name, repr(value)) for name, value in made.parameters.items())),
        "fast" if fast else "full",
    ]
    return hashlib.sha256("\0".join(facts).encode()).hexdigest()


@cache
def code(*modules: str) -> str:
    """A digest of the rooms that an exhibit may use, of modules of this one, and of the libraries' versions."""
    root = Path(leakwise.errors.__file__).parent
    files = [file for file in root.rglob("*.py") if file.relative_to(root).parts[0] not in _OTHER_ROOMS]
    papers = root / "papers"
    files.append(papers / "exhibit.py")
    for module in modules:
        files += [*papers.glob(f"{module}*.py"), *papers.glob(f"{module}/**/*.py")]
    files += (root / "data").rglob("*.csv")
    digest = hashlib.sha256()
    for file in sorted(set(files)):
        digest.update(file.relative_to(root).as_posix().encode() + b"\0" + file.read_bytes() + b"\0")
    for library in _LIBRARIES:
        try:
            version = importlib.metadata.version(library)
        except importlib.metadata.PackageNotFoundError:
            version = "none"
        digest.update(f"{library} {version}\0".encode())
    return digest.hexdigest()


# ------------------------------------------------------------------------------------------------------ all of them


def _work(
    directory: Path, wanted: Sequence[Exhibit], fast: bool, jobs: int, told: Told | None
) -> Iterator[tuple[Exhibit, str | None]]:
    if jobs == 1 or len(wanted) < 2:
        for made in wanted:
            yield made, _attempt(directory, made, fast, told)
        return
    ordered = sorted(wanted, key=lambda made: _LONGEST_FIRST.index(made.paper))
    context = multiprocessing.get_context("spawn")  # a fork of a process with threads may hang
    messages: Any = context.Queue()
    listener = Thread(target=_listen, args=(messages, told), daemon=True)
    listener.start()
    try:
        with _one_thread_each():
            pool = ProcessPoolExecutor(min(jobs, len(wanted)), context, initializer=_begin, initargs=(messages,))
            try:
                waiting = {
                    pool.submit(
                        _attempt_named, str(directory), made.paper, made.name, fast, stamp(made, fast=fast)
                    ): made
                    for made in ordered
                }
                for done in as_completed(waiting):
                    yield waiting[done], _outcome(done)
            finally:
                # Someone who stops the run waits for what is under way at most.
                pool.shutdown(cancel_futures=True)
    finally:
        messages.put(None)
        listener.join()


def _outcome(done: Future[str | None]) -> str | None:
    try:
        return done.result()
    except BrokenProcessPool:
        return "its process ended without a word, perhaps for lack of memory; run it again with --jobs 1"


def _attempt(directory: Path, made: Exhibit, fast: bool, told: Told | None, mark: str | None = None) -> str | None:
    """None, or why the exhibit could not be made: one failure must not end the others."""
    try:
        make(directory, made, fast=fast, told=told, mark=mark)
    except Exception as error:  # whatever it is: the run tells it at its end, by name and by exit code
        return f"{type(error).__name__}: {error}"
    return None


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """Numerical libraries of the workers keep to one thread: there are as many workers as cores."""
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    before = {name: os.environ.get(name) for name in names}
    os.environ.update(dict.fromkeys(names, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _listen(messages: Any, told: Told | None) -> None:
    while (message := messages.get()) is not None:
        if told is not None:
            told(*message)


_MESSAGES: list[Any] = []


def _begin(messages: Any) -> None:
    _MESSAGES.append(messages)


def _attempt_named(directory: str, paper: str, name: str, fast: bool, mark: str) -> str | None:
    made = next(one for one in exhibits(paper) if one.name == name)
    return _attempt(Path(directory), made, fast, lambda *message: _MESSAGES[-1].put(message), mark)
