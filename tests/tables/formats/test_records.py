"""The fast splitter of CSV against a slow one that goes byte by byte, and against Python's csv module."""

from __future__ import annotations

import csv
import io
import random
from pathlib import Path

import numpy as np
import pytest

from leakwise.errors import InvalidInput
from leakwise.tables.formats import records
from leakwise.tables.formats.records import BOM, Records, blocks

PATH = Path("some.csv")
NEW = [b"X", b'"a longer, text"', b""]

Span = tuple[int, int]


# ----------------------------------------------------------------------------------------- the slow way, as a reference


def slow_spans(text: bytes, delimiter: bytes) -> list[list[Span]] | None:
    """Where the fields of every record are, found byte by byte; None where the text is to be refused."""
    found: list[list[Span]] = []
    place = len(BOM) if text.startswith(BOM) else 0
    while place < len(text):
        record = list[Span]()
        while True:
            start = place
            if text[place : place + 1] == b'"':
                while True:
                    place = text.find(b'"', place + 1)
                    if place < 0:
                        return None
                    if text[place + 1 : place + 2] != b'"':
                        break
                    place += 1
                place += 1
            else:
                while place < len(text) and text[place : place + 1] not in (delimiter, b"\n"):
                    if text[place : place + 1] == b'"':
                        return None
                    place += 1
            end = place
            if text[start : start + 1] == b'"' and text[place : place + 2] in (b"\r\n", b"\r"):
                place += 1
            elif text[place - 1 : place] == b"\r" and text[place : place + 1] in (b"\n", b"") and place > start:
                end -= 1
            record.append((start, end))
            if text[place : place + 1] == delimiter:
                place += 1
                continue
            if text[place : place + 1] not in (b"\n", b""):
                return None
            place += 1
            break
        found.append(record)
    width = len(found[0])
    if width > 1:
        found = [one for one in found if len(one) > 1 or one[0][0] < one[0][1]]
    return found if all(len(one) == width for one in found) else None


def slow_exchange(text: bytes, spans: list[list[Span]], places: list[int], codes: list[int]) -> bytes:
    """The text with other fields in some places of every record but the first."""
    result, done = b"", 0
    for record, code in zip(spans[1:], codes, strict=True):
        for place in sorted(places):
            start, end = record[place]
            result += text[done:start] + NEW[(code + place) % 3]
            done = end
    return result + text[done:]


# ------------------------------------------------------------------------------------------------------- the fast way


def fast(text: bytes, delimiter: bytes, places: list[int]) -> tuple[list[list[bytes]], bytes]:
    """The fields in some places, and the text with other fields there, block by block."""
    fields: list[list[bytes]] = [[] for _ in places]
    written, before, width, rows = b"", 0, None, 0
    for block in blocks(io.BytesIO(text), PATH):
        found = Records(block, delimiter[0], width, before, PATH)
        parts = found.split(places, skip=before == 0)
        width, before = found.width, before + found.count
        for some, more in zip(fields, parts.fields(), strict=True):
            some.extend(more.to_pylist())
        codes = [(np.arange(rows, rows + parts.count) + place) % 3 for place in sorted(places)]
        rows += parts.count
        written += bytes(parts.joined([NEW] * len(places), codes))
    return fields, written


# ---------------------------------------------------------------------------------------------------- texts to be split

PLAIN = [b"a", b"b", b"", b"zz"]
QUOTED = [b'"a"', b'""', b'"b c"']
TRICKY = [b'"a,b"', b'"x\ny"', b'"q""q"', b'""""', b'"a\r\n"', b'"\n"', b'"a;b"']
ODD = [b'a"b', b'"a', b'"', b'"""', b'"a"b"', b'""x', b"\r", b"x\ry", b'"a"\r', b"\xff"]


def random_text(chance: random.Random) -> tuple[bytes, bytes]:
    delimiter = chance.choice([b",", b",", b";", b"\t"])
    if chance.random() < 0.25:
        return bytes(chance.choices(b'ab,,"";\n\n\r', k=chance.randint(1, 30))), delimiter
    usual = PLAIN + chance.choice([[], QUOTED, QUOTED + TRICKY])
    width, odd = chance.randint(1, 4), chance.random() < 0.5
    ends = chance.choice([[b"\n"], [b"\n"], [b"\r\n"], [b"\n", b"\r\n"]])
    lines = []
    for _ in range(chance.randint(1, 12)):
        fields = [chance.choice(ODD if odd and chance.random() < 0.05 else usual) for _ in range(width)]
        if odd and chance.random() < 0.03:
            fields.append(b"more")
        lines.append(delimiter.join(fields) + chance.choice(ends))
        if chance.random() < 0.05:
            lines.append(chance.choice(ends))
    text = BOM * (chance.random() < 0.1) + b"".join(lines)
    if chance.random() < 0.3:
        text = text[:-1]
    if chance.random() < 0.1:
        cut = chance.randrange(len(text) + 1)
        text = text[:cut] + chance.choice([b'"', delimiter, b"\n", b"\r"]) + text[cut + chance.randint(0, 1) :]
    return text, delimiter


def usable(text: bytes) -> bool:
    """A file whose first line has nothing in it is refused before its records are looked for."""
    return bool(text.removeprefix(BOM).partition(b"\n")[0].strip())


@pytest.mark.parametrize("block", [1, 7, 30, 4 << 20])
def test_random_files_are_split_as_the_slow_splitter_splits_them(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "_BLOCK", block)
    chance = random.Random(block)
    refused = accepted = tricky = 0
    for _ in range(1500):
        text, delimiter = random_text(chance)
        if not usable(text):
            continue
        spans = slow_spans(text, delimiter)
        if spans is None:
            with pytest.raises(InvalidInput):
                fast(text, delimiter, [0])
            refused += 1
            continue
        places = chance.sample(range(len(spans[0])), chance.randint(1, len(spans[0])))
        fields, written = fast(text, delimiter, places)
        assert fields == [[text[slice(*one[place])] for one in spans[1:]] for place in places], text
        assert written == slow_exchange(text, spans, places, list(range(len(spans) - 1))), text
        accepted += 1
        tricky += any(delimiter in field or b"\n" in field for some in fields for field in some)
    assert min(refused, accepted) > 300
    assert tricky > 12


def test_the_slow_splitter_reads_what_the_csv_module_reads() -> None:
    chance = random.Random(5)
    compared = 0
    for _ in range(3000):
        text, delimiter = random_text(chance)
        spans = slow_spans(text, delimiter) if usable(text) else None
        # The module knows a bare carriage return as the end of a line, and decodes.
        if spans is None or b"\r" in text.replace(b"\r\n", b"") or b"\xff" in text:
            continue
        lines = io.StringIO(text.removeprefix(BOM).decode(), newline="")
        rows = [row or [""] for row in csv.reader(lines, delimiter=delimiter.decode(), strict=True)]
        rows = rows if len(spans[0]) == 1 else [row for row in rows if row != [""]]
        raws = [[text[slice(*span)].decode() for span in one] for one in spans]
        assert [[one[1:-1].replace('""', '"') if one[:1] == '"' else one for one in raw] for raw in raws] == rows
        compared += 1
    assert compared > 1000


def test_quotes_that_make_up_for_each_other_are_seen() -> None:
    """One quote too few in a field and one too many in the next: as many as fields in quotes have."""
    for text in (b'h,i\n","a"b"\n', b'h,i\n"a"b","\n', b'h\n"\n"a"b"\n', b'h,i\n"a"b",x\n",y\n'):
        assert slow_spans(text, b",") is None
        with pytest.raises(InvalidInput, match="quote"):
            fast(text, b",", [0])


def test_a_delimiter_in_quotes_is_seen_where_every_record_has_equally_many() -> None:
    text = b'h,i\n"a,b"\n"c,d"\n'
    assert slow_spans(text, b",") is None
    with pytest.raises(InvalidInput, match=r"Record 2 .* has 1 fields"):
        fast(text, b",", [0])


def test_a_code_beyond_the_texts_never_writes_a_part_of_the_file() -> None:
    parts = Records(b"h\nsecret\nother\n", ord(","), None, 0, PATH).split([0], skip=True)
    assert bytes(parts.joined([NEW], [np.array([1, 0])])) == b'h\n"a longer, text"\nX\n'
    for codes in ([0, 3], [-1, 0]):
        with pytest.raises(IndexError):
            parts.joined([NEW], [np.array(codes)])
