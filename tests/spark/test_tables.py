"""Folders by columns and tables of a catalog: never by a secret, and a name when all rows are there."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

import leakwise as lw

NOISE = lw.constant(["no", "yes"], law=[1 / 256] * 256)
ROWS = 200


def people(session: Any) -> Any:
    digit = "substr(md5(cast(id as string)), 1, 1)"
    return session.range(0, ROWS, 1, 2).selectExpr(
        "if(id % 3 = 0, '007', if(id % 7 = 0, null, 'a/b=c')) as region",
        "id",
        f"case when {digit} < '4' then 'yes' else 'no' end as smokes",
    )


def rows_of(df: Any) -> list[tuple[Any, ...]]:
    return sorted(map(str, df.collect()))


def test_folders_by_columns_that_go_out_as_they_are(spark: Any, tmp_path: Path) -> None:
    df, path = people(spark), tmp_path / "released"
    out = lw.spark.release(df, NOISE, "smokes", path=path, partition_by="region", order="shuffle")
    assert out.columns == df.columns
    assert rows_of(out.drop("smokes")) == rows_of(df.drop("smokes"))
    assert sum(one.name.startswith("region=") for one in path.iterdir()) == 3
    assert lw.estimate(path, column="smokes").sample_size == ROWS
    with pytest.warns(lw.LeakwiseWarning, match="nothing was drawn"):
        again = lw.spark.release(df, NOISE, "smokes", path=path, partition_by=["region"], order="shuffle")
    assert rows_of(again) == rows_of(out)
    with pytest.raises(lw.InvalidInput, match="holds the release of other rows"):
        lw.spark.release(df.limit(9), NOISE, "smokes", path=path, partition_by=["region"], order="shuffle")


def test_no_folder_by_a_secret_or_by_what_it_decides(spark: Any, tmp_path: Path) -> None:
    df = people(spark)
    late = df.selectExpr("*", "if(smokes = 'yes', 'clinic 2', 'clinic 1') as clinic", "rand() as weight")
    odd = df.selectExpr("id", "smokes", "if(id = 7, '', 'x') as region")
    kinds = lw.identity(["007", "a/b=c", None])
    before = lw.spark.release(df.selectExpr("smokes", "region as sex"), kinds, "sex", order="keep")
    for table, by, words in (
        (df, "smokes", "must not name a secret: 'smokes'"),
        (df, ["region", "smokes"], "must not name a secret: 'smokes'"),
        (late, "clinic", "must not name what the secret decides: 'clinic' says what smokes is in 200 of 200 rows"),
        (late, ["region", "clinic"], "must not name what the secret decides: 'clinic'"),
        (late, "weight", "partition_by='weight' is of type double"),
        (df, "regions", "'regions' is not in the table"),
        (df, ["region", "region"], "names a column twice"),
        (odd, "region", "has the value '', which Spark cannot tell from a missing one"),
        (before, "sex", "partition_by='sex' was released before"),
    ):
        with pytest.raises(lw.InvalidInput, match=words):
            lw.spark.release(table, NOISE, "smokes", path=tmp_path / "no", partition_by=by, order="keep")
    with (
        pytest.warns(lw.LeakwiseWarning, match="'clinic' says what smokes is"),
        pytest.raises(lw.InvalidInput, match="must not name what the secret decides"),
    ):
        lw.spark.protect(
            late.drop("weight", "region", "id"), "smokes", lift=2, prior=lw.AllPriors(["no", "yes"]), given=["clinic"],
            path=tmp_path / "no", partition_by="clinic", allow_certainty=True,
        )  # fmt: skip
    assert os.listdir(tmp_path) == []


@pytest.fixture
def database(spark: Any, tmp_path: Path) -> Any:
    spark.sql(f"CREATE DATABASE clinic LOCATION '{tmp_path}/clinic'")
    yield "clinic"
    spark.sql("DROP DATABASE clinic CASCADE")


def test_tables_of_a_catalog(spark: Any, tmp_path: Path, database: str) -> None:
    people(spark).write.saveAsTable("clinic.people")
    df = spark.table("clinic.people")
    out = lw.spark.release(df, NOISE, "smokes", table="clinic.Released", partition_by="region", order="keep")
    assert out.columns == df.columns
    there = spark.table("clinic.released")
    assert rows_of(there.select(*df.columns)) == rows_of(out)
    assert rows_of(there.select("region", "id")) == rows_of(df.select("region", "id"))
    assert lw.spark.mechanism(there, "smokes") == NOISE
    assert lw.spark.estimate(there, None, "smokes").sample_size == ROWS
    # Killed before it had its name: a restart gives it, and draws nothing.
    spark.sql("DROP TABLE clinic.released")
    with pytest.warns(lw.LeakwiseWarning, match="table 'clinic.released' holds the finished release"):
        again = lw.spark.release(df, NOISE, "smokes", table="clinic.released", partition_by="region", order="keep")
    assert rows_of(again) == rows_of(out)
    assert spark.catalog.tableExists("clinic.released")
    ledger = lw.Ledger(tmp_path / "ledger.db")
    done = lw.spark.protect(
        df, "smokes", lift=2, prior=lw.Prior.uniform(["no", "yes"]), drop=["id"], unrelated=["region"],
        table="`clinic`.plain", ledger=ledger, dataset="clinic",
    )  # fmt: skip
    assert rows_of(done.table) == rows_of(spark.table("clinic.plain"))
    spark.sql("CREATE VIEW clinic.seen AS SELECT 1 AS smokes")
    for name, words in (
        ("other.clinic.t", r"is in the catalog 'other'.*writeTo"),
        ("nowhere.t", "there is no database 'nowhere'"),
        ("clinic.", "table must be a name"),
        ("clinic.seen", "exists already, and is a view"),
        ("clinic.people", "exists already, and holds another table"),
    ):
        with pytest.raises(lw.InvalidInput, match=words):
            lw.spark.release(df, NOISE, "smokes", table=name, order="keep")
    with pytest.raises(lw.InvalidInput, match="path and table must not both be given"):
        lw.spark.release(df, NOISE, "smokes", table="clinic.x", path=tmp_path / "x")


def test_what_was_written_counts_though_the_call_fails_after_that(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rows are at their place, and then something breaks: the entry of the ledger must stay."""
    ledger = lw.Ledger(tmp_path / "ledger.db")

    def broken(*_: Any) -> Any:
        raise RuntimeError("the catalog is gone")

    monkeypatch.setattr("leakwise.spark.driver.released_rows", broken)
    with pytest.raises(RuntimeError, match="the catalog is gone"):
        lw.spark.protect(
            people(spark).select("smokes"), "smokes", lift=2, prior=lw.Prior.uniform(["no", "yes"]),
            path=tmp_path / "released", ledger=ledger, dataset="clinic",
        )  # fmt: skip
    assert (tmp_path / "released" / "_SUCCESS").exists()
    assert [one.state for one in ledger.entries()] == ["reserved"]
