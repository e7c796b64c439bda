"""One draw for every row: two jobs with one path, killed drivers, restarts, and folders that are not whole."""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec
import pytest

import leakwise as lw
from leakwise.spark import drafts
from leakwise.spark.folders import HadoopFolders, LocalFolders
from leakwise.spark.places import Place, place_of
from leakwise.spark.writing import write_once

# So many outcomes that two draws of the rows never agree by chance.
NOISE = lw.constant(["no", "yes"], law=[1 / 256] * 256)
ROWS = 200


def people(session: Any, rows: int = ROWS) -> Any:
    digit = "substr(md5(cast(id as string)), 1, 1)"
    return session.range(0, rows, 1, 1).selectExpr("id", f"case when {digit} < '4' then 'yes' else 'no' end as smokes")


def rows_of(df: Any) -> list[tuple[Any, ...]]:
    return sorted(map(tuple, df.collect()))


def hidden(folder: Path) -> list[str]:
    return [name for name in os.listdir(folder) if name.startswith((".leakwise", "_temporary"))]


def test_a_draft_is_private_and_goes(spark, tmp_path):
    place = place_of(spark, tmp_path / "released")
    assert place.folders is not None
    with drafts.draft(place.folders, place.path):
        (name,) = hidden(tmp_path)
        drafts.clear_abandoned(place.folders, place.path)
        assert (tmp_path / name).stat().st_mode & 0o777 == 0o700
    assert hidden(tmp_path) == []


def meeting(df: Any, folder: Path, name: str) -> Any:
    """The same rows, read when two jobs are reading them: each waits at a pipe for the other, the first time."""

    def wait(batches: Iterator[Any]) -> Iterator[Any]:
        if not (folder / name).exists():
            (folder / name).touch()
            with (folder / "pipe").open("rb" if name == "first" else "wb"):
                pass
        yield from batches

    return df.mapInArrow(wait, df.schema)


def test_two_jobs_with_one_path_make_one_release(spark, tmp_path):
    """Both find the path free and draw; one is released, and both return it."""
    os.mkfifo(tmp_path / "pipe")
    path = tmp_path / "released"

    def job(name: str) -> Any:
        return lw.spark.release(meeting(people(spark), tmp_path, name), NOISE, "smokes", path=path)

    with pytest.warns(lw.LeakwiseWarning, match="nothing was drawn"), ThreadPoolExecutor(2) as pool:
        first, second = pool.map(job, ["first", "second"])
    assert [row[0] for row in rows_of(first)] == list(range(ROWS))
    assert rows_of(first) == rows_of(second)
    assert hidden(tmp_path) == []


def test_a_path_taken_by_another_table_meanwhile_stays_as_it_is(spark, tmp_path, monkeypatch):
    path = tmp_path / "released"
    other = people(spark, 50)

    def slower(*given: Any) -> bool:
        monkeypatch.undo()
        lw.spark.release(other, NOISE, "smokes", path=path)
        return write_once(*given)

    monkeypatch.setattr("leakwise.spark.driver.write_once", slower)
    with pytest.raises(lw.InvalidInput, match=r"the release of other rows.*choose another path"):
        lw.spark.release(people(spark), NOISE, "smokes", path=path)
    assert spark.read.parquet(str(path)).count() == 50
    assert hidden(tmp_path) == []


def test_the_same_release_is_handed_back_and_another_one_refused(spark, tmp_path):
    df, path = people(spark), tmp_path / "released"
    out = rows_of(lw.spark.release(df, NOISE, "smokes", path=path))
    with pytest.warns(lw.LeakwiseWarning, match="nothing was drawn"):
        assert rows_of(lw.spark.release(df.repartition(3), NOISE, "smokes", path=path)) == out
    other = lw.constant(["no", "yes"], law=[1 / 2, 1 / 2])
    for table, mechanism, words in [
        (df, other, "another mechanism"),
        (df.withColumnRenamed("id", "ID"), NOISE, "another table"),
        (df.selectExpr("nullif(id, 7) as id", "smokes"), NOISE, "other rows"),
        (people(spark, ROWS + 1), NOISE, "other rows"),
    ]:
        with pytest.raises(lw.InvalidInput, match=f"exists already, and holds .*{words}") as caught:
            lw.spark.release(table, mechanism, "smokes", path=path)
        assert "remove" not in str(caught.value)
    (path / "_SUCCESS").unlink()
    with pytest.raises(lw.InvalidInput, match=r"is not a finished release.*If it is what a stopped job left"):
        lw.spark.release(df, NOISE, "smokes", path=path)
    assert len(list(path.glob("part-*"))) == 1


@pytest.fixture
def killed() -> drafts._Owner:
    """A process that was here and is gone."""
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    here = drafts._this_process()
    return drafts._Owner(here.host, here.boot, here.space, gone.pid, "1")


def leave_draft(target: Path, owner: drafts._Owner) -> Path:
    """What a driver that is killed in the middle of its job leaves."""
    path = target.with_name(f".leakwise-{target.name}-{secrets.token_hex(12)}")
    folder = path / "table" / "_temporary" / "0"
    folder.mkdir(parents=True)
    (folder / "part-00000").write_text("draws that nobody was given")
    (path / "owner.json").write_bytes(msgspec.json.encode(owner))
    return path


def test_a_restart_after_a_killed_driver_clears_its_draws(spark, tmp_path, killed):
    path = tmp_path / "released"
    left = leave_draft(path, killed)
    running = leave_draft(path, drafts._this_process())
    elsewhere = leave_draft(path, drafts._Owner("another", "b", "s", 1, "1"))
    orphan = leave_draft(path, killed)
    (orphan / "owner.json").unlink()
    beside = leave_draft(tmp_path / "released-2", killed)
    with pytest.warns(lw.LeakwiseWarning, match=f"cannot be seen from here.*{elsewhere.name}"):
        out = lw.spark.release(people(spark), NOISE, "smokes", path=path)
    assert out.count() == ROWS
    assert not left.exists()
    assert not orphan.exists()
    assert running.exists()
    assert elsewhere.exists()
    assert beside.exists()


def test_counts_and_estimates_refuse_what_is_not_whole(spark, connect, tmp_path):
    path = tmp_path / "released"
    lw.spark.release(people(spark), lw.identity(["no", "yes"]), "smokes", path=path)
    assert lw.estimate(path).sample_size == ROWS
    by_part = tmp_path / "by"
    spark.read.parquet(str(path)).selectExpr("*", "id % 2 as `odd part`").write.partitionBy("odd part").parquet(
        str(by_part)
    )
    assert sum(lw.spark.counts(spark.read.parquet(str(by_part)), "smokes").values()) == ROWS
    for folder in (path, by_part):
        (folder / "_SUCCESS").unlink()
        for session in (spark, connect):
            with pytest.raises(lw.InvalidInput, match="is not whole: it has no file _SUCCESS"):
                lw.spark.counts(session.read.parquet(str(folder)), "smokes")
    with pytest.raises(lw.InvalidInput, match="is not whole"):
        lw.estimate(path)
    assert sum(lw.spark.counts(people(spark), "smokes").values()) == ROWS


def test_a_restarted_stream_goes_on_and_draws_no_batch_twice(spark, tmp_path):
    source, out = tmp_path / "source", tmp_path / "released"
    people(spark, 60).write.parquet(str(source))

    def run() -> None:
        stream = spark.readStream.schema("id bigint, smokes string").parquet(str(source))
        query = (
            stream.writeStream.foreachBatch(lw.spark.foreach_batch(NOISE, "smokes", path=out))
            .option("checkpointLocation", str(tmp_path / "progress"))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()

    run()
    first = rows_of(spark.read.parquet(str(out)))
    assert len(first) == 60
    assert {row[-1] for row in first} == {0}
    # Killed after the release and before the query noted it: the batch is run again, and then the next one.
    for note in (tmp_path / "progress" / "commits").iterdir():
        note.unlink()
    people(spark, 90).where("id >= 60").write.mode("append").parquet(str(source))
    run()
    second = rows_of(spark.read.parquet(str(out)))
    assert [row[0] for row in second] == list(range(90))
    assert [row for row in second if row[-1] == 0] == first
    # Another query that begins at batch 0 does not pass for this one.
    batch = lw.spark.foreach_batch(NOISE, "smokes", path=out)
    with pytest.raises(lw.InvalidInput, match="the release of other rows"):
        batch(people(spark, 10), 0)
    with pytest.raises(lw.InvalidInput, match="has a column 'batch'"):
        batch(people(spark, 10).selectExpr("*", "1 as Batch"), 5)
    with pytest.raises(lw.InvalidInput, match="mechanism must be a Mechanism"):
        lw.spark.foreach_batch("smokes", path=out)


def test_a_client_without_a_hand_on_the_files(connect, tmp_path, monkeypatch):
    """Spark Connect to another machine: written in place, and looked at afterwards."""
    path = str(tmp_path / "released")
    monkeypatch.setattr("leakwise.spark.driver.place_of", lambda _, path: Place(str(path), None))
    df = people(connect)
    out = rows_of(lw.spark.release(df, NOISE, "smokes", path=path))
    with pytest.warns(lw.LeakwiseWarning, match="nothing was drawn"):
        assert rows_of(lw.spark.release(df, NOISE, "smokes", path=path)) == out
    with pytest.raises(lw.InvalidInput, match="out of reach of a Spark Connect client"):
        lw.spark.release(df, NOISE, "smokes", path=tmp_path / "other", order="shuffle")

    (file,) = Path(path).glob("part-*.parquet")
    mixed = tmp_path / "mixed"

    def beside(batches: Iterator[Any]) -> Iterator[Any]:
        shutil.copy(file, mixed / file.name)
        yield from batches

    # Two jobs that both found the path free.
    assert not write_once(connect, Place(path, None), df)
    with pytest.raises(lw.InvalidInput, match=r"2 jobs wrote to path .*Share none of it"):
        write_once(connect, Place(str(mixed), None), df.mapInArrow(beside, df.schema))


def test_moves_replace_nothing(spark, tmp_path):
    for number, folders in enumerate([LocalFolders(private=False), HadoopFolders(spark)]):
        root = f"file:{tmp_path}/{number}"
        for name in ("a", "b"):
            folders.make(f"{root}/{name}")
            folders.write(f"{root}/{name}/file", name.encode())
        assert not folders.move(f"{root}/a", f"{root}/b")
        assert folders.read(f"{root}/b/file") == b"b"
        assert not folders.exists(f"{root}/b/a")
        assert folders.move(f"{root}/a", f"{root}/c")
        assert folders.read(f"{root}/c/file") == b"a"
        assert folders.read(f"{root}/a/file") is None
        assert [one.rpartition("/")[2] for one in folders.beginning_with(f"{root}/b")] == ["b"]
        folders.remove(f"{root}/b")
        assert not folders.exists(f"{root}/b")
        assert folders.beginning_with(f"{root}/no/b") == []


@pytest.mark.parametrize("path", ["", "/", "..", "a/*", "released[1]", "{a,b}"])
def test_paths_that_name_no_folder(path):
    with pytest.raises(lw.InvalidInput, match="path must name a new folder"):
        place_of(None, path)
