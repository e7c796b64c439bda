"""Bins: half-open intervals, the last one closed, nothing outside."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leakwise import bins
from leakwise.alphabet import Bins, encode_column
from leakwise.errors import InvalidInput

TENS = bins(0, 100, 10)


def test_labels_and_edges() -> None:
    assert TENS.labels[0] == "[0, 10)"
    assert TENS.labels[-1] == "[90, 100]"
    assert TENS.edges.tolist() == [10.0 * k for k in range(11)]
    assert bins(0, 1, 1).labels == ("[0, 1]",)
    assert Bins([-1, 0.5, 3]).labels == ("[-1, 0.5)", "[0.5, 3]")
    with pytest.raises(ValueError, match="read-only"):
        TENS.edges[0] = 5


def test_narrow_bins_far_from_zero_have_names_of_their_own() -> None:
    far = bins(1e12, 1e12 + 1, 4)
    assert far.labels[0] == "[1000000000000, 1000000000000.25)"


@given(
    st.lists(st.integers(-1000, 1000).map(lambda k: k / 8), min_size=2, max_size=6, unique=True).map(sorted),
    st.lists(st.integers(-1200, 1200).map(lambda k: k / 8), min_size=1, max_size=20),
)
def test_codes_follow_the_definition(edges: list[float], values: list[float]) -> None:
    alphabet = Bins(edges)
    expected = [
        next((k for k in range(len(edges) - 1) if edges[k] <= value < edges[k + 1]), -1)
        if value != edges[-1]
        else len(edges) - 2
        for value in values
    ]
    assert alphabet.codes_of_numbers(np.array(values)).tolist() == expected
    if -1 in expected:
        with pytest.raises(InvalidInput, match=f"{expected.count(-1)} of {len(values)} rows with values outside"):
            encode_column(values, alphabet)
    else:
        assert encode_column(values, alphabet).tolist() == expected


NUMBERS: dict[str, Any] = {
    "list": [0, 9.99, 10, 100],
    "decimals": [Decimal(0), Decimal("9.99"), 10, Decimal(100)],
    "numpy": np.array([0, 9.99, 10, 100]),
    "pandas": pd.Series([0, 9.99, 10, 100]),
    "pandas-nullable": pd.Series([0, 9.99, 10, 100], dtype="Float64"),
    "pandas-object": pd.Series([0, 9.99, 10, 100], dtype=object),
    "pandas-categorical": pd.Series([0, 9.99, 10, 100], dtype="category"),
    "polars": pl.Series([0, 9.99, 10, 100], strict=False),
    "pyarrow": pa.array([0, 9.99, 10, 100]),
    "chunked": pa.chunked_array([[0.0, 9.99], [10.0], [100.0]]),
    "dictionary": pa.array([0, 9.99, 10, 100]).dictionary_encode(),
}


@pytest.mark.parametrize("kind", NUMBERS)
def test_numbers_of_every_library(kind: str) -> None:
    codes = encode_column(NUMBERS[kind], TENS)
    assert codes.tolist() == [0, 0, 1, 9]
    assert codes.dtype == np.uint8


MISSING: dict[str, Any] = {
    "list": [5, None, math.nan],
    "numpy": np.array([5, math.nan, math.nan]),
    "masked": np.ma.masked_array([5.0, 6.0, 7.0], mask=[False, True, True]),
    "pandas": pd.Series([5, None, math.nan]),
    "pandas-nullable": pd.Series([5, None, None], dtype="Int64"),
    "pandas-na": pd.Series([5, pd.NA, None], dtype=object),
    "polars": pl.Series([5, None, None]),
    "pyarrow": pa.array([5, None, None]),
    "chunked": pa.chunked_array([[5, None], [None]]),
}


@pytest.mark.parametrize("kind", MISSING)
def test_missing_numbers_are_refused(kind: str) -> None:
    with pytest.raises(InvalidInput, match=r"2 missing values among 3 rows.*with_missing\(\) \(--missing\)"):
        encode_column(MISSING[kind], TENS)


@pytest.mark.parametrize("value", [-0.001, 100.001, math.inf, -math.inf, 1e300])
def test_outside(value: float) -> None:
    with pytest.raises(InvalidInput, match="age has 1 of 2 rows with values outside the declared domain"):
        encode_column([5.0, value], TENS, name="age")


@pytest.mark.parametrize("column", [["[0, 10)", "[90, 100]"], pd.Series(["[0, 10)", "[90, 100]"], dtype="category")])
def test_the_names_of_bins_are_read_too(column: Any) -> None:
    assert encode_column(column, TENS).tolist() == [0, 9]


@pytest.mark.parametrize(
    "column",
    [
        ["5"],
        np.array(["5"]),
        pd.Series(["5"]),
        [datetime.date(2026, 1, 1)],
        np.array(["2026-01-01"], dtype="M8[ns]"),
        [[5]],
    ],
)
def test_texts_and_dates_are_no_numbers(column: Any) -> None:
    with pytest.raises(InvalidInput, match=r"outside the declared domain|one dimension"):
        encode_column(column, TENS)


@pytest.mark.parametrize(
    "column",
    [
        np.zeros((2, 2)),
        5,
        np.array(5.0),
        "5",
        None,
        pa.table({"a": [1]}),
        pl.DataFrame({"a": [1]}),
        pd.DataFrame({"a": [1]}),
    ],
)
def test_what_is_no_column(column: Any) -> None:
    with pytest.raises(InvalidInput, match="column"):
        encode_column(column, TENS)


@pytest.mark.parametrize(
    "arguments",
    [(0, 0, 1), (1, 0, 1), (0, math.inf, 2), (math.nan, 1, 2), (-1e308, 1e308, 2), ("a", 1, 2), (None, 1, 2)],
)
def test_bad_ranges(arguments: Any) -> None:
    with pytest.raises(InvalidInput, match="low < high"):
        bins(*arguments)


@pytest.mark.parametrize("count", [0, -1, 2.0, True, "3", None])
def test_bad_counts(count: Any) -> None:
    with pytest.raises(InvalidInput, match="count must be a whole number"):
        bins(0, 1, count)


def test_bins_too_narrow_for_floats() -> None:
    with pytest.raises(InvalidInput, match="narrower"):
        bins(1e16, 1e16 + 4, 10)


@pytest.mark.parametrize(
    "edges", [[1], [], [[1, 2]], [1, 1], [2, 1], [0, math.nan], [0, math.inf, math.inf], ["a", "b"], None]
)
def test_bad_edges(edges: Any) -> None:
    with pytest.raises(InvalidInput, match="edges"):
        Bins(edges)
