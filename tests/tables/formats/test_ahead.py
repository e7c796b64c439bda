"""Reading ahead changes neither what comes, nor its order, nor where an error comes; one item is made ahead."""

from __future__ import annotations

import threading
from collections.abc import Generator
from pathlib import Path

import pytest

import leakwise as lw
from leakwise.tables.formats import delimited, records
from leakwise.tables.formats.ahead import ahead


def test_an_error_comes_after_the_items_before_it() -> None:
    def items() -> Generator[int, None, None]:
        yield 1
        yield 2
        raise lw.InvalidInput("the third is wrong")

    found = ahead(items())
    assert [next(found), next(found)] == [1, 2]
    with pytest.raises(lw.InvalidInput, match="the third is wrong"):
        next(found)


def test_one_item_is_made_ahead_and_never_two() -> None:
    made, third = [], threading.Event()

    def items() -> Generator[int, None, None]:
        for item in range(4):
            made.append(item)
            if item == 2:
                third.set()
            yield item

    found = ahead(items())
    assert next(found) == 0
    assert not third.is_set()
    assert next(found) == 1
    assert third.wait(10), "the third was not begun while the second was in use"
    assert len(made) == 3
    assert list(found) == [2, 3]


def test_who_stops_early_leaves_neither_a_thread_nor_an_open_file() -> None:
    closed = []

    def items() -> Generator[int, None, None]:
        try:
            yield from range(1000)
        finally:
            closed.append(threading.current_thread().name)

    before = set(threading.enumerate())
    found = ahead(items())
    assert next(found) == 0
    found.close()
    assert len(closed) == 1
    assert set(threading.enumerate()) == before


def test_a_fault_in_a_later_block_is_found_as_without_reading_ahead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A value outside the domain stands before a record with too many fields: it is the one that is told of."""
    monkeypatch.setattr(records, "_BLOCK", 16)
    monkeypatch.setattr(delimited, "_WORTH_A_THREAD", 0)
    source, out = tmp_path / "a.csv", tmp_path / "b.csv"
    source.write_text("n,s\n" + "1,yes\n2,no\n" * 10 + "3,perhaps\n" + "4,yes\n" * 3 + "5,no,more\n")
    with pytest.raises(lw.InvalidInput, match="perhaps"):
        lw.release(source, lw.randomized_response(["no", "yes"], lift=1.5), "s", out=out)
    assert not out.exists()
