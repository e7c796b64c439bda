"""The release of a file: read twice in batches, checked whole before it is written, written atomically."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import unquote

import numpy as np

from leakwise.alphabet import Alphabet, Bins
from leakwise.documents import created_like, written_aside
from leakwise.errors import InvalidInput
from leakwise.mechanism import AnyMechanism
from leakwise.tables.formats import TableFile, is_path, open_table, readable
from leakwise.tables.formats.carried_mechanism import KEY, Carried, pack
from leakwise.tables.formats.folders.parts import belongs
from leakwise.tables.formats.names import kind_of
from leakwise.tables.formats.remote import shown_uri
from leakwise.tables.kinds import frames
from leakwise.tables.kinds.row_labels import RowLabels, labels_in_file
from leakwise.tables.kinds.streams import folder_of
from leakwise.tables.memo.draws import Memo
from leakwise.tables.release.checking import CheckedSecret, RowBeside, RowCheck
from leakwise.tables.release.exchange import Exchanger, Look, Watch
from leakwise.tables.strata.drawn_columns import DrawnColumns

if TYPE_CHECKING:
    from leakwise.sampling import SecureStream
    from leakwise.tables.databases.sql_table import SqlTable

__all__ = ["CheckedFile", "Progress", "check_file", "refuse_partition", "release_file"]

Progress = Callable[[str, int, int | None], None]
"""Called with the stage ("checking", "writing"), the rows done and the rows there are, where that is known."""


@dataclass(frozen=True)
class CheckedFile(CheckedSecret):
    """A file whose secret columns were checked."""

    table: TableFile


def check_file(
    path: str | os.PathLike[str],
    names: Sequence[Hashable],
    alphabet: Alphabet,
    *,
    what: str = "inputs",
    watch: Iterable[Look] = (),
    progress: Progress | None = None,
    beside: RowBeside | None = None,
) -> CheckedFile:
    """Read the secret columns of a file whole, and refuse what is outside the declared domain."""
    table = open_table(path)
    frames.check_names(table.names, names, repr(str(table.path)))
    columns = tuple(str(name) for name in names)
    check = RowCheck(columns, alphabet, what=what, encode=table.encode, watch=watch, beside=beside)
    frames.check_names(table.names, check.reads, repr(str(table.path)))
    labels = {} if what != "inputs" else labels_in_file(table.metadata)
    others = [one for one in labels if one in table.names and one not in columns]
    labelled = {one: RowLabels(labels[one], columns, alphabet) for one in others}
    parts = _Parts(table.parts)
    for batch in _read(table, [*check.reads, *labelled], remembers=what == "inputs"):
        size = len(batch[columns[0]])
        codes = check.add(batch, parts.split(size))
        for one, level in labelled.items():
            level.add(*table.distinct(batch[one]), codes)
        if progress is not None:
            progress("checking", check.seen.rows, table.rows)
    for level in labelled.values():
        level.refuse()
    if not check.seen.rows:
        raise InvalidInput(f"{str(table.path)!r} has no rows: there is nothing to release or to estimate from.")
    strata = None if check.strata is None else check.strata.strata()
    return CheckedFile(columns, check.seen.rows, check.seen.counts, strata, check.order, table)


class _Parts:
    """Cuts the rows as they go by where the released file will be cut: the places of its cuts tell as an order does."""

    def __init__(self, sizes: Iterable[int]) -> None:
        self._ends = np.cumsum(list(sizes), dtype=np.int64)
        self._done = 0

    def split(self, size: int) -> list[tuple[int, slice]]:
        """Return the number of each part that the next rows belong to, and where its rows are among them."""
        first = int(np.searchsorted(self._ends, self._done, "right"))
        last = int(np.searchsorted(self._ends, self._done + size, "left"))
        cuts = [0, *(self._ends[first:last] - self._done).tolist(), size]
        self._done += size
        return [(part, slice(*ends)) for part, ends in enumerate(pairwise(cuts), first)]


def _read(table: TableFile, names: Sequence[str], *, remembers: bool) -> Iterator[Mapping[str, Any]]:
    table.remembers = remembers
    try:
        with readable(table.path):
            yield from table.batches(names)
    finally:
        table.remembers = False


def release_file(
    checked: Sequence[tuple[CheckedFile, AnyMechanism]],
    out: str | os.PathLike[str] | SqlTable,
    *,
    stream: SecureStream | None = None,
    overwrite: bool = False,
    after: Sequence[Watch] = (),
    progress: Progress | None = None,
    shuffle: bool = False,
    coarsen: Mapping[Any, Bins] | None = None,
    drop: Sequence[Any] = (),
    memo: Memo | None = None,
    drawn: DrawnColumns | None = None,
) -> Path | SqlTable:
    """Write the released table of one file, of which every secret was checked, and give back its place.

    Outcomes that were ``drawn`` already are written as they are.
    """
    table = checked[0][0].table
    server = None if is_path(out) else cast("SqlTable", out)
    target = None if server is not None else Path(cast(Any, out))
    if target is not None:
        refuse_target(table, target, overwrite=overwrite)
    secrets = [(one.names, mechanism) for one, mechanism in checked]
    exchange = Exchanger(
        secrets,
        encode=table.encode,
        stream=stream,
        after=after,
        coarsen=coarsen,
        drop=drop,
        memo=memo,
        plain=table.plain,
        drawn=drawn,
    )
    carried = pack(
        [Carried(one.names, mechanism) for one, mechanism in checked],
        _told_before(table, target, [one.names for one, _ in checked]),
        unsafe_seed=stream is not None and stream.seeded,
    )
    reorder = None
    if shuffle:
        from leakwise.tables.release.shuffle import shuffler

        reorder = shuffler(Path(tempfile.gettempdir()) if target is None else target.parent, stream)
    done = 0

    def told(rows: int) -> None:
        nonlocal done
        done += rows
        if progress is not None:
            progress("writing", done, checked[0][0].rows)

    def checks() -> None:
        if done != checked[0][0].rows or table.changed:
            raise InvalidInput(
                f"{str(table.path)!r} was changed while it was released. Nothing was written; try again."
            )

    if server is not None:
        from leakwise.tables.databases.server_table import write_to_server

        write_to_server(table, server, exchange, carried, reorder, told, checks, replace=overwrite)
        return server
    assert target is not None
    with created_like(*table.files, target), written_aside(target) as file:
        for rows in table.rewrite(file, target, exchange, carried, reorder):
            told(rows)
        checks()
    return target


def _told_before(table: TableFile, target: Path | None, secrets: Sequence[Sequence[str]]) -> Mapping[bytes, bytes]:
    """What the table carries, or says in files next to it, about an earlier release that the target is to carry on."""
    if KEY in table.metadata or (target is not None and not kind_of(target).carries):
        return table.metadata
    from leakwise.tables.estimate.beside import earlier_release, released_beside

    others = [tuple(one.names) for one in released_beside(table)]
    named = dict.fromkeys([*map(tuple, secrets), *others])
    return pack([one for names in named for one in earlier_release(table, names)], {}) if named else {}


def refuse_target(table: TableFile, target: Path, *, overwrite: bool) -> None:
    """Everything about the place of the output that can be known to be wrong beforehand."""
    kind_of(target, "out")
    folder = target.parent
    if not folder.is_dir():
        raise InvalidInput(f"Cannot write {str(target)!r}: the folder {str(folder)!r} does not exist.")
    if target.is_dir():
        raise InvalidInput(f"Cannot write {str(target)!r}: it is a folder. Name a file in it.")
    if target.exists() and any(one.exists() and os.path.samefile(target, one) for one in table.files):
        raise InvalidInput(
            f"out must not be the table itself: {str(target)!r}. The true values would be lost. Choose another name."
        )
    if belongs(target, table.path):
        raise InvalidInput(
            f"out must not be among the files of the table: {str(target)!r} would be one of {str(table.path)!r}, and "
            "be read as such the next time. Choose another place."
        )
    if target.exists() and not overwrite:
        raise InvalidInput(
            f"{str(target)!r} exists already. A second release of the same secret reveals more than the first alone; "
            "if it is to take the first one's place, say overwrite (overwrite=True, --overwrite)."
        )
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InvalidInput(f"Cannot write {str(target)!r}: the folder {str(folder)!r} is not open for writing.")


def refuse_columns(table: TableFile, out: Path | SqlTable, others: Sequence[Hashable]) -> None:
    """Refuse columns that the kind of the released file cannot hold; ``others`` do not go out as they are."""
    names = [name for name in table.names if name not in others]
    if not isinstance(out, Path):
        from leakwise.tables.databases import server_table

        server_table.refuse_types(table, out, names)
    elif not table.keeps(out):
        from leakwise.tables.formats.sinks import refuse_types

        refuse_types(table, out, names)


def refuse_partition(paths: Iterable[Any], names: Iterable[Hashable]) -> None:
    """Refuse files in folders such as ``smokes=yes``, whose names tell the secret of every row in them."""
    # Hive writes names in lower case, and signs that are special in paths by their numbers.
    known = tuple(f"{name}=".casefold() for name in names)
    for path in (Path(one) for one in map(folder_of, paths) if is_path(one)):
        # Also where the folder is reached by another name.
        for part in dict.fromkeys((*path.parts, *path.resolve().parts)):
            if part.casefold().startswith(known) or unquote(part).casefold().startswith(known):
                raise InvalidInput(
                    f"{shown_uri(str(path))!r} is in {part!r}, which reveals the secret of all its rows, whatever is "
                    "released. Put the rows of all such folders into one file first, and release that to another place."
                )
