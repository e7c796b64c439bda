"""Ids of persons: one person is one text of bytes in every kind of table."""

from __future__ import annotations

import uuid
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import leakwise as lw
from leakwise.tables.memo.person_ids import id_bytes

NUMBERS = [7, 0, -12, 2**53 - 1, 10**6]


def texts(column):
    found = id_bytes(column)
    ends = zip(found.starts.tolist(), (found.starts + found.lengths).tolist(), strict=True)
    return [bytes(found.data[start:end]) for start, end in ends]


@pytest.mark.parametrize(
    "kind",
    [
        list,
        tuple,
        np.array,
        lambda rows: np.array(rows, dtype=object),
        lambda rows: np.array(rows, dtype=float),
        lambda rows: [str(row) for row in rows],
        lambda rows: np.array([str(row) for row in rows]),
        pd.Series,
        lambda rows: pd.Series(rows, dtype="Int64"),
        lambda rows: pd.Series(rows, dtype=float),
        lambda rows: pd.Series(rows, dtype="int64[pyarrow]"),
        lambda rows: pd.Series(rows, dtype="category"),
        lambda rows: pd.Series([str(row) for row in rows]),
        lambda rows: pd.Series([str(row) for row in rows], dtype=object),
        lambda rows: pd.Series([str(row) for row in rows], dtype="string"),
        lambda rows: pd.Series([str(row) for row in rows], dtype="string[pyarrow]"),
        lambda rows: pd.Series([str(row) for row in rows], dtype="category"),
        lambda rows: pl.Series(rows),
        lambda rows: pl.Series([str(row) for row in rows]),
        lambda rows: pl.Series([str(row) for row in rows], dtype=pl.Categorical),
        pa.array,
        lambda rows: pa.array([str(row) for row in rows]),
        lambda rows: pa.array([str(row) for row in rows], type=pa.large_string()),
        lambda rows: pa.array([str(row) for row in rows], type=pa.string_view()),
        lambda rows: pa.array([str(row).encode() for row in rows]),
        lambda rows: pa.array([str(row) for row in rows]).dictionary_encode(),
        lambda rows: pa.array(["x", *map(str, rows), "y"])[1:-1],
        lambda rows: pa.chunked_array([rows[:2], rows[2:]]),
        lambda rows: pa.chunked_array([list(map(str, rows[:2])), [], list(map(str, rows[2:]))], pa.string()),
        lambda rows: pa.array(["x", *map(str, rows)]).dictionary_encode()[1:],
    ],
)  # fmt: skip
def test_an_id_is_the_same_in_every_kind_of_column(kind):
    assert texts(kind(NUMBERS)) == [b"%d" % number for number in NUMBERS]


def test_the_largest_numbers_keep_all_their_digits():
    assert texts(np.array([2**64 - 1], dtype=np.uint64)) == [b"18446744073709551615"]
    assert texts(pd.Series([2**64 - 1], dtype="UInt64")) == [b"18446744073709551615"]
    assert texts(np.array([-(2**63)])) == [b"-9223372036854775808"]
    assert texts([10**30]) == [b"1" + b"0" * 30]


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64", "uint64"])
def test_numbers_are_their_decimal_digits(dtype):
    ends = np.iinfo(dtype)
    rng = np.random.default_rng(0)
    sizes = rng.integers(0, ends.bits, 2000)
    some = [
        int(one) >> int(size) for one, size in zip(rng.integers(ends.min, ends.max, 2000, dtype), sizes, strict=True)
    ]
    numbers = [ends.min, ends.max, *(one for one in (0, 9, 10, 99, 100, -1, -9, -10) if ends.min <= one), *some]
    assert texts(np.array(numbers, dtype=dtype)) == [b"%d" % one for one in numbers]
    assert texts(np.array([], dtype=dtype)) == []


def test_texts_are_taken_as_they_are():
    """Leading zeros and spaces may be what tells two persons apart."""
    assert texts(["7", "07", " 7", "7.0", "Zoë"]) == [b"7", b"07", b" 7", b"7.0", "Zoë".encode()]


@pytest.mark.parametrize(
    "column",
    [
        [1, None],
        ["a", ""],
        [1.0, float("nan")],
        np.array([1.0, np.nan]),
        pd.Series([1, None]),
        pd.Series([1, None], dtype="Int64"),
        pd.Series(["a", None]),
        pd.Series(["a", None], dtype="category"),
        pl.Series([1, None]),
        pl.Series(["a", None]),
        pa.array([1, None]),
        pa.array(["a", None]),
        pa.array(["a", None]).dictionary_encode(),
        pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array(["a", None])),
        pa.array(["a", ""]),
    ],
)
def test_a_row_without_an_id_is_refused(column):
    with pytest.raises(lw.InvalidInput, match=r"no id in 1 of 2 rows"):
        id_bytes(column)


@pytest.mark.parametrize(
    "column",
    [
        [1.5],
        [2.0**53],
        np.array([0.5]),
        np.array([np.inf]),
        [True],
        [Decimal(7)],
        [uuid.UUID(int=7)],
        [[7]],
        ["\ud800"],
        pa.array([1.5]),
        pa.array([True]),
        pd.Series(pd.to_datetime(["2026-01-01"])),
    ],
)
def test_what_may_be_written_in_two_ways_is_refused(column):
    with pytest.raises(lw.InvalidInput, match="texts or whole numbers"):
        id_bytes(column)
