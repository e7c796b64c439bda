"""Releases by strata on Spark: the mechanism of each row's stratum, bins for numbers, the order within strata."""

from __future__ import annotations

import pickle
import zlib
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import leakwise as lw
from leakwise.spark import executor
from leakwise.spark.order import merged, packed
from leakwise.spark.shipping import pack_shipment, unpack_shipment
from leakwise.tables.kinds.joint_columns import Product
from leakwise.tables.release.secret_columns import Secret

DOMAIN = ["no", "yes"]
AGES = lw.bins(0, 100, 2)
ROWS = 4000


def mechanism(name: str, inputs: Any = DOMAIN) -> lw.Mechanism:
    return lw.Mechanism([["11/16", "5/16"], ["5/16", "11/16"]], inputs=inputs, outputs=[f"{name}0", f"{name}1"])


def stratified() -> lw.StratifiedMechanism:
    young, old = AGES.labels
    own = {("f", young): mechanism("fy"), ("f", old): mechanism("fo"), ("m", young): mechanism("my")}
    return lw.StratifiedMechanism(
        own, given={"sex": ["f", "m"], "age": AGES}, secret="ill", otherwise=mechanism("else")
    )


def people(session: Any) -> Any:
    """Sexes that were declared and one that was not; ages from 0 to 99."""
    digit = "substr(md5(cast(id as string)), 1, 1)"
    return session.range(0, ROWS, 1, 4).selectExpr(
        "case when id % 5 = 4 then 'x' when id % 2 = 0 then 'f' else 'm' end as sex",
        "cast(id * 7 % 100 as double) as age",
        f"case when {digit} < '4' then 'yes' else 'no' end as ill",
    )


def wanted(sex: str, age: float) -> str:
    if sex == "x" or (sex == "m" and age >= 50):
        return "else"
    return f"{sex}{'y' if age < 50 else 'o'}"


def test_rows_go_through_the_mechanism_of_their_stratum_and_the_files_say_so(spark, tmp_path):
    path = tmp_path / "released"
    source = people(spark).toArrow().to_pylist()
    out = lw.spark.release(people(spark), stratified(), path=path)
    rows = out.toArrow().to_pylist()
    assert [row["ill"][:-1] for row in rows] == [wanted(row["sex"], row["age"]) for row in source]
    assert [row["age"] for row in rows] == [AGES.labels[row["age"] >= 50] for row in source]
    assert [row["sex"] for row in rows] == [row["sex"] for row in source]
    assert lw.spark.mechanism(out) == stratified()
    estimate = lw.estimate(path)
    share = sum(row["ill"] == "yes" for row in source) / ROWS
    assert abs(estimate.frequencies[1] - share) < 6 * estimate.standard_error[1]
    # After a restart the same release is found, although ages went out as bins.
    with pytest.warns(lw.LeakwiseWarning, match="holds the finished release of this table"):
        assert lw.spark.release(people(spark), stratified(), path=path).toArrow().to_pylist() == rows
    with pytest.warns(lw.RowOrderWarning, match="within"):
        lw.spark.release(people(spark).orderBy("ill"), stratified(), path=tmp_path / "sorted")
    lw.spark.release(people(spark).orderBy("age", "sex"), stratified(), path=tmp_path / "by given columns")


def test_the_document_gives_every_stratum_back() -> None:
    sm = stratified()
    shipped = unpack_shipment(pack_shipment(["sex", "age", "ill"], [Secret(("ill",), sm)])).secrets[0].mechanism
    assert shipped == sm
    pairs = Product([lw.Prior.uniform(["a"]).alphabet, lw.bins(0, 10, 2)])
    joint = lw.StratifiedMechanism(
        {"f": mechanism("p", pairs)}, {"sex": ["f"]}, secret=("s", "t"), impossible={"f": [pairs.labels[1]]}
    )
    shipped = unpack_shipment(pack_shipment(["sex", "s", "t"], [Secret(("s", "t"), joint)])).secrets[0].mechanism
    assert shipped == joint
    assert isinstance(shipped.input_alphabet, Product)


def test_what_the_executors_see_of_the_order_within_strata() -> None:
    generator = np.random.default_rng(0)
    document = pack_shipment(["sex", "age", "ill"], [Secret(("ill",), stratified())])
    sex, age = generator.choice(["f", "m"], 2000), generator.integers(0, 100, 2000).astype(float)
    ill = np.where((sex == "f") & (generator.random(2000) < 0.8), "yes", "no")

    def seen(order: Any) -> Any:
        notes = []
        for number, rows in enumerate(np.array_split(order, 4)):
            batch = pa.record_batch({"sex": sex[rows], "age": age[rows], "ill": ill[rows]})
            (found,) = executor.watch_batches(document, [batch])
            notes.append(packed(number, pickle.loads(zlib.decompress(found["seen"][0].as_py()))[1]))
        (whole,) = merged(notes[::-1])
        assert whole.rows == 2000
        return whole.verdict()

    assert seen(np.argsort(ill, kind="stable")).dependent
    assert not seen(np.argsort(sex, kind="stable")).dependent
