"""Equal values that look different: a stratum takes them for one, and whoever sees the row does not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import leakwise as lw
from leakwise.tables.strata.one_form import OneForm

ROWS = 1200
SICK = np.random.default_rng(5).random(ROWS) < 0.3
ILL = np.where(SICK, "yes", "no")
LIMITS: dict[str, Any] = {"domain": ["no", "yes"], "lift": 1.5, "prior": "table", "failure": 1e-6}


def either(one: Any, other: Any) -> list[Any]:
    return [one if sick else other for sick in SICK]


NAN, OTHER_NAN = (float(np.uint64(bits).view(np.float64)) for bits in (0x7FF8 << 48, (0xFFF8 << 48) + 1954))
ZEROS = pa.DictionaryArray.from_arrays(pa.array(np.where(SICK, 0, 1)), pa.array([0.0, -0.0]))

TABLES = {
    "objects 1 and True": pd.DataFrame({"ill": ILL, "dose": pd.Series(either(1, True), dtype=object)}),
    "objects None and nan": pd.DataFrame({"ill": ILL, "dose": pd.Series(either(None, np.nan), dtype=object)}),
    "pandas zeros": pd.DataFrame({"ill": ILL, "dose": either(0.0, -0.0)}),
    "lists": {"ill": ILL.tolist(), "dose": either(1, 1.0)},
    "polars": pl.DataFrame({"ill": ILL, "dose": pl.Series(either(None, float("nan")), dtype=pl.Float64)}),
    "arrow": pa.table({"ill": ILL, "dose": pa.array(either(None, float("nan")), pa.float32())}),
    "bits of nan in pandas": pd.DataFrame({"ill": ILL, "dose": either(NAN, OTHER_NAN)}),
    "bits of nan in polars": pl.DataFrame({"ill": ILL, "dose": either(NAN, OTHER_NAN)}),
    "bits of nan in arrow": pa.table({"ill": ILL, "dose": pa.array(either(NAN, OTHER_NAN), pa.float32())}),
    "bits of nan in lists": {"ill": ILL.tolist(), "dose": either(NAN, OTHER_NAN)},
    "arrow dictionary": pa.table({"ill": ILL, "dose": ZEROS}),
}


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_given_column_that_shows_what_its_stratum_does_not_know_is_refused(table: Any) -> None:
    with pytest.raises(lw.InvalidInput, match="'dose' has one value in two forms"):
        lw.protect(table, "ill", **LIMITS)


FILES = {
    "quotes.csv": lambda: "ill,dose\n" + "".join(f"{a},{b}\n" for a, b in zip(ILL, either("a", '"a"'), strict=True)),
    "empty.csv": lambda: "ill,dose\n" + "".join(f"{a},{b}\n" for a, b in zip(ILL, either("", '""'), strict=True)),
    "numbers.jsonl": lambda: "".join(
        json.dumps({"ill": str(a), "dose": b}) + "\n" for a, b in zip(ILL, either(1, 1.0), strict=True)
    ),
}


@pytest.mark.parametrize("name", FILES)
def test_text_file_that_writes_one_given_value_in_two_ways_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(FILES[name]())
    with pytest.raises(lw.InvalidInput, match="'dose' has one value in two forms"):
        lw.protect(tmp_path / name, "ill", out=tmp_path / f"out.{name}", **LIMITS)


def test_parquet_with_missing_and_nan_is_refused_also_in_different_batches(tmp_path: Path) -> None:
    dose = pa.array([None] * 600 + [float("nan")] * 600, pa.float64())
    pq.write_table(pa.table({"ill": ILL, "dose": dose}), tmp_path / "t.parquet", row_group_size=600)
    with pytest.raises(lw.InvalidInput, match="'dose' has one value in two forms, a missing value and nan"):
        lw.protect(tmp_path / "t.parquet", "ill", out=tmp_path / "out.parquet", order="shuffle", **LIMITS)


def test_texts_that_a_declared_domain_takes_for_one_number_are_refused(tmp_path: Path) -> None:
    rows = "".join(f"{a},{b}\n" for a, b in zip(ILL, either("1", "1.0"), strict=True))
    (tmp_path / "t.csv").write_text("ill,dose\n" + rows)
    with pytest.raises(lw.InvalidInput, match="'dose' has one value in two forms"):
        lw.protect(tmp_path / "t.csv", "ill", given={"dose": [1, 2]}, out=tmp_path / "out.csv", **LIMITS)


@pytest.mark.parametrize(
    "column",
    [
        ["a", None, "b"],
        [None, 2, 1],
        [0.0, float("nan"), 1.5],
        pd.Series(["a", None, "b"]),
        pd.Series([1.0, np.nan, 0.0]),
        pd.Series([1, None, 2], dtype="Int64"),
        pl.Series([1.0, None, 0.0]),
        pa.chunked_array([[1.0, None], [0.0]]),
        pa.array([b"1", b"", b"2"]),
    ],
)
def test_column_in_one_form_passes(column: Any) -> None:
    OneForm("dose").add(column, np.array([0, 1, 2]))


def test_values_that_no_mechanism_knows_may_have_any_form() -> None:
    OneForm("dose").add([None, float("nan"), 1, 1.0], np.array([-1, -1, -1, -1]))


def test_column_in_bins_is_written_anew() -> None:
    table = pd.DataFrame({"ill": ILL, "dose": either(0.0, -0.0)})
    done = lw.protect(table, "ill", coarsen={"dose": lw.bins(-1, 1, 2)}, **LIMITS)
    assert set(done.table["dose"]) == {"[0, 1]"}
