"""Bins of dates: units of time and intervals of days, for dates, times and texts of them in every kind of column."""

from __future__ import annotations

import datetime
import json
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
from leakwise.alphabet import alphabet_with_edges, edges_of, encode_column
from leakwise.alphabet.dates import DateBins, day_of
from leakwise.cli.options.domain import read_domain

DATES = st.dates(datetime.date(1600, 1, 1), datetime.date(2400, 12, 31))
MONTHS = lw.bins("2023-12", "2024-03", "month")
D = datetime.date
TIMES = [datetime.datetime(2023, 12, 31, 23, 59, 59, 999999), datetime.datetime(2024, 1, 1), None]
DAYS = [D(2023, 12, 31), D(2024, 1, 1), None]
BERLIN = "Europe/Berlin"

COLUMNS: dict[str, Any] = {
    "dates": DAYS,
    "times": TIMES,
    "texts": ["2023-12-31", "2024-01-01T00:00:00+09:00", None],
    "names": ["2023-12", "2024-01", None],
    "numpy": np.array(TIMES, dtype="datetime64[us]"),
    "numpy days": np.array(DAYS, dtype="datetime64[D]"),
    "numpy ns": np.array(TIMES, dtype="datetime64[ns]"),
    "numpy texts": np.array(["2023-12-31", "2024-01-01", ""], dtype=object),
    "pandas": pd.Series(pd.to_datetime(TIMES)),
    "pandas zone": pd.Series(pd.to_datetime(TIMES)).dt.tz_localize(BERLIN),
    "pandas texts": pd.Series(["2023-12-31", "2024-01-01", None]),
    "pandas dates": pd.Series(DAYS),
    "pandas categories": pd.Series(["2023-12-31", "2024-01-01", None], dtype="category"),
    "pandas index": pd.DatetimeIndex(TIMES),
    "pandas arrow": pd.Series(pd.array(TIMES, dtype=pd.ArrowDtype(pa.timestamp("us")))),
    "polars": pl.Series(TIMES),
    "polars days": pl.Series(DAYS),
    "polars zone": pl.Series(TIMES).dt.replace_time_zone(BERLIN),
    "polars texts": pl.Series(["2023-12-31", "2024-01-01", None]),
    "arrow": pa.array(TIMES, pa.timestamp("ns")),
    "arrow zone": pa.chunked_array(
        [pa.array([22 * 3600 + 19722 * 86400, 19722 * 86400 + 23 * 3600, None], pa.timestamp("s", BERLIN))]
    ),
    "arrow days": pa.array(DAYS, pa.date32()),
    "arrow date64": pa.array(DAYS, pa.date64()),
    "arrow dictionary": pa.array(["2023-12-31", "2024-01-01", None]).dictionary_encode(),
}


@pytest.mark.parametrize("kind", COLUMNS)
def test_a_day_is_that_of_the_column_s_own_clock(kind: str) -> None:
    column = COLUMNS[kind]
    if kind == "numpy texts":
        with pytest.raises(lw.InvalidInput, match="outside the declared domain: ''"):
            encode_column(column, MONTHS.with_missing())
        return
    assert encode_column(column, MONTHS.with_missing()).tolist() == [0, 1, 4]
    with pytest.raises(lw.InvalidInput, match="1 missing value among 3 rows"):
        encode_column(column, MONTHS)


@given(DATES, st.integers(0, 900), st.sampled_from(["day", "week", "month", "quarter", "year"]), st.data())
def test_every_day_between_has_its_unit_and_no_other_day_has_one(
    low: datetime.date, span: int, unit: str, data: st.DataObject
) -> None:
    high = low + datetime.timedelta(days=span)
    made = lw.bins(low, high, unit)
    assert isinstance(made, DateBins)
    inside = low + datetime.timedelta(days=data.draw(st.integers(0, span)))
    (code,) = made.codes_of_values([inside])
    assert code >= 0
    start, end = (day_of(edges_of(made)[place]) for place in (code, code + 1))  # type: ignore[index]
    assert start <= day_of(inside) < end  # type: ignore[operator]
    # It is named as calendars name it.
    names = {"day": "%Y-%m-%d", "month": "%Y-%m", "year": "%Y"}
    if unit in names:
        assert made.labels[code] == f"{inside.year:04}{inside.strftime(names[unit])[4:]}"
    first, last = made.edges[0], made.edges[-1]
    assert made.codes_of_numbers(np.array([first - 1, first, last - 1, last])).tolist() == [-1, 0, len(made) - 1, -1]
    for again in (
        read_domain(made.typed),
        eval(made.called, {"lw": lw}),
        alphabet_with_edges(lw.alphabet.Alphabet(made.labels), json.loads(json.dumps(edges_of(made))), name="file"),
    ):
        assert again.labels == made.labels
        assert edges_of(again) == edges_of(made)


@given(st.lists(DATES, min_size=2, max_size=5, unique=True).map(sorted), st.booleans(), st.booleans())
def test_days_between_any_dates_come_back_from_what_is_typed_called_and_stored(
    dates: list[datetime.date], below: bool, above: bool
) -> None:
    infinite = float("inf")
    made = lw.bins([*([-infinite] if below else []), *dates, *([infinite] if above else [])])
    assert made.codes_of_values([dates[0]]) == [int(below)]
    assert made.codes_of_values([datetime.date(1, 1, 1)]) == [0 if below else -1]
    assert made.codes_of_values([datetime.date(9000, 1, 1)]) == [len(made) - 1 if above else -1]
    stored = json.loads(json.dumps(edges_of(made), allow_nan=False))
    assert edges_of(alphabet_with_edges(lw.alphabet.Alphabet(made.labels), stored, name="file")) == stored
    assert edges_of(eval(made.called, {"lw": lw})) == stored
    if len(made.edges) > 2:
        assert edges_of(read_domain(made.typed)) == stored


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("bins:2020-01,2020-03,month", ("2020-01", "2020-02", "2020-03")),
        ("bins:2020,2021,years", ("2020", "2021")),
        ("bins:2020,2020,quarter,", ("2020-Q1", "2020-Q2", "2020-Q3", "2020-Q4", None)),
        ("bins:2020-02-28,2020-03-01,day", ("2020-02-28", "2020-02-29", "2020-03-01")),
        ("bins:2020-01-01,2020-03-15,2021", ("[2020-01-01, 2020-03-15)", "[2020-03-15, 2021-01-01)")),
        ("bins:-inf,2020-01-01,inf", ("(-inf, 2020-01-01)", "[2020-01-01, inf)")),
    ],
)
def test_dates_are_typed_as_units_or_edges(text: str, labels: tuple[Any, ...]) -> None:
    assert read_domain(text).labels == labels


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (("2020-01", "2021-01", "mnth"), "Did you mean 'month'"),
        (("2021", "2020", "year"), "low ≤ high"),
        (("2020-13", "2021", "month"), "Got '2020-13'"),
        (("January", "2021", "month"), "Got 'January'"),
        (("2020", "9999", "year"), "before the year 9999"),
        ((datetime.datetime(2020, 1, 1, 12), "2021", "year"), "midnight"),
        ((True, "2021", "year"), "need dates"),
        (([D(2020, 1, 1), 12.5],), "need dates"),
        (("2020",), "list of edges"),
    ],
)
def test_what_is_no_date_is_refused(bad: tuple[Any, ...], said: str) -> None:
    with pytest.raises(lw.InvalidInput, match=said):
        lw.bins(*bad)


@pytest.mark.parametrize(
    "column", [[1, 2], np.array([19723]), pd.Series([1.5]), [True], [b"2024-01-01"], [[1]], ["soon"]]
)
def test_what_is_no_date_is_in_no_bin_of_dates(column: Any) -> None:
    with pytest.raises(lw.InvalidInput, match="outside the declared domain"):
        encode_column(column, MONTHS.with_missing())


FRAME = pd.DataFrame(
    {"born": [D(2023, 12, 1) + datetime.timedelta(days=int(k)) for k in np.random.default_rng(1).integers(0, 120, 300)]}
)


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".jsonl", ".duckdb"])
def test_bins_of_dates_go_through_every_kind_of_source_and_back(suffix: str, tmp_path: Path) -> None:
    path: Any = tmp_path / f"t{suffix}"
    out: Any = tmp_path / f"o{suffix}"
    if suffix == ".csv":
        FRAME.to_csv(path, index=False)
    elif suffix == ".parquet":
        FRAME.to_parquet(path)
    elif suffix == ".jsonl":
        FRAME.astype(str).to_json(path, orient="records", lines=True)
    else:
        import duckdb

        with duckdb.connect(str(path)) as base:
            base.register("frame", FRAME)
            base.execute("CREATE TABLE t AS SELECT born::DATE AS born FROM frame")
        path, out = lw.SqlTable(path, "t"), lw.SqlTable(out, "o")
    done = lw.protect(path, "born", domain=MONTHS, lift=2, prior="uniform", out=out, use="reading", order="keep")
    done.certificate.save(tmp_path / "c.json")
    assert lw.verify(tmp_path / "c.json").holds
    done.mechanism.save(tmp_path / "m.json")
    again = lw.Mechanism.load(tmp_path / "m.json")
    assert isinstance(again.input_alphabet, DateBins)
    found = lw.estimate(out, again, "born")
    assert found.labels == MONTHS.labels
    with pytest.raises(lw.InvalidInput, match="they are bins of dates"):
        found.mean()
    with pytest.raises(lw.InvalidInput, match="they are bins of dates"):
        found.quantile(0.5)


@pytest.mark.filterwarnings("ignore:.*too rare to learn from:leakwise.errors.LeakwiseWarning")
def test_a_column_goes_out_in_months_beside_a_secret(tmp_path: Path) -> None:
    frame = FRAME.assign(ill=np.random.default_rng(2).choice(["no", "yes"], len(FRAME)))
    frame.to_csv(tmp_path / "t.csv", index=False)
    limits: dict[str, Any] = {"domain": ["no", "yes"], "lift": 2, "prior": "table", "failure": 1e-6, "least_rows": 100}
    for data in (frame, tmp_path / "t.csv"):
        place: dict[str, Any] = {} if data is frame else {"out": tmp_path / "o.csv"}
        done = lw.protect(data, "ill", coarsen={"born": MONTHS}, order="keep", **limits, **place)
        went = done.table if data is frame else pd.read_csv(tmp_path / "o.csv")
        assert set(went["born"]) <= set(MONTHS.labels)
        done.certificate.save(tmp_path / "c.json")
        assert lw.verify(tmp_path / "c.json").holds
        done.mechanism.save(tmp_path / "m.json")
        found = lw.estimate(went, lw.StratifiedMechanism.load(tmp_path / "m.json"))
        assert found.frequencies.sum() == pytest.approx(1)
