"""Arrow's own files: batches in, batches out; the file with its footer, and the bare stream."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from leakwise.errors import InvalidInput
from leakwise.tables.formats import Exchange, Reorder
from leakwise.tables.formats.columns import ArrowColumns, Replacement
from leakwise.tables.formats.names import kind_of

__all__ = ["IpcTable"]


class IpcTable(ArrowColumns):
    """An Arrow IPC file (``.arrow``, ``.feather``) or stream (``.arrows``)."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.kind = kind_of(path)
        with path.open("rb") as stream:
            self._is_stream = stream.read(6) != b"ARROW1"
        with self._open() as reader:
            self._schema = reader.schema
        self.names: list[str] = self._names()

    @contextmanager
    def _open(self, names: Sequence[str] | None = None) -> Iterator[Any]:
        options = pa.ipc.IpcReadOptions()
        if names is not None:
            options.included_fields = [self.names.index(name) for name in dict.fromkeys(names)]
        with pa.OSFile(str(self.path), "rb") as file:
            try:
                opened = pa.ipc.open_stream if self._is_stream else pa.ipc.open_file
                reader = opened(file, options=options)
            except (pa.ArrowException, OSError) as error:
                raise InvalidInput(f"{str(self.path)!r} is not an Arrow file, or it is damaged: {error}.") from error
            with reader:
                yield reader

    @property
    def rows(self) -> int | None:
        return None

    @property
    def parts(self) -> Sequence[int]:
        with self._open(self.names[:1]) as reader:
            return [batch.num_rows for batch in self._read(reader)]

    @property
    def metadata(self) -> Mapping[bytes, bytes]:
        return self._schema.metadata or {}

    def _read(self, reader: Any) -> Iterator[Any]:
        try:
            batches = reader if self._is_stream else map(reader.get_batch, range(reader.num_record_batches))
            for batch in batches:
                # Buffers are taken as the file has them: damaged ones would be read beyond their ends.
                batch.validate(full=True)
                yield batch
        except (pa.ArrowException, OSError) as error:
            raise InvalidInput(f"Cannot read {str(self.path)!r}: {error}.") from error

    def arrow_batches(self, names: Sequence[str] | None = None) -> Iterator[Any]:
        with self._open(names) as reader:
            for batch in self._read(reader):
                yield batch if names is None else batch.select(list(names))

    def _rewrite_alike(
        self, target: BinaryIO, exchange: Exchange, carried: Mapping[bytes, bytes], reorder: Reorder | None
    ) -> Iterator[int]:
        replacement = Replacement(self._schema, exchange.outputs, carried, drop=exchange.dropped)
        new = pa.ipc.new_stream if self._is_stream else pa.ipc.new_file
        # Feather files are compressed by those who write them; plain Arrow files are there to be mapped into memory.
        compression = "lz4" if self.path.suffix.lower() == ".feather" else None
        options = pa.ipc.IpcWriteOptions(compression=compression, emit_dictionary_deltas=True)
        with self._open() as reader, new(target, replacement.schema, options=options) as writer:
            pieces = (
                replacement.batch(batch, exchange({name: batch.column(name) for name in exchange.reads}))
                for batch in self._read(reader)
            )
            for piece in pieces if reorder is None else reorder(pieces):
                writer.write(piece)
                yield piece.num_rows
