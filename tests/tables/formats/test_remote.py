"""Files of other machines: fetched once, read here, and put in their place when they are whole."""

from __future__ import annotations

import gzip
import os
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.fs
import pyarrow.parquet as pq
import pytest
from tests.tables.formats.object_store import Store, object_store
from typer.testing import CliRunner

import leakwise as lw
from leakwise.cli import app
from leakwise.errors import InvalidInput
from leakwise.tables.formats import open_table

RESPONSE = lw.randomized_response(["no", "yes"], lift=3)
CHANCE = random.Random(5)
ROWS = "id,smokes\n" + "".join(f"{row},{CHANCE.choice(['no', 'no', 'yes'])}\n" for row in range(400))


@pytest.fixture(scope="module")
def served() -> Iterator[Store]:
    with object_store() as store:
        yield store


@pytest.fixture
def store(served: Store, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Store:
    (tmp_path / "room").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "room"))
    served.objects.clear()
    served.objects["bucket/survey.csv"] = ROWS.encode()
    served.objects["bucket/survey.csv.gz"] = gzip.compress(ROWS.encode())
    served.asked.clear()
    return served


@pytest.mark.parametrize("name", ["survey.csv", "survey.csv.gz"])
def test_a_file_of_a_store_is_released_into_the_store(store: Store, name: str) -> None:
    out = lw.release(
        store.uri(f"bucket/{name}"), RESPONSE, "smokes", out=store.uri("bucket/released.parquet"), order="keep"
    )
    assert out == "s3://bucket/released.parquet"
    table = pq.read_table(pa.BufferReader(store.objects["bucket/released.parquet"]))
    assert table.column("id").to_pylist() == list(range(400))
    assert lw.estimate(store.uri("bucket/released.parquet")).sample_size == 400


def test_a_file_is_fetched_once_and_its_copy_vanishes(store: Store, tmp_path: Path) -> None:
    done = lw.protect(
        store.uri("bucket/survey.csv"), "smokes", prior={"no": 0.7, "yes": 0.3}, lift=2, unrelated="id",
        out=tmp_path / "r.csv", order="shuffle",
    )  # fmt: skip
    assert store.asked.count("GET") == 1
    assert done.facts.dataset == "survey.csv"
    lw.estimate(store.uri("bucket/survey.csv"), RESPONSE, "smokes")
    assert store.asked.count("GET") == 2
    assert os.listdir(tmp_path / "room") == []


def test_the_copy_is_for_its_owner_alone(store: Store, tmp_path: Path) -> None:
    table = open_table(store.uri("bucket/survey.csv"))
    assert table.path.stat().st_mode & 0o077 == 0
    assert table.path.parent.stat().st_mode & 0o077 == 0
    lw.release(table, RESPONSE, "smokes", out=tmp_path / "r.csv", order="keep")
    assert (tmp_path / "r.csv").stat().st_mode & 0o077 == 0


def test_a_folder_of_a_store_is_a_table(store: Store, tmp_path: Path) -> None:
    for part in range(2):
        buffer = pa.BufferOutputStream()
        pq.write_table(pa.table({"id": range(50), "smokes": ["no", "yes"] * 25}), buffer)
        store.objects[f"bucket/table/part-{part}.parquet"] = buffer.getvalue().to_pybytes()
    store.objects["bucket/table/_SUCCESS"] = b""
    assert lw.estimate(store.uri("bucket/table"), RESPONSE, "smokes").sample_size == 100


def test_what_exists_is_not_replaced_unless_asked(store: Store) -> None:
    store.objects["bucket/released.csv"] = b"precious"
    source, out = store.uri("bucket/survey.csv"), store.uri("bucket/released.csv")
    with pytest.raises(InvalidInput, match=r"'s3://bucket/released.csv' exists already"):
        lw.release(source, RESPONSE, "smokes", out=out, order="keep")
    assert store.objects["bucket/released.csv"] == b"precious"
    lw.release(source, RESPONSE, "smokes", out=out, order="keep", overwrite=True)
    assert store.objects["bucket/released.csv"].startswith(b"id,smokes\n")


def test_a_value_outside_of_the_domain_leaves_the_store_as_it_was(store: Store) -> None:
    store.objects["bucket/survey.csv"] = ROWS.encode() + b"400,perhaps\n"
    with pytest.raises(InvalidInput, match="perhaps"):
        lw.release(store.uri("bucket/survey.csv"), RESPONSE, "smokes", out=store.uri("bucket/r.csv"), order="keep")
    assert "bucket/r.csv" not in store.objects
    assert store.asked.count("PUT") == 0


def test_errors_name_the_address_and_never_its_password(store: Store, tmp_path: Path) -> None:
    for address in (store.uri("bucket/none.csv"), "http://ada:hush@host/survey.csv?token=hush"):
        with pytest.raises(InvalidInput, match=r"(bucket/none|host/survey).csv'") as caught:
            lw.release(address, RESPONSE, "smokes", out=tmp_path / "r.csv")
        assert "hush" not in str(caught.value)


def test_a_folder_of_a_store_by_the_secret_is_refused_without_the_password(store: Store, tmp_path: Path) -> None:
    store.objects["bucket/smokes=yes/survey.csv"] = ROWS.encode()
    for places in (
        ("bucket/smokes=yes/survey.csv", "bucket/survey.csv"),
        ("bucket/survey.csv", "bucket/smokes=yes/r.csv"),
    ):
        with pytest.raises(InvalidInput, match="'smokes=yes', which reveals") as caught:
            lw.release(store.uri(places[0]), RESPONSE, "smokes", out=store.uri(places[1]), overwrite=True)
        assert "hush" not in str(caught.value)


def test_addresses_of_this_machine_are_its_paths(tmp_path: Path) -> None:
    (tmp_path / "survey.csv").write_text(ROWS)
    out = lw.release((tmp_path / "survey.csv").as_uri(), RESPONSE, "smokes", out=(tmp_path / "r.csv").as_uri())
    assert out == tmp_path / "r.csv"
    with pytest.raises(InvalidInput, match="must not be the table itself"):
        lw.release(tmp_path / "survey.csv", RESPONSE, "smokes", out=(tmp_path / "survey.csv").as_uri(), overwrite=True)


class FarAway:
    """What pyarrow finds behind an address: here a folder of this machine that it takes for another."""

    def __init__(self, folder: Path) -> None:
        self.system = pyarrow.fs.SubTreeFileSystem(str(folder), pyarrow.fs.LocalFileSystem())

    def from_uri(self, uri: str) -> tuple[Any, str]:
        return self.system, uri.rpartition("/")[2]


def test_other_systems_get_the_file_when_it_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    far = tmp_path / "far"
    far.mkdir()
    (far / "survey.csv").write_text(ROWS)
    monkeypatch.setattr(pyarrow.fs, "FileSystem", FarAway(far))
    out = lw.release("hdfs://host/survey.csv", RESPONSE, "smokes", out="hdfs://host/r.csv", order="keep")
    assert out == "hdfs://host/r.csv"
    assert sorted(os.listdir(far)) == ["r.csv", "survey.csv"]

    def fail(*_: object) -> None:
        raise OSError("the line is cut")

    monkeypatch.setattr("leakwise.tables.formats.remote.shutil.copyfileobj", fail)
    with pytest.raises(InvalidInput, match="the line is cut"):
        open_table("hdfs://host/survey.csv")
    (tmp_path / "near.csv").write_text(ROWS)
    with pytest.raises(InvalidInput, match=r"Cannot write 'hdfs://host/s.csv': the line is cut"):
        lw.release(tmp_path / "near.csv", RESPONSE, "smokes", out="hdfs://host/s.csv", order="keep")
    assert sorted(os.listdir(far)) == ["r.csv", "survey.csv"]


def test_a_dataset_brings_its_own_system(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "survey.csv").write_text(ROWS)
    system = pyarrow.fs.SubTreeFileSystem(str(tmp_path / "far"), pyarrow.fs.LocalFileSystem())
    dataset = ds.dataset("survey.csv", filesystem=system, format="csv")
    lw.release(dataset, RESPONSE, "smokes", out=tmp_path / "r.parquet", order="keep")
    assert pq.read_table(tmp_path / "r.parquet").num_rows == 400


def test_the_command_line_reads_addresses(store: Store, tmp_path: Path) -> None:
    run = CliRunner()
    said = ["release", store.uri("bucket/survey.csv"), "-c", "smokes", "--domain", "no,yes", "--lift", "2"]
    said += ["--prior", "no=0.7,yes=0.3", "--unrelated", "id", "--order", "shuffle"]
    done = run.invoke(app, [*said, "--out", str(tmp_path / "r.parquet")])
    assert done.exit_code == 0, done.output
    assert pq.read_table(tmp_path / "r.parquet").num_rows == 400
    for more, message in (
        ([], "--out must be given"),
        (["--out", store.uri("bucket/r.csv")], "a file of this machine"),
    ):
        refused = run.invoke(app, [*said, *more])
        assert refused.exit_code == 2
        assert message in refused.output.replace("\n", " ")
        assert "hush" not in refused.output
    store.objects["bucket/r.parquet"] = (tmp_path / "r.parquet").read_bytes()
    shown = run.invoke(app, ["estimate", store.uri("bucket/r.parquet"), "--json"])
    assert shown.exit_code == 0, shown.output
