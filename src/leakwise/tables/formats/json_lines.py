"""JSON lines: one object per line; secret values are exchanged, others keep their bytes, names come in one order."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
import numpy as np

from leakwise.alphabet import Alphabet
from leakwise.errors import InvalidInput, did_you_mean, some_of
from leakwise.tables.formats import Columns, Exchange, Reorder
from leakwise.tables.formats.compression import opened
from leakwise.tables.formats.names import AS_LINES, kind_of
from leakwise.tables.formats.texts import TextCoder, texts_of, value_of, write_reordered
from leakwise.tables.formats.typed_texts import JsonType, TextTable
from leakwise.types import Array

__all__ = ["JsonLinesTable"]

_LINES = 1 << 14

_Object = dict[str, msgspec.Raw]
_ENCODER, _DECODER = msgspec.json.Encoder(), msgspec.json.Decoder(_Object)


class JsonLinesTable(TextTable):
    """A file with one JSON object per line."""

    text_format = "json_lines"

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.kind = kind_of(path)
        self._coders: dict[tuple[type, Alphabet], TextCoder] = {}
        for _, objects in self._objects():
            self.names = list(objects[0])
            return
        raise InvalidInput(f"{str(path)!r} is empty: it has no rows.")

    def _objects(self) -> Iterator[tuple[int, list[_Object]]]:
        """Parsed lines, and the number of the first of them."""
        first = 1
        with opened(self.path) as stream:
            while lines := list(itertools.islice(stream, _LINES)):
                if first == 1:
                    lines[0] = lines[0].removeprefix(b"\xef\xbb\xbf")
                self._refuse_other_codings(lines, first)
                if objects := self._compact(lines) or self._one_by_one(lines, first):
                    yield first, objects
                first += len(lines)

    def _refuse_other_codings(self, lines: Sequence[bytes], first: int) -> None:
        """Values are not looked into when lines are parsed: what is no text is found here."""
        for number, line in enumerate(lines, first):
            try:
                line.decode()
            except UnicodeDecodeError:
                raise InvalidInput(
                    f"Line {number} of {str(self.path)!r} is not in UTF-8. Save the file as UTF-8 first."
                ) from None

    def _compact(self, lines: Sequence[bytes]) -> list[_Object] | None:
        """The objects, if these lines are what writing them gives, byte for byte: then nothing was lost."""
        text = b"".join(lines)
        try:
            objects = _DECODER.decode_lines(text)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return None  # which line it is, and why, is found one by one
        written = _ENCODER.encode_lines(objects)
        whole = text if text.endswith(b"\n") else text + b"\n"
        return objects if len(objects) == len(lines) and written == whole else None

    def _one_by_one(self, lines: Sequence[bytes], first: int) -> list[_Object]:
        objects: list[_Object] = []
        for number, line in enumerate(lines, first):
            text = line.strip()
            if not text:
                continue  # a blank line is no row
            try:
                found = _DECODER.decode(text)
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
                hint = AS_LINES if number == 1 else ""  # a whole file of JSON, most likely
                raise InvalidInput(
                    f"Line {number} of {str(self.path)!r} is not a JSON object: {error}.{hint}"
                ) from error
            self._refuse_repeated(text, found, number)
            objects.append(found)
        return objects

    def _refuse_repeated(self, text: bytes, found: _Object, number: int) -> None:
        """A name that comes twice would lose one of its values."""
        # No longer than what was found, written without a space: nothing was lost. Most other files put one space after
        # every comma and colon.
        if len(text) == len(_ENCODER.encode(found)):
            return
        if text == b"{" + b", ".join([b'"%b": %b' % (name.encode(), bytes(raw)) for name, raw in found.items()]) + b"}":
            return
        try:
            pairs = json.loads(text, object_pairs_hook=lambda pairs: [name for name, _ in pairs])
        except (ValueError, RecursionError) as error:  # inside values, which were not looked at so far
            raise InvalidInput(f"Line {number} of {str(self.path)!r} is not a JSON object: {error}.") from error
        if len(pairs) != len(found):
            twice = {name for name in pairs if pairs.count(name) > 1}
            raise InvalidInput(f"Line {number} of {str(self.path)!r} has {some_of(twice)} more than once.")

    def _refuse_unnamed(self, first: int, objects: Sequence[_Object]) -> None:
        """A name that only later objects have is a column of which nobody said whether it may go out."""
        known = set(self.names)
        for place, one in enumerate(objects):
            if more := one.keys() - known:
                raise InvalidInput(
                    f"An object of {str(self.path)!r} has {some_of(sorted(more))}, which the first object does not "
                    f"have (row {first + place} or soon after). Give the first object every name, with null where a "
                    "value is missing, and say of each column whether it goes out."
                )

    def _columns(self, first: int, objects: Sequence[_Object], names: Sequence[str]) -> dict[str, list[bytes]]:
        columns: dict[str, list[bytes]] = {}
        for name in names:
            try:
                columns[name] = [bytes(one[name]) for one in objects]
            except KeyError:
                place = next(place for place, one in enumerate(objects) if name not in one)
                # Where the new value went would tell that there had been none: so a missing value must be a null.
                raise InvalidInput(
                    f"An object of {str(self.path)!r} has no {name!r} (row {first + place} or soon after). Write null "
                    f"where a value is missing, in every object.{did_you_mean(name, objects[place])}"
                ) from None
        return columns

    def holds(self, name: str) -> type | None:
        kinds = {_kind(text) for batch in self.batches([name]) for text in set(batch[name])} - {None}
        if kinds == {int, float}:
            return float
        return kinds.pop() if len(kinds) == 1 and int not in kinds else None

    def batches(self, names: Sequence[str]) -> Iterator[Columns]:
        for first, objects in self._objects():
            yield self._columns(first, objects, names)

    def new_type(self, name: str) -> JsonType:
        return JsonType(name, str(self.path))

    def refusing_batches(self, names: Sequence[str]) -> Iterator[Columns]:
        for first, objects in self._objects():
            self._refuse_unnamed(first, objects)
            yield self._columns(first, objects, names)

    def constant(self, value: Any, count: int) -> list[bytes]:
        return [_written(value).encode()] * count

    def _rewrite_alike(
        self, target: BinaryIO, exchange: Exchange, carried: Mapping[bytes, bytes], reorder: Reorder | None
    ) -> Iterator[int]:
        texts = {
            name: [msgspec.Raw(text) for text in texts_of(labels, _written, name)]
            for name, labels in exchange.outputs.items()
        }

        def released() -> Iterator[list[_Object]]:
            for first, objects in self._objects():
                if self.closed or exchange.closed:
                    self._refuse_unnamed(first, objects)
                new = exchange(self._columns(first, objects, exchange.reads))
                for name in texts:
                    for one, code in zip(objects, new[name][0].tolist(), strict=True):
                        one[name] = texts[name][code]
                for name in exchange.dropped:
                    for one in objects:
                        one.pop(name, None)
                yield [self._in_order(one) for one in objects]

        if reorder is not None:
            yield from write_reordered(target, ([_ENCODER.encode(one) for one in rows] for rows in released()), reorder)
            return
        for objects in released():
            target.write(_ENCODER.encode_lines(objects))
            yield len(objects)

    def _in_order(self, one: _Object) -> _Object:
        """Return an object with its names in the order of the first one: their order tells where a row came from."""
        if list(one) == self.names:
            return one
        known = [name for name in self.names if name in one]
        return {name: one[name] for name in (*known, *sorted(one.keys() - set(known)))}

    def encode(self, column: Any, alphabet: Alphabet, *, name: str, outside: bool = False) -> Array:
        coder = self._coders.setdefault((type(alphabet), alphabet), TextCoder(alphabet, _value))
        distinct, places = _distinct(column)
        return coder.codes(distinct, places, name, outside)

    def plain(self, column: Any) -> Any:
        return [json.loads(raw) for raw in column]

    def distinct(self, column: Any) -> tuple[list[Any], Array]:
        raws, places = _distinct(column)
        values = [json.loads(raw) for raw in raws]
        known: dict[Any, int] = {}
        table = np.array([known.setdefault(_hashable(value), len(known)) for value in values], dtype=np.int64)
        return list(known), table[places]


def _distinct(column: Sequence[bytes]) -> tuple[list[bytes], Array]:
    known: dict[bytes, int] = {}
    places = np.fromiter((known.setdefault(raw, len(known)) for raw in column), dtype=np.int64, count=len(column))
    return list(known), places


def _hashable(value: Any) -> Any:
    if isinstance(value, (list, dict)):
        raise InvalidInput(f"A column to group by must hold plain values. Got {value!r}.")
    return value


def _value(raw: bytes, alphabet: Alphabet) -> Any:
    value = json.loads(raw)
    return value_of(value, alphabet) if isinstance(value, str) else value


def _written(label: Any) -> str:
    return json.dumps(label.isoformat() if hasattr(label, "isoformat") else label, ensure_ascii=False)


def _kind(text: bytes) -> type | None:
    """The type of a JSON value; None for a missing one."""
    value = json.loads(text)
    return None if value is None else type(value)
