"""JSON lines that are read many at a time are what they are when they are read one by one."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import leakwise as lw
from leakwise.tables.formats import json_lines, open_table
from leakwise.tables.formats.json_lines import JsonLinesTable

GOOD = [
    b'{"s":"yes","n":1}',
    b'{"s":"no","n":[1,2]}',
    b'{"n":null,"s":"yes"}',
    b'{"s":"\\u00e9","n":"\xc3\xa9"}',
    b'{"s":"no","n":{"a":1,"a":2}}',
    b'{"s":"no","caf\xc3\xa9":1.50}',
]
SPACED = [b'{"s": "yes", "n": 1}', b' {"s":"yes","n":2}\t', b'{"s" :"no","n":3}', b"", b"  ", b'{"\\u0073":"no","n":1}']
BAD = [
    b'{"s":"yes","n":1,"s":"no"}',
    b'{"s":"yes"}{"s":"no"}',
    b'{"s":"yes","n":[1,',
    b"2]}",
    b"[1]",
    b'"s"',
    b'{"s":"\xff"}',
    b'{"s":yes}',
]


def outcome(table: JsonLinesTable) -> object:
    try:
        return [[{k: bytes(v) for k, v in one.items()} for one in objects] for _, objects in table._objects()]
    except lw.InvalidInput as error:
        return str(error)


def test_many_at_a_time_are_read_as_one_by_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chance, source = random.Random(8), tmp_path / "a.jsonl"
    source.write_bytes(GOOD[0] + b"\n")
    table = open_table(source)
    assert isinstance(table, JsonLinesTable)
    monkeypatch.setattr(json_lines, "_LINES", 4)
    refused = compact = 0
    fast = JsonLinesTable._compact
    for _ in range(1500):
        known = chance.choice([GOOD, GOOD, GOOD + SPACED, GOOD * 4 + BAD])
        lines = chance.choices(known, k=chance.randint(1, 9))
        ending = chance.choice([b"\n", b"\n", b"\r\n"])
        text = b"\xef\xbb\xbf" * (chance.random() < 0.1) + ending.join(lines) + ending * (chance.random() < 0.7)
        source.write_bytes(text)
        monkeypatch.setattr(JsonLinesTable, "_compact", lambda self, lines: None)
        slow = outcome(table)
        monkeypatch.setattr(JsonLinesTable, "_compact", fast)
        assert outcome(table) == slow, text
        refused += isinstance(slow, str)
        compact += fast(table, text.splitlines(keepends=True)) is not None
    assert refused > 200
    assert compact > 200


@pytest.mark.parametrize("text", [b'{"s":[1,\n2]}\n', b'{"s":1}{"s":2}\n', b'{"s":1,"s":1}\n', b'{"s":1}\n\n{"s":2}\n'])
def test_lines_that_are_not_one_object_each_are_not_taken_together(text: bytes, tmp_path: Path) -> None:
    source = tmp_path / "a.jsonl"
    source.write_bytes(GOOD[0] + b"\n")
    table = open_table(source)
    assert isinstance(table, JsonLinesTable)
    assert table._compact(text.splitlines(keepends=True)) is None
