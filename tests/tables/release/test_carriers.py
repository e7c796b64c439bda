"""What goes out with a release beside its rows: no index, note, buffer or name may carry the true values."""

from __future__ import annotations

import errno
import io
import json
import os
import pickle
from pathlib import Path
from unittest import mock

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import leakwise as lw
from leakwise.cli import app
from leakwise.tables.formats import parquet

RUN = CliRunner()
M = lw.randomized_response(["no", "yes"], lift=2)
PRIOR = lw.Prior({"no": 0.5, "yes": 0.5})
TRUE = np.random.default_rng(3).choice(["no", "yes"], 100).tolist()
MARK = b"yes=1503"


# ------------------------------------------------------------------------------------------------------- notes


def marked():
    """A table with a note in every place that takes one."""
    schema = pa.schema(
        [
            pa.field("smokes", pa.string(), metadata={"stats": MARK}),
            pa.field("age", pa.int64(), metadata={"stats": MARK, "PARQUET:field_id": "7"}),
            pa.field("deep", pa.struct([pa.field("x", pa.int64(), metadata={"stats": MARK})])),
            pa.field("more", pa.list_(pa.field("item", pa.int64(), metadata={"stats": MARK}))),
        ],
        metadata={"stats": MARK, "pandas": b'{"columns": [], "attributes": {"stats": "yes=1503"}, "x": "yes=1503"}'},
    )
    data = [TRUE, range(100), [{"x": 1}] * 100, [[1]] * 100]
    return pa.table([pa.array(values, field.type) for values, field in zip(data, schema, strict=True)], schema=schema)


@pytest.mark.parametrize("suffix", ["parquet", "arrow", "feather", "arrows"])
def test_notes_of_files_stay_behind(suffix, tmp_path):
    source, out = tmp_path / f"a.{suffix}", tmp_path / f"b.{suffix}"
    if suffix == "parquet":
        pq.write_table(marked(), source)
    else:
        new = pa.ipc.new_stream if suffix == "arrows" else pa.ipc.new_file
        with new(source, marked().schema) as writer:
            writer.write_table(marked())
    assert MARK in source.read_bytes()
    lw.release(source, M, "smokes", out=out)
    assert MARK not in out.read_bytes()
    if suffix == "parquet":
        assert pq.read_schema(out).field("age").metadata[b"PARQUET:field_id"] == b"7"


def test_notes_of_tables_in_memory_stay_behind():
    table = marked()
    out = lw.release(table, M, "smokes")
    assert MARK not in out.schema.serialize().to_pybytes()
    assert out.drop_columns("smokes").equals(table.drop_columns("smokes"))
    batch = lw.release(table.to_batches()[0], M, "smokes")
    assert MARK not in batch.schema.serialize().to_pybytes()
    reader = lw.release(pa.RecordBatchReader.from_batches(table.schema, table.to_batches()), M, "smokes")
    assert MARK not in reader.schema.serialize().to_pybytes()
    assert reader.read_all().num_rows == 100


def test_attrs_of_pandas_stay_behind(tmp_path):
    frame = pd.DataFrame({"smokes": TRUE})
    frame.attrs["stats"] = MARK.decode()
    assert lw.release(frame, M, "smokes").attrs == {}
    assert lw.protect(frame, "smokes", prior=PRIOR, lift=1.5).table.attrs == {}
    assert frame.attrs  # the source keeps them
    series = frame["smokes"]
    series.attrs["stats"] = MARK.decode()
    assert MARK not in pickle.dumps(lw.release(series, M))
    frame.to_parquet(tmp_path / "a.parquet")
    lw.release(tmp_path / "a.parquet", M, "smokes", out=tmp_path / "b.parquet")
    assert MARK not in (tmp_path / "b.parquet").read_bytes()
    assert pd.read_parquet(tmp_path / "b.parquet").index.equals(frame.index)


def test_the_number_of_categories_is_that_of_the_outcomes(tmp_path):
    frame = pd.DataFrame({"smokes": pd.Categorical(["no"] * 9, ["no", "never"]), "x": pd.Categorical(["a"] * 9)})
    frame.to_parquet(tmp_path / "a.parquet")
    m = lw.randomized_response(["no", "yes", "never", "often"], lift=2)
    lw.release(tmp_path / "a.parquet", m, "smokes", out=tmp_path / "b.parquet")
    note = pq.read_schema(tmp_path / "b.parquet").pandas_metadata
    assert [entry["metadata"]["num_categories"] for entry in note["columns"]] == [4, 1]
    back = pd.read_parquet(tmp_path / "b.parquet")
    assert back["smokes"].cat.categories.tolist() == ["no", "yes", "never", "often"]
    assert lw.release(frame, m, "smokes")["smokes"].cat.categories.tolist() == ["no", "yes", "never", "often"]
    out = lw.release(pa.Table.from_pandas(frame), m, "smokes")
    assert out.schema.pandas_metadata["columns"][0]["metadata"]["num_categories"] == 4


def test_the_order_of_the_source_categories_is_not_that_of_the_release():
    """Categories in the order of their counts, or of their first rows, would tell it."""
    frame = pd.DataFrame({"smokes": pd.Categorical(TRUE, ["yes", "no"])})
    assert lw.release(frame, M, "smokes")["smokes"].cat.categories.tolist() == ["no", "yes"]
    ordered = pd.DataFrame({"smokes": pd.Categorical(TRUE, ["yes", "no"], ordered=True)})
    assert lw.release(ordered, M, "smokes")["smokes"].dtype == ordered["smokes"].dtype


# ----------------------------------------------------------------------------------- values behind missing ones

NUMBER = 11_111_111_111_111
TEXT = "a text that nobody is to see any more"


def hidden_arrays():
    """Columns of two rows, the first of which is missing, with a value behind it."""
    first = pa.py_buffer(b"\2")
    number = pa.Array.from_buffers(pa.int64(), 2, [first, pa.py_buffer(np.array([NUMBER, 5]))])
    text = pa.Array.from_buffers(pa.string(), 2, [first, *pa.array([TEXT, "b"]).buffers()[1:]])
    large = pa.Array.from_buffers(
        pa.large_string(), 2, [first, *pa.array([TEXT, "b"], pa.large_string()).buffers()[1:]]
    )
    nested = pa.array([[NUMBER], [5]])
    return {
        "number": number,
        "text": text,
        "large text": large,
        "view": pa.array([TEXT, "x", "b"], pa.string_view()).slice(1),
        "list": pa.Array.from_buffers(nested.type, 2, [first, nested.buffers()[1]], children=[nested.values]),
        "list of missing": pa.ListArray.from_arrays([0, 1, 2], number),
        "structure": pa.StructArray.from_arrays([pa.array([NUMBER, 5])], ["x"], mask=pa.array([True, False])),
        "part of a structure": pa.StructArray.from_arrays([number], ["x"]),
        "dictionary": pa.DictionaryArray.from_arrays(pa.array([1, 0], mask=np.array([True, False])), ["a", "b"]),
        "slice": pa.array([TEXT, "a", "b", TEXT]).slice(1, 2),
        "slice of numbers": pa.array([NUMBER, 1, 2]).slice(1),
    }


def held(array):
    """All bytes of all buffers."""
    return b"|".join(buffer.to_pybytes() for buffer in array.buffers() if buffer is not None)


@pytest.mark.parametrize("kind", hidden_arrays())
def test_nothing_is_behind_missing_values_of_arrow(kind, tmp_path):
    array = hidden_arrays()[kind]
    secrets = (NUMBER.to_bytes(8, "little"), TEXT.encode())
    table = pa.table({"smokes": ["no", "yes"], "other": array})
    out = lw.release(table, M, "smokes")
    assert out["other"].to_pylist() == array.to_pylist()
    assert out["other"].type == array.type
    assert not any(secret in held(out["other"].chunk(0)) for secret in secrets)
    if kind != "dictionary":
        assert any(secret in held(array) for secret in secrets)
    with pa.ipc.new_file(tmp_path / "a.arrow", table.schema) as writer:
        writer.write_table(table)
    lw.release(tmp_path / "a.arrow", M, "smokes", out=tmp_path / "b.arrow")
    assert not any(secret in (tmp_path / "b.arrow").read_bytes() for secret in secrets)


@pytest.mark.parametrize(
    "series",
    [
        pl.Series([NUMBER, 5]),
        pl.Series([TEXT, "b"]),
        pl.Series([[NUMBER], [5]]),
        pl.Series([{"x": NUMBER}, {"x": 5}]),
        pl.Series([NUMBER, 5]).cast(pl.Datetime("us")),
    ],
    ids=["number", "text", "list", "structure", "time"],
)
def test_nothing_is_behind_missing_values_of_polars(series):
    last = pl.Series([False, True])
    frame = pl.DataFrame({"smokes": ["no", "yes"], "last": last, "other": series})
    frame = frame.with_columns(pl.when(pl.col("last")).then(pl.col("other")).alias("other"))
    out = lw.release(frame, M, "smokes")
    assert out["other"].to_list() == frame["other"].to_list()
    assert out.schema == frame.schema
    stored = io.BytesIO()
    out.write_ipc(stored)
    for secret in (NUMBER.to_bytes(8, "little"), TEXT.encode()):
        assert secret not in stored.getvalue()
        assert secret not in pickle.dumps(out)
    gone = frame.with_columns(other=pl.when(pl.lit(value=False)).then(pl.col("other")))
    assert lw.release(gone, M, "smokes")["other"].to_list() == [None, None]


def test_nothing_is_behind_missing_values_of_pandas():
    number = pd.array([NUMBER, 5, 6], dtype="Int64")
    number[0] = pd.NA
    floats = pd.array([float(NUMBER), 5, 6], dtype="Float64")
    floats[0] = pd.NA
    frame = pd.DataFrame(
        {
            "smokes": ["no", "yes", "no"],
            "number": number,
            "floats": floats,
            "empty": pd.array([None] * 3, dtype="Int64"),
            "arrow": pd.Series(pd.arrays.ArrowExtensionArray(pa.array([TEXT, "a", "b", "c"]).slice(1))),
            "plain": [1, 2, 3],
        }
    )
    secrets = (NUMBER.to_bytes(8, "little"), np.float64(NUMBER).tobytes(), TEXT.encode())
    assert all(secret in pickle.dumps(frame) for secret in secrets[:2])
    out = lw.release(frame, M, "smokes")
    assert not any(secret in pickle.dumps(out) for secret in secrets)
    pd.testing.assert_frame_equal(out.drop(columns="smokes"), frame.drop(columns="smokes"))


# -------------------------------------------------------------------------------------------------------- index


def indexed(index):
    return pd.DataFrame({"age": range(100), "smokes": TRUE}, index=index)


BAD = {
    "the column itself": pd.Index(TRUE, name="smokes"),
    "its values": pd.Index(TRUE),
    "its values by another name": pd.Index(TRUE, name="x"),
    "its name": pd.Index(range(7, 107), name="smokes").astype("int32"),
    "categories": pd.CategoricalIndex(TRUE),
    "codes": pd.Index([int(one == "yes") for one in TRUE], name="x"),
    "a level": pd.MultiIndex.from_arrays([range(100), [one == "yes" for one in TRUE]], names=["id", "x"]),
    "pairs": pd.MultiIndex.from_arrays(
        [[k % 2 for k in range(100)], [(one == "yes") ^ (k % 2) for k, one in enumerate(TRUE)]]
    ),
    "dates": pd.DatetimeIndex(["2020-01-01" if one == "yes" else "2020-01-02" for one in TRUE]),
    "labels with it": pd.Index([f"{one}-{k:04}" for k, one in enumerate(TRUE)]),
    "places when sorted by it": pd.Index(np.argsort(np.argsort(TRUE, kind="stable"))),
    "names by places": pd.Index([f"p{k:03}" for k in np.argsort(np.argsort(TRUE, kind="stable"))], name="id"),
    "finer labels": pd.Index([str(k % 3 * 2 + (one == "yes")) for k, one in enumerate(TRUE)]),
}


@pytest.mark.parametrize("kind", BAD)
def test_an_index_that_tells_the_secret_is_refused(kind, tmp_path):
    frame = indexed(BAD[kind])
    for call in (
        lambda: lw.release(frame, M, "smokes"),
        lambda: lw.release(frame["smokes"], M),
        lambda: lw.protect(frame, "smokes", unrelated="age", prior=PRIOR, lift=1.5),
    ):
        with pytest.raises(lw.InvalidInput, match=r"The index.* the secret 'smokes'.*reset_index\(drop=True\)"):
            call()
    assert len(lw.release(frame.reset_index(drop=True), M, "smokes")) == 100  # the way out
    frame.to_parquet(tmp_path / "a.parquet")
    if kind != "pairs":  # in a file the levels are columns, of which each is looked at
        with pytest.raises(lw.InvalidInput, match=r"The index.* the secret 'smokes'"):
            lw.release(tmp_path / "a.parquet", M, "smokes", out=tmp_path / "b.parquet")
        assert not (tmp_path / "b.parquet").exists()


GOOD = {
    "range": pd.RangeIndex(100, name="smokes"),
    "ids": pd.Index([f"p{k * 7 % 101}" for k in range(100)], name="id"),
    "numbers": pd.Index([k * 7 % 101 for k in range(100)]),
    "households": pd.Index([k // 2 for k in range(100)]),
    "dates": pd.date_range("2020-01-01", periods=100),
    "one label": pd.Index(["x"] * 100),
    "levels": pd.MultiIndex.from_product([range(10), list("abcdefghij")]),
}


@pytest.mark.parametrize("kind", GOOD)
def test_an_ordinary_index_is_kept(kind, tmp_path):
    frame = indexed(GOOD[kind])
    assert lw.release(frame, M, "smokes").index.equals(frame.index)
    if kind in ("range", "numbers"):
        assert lw.protect(frame, "smokes", unrelated="age", prior=PRIOR, lift=1.5).table.index.equals(frame.index)
    else:  # a column of which nothing was said
        with pytest.raises(lw.InvalidInput, match=r"would go out with the index.*reset_index\(drop=True\)"):
            lw.protect(frame, "smokes", unrelated="age", prior=PRIOR, lift=1.5)
    frame.to_parquet(tmp_path / "a.parquet")
    lw.release(tmp_path / "a.parquet", M, "smokes", out=tmp_path / "b.parquet")
    assert pd.read_parquet(tmp_path / "b.parquet").index.equals(frame.index)


def test_a_joint_secret_and_its_index():
    frame = indexed(pd.Index(TRUE)).assign(sex=["f", "m"] * 50)
    joint = lw.randomized_response([(a, b) for a in ("no", "yes") for b in ("f", "m")], lift=2)
    with pytest.raises(lw.InvalidInput, match="the secret 'smokes' and 'sex'"):
        lw.release(frame, joint, ("smokes", "sex"))


def test_small_tables_with_ids_pass():
    frame = pd.DataFrame({"smokes": ["no", "yes"]}, index=["a", "b"])
    assert lw.release(frame, M, "smokes").index.tolist() == ["a", "b"]


# --------------------------------------------------------------------------------------------------- folders, modes


def test_a_folder_named_by_the_secret_is_refused(tmp_path):
    inside, outside = tmp_path / "smokes=yes", tmp_path / "city=Graz"
    for folder in (inside, outside):
        folder.mkdir()
        pq.write_table(pa.table({"smokes": TRUE}), folder / "a.parquet")
    linked = tmp_path / "plain"
    linked.symlink_to(inside)
    for source, out in ((inside, tmp_path), (linked, tmp_path), (outside, inside)):
        for call in (
            lambda source=source, out=out: lw.release(source / "a.parquet", M, "smokes", out=out / "b.parquet"),
            lambda source=source, out=out: lw.protect(
                source / "a.parquet", "smokes", prior=PRIOR, lift=1.5, out=out / "b.parquet"
            ),
        ):
            with pytest.raises(lw.InvalidInput, match="'smokes=yes', which reveals the secret"):
                call()
    lw.release(outside / "a.parquet", M, "smokes", out=outside / "b.parquet")


@pytest.mark.parametrize("suffix", ["csv", "parquet", "arrow", "jsonl"])
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644, 0o400])
def test_what_is_made_of_a_table_is_open_to_nobody_else(suffix, mode, tmp_path):
    source = tmp_path / f"t.{suffix}"
    frame = pd.DataFrame({"smokes": TRUE})
    {
        "csv": lambda: frame.to_csv(source, index=False),
        "parquet": lambda: frame.to_parquet(source),
        "arrow": lambda: frame.to_feather(source),
        "jsonl": lambda: frame.to_json(source, orient="records", lines=True),
    }[suffix]()
    source.chmod(mode)
    options = ("-c", "smokes", "--domain", "no,yes", "--lift", "1.5", "--prior", "no=0.5,yes=0.5")
    before = os.umask(0o022)
    try:
        words = ["release", str(source), *options, "--certificate", str(tmp_path / "c.json")]
        assert RUN.invoke(app, words, catch_exceptions=False).exit_code == 0
        lw.release(source, M, "smokes", out=tmp_path / f"again.{suffix}")
    finally:
        os.umask(before)
    made = [one for one in tmp_path.iterdir() if one != source]
    assert len(made) == (5 if suffix in ("csv", "jsonl") else 4)  # tables, report, certificate, perhaps mechanism
    assert {one.stat().st_mode & 0o777 for one in made} == {mode & 0o644 | 0o600}
    # What takes the place of a file is not more open than that was.
    out = tmp_path / f"again.{suffix}"
    out.chmod(0o600)
    lw.release(source, M, "smokes", out=out, overwrite=True)
    assert out.stat().st_mode & 0o777 == 0o600


# ------------------------------------------------------------------------------------------- what cannot be a secret


@pytest.mark.parametrize(
    "array",
    [
        pa.array([{"x": 1}, {"x": 2}]),
        pa.array([["a"], ["b"]]),
        pa.array([[1, 2], [3, 4]], pa.list_(pa.int64(), 2)),
        pa.array([[("a", 1)], []], pa.map_(pa.string(), pa.int64())),
    ],
    ids=lambda array: str(array.type).partition("<")[0],
)
def test_secrets_of_lists_and_structures_are_refused(array, tmp_path):
    table = pa.table({"smokes": array, "s": ["no", "yes"]})
    pq.write_table(table, tmp_path / "a.parquet")
    with pa.ipc.new_file(tmp_path / "a.arrow", table.schema) as writer:
        writer.write_table(table)
    bins = lw.randomized_response(lw.bins(0, 10, 2), lift=2)
    calls = [
        *(lambda kind=kind: lw.release(tmp_path / kind, M, "smokes", out=tmp_path / f"b{kind}") for kind in FILES),
        *(lambda kind=kind: lw.estimate(tmp_path / kind, M, "smokes") for kind in FILES),
        lambda: lw.release(table, M, "smokes"),
        lambda: lw.release(table, bins, "smokes"),
        lambda: lw.release(table.to_pandas(types_mapper=pd.ArrowDtype), M, "smokes"),
        lambda: lw.release(table.to_pandas(), bins, "smokes"),
        lambda: lw.estimate(table, M, "s", by="smokes"),
    ]
    if not pa.types.is_map(array.type):
        calls.append(lambda: lw.release(pl.from_arrow(table), M, "smokes"))
        calls.append(lambda: lw.release(pl.from_arrow(table), bins, "smokes"))
    for call in calls:
        with pytest.raises(lw.InvalidInput, match=r"smokes|plain values"):
            call()


FILES = ("a.parquet", "a.arrow")


def test_runs_of_equal_values_become_a_plain_column():
    runs = pa.RunEndEncodedArray.from_arrays([3, 4], ["no", "yes"])
    assert lw.release(pa.table({"smokes": runs}), M, "smokes")["smokes"].type == pa.string()


def test_a_file_that_cannot_be_read_or_written_is_named(tmp_path, monkeypatch):
    frame = pd.DataFrame({"smokes": TRUE})
    frame.to_csv(tmp_path / "a.csv", index=False)
    frame.to_feather(tmp_path / "a.arrow")

    def refused(*_, **__):
        raise PermissionError(errno.EACCES, "Permission denied")

    for name in ("a.csv", "a.arrow"):
        with monkeypatch.context() as patched:
            patched.setattr(Path, "open", refused)
            for call in (lw.release, lw.estimate):
                with pytest.raises(lw.InvalidInput, match=rf"Cannot read .*{name}.*Permission denied"):
                    call(tmp_path / name, M, "smokes", **({"out": tmp_path / f"b{name}"} if call is lw.release else {}))
    read_only = OSError(errno.EROFS, "Read-only file system")
    with monkeypatch.context() as patched:
        patched.setattr(os, "open", mock.Mock(side_effect=read_only))
        with pytest.raises(lw.InvalidInput, match=r"Cannot write .*b\.csv.*Read-only file system"):
            lw.release(tmp_path / "a.csv", M, "smokes", out=tmp_path / "b.csv")
        with pytest.raises(lw.InvalidInput, match=r"Cannot write .*m\.json.*Read-only file system"):
            M.save(tmp_path / "m.json")
        with pytest.raises(lw.InvalidInput, match=r"l\.db.*Read-only file system"):
            lw.Ledger(tmp_path / "l.db")


def test_line_ends_that_differ_from_row_to_row_are_refused(tmp_path):
    """Two files, one of each kind of people, put together by hand."""
    rows = [one + ("\r\n" if one == "yes" else "\n") for one in TRUE]
    (tmp_path / "a.csv").write_text("smokes\n" + "".join(rows), newline="")
    with pytest.raises(lw.InvalidInput, match="carriage return"):
        lw.release(tmp_path / "a.csv", M, "smokes", out=tmp_path / "b.csv")
    assert not (tmp_path / "b.csv").exists()
    for end in ("\n", "\r\n"):
        for last in ("", end):
            (tmp_path / "a.csv").write_text(end.join(["smokes", *TRUE]) + last, newline="")
            lw.release(tmp_path / "a.csv", M, "smokes", out=tmp_path / "b.csv", overwrite=True)


def test_the_order_of_names_in_json_does_not_tell_where_a_row_came_from(tmp_path):
    lines = [
        '{"age":1,"smokes":"no","x":2,"y":3}',
        '{"y":3,"smokes":"yes","age":1,"x":2}',
        '{"z":4,"smokes":"yes","age":1}',
    ]
    (tmp_path / "a.jsonl").write_text("\n".join(lines) + "\n")
    lw.release(tmp_path / "a.jsonl", M, "smokes", out=tmp_path / "b.jsonl")
    names = [list(json.loads(line)) for line in (tmp_path / "b.jsonl").read_text().splitlines()]
    assert names == [["age", "smokes", "x", "y"], ["age", "smokes", "x", "y"], ["age", "smokes", "z"]]


def test_a_value_that_a_dictionary_has_twice_does_not_tell_rows_apart(tmp_path):
    twice = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 3, None], pa.int8()), ["a", "a", "b", None])
    table = pa.table({"smokes": ["no", "yes", "no", "yes", "no"], "ward": twice})
    with pa.ipc.new_file(tmp_path / "t.arrow", table.schema) as writer:
        writer.write_table(table)
    out = lw.release(tmp_path / "t.arrow", M, "smokes", out=tmp_path / "out.arrow")
    with pa.ipc.open_file(out) as reader:
        for found in (reader.read_all(), lw.release(table, M, "smokes")):
            ward = found["ward"].combine_chunks()
            assert ward.to_pylist() == ["a", "a", "b", None, None]
            assert ward.indices.to_pylist() == [0, 0, 1, None, None]
            assert ward.type == twice.type
    out = lw.release(tmp_path / "t.arrow", M, "smokes", out=tmp_path / "out.parquet")
    assert pq.read_table(out)["ward"].to_pylist() == ["a", "a", "b", None, None]


def test_runs_of_one_value_are_not_cut_where_the_secret_changes(tmp_path):
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([1, 3, 4], pa.int32()), ["a", "a", "b"])
    table = pa.table({"smokes": ["no", "yes", "yes", "no"], "ward": runs})
    with pa.ipc.new_file(tmp_path / "t.arrow", table.schema) as writer:
        writer.write_table(table)
    out = lw.release(tmp_path / "t.arrow", M, "smokes", out=tmp_path / "out.arrow")
    with pa.ipc.open_file(out) as reader:
        for found in (reader.read_all(), lw.release(table, M, "smokes")):
            assert [chunk.run_ends.to_pylist() for chunk in found["ward"].chunks] == [[3, 4]]


def test_row_groups_do_not_tell_how_long_the_secret_texts_are(tmp_path, monkeypatch):
    monkeypatch.setattr(parquet, "_BYTES", 1 << 17)
    groups = []
    for often in (0.1, 0.9):
        secret = np.where(np.random.default_rng(5).random(4000) < often, "yes" * 30, "no")
        table = pa.table({"a": secret, "a.b": secret, "c": np.arange(4000.0), "d": secret})
        pq.write_table(table, tmp_path / "t.parquet", use_dictionary=False)
        kept = {"prior": {"no": 0.5, "yes" * 30: 0.5}, "lift": 1.5, "unrelated": "c", "drop": ["a.b", "d"]}
        lw.protect(tmp_path / "t.parquet", "a", **kept, out=tmp_path / "o.parquet", overwrite=True)
        meta = pq.read_metadata(tmp_path / "o.parquet")
        groups.append([meta.row_group(place).num_rows for place in range(meta.num_row_groups)])
    assert groups[0] == groups[1] == [4000]
