"""Tables in several files: folders, folders of the form column=value, and patterns, released into one file."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import leakwise as lw
from leakwise.cli import app
from leakwise.tables.formats import open_table, records, sinks

pytestmark = pytest.mark.filterwarnings("ignore::leakwise.RowOrderWarning", "ignore::leakwise.CertaintyWarning")

IDENTITY = lw.identity(["no", "yes"])
RESPONSE = lw.randomized_response(["no", "yes"], lift=4)
ROWS = 120
FRAME = pd.DataFrame(
    {
        "id": range(ROWS),
        "answer": np.random.default_rng(5).choice(["no", "yes"], ROWS),
        "zip": ["007", "10115", None, "1.50"] * (ROWS // 4),
        "country": ["DE", "FR", "A/B c"] * (ROWS // 3),
        "year": [2019, 2020, 2021, 2022] * (ROWS // 4),
    }
)
PRIOR = {"no": 0.6, "yes": 0.4}
DROP = "id,zip,country,year"


def run(*words: object) -> None:
    done = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)
    assert done.exit_code == 0, done.stderr


def names(folder: Path) -> list[str]:
    return sorted(one.name for one in folder.iterdir())


def write(frame: pd.DataFrame, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    match "".join(path.suffixes):
        case ".parquet":
            frame.to_parquet(path, index=False)
        case ".arrow":
            frame.reset_index(drop=True).to_feather(path)
        case ".csv" | ".csv.gz" | ".csv.zst":
            frame.to_csv(path, index=False)
        case ".jsonl":
            frame.to_json(path, orient="records", lines=True)


def rows(path: Path) -> list[dict[str, object]]:
    table = open_table(path)
    found = [row for _, batch in table.pieces([], table.arrow_schema(table.names)) for row in batch.to_pylist()]
    return sorted(found, key=lambda row: row["id"])


EXPECTED = [
    {name: None if value is None or value != value else value for name, value in row.items()}
    for row in FRAME.to_dict("records")
]


@pytest.mark.parametrize("ending", [".parquet", ".arrow", ".csv", ".csv.gz", ".jsonl"])
@pytest.mark.parametrize("target", ["out.parquet", "out.csv", "out.jsonl"])
def test_a_folder_is_released_into_one_file(ending, target, tmp_path):
    for part, place in enumerate(range(0, ROWS, 50)):
        write(FRAME[place : place + 50], tmp_path / "t" / f"{part}{ending}")
    (tmp_path / "t" / "README.md").write_text("not of the table")
    (tmp_path / "t" / "_metadata").write_text("nor this")
    out = lw.release(tmp_path / "t", IDENTITY, "answer", out=tmp_path / target)
    assert rows(out) == EXPECTED
    by_pattern = lw.release(tmp_path / "t" / f"*{ending}", IDENTITY, "answer", out=tmp_path / f"p{target}")
    assert by_pattern.read_bytes() == out.read_bytes()


def test_fields_of_csv_parts_stay_as_they_were_written(tmp_path):
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "a.csv").write_text('answer,x,y\nno,1.50,\nyes,007,""\n')
    (tmp_path / "t" / "b.csv").write_text('"y","answer",x\r\nTrue,no,"a,b"\r\n2020-01-01T10:00:00,yes,"say ""hi"""\r\n')
    out = lw.release(tmp_path / "t", IDENTITY, "answer", out=tmp_path / "out.csv")
    assert out.read_text() == (
        'answer,x,y\nno,1.50,\nyes,007,""\nno,"a,b",True\nyes,"say ""hi""",2020-01-01T10:00:00\n'
    )


@pytest.mark.parametrize("ending", [".parquet", ".csv", ".jsonl"])
@pytest.mark.parametrize("target", ["out.parquet", "out.csv"])
def test_a_column_in_the_names_of_folders_is_one_of_the_table(ending, target, tmp_path):
    for (country, year), part in FRAME.groupby(["country", "year"]):
        name = country.replace("/", "%2F")
        write(
            part.drop(columns=["country", "year"]), tmp_path / "t" / f"country={name}" / f"year={year}" / f"0{ending}"
        )
    out = lw.release(tmp_path / "t", IDENTITY, "answer", out=tmp_path / target)
    assert rows(out) == EXPECTED
    if ending != ".jsonl":  # a pattern may go into the folders, too
        again = lw.release(f"{tmp_path}/t/*/year=*/*{ending}", IDENTITY, "answer", out=tmp_path / f"p{target}")
        assert again.read_bytes() == out.read_bytes()


@pytest.mark.parametrize("writer", ["pyarrow", "pandas", "polars"])
def test_folders_that_other_programs_write(writer, tmp_path):
    where = tmp_path / "t"
    frame = FRAME.assign(country=[None if one == "FR" else one for one in FRAME["country"]])
    match writer:
        case "pyarrow":
            flavor = ds.partitioning(pa.schema([("country", pa.string())]), flavor="hive")
            ds.write_dataset(pa.Table.from_pandas(frame), where, format="parquet", partitioning=flavor)
        case "pandas":
            frame.to_parquet(where, partition_cols=["country"])
        case "polars":
            pl.from_pandas(frame).write_parquet(where, partition_by="country")
    out = lw.release(where, IDENTITY, "answer", out=tmp_path / "out.parquet")
    assert [row["country"] for row in rows(out)] == [None if one == "FR" else one for one in FRAME["country"]]
    given = lw.protect(
        where, "answer", prior=PRIOR, lift=2, unrelated=["year", "country"], drop=["id", "zip"], order="shuffle",
        out=tmp_path / "p.csv",
    )  # fmt: skip
    assert set(pd.read_csv(given.table).columns) == {"answer", "country", "year"}


@pytest.mark.parametrize("folder", ["answer=no", "Answer=no", "%61nswer=no"])
@pytest.mark.parametrize("pattern", ["t", "t/*/*.csv", "t/**/*.csv"])
def test_folders_named_by_the_secret_are_refused(folder, pattern, tmp_path):
    write(FRAME[["id", "answer"]], tmp_path / "t" / folder / "a.csv")
    with pytest.raises(lw.InvalidInput, match="reveals the secret of all its rows"):
        lw.release(tmp_path / pattern, RESPONSE, "answer", out=tmp_path / "out.csv")
    others = [name for name in open_table(tmp_path / pattern).names if name != "answer"]
    with pytest.raises(lw.InvalidInput, match="reveals the secret of all its rows"):
        lw.protect(tmp_path / pattern, "answer", prior=PRIOR, lift=2, drop=others, out=tmp_path / "out.csv")
    assert not (tmp_path / "out.csv").exists()


def test_a_secret_that_only_the_names_of_folders_have_is_refused(tmp_path):
    for answer, part in FRAME.groupby("answer"):
        write(part[["id"]], tmp_path / "t" / f"answer={answer}" / "a.parquet")
    assert open_table(tmp_path / "t").names == ["id", "answer"]
    with pytest.raises(lw.InvalidInput, match="reveals the secret of all its rows"):
        lw.release(tmp_path / "t", RESPONSE, "answer", out=tmp_path / "out.parquet", order="shuffle")


def test_rows_of_all_files_are_tested_as_one_order(tmp_path):
    for answer, part in FRAME.groupby("answer"):
        write(part, tmp_path / "t" / f"{'b' if answer == 'no' else 'a'}.parquet")
    with pytest.raises(lw.InvalidInput, match="The order of the rows"):
        lw.protect(
            tmp_path / "t", "answer", prior=PRIOR, lift=2, drop=["id", "zip", "country", "year"],
            out=tmp_path / "out.parquet",
        )  # fmt: skip


def test_bounds_of_files_are_not_to_be_seen(tmp_path, monkeypatch):
    monkeypatch.setattr(sinks.regrouped, "__defaults__", (50,))
    for part, (start, end) in enumerate(((0, 7), (7, 8), (8, ROWS))):
        write(FRAME[start:end], tmp_path / "t" / f"{part}.parquet")
    for order in ("keep", "shuffle"):
        out = lw.release(tmp_path / "t", IDENTITY, "answer", out=tmp_path / f"{order}.parquet", order=order)
        assert list(open_table(out).parts) == [50, 50, 20]
        assert b"t/0.parquet" not in out.read_bytes()


def break_(folder: Path, fault: str) -> None:
    match fault:
        case "_temporary" | ".spark-staging-1" | "_delta_log" | ".hoodie":
            (folder / fault).mkdir()
        case "nested":
            write(FRAME[:3], folder / "2021" / "a.parquet")
        case "kinds":
            write(FRAME[:3], folder / "a.csv")
        case "columns":
            write(FRAME[["id"]], folder / "z.parquet")
        case "types":
            write(FRAME.assign(id=[{"a": 1}] * ROWS), folder / "z.parquet")
        case "keys":
            write(FRAME[:3], folder / "color=red" / "z.parquet")
        case "twice":
            write(FRAME[:3], folder / "color=red" / "color=red" / "z.parquet")
        case "spark":
            write(FRAME[:3], folder / "part-00000-abc.parquet")
        case "damaged":
            (folder / "z.parquet").write_bytes(b"PAR1 and no more")
        case "empty":
            shutil.rmtree(folder)
            folder.mkdir()


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("_temporary", "is not whole: a job is writing to it"),
        (".spark-staging-1", "is not whole: a job is writing to it"),
        ("_delta_log", "is a table of Delta Lake"),
        (".hoodie", "is a table of Hudi"),
        ("nested", "has tables in the folders '2021'"),
        ("kinds", "has files of several kinds"),
        ("columns", "are not of one table"),
        ("types", "have columns of different types"),
        ("keys", "are in folders of different columns"),
        ("twice", "names the column 'color' twice"),
        ("spark", "has no file _SUCCESS"),
        ("damaged", "is not a Parquet file, or it is damaged"),
        ("empty", "is a folder without a table in it"),
    ],
)
def test_what_is_not_one_whole_table(fault, message, tmp_path):
    write(FRAME, tmp_path / "t" / "a.parquet")
    break_(tmp_path / "t", fault)
    with pytest.raises(lw.InvalidInput, match=message):
        lw.release(tmp_path / "t", RESPONSE, "answer", out=tmp_path / "out.parquet")
    assert sorted(one.name for one in tmp_path.iterdir()) == ["t"]


def test_types_of_files_are_brought_together(tmp_path):
    (tmp_path / "t").mkdir()
    pq.write_table(pa.table({"answer": ["no"], "id": pa.array([1], pa.int32())}), tmp_path / "t" / "a.parquet")
    pq.write_table(pa.table({"id": pa.array([2**40], pa.int64()), "answer": ["yes"]}), tmp_path / "t" / "b.parquet")
    out = lw.release(tmp_path / "t", IDENTITY, "answer", out=tmp_path / "out.parquet")
    assert pq.read_table(out).to_pylist() == [{"answer": "no", "id": 1}, {"answer": "yes", "id": 2**40}]


def test_the_target_must_not_become_a_part_of_the_table(tmp_path):
    write(FRAME, tmp_path / "t" / "a.csv")
    for source, target in (
        ("t", "t/out.csv"),
        ("t", "t/x=1/out.csv"),
        ("t/*.csv", "t/out.csv"),
        ("t/**/*.csv", "t/o.csv"),
    ):
        (tmp_path / target).parent.mkdir(exist_ok=True)
        with pytest.raises(lw.InvalidInput, match="out must not be among the files of the table"):
            lw.release(tmp_path / source, RESPONSE, "answer", out=tmp_path / target)
    with pytest.raises(lw.InvalidInput, match="out must not be the table itself"):
        lw.release(tmp_path / "t", RESPONSE, "answer", out=tmp_path / "t" / "a.csv", overwrite=True)
    (tmp_path / "other").mkdir()
    lw.release(tmp_path / "t" / "*.csv", RESPONSE, "answer", out=tmp_path / "other" / "out.csv")


def test_a_released_file_is_as_private_as_the_most_private_of_the_files(tmp_path):
    for name in "abc":
        write(FRAME, tmp_path / "t" / f"{name}.csv")
    (tmp_path / "t" / "b.csv").chmod(0o600)
    out = lw.release(tmp_path / "t", RESPONSE, "answer", out=tmp_path / "out.csv")
    assert out.stat().st_mode & 0o777 == 0o600


def test_a_file_that_changes_meanwhile_is_noticed(tmp_path):
    for name in "ab":
        write(FRAME, tmp_path / "t" / f"{name}.csv")

    def touch(stage: str, *_: object) -> None:
        if stage == "writing":
            write(FRAME[::-1], tmp_path / "t" / "b.csv")

    with pytest.raises(lw.InvalidInput, match="was changed while it was released"):
        lw.release(tmp_path / "t", RESPONSE, "answer", out=tmp_path / "out.parquet", progress=touch)
    assert not (tmp_path / "out.parquet").exists()


def test_a_pattern_that_is_the_name_of_a_file_is_that_file(tmp_path):
    write(FRAME, tmp_path / "a[1].csv")
    write(FRAME[:3], tmp_path / "a1.csv")
    assert len(rows(tmp_path / "a[1].csv")) == ROWS
    with pytest.raises(lw.InvalidInput, match="names no file"):
        open_table(tmp_path / "b*.csv")


def test_estimates_come_from_folders_of_released_files(tmp_path):
    for part, place in enumerate(range(0, ROWS, 40)):
        write(FRAME[place : place + 40], tmp_path / f"{part}.parquet")
        (tmp_path / "released").mkdir(exist_ok=True)
        lw.release(tmp_path / f"{part}.parquet", RESPONSE, "answer", out=tmp_path / "released" / f"{part}.parquet")
    found = lw.estimate(tmp_path / "released")
    assert found.sample_size == ROWS
    assert lw.estimate(tmp_path / "released" / "*.parquet").frequencies.tolist() == found.frequencies.tolist()
    other = lw.randomized_response(["no", "yes"], lift=2)
    lw.release(tmp_path / "0.parquet", other, "answer", out=tmp_path / "released" / "3.parquet")
    with pytest.raises(lw.InvalidInput, match="were released by different mechanisms"):
        lw.estimate(tmp_path / "released")


def test_estimates_come_from_csv_files_that_each_have_their_mechanism_next_to_them(tmp_path):
    (tmp_path / "r").mkdir()
    words = ["-c", "answer", "--domain", "no,yes", "--lift", "2", "--prior", "no=0.5,yes=0.5", "--drop", DROP]
    for part, place in enumerate(range(0, ROWS, 40)):
        write(FRAME[place : place + 40], tmp_path / f"{part}.csv")
        run("release", tmp_path / f"{part}.csv", *words, "-o", tmp_path / "r" / f"{part}.csv.gz")
    found = lw.estimate(tmp_path / "r")
    mechanism = lw.Mechanism.load(tmp_path / "r" / "0.mechanism.json")
    whole = pd.concat(pd.read_csv(one) for one in (tmp_path / "r").glob("*.csv.gz"))
    assert found.frequencies.tolist() == lw.estimate(whole, mechanism, "answer").frequencies.tolist()
    assert found.sample_size == ROWS
    pd.read_csv(tmp_path / "r" / "1.csv.gz")[1:].to_csv(tmp_path / "r" / "1.csv.gz", index=False)
    with pytest.raises(lw.InvalidInput, match=r"next to '.*1\.csv\.gz' belongs to another"):
        lw.estimate(tmp_path / "r", column="answer")
    lw.randomized_response(["no", "yes"], lift=3).save(tmp_path / "r" / "1.mechanism.json")
    with pytest.raises(lw.InvalidInput, match="were released by different mechanisms"):
        lw.estimate(tmp_path / "r", column="answer")
    run("release", tmp_path / "*.csv", *words, "-o", tmp_path / "all.csv.gz")
    assert lw.estimate(tmp_path / "all.csv.gz").sample_size == ROWS


def test_a_second_release_into_parquet_carries_both_mechanisms_though_csv_carried_none(tmp_path):
    words = ["-c", "answer", "--lift", "2", "--for", "reading", "--drop", DROP]
    write(FRAME, tmp_path / "t.csv")
    run("release", tmp_path / "t.csv", *words, "--domain", "no,yes", "--prior", "no=0.5,yes=0.5")
    once = lw.Mechanism.load(tmp_path / "t.released.mechanism.json")
    out = lw.release(tmp_path / "t.released.csv", RESPONSE, "answer", out=tmp_path / "twice.parquet")
    released = pq.read_table(out)
    both = once.then(RESPONSE)
    assert lw.estimate(out).frequencies.tolist() == lw.estimate(released, both, "answer").frequencies.tolist()


@pytest.mark.parametrize("ending", [".parquet", ".csv", ".csv.zst", ".jsonl"])
def test_regressions_read_folders_and_their_columns(ending, tmp_path):
    frame = FRAME.assign(price=[f"{value:.2f}" for value in np.random.default_rng(3).normal(size=ROWS)])
    if ending in (".parquet", ".jsonl"):
        frame["price"] = frame["price"].astype(float)
    for year, part in frame.groupby("year"):
        write(part.drop(columns="year"), tmp_path / "t" / f"year={year}" / f"a{ending}")
    found = lw.regress("answer ~ price + year", tmp_path / "t", {"answer": RESPONSE})
    same = frame.assign(price=frame["price"].astype(float))
    expected = lw.regress("answer ~ price + year", same, {"answer": RESPONSE})
    assert found.coefficients == pytest.approx(expected.coefficients, rel=1e-3, abs=1e-6)


def test_advice_and_audits_take_folders_and_patterns(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(FRAME, tmp_path / "t" / "a.csv")
    for table in ("t", "t/*.csv"):
        assert lw.advise(table, "answer", drop=["id", "zip"]).settings
        assert lw.audit_table(table, "answer", given=["country"], mechanism=RESPONSE) is not None
    assert names(tmp_path) == ["t"]


def test_memory_does_not_grow_with_the_files(tmp_path, monkeypatch):
    monkeypatch.setattr(records, "_BLOCK", 2000)
    monkeypatch.setattr(sinks.regrouped, "__defaults__", (64,))
    for part in range(40):
        write(FRAME, tmp_path / "t" / f"{part}.csv")
    before = pa.total_allocated_bytes()
    most: list[int] = []
    lw.release(
        tmp_path / "t", IDENTITY, "answer", out=tmp_path / "out.parquet",
        progress=lambda *_: most.append(pa.total_allocated_bytes() - before),
    )  # fmt: skip
    assert len(most) > 70
    assert max(most) < pa.Table.from_pandas(FRAME).nbytes * 10


def test_json_parts_with_names_that_nobody_knew_are_refused(tmp_path):
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "a.jsonl").write_text('{"answer":"no"}\n{"answer":"yes","hidden":1}\n')
    with pytest.raises(lw.InvalidInput, match="has 'hidden', which the first object does not"):
        lw.release(tmp_path / "t", RESPONSE, "answer", out=tmp_path / "out.jsonl")
    with gzip.open(tmp_path / "t" / "a.jsonl.gz", "wt") as file:
        json.dump({"answer": "no"}, file)
    (tmp_path / "t" / "a.jsonl").unlink()
    assert lw.release(tmp_path / "t", IDENTITY, "answer", out=tmp_path / "o.jsonl").read_text() == '{"answer":"no"}\n'


@pytest.mark.parametrize("place", ["t/../t/z.csv", "link/z.csv", "t/inner/z.csv"])
@pytest.mark.parametrize("pattern", ["t/*", "link/*", "t/**/*.csv", "t"])
def test_a_released_file_is_not_put_among_those_of_its_table_by_another_name(pattern, place, tmp_path):
    write(FRAME, tmp_path / "t" / "inner" / "a.csv" if pattern == "t/*" else tmp_path / "t" / "a.csv")
    (tmp_path / "t" / "inner").mkdir(exist_ok=True)
    (tmp_path / "link").symlink_to(tmp_path / "t")
    with pytest.raises(lw.InvalidInput, match="must not be among the files of the table"):
        lw.release(tmp_path / pattern, RESPONSE, "answer", out=tmp_path / place)
    beside = lw.release(tmp_path / pattern, RESPONSE, "answer", out=tmp_path / "z.csv")
    assert beside.exists()


def test_the_folder_that_one_is_in_is_a_table_too(tmp_path, monkeypatch):
    write(FRAME, tmp_path / "t" / "a.csv")
    monkeypatch.chdir(tmp_path / "t")
    run("release", ".", "-c", "answer", "--lift", 2, "--prior", "no=0.6,yes=0.4", "--drop", DROP, "-o", "../z.csv")
    assert "z.csv" in names(tmp_path)
