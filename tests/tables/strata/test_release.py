"""The release of a table by strata: the right mechanism for every row, and what is refused."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.stats import chi2

import leakwise as lw
from leakwise.errors import CertaintyWarning, InvalidInput, LeakwiseWarning, RowOrderWarning
from leakwise.tables.kinds import frames

WEAK = lw.Mechanism([["9/16", "7/16"], ["7/16", "9/16"]], inputs=["no", "yes"], outputs=["no", "yes"])
STRONG = lw.Mechanism([["15/16", "1/16"], ["1/16", "15/16"]], inputs=["no", "yes"], outputs=["no", "maybe"])


def stratified(**options: Any) -> lw.StratifiedMechanism:
    given = {"sex": ["f", "m"], "age": lw.bins(0, 100, 2)}
    young, old = given["age"].labels  # type: ignore[attr-defined]
    return lw.StratifiedMechanism(
        {("f", young): WEAK, ("f", old): STRONG, ("m", young): STRONG}, given, secret="ill", **options
    )


def table(rows: int = 4000, seed: int = 0) -> dict[str, list[Any]]:
    generator = np.random.default_rng(seed)
    sex = generator.choice(["f", "m"], rows)
    age = np.where(sex == "m", generator.integers(0, 50, rows), generator.integers(0, 100, rows))
    ill = generator.choice(["no", "yes"], rows, p=[0.7, 0.3])
    return {"sex": sex.tolist(), "age": age.tolist(), "ill": ill.tolist(), "note": list(range(rows))}


@pytest.mark.filterwarnings("ignore:The guarantee speaks of someone")
@pytest.mark.parametrize("make", [dict, pd.DataFrame, pl.DataFrame, pl.LazyFrame, pa.table])
def test_every_kind_of_table_comes_back_with_the_secret_drawn_and_bins_for_numbers(make: Any) -> None:
    source = table(200)
    released = lw.release(make(source), stratified())
    assert isinstance(released, type(make(source)))
    held = frames.hold(released)
    columns = {name: frames.column_of(held, name) for name in source}
    plain = pd.DataFrame({k: v.to_pylist() if hasattr(v, "to_pylist") else list(v) for k, v in columns.items()})
    assert plain["sex"].tolist() == source["sex"]
    assert plain["note"].tolist() == source["note"]
    assert plain["age"].tolist() == ["[0, 50)" if age < 50 else "[50, 100]" for age in source["age"]]
    weak = (plain["sex"] == "f") & (plain["age"] == "[0, 50)")
    assert set(plain["ill"][weak]) <= {"no", "yes"}
    assert set(plain["ill"][~weak]) <= {"no", "maybe"}


@pytest.mark.filterwarnings("ignore:The guarantee speaks of someone")
def test_rows_are_drawn_from_the_mechanism_of_their_stratum() -> None:
    source = table(60_000)
    released = lw.release(source, stratified(), order="keep")
    frame = pd.DataFrame({**source, "age": released["age"], "out": released["ill"]})
    statistic, free = 0.0, 0
    for (sex, age, ill), part in frame.groupby(["sex", "age", "ill"]):
        own = stratified()[sex, age]
        expected = own.matrix[own.inputs.index(ill)] * len(part)
        seen = np.array([(part["out"] == label).sum() for label in own.outputs])
        statistic += float(((seen - expected) ** 2 / expected).sum())
        free += len(expected) - 1
    assert free == 6
    assert chi2.sf(statistic, free) > 1e-9


@pytest.mark.filterwarnings("ignore:The guarantee speaks of someone")
def test_a_seed_repeats_the_draws_and_a_shuffle_moves_whole_rows() -> None:
    with pytest.warns(lw.UnsafeSeedWarning):
        first = lw.release(table(500), stratified(), unsafe_seed=3)
    with pytest.warns(lw.UnsafeSeedWarning):
        assert lw.release(table(500), stratified(), unsafe_seed=3) == first
    shuffled = lw.release(table(500), stratified(), order="shuffle")
    assert shuffled["note"] != first["note"]
    source = table(500)
    assert [source["sex"][row] for row in shuffled["note"]] == shuffled["sex"]


def test_an_order_by_a_given_column_tells_nothing_and_one_by_the_secret_is_warned_of() -> None:
    source = pd.DataFrame(table(3000)).drop(columns="note")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lw.release(source.sort_values(["sex"], kind="stable").reset_index(drop=True), stratified())
    with pytest.warns(RowOrderWarning, match="within a stratum"):
        lw.release(source.sort_values(["ill"], kind="stable").reset_index(drop=True), stratified())


def test_a_stratum_that_was_not_declared_is_refused_and_named() -> None:
    source = {"sex": ["m", "f"], "age": [80, 20], "ill": ["no", "no"]}
    with pytest.raises(InvalidInput, match=r"1 of 2 rows are in 1 strata .* 'sex = m, age = \[50, 100\]'"):
        lw.release(source, stratified())
    assert lw.release(source, stratified(otherwise=WEAK))["sex"] == ["m", "f"]
    with pytest.raises(InvalidInput, match="the given column 'sex' has 1 of 2 rows with values outside"):
        lw.release({**source, "sex": ["m", "x"]}, stratified())


def test_a_row_with_a_value_that_cannot_occur_is_refused() -> None:
    sm = stratified(impossible={("m", "[0, 50)"): ["yes"]})
    with pytest.raises(InvalidInput, match=r"1 rows where sex = m, .* have values that cannot occur there.*'yes'"):
        lw.release({"sex": ["m", "m"], "age": [1, 2], "ill": ["no", "yes"]}, sm)


def test_an_outcome_that_one_value_alone_can_cause_is_warned_of() -> None:
    clear = lw.Mechanism([["1/2", "1/2"], ["0", "1"]], inputs=["no", "yes"], outputs=["no", "any"])
    sm = lw.StratifiedMechanism({"f": clear, "m": WEAK}, given={"sex": ["f", "m"]}, secret="ill")
    source = {"sex": ["f", "m"], "ill": ["no", "no"]}
    with pytest.warns(CertaintyWarning, match="in 1 of 2 strata: where sex = f, the outcome 'no'"):
        lw.release(source, sm)


@pytest.mark.parametrize(
    ("data", "options", "message"),
    [
        (["no", "yes"], {}, "needs a table"),
        ({"sex": ["f"], "ill": ["no"]}, {}, "column 'age' is not in the table"),
        ({"sex": ["f"], "age": [1], "ill": ["no"]}, {"column": "sex"}, "must not be a given column"),
        ({"sex": ["f"], "age": [1], "ill": ["no"]}, {"column": "il"}, "Did you mean 'ill'"),
        ({"sex": ["f"], "age": [1], "ill": ["no"]}, {"out": "x.csv"}, "out must be left out"),
    ],
)
def test_what_cannot_be_released_is_refused(data: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        lw.release(data, stratified(), **options)


def test_a_joint_secret_is_released_by_strata() -> None:
    pairs = [(a, b) for a in (0, 1) for b in ("x", "y")]
    m = lw.randomized_response(pairs, lift=3)
    sm = lw.StratifiedMechanism({"p": m}, given={"u": ["p"]}, secret=("a", "b"))
    released = lw.release({"u": ["p"] * 50, "a": [0, 1] * 25, "b": ["x"] * 50}, sm, order="keep")
    assert set(zip(released["a"], released["b"], strict=True)) <= set(pairs)
    found = lw.estimate(released, sm)
    assert found.labels == tuple(pairs)


def test_columns_that_are_neither_given_nor_dropped_are_named() -> None:
    source = table(200)
    with pytest.warns(LeakwiseWarning, match="who sees 'sex' and 'age' beside the outcome; 'note' goes out as well"):
        lw.release(source, stratified())
    with pytest.warns(LeakwiseWarning, match=r"'note', 'copy' go out as well and may tell more\. Give them to the"):
        lw.release(pd.DataFrame({**source, "copy": source["ill"]}), stratified(), order="shuffle")
    del source["note"]
    lw.release(source, stratified())
