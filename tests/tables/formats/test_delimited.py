"""A small CSV file is read once for its check and its release, a large one twice: what comes out is the same."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest

import leakwise as lw
from leakwise.tables.formats import delimited, open_table, records
from leakwise.tables.release.draw import seeded_stream
from leakwise.tables.release.file import check_file, release_file

RESPONSE = lw.randomized_response(["no", "yes"], lift=1.5)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "a.csv"
    secrets = random.Random(3).choices(["yes", "no"], k=400)
    path.write_text('n,"s",t\n' + "".join(f'{n},{one},"a, {n}"\n' for n, one in enumerate(secrets)))
    return path


@pytest.fixture
def openings(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The files that are opened from now on to read their rows."""
    found = list[Path]()
    real: Callable[[Path], object] = delimited.opened

    def opened(path: Path) -> object:
        found.append(path)
        return real(path)

    monkeypatch.setattr(delimited, "opened", opened)
    return found


def released(source: Path, **options: object) -> bytes:
    out, checked = source.with_name("out.csv"), check_file(source, ["s"], RESPONSE.input_alphabet)
    release_file([(checked, RESPONSE)], out, overwrite=True, stream=seeded_stream(7), **options)
    return out.read_bytes()


@pytest.mark.parametrize("options", [{}, {"shuffle": True}, {"drop": ["t"]}, {"drop": ["n"], "shuffle": True}])
def test_a_file_that_is_kept_is_released_as_one_that_is_read_again(
    source: Path, openings: list[Path], monkeypatch: pytest.MonkeyPatch, options: dict[str, object]
) -> None:
    monkeypatch.setattr(records, "_BLOCK", 500)
    kept, once = released(source, **options), len(openings)
    monkeypatch.setattr(delimited, "_KEPT", 3000)  # it fills up while the file is read
    assert released(source, **options) == kept
    assert len(openings) - once == once + 1


def test_what_was_kept_is_not_used_once_the_file_is_another(source: Path, tmp_path: Path) -> None:
    table = open_table(source)
    checked = check_file(table, ["s"], RESPONSE.input_alphabet)
    text = source.read_text()
    source.write_text(text.replace("no", "yes"))
    rows = [field for batch in table.batches(["s"]) for field in batch["s"].to_pylist()]
    assert set(rows) == {b"yes"}
    with pytest.raises(lw.InvalidInput, match="was changed"):
        release_file([(checked, RESPONSE)], tmp_path / "out.csv")
    assert not (tmp_path / "out.csv").exists()


def test_bytes_that_change_under_the_same_time_are_not_released(source: Path, tmp_path: Path) -> None:
    """Fields are never cut out of other bytes than those in which they were found: the file has been touched."""
    table, before = open_table(source), source.read_bytes()
    checked = check_file(table, ["s"], RESPONSE.input_alphabet)
    stamp = source.stat()
    source.write_bytes(before.replace(b"a, ", b"b, "))
    os.utime(source, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    with pytest.raises(lw.InvalidInput, match="was changed"):
        release_file([(checked, RESPONSE)], tmp_path / "out.csv")
    assert not (tmp_path / "out.csv").exists()


def test_an_estimate_keeps_nothing(source: Path) -> None:
    table = open_table(source)
    check_file(table, ["s"], RESPONSE.output_alphabet, what="outputs")
    assert table._kept is None
    check_file(table, ["s"], RESPONSE.input_alphabet)
    assert table._kept is not None
    assert len(table._kept.blocks) == 1


def test_other_columns_that_are_read_in_between_neither_take_its_place_nor_are_kept(
    source: Path, openings: list[Path], tmp_path: Path
) -> None:
    table = open_table(source)
    checked = check_file(table, ["s"], RESPONSE.input_alphabet)
    for batch in table.batches(["n"]):
        table.encode(batch["n"], lw.bins(0, 400, 4), name="n")
    before = len(openings)
    assert len(table._kept.codes) == 1
    release_file([(checked, RESPONSE)], tmp_path / "out.csv")
    assert len(openings) == before
    assert table._kept is None
