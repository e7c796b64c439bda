"""Files: every kind comes back whole, with everything but the secret as it was; faults leave nothing behind."""

from __future__ import annotations

import csv
import io
import os
import resource
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

import leakwise as lw
from leakwise.data import adult_table
from leakwise.documents import atomic as aside
from leakwise.tables.formats import delimited, json_lines, open_table, parquet, records
from leakwise.tables.formats.names import SUFFIXES

# The tables here are made of patterns, whose order tells everything; their tests are about something else.
pytestmark = pytest.mark.filterwarnings("ignore::leakwise.RowOrderWarning")

FALSE_ALARM = 1e-9
LABELS = ["no", "perhaps", "yes"]
IDENTITY = lw.identity(LABELS)
RESPONSE = lw.randomized_response(LABELS, lift=5)
KINDS = ["a.csv", "a.tsv", "a.parquet", "a.arrow", "a.feather", "a.arrows", "a.jsonl", "a.ndjson"]


def table(rows: int = 300) -> pd.DataFrame:
    rng = np.random.default_rng(7)
    return pd.DataFrame(
        {
            "id": np.arange(rows),
            "answer": np.array(LABELS)[rng.integers(0, 3, rows)],
            "text": [f'a "quoted", {i}\nline' if i % 3 else "" for i in range(rows)],
            "x": rng.normal(size=rows),
        }
    )


def write(frame: pd.DataFrame, path: Path) -> Path:
    match path.suffix:
        case ".csv":
            frame.to_csv(path, index=False)
        case ".tsv":
            frame.to_csv(path, index=False, sep="\t")
        case ".parquet":
            frame.to_parquet(path, row_group_size=70)
        case ".feather" | ".arrow":
            frame.to_feather(path, chunksize=64)
        case ".arrows":
            whole = pa.Table.from_pandas(frame)
            with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, whole.schema) as writer:
                writer.write_table(whole, max_chunksize=64)
        case _:
            frame.to_json(path, orient="records", lines=True)
    return path


def read(path: Path) -> pd.DataFrame:
    match path.suffix:
        case ".csv":
            return pd.read_csv(path, keep_default_na=False)
        case ".tsv":
            return pd.read_csv(path, sep="\t", keep_default_na=False)
        case ".parquet":
            return pd.read_parquet(path)
        case ".feather" | ".arrow":
            return pd.read_feather(path)
        case ".arrows":
            with pa.OSFile(str(path), "rb") as file, pa.ipc.open_stream(file) as reader:
                return reader.read_pandas()
    return pd.read_json(path, lines=True)


def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches so small that every kind of file has many of them."""
    monkeypatch.setattr(records, "_BLOCK", 257)
    monkeypatch.setattr(delimited, "_WORTH_A_THREAD", 0)
    monkeypatch.setattr(json_lines, "_LINES", 7)
    monkeypatch.setattr(parquet, "_ROWS", 16)


def others(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.drop(columns="answer")


# ------------------------------------------------------------------------------------------------- round trips


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("small", [False, True])
def test_everything_but_the_secret_stays(name, small, tmp_path, monkeypatch):
    if small:
        small_batches(monkeypatch)
    source = write(table(), tmp_path / name)
    before = source.read_bytes()
    out = lw.release(source, RESPONSE, "answer", out=tmp_path / f"out{source.suffix}", unsafe_seed=1)
    assert source.read_bytes() == before
    given_rows, released = read(source), read(out)
    pd.testing.assert_frame_equal(others(released), others(given_rows))
    assert set(released["answer"]) == set(LABELS)
    assert released["answer"].dtype == given_rows["answer"].dtype
    assert 0.5 < (released["answer"] == given_rows["answer"]).mean() < 0.95
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([name, out.name])


@pytest.mark.parametrize("name", KINDS)
def test_all_kinds_draw_alike(name, tmp_path):
    """With one seed every kind of file gives the rows that the table in memory gives."""
    source = write(table(), tmp_path / name)
    out = lw.release(source, RESPONSE, "answer", out=tmp_path / f"out{source.suffix}", unsafe_seed=5)
    drawn = read(out)["answer"].tolist()
    codes = [LABELS.index(one) for one in table()["answer"]]
    assert len(drawn) == len(codes)
    assert drawn != table()["answer"].tolist()
    if source.suffix in (".csv", ".tsv"):  # one batch: the stream of words is the same
        assert drawn == lw.release(table(), RESPONSE, "answer", unsafe_seed=5)["answer"].tolist()


@pytest.mark.parametrize("name", [kind for kind in KINDS if kind.split(".")[1] in ("csv", "tsv", "jsonl")])
def test_text_files_keep_every_other_byte(name, tmp_path):
    source = write(table(), tmp_path / name)
    out = lw.release(source, IDENTITY, "answer", out=tmp_path / f"out{source.suffix}")
    assert out.read_bytes() == source.read_bytes()


fields = st.text(st.sampled_from(list('ab,;"\n\t é')), max_size=5)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    rows=st.lists(st.tuples(fields, st.sampled_from(LABELS), fields), min_size=1, max_size=12),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC]),
    end=st.sampled_from(["\n", "\r\n"]),
    bom=st.booleans(),
    finished=st.booleans(),
    block=st.integers(1, 60),
    place=st.integers(0, 2),
)
def test_csv_is_exchanged_field_by_field(rows, quoting, end, bom, finished, block, place, tmp_path, monkeypatch):
    monkeypatch.setattr(records, "_BLOCK", block)
    order = {0: (1, 0, 2), 1: (0, 1, 2), 2: (0, 2, 1)}[place]
    head = ["first", "answer", "last"]
    stream = io.StringIO()
    writer = csv.writer(stream, quoting=quoting, lineterminator=end)
    writer.writerow([head[k] for k in order])
    writer.writerows([[row[k] for k in order] for row in rows])
    text = stream.getvalue()
    if not finished:
        text = text.removesuffix(end)
    source, out = tmp_path / "a.csv", tmp_path / "b.csv"
    source.write_bytes(b"\xef\xbb\xbf" * bom + text.encode())
    lw.release(source, IDENTITY, "answer", out=out, overwrite=True)
    assert out.read_bytes() == source.read_bytes() or quoting == csv.QUOTE_MINIMAL
    lw.release(source, RESPONSE, "answer", out=out, overwrite=True)
    with out.open(newline="", encoding="utf-8-sig" if bom else "utf-8") as file:
        found = list(csv.reader(file))
    assert found[0] == [head[k] for k in order]
    assert len(found) == len(rows) + 1
    for line, row in zip(found[1:], rows, strict=True):
        back = {head[k]: cell for k, cell in zip(order, line, strict=True)}
        assert (back["first"], back["last"]) == (row[0], row[2])
        assert back["answer"] in LABELS


def test_how_a_field_was_quoted_does_not_show(tmp_path):
    """Whether the source quoted a row's value could tell the value: quotes follow the outcome."""
    source = tmp_path / "a.csv"
    source.write_text('answer,n\n"no",1\nno,2\nyes,3\n"yes",4\n')
    out = lw.release(source, lw.identity(["no", "yes"]), "answer", out=tmp_path / "b.csv")
    assert out.read_text() == "answer,n\nno,1\nno,2\nyes,3\nyes,4\n"


def test_outcomes_that_need_quotes(tmp_path):
    m = lw.Mechanism(np.eye(2), inputs=["no", "yes"], outputs=['a "b", c', ""])
    source = tmp_path / "a.csv"
    source.write_text("answer,n\nno,1\nyes,2\n")
    out = lw.release(source, m, "answer", out=tmp_path / "b.csv")
    assert out.read_text() == 'answer,n\n"a ""b"", c",1\n"",2\n'
    assert lw.estimate(out, m, "answer").frequencies.tolist() == [0.5, 0.5]


def test_semicolons_blank_lines_and_values_of_other_kinds(tmp_path):
    source = tmp_path / "a.csv"
    source.write_text("n;when;flag\n1;2020-01-02;true\n\n07;;FALSE\n")
    import datetime

    numbers = lw.identity([1, 7])
    assert lw.release(source, numbers, "n", out=tmp_path / "n.csv").read_text() == source.read_text().replace("07", "7")
    dates = lw.identity([datetime.date(2020, 1, 2), None])
    assert lw.release(source, dates, "when", out=tmp_path / "d.csv").read_text() == source.read_text()
    flags = lw.identity([False, True])
    assert "\n1;2020-01-02;true\n\n07;;false\n" in lw.release(source, flags, "flag", out=tmp_path / "f.csv").read_text()


@pytest.mark.parametrize("name", KINDS)
def test_binned_numbers(name, tmp_path, monkeypatch):
    small_batches(monkeypatch)
    source = write(table(), tmp_path / name)
    letters = lw.bins(-6, 6, 3)
    out = lw.release(source, lw.identity(letters), "x", out=tmp_path / f"out{source.suffix}")
    expected = [letters.labels[int(code)] for code in letters.codes_of_numbers(table()["x"].to_numpy())]
    assert read(out)["x"].tolist() == expected
    found = lw.estimate(out, lw.identity(letters), "x")
    assert found.frequencies.tolist() == [Counter(expected)[label] / len(expected) for label in letters.labels]


@pytest.mark.parametrize("name", KINDS)
def test_joint_secrets_and_several_columns(name, tmp_path, monkeypatch):
    small_batches(monkeypatch)
    frame = table().assign(sex=["f", "m"] * 150)
    source = write(frame, tmp_path / name)
    joint = lw.identity([(sex, answer) for sex in "mf" for answer in LABELS])
    out = lw.release(source, joint, ("sex", "answer"), out=tmp_path / f"out{source.suffix}")
    pd.testing.assert_frame_equal(read(out), read(source))
    two = {"sex": lw.Mechanism([[0.0, 1.0], [1.0, 0.0]], ["f", "m"], ["f", "m"]), "answer": IDENTITY}
    swapped = lw.release(source, two, out=tmp_path / f"two{source.suffix}")
    assert read(swapped)["sex"].tolist() == ["m", "f"] * 150
    pd.testing.assert_frame_equal(read(swapped).drop(columns="sex"), read(source).drop(columns="sex"))


def test_json_keeps_how_numbers_were_written(tmp_path):
    source = tmp_path / "a.jsonl"
    source.write_text('{"v": 1.50, "s": "no", "n": {"s": "no"}}\n\n{"v":1e3,"s":"yes","n":[1.0]}')
    out = lw.release(source, lw.identity(["no", "yes"]), "s", out=tmp_path / "b.jsonl")
    assert out.read_text() == '{"v":1.50,"s":"no","n":{"s": "no"}}\n{"v":1e3,"s":"yes","n":[1.0]}\n'


# --------------------------------------------------------------------------------------------- types and metadata


def test_parquet_keeps_types_and_compression_but_no_notes(tmp_path):
    schema = pa.schema(
        [
            pa.field("s", pa.dictionary(pa.int8(), pa.string())),
            pa.field("when", pa.timestamp("ns", "Europe/Berlin"), metadata={"unit": "h"}),
            pa.field("deep", pa.list_(pa.struct([("a", pa.int16())]))),
        ],
        metadata={"owner": "me"},
    )
    rows = {"s": ["no", "yes"] * 50, "when": [0, 10**9] * 50, "deep": [[{"a": 1}], []] * 50}
    whole = pa.table({name: pa.array(rows[name], type=schema.field(name).type) for name in rows}, schema=schema)
    source = tmp_path / "a.parquet"
    pq.write_table(
        whole, source, compression={"s": "zstd", "when": "gzip", "deep.list.element.a": "none"}, row_group_size=30
    )
    out = lw.release(source, lw.randomized_response(["no", "yes"], lift=2), "s", out=tmp_path / "b.parquet")
    found = pq.read_table(out)
    assert found.schema.remove_metadata().equals(schema.remove_metadata())
    assert found.schema.field("when").metadata is None
    assert list(found.schema.metadata) == [b"leakwise.release"]
    assert found.drop_columns("s").equals(whole.drop_columns("s"))
    group = pq.ParquetFile(out).metadata.row_group(0)
    assert [group.column(k).compression for k in range(3)] == ["ZSTD", "GZIP", "UNCOMPRESSED"]
    assert group.num_rows == 30


def test_a_new_type_does_not_confuse_pandas(tmp_path):
    source = tmp_path / "a.parquet"
    pd.DataFrame({"n": pd.Series([1, 2, 2], dtype="int64"), "m": [1.5, 2.5, 3.5]}).to_parquet(source)
    m = lw.Mechanism(np.eye(2), inputs=[1, 2], outputs=["one", "two"])
    found = pd.read_parquet(lw.release(source, m, "n", out=tmp_path / "b.parquet"))
    assert found["n"].tolist() == ["one", "two", "two"]
    assert found["m"].tolist() == [1.5, 2.5, 3.5]


def test_categories_of_pandas_and_enums_of_polars_come_back(tmp_path):
    frame = pd.DataFrame({"s": pd.Categorical(["no", "yes"] * 5, categories=["no", "yes"])})
    source = tmp_path / "a.parquet"
    frame.to_parquet(source)
    out = lw.release(source, lw.randomized_response(["no", "yes"], lift=3), "s", out=tmp_path / "b.parquet")
    assert isinstance(pd.read_parquet(out)["s"].dtype, pd.CategoricalDtype)
    pl.DataFrame({"s": pl.Series(["no", "yes"], dtype=pl.Enum(["no", "yes"]))}).write_ipc(tmp_path / "c.arrow")
    again = lw.release(tmp_path / "c.arrow", lw.identity(["no", "yes"]), "s", out=tmp_path / "d.arrow")
    assert pl.read_ipc(again)["s"].to_list() == ["no", "yes"]
    renamed = lw.Mechanism(np.eye(2), inputs=["no", "yes"], outputs=["{ñ}", "not no"])
    for name in ("c.arrow", "c.parquet"):
        if name == "c.parquet":
            pl.read_ipc(tmp_path / "c.arrow").write_parquet(tmp_path / name)
        other = lw.release(tmp_path / name, renamed, "s", out=tmp_path / f"new {name}")
        found = pl.read_ipc(other) if name == "c.arrow" else pl.read_parquet(other)
        assert found["s"].to_list() == ["{ñ}", "not no"]
        assert found["s"].dtype == pl.Enum(["{ñ}", "not no"])


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow", "a.feather", "a.arrows"])
def test_the_mechanism_travels_with_the_file(name, tmp_path):
    source = write(table(2000).assign(sex=["f", "m"] * 1000), tmp_path / name)
    first = lw.release(source, RESPONSE, "answer", out=tmp_path / f"one{source.suffix}")
    found = lw.estimate(first)
    assert found.labels == tuple(LABELS)
    assert found.sample_size == 2000
    same = lw.estimate(read(first), RESPONSE, "answer")
    np.testing.assert_array_equal(found.frequencies, same.frequencies)
    # A later release of another column does not forget the first.
    sexes = lw.randomized_response(["f", "m"], lift=2)
    both = lw.release(first, sexes, "sex", out=tmp_path / f"two{source.suffix}")
    np.testing.assert_array_equal(lw.estimate(both, column="answer").frequencies, found.frequencies)
    assert lw.estimate(both, column="sex").labels == ("f", "m")
    with pytest.raises(lw.InvalidInput, match=r"which of the released columns is meant: 'answer', 'sex'"):
        lw.estimate(both)
    with pytest.raises(lw.InvalidInput, match="must be one that was released"):
        lw.estimate(both, column="x")


def test_an_arrow_table_read_from_a_release_knows_its_mechanism(tmp_path):
    out = lw.release(write(table(), tmp_path / "a.parquet"), RESPONSE, "answer", out=tmp_path / "b.parquet")
    assert lw.estimate(pq.read_table(out)).labels == tuple(LABELS)


def test_a_note_that_was_tampered_with_is_refused(tmp_path):
    out = lw.release(write(table(), tmp_path / "a.parquet"), RESPONSE, "answer", out=tmp_path / "b.parquet")
    whole = pq.read_table(out)
    for note in (b"{", b'{"version": 1, "secrets": [{"columns": ["answer"]}]}', b'{"version": 99, "secrets": []}'):
        pq.write_table(whole.replace_schema_metadata({b"leakwise.release": note}), tmp_path / "c.parquet")
        with pytest.raises(lw.InvalidInput, match=r"damaged|newer"):
            lw.estimate(tmp_path / "c.parquet")


def test_a_mechanism_too_large_for_a_footer_is_left_out_with_a_word(tmp_path, monkeypatch):
    monkeypatch.setattr("leakwise.tables.formats.carried_mechanism._LARGEST", 10)
    source = write(table(), tmp_path / "a.parquet")
    with pytest.warns(lw.LeakwiseWarning, match="Save it beside"):
        out = lw.release(source, RESPONSE, "answer", out=tmp_path / "b.parquet")
    with pytest.raises(lw.InvalidInput, match="mechanism must be given"):
        lw.estimate(out)


@pytest.mark.parametrize("name", KINDS)
def test_estimates_by_an_untouched_column(name, tmp_path, monkeypatch):
    small_batches(monkeypatch)
    frame = table().assign(sex=["f", "m", "m"] * 100)
    out = lw.release(write(frame, tmp_path / name), RESPONSE, "answer", out=tmp_path / f"out{Path(name).suffix}")
    found = lw.estimate(out, RESPONSE, "answer", by="sex")
    same = lw.estimate(read(out), RESPONSE, "answer", by="sex")
    assert list(found) == list(same) == ["f", "m"]
    for group in found:
        np.testing.assert_array_equal(found[group].frequencies, same[group].frequencies)


# ------------------------------------------------------------------------------------------------------- the law


def test_goodness_of_fit_end_to_end_on_the_adult_table(tmp_path):
    """From the file to the file, every row of the mechanism is the law of its letter."""
    frame = pd.DataFrame(adult_table())
    letters = sorted(set(frame["marital_status"]))
    d = lw.design(lw.Prior.uniform(letters), lift=2, utility="frequencies")
    source = write(frame, tmp_path / "adult.parquet")
    out = read(lw.release(source, d.mechanism, "marital_status", out=tmp_path / "out.parquet"))
    for place, letter in enumerate(letters):
        rows = out["marital_status"][frame["marital_status"] == letter]
        seen = Counter(rows)
        law = {y: p for y, p in zip(d.mechanism.outputs, d.mechanism.matrix[place], strict=True) if p > 0}
        assert set(seen) <= set(law)
        # Outcomes expected fewer than five times are put together.
        common = {y: p for y, p in law.items() if p * len(rows) >= 5}
        pairs = [(seen[y], p) for y, p in common.items()]
        rest = 1 - sum(common.values())
        if rest * len(rows) >= 5:
            pairs.append((len(rows) - sum(n for n, _ in pairs), rest))
        if len(pairs) < 2:
            continue
        total = sum(n for n, _ in pairs)
        share = sum(p for _, p in pairs)
        statistic = sum((n - total * p / share) ** 2 / (total * p / share) for n, p in pairs)
        assert chi2.sf(statistic, len(pairs) - 1) > FALSE_ALARM


# ------------------------------------------------------------------------------------------------ what is refused


def bad(tmp_path: Path, text: str, name: str = "a.csv") -> Path:
    path = tmp_path / name
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "", "is empty"),
        ("a.csv", "\nanswer\nno\n", "first line"),
        ("a.csv", "answer,n\n", "no rows"),
        ("a.csv", "anwser,n\nno,1\n", "Did you mean 'anwser'"),
        ("a.csv", "answer,answer\nno,no\n", "is in the table 2 times"),
        ("a.csv", "answer,n\nno,1\nmaybe,2\n", "outside the declared domain: 'maybe'"),
        ("a.csv", "answer,n\nno,1\n,2\n", "1 missing value"),
        ("a.csv", "answer,n\nno,1\nno\n", "Record 3 of .* has 1 fields"),
        ("a.csv", "answer,n\nno,1,2\nno\n", "Record 2 of .* has 3 fields"),
        ("a.csv", "answer,n\n1,no,1\n2,no,2\n", r"begins with the name of a row.*with row\.names=FALSE"),
        ("a.csv", 'answer,n\nno,5" pipe\nno,6" pipe\n', "quote inside a field"),
        ("a.csv", 'answer,n\nno,"open\n', "never closed"),
        ("a.jsonl", "", "is empty"),
        ("a.jsonl", '{"answer": "no"}\n{"n": 1}\n', "has no 'answer'"),
        ("a.jsonl", '{"answer": "no"}\n[1]\n', "Line 2"),
        ("a.jsonl", '[{"answer": "no"}, {"answer": "yes"}]\n', r"one object on each line.*jq -c '\.\[\]'"),
        ("a.jsonl", '[\n{"answer": "no"},\n{"answer": "yes"}\n]\n', r"one object on each line.*jq -c '\.\[\]'"),
        ("a.json", '[{"answer": "no"}]', r"one object on each line.*jq -c '\.\[\]'"),
        ("a.jsonl", '{"answer": "no",  "answer": "yes"}\n', "more than once"),
        ("a.jsonl", '{"aa":1,"answer":"no","c":3,"d":4,"aa":1}\n', "'aa' more than once"),
        ("a.jsonl", '{"answer": null}\n', "1 missing value among"),
        ("a.jsonl", '{"answer": ["no"]}\n', "outside the declared domain"),
        ("a.parquet", "PAR1 and nothing else", "not a Parquet file"),
        ("a.arrow", "ARROW1 and nothing else at all", "not an Arrow file"),
        ("a.arrows", "nothing", "not an Arrow file"),
        ("a.xlsx", "x", "must end in one of"),
    ],
)
def test_bad_files(name, text, message, tmp_path):
    source = bad(tmp_path, text, name)
    before = source.read_bytes()
    with pytest.raises(lw.InvalidInput, match=message):
        lw.release(source, RESPONSE, "answer", out=tmp_path / f"out{source.suffix}")
    assert source.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_utf_16_and_latin_1(tmp_path):
    (tmp_path / "a.csv").write_bytes("answer\nno\n".encode("utf-16"))
    with pytest.raises(lw.InvalidInput, match="UTF-16"):
        lw.release(tmp_path / "a.csv", RESPONSE, "answer", out=tmp_path / "b.csv")
    (tmp_path / "c.csv").write_bytes("answer\nnö\n".encode("latin-1"))
    with pytest.raises(lw.InvalidInput, match="not in UTF-8"):
        lw.release(tmp_path / "c.csv", RESPONSE, "answer", out=tmp_path / "b.csv")


def test_places_that_cannot_be_written(tmp_path):
    source = write(table(), tmp_path / "a.csv")
    (tmp_path / "there.csv").write_text("precious")
    (tmp_path / "folder.csv").mkdir()
    os.link(source, tmp_path / "same.csv")
    for out, message in {
        "a.csv": "must not be the table itself",
        "same.csv": "must not be the table itself",
        "there.csv": "exists already",
        "folder.csv": "is a folder",
        "none/b.csv": "does not exist",
        "b.xlsx": "must end in one of",
    }.items():
        with pytest.raises(lw.InvalidInput, match=message):
            lw.release(source, RESPONSE, "answer", out=tmp_path / out)
    assert (tmp_path / "there.csv").read_text() == "precious"
    with pytest.raises(lw.InvalidInput, match="out must be given"):
        lw.release(source, RESPONSE, "answer")
    with pytest.raises(lw.InvalidInput, match="out must be left out"):
        lw.release({"answer": ["no"]}, RESPONSE, "answer", out=tmp_path / "b.csv")
    with pytest.raises(lw.InvalidInput, match=r"does not exist\. Did you mean 'a.csv'"):
        lw.release(tmp_path / "aa.csv", RESPONSE, "answer", out=tmp_path / "b.csv")


def test_a_folder_that_is_not_open_for_writing(tmp_path):
    source = write(table(), tmp_path / "a.csv")
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500)
    if os.geteuid() == 0:  # root may write everywhere but there
        closed = Path("/proc/self")
    with pytest.raises(lw.InvalidInput, match=r"not open for writing|Cannot write"):
        lw.release(source, RESPONSE, "answer", out=closed / "b.csv")


def test_overwrite_takes_the_place(tmp_path):
    source = write(table(), tmp_path / "a.csv")
    (tmp_path / "b.csv").write_text("old")
    out = lw.release(source, RESPONSE, "answer", out=tmp_path / "b.csv", overwrite=True)
    assert len(read(out)) == 300


def test_a_mechanism_for_other_labels(tmp_path):
    source = write(table(), tmp_path / "a.parquet")
    with pytest.raises(lw.InvalidInput, match="outside the declared domain"):
        lw.release(source, lw.identity(["x", "y"]), "answer", out=tmp_path / "b.parquet")
    m = lw.Mechanism(np.full((3, 2), 0.5), inputs=LABELS, outputs=[1, "1"])
    text = write(table(), tmp_path / "a.csv")
    with pytest.raises(lw.InvalidInput, match="written alike"):
        lw.release(text, m, "answer", out=tmp_path / "b.csv")


def test_a_source_that_changes_meanwhile(tmp_path):
    source = write(table(), tmp_path / "a.csv")

    def meddle(stage: str, done: int, total: int | None) -> None:
        if stage == "writing":
            os.utime(source, ns=(1, 1))

    with pytest.raises(lw.InvalidInput, match="changed while it was released"):
        lw.release(source, RESPONSE, "answer", out=tmp_path / "b.csv", progress=meddle)
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]


def test_progress_tells_the_stages(tmp_path, monkeypatch):
    small_batches(monkeypatch)
    told: list[tuple[str, int, int | None]] = []
    source = write(table(), tmp_path / "a.parquet")
    lw.release(source, RESPONSE, "answer", out=tmp_path / "b.parquet", progress=lambda *told_now: told.append(told_now))
    assert [stage for stage, _, _ in told] == sorted(stage for stage, _, _ in told)
    assert told[-1] == ("writing", 300, 300)
    assert max(done for stage, done, _ in told if stage == "checking") == 300


def test_suffixes_are_known():
    assert {Path(name).suffix for name in KINDS} <= set(SUFFIXES)
    assert open_table.__doc__


# --------------------------------------------------------------------------------------------------------- faults

# One process that loads the library once and releases each table in a process of its own.
PARENT = """
import os, resource, signal, sys
import pandas, pyarrow.csv, pyarrow.feather, pyarrow.json, pyarrow.parquet, scipy.stats
import leakwise as lw, leakwise.tables.release.file
m = lw.randomized_response(["no", "perhaps", "yes"], lift=5)
lw.release(["no", "yes"], m)
def released(kind, source, out):
    if kind == "full":
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
    def tell(stage, done, total):
        if kind == "kill" and stage == "writing":
            print("writing", os.getpid(), flush=True)
            signal.pause()
    try:
        lw.release(source, m, "answer", out=out, progress=tell)
    except lw.InvalidInput as error:
        print(error, flush=True)
        return 3
    return 0
for line in sys.stdin:
    child = os.fork()
    if not child:
        os._exit(released(*line.rstrip("\\n").split("\\t")))
    print("ended", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


@pytest.fixture(scope="module")
def parent():
    words = [sys.executable, "-c", PARENT]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield process
        process.stdin.close()
        assert process.wait() == 0


IN_AND_OUT = [
    *((f"a{ending}", f"out{ending}") for ending in (".csv", ".parquet", ".arrow", ".jsonl")),
    *(("a.csv", f"out{ending}") for ending in (".csv.gz", ".csv.zst", ".parquet", ".jsonl.gz")),
    ("a.parquet", "out.csv"),
]


@pytest.mark.parametrize(("name", "target"), IN_AND_OUT)
def test_a_full_disk_leaves_nothing(name, target, tmp_path, parent):
    """The limit on the size of a file fails a write as a full disk does."""
    assert resource.RLIMIT_FSIZE is not None
    source = write(table(3000), tmp_path / name)
    before = source.read_bytes()
    print("full", source, tmp_path / target, sep="\t", file=parent.stdin, flush=True)
    assert "Cannot write" in parent.stdout.readline()
    assert parent.stdout.readline() == "ended 3\n"
    assert source.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize(("name", "target"), IN_AND_OUT)
def test_a_kill_in_the_middle_leaves_nothing(name, target, tmp_path, parent):
    source = write(table(3000), tmp_path / name)
    before = source.read_bytes()
    print("kill", source, tmp_path / target, sep="\t", file=parent.stdin, flush=True)
    word, number = parent.stdout.readline().split()
    assert word == "writing"
    os.kill(int(number), signal.SIGKILL)
    assert parent.stdout.readline() == f"ended {-signal.SIGKILL}\n"
    assert source.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_without_nameless_files_an_error_leaves_nothing_either(tmp_path, monkeypatch):
    monkeypatch.setattr(aside.os, "O_TMPFILE", 0, raising=False)
    target = tmp_path / "b"
    with aside.written_aside(target) as stream:
        stream.write(b"whole")
        assert not target.exists()
    assert target.read_bytes() == b"whole"

    def fail() -> None:
        with aside.written_aside(tmp_path / "c") as stream:
            stream.write(b"half")
            raise RuntimeError("in the middle")

    with pytest.raises(RuntimeError):
        fail()
    assert [path.name for path in tmp_path.iterdir()] == ["b"]
