"""Estimates from DataFrames are those of the same rows in memory."""

from __future__ import annotations

import numpy as np
import pytest

import leakwise as lw
from leakwise.spark.schemas import released_schema
from leakwise.tables.release.secret_columns import Secret

SEX, INCOME = lw.randomized_response(["f", "m"], lift=4), lw.randomized_response([1, 2, 3], lift=4)


@pytest.fixture(scope="module")
def rows():
    g = np.random.default_rng(0)
    columns = (g.choice(["f", "m"], 600), g.integers(1, 4, 600), g.choice(["n", "s"], 600), g.integers(0, 2, 600))
    return list(zip(*(column.tolist() for column in columns), strict=True))


def test_joint_tables_and_groups_are_those_of_the_rows_in_memory(spark, rows):
    df = spark.createDataFrame(rows, "sex string, income int, region string, year int")
    table = dict(zip(("sex", "income", "region", "year"), map(list, zip(*rows, strict=True)), strict=True))
    both = {"sex": SEX, "income": INCOME}
    np.testing.assert_allclose(lw.spark.estimate(df, both).intervals, lw.estimate(table, both).intervals)
    by = lw.spark.estimate(df, both, by=["region", "year"], simultaneous=True)
    known = lw.estimate(table, both, by=["region", "year"], simultaneous=True)
    assert list(by) == list(known)
    np.testing.assert_allclose(by["s", 1].intervals, known["s", 1].intervals)
    one = lw.spark.estimate(df, INCOME, "income", by="region")
    alone = lw.estimate(table, INCOME, "income", by="region")
    np.testing.assert_allclose(one["n"].intervals, alone["n"].intervals)
    assert lw.spark.estimate(df, SEX, "sex").sample_size == 600


def test_a_dataframe_that_carries_its_mechanisms_says_which_columns_were_released(spark, rows):
    plain = spark.createDataFrame(rows, "sex string, income int, region string, year int")
    table = dict(zip(("sex", "income", "region", "year"), map(list, zip(*rows, strict=True)), strict=True))
    both = {"sex": SEX, "income": INCOME}
    schema = released_schema(plain.schema, [Secret((name,), one) for name, one in both.items()])
    df = spark.createDataFrame(rows, schema)
    np.testing.assert_allclose(lw.spark.estimate(df, ["sex", "income"]).intervals, lw.estimate(table, both).intervals)
    one = lw.spark.estimate(df.select("sex", "year"))
    np.testing.assert_allclose(one.intervals, lw.estimate(table, SEX, "sex").intervals)
    np.testing.assert_allclose(lw.spark.estimate(plain, {"sex": SEX}).intervals, one.intervals)
    # One that was released besides is not a column to group by, though nothing is estimated of it.
    with pytest.raises(lw.InvalidInput, match="names released columns: 'income'"):
        lw.spark.estimate(df, SEX, "sex", by="income")
    with pytest.raises(lw.InvalidInput, match="column must say"):
        lw.spark.estimate(df)


def test_strata_are_counted_stratum_by_stratum(spark, rows):
    df = spark.createDataFrame(rows, "sex string, income int, region string, year int")
    table = dict(zip(("sex", "income", "region", "year"), map(list, zip(*rows, strict=True)), strict=True))
    weak = lw.randomized_response(["f", "m"], lift=2)
    strata = lw.StratifiedMechanism({"n": SEX, "s": weak}, given={"region": ["n", "s"]}, secret="sex")
    both = {"sex": strata, "income": INCOME}
    for by in (None, ["year"], ["region", "year"]):
        found, known = lw.spark.estimate(df, both, by=by), lw.estimate(table, both, by=by)
        alone, other = lw.spark.estimate(df, strata, "sex", by=by), lw.estimate(table, strata, "sex", by=by)
        if by is None:
            found, known, alone, other = {0: found}, {0: known}, {0: alone}, {0: other}
        assert list(found) == list(known)
        assert list(alone) == list(other)
        for group in known:
            np.testing.assert_allclose(found[group].intervals, known[group].intervals)
            assert found[group].sample_size == known[group].sample_size
        for group in other:
            np.testing.assert_allclose(alone[group].intervals, other[group].intervals)
    # Rows that no stratum is known for are refused, as in memory.
    less = lw.StratifiedMechanism({"n": SEX}, given={"region": ["n"]}, secret="sex")
    with pytest.raises(lw.InvalidInput, match="outside the declared domain"):
        lw.spark.estimate(df, less, "sex")


def test_what_cannot_be_estimated_is_refused(spark, rows):
    df = spark.createDataFrame(rows, "sex string, income int, region string, year int")
    for call, words in (
        (lambda: lw.spark.estimate(df, SEX), "column must say"),
        (lambda: lw.spark.estimate(df, {"sex": SEX}, by=["sex"]), "names released columns"),
        (lambda: lw.spark.estimate(df.limit(0), {"sex": SEX, "income": INCOME}), "no rows"),
        (lambda: lw.spark.estimate(df, {"sex": SEX, "income": None}), "does not carry"),
    ):
        with pytest.raises(lw.InvalidInput, match=words):
            call()
