"""CSV and TSV: the bytes of the secret fields are exchanged, all other bytes of the file stay as they are.

A record ends with a line feed outside quotes; fields are those of RFC 4180 (a quote inside a quoted field is doubled).
What is not of this form is refused, since a field that is found wrongly could be one that should have been hidden.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from leakwise.alphabet import Alphabet
from leakwise.errors import InvalidInput
from leakwise.tables.formats import Columns, Exchange, Reorder
from leakwise.tables.formats.compression import opened
from leakwise.tables.formats.names import kind_of
from leakwise.tables.formats.texts import TextCoder, texts_of, value_of, write_reordered
from leakwise.tables.formats.typed_texts import TextTable, TextType
from leakwise.types import Array, Bools, Indices

__all__ = ["DelimitedTable"]

_BLOCK = 4 << 20
_LONGEST_RECORD = 64 << 20
_BOM = b"\xef\xbb\xbf"
_QUOTE, _FEED, _RETURN = b'"\n\r'


class DelimitedTable(TextTable):
    """A text file with one record per line and a header."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.kind = kind_of(path)
        self._coders: dict[tuple[type, Alphabet], TextCoder] = {}
        with opened(path) as stream:
            start = stream.read(1 << 20)
        if start[:2] in (b"\xff\xfe", b"\xfe\xff"):
            raise InvalidInput(f"{str(path)!r} is in UTF-16. Save it as UTF-8 first.")
        if not start.removeprefix(_BOM).strip():
            raise InvalidInput(f"{str(path)!r} is empty: it has no header and no rows.")
        line = start.removeprefix(_BOM).partition(b"\n")[0]
        if not line.strip():
            raise InvalidInput(f"The first line of {str(path)!r} is empty. It must name the columns.")
        tabs = self.kind.ending.startswith(".tsv")
        self._delimiter = ord("\t") if tabs else ord(";") if b";" in line and b"," not in line else ord(",")
        head = next(self._records())
        self.names = [_unquoted(field) for field in head.fields_of_first()]
        self._quoted = [field.startswith(b'"') for field in head.fields_of_first()]

    # -- reading ------------------------------------------------------------------------------------------------

    def _blocks(self) -> Iterator[bytes]:
        """The file in blocks of whole records."""
        rest = b""
        with opened(self.path) as stream:
            while True:
                read = stream.read(_BLOCK)
                block = rest + read
                if not read:
                    if block:
                        yield block
                    return
                end = _last_end(block)
                if end == 0 and len(block) > _LONGEST_RECORD:
                    raise InvalidInput(
                        f"{str(self.path)!r} has a record of more than {_LONGEST_RECORD >> 20} MB. A quote that is "
                        "opened and never closed does that."
                    )
                if end:
                    yield block[:end]
                rest = block[end:]

    def _records(self) -> Iterator[_Records]:
        before, width = 0, None
        for block in self._blocks():
            records = _Records(block, self._delimiter, width, before, self.path)
            width = records.width
            before += records.count
            yield records

    def batches(self, names: Sequence[str]) -> Iterator[Columns]:
        places = [self.names.index(name) for name in names]
        first = True
        for records in self._records():
            parts = records.split(places, skip=first)
            first = False
            yield dict(zip(names, parts.fields(), strict=True))

    def _rewrite_alike(
        self, target: BinaryIO, exchange: Exchange, carried: Mapping[bytes, bytes], reorder: Reorder | None
    ) -> Iterator[int]:
        # In the order of the file, because that is the order in which its bytes are written.
        cut = sorted([*exchange.outputs, *exchange.dropped], key=self.names.index)
        texts = {name: self._texts(name, labels) for name, labels in exchange.outputs.items()}
        reads, places, dropped = (
            [self.names.index(one) for one in some] for some in (exchange.reads, cut, exchange.dropped)
        )
        width = len(self.names) - len(dropped)
        nothing = pa.array([b""], type=pa.binary())

        def released() -> Iterator[tuple[bytes, int]]:
            endings = set[bool]()
            for turn, records in enumerate(self._records()):
                endings |= records.returns()
                if len(endings) > 1:
                    raise InvalidInput(
                        f"{str(self.path)!r} ends some lines with a carriage return and others without, which tells "
                        "what file a row once came from. Save it with one kind of line ends first."
                    )
                if records.blank and width == 1:
                    raise InvalidInput(
                        f"{str(self.path)!r} has empty lines, which would be rows of the one column that is left. "
                        "Remove them first."
                    )
                read = records.split(reads, skip=turn == 0)
                new = exchange(dict(zip(exchange.reads, read.fields(), strict=True)))
                fields = [
                    texts[name].take(pa.array(new[name][0])) if name in new else nothing.take(_zeros(read.count))
                    for name in cut
                ]
                parts = read
                if dropped or len(reads) > len(cut):
                    # The header loses fields too, and keeps those that are exchanged in the rows below it.
                    parts = records.split(places, skip=turn == 0 and not dropped, dropped=dropped)
                    if parts.count > read.count:
                        heads = [b"" if place in dropped else records.fields_of_first()[place] for place in places]
                        fields = [
                            pa.concat_arrays([pa.array([head], type=pa.binary()), field])
                            for head, field in zip(heads, fields, strict=True)
                        ]
                yield parts.joined(fields), read.count

        if reorder is None:
            for block, count in released():
                target.write(block)
                yield count
            return
        blocks = (bytes(block) for block, _ in released())
        first = next(blocks)
        head, *rest = self._lines(first, 0, width)
        # One ending for all lines: the last of a file may have none, and would be known by it.
        ending = b"\r\n" if first[len(head) : len(head) + 2] == b"\r\n" else b"\n"
        target.write(head + ending)
        others = (self._lines(block, 1, width) for block in blocks)
        yield from write_reordered(target, itertools.chain([rest], others), reorder, ending)

    def _lines(self, block: bytes, before: int, width: int) -> list[bytes]:
        """The records of a block (the header among them where nothing is before it), without blank lines."""
        return _Records(block, self._delimiter, width, before, self.path).lines() if block else []

    def _texts(self, name: str, labels: Sequence[Any]) -> Any:
        """The fields of the outcomes. Quotes follow the outcome and the header: following the row would tell of it."""
        quoted = self._quoted[self.names.index(name)]
        special = {chr(self._delimiter), '"', "\n", "\r"}

        def write(label: Any) -> str:
            text = _written(label)
            if label is None or not (quoted or text == "" or special.intersection(text)):
                return text
            return '"' + text.replace('"', '""') + '"'

        return pa.array(texts_of(labels, write, name), type=pa.binary())

    # -- values -------------------------------------------------------------------------------------------------

    def encode(self, column: Any, alphabet: Alphabet, *, name: str, outside: bool = False) -> Array:
        coder = self._coders.setdefault((type(alphabet), alphabet), TextCoder(alphabet, _value))
        encoded = column.dictionary_encode()
        return coder.codes(encoded.dictionary.to_pylist(), encoded.indices.to_numpy(), name, outside)

    def plain(self, column: Any) -> Any:
        quoted = pc.starts_with(column, '"')
        if not pc.any(quoted).as_py():
            return column
        inside = pc.replace_substring(pc.binary_slice(column, 1, -1), '""', '"')
        return pc.if_else(quoted, inside, column)

    def new_type(self, name: str) -> TextType:
        return TextType(self._shown)

    def _shown(self, column: Any) -> Any:
        """The fields as texts; an empty one that is not quoted is missing."""
        texts = pc.if_else(pc.equal(pc.binary_length(column), 0), pa.scalar(None, pa.binary()), self.plain(column))
        try:
            return texts.cast(pa.string())
        except pa.ArrowInvalid as error:
            raise InvalidInput(f"{str(self.path)!r} is not in UTF-8. Save the file as UTF-8 first.") from error

    def distinct(self, column: Any) -> tuple[list[Any], Array]:
        encoded = column.dictionary_encode()
        known: dict[str, int] = {}
        texts = [_unquoted(raw) for raw in encoded.dictionary.to_pylist()]
        places = np.array([known.setdefault(text, len(known)) for text in texts], dtype=np.int64)
        return list(known), places[encoded.indices.to_numpy()]


def _zeros(count: int) -> Any:
    return pa.array(np.zeros(count, dtype=np.int32))


def _written(label: Any) -> str:
    if label is None:
        return ""
    if isinstance(label, bool):
        return "true" if label else "false"
    return label.isoformat() if hasattr(label, "isoformat") else str(label)


def _unquoted(field: bytes) -> str:
    text = field[1:-1].replace(b'""', b'"') if field[:1] == b'"' else field
    try:
        return text.decode()
    except UnicodeDecodeError as error:
        raise InvalidInput(f"The field {field!r} is not in UTF-8. Save the file as UTF-8 first.") from error


def _value(field: bytes, alphabet: Alphabet) -> Any:
    """The value of a field; an empty one is missing where the alphabet knows missing values.

    A quoted one is the empty text where the alphabet knows that too. Some programs quote every field, the missing too.
    """
    if not field and (None in alphabet.index or "" not in alphabet.index):
        return None
    if field == b'""' and None in alphabet.index and "" not in alphabet.index:
        return None
    return value_of(_unquoted(field), alphabet)


def _last_end(block: bytes) -> int:
    """Where the last whole record of a block ends."""
    if _QUOTE not in block:
        return block.rfind(b"\n") + 1
    data = np.frombuffer(block, dtype=np.uint8)
    feeds = np.flatnonzero(data == _FEED)
    outside = np.searchsorted(np.flatnonzero(data == _QUOTE), feeds) % 2 == 0
    return int(feeds[outside][-1]) + 1 if outside.any() else 0


class _Records:
    """Whole records of a file: where their fields begin and end."""

    def __init__(self, block: bytes, delimiter: int, width: int | None, before: int, path: Path) -> None:
        self._path, self._before = path, before
        skip = len(_BOM) if before == 0 and block.startswith(_BOM) else 0
        self.block = block if block.endswith(b"\n") else block + b"\n"
        self._added = len(self.block) - len(block)
        data = np.frombuffer(self.block, dtype=np.uint8)
        ends = np.flatnonzero((data == delimiter) | (data == _FEED))
        if _QUOTE in block:
            ends = self._outside_quotes(data, ends, delimiter)
        feeds = data[ends] == _FEED
        self._data = data
        starts = np.empty_like(ends)
        starts[0] = skip
        starts[1:] = ends[:-1] + 1
        if width is None:
            width = int(np.argmax(feeds)) + 1
        fields = ends.size
        if width > 1:
            starts, ends, feeds = self._without_blank_lines(starts, ends, feeds)
        self.blank = ends.size < fields
        if feeds.sum() * width != ends.size or not feeds.reshape(-1, width)[:, -1].all():
            self._refuse_ragged(feeds, width)
        self.width = width
        self.count = ends.size // width
        self._starts, self._ends = starts.reshape(-1, width), ends.reshape(-1, width)

    def _outside_quotes(self, data: npt.NDArray[np.uint8], ends: Array, delimiter: int) -> Array:
        """The ends of fields that are not inside quotes; quotes must stand where RFC 4180 has them."""
        quotes = np.flatnonzero(data == _QUOTE)
        if quotes.size % 2:
            raise InvalidInput(f"{str(self._path)!r} has a quote that is opened and never closed.")
        opening, closing = quotes[::2], quotes[1::2]
        breaks = np.array([delimiter, _FEED, _QUOTE], dtype=np.uint8)
        before = data[np.maximum(opening - 1, 0)]
        begins = (opening == 0) | np.isin(before, breaks)
        if self._before == 0:
            begins |= (opening == len(_BOM)) & self.block.startswith(_BOM)
        after, second = data[closing + 1], data[np.minimum(closing + 2, data.size - 1)]
        finishes = np.isin(after, breaks) | ((after == _RETURN) & (second == _FEED))
        if not (begins & finishes).all():
            place = int(opening[np.argmin(begins & finishes)])
            line = self._before + 1 + int((ends[data[ends] == _FEED] < place).sum())
            raise InvalidInput(
                f"{str(self._path)!r} has a quote inside a field that is not quoted, near record {line}. Write such a "
                "field "
                'in quotes, with its own quotes doubled: "5"" pipe".'
            )
        outside: Array = ends[np.searchsorted(quotes, ends) % 2 == 0]
        return outside

    def _without_blank_lines(self, starts: Any, ends: Any, feeds: Any) -> tuple[Any, Any, Any]:
        """Lines with nothing in them are no records, and stay where they are."""
        first = np.empty_like(feeds)
        first[0] = True
        first[1:] = feeds[:-1]
        length = ends - starts
        blank = feeds & first & ((length == 0) | ((length == 1) & (self._data[starts] == _RETURN)))
        return (starts[~blank], ends[~blank], feeds[~blank]) if blank.any() else (starts, ends, feeds)

    def _refuse_ragged(self, feeds: Bools, width: int) -> None:
        lengths = np.diff(np.flatnonzero(np.append(True, feeds)))
        wrong = int(np.argmax(lengths != width))
        raise InvalidInput(
            f"Record {self._before + wrong + 1} of {str(self._path)!r} has {lengths[wrong]} fields, its header has "
            f"{width}. Every record must have one field for each column."
        )

    def fields_of_first(self) -> list[bytes]:
        """Return the fields of the first record."""
        ends = self._without_returns(self._ends[:1], self.width - 1)
        return [self.block[a:b] for a, b in zip(self._starts[0].tolist(), ends[0].tolist(), strict=True)]

    def lines(self) -> list[bytes]:
        """Return the bytes of every record without the end of its line; a byte order mark stays with the first."""
        starts = self._starts[:, 0].tolist()
        ends = self._without_returns(self._ends, self.width - 1)[:, -1].tolist()
        starts[0] = 0 if self._before == 0 else starts[0]
        return [self.block[start:end] for start, end in zip(starts, ends, strict=True)]

    def returns(self) -> set[bool]:
        """Return whether there is a carriage return before the line feeds; a last line without a feed says nothing."""
        ends = self._ends[: self.count - bool(self._added), -1]
        return set((self._data[np.maximum(ends - 1, 0)] == _RETURN).tolist())

    def _without_returns(self, ends: Array, last: int) -> Array:
        """A carriage return before the line feed belongs to the end of the line."""
        result = ends.copy()
        result[:, last] -= self._data[np.maximum(ends[:, last] - 1, 0)] == _RETURN
        return result

    def split(self, places: Sequence[int], *, skip: bool, dropped: Sequence[int] = ()) -> _Parts:
        """Return the block cut before and after the fields in the given places of every record (but the header).

        A field that is dropped goes with the delimiter before it; before the first that is kept, with the one after it.
        """
        chosen = np.array(places)
        starts, ends = self._starts[skip:, chosen], self._ends[skip:, chosen]
        if places and self.width - 1 in places:
            ends = self._without_returns(ends, list(places).index(self.width - 1))
        if dropped:
            kept = min(place for place in range(self.width) if place not in dropped)
            starts = starts - np.isin(chosen, [place for place in dropped if place > kept])
            ends = ends + np.isin(chosen, [place for place in dropped if place < kept])
        order = np.argsort(chosen)
        return _Parts(self.block, starts, ends, order, self._added)


class _Parts:
    """A block as alternating parts: what is kept, a field, what is kept, a field … , what is kept."""

    def __init__(self, block: bytes, starts: Any, ends: Any, order: Indices, added: int) -> None:
        self.count, self._width = starts.shape
        self._order, self._added = order, added
        offsets = np.zeros(2 * starts.size + 2, dtype=np.int32)
        offsets[1:-1:2] = starts[:, order].ravel()
        offsets[2:-1:2] = ends[:, order].ravel()
        offsets[-1] = len(block)
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(block)]
        self._array = pa.BinaryArray.from_buffers(pa.binary(), 2 * starts.size + 1, buffers)

    def fields(self) -> list[Any]:
        """Return the fields of each place, in the order they were asked for."""
        result: list[Any] = [None] * self._width
        for turn, place in enumerate(self._order):
            rows = np.arange(self.count, dtype=np.int32) * np.int32(2 * self._width) + np.int32(2 * turn + 1)
            result[place] = self._array.take(pa.array(rows))
        return result

    def joined(self, fields: Sequence[Any]) -> Any:
        """Return the bytes of the block with new fields, given in the order of the file."""
        if not self.count:
            whole = self._array
        else:
            mask = np.zeros(len(self._array), dtype=np.bool_)
            mask[1::2] = True
            new = fields[0]
            if len(fields) > 1:  # row by row, the fields of a row in the order of the file
                turns = np.arange(self.count * len(fields)).reshape(len(fields), -1).T.ravel()
                new = pa.concat_arrays(fields).take(pa.array(turns))
            whole = pc.replace_with_mask(self._array, pa.array(mask), new)
        ends = np.frombuffer(whole.buffers()[1], dtype=np.int32)[whole.offset :]
        first, last = int(ends[0]), int(ends[len(whole)])
        return memoryview(whole.buffers()[2])[first : last - self._added]
