"""The order of the rows and their partitions: found where it tells the secret, random where that is asked for."""

from __future__ import annotations

import os
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import leakwise as lw
from leakwise.tables.release.row_order import RowOrder

ROWS = 2000
# Tells everything, so that the released order shows the true one.
CLEAR = lw.identity(["no", "yes"])
REVEALS = r"The order of the rows reveals 'smokes': .*order='shuffle'"


def people(session: Any, parts: int = 4) -> Any:
    digit = "substr(md5(cast(id as string)), 1, 1)"
    return session.range(0, ROWS, 1, parts).selectExpr(
        "id", f"case when {digit} < '4' then 'yes' else 'no' end as smokes"
    )


def in_file_order(folder: Path) -> list[tuple[int, str]]:
    """The rows as anyone who reads the files meets them."""
    import pyarrow.parquet as pq

    files = sorted(folder.glob("part-*.parquet"))
    return [(row["id"], row["smokes"]) for file in files for row in pq.read_table(file).to_pylist()]


def test_partitions_and_orders_that_tell_the_secret_are_found(spark, tmp_path):
    df = people(spark)
    df.write.partitionBy("smokes").parquet(str(tmp_path / "by"))
    ordered = {
        "repartition on it": df.repartition(4, "smokes"),
        "sorted within partitions": df.sortWithinPartitions("smokes"),
        "sorted": df.orderBy("smokes"),
        "read from partitionBy": spark.read.parquet(str(tmp_path / "by")),
    }
    for number, table in enumerate(ordered.values()):
        with pytest.warns(lw.LeakwiseWarning, match=REVEALS):
            lw.spark.release(table, CLEAR, "smokes", path=tmp_path / f"{number}")
    # Without a warning, which would be an error here.
    lw.spark.release(df.orderBy("id"), CLEAR, "smokes", path=tmp_path / "neutral")
    lw.spark.release(ordered["sorted"], CLEAR, "smokes", path=tmp_path / "kept", order="keep")
    with pytest.raises(lw.InvalidInput, match=r"order must be .* Got 'random' instead"):
        lw.spark.release(df, CLEAR, "smokes", order="random")


def test_a_warning_made_an_error_stops_before_anything_is_drawn(connect, tmp_path):
    """Through Spark Connect as well."""
    path = tmp_path / "released"
    with pytest.raises(lw.LeakwiseWarning, match=REVEALS):
        lw.spark.release(people(connect).orderBy("smokes"), CLEAR, "smokes", path=path)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("kind", ["plain", "connect"])
def test_shuffle_releases_the_rows_in_a_random_order(spark, connect, tmp_path, kind):
    path = tmp_path / "released"
    df = people(spark if kind == "plain" else connect).orderBy("smokes", "id")
    out = lw.spark.release(df, CLEAR, "smokes", path=path, order="shuffle")
    assert out.columns == ["id", "smokes"]
    # A restart returns it; the same rows in their own order are not it.
    with pytest.warns(lw.LeakwiseWarning, match="nothing was drawn"):
        lw.spark.release(df, CLEAR, "smokes", path=path, order="shuffle")
    with pytest.raises(lw.InvalidInput, match="or one in another order"):
        lw.spark.release(df, CLEAR, "smokes", path=path, order="keep")
    rows = in_file_order(path)
    assert sorted(rows) == sorted(map(tuple, df.collect()))
    assert os.listdir(tmp_path) == ["released"]
    # The test that found the order finds none; and the rows do not come in an order of their own.
    order = RowOrder([False, True])
    order.add([int(row[1] == "yes") for row in rows])
    assert not order.verdict().dependent
    ids = [row[0] for row in rows]
    rises = sum(a < b for a, b in pairwise(ids))
    # 999.5 on average with a standard deviation of sqrt(2001 / 12) = 12.9: eight of them, false alarm 1e-14.
    assert abs(rises - 999.5) < 104
