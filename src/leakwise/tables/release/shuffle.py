"""Rows in a random order, all orders equally likely, also where they do not fit into memory.

Every row draws one of a few dozen heaps at random; then each heap is shuffled by itself, and the heaps follow one
another. That is the same as sorting the rows by random numbers of which the heap is the leading part, so the order is
exactly uniform. What goes to the disk on the way are released rows, in files that have no name and vanish with the
process.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from leakwise.sampling import random_order, stream_for_this_thread
from leakwise.tables.formats import Reorder
from leakwise.tables.kinds.of_arrow import take

if TYPE_CHECKING:
    from leakwise.sampling import SecureStream

__all__ = ["shuffled", "shuffler"]

# Bytes of rows held at a time, the number of heaps (a power of two), and rows given back at a time.
_HELD = 256 << 20
_BITS = 6
_ROWS = 1 << 17


def shuffler(folder: Path, stream: SecureStream | None) -> Reorder:
    """Give what shuffles the rows of a table, with room for them in a folder."""
    return lambda pieces: shuffled(pieces, folder, stream)


def shuffled(
    pieces: Iterable[Any], folder: Path, stream: SecureStream | None = None, held: int = _HELD
) -> Iterator[Any]:
    """Yield the rows of Arrow tables of one schema in a uniformly random order.

    Parameters
    ----------
    pieces
        Arrow tables or record batches.
    folder
        Where rows are put that do not fit into memory.
    stream
        Where the random words come from; the secure stream of the calling thread when left out.
    held
        Bytes of rows to hold in memory at a time.
    """
    words = stream_for_this_thread() if stream is None else stream
    tables: list[Any] = []
    size = 0
    with ExitStack() as stack:
        heaps: list[_Heap] = []
        for piece in pieces:
            tables.append(piece if isinstance(piece, pa.Table) else pa.Table.from_batches([piece]))
            size += tables[-1].nbytes
            if size > held:
                heaps = heaps or [stack.enter_context(_Heap(folder)) for _ in range(1 << _BITS)]
                _spread(_joined(tables), heaps, words)
                tables, size = [], 0
        if not heaps:
            yield from _taken(tables, words)
            return
        if tables:
            _spread(_joined(tables), heaps, words)
        del tables
        for heap in heaps:
            if heap.bytes > held and heap.rows > 1:
                yield from shuffled(heap.read(), folder, words, held)
            else:
                yield from _taken(list(heap.read()), words)


def _joined(tables: list[Any]) -> Any:
    # One dictionary for all: rows of several chunks can then stand in one.
    return pa.concat_tables(tables).unify_dictionaries()


def _taken(tables: list[Any], stream: SecureStream) -> Iterator[Any]:
    """The rows of tables that fit into memory."""
    if not tables:
        return
    table = _joined(tables)
    tables.clear()
    order = random_order(table.num_rows, stream)
    for start in range(0, order.size, _ROWS):
        yield take(table, order[start : start + _ROWS])


def _spread(table: Any, heaps: list[_Heap], stream: SecureStream) -> None:
    chosen = stream.words(table.num_rows, _BITS)
    order = np.argsort(chosen, kind="stable")
    ends = np.searchsorted(chosen[order], np.arange(len(heaps) + 1))
    for heap, start, end in zip(heaps, ends[:-1].tolist(), ends[1:].tolist(), strict=True):
        if end > start:
            heap.add(take(table, order[start:end]))


class _Heap:
    """Rows on the disk, in a file without a name."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.rows = self.bytes = 0

    def __enter__(self) -> _Heap:
        self._file = tempfile.TemporaryFile(dir=self._folder)
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def add(self, table: Any) -> None:
        self.rows += table.num_rows
        self.bytes += table.nbytes
        # A stream of its own for every piece, since its dictionaries may differ from those of the last one.
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as writer:
            writer.write_table(table)
        data = sink.getvalue()
        self._file.write(len(data).to_bytes(8, "little"))
        self._file.write(data)

    def read(self) -> Iterator[Any]:
        self._file.seek(0)
        while size := self._file.read(8):
            with pa.ipc.open_stream(self._file.read(int.from_bytes(size, "little"))) as reader:
                yield reader.read_all()
