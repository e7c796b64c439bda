"""CSV and TSV: the bytes of the secret fields are exchanged, all other bytes of the file stay as they are.

Records and their fields are those of :mod:`leakwise.tables.formats.records`.
"""

from __future__ import annotations

import itertools
from collections.abc import Generator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from leakwise.alphabet import Alphabet
from leakwise.errors import InvalidInput
from leakwise.tables.formats import Columns, Exchange, Reorder
from leakwise.tables.formats.ahead import ahead
from leakwise.tables.formats.compression import opened
from leakwise.tables.formats.names import kind_of
from leakwise.tables.formats.records import BOM, Parts, Records, blocks
from leakwise.tables.formats.texts import TextCoder, texts_of, value_of, write_reordered
from leakwise.tables.formats.typed_texts import TextTable, TextType
from leakwise.types import Array

__all__ = ["DelimitedTable"]

_WORTH_A_THREAD = 1 << 20
# What is kept of a file from its check to its release: all of it, for a file of up to about 50 MB, or nothing.
_KEPT = 128 << 20

_Split = tuple[Records, Parts, Columns]


class DelimitedTable(TextTable):
    """A text file with one record per line and a header."""

    text_format = "delimited"

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.kind = kind_of(path)
        self._coders: dict[tuple[type, Alphabet], TextCoder] = {}
        self._kept: _Kept | None = None
        with opened(path) as stream:
            start = stream.read(1 << 20)
        if start[:2] in (b"\xff\xfe", b"\xfe\xff"):
            raise InvalidInput(f"{str(path)!r} is in UTF-16. Save it as UTF-8 first.")
        if not start.removeprefix(BOM).strip():
            raise InvalidInput(f"{str(path)!r} is empty: it has no header and no rows.")
        line = start.removeprefix(BOM).partition(b"\n")[0]
        if not line.strip():
            raise InvalidInput(f"The first line of {str(path)!r} is empty. It must name the columns.")
        tabs = self.kind.ending.startswith(".tsv")
        self._delimiter = ord("\t") if tabs else ord(";") if b";" in line and b"," not in line else ord(",")
        self.delimiter = chr(self._delimiter)
        head = next(self._records())
        self.names = [_unquoted(field) for field in head.fields_of_first()]
        self._quoted = [field.startswith(b'"') for field in head.fields_of_first()]

    # -- reading ------------------------------------------------------------------------------------------------

    def _blocks(self) -> Iterator[bytes]:
        """The file in blocks of whole records."""
        with opened(self.path) as stream:
            yield from blocks(stream, self.path)

    def _records(self) -> Generator[Records, None, None]:
        before, width = 0, None
        for block in self._blocks():
            records = Records(block, self._delimiter, width, before, self.path)
            width = records.width
            before += records.count
            yield records

    def batches(self, names: Sequence[str]) -> Iterator[Columns]:
        for _, _, columns in self._ahead(names):
            yield columns

    def _ahead(self, names: Sequence[str]) -> Iterator[_Split]:
        """The records of each block, cut about some columns, and these."""
        if self._kept is not None and self._kept.whole == tuple(names) and not self.changed:
            return iter(self._kept.blocks)
        kept = _Kept() if self.remembers else None
        self._kept = kept or self._kept
        found = self._split(names, kept)
        return ahead(found) if self.path.stat().st_size > _WORTH_A_THREAD else found

    def _split(self, names: Sequence[str], kept: _Kept | None) -> Generator[_Split, None, None]:
        places = [self.names.index(name) for name in names]
        for turn, records in enumerate(self._records()):
            parts = records.split(places, skip=turn == 0)
            found = records, parts, dict(zip(names, parts.fields(), strict=True))
            if kept is not None:
                kept.add(found)
            yield found
        if kept is not None and kept.room > 0:
            kept.whole = tuple(names)

    def _rewrite_alike(
        self, target: BinaryIO, exchange: Exchange, carried: Mapping[bytes, bytes], reorder: Reorder | None
    ) -> Iterator[int]:
        # In the order of the file, because that is the order in which its bytes are written.
        cut = sorted([*exchange.outputs, *exchange.dropped], key=self.names.index)
        outputs = exchange.outputs
        texts = [self._texts(name, outputs[name]) if name in outputs else [b""] for name in cut]
        places, dropped = ([self.names.index(one) for one in some] for some in (cut, exchange.dropped))
        width = len(self.names) - len(dropped)

        def released() -> Iterator[tuple[memoryview, int]]:
            endings = set[bool]()
            for turn, (records, read, columns) in enumerate(self._ahead(exchange.reads)):
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
                new = exchange(columns)
                codes = [new[name][0] if name in new else np.zeros(read.count, np.uint8) for name in cut]
                written, parts = texts, read
                if dropped or len(exchange.reads) > len(cut):
                    # The header loses fields too, and keeps those that are exchanged in the rows below it.
                    parts = records.split(places, skip=turn == 0 and not dropped, dropped=dropped)
                    if parts.count > read.count:
                        heads = [b"" if place in dropped else records.fields_of_first()[place] for place in places]
                        codes = [np.append(len(some), rows) for some, rows in zip(texts, codes, strict=True)]
                        written = [[*some, head] for some, head in zip(texts, heads, strict=True)]
                yield parts.joined(written, codes), read.count
            self._kept = None

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
        return Records(block, self._delimiter, width, before, self.path).lines() if block else []

    def _texts(self, name: str, labels: Sequence[Any]) -> list[bytes]:
        """The fields of the outcomes. Quotes follow the outcome and the header: following the row would tell of it."""
        quoted = self._quoted[self.names.index(name)]
        special = {chr(self._delimiter), '"', "\n", "\r"}

        def write(label: Any) -> str:
            text = _written(label)
            if label is None or not (quoted or text == "" or special.intersection(text)):
                return text
            return '"' + text.replace('"', '""') + '"'

        return texts_of(labels, write, name)

    # -- values -------------------------------------------------------------------------------------------------

    def encode(self, column: Any, alphabet: Alphabet, *, name: str, outside: bool = False) -> Array:
        kept, key = self._kept, (id(column), type(alphabet), alphabet, outside)
        if kept is not None and key in kept.codes:
            return kept.codes[key][1]
        coder = self._coders.setdefault((type(alphabet), alphabet), TextCoder(alphabet, _value))
        encoded = column.dictionary_encode()
        codes = coder.codes(encoded.dictionary.to_pylist(), encoded.indices.to_numpy(), name, outside)
        if kept is not None and self.remembers and kept.room > 0:
            codes.flags.writeable = False
            kept.codes[key] = column, codes
        return codes

    def plain(self, column: Any) -> Any:
        quoted = pc.starts_with(column, '"')
        if not pc.any(quoted).as_py():
            return column
        inside = pc.replace_substring(pc.binary_slice(column, 1, -1), '""', '"')
        return pc.if_else(quoted, inside, column)

    def new_type(self, name: str) -> TextType:
        return TextType(self._shown)

    def constant(self, value: Any, count: int) -> Any:
        return pa.repeat(self._texts(self.names[0], [value])[0], count)

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


class _Kept:
    """What was read of a file while it was checked, so that the same bytes can be written without reading them again.

    Attributes
    ----------
    whole
        The columns that the blocks were cut about, once they are all the file has.
    room
        The bytes that it may still take; none, once that was too little.
    codes
        The codes of columns of the blocks; the columns are named by where they are in memory, and so kept there.
    """

    def __init__(self) -> None:
        self.whole: tuple[str, ...] | None = None
        self.room = _KEPT
        self.blocks: list[_Split] = []
        self.codes: dict[tuple[int, type, Alphabet, bool], tuple[Any, Array]] = {}

    def add(self, found: _Split) -> None:
        """Keep a block, or forget all of them where there is no room for it."""
        records, parts, columns = found
        size = records.nbytes + parts.nbytes + sum(column.nbytes + 4 * len(column) for column in columns.values())
        self.room -= min(self.room, size)
        if self.room:
            self.blocks.append(found)
        else:
            self.blocks.clear()
            self.codes.clear()


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
