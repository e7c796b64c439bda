"""Every kind of column and table: what comes out is what went in, but for the one column."""

from __future__ import annotations

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import leakwise as lw
from leakwise.tables.kinds import frames

CODES = np.array([2, 0, 1, 1], dtype=np.uint8)
TEXTS = ["no", "perhaps", "yes"]
DECODED = ["yes", "no", "perhaps", "perhaps"]


def values(column):
    """Any column as a list of Python values, missing ones as None."""
    if isinstance(column, (pd.Series, pd.Index)):
        return [None if pd.isna(value) else value for value in column.tolist()]
    for method in ("to_list", "to_pylist", "tolist"):
        if hasattr(column, method):
            return getattr(column, method)()
    return list(column)


COLUMNS = {
    "list": ["no", "yes", "no", "no"],
    "tuple": ("no", "yes", "no", "no"),
    "numpy str": np.array(["no", "yes", "no", "no"]),
    "numpy object": np.array(["no", "yes", "no", "no"], dtype=object),
    "numpy StringDType": np.array(["no", "yes", "no", "no"], dtype=np.dtypes.StringDType()),
    "pandas str": pd.Series(["no", "yes", "no", "no"], name="s", index=[5, 5, 7, 8]),
    "pandas object": pd.Series(["no", "yes", "no", "no"], dtype=object),
    "pandas string": pd.Series(["no", "yes", "no", "no"], dtype="string"),
    "pandas arrow": pd.Series(["no", "yes", "no", "no"], dtype=pd.ArrowDtype(pa.string())),
    "pandas categorical": pd.Series(["no", "yes", "no", "no"], dtype="category"),
    "pandas index": pd.Index(["no", "yes", "no", "no"], name="s"),
    "pandas array": pd.array(["no", "yes", "no", "no"], dtype="string"),
    "pandas bare categorical": pd.Categorical(["no", "yes", "no", "no"]),
    "polars": pl.Series("s", ["no", "yes", "no", "no"]),
    "polars categorical": pl.Series("s", ["no", "yes", "no", "no"], dtype=pl.Categorical),
    "polars enum": pl.Series("s", ["no", "yes", "no", "no"], dtype=pl.Enum(["yes", "no"])),
    "arrow": pa.array(["no", "yes", "no", "no"]),
    "arrow large": pa.array(["no", "yes", "no", "no"], type=pa.large_string()),
    "arrow view": pa.array(["no", "yes", "no", "no"], type=pa.string_view()),
    "arrow dictionary": pa.array(["no", "yes", "no", "no"]).dictionary_encode(),
    "arrow chunked": pa.chunked_array([["no", "yes"], [], ["no", "no"]]),
    "arrow chunked dictionary": pa.chunked_array([["no", "yes"], ["no", "no"]]).dictionary_encode(),
}


@pytest.mark.parametrize("column", COLUMNS.values(), ids=COLUMNS)
def test_texts_come_back_in_the_same_kind(column):
    assert frames.is_column(column)
    assert not frames.is_table(column)
    out = frames.decode(CODES, TEXTS, column)
    assert type(out) is type(column)
    assert values(out) == DECODED
    none = frames.decode(CODES[:0], TEXTS, column[:0])
    assert type(none) is type(column)
    assert len(none) == 0


@pytest.mark.parametrize(
    "name", ["numpy object", "numpy StringDType", "pandas str", "pandas object", "pandas string", "pandas arrow",
             "polars", "polars categorical", "arrow", "arrow large", "arrow view", "arrow chunked"],
)  # fmt: skip
def test_the_type_of_texts_is_kept(name):
    column = COLUMNS[name]
    before = column.type if hasattr(column, "type") else column.dtype
    out = frames.decode(CODES, TEXTS, column)
    after = out.type if hasattr(out, "type") else out.dtype
    assert after == before


def test_texts_of_numpy_grow_and_never_shrink():
    assert frames.decode(CODES, TEXTS, np.array(["no"] * 4)).dtype == np.dtype("U7")
    assert frames.decode(CODES, TEXTS, np.array(["no"] * 4, dtype="U12")).dtype == np.dtype("U12")
    assert frames.decode(np.array([1, 0]), [b"a", b"bc"], np.array([b"a"] * 2)).tolist() == [b"bc", b"a"]


NUMBERS = {
    "numpy int8": (np.array([1, 2, 3, 3], dtype=np.int8), [1, 2, 3], True),
    "numpy uint64": (np.array([1, 2, 3, 2**64 - 1], dtype=np.uint64), [1, 2, 2**64 - 1], True),
    "numpy float32": (np.array([1, 2, 3, 3], dtype=np.float32), [0.5, 1, None], True),
    "numpy bool": (np.array([True, False, True, True]), [False, True, False], True),
    "numpy date": (np.array(["2020-01-01"] * 4, dtype="datetime64[D]"), [datetime.date(2020, 1, d) for d in (1, 2, 3)],
                   True),
    "numpy too large": (np.array([1, 2, 3, 3], dtype=np.int8), [1, 2, 300], False),
    "numpy to text": (np.array([1, 2, 3, 3]), TEXTS, False),
    "numpy fractions": (np.array([1, 2, 3, 3]), [0.5, 1.5, 2.5], False),
    "numpy inexact": (np.array([1, 2, 3, 3], dtype=np.float32), [0.1, 0.2, 0.3], False),
    "numpy beyond a word": (np.array([1, 2, 3, 3]), [1, 2, 2**70], False),
    "numpy mixed": (np.array([1, 2, 3, 3]), [1, "a", None], False),
    "pandas int16": (pd.Series([1, 2, 3, 3], dtype="int16"), [1, 2, 3], True),
    "pandas Int64": (pd.Series([1, 2, None, 3], dtype="Int64"), [1, 2, None], True),
    "pandas Int8 too large": (pd.Series([1, 2, None, 3], dtype="Int8"), [1, 2, 300], False),
    "pandas boolean": (pd.Series([True, None, True, True], dtype="boolean"), [False, True, None], True),
    "pandas time": (pd.Series(pd.to_datetime(["2020-01-01"] * 4)), [datetime.datetime(2020, 1, d) for d in (1, 2, 3)],
                    True),
    "pandas to text": (pd.Series([1, 2, 3, 3]), TEXTS, False),
    "pandas float": (pd.Series([1.0, 2.0, None, 3.0]), [1, 2, None], True),
    "polars i8": (pl.Series([1, 2, 3, 3], dtype=pl.Int8), [1, 2, 3], True),
    "polars u64": (pl.Series([1, 2, 3, 3], dtype=pl.UInt64), [1, None, 3], True),
    "polars too large": (pl.Series([1, 2, 3, 3], dtype=pl.Int8), [1, 2, 300], False),
    "polars to text": (pl.Series([1, 2, 3, 3]), TEXTS, False),
    "polars bool": (pl.Series([True, False, True, None]), [False, True, None], True),
    "polars enum to numbers": (COLUMNS["polars enum"], [1, 2, 3], False),
    "polars date": (pl.Series([datetime.date(2020, 1, 1)] * 4), [datetime.date(2020, 1, d) for d in (1, 2, 3)], True),
    "arrow int8": (pa.array([1, 2, 3, 3], type=pa.int8()), [1, 2, 3], True),
    "arrow null": (pa.array([1, 2, None, 3], type=pa.uint16()), [1, None, 3], True),
    "arrow too large": (pa.array([1, 2, 3, 3], type=pa.int8()), [1, 2, 300], False),
    "arrow to text": (pa.array([1, 2, 3, 3]), TEXTS, False),
    "arrow date": (pa.array([datetime.date(2020, 1, 1)] * 4), [datetime.date(2020, 1, d) for d in (1, 2, 3)], True),
}  # fmt: skip


@pytest.mark.parametrize(("column", "labels", "kept"), NUMBERS.values(), ids=NUMBERS)
def test_the_type_is_kept_exactly_where_the_labels_fit_it(column, labels, kept):
    out = frames.decode(CODES, labels, column)
    assert isinstance(out, pa.Array if isinstance(column, pa.Array) else type(column))
    rows = [None if value != value else value for value in values(out)]
    assert rows == [labels[code] for code in CODES]
    before, after = (each.type if hasattr(each, "type") else each.dtype for each in (column, out))
    assert (before == after) is kept


@given(
    st.lists(st.one_of(st.integers(-300, 300), st.floats(allow_nan=False), st.text(max_size=3)), min_size=1),
    st.sampled_from(["int8", "int64", "float32", "float64", "bool", "U2", "O"]),
    st.data(),
)
def test_no_label_is_ever_changed_by_a_type(labels, dtype, data):
    # NumPy drops trailing NULs of texts, so a column of texts cannot hold them in the first place.
    labels = list(dict.fromkeys(label.rstrip("\0") if isinstance(label, str) else label for label in labels))
    codes = np.array(data.draw(st.lists(st.integers(0, len(labels) - 1))), dtype=np.uint16)
    out = frames.decode(codes, labels, np.empty(0, dtype=dtype))
    assert out.tolist() == [labels[code] for code in codes]


# ------------------------------------------------------------------------------------------------- categoricals


def test_pandas_categories_are_the_outcomes():
    like = pd.Series(["no", "yes"], dtype=pd.CategoricalDtype(["yes", "no"], ordered=True))
    same = frames.decode(np.array([0, 1]), ["no", "yes"], like)
    assert same.dtype == like.dtype
    assert same.tolist() == ["no", "yes"]
    other = frames.decode(np.array([2, 0]), TEXTS, like)
    assert other.cat.categories.tolist() == TEXTS
    assert not other.cat.ordered
    missing = frames.decode(np.array([0, 1, 2]), ["no", None, "yes"], pd.Series(["no", None, "yes"], dtype="category"))
    assert missing.cat.categories.tolist() == ["no", "yes"]
    assert missing.isna().tolist() == [False, True, False]
    fresh = frames.decode(np.array([0, 1, 2]), ["a", None, "b"], pd.Series(["no", None, "yes"], dtype="category"))
    assert fresh.cat.categories.tolist() == ["a", "b"]
    assert fresh.isna().tolist() == [False, True, False]
    numbers = frames.decode(np.array([1, 0]), [3, 7], pd.Series([1, 2], dtype="category"))
    assert numbers.tolist() == [7, 3]
    tuples = frames.decode(np.array([1, 0]), [(1, "a"), (2, "b")], pd.Series(["x", "y"], dtype="category"))
    assert tuples.tolist() == [(2, "b"), (1, "a")]


def test_polars_enum_lists_the_outcomes():
    like = COLUMNS["polars enum"]
    assert frames.decode(np.array([0, 1]), ["no", "yes"], like).dtype == pl.Enum(["yes", "no"])
    assert frames.decode(CODES, TEXTS, like).dtype == pl.Enum(TEXTS)
    missing = frames.decode(np.array([0, 1]), ["no", None], like)
    assert missing.dtype == pl.Enum(["no"])
    assert missing.to_list() == ["no", None]


def test_arrow_dictionaries_are_built_from_the_codes():
    like = pa.array(["no", "yes"]).dictionary_encode()
    out = frames.decode(CODES, TEXTS, like)
    assert out.type == like.type
    assert out.indices.to_pylist() == CODES.tolist()
    assert out.dictionary.to_pylist() == TEXTS
    missing = frames.decode(CODES, ["no", None, "yes"], like)
    assert missing.to_pylist() == ["yes", "no", None, None]
    assert missing.dictionary.to_pylist() == ["no", "yes"]


def test_arrow_dictionaries_keep_index_type_and_order_where_they_can():
    ordered = pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int8()), pa.array(["no", "yes"]), ordered=True)
    assert frames.decode(np.array([0, 1]), ["no", "yes"], ordered).type == ordered.type
    other = frames.decode(CODES, TEXTS, ordered).type
    assert (other.index_type, other.ordered) == (pa.int8(), False)
    many = frames.decode(np.array([199]), [str(k) for k in range(200)], ordered)
    assert many.type.index_type == pa.int32()
    assert many.to_pylist() == ["199"]


def test_arrow_chunks_stay():
    out = frames.decode(CODES, TEXTS, COLUMNS["arrow chunked"])
    assert [len(chunk) for chunk in out.chunks] == [2, 0, 2]
    empty = frames.decode(CODES[:0], TEXTS, pa.chunked_array([], type=pa.string()))
    assert empty.type == pa.string()
    assert len(empty) == 0


@pytest.mark.parametrize("column", [COLUMNS["polars"], COLUMNS["arrow"], COLUMNS["arrow dictionary"]])
@pytest.mark.parametrize("labels", [[("a", 1), ("b", 2)], [("a", "b"), ("c", "d")], [1, "a"]])
def test_labels_that_no_column_can_hold_are_refused(column, labels):
    with pytest.raises(lw.InvalidInput, match="cannot stand in one"):
        frames.decode(np.array([0, 1]), labels, column)


def test_lists_and_objects_hold_any_label():
    labels = [("a", 1), "a", None]
    assert frames.decode(CODES, labels, []) == [None, ("a", 1), "a", "a"]
    assert frames.decode(CODES, labels, np.empty(0, dtype=object)).tolist() == [None, ("a", 1), "a", "a"]
    assert frames.decode(CODES, labels, pd.Series([], dtype=object, index=[])[:0].reindex(range(4))).tolist() == [
        None, ("a", 1), "a", "a"
    ]  # fmt: skip


def test_series_keep_index_and_name_but_no_notes():
    like = pd.Series([1, 2, 3, 3], index=list("wxyz"), name="n")
    like.attrs["source"] = "survey"
    out = frames.decode(CODES, [1, 2, 3], like)
    assert out.index.equals(like.index)
    assert (out.name, out.attrs) == ("n", {})
    assert frames.decode(CODES, TEXTS, COLUMNS["polars"]).name == "s"
    assert frames.decode(CODES, TEXTS, COLUMNS["pandas index"]).name == "s"


# ------------------------------------------------------------------------------------------------------- tables


def tables():
    data = {"id": [1, 2, 3, 4], "smokes": ["no", "yes", "no", "no"], "age": [30.5, 40.0, 50.0, 60.0]}
    schema = pa.schema(
        [pa.field("id", pa.int32()), pa.field("smokes", pa.string(), False, {"unit": "none"}), ("age", pa.float64())],
        metadata={"source": "survey"},
    )
    return {
        "mapping": data,
        "pandas": pd.DataFrame(data, index=["p", "q", "q", "r"]),
        "polars": pl.DataFrame(data),
        "lazy": pl.DataFrame(data).lazy(),
        "arrow": pa.table(data, schema=schema),
        "batch": pa.record_batch(data, schema=schema),
    }


@pytest.mark.parametrize("kind", tables())
def test_one_column_is_exchanged_and_nothing_else(kind):
    table, untouched = tables()[kind], tables()[kind]
    assert frames.is_table(table)
    assert not frames.is_column(table)
    assert frames.column_names(table) == ["id", "smokes", "age"]
    column = frames.column_of(table, "smokes")
    out = frames.with_columns(table, {"smokes": frames.decode(CODES, TEXTS, column)})
    assert type(out) is type(table)
    assert frames.column_names(out) == ["id", "smokes", "age"]
    assert values(frames.column_of(out, "smokes")) == DECODED
    for name in ("id", "age"):
        assert values(frames.column_of(out, name)) == values(frames.column_of(untouched, name))
    # The source is as it was.
    assert values(frames.column_of(table, "smokes")) == ["no", "yes", "no", "no"]


def test_pandas_index_and_types_are_kept_but_no_notes():
    table = tables()["pandas"]
    table.attrs["source"] = "survey"
    table["smokes"] = table["smokes"].astype(object)
    out = frames.with_columns(table, {"smokes": frames.decode(CODES, TEXTS, table["smokes"])})
    assert out.index.equals(table.index)
    assert (out.attrs, table.attrs) == ({}, {"source": "survey"})
    assert out.dtypes.equals(table.dtypes)


@pytest.mark.parametrize("kind", ["arrow", "batch"])
def test_arrow_types_are_kept_but_no_notes(kind):
    table = tables()[kind]
    out = frames.with_columns(table, {"smokes": frames.decode(CODES, TEXTS, table.column("smokes"))})
    assert out.schema.equals(table.schema)
    assert (out.schema.metadata, out.schema.field("smokes").metadata) == (None, None)
    missing = frames.with_columns(table, {"smokes": frames.decode(CODES, ["no", None, "yes"], table.column("smokes"))})
    assert missing.schema.field("smokes").nullable


@pytest.mark.parametrize("kind", tables())
def test_a_missing_column_offers_the_nearest(kind):
    with pytest.raises(lw.InvalidInput, match=r"column 'smoke' is not in the table.*Did you mean 'smokes'"):
        frames.column_of(tables()[kind], "smoke")
    with pytest.raises(lw.InvalidInput, match="not in the table"):
        frames.with_columns(tables()[kind], {"smoke": []})


@pytest.mark.parametrize(
    "table",
    [pd.DataFrame([[1, 2]], columns=["a", "a"]), pa.table([[1], [2]], names=["a", "a"])],
    ids=["pandas", "arrow"],
)
def test_a_repeated_column_is_refused(table):
    with pytest.raises(lw.InvalidInput, match="2 times"):
        frames.column_of(table, "a")


def test_derived_classes_count_as_their_parents():
    class Mine(pd.DataFrame):
        pass

    assert frames.is_table(Mine({"a": [1]}))
    assert frames.column_of(Mine({"a": [1]}), "a").tolist() == [1]


@pytest.mark.parametrize("data", ["text", 3, None, {1, 2}, pd.MultiIndex.from_tuples([(1, 2)])])
def test_other_things_are_neither_column_nor_table(data):
    assert not frames.is_column(data)
    assert not frames.is_table(data)


# ------------------------------------------------------------------------------------------------------- groups

GROUPS = {
    "list": ["m", None, "f", "m"],
    "numpy object": np.array(["m", None, "f", "m"], dtype=object),
    "pandas": pd.Series(["m", None, "f", "m"]),
    "pandas categorical": pd.Series(["m", None, "f", "m"], dtype=pd.CategoricalDtype(["f", "m", "x"])),
    "polars": pl.Series(["m", None, "f", "m"]),
    "polars enum": pl.Series(["m", None, "f", "m"], dtype=pl.Enum(["f", "x", "m"])),
    "polars categorical": pl.Series(["m", None, "f", "m"], dtype=pl.Categorical),
    "arrow": pa.array(["m", None, "f", "m"]),
    "arrow chunked dictionary": pa.chunked_array([["m", None], ["f", "m"]]).dictionary_encode(),
}


@pytest.mark.parametrize("column", GROUPS.values(), ids=GROUPS)
def test_groups_are_found_in_order_with_the_missing_last(column):
    found, places = frames.groups_of(column)
    assert found == ["f", "m", None]
    assert places.tolist() == [1, 2, 0, 1]


@pytest.mark.parametrize(
    "column",
    [np.array([2.0, np.nan, 1.0]), pd.Series([2.0, np.nan, 1.0]),
     pl.Series([2.0, np.nan, 1.0]), pa.array([2.0, None, 1])],
    ids=["numpy", "pandas", "polars", "arrow"],
)  # fmt: skip
def test_groups_of_numbers(column):
    found, places = frames.groups_of(column)
    assert found == [1.0, 2.0, None]
    assert places.tolist() == [1, 2, 0]


def test_groups_keep_the_order_of_categories_and_of_what_cannot_be_sorted():
    ordered = pd.Series(["b", "a"], dtype=pd.CategoricalDtype(["b", "a"]))
    assert frames.groups_of(ordered)[0] == ["b", "a"]
    assert frames.groups_of(["b", 1, "a"])[0] == ["b", 1, "a"]


def test_groups_of_nothing_or_of_lists_are_refused():
    with pytest.raises(lw.InvalidInput, match="no rows"):
        frames.groups_of([])
    with pytest.raises(lw.InvalidInput, match="plain values"):
        frames.groups_of([[1], [2]])
    with pytest.raises(lw.InvalidInput, match="one dimension"):
        frames.groups_of(np.zeros((2, 2)))
