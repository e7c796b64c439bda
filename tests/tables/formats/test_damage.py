"""Files that were damaged give an error in words. Each was found by ``make attack``."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pyarrow as pa
import pytest

import leakwise as lw


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    book = lw.Ledger(tmp_path / "l.db")
    book.reserve("d", "s", lw.certify(lw.randomized_response(2, lift=2), lw.Prior.uniform(2)))
    return tmp_path / "l.db"


def test_a_ledger_without_its_key(ledger: Path) -> None:
    with sqlite3.connect(ledger) as db:
        db.execute("UPDATE keys SET name = 'digesu'")
        # A trigger, since an empty place would get a new key.
        db.execute("CREATE TRIGGER no BEFORE INSERT ON keys BEGIN SELECT RAISE(IGNORE); END")
    db.close()
    with pytest.raises(lw.InvalidInput, match="has no key"):
        lw.Ledger(ledger)


def test_a_ledger_with_text_that_is_none(ledger: Path) -> None:
    data = ledger.read_bytes()
    assert data.count(b"CREATE TABLE releases") == 1
    ledger.write_bytes(data.replace(b"CREATE TABLE releases", b"CREATE TABLE \xf6eleases"))
    with pytest.raises(lw.InvalidInput, match=r"damaged|Cannot use"):
        lw.Ledger(ledger).entries()


@pytest.mark.parametrize("places", [[0, 7], [0, -3]])
def test_an_arrow_dictionary_with_places_that_are_none(places: list[int]) -> None:
    column = pa.DictionaryArray.from_arrays(pa.array(places, pa.int8()), pa.array(["a", "b"]), safe=False)
    with pytest.raises(lw.InvalidInput, match="damaged"):
        lw.release(pa.table({"s": column}), lw.randomized_response(["a", "b"], lift=2), column="s")


def test_an_arrow_dictionary_with_text_that_is_none() -> None:
    texts = pa.Array.from_buffers(
        pa.string(), 2, [None, pa.array([0, 1, 2], pa.int32()).buffers()[1], pa.py_buffer(b"a\xf6")]
    )
    column = pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int8()), texts)
    with pytest.raises(lw.InvalidInput, match="damaged"):
        lw.release(pa.table({"s": column}), lw.randomized_response(["a", "b"], lift=2), column="s")
