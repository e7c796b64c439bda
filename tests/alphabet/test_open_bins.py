"""Bins that are not all alike: edges of any width, open on a side, with a place for missing values; and their files."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import leakwise as lw
from leakwise.alphabet import Bins, alphabet_with_edges, edges_of, encode_column
from leakwise.cli.options.domain import read_domain

INF = math.inf
AGES = lw.bins([0, 18, 30, 45, 65, INF])


def test_an_open_bin_is_named_by_its_edge() -> None:
    assert AGES.labels == ("[0, 18)", "[18, 30)", "[30, 45)", "[45, 65)", "[65, inf)")
    assert lw.bins([-INF, 0, 1]).labels == ("(-inf, 0)", "[0, 1]")
    assert lw.bins([-INF, INF]).labels == ("(-inf, inf)",)


@pytest.mark.parametrize(
    "column",
    [
        [17.0, 18.0, 64.5, 65, 1e300],
        np.array([17.0, 18.0, 64.5, 65, 1e300]),
        pd.Series([17.0, 18.0, 64.5, 65, 1e300]),
        pl.Series([17.0, 18.0, 64.5, 65, 1e300]),
        pa.chunked_array([[17.0, 18.0], [64.5, 65, 1e300]]),
    ],
)
def test_whatever_is_above_the_last_edge_is_in_the_open_bin(column: Any) -> None:
    assert encode_column(column, AGES).tolist() == [0, 1, 3, 4, 4]


@pytest.mark.parametrize("bad", [INF, -INF, -1.0])
def test_infinite_numbers_and_those_below_are_in_no_bin(bad: float) -> None:
    with pytest.raises(lw.InvalidInput, match="1 of 2 rows with values outside"):
        encode_column([20.0, bad], AGES)


@pytest.mark.parametrize("edges", [[0, INF, 1], [0, 1, 1], [INF, 0], [0, math.nan], [math.nan, 1], [0], [[0, 1]], "01"])
def test_edges_that_do_not_increase_are_refused(edges: Any) -> None:
    with pytest.raises(lw.InvalidInput, match="edges"):
        lw.bins(edges)


@given(
    st.lists(st.floats(allow_nan=False, allow_infinity=False).map(abs), min_size=2, max_size=5, unique=True).map(
        sorted
    ),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)
def test_bins_come_back_from_what_is_typed_called_and_stored(
    edges: list[float], below: bool, above: bool, missing: bool
) -> None:
    made = Bins([*([-INF] if below else []), *edges, *([INF] if above else [])], missing=missing)
    stored = json.loads(json.dumps(edges_of(made), allow_nan=False))
    for again in (
        alphabet_with_edges(lw.alphabet.Alphabet(made.labels), stored, name="file"),
        read_domain(made.typed, missing=missing) if len(made.edges) > 2 or ".0" in made.typed else made,
        eval(made.called + ".with_missing()" * missing, {"lw": lw}),
    ):
        assert isinstance(again, Bins)
        assert np.array_equal(again.edges, made.edges)
        assert again.labels == made.labels


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("bins:0,100,2", ("[0, 50)", "[50, 100]")),
        ("bins:0,18,30,45", ("[0, 18)", "[18, 30)", "[30, 45]")),
        ("bins:0,18,65.0", ("[0, 18)", "[18, 65]")),
        ("bins:0,18,inf", ("[0, 18)", "[18, inf)")),
        ("bins:-inf,0,+INF,", ("(-inf, 0)", "[0, inf)", None)),
        ("bins: 0 , 18 , 30 , inf", ("[0, 18)", "[18, 30)", "[30, inf)")),
    ],
)
def test_three_numbers_are_a_range_and_its_count_others_are_edges(text: str, labels: tuple[Any, ...]) -> None:
    assert read_domain(text).labels == labels


@pytest.mark.parametrize("text", ["bins:0,18", "bins:", "bins:0", "bins:18,", "bins:0,a,9", "bins:3,2,1,inf"])
def test_bins_that_are_none_are_refused_with_how_to_type_them(text: str) -> None:
    with pytest.raises(lw.InvalidInput, match=r"bins|edges|[Dd]ates"):
        read_domain(text)


def test_a_text_that_is_no_number_is_not_taken_for_a_missing_one(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text('age\n12\nunknown\n""\n')
    with pytest.raises(lw.InvalidInput, match="outside the declared domain: 'unknown'"):
        lw.protect(
            tmp_path / "t.csv", "age", domain=AGES.with_missing(), lift=2, prior="uniform", out=tmp_path / "o.csv"
        )


FRAME = pd.DataFrame({"age": np.random.default_rng(3).integers(0, 100, 400).astype(float)})


@pytest.fixture(params=[".csv", ".parquet", ".jsonl", ".arrow"])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path: Path = tmp_path / f"t{request.param}"
    if request.param == ".csv":
        FRAME.to_csv(path, index=False)
    elif request.param == ".parquet":
        FRAME.to_parquet(path)
    elif request.param == ".jsonl":
        FRAME.to_json(path, orient="records", lines=True)
    else:
        FRAME.to_feather(path)
    return path


def test_open_bins_go_through_every_kind_of_file_and_back(table: Path, tmp_path: Path) -> None:
    out = table.with_name(f"o{table.suffix}")
    done = lw.protect(table, "age", domain=AGES, lift=2, prior="uniform", out=out, use="reading")
    done.certificate.save(tmp_path / "c.json")
    assert isinstance(lw.verify(tmp_path / "c.json").mechanism.input_alphabet, Bins)
    done.mechanism.save(tmp_path / "m.json")
    again = lw.Mechanism.load(tmp_path / "m.json")
    assert edges_of(again.input_alphabet) == [0.0, 18.0, 30.0, 45.0, 65.0, "inf"]
    assert json.loads((tmp_path / "m.json").read_text())["version"] == 5
    assert json.loads((tmp_path / "c.json").read_text())["version"] == 5
    found = lw.estimate(out, again, "age")
    assert found.labels == AGES.labels
    with pytest.raises(lw.InvalidInput, match=r"the open bin \[65, inf\) has no middle"):
        found.mean()
    assert found.mean([9, 24, 37, 55, 80]).value > 0
    assert 0 < found.quantile(0.2).value < 65
    with pytest.raises(lw.InvalidInput, match="open bin from 65 to inf"):
        found.quantile(0.97)


def test_files_of_older_bins_keep_their_version(tmp_path: Path) -> None:
    lw.randomized_response(lw.bins(0, 100, 4), lift=2).save(tmp_path / "m.json")
    lw.Prior.uniform(lw.bins(0, 100, 4)).save(tmp_path / "p.json")
    lw.Prior.uniform(AGES).save(tmp_path / "open.json")
    versions = [json.loads((tmp_path / name).read_text())["version"] for name in ("m.json", "p.json", "open.json")]
    assert versions == [2, 2, 3]
    assert lw.Prior.load(tmp_path / "open.json").alphabet.labels == AGES.labels
    text = (tmp_path / "open.json").read_text()
    (tmp_path / "open.json").write_text(text.replace('"inf"', '"int"'))
    with pytest.raises(lw.InvalidInput, match="damaged"):
        lw.Prior.load(tmp_path / "open.json")


@pytest.mark.parametrize("edges", [["soon", "later"], [0.0, "inf"], ["2024-01-01", 3.0], ["2024-02-01", "2024-01-01"]])
def test_edges_that_do_not_fit_their_names_are_refused(edges: list[Any]) -> None:
    with pytest.raises(lw.InvalidInput):
        alphabet_with_edges(lw.alphabet.Alphabet(["[0, 1]"]), edges, name="file")


@pytest.mark.filterwarnings("ignore:.*too rare to learn from:leakwise.errors.LeakwiseWarning")
def test_given_columns_in_open_bins_are_certified_estimated_and_counted(tmp_path: Path) -> None:
    rows = np.random.default_rng(5)
    frame = FRAME.assign(ill=rows.choice(["no", "yes"], len(FRAME)))
    frame.loc[::7, "age"] = np.nan
    limits: dict[str, Any] = {"domain": ["no", "yes"], "lift": 2, "prior": "table", "failure": 1e-6, "order": "keep"}
    book = {"ledger": tmp_path / "l.db", "dataset": "d"}
    done = lw.protect(frame, "ill", coarsen={"age": AGES}, least_rows=100, **limits, **book)
    assert set(done.table["age"].dropna()) <= set(AGES.labels)
    assert done.table["age"].isna().sum() == frame["age"].isna().sum()
    done.certificate.save(tmp_path / "c.json")
    assert lw.verify(tmp_path / "c.json").holds
    assert sum(lw.estimate(done.table, done.mechanism).frequencies) == pytest.approx(1)
    lw.protect(frame, "ill", coarsen={"age": AGES}, least_rows=100, **limits, **book)
    assert lw.Ledger(tmp_path / "l.db").total("d", "ill").releases == 2


def test_a_mean_beside_missing_values_asks_for_numbers() -> None:
    column = np.where(np.arange(300) % 5 == 0, np.nan, np.arange(300) % 100)
    m = lw.randomized_response(lw.bins(0, 100, 4).with_missing(), lift=3)
    found = lw.estimate(lw.release({"age": column}, m, "age", order="keep"), m, "age")
    for asked in (found.mean, lambda: found.quantile(0.5)):
        with pytest.raises(lw.InvalidInput, match="a missing value stands for no number"):
            asked()
