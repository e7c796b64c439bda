"""Compressed files of text: read whole or refused, written without a name, a time or the bounds of what was read."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pyarrow as pa
import pytest

import leakwise as lw
from leakwise.tables.formats import compression, records

pytestmark = pytest.mark.filterwarnings("ignore::leakwise.RowOrderWarning", "ignore::leakwise.CertaintyWarning")

IDENTITY = lw.identity(["no", "yes"])
TEXT = "answer,x\n" + "".join(f"{'no' if i % 3 else 'yes'},{i:06}\n" for i in range(5000))
LINES = "".join(f'{{"answer":"{"no" if i % 3 else "yes"}", "x": {i}}}\n' for i in range(500))


def packed(data: bytes, ending: str) -> bytes:
    return gzip.compress(data) if ending == ".gz" else bytes(pa.compress(data, "zstd", asbytes=True))


def unpacked(path: Path) -> bytes:
    with compression.opened(path) as stream:
        return stream.read()


@pytest.mark.parametrize("ending", [".gz", ".zst"])
@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.jsonl", "a.ndjson"])
def test_every_other_byte_stays_under_the_compression(name, ending, tmp_path, monkeypatch):
    monkeypatch.setattr(records, "_BLOCK", 5000)
    text = LINES.replace(": ", ":").replace(", ", ",") if "json" in name else TEXT.replace(",", "\t,"["csv" in name])
    path = tmp_path / f"{name}{ending}"
    path.write_bytes(packed(text.encode(), ending))
    out = lw.release(path, IDENTITY, "answer", out=tmp_path / f"b.{name.partition('.')[2]}{ending}")
    assert unpacked(out) == text.encode()
    plain = lw.release(path, IDENTITY, "answer", out=tmp_path / f"c.{name.partition('.')[2]}")
    assert plain.read_bytes() == text.encode()
    again = lw.release(plain, IDENTITY, "answer", out=tmp_path / f"d.{name.partition('.')[2]}{ending}")
    assert again.read_bytes() == out.read_bytes()


def test_headers_contain_no_name_no_time_and_no_comment(tmp_path):
    (tmp_path / "salaries.csv").write_text(TEXT)
    out = lw.release(tmp_path / "salaries.csv", IDENTITY, "answer", out=tmp_path / "b.csv.gz")
    head = out.read_bytes()[:10]
    assert head[3] == 0, "no flags: neither name nor comment nor extra field"
    assert head[4:8] == bytes(4)
    os.utime(tmp_path / "salaries.csv", (1, 1))
    again = lw.release(tmp_path / "salaries.csv", IDENTITY, "answer", out=tmp_path / "c.csv.gz")
    assert again.read_bytes() == out.read_bytes()


@pytest.mark.parametrize("ending", [".gz", ".zst"])
def test_compressed_bytes_do_not_depend_on_where_blocks_of_the_source_end(ending, tmp_path, monkeypatch):
    """They end where the lengths of the true values put them."""
    (tmp_path / "a.csv").write_text(TEXT)
    made = []
    for size in (100, 777, 1 << 20):
        monkeypatch.setattr(records, "_BLOCK", size)
        out = lw.release(tmp_path / "a.csv", IDENTITY, "answer", out=tmp_path / f"b.csv{ending}", overwrite=bool(made))
        made.append(out.read_bytes())
    assert made[0] == made[1] == made[2]


@pytest.mark.parametrize("ending", [".gz", ".zst"])
def test_files_of_several_compressed_parts_are_read_whole(ending, tmp_path):
    half = len(TEXT) // 2
    (tmp_path / f"a.csv{ending}").write_bytes(
        packed(TEXT[:half].encode(), ending) + packed(TEXT[half:].encode(), ending)
    )
    out = lw.release(tmp_path / f"a.csv{ending}", IDENTITY, "answer", out=tmp_path / "b.csv")
    assert out.read_text() == TEXT


FAULTS = [(ending, fault) for ending in (".gz", ".zst") for fault in ("cut", "half", "plain", "empty")]


@pytest.mark.parametrize(("ending", "fault"), [*FAULTS, (".gz", "flipped")])  # zstd need not have a checksum
def test_damage_is_refused_and_leaves_nothing(ending, fault, tmp_path):
    whole = packed(TEXT.encode(), ending)
    middle = len(whole) // 2
    data = {
        "cut": whole[:-3],
        "half": whole[:middle],
        "flipped": whole[:middle] + bytes([whole[middle] ^ 255]) + whole[middle + 1 :],
        "plain": TEXT.encode(),
        "empty": b"",
    }[fault]
    path = tmp_path / f"a.csv{ending}"
    path.write_bytes(data)
    with pytest.raises(lw.InvalidInput, match=r"a\.csv\.(gz|zst)"):
        lw.release(path, IDENTITY, "answer", out=tmp_path / "b.csv.gz")
    assert [one.name for one in tmp_path.iterdir()] == [path.name]


def test_parquet_is_not_compressed_as_a_whole(tmp_path):
    (tmp_path / "a.csv").write_text(TEXT)
    with pytest.raises(lw.InvalidInput, match=r"must not end in \.gz: \.parquet files compress"):
        lw.release(tmp_path / "a.csv", IDENTITY, "answer", out=tmp_path / "b.parquet.gz")


def test_a_missing_compressed_file_is_named_with_its_neighbours(tmp_path):
    (tmp_path / "salaries.csv.gz").write_bytes(packed(TEXT.encode(), ".gz"))
    with pytest.raises(lw.InvalidInput, match=r"does not exist. Did you mean 'salaries\.csv\.gz'"):
        lw.release(tmp_path / "salarys.csv.gz", IDENTITY, "answer", out=tmp_path / "b.csv")
