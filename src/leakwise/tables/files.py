"""The release of a file: read twice in batches, checked whole before it is written, written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from leakwise.alphabet import Alphabet
from leakwise.errors import InvalidInput
from leakwise.mechanism import Mechanism
from leakwise.tables.aside import check_target, written_aside
from leakwise.tables.carried import Carried, pack
from leakwise.tables.formats import TableFile, check_names, open_table, same_kind
from leakwise.tables.joint import decode_parts, encode_columns, parts_of
from leakwise.tables.sampler import draw_codes

if TYPE_CHECKING:
    from leakwise.sampling import SecureStream

__all__ = ["CheckedFile", "Progress", "Seen", "Watch", "check_file", "counted", "release_file"]

Progress = Callable[[str, int, int | None], None]
"""Called with the stage ("checking", "writing"), the rows done and the rows there are, where that is known."""

Watch = Callable[[npt.NDArray[Any]], None]
"""Sees the codes of every batch as they go by."""


@dataclass
class Seen:
    """How many rows went by, and how often each code was among them."""

    counts: npt.NDArray[np.int64]
    rows: int = 0

    def add(self, codes: npt.NDArray[Any]) -> None:
        """Count a batch."""
        self.rows += codes.size
        # In blocks, because np.bincount makes an index of eight bytes for every row.
        for start in range(0, codes.size, _BLOCK):
            self.counts += np.bincount(codes[start : start + _BLOCK], minlength=self.counts.size)


_BLOCK = 1 << 18


@dataclass(frozen=True)
class CheckedFile:
    """A file whose secret columns were read and found to be within their declared domain."""

    table: TableFile
    names: tuple[str, ...]
    alphabet: Alphabet
    rows: int
    counts: npt.NDArray[np.int64] = field(repr=False)
    stamp: tuple[int, int]


def check_file(
    path: str | os.PathLike[str],
    names: Sequence[Hashable],
    alphabet: Alphabet,
    *,
    what: str = "inputs",
    watch: Iterable[Watch] = (),
    progress: Progress | None = None,
) -> CheckedFile:
    """Read the secret columns of a file whole, and refuse what is outside the declared domain."""
    table = open_table(path)
    check_names(table.path, table.names, names)
    columns = tuple(str(name) for name in names)
    stamp = _stamp(table.path)
    seen = Seen(np.zeros(len(alphabet), dtype=np.int64))
    for batch in table.batches(columns):
        codes = encode_columns([batch[name] for name in columns], columns, alphabet, what, encode=table.encode)
        seen.add(codes)
        for each in watch:
            each(codes)
        if progress is not None:
            progress("checking", seen.rows, table.rows)
    if not seen.rows:
        raise InvalidInput(f"{str(table.path)!r} has no rows: there is nothing to release or to estimate from.")
    return CheckedFile(table, columns, alphabet, seen.rows, seen.counts, stamp)


def counted(codes: npt.NDArray[Any], size: int) -> npt.NDArray[np.int64]:
    """How often each of ``size`` codes occurs."""
    seen = Seen(np.zeros(size, dtype=np.int64))
    seen.add(codes)
    return seen.counts


def release_file(
    checked: Sequence[tuple[CheckedFile, Mechanism]],
    out: str | os.PathLike[str],
    *,
    stream: SecureStream | None = None,
    overwrite: bool = False,
    watch: Sequence[Watch] = (),
    progress: Progress | None = None,
) -> Path:
    """Write the released table of one file, of which every secret was checked, and give back its path."""
    table = checked[0][0].table
    target = Path(out)
    refuse_target(table.path, target, overwrite=overwrite)
    names = [name for one, _ in checked for name in one.names]
    outputs = {name: labels for one, m in checked for name, labels in _outputs(one.names, m).items()}
    samplers = [mechanism.sampler for _, mechanism in checked]  # one that cannot be drawn from exactly says so here
    carried = pack([Carried(one.names, mechanism) for one, mechanism in checked], table.metadata)

    def exchange(batch: Mapping[str, Any]) -> dict[str, tuple[npt.NDArray[Any], Sequence[Any]]]:
        new: dict[str, tuple[npt.NDArray[Any], Sequence[Any]]] = {}
        for turn, ((one, mechanism), sampler) in enumerate(zip(checked, samplers, strict=True)):
            columns = [batch[name] for name in one.names]
            codes = encode_columns(columns, one.names, mechanism.input_alphabet, "inputs", encode=table.encode)
            drawn = draw_codes(codes, sampler, stream)
            if turn < len(watch):
                watch[turn](drawn)
            if len(one.names) == 1:
                new[one.names[0]] = (drawn, mechanism.outputs)
                continue
            parts = decode_parts(drawn, mechanism.output_alphabet, one.names)
            for name, (labels, part) in zip(one.names, parts, strict=True):
                new[name] = (part, labels)
        return new

    done = 0
    with written_aside(target) as file:
        for rows in table.rewrite(file, names, outputs, exchange, carried):
            done += rows
            if progress is not None:
                progress("writing", done, checked[0][0].rows)
        if done != checked[0][0].rows or _stamp(table.path) != checked[0][0].stamp:
            raise InvalidInput(
                f"{str(table.path)!r} was changed while it was released. Nothing was written; try again."
            )
    return target


def refuse_target(source: Path, target: Path, *, overwrite: bool) -> None:
    """Everything about the place of the output that can be known to be wrong beforehand."""
    if not same_kind(source, target):
        raise InvalidInput(
            f"out {str(target)!r} must be a file of the same kind as {str(source)!r} ({source.suffix}). Convert the "
            "released file afterwards."
        )
    check_target(target, (source,), overwrite=overwrite)


def _outputs(names: Sequence[str], mechanism: Mechanism) -> dict[str, Sequence[Any]]:
    """The labels that can stand in each column after the release."""
    if len(names) == 1:
        return {names[0]: mechanism.outputs}
    parts = parts_of(mechanism.output_alphabet, names, "outputs")
    return {name: list(dict.fromkeys(values)) for name, values in zip(names, parts, strict=True)}


def _stamp(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_size, found.st_mtime_ns
