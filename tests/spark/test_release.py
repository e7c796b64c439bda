"""Releases on a local Spark of four threads: the law, one draw per row whatever fails, whole or not at all."""

from __future__ import annotations

import hashlib
import os
import signal
import stat
import sys
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2

import leakwise as lw

FALSE_ALARM = 1e-9
ROWS = 20_000
YES_NO = lw.randomized_response(["no", "yes"], lift=3)
# Without any order that a test could find.
FIRST_DIGIT = "substr(md5(cast(id as string)), 1, 1)"


def people(session: Any, rows: int = ROWS) -> Any:
    """Four partitions; the id tells the true values: a fourth smokes, ages run from 0 to 99."""
    return session.range(0, rows, 1, 4).selectExpr(
        "id", f"case when {FIRST_DIGIT} < '4' then 'yes' else 'no' end as smokes", "cast(id % 100 as int) as age"
    )


def chi_square_level(mechanism: lw.Mechanism, letters: list[Any], outcomes: list[Any]) -> float:
    """The p-value of the joint counts of letters and outcomes, given the letters."""
    rows = np.array([mechanism.input_alphabet.index[letter] for letter in letters])
    columns = np.array([mechanism.output_alphabet.index[outcome] for outcome in outcomes])
    statistic, degrees = 0.0, 0
    for code, row in enumerate(mechanism.matrix):
        seen = np.bincount(columns[rows == code], minlength=row.size)
        assert not seen[row == 0].any()
        expected = row[row > 0] * (rows == code).sum()
        statistic += float(((seen[row > 0] - expected) ** 2 / expected).sum())
        degrees += int((row > 0).sum()) - 1
    return float(chi2.sf(statistic, degrees))


def smokes(row_id: int) -> str:
    return "yes" if hashlib.md5(b"%d" % row_id).hexdigest() < "4" else "no"


def check_rows(table: Any, rows: int = ROWS) -> None:
    """Every row once, the other columns as they were, the secret one by the law."""
    table = table.sort_values("id")
    assert table["id"].tolist() == list(range(rows))
    assert table["age"].tolist() == [row % 100 for row in range(rows)]
    assert chi_square_level(YES_NO, [smokes(i) for i in range(rows)], table["smokes"].tolist()) > FALSE_ALARM


def data_files(folder: Path) -> list[str]:
    return [name for name in os.listdir(folder) if name.startswith("part-")]


@pytest.fixture
def table_of() -> Any:
    """A DataFrame as a pandas table by way of Arrow."""
    return lambda df: df.toArrow().to_pandas()


# ------------------------------------------------------------------------------------------------------- the law


def test_plain_spark_releases_counts_and_estimates(spark, tmp_path, table_of):
    path = tmp_path / "released"
    out = lw.spark.release(people(spark), YES_NO, "smokes", path=path)
    table = table_of(out)
    check_rows(table)
    # Read again, by the same DataFrame and by a stranger: the same draws.
    assert table_of(out).sort_values("id").equals(table.sort_values("id"))
    again = spark.read.parquet(str(path))
    assert table_of(again).sort_values("id").equals(table.sort_values("id"))
    assert len(data_files(path)) == 4
    assert "_temporary" not in os.listdir(path)
    # The way back.
    counts = lw.spark.counts(again, "smokes")
    assert counts == table["smokes"].value_counts().to_dict()
    carried = lw.spark.mechanism(again)
    assert carried == YES_NO
    estimate = lw.estimate(counts, carried)
    # Six standard errors: false alarm 2e-9.
    assert abs(estimate.frequencies[1] - 0.25) < 6 * estimate.standard_error[1]
    # The folder itself says how it was made, to those who have no Spark.
    local = lw.estimate(path)
    assert local.frequencies.tolist() == estimate.frequencies.tolist()


def test_spark_connect(connect, tmp_path, table_of):
    path = tmp_path / "released"
    df = people(connect)
    assert type(df).__module__ == "pyspark.sql.connect.dataframe"
    out = lw.spark.release(df, YES_NO, "smokes", path=path)
    table = table_of(out)
    check_rows(table)
    assert lw.spark.mechanism(out, "smokes") == YES_NO
    assert lw.spark.counts(out, "smokes") == table["smokes"].value_counts().to_dict()
    # Without a path it finds one, since the server runs on this machine.
    unnamed = lw.spark.release(df.limit(10), YES_NO, "smokes")
    assert table_of(unnamed).equals(table_of(unnamed))
    with pytest.warns(lw.LeakwiseWarning, match="nothing was drawn"):
        again = lw.spark.release(df, YES_NO, "smokes", path=path)
    assert table_of(again).sort_values("id").equals(table.sort_values("id"))
    bad = df.selectExpr("id", "case when id = 19999 then 'perhaps' else smokes end as smokes")
    with pytest.raises(lw.InvalidInput, match=r"partition 3: column 'smokes' .*'perhaps'.*nothing was released"):
        lw.spark.release(bad, YES_NO, "smokes", path=tmp_path / "bad")
    assert not (tmp_path / "bad").exists()


def test_without_a_path_it_is_materialised_all_the_same(spark, table_of):
    """Lazy evaluation does not redraw: filters, joins and repeated reads see one draw."""
    noise = lw.constant(["no", "yes"], law=[1 / 256] * 256)
    out = lw.spark.release(people(spark, 2000), noise, "smokes")
    first, second = (table_of(out).sort_values("id")["smokes"].tolist() for _ in range(2))
    assert first == second
    twins = out.alias("a").join(out.alias("b"), "id").where("a.smokes <> b.smokes")
    assert twins.count() == 0
    # Four partitions with the same rows draw differently: equal by chance with probability 256^-500.
    parts = [tuple(first[start : start + 500]) for start in range(0, 2000, 500)]
    assert len(set(parts)) == 4
    (file, *_) = out.inputFiles()
    assert stat.S_IMODE(os.stat(Path(file.removeprefix("file://")).parents[1]).st_mode) == 0o700


def test_mappings_joint_secrets_bins_and_missing_values(spark, table_of):
    joint = lw.identity([("no", "f"), ("no", "m"), ("yes", "f"), ("yes", "m")])
    ages = lw.randomized_response(lw.bins(0, 100, 4), lift=2)
    kinds = lw.identity([None, 1, 2])
    df = people(spark, 400).selectExpr(
        "*",
        "case when id % 2 = 0 then 'f' else 'm' end as sex",
        "nullif(cast(id % 3 as int), 0) as kind",
        "id as `odd.name``s`",
    )
    out = lw.spark.release(df, {("smokes", "sex"): joint, "age": ages, "kind": kinds}, order="keep")
    table = table_of(out).sort_values("id")
    assert table["smokes"].tolist() == [smokes(i) for i in range(400)]
    assert table["sex"].tolist() == ["fm"[i % 2] for i in range(400)]
    assert set(table["age"]) <= set(lw.bins(0, 100, 4))
    kind = {row["id"]: row["kind"] for row in out.select("id", "kind").collect()}
    assert kind == {i: (i % 3) or None for i in range(400)}
    assert out.schema["kind"].dataType.simpleString() == "int"
    assert lw.spark.counts(out, ("smokes", "sex")) == dict(Counter((smokes(i), "fm"[i % 2]) for i in range(400)))
    assert lw.spark.counts(out, "kind")[None] == 134
    assert sum(lw.spark.counts(out, "odd.name`s").values()) == 400
    assert lw.spark.mechanism(out, ("smokes", "sex")) == joint
    assert lw.spark.mechanism(out, "age").outputs == ages.outputs
    with pytest.raises(lw.InvalidInput, match="column must say which"):
        lw.spark.mechanism(out)
    with pytest.raises(lw.InvalidInput, match="does not carry"):
        lw.spark.mechanism(df)


def test_decimals_durations_and_timestamps(spark):
    """The secret may be any of them, and so may columns beside it."""
    df = spark.range(0, 40, 1, 1).selectExpr(
        "id",
        f"cast(if({FIRST_DIGIT} < '4', 0.1, 12.5) as decimal(10,2)) as price",
        f"make_dt_interval(0, 0, 0, if({FIRST_DIGIT} < '4', 1, 2)) as duration",
        f"if({FIRST_DIGIT} < '4', timestamp'2026-01-01 00:00:00', timestamp'2026-01-02 00:00:00') as time",
        "struct(timestamp'2026-01-01 00:00:00' as t) as inside",
    )
    labels = {
        "price": [Decimal("0.1"), Decimal("12.5")],
        "duration": [timedelta(seconds=1), timedelta(seconds=2)],
        "time": [datetime(2026, 1, day, tzinfo=UTC) for day in (1, 2)],
    }
    out = lw.spark.release(df, {name: lw.identity(values) for name, values in labels.items()}, order="keep")
    assert out.drop("id").dtypes == df.drop("id").dtypes
    assert sorted(map(tuple, out.collect())) == sorted(map(tuple, df.collect()))
    for name in ("price", "duration"):
        mechanism = lw.spark.mechanism(out, name)
        assert list(mechanism.inputs) == labels[name]
        few = sum(smokes(i) == "yes" for i in range(40))
        assert lw.estimate(lw.spark.counts(out, name), mechanism).frequencies.tolist() == [few / 40, 1 - few / 40]


def test_types_that_spark_cannot_send_say_so(spark):
    df = people(spark, 4).selectExpr("smokes", "make_ym_interval(1) as age", "struct(make_ym_interval(1)) as more")
    for table, name in [(df.drop("more"), "age"), (df.drop("age"), "more")]:
        with pytest.raises(lw.InvalidInput, match=f"Column '{name}' of type .*interval year to month.* Cast it"):
            lw.spark.release(table, YES_NO, "smokes")
    with pytest.raises(lw.InvalidInput, match="column 'age' has a type that Spark cannot send to Python"):
        lw.spark.counts(df, "age")


def test_metadata_of_the_source_does_not_pass_on(spark, tmp_path):
    """Comments and attributes may hold figures of the secret; an earlier release of another column stays known."""
    from pyspark.sql.functions import from_json, lit
    from pyspark.sql.types import LongType, StructField, StructType

    told = {"comment": "yes=1503", "ml_attr": {"vals": ["1503", "497"]}}
    once = lw.spark.release(people(spark, 40), lw.randomized_response(lw.bins(0, 100, 4), lift=2), "age", order="keep")
    df = once.withMetadata("id", told).withMetadata("smokes", told)
    inner = StructType([StructField("x", LongType(), True, told)])
    df = df.withColumn("s", from_json(lit('{"x": 1}'), inner))
    assert "1503" in df.schema.json()
    out = lw.spark.release(df, YES_NO, "smokes", path=tmp_path / "released", order="keep")
    assert "1503" not in out.schema.json()
    files = [file.read_bytes() for file in (tmp_path / "released").iterdir()]
    assert not any(b"1503" in content for content in files)
    assert lw.spark.mechanism(out, "smokes") == YES_NO
    assert lw.spark.mechanism(out, "age") == lw.spark.mechanism(once, "age")
    # Released a second time, a column carries both mechanisms as one.
    twice = lw.spark.release(out, YES_NO, "smokes", order="keep")
    assert lw.spark.mechanism(twice, "smokes").matrix.tolist() == YES_NO.then(YES_NO).matrix.tolist()
    with pytest.raises(lw.InvalidInput, match="was released before"):
        lw.spark.release(out, lw.identity([(a, b) for a in ("no", "yes") for b in range(2)]), ("smokes", "id"))


# ------------------------------------------------------------------------------------------------- what goes wrong


def test_failed_tasks_are_drawn_again_and_seen_once(spark, tmp_path, table_of):
    """Two tasks die (one by its process) when they have drawn and written rows; only their second attempts count."""
    notes = tmp_path / "notes"
    notes.mkdir()

    def failing(batches: Iterator[Any]) -> Iterator[Any]:
        from pyspark import TaskContext

        context = TaskContext.get()
        attempt, part = context.attemptNumber(), context.partitionId()
        for turn, batch in enumerate(batches):
            if turn == 3 and attempt == 0 and part in (1, 2):
                (notes / f"died {part}").touch()
                if part == 2:
                    os.kill(os.getpid(), signal.SIGKILL)
                raise RuntimeError("this executor is lost")
            yield batch

    df = people(spark)
    broken = df.mapInArrow(failing, df.schema)
    path = tmp_path / "released"
    out = lw.spark.release(broken, YES_NO, "smokes", path=path)
    assert sorted(os.listdir(notes)) == ["died 1", "died 2"]
    check_rows(table_of(out))
    assert len(data_files(path)) == 4
    assert "_temporary" not in os.listdir(path)


def test_a_value_found_late_fails_the_whole_job(spark, tmp_path):
    bad = people(spark).selectExpr("id", "case when id = 19999 then 'perhaps' else smokes end as smokes")
    path = tmp_path / "bad"
    with pytest.raises(lw.InvalidInput) as caught:
        lw.spark.release(bad, YES_NO, "smokes", path=path)
    assert str(caught.value) == (
        "In a batch of 1000 rows of partition 3: column 'smokes' has 1 of 1000 rows with values outside the declared "
        "domain: 'perhaps'. The domain is 'no', 'yes'. Declare every value that can occur, or clean the column. The "
        "job was stopped, and nothing was released."
    )
    assert not path.exists()


def test_a_column_that_some_files_lack_reads_as_missing(spark, tmp_path):
    people(spark, 40).write.parquet(str(tmp_path / "all" / "k=1"))
    people(spark, 40).drop("smokes").write.parquet(str(tmp_path / "all" / "k=2"))
    df = spark.read.option("mergeSchema", "true").parquet(str(tmp_path / "all"))
    with pytest.raises(lw.InvalidInput, match=r"missing values .*Add None to the domain"):
        lw.spark.release(df, YES_NO, "smokes", path=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_executors_without_leakwise(spark, tmp_path, monkeypatch):
    """Workers whose Python does not find the package: the error names it and the way to get it."""
    hidden = tmp_path / "site"
    hidden.mkdir()
    (hidden / "sitecustomize.py").write_text(
        "import sys\n"
        "class Hide:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.partition('.')[0] == 'leakwise':\n"
        "            raise ModuleNotFoundError(f'No module named {name!r}', name=name)\n"
        "sys.meta_path.insert(0, Hide())\n"
    )
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH="{hidden}:$PYTHONPATH" exec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    monkeypatch.setattr(spark.sparkContext, "pythonExec", str(python))
    with pytest.raises(lw.MissingExtra, match=r"leakwise cannot be loaded on an executor .*leakwise\[spark\]"):
        lw.spark.release(people(spark, 4).coalesce(1), YES_NO, "smokes", path=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_what_is_refused_before_anything_runs(spark, tmp_path, monkeypatch):
    df = people(spark, 4)
    release = lw.spark.release
    with pytest.raises(lw.InvalidInput, match=r"'smoke' is not in the table.*Did you mean 'smokes'"):
        release(df, YES_NO, "smoke")
    with pytest.raises(lw.InvalidInput, match="column must say which column"):
        release(df, YES_NO)
    with pytest.raises(lw.InvalidInput, match="mechanism must be a Mechanism"):
        release(df, "smokes", "smokes")
    with pytest.raises(lw.InvalidInput, match=r"must be a Spark DataFrame. Got builtins.dict"):
        release({"smokes": ["no"]}, YES_NO, "smokes")
    with pytest.raises(lw.InvalidInput, match="must not be a stream"):
        release(spark.readStream.format("rate").load(), lw.identity([1]), "value")
    with pytest.raises(lw.InvalidInput, match="columns of one name: 'age', 'AGE'"):
        release(df.selectExpr("*", "age as AGE"), YES_NO, "smokes")
    with pytest.raises(lw.InvalidInput, match="power of two"):
        release(df, lw.Mechanism([["1/3", "2/3"], ["2/3", "1/3"]], inputs=["no", "yes"]), "smokes")
    with pytest.raises(lw.InvalidInput, match="not in the table"):
        lw.spark.counts(df, "smoke")
    monkeypatch.setattr("leakwise.spark.driver.setting", lambda *_: "false")
    with pytest.raises(lw.InvalidInput, match=r"outputCommitCoordination.enabled is false"):
        release(df, YES_NO, "smokes")


def test_a_large_mechanism_is_not_put_into_the_schema(spark, monkeypatch):
    monkeypatch.setattr("leakwise.spark.schemas._LARGEST", 10)
    with pytest.warns(lw.LeakwiseWarning, match="Save it beside the released table"):
        out = lw.spark.release(people(spark, 4), YES_NO, "smokes")
    with pytest.raises(lw.InvalidInput, match="mechanism must be given"):
        lw.spark.mechanism(out)
