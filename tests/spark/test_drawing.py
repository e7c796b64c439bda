"""What of a row goes through Python, values that come back as they were, and calls that do not take a DataFrame."""

from __future__ import annotations

from typing import Any

import pytest

import leakwise as lw
from leakwise.spark.drawing import drawn_frame
from leakwise.spark.schemas import released_schema
from leakwise.tables.release.secret_columns import Secret

TEXTS = ["no", "no ", "NO", "é", "it's", "a.b", "\\", "", None]
# More than Spark looks up one by one.
MANY = [f"value {number}" for number in range(-20, 20)]


def rows(session: Any) -> Any:
    texts = [(number, TEXTS[number % 9], number % 7 - 3, MANY[number % 40], number % 2 == 0) for number in range(360)]
    return session.createDataFrame(texts, "id bigint, text string, `whole.number` smallint, many string, odd boolean")


def test_only_the_columns_that_are_read_for_a_draw_go_through_python(spark: Any) -> None:
    df = spark.createDataFrame([("no", "f", 1.5, "x")], "smokes string, sex string, weight double, name string")
    response = lw.randomized_response(["no", "yes"], lift=3)
    by = lw.StratifiedMechanism({"f": response, "m": response}, given={"sex": ["f", "m"]}, secret="smokes")
    secrets = [Secret(("smokes",), by)]
    drawn = drawn_frame(df, secrets, released_schema(df.schema, secrets), ())
    plan = drawn._jdf.queryExecution().executedPlan().toString()
    (line,) = [one for one in plan.splitlines() if "ArrowEvalPython" in one]
    assert "MapInArrow" not in plan
    assert "smokes" in line
    assert "sex" in line
    assert "weight" not in line
    assert "name" not in line


def test_values_come_back_as_they_were_whatever_they_are(spark: Any) -> None:
    mechanisms = {
        "text": lw.identity(TEXTS),
        "whole.number": lw.identity(range(-3, 4)),
        "many": lw.identity(MANY),
    }
    df = rows(spark)
    out = lw.spark.release(df, mechanisms, order="shuffle")
    assert out.dtypes == df.dtypes
    assert sorted(map(tuple, out.collect())) == sorted(map(tuple, df.collect()))
    # One that is not declared differs by a space from one that is.
    with pytest.raises(lw.InvalidInput, match="1 of 40 rows with values outside the declared domain: 'no '"):
        lw.spark.release(
            df.where("text = 'no' or text = 'no ' and id = 1").coalesce(1).limit(41).where("id <> 0"),
            lw.identity(["no"]), "text", order="keep",
        )  # fmt: skip


def test_other_calls_point_to_those_for_spark(spark: Any) -> None:
    df = rows(spark)
    mechanism = lw.identity(TEXTS)
    for call in (
        lambda: lw.release(df, mechanism, "text"),
        lambda: lw.release(df, mechanism, "text", out="somewhere.parquet"),
        lambda: lw.protect(df, "text", lift=2, prior=lw.Prior.uniform(TEXTS)),
        lambda: lw.protect(df, {"text": 2}, prior={"text": lw.Prior.uniform(TEXTS)}),
        lambda: lw.estimate(df, mechanism, "text"),
        lambda: lw.estimate(df, {"text": mechanism, "many": lw.identity(MANY)}),
    ):
        with pytest.raises(lw.InvalidInput, match=r"is a DataFrame of Spark.*lw\.spark\.release, lw\.spark\."):
            call()
