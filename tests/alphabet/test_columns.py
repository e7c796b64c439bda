"""A column of any library gives the same codes, and the same complaint."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leakwise.alphabet import Alphabet, encode_column
from leakwise.errors import InvalidInput
from strategies import as_objects

Maker = Callable[[list[Any]], Any]


def chunked(values: list[Any]) -> Any:
    whole = pa.array(values)
    return pa.chunked_array([whole[:2], whole[2:2], whole[2:]], type=whole.type)


def dictionary_chunks(values: list[Any]) -> Any:
    """Chunks whose dictionaries differ."""
    whole = pa.array(values)
    parts = [whole[:2].dictionary_encode(), whole[2:].dictionary_encode()]
    return pa.chunked_array(parts, type=pa.dictionary(pa.int32(), whole.type))


TEXTS: dict[str, Maker] = {
    "list": list,
    "tuple": tuple,
    "generator": lambda values: (value for value in values),
    "numpy-object": as_objects,
    "pandas-object": lambda values: pd.Series(values, dtype=object),
    "pandas-str": lambda values: pd.Series(values, dtype="str"),
    "pandas-string": lambda values: pd.Series(values, dtype="string"),
    "pandas-categorical": lambda values: pd.Series(values, dtype="category"),
    "pandas-index": lambda values: pd.Index(values, dtype=object),
    "pandas-array": lambda values: pd.array(values, dtype="string"),
    "pandas-arrow": lambda values: pd.Series(values, dtype=pd.ArrowDtype(pa.string())),
    "polars-string": lambda values: pl.Series(values, dtype=pl.String),
    "polars-categorical": lambda values: pl.Series(values, dtype=pl.Categorical),
    "polars-enum": lambda values: pl.Series(values, dtype=pl.Enum(sorted({v for v in values if v} | {"unused"}))),
    "pyarrow": lambda values: pa.array(values, type=pa.string()),
    "pyarrow-large": lambda values: pa.array(values, type=pa.large_string()),
    "pyarrow-dictionary": lambda values: pa.array(values, type=pa.string()).dictionary_encode(),
    "chunked": chunked,
    "chunked-dictionary": dictionary_chunks,
}


@pytest.mark.parametrize("kind", TEXTS)
def test_texts(kind: str) -> None:
    codes = encode_column(TEXTS[kind](["no", "yes", "no", "maybe"]), Alphabet(["yes", "maybe", "never", "no"]))
    assert codes.tolist() == [3, 0, 3, 1]
    assert codes.dtype == np.uint8


@given(
    st.lists(st.sampled_from(["a", "b", "c", None]), min_size=3, max_size=12),
    st.permutations(["a", "b", "c", None, "d"]),
)
def test_all_kinds_agree(values: list[Any], domain: list[Any]) -> None:
    if all(value is None for value in values):
        values = [*values, "a"]
    expected = [domain.index(value) for value in values]
    for kind, make in TEXTS.items():
        assert encode_column(make(values), Alphabet(domain)).tolist() == expected, kind


def test_numpy_texts() -> None:
    domain = Alphabet(["yes", "no"])
    assert encode_column(np.array(["no", "yes"]), domain).tolist() == [1, 0]
    assert encode_column(np.array(["no", "yes"], dtype=np.dtypes.StringDType()), domain).tolist() == [1, 0]


@pytest.mark.parametrize("kind", TEXTS)
def test_nulls_without_none_in_the_domain_are_refused(kind: str) -> None:
    with pytest.raises(InvalidInput, match=r"smokes has 2 missing values among 4 rows.*Add None to the domain"):
        encode_column(TEXTS[kind](["a", None, "a", None]), Alphabet(["a", "b"]), name="smokes")


@pytest.mark.parametrize("kind", TEXTS)
def test_values_outside_the_domain_are_named_and_counted(kind: str) -> None:
    values = ["x", "a", "y", "x", "z"]
    with pytest.raises(InvalidInput) as caught:
        encode_column(TEXTS[kind](values), Alphabet(["a", "b"]), name="smokes")
    message = str(caught.value)
    assert "smokes has 4 of 5 rows with values outside the declared domain" in message
    assert all(repr(value) in message for value in "xyz")
    assert "The domain is 'a', 'b'" in message


def test_only_the_first_few_are_named() -> None:
    with pytest.raises(InvalidInput, match=r"has 1000 of 1000 rows.*and 995 more\. The domain"):
        encode_column(list(range(1, 1001)), Alphabet([0]))


@pytest.mark.parametrize("kind", TEXTS)
def test_missing_and_outside_at_once(kind: str) -> None:
    said = r"2 of 3 rows with values outside.*missing|2 of 3 rows.*nan|2 of 3 rows.*NA"
    with pytest.raises(InvalidInput, match=said):
        encode_column(TEXTS[kind](["a", None, "q"]), Alphabet(["a", "b"]))


INTEGERS: dict[str, Maker] = {
    "list": list,
    "numpy-scalars": lambda values: [np.int16(value) for value in values],
    **{
        f"numpy-{kind}": (lambda values, kind=kind: np.array(values, dtype=kind))
        for kind in ("i1", "i4", "i8", "u1", "u2", "u8", "f4", "f8", "O")
    },
    "pandas": lambda values: pd.Series(values, dtype="int64"),
    "pandas-nullable": lambda values: pd.Series(values, dtype="Int64"),
    "pandas-categorical": lambda values: pd.Series(values, dtype="category"),
    "polars": lambda values: pl.Series(values, dtype=pl.Int32),
    "polars-u8": lambda values: pl.Series(values, dtype=pl.UInt8),
    "polars-float": lambda values: pl.Series(values, dtype=pl.Float64),
    "pyarrow": pa.array,
    "pyarrow-u8": lambda values: pa.array(values, type=pa.uint8()),
    "pyarrow-dictionary": lambda values: pa.array(values).dictionary_encode(),
    "chunked": chunked,
}


@pytest.mark.parametrize("kind", INTEGERS)
def test_integers(kind: str) -> None:
    domain = Alphabet([7, 3, 0, 5])
    assert encode_column(INTEGERS[kind]([3, 0, 7, 3]), domain).tolist() == [1, 2, 0, 1]
    with pytest.raises(InvalidInput, match=r"has 2 of 4 rows.*: 4(\.0)?, 9(\.0)?\. The"):
        encode_column(INTEGERS[kind]([3, 4, 7, 9]), domain)


def test_integers_that_are_negative_or_far_apart() -> None:
    domain = Alphabet([-3, 0, 2**40])
    assert encode_column(np.array([0, -3, -3]), domain).tolist() == [1, 0, 0]
    assert encode_column(np.array([-3, 2**40]), domain).tolist() == [0, 2]
    with pytest.raises(InvalidInput, match="1 of 2 rows"):
        encode_column(np.array([-3, -(2**62)]), domain)
    with pytest.raises(InvalidInput, match="1 of 1 rows"):
        encode_column(np.array([2**64 - 1], dtype=np.uint64), domain)


BOOLEANS: dict[str, Maker] = {
    "list": list,
    "numpy": np.array,
    "pandas": pd.Series,
    "pandas-nullable": lambda values: pd.Series(values, dtype="boolean"),
    "polars": pl.Series,
    "pyarrow": pa.array,
}


@pytest.mark.parametrize("kind", BOOLEANS)
def test_booleans(kind: str) -> None:
    assert encode_column(BOOLEANS[kind]([True, False, True]), Alphabet([False, True])).tolist() == [1, 0, 1]


DATES = [datetime.date(2026, 1, 2), datetime.date(2026, 1, 1)]
MOMENTS = [datetime.datetime(2026, 1, 2, 3), datetime.datetime(2026, 1, 1)]


@pytest.mark.parametrize(
    ("column", "domain"),
    [
        (DATES, DATES[::-1]),
        (np.array(DATES, dtype="M8[D]"), DATES[::-1]),
        (pl.Series(DATES), DATES[::-1]),
        (pa.array(DATES), DATES[::-1]),
        (MOMENTS, MOMENTS[::-1]),
        (np.array(MOMENTS, dtype="M8[ns]"), MOMENTS[::-1]),
        (np.array(MOMENTS, dtype="M8[s]"), MOMENTS[::-1]),
        (pd.Series(MOMENTS), MOMENTS[::-1]),
        (pl.Series(MOMENTS), MOMENTS[::-1]),
        (pa.array(MOMENTS), MOMENTS[::-1]),
    ],
)
def test_dates(column: Any, domain: list[Any]) -> None:
    assert encode_column(column, Alphabet(domain)).tolist() == [1, 0]


def test_a_moment_is_not_its_day() -> None:
    with pytest.raises(InvalidInput, match="outside"):
        encode_column(pd.Series([datetime.datetime(2026, 1, 1)]), Alphabet(DATES))


def test_tuples() -> None:
    domain = Alphabet([("a", 1), ("a", 2)])
    values = [("a", 2), ("a", 1)]
    assert encode_column(values, domain).tolist() == [1, 0]
    assert encode_column(pd.Series(values), domain).tolist() == [1, 0]
    assert encode_column(as_objects(values), domain).tolist() == [1, 0]


NANS: dict[str, Any] = {
    "list": [1.0, math.nan, None],
    "list-of-na": [1.0, pd.NA, pd.NaT],
    "numpy": np.array([1.0, math.nan, math.nan]),
    "numpy-object": as_objects([1.0, math.nan, None]),
    "masked": np.ma.masked_array([1, 2, 1], mask=[False, True, True]),
    "pandas": pd.Series([1.0, math.nan, math.nan]),
    "pandas-nullable": pd.Series([1, None, None], dtype="Int64"),
    "polars": pl.Series([1.0, math.nan, None]),
    "pyarrow": pa.array([1.0, math.nan, None]),
}


@pytest.mark.parametrize("kind", NANS)
def test_nan_is_a_missing_value(kind: str) -> None:
    assert encode_column(NANS[kind], Alphabet([None, 1])).tolist() == [1, 0, 0]
    with pytest.raises(InvalidInput, match="2 missing values among 3 rows"):
        encode_column(NANS[kind], Alphabet([0, 1, 2]))


def test_missing_dates() -> None:
    column = np.array(["2026-01-01", "NaT"], dtype="M8[D]")
    assert encode_column(column, Alphabet([None, DATES[1]])).tolist() == [1, 0]
    with pytest.raises(InvalidInput, match="1 missing value among 2 rows"):
        encode_column(column, Alphabet(DATES))


@pytest.mark.parametrize(
    "column",
    [pa.nulls(2), pl.Series([None, None]), pd.Series([None, None]), [None, None], pa.chunked_array([pa.nulls(2)])],
)
def test_nothing_but_nulls(column: Any) -> None:
    assert encode_column(column, Alphabet(["a", None])).tolist() == [1, 1]
    with pytest.raises(InvalidInput, match="2 missing values among 2 rows"):
        encode_column(column, Alphabet(["a"]))


@pytest.mark.parametrize(
    "column",
    [
        [],
        np.array([]),
        np.array([], dtype=np.int64),
        np.array([], dtype=str),
        pd.Series([], dtype=object),
        pd.Series([], dtype="category"),
        pl.Series([], dtype=pl.String),
        pa.array([], type=pa.string()),
        pa.chunked_array([], type=pa.string()),
        pa.chunked_array([pa.array([], type=pa.string())]),
    ],
)
def test_empty_columns(column: Any) -> None:
    codes = encode_column(column, Alphabet(["a", "b"]))
    assert codes.shape == (0,)
    assert codes.dtype == np.uint8


@pytest.mark.parametrize(
    "column",
    [
        "text",
        b"bytes",
        5,
        None,
        {"a": 1},
        np.zeros((2, 2)),
        np.array("a"),
        pd.DataFrame({"a": ["a"]}),
        pl.DataFrame({"a": ["a"]}),
        pl.col("a"),
        pa.table({"a": ["a"]}),
        pa.scalar("a"),
        pd.Timestamp("2026-01-01"),
    ],
)
def test_what_is_no_column(column: Any) -> None:
    with pytest.raises(InvalidInput, match=r"smokes must (be|have) (a column of values|one column|one dimension)"):
        encode_column(column, Alphabet(["a", "b"]), name="smokes")


@pytest.mark.parametrize(
    "column",
    [
        [["a"]],
        [np.array(["a", "b"])],
        as_objects([["a"]]),
        pd.Series([["a"]]),
        pl.Series([["a"]]),
        pa.array([["a"]]),
        pa.array([{"x": "a"}]),
        pl.Series([{"x": "a"}]),
    ],
)
def test_nested_values_are_outside(column: Any) -> None:
    with pytest.raises(InvalidInput, match="1 of 1 rows with values outside"):
        encode_column(column, Alphabet(["a", "b"]))


@given(st.lists(st.integers(0, 299), max_size=40))
def test_codes_grow_with_the_alphabet(values: list[int]) -> None:
    codes = encode_column(np.array(values, dtype=np.int64), Alphabet.numbered(300))
    assert codes.tolist() == values
    assert codes.dtype == np.uint16


def test_unused_categories_outside_the_domain_do_no_harm() -> None:
    column = pd.Series(pd.Categorical(["a", "a"], categories=["z", "a"]))
    assert encode_column(column, Alphabet(["b", "a"])).tolist() == [1, 1]
    dictionary = pa.DictionaryArray.from_arrays(pa.array([1, 1]), pa.array(["z", "a"]))
    assert encode_column(dictionary, Alphabet(["b", "a"])).tolist() == [1, 1]


def test_a_null_inside_a_dictionary_is_a_missing_value() -> None:
    dictionary = pa.DictionaryArray.from_arrays(pa.array([0, 1, None]), pa.array(["a", None]))
    assert encode_column(dictionary, Alphabet(["a", None])).tolist() == [0, 1, 1]
