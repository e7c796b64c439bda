"""Records of delimited text: where their fields begin and end, and their bytes with other fields in some places.

A record ends with a line feed outside quotes; fields are those of RFC 4180 (a quote inside a quoted field is doubled).
What is not of this form is refused, since a field that is found wrongly could be one that should have been hidden.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from leakwise.errors import InvalidInput
from leakwise.types import Array, Bools, Indices

__all__ = ["BOM", "Parts", "Records", "blocks"]

_BLOCK = 2 << 20
_LONGEST_RECORD = 64 << 20
# Just below the size beyond which the C library never keeps memory.
_KEPT_MEMORY = (32 << 20) - (8 << 10)
BOM = b"\xef\xbb\xbf"
_QUOTE, _FEED, _RETURN = b'"\n\r'

_Bytes = npt.NDArray[np.uint8]


def blocks(stream: BinaryIO, path: Path) -> Iterator[bytes]:
    """Return a file in blocks of whole records."""
    # The C library gives large blocks back to the system, and clears their pages each time it asks for them again.
    # It stops that for sizes up to the largest it has seen given back.
    np.empty(_KEPT_MEMORY, dtype=np.uint8)
    rest = b""
    while read := stream.read(_BLOCK):
        end = _last_end(rest, read)
        if end == 0 and len(rest) + len(read) > _LONGEST_RECORD:
            raise InvalidInput(
                f"{str(path)!r} has a record of more than {_LONGEST_RECORD >> 20} MB. A quote that is opened and never "
                "closed does that."
            )
        if end:
            yield b"".join((rest, memoryview(read)[:end]))
        rest = read[end:] if end else rest + read
    if rest:
        yield rest


def _last_end(rest: bytes, read: bytes) -> int:
    """Where the last record ends of what was read, after the beginning of a record; 0 where none does."""
    last = read.rfind(b"\n")
    if last < 0 or (_QUOTE not in read and _QUOTE not in rest):
        return last + 1
    quotes = np.frombuffer(read, dtype=np.uint8) == _QUOTE
    opened = rest.count(b'"')
    if (opened + np.count_nonzero(quotes[:last])) % 2 == 0:
        return last + 1
    feeds = np.flatnonzero(np.frombuffer(read, dtype=np.uint8) == _FEED)
    outside = (opened + np.searchsorted(np.flatnonzero(quotes), feeds)) % 2 == 0
    return int(feeds[outside][-1]) + 1 if outside.any() else 0


class Records:
    """The whole records of a block of bytes.

    Parameters
    ----------
    block
        Bytes that begin where a record begins and end where one ends; the last may lack its line feed.
    delimiter
        What stands between fields.
    width
        How many fields a record has; None for as many as the first.
    before
        How many records of the file came before.
    path
        The file, for messages.
    """

    def __init__(self, block: bytes, delimiter: int, width: int | None, before: int, path: Path) -> None:
        self._path, self._before = path, before
        self._skip = len(BOM) if before == 0 and block.startswith(BOM) else 0
        self.block = block if block.endswith(b"\n") else block + b"\n"
        self._added = len(self.block) - len(block)
        self._data: _Bytes = np.frombuffer(self.block, dtype=np.uint8)
        self._has_returns = _RETURN in block
        quotes = self._data == _QUOTE if _QUOTE in block else None
        marks = self._data == delimiter
        marks |= self._data == _FEED
        ends = np.flatnonzero(marks)
        feeds = self._data[ends] == _FEED
        # Most blocks hold no quotes but those around whole fields. That can be seen without asking of every byte
        # whether it is inside quotes.
        guess = int(np.argmax(feeds)) + 1 if width is None else width
        if self._shaped(ends, feeds, guess) and (quotes is None or self._only_around_fields(quotes)):
            return
        if quotes is not None:
            ends = self._outside_quotes(np.flatnonzero(marks | quotes))
            feeds = self._data[ends] == _FEED
        width = int(np.argmax(feeds)) + 1 if width is None else width
        if self._shaped(ends, feeds, width):
            return
        blank = self._blank_lines(ends, feeds) if width > 1 else np.zeros_like(feeds)
        if not self._shaped(ends[~blank], feeds[~blank], width):
            self._refuse_ragged(feeds[~blank], width)
        self.blank = bool(blank.any())
        self._firsts = self._starts(ends)[~blank][::width]

    @property
    def nbytes(self) -> int:
        """How much memory they take."""
        return len(self.block) + self._ends.nbytes + self._firsts.nbytes

    def _shaped(self, ends: Indices, feeds: Bools, width: int) -> bool:
        """Whether these ends of fields are those of records of so many fields: then they are taken for that."""
        if np.count_nonzero(feeds) * width != ends.size or not feeds[width - 1 :: width].all():
            return False
        self.width, self.count, self.blank = width, ends.size // width, False
        self._ends = ends.reshape(-1, width)
        self._firsts = np.empty(self.count, dtype=np.intp)
        self._firsts[:1] = self._skip
        self._firsts[1:] = self._ends[:-1, -1] + 1
        return True

    def _starts(self, ends: Indices) -> Indices:
        starts = np.empty_like(ends)
        starts[0] = self._skip
        starts[1:] = ends[:-1] + 1
        return starts

    # -- quotes and blank lines ---------------------------------------------------------------------------------

    def _only_around_fields(self, quotes: Bools) -> bool:
        """Whether every quote is the first or the last byte of a field, if every delimiter and line feed ends one.

        Then none of them is inside quotes: there are two quotes, or none, between any two of them.
        """
        ends = self._ends.ravel()
        # With a byte before the first one, the byte before a place is at the place itself.
        shifted = np.zeros(quotes.size + 2, dtype=np.bool_)
        shifted[1:-1] = quotes
        closed, opened = shifted[ends], np.empty_like(ends, dtype=np.bool_)
        opened[0], opened[1:] = quotes[self._skip], shifted[2:][ends[:-1]]
        steps = np.empty_like(ends)
        steps[0] = ends[0] - self._skip + 1
        np.subtract(ends[1:], ends[:-1], out=steps[1:])
        if self._has_returns:
            returns = self._returns()
            closed.reshape(self._ends.shape)[:, -1] = shifted[self._ends[:, -1] - returns]
            steps.reshape(self._ends.shape)[:, -1] -= returns
        around = opened & closed
        around &= steps > 2  # the quotes are two, not one
        return bool(2 * np.count_nonzero(around) == np.count_nonzero(quotes))

    def _outside_quotes(self, marks: Indices) -> Indices:
        """The ends of fields, given the places of delimiters, line feeds and quotes.

        Quotes must stand where RFC 4180 has them: an opening one after any of the three, a closing one before.
        """
        kinds = self._data[marks]
        quotes = kinds == _QUOTE
        inside = np.bitwise_xor.accumulate(quotes.view(np.uint8)).view(np.bool_)
        if inside[-1]:
            raise InvalidInput(f"{str(self._path)!r} has a quote that is opened and never closed.")
        near = np.zeros(marks.size + 1, dtype=np.bool_)
        near[0] = marks[0] == self._skip
        np.equal(marks[1:], marks[:-1] + 1, out=near[1:-1])
        if (quotes & ~np.where(inside, near[:-1], near[1:])).any():
            self._refuse_misplaced(marks, quotes)
        outside: Indices = marks[~(quotes | inside)]
        return outside

    def _refuse_misplaced(self, marks: Indices, quotes: Bools) -> None:
        """Refuse quotes that have another byte beside them, unless that is the carriage return of the line's end."""
        opening, closing = marks[quotes][::2], marks[quotes][1::2]
        begins = np.isin(opening - 1, marks) | (opening == self._skip)
        ended = (self._data[closing + 1] == _RETURN) & (
            self._data[np.minimum(closing + 2, self._data.size - 1)] == _FEED
        )
        proper = begins & (np.isin(closing + 1, marks) | ended)
        if proper.all():
            return
        feeds = marks[self._data[marks] == _FEED]
        near = self._before + 1 + int((feeds < opening[np.argmin(proper)]).sum())
        raise InvalidInput(
            f"{str(self._path)!r} has a quote inside a field that is not quoted, near record {near}. Write such a "
            'field in quotes, with its own quotes doubled: "5"" pipe".'
        )

    def _blank_lines(self, ends: Indices, feeds: Bools) -> Bools:
        """Lines with nothing in them are no records, and stay where they are."""
        begins = np.append(True, feeds[:-1])
        starts = self._starts(ends)
        length = ends - starts
        blank: Bools = feeds & begins & ((length == 0) | ((length == 1) & (self._data[starts] == _RETURN)))
        return blank

    def _refuse_ragged(self, feeds: Bools, width: int) -> None:
        lengths = np.diff(np.flatnonzero(np.append(True, feeds)))
        wrong = int(np.argmax(lengths != width))
        # R's write.table: names of rows, and no name above them.
        unnamed = self._before + wrong == 1 and lengths[wrong] == width + 1
        hint = (
            " If it begins with the name of a row, as R writes it, the header lacks a name for that: put one in front "
            "of it, or write the table with row.names=FALSE."
        )
        raise InvalidInput(
            f"Record {self._before + wrong + 1} of {str(self._path)!r} has {lengths[wrong]} fields, its header has "
            f"{width}. Every record must have one field for each column.{hint if unnamed else ''}"
        )

    # -- fields -------------------------------------------------------------------------------------------------

    def fields_of_first(self) -> list[bytes]:
        """Return the fields of the first record."""
        bounds = [(int(start[0]), int(end[0])) for start, end in map(self._bounds, range(self.width))]
        return [self.block[start:end] for start, end in bounds]

    def lines(self) -> list[bytes]:
        """Return the bytes of every record without the end of its line; a byte order mark stays with the first."""
        starts, ends = self._firsts.tolist(), self._bounds(self.width - 1)[1].tolist()
        starts[:1] = [0 if self._before == 0 else start for start in starts[:1]]
        return [self.block[start:end] for start, end in zip(starts, ends, strict=True)]

    def returns(self) -> set[bool]:
        """Return whether there is a carriage return before the line feeds; a last line without a feed says nothing."""
        if not self._has_returns:
            return {False} if self.count > self._added else set()
        return set(self._returns()[: self.count - self._added].tolist())

    def _returns(self) -> Bools:
        """Which records have a carriage return before the line feed: it belongs to the end of the line."""
        found: Bools = self._data[np.maximum(self._ends[:, -1] - 1, 0)] == _RETURN
        return found

    def _bounds(self, place: int) -> tuple[Indices, Indices]:
        """Where the field in one place begins and ends in every record."""
        starts, ends = self._ends[:, place - 1] + 1 if place else self._firsts, self._ends[:, place]
        return starts, ends - self._returns() if self._has_returns and place == self.width - 1 else ends

    def split(self, places: Sequence[int], *, skip: bool, dropped: Sequence[int] = ()) -> Parts:
        """Return the block cut before and after the fields in the given places of every record (but the header).

        A field that is dropped goes with the delimiter before it; before the first that is kept, with the one after it.
        """
        kept = min((place for place in range(self.width) if place not in dropped), default=self.width)
        bounds = []
        for place in places:
            starts, ends = self._bounds(place)
            if place in dropped:
                starts, ends = (starts - 1, ends) if place > kept else (starts, ends + 1)
            bounds.append((starts[skip:], ends[skip:]))
        return Parts(self.block, bounds, list(np.argsort(places)), self._added)


class Parts:
    """A block as alternating parts: what is kept, a field, what is kept, a field … , what is kept."""

    def __init__(
        self, block: bytes, bounds: Sequence[tuple[Indices, Indices]], order: Sequence[int], added: int
    ) -> None:
        self.count, self._width = len(bounds[0][0]), len(bounds)
        self._block, self._order, self._added = block, order, added
        step = 2 * self._width
        self._offsets = np.zeros(step * self.count + 2, dtype=np.int32)
        for turn, place in enumerate(order):
            self._offsets[2 * turn + 1 : -1 : step], self._offsets[2 * turn + 2 : -1 : step] = bounds[place]
        self._offsets[-1] = len(block)

    @property
    def nbytes(self) -> int:
        """How much memory they take, without the block itself."""
        return self._offsets.nbytes

    def fields(self) -> list[Any]:
        """Return the fields of each place, in the order they were asked for."""
        buffers = [None, pa.py_buffer(self._offsets), pa.py_buffer(self._block)]
        parts = pa.BinaryArray.from_buffers(pa.binary(), len(self._offsets) - 1, buffers)
        step = 2 * self._width
        turns = {place: turn for turn, place in enumerate(self._order)}
        rows = np.arange(self.count, dtype=np.int32) * np.int32(step)
        return [parts.take(pa.array(rows + np.int32(2 * turns[place] + 1))) for place in range(self._width)]

    def joined(self, texts: Sequence[Sequence[bytes]], codes: Sequence[Array]) -> memoryview:
        """Return the bytes of the block with new fields, given in the order of the file.

        ``texts`` are those that can stand in each place, ``codes`` which of them does in every record.
        """
        if not self.count:
            return memoryview(self._block)[: len(self._block) - self._added]
        # The texts stand behind the parts: what goes out is one choice among both.
        step, parts = 2 * self._width, len(self._offsets) - 1
        lengths = [len(text) for some in texts for text in some]
        offsets = np.concatenate([self._offsets, len(self._block) + np.cumsum(lengths)], dtype=np.int64)
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(self._block + b"".join(itertools.chain(*texts)))]
        every = pa.LargeBinaryArray.from_buffers(pa.large_binary(), offsets.size - 1, buffers)
        chosen = np.arange(parts, dtype=np.int32)
        first = parts
        for turn, (some, rows) in enumerate(zip(texts, codes, strict=True)):
            if not 0 <= int(rows.min()) <= int(rows.max()) < len(some):
                raise IndexError(f"Codes of new fields must lie from 0 to {len(some) - 1}.")
            np.add(rows, np.int32(first), out=chosen[2 * turn + 1 :: step], casting="unsafe")
            first += len(some)
        whole = every.take(pa.array(chosen))
        ends = np.frombuffer(whole.buffers()[1], dtype=np.int64)[whole.offset :]
        start, end = int(ends[0]), int(ends[len(whole)])
        return memoryview(whole.buffers()[2])[start : end - self._added]
