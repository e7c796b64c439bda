"""Folders of Parquet files, as Spark leaves them, read without Spark."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import leakwise as lw
from leakwise.cli import app
from leakwise.tables.formats.carried_mechanism import KEY, Carried, pack

YES_NO = lw.randomized_response(["no", "yes"], lift=3)
PAIRS = lw.identity([("a", 1), ("a", 2), ("b", 1), ("b", 2)])


def note(*secrets: Carried) -> dict[str, bytes]:
    """The schema of a DataFrame as Spark puts it into the metadata of its files."""
    fields = [
        {"name": name, "type": "string", "nullable": True, "metadata": {KEY.decode(): pack([one], {})[KEY].decode()}}
        for one in secrets
        for name in one.names
    ]
    fields.append({"name": "k", "type": "long", "nullable": True, "metadata": {}})
    text = json.dumps({"type": "struct", "fields": fields})
    return {"org.apache.spark.sql.parquet.row.metadata": text.encode()}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    where = tmp_path / "released"
    where.mkdir()
    metadata = note(Carried(("s",), YES_NO), Carried(("p", "q"), PAIRS))
    for part in range(3):
        table = pa.table({"s": ["no", "yes", "no"] * 10, "p": ["a"] * 30, "q": [1, 2, 1] * 10, "k": [1, 2, 1] * 10})
        pq.write_table(table.replace_schema_metadata(metadata), where / f"part-0000{part}.snappy.parquet")
    (where / "_SUCCESS").touch()
    (where / ".part-00000.crc").touch()
    return where


def test_a_folder_is_one_table_that_carries_its_mechanisms(folder):
    e = lw.estimate(folder, column="s")
    assert e.sample_size == 90
    assert e.frequencies.tolist() == lw.estimate({"no": 60, "yes": 30}, YES_NO).frequencies.tolist()
    assert lw.estimate(folder, column=("p", "q")).frequencies.round(3).tolist() == [0.667, 0.333, 0, 0]
    by = lw.estimate(folder, YES_NO, "s", by="k")
    assert by.groups.keys() == {1, 2}
    with pytest.raises(lw.InvalidInput, match="by='q' is a released column itself"):
        lw.estimate(folder, YES_NO, "s", by="q")
    done = CliRunner().invoke(app, ["estimate", str(folder), "--column", "s", "--json"], catch_exceptions=False)
    assert json.loads(done.stdout)["frequencies"] == e.frequencies.tolist()


def test_one_file_of_a_folder_carries_the_mechanisms_too(folder, tmp_path):
    e = lw.estimate(folder / "part-00000.snappy.parquet", column="s")
    assert e.sample_size == 30
    assert e.frequencies.tolist() == lw.estimate({"no": 20, "yes": 10}, YES_NO).frequencies.tolist()
    out = lw.release(folder, YES_NO, "s", out=tmp_path / "twice.parquet", order="keep")
    assert lw.estimate(out, column="s").sample_size == 90  # both releases in one mechanism
    assert lw.estimate(out, column=("p", "q")).frequencies.round(3).tolist() == [0.667, 0.333, 0, 0]


def test_what_is_not_whole_or_not_one_table(folder, tmp_path):
    with pytest.raises(lw.InvalidInput, match="column must say which"):
        lw.estimate(folder)
    (folder / "_temporary").mkdir()
    with pytest.raises(lw.InvalidInput, match="is not whole"):
        lw.estimate(folder, column="s")
    (folder / "_temporary").rmdir()
    (folder / "_SUCCESS").unlink()
    with pytest.raises(lw.InvalidInput, match="is not whole: its files are named as Spark names them"):
        lw.estimate(folder, column="s")
    (folder / "_SUCCESS").touch()
    pq.write_table(pa.table({"other": [1]}), folder / "part-00009.parquet")
    with pytest.raises(lw.InvalidInput, match="are not of one table"):
        lw.estimate(folder, column="s")
    empty = tmp_path / "empty.parquet"
    empty.mkdir()
    with pytest.raises(lw.InvalidInput, match="is a folder without a table in it"):
        lw.estimate(empty, YES_NO, "s")


def test_a_note_of_another_form_says_nothing(folder):
    for part in folder.glob("*.parquet"):
        table = pq.read_table(part)
        pq.write_table(table.replace_schema_metadata({"org.apache.spark.sql.parquet.row.metadata": b"[1]"}), part)
    with pytest.raises(lw.InvalidInput, match="does not carry"):
        lw.estimate(folder, column="s")
    assert lw.estimate(folder, YES_NO, "s").sample_size == 90
