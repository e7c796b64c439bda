"""Another kind out than in: every value arrives, types are those that lose nothing, bounds are not the source's."""

from __future__ import annotations

import datetime
import decimal
import gzip
import itertools
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import leakwise as lw
from leakwise.tables.formats import json_lines, open_table, records, sinks

pytestmark = pytest.mark.filterwarnings("ignore::leakwise.RowOrderWarning", "ignore::leakwise.CertaintyWarning")

ENDINGS = [".csv", ".tsv", ".parquet", ".arrow", ".feather", ".arrows", ".jsonl", ".csv.gz", ".csv.zst", ".jsonl.gz"]
IDENTITY = lw.identity(["no", "yes"])
RESPONSE = lw.randomized_response(["no", "yes"], lift=5)

TABLE = pa.table(
    {
        "id": list(range(200)),
        "answer": ["no", "yes", "yes", "no"] * 50,
        "text": ['a "quoted", text\nof lines', "", None, "007"] * 50,
        "x": [1.0, 0.1, -2.5, None] * 50,
        "ok": [True, False, None, True] * 50,
    }
)


def write(table: pa.Table, path: Path) -> Path:
    """Write a table in the kind of file that the name says."""
    from leakwise.tables.formats.compression import compressed

    with path.open("wb") as file, compressed(file, path) as stream, sinks.sink_for(path, stream, table.schema) as sink:
        sink.write(table)
    return path


def rows(path: Path) -> list[dict[str, object]]:
    """All rows of a file in their types."""
    table = open_table(path)
    pieces = table.pieces([], table.arrow_schema(table.names))
    return [row for _, batch in pieces for row in batch.to_pylist()]


@pytest.mark.parametrize(("source", "target"), list(itertools.permutations(ENDINGS, 2)))
def test_every_kind_goes_into_every_other(source, target, tmp_path):
    lw.release(write(TABLE, tmp_path / f"a{source}"), IDENTITY, "answer", out=tmp_path / f"b{target}")
    assert rows(tmp_path / f"b{target}") == TABLE.to_pylist()


@pytest.mark.parametrize("source", [".csv", ".jsonl", ".parquet"])
@pytest.mark.parametrize("target", [".csv", ".jsonl", ".parquet", ".arrows"])
def test_outcomes_and_mechanism_are_those_of_the_source_s_own_kind(source, target, tmp_path):
    path = write(TABLE, tmp_path / f"a{source}")
    with pytest.warns(lw.LeakwiseWarning, match="seed"):
        lw.release(path, RESPONSE, "answer", out=tmp_path / f"b{target}", unsafe_seed=3)
    with pytest.warns(lw.LeakwiseWarning, match="seed"):
        same = lw.release(TABLE, RESPONSE, "answer", unsafe_seed=3)
    assert [row["answer"] for row in rows(tmp_path / f"b{target}")] == same.column("answer").to_pylist()
    given = None if target in (".parquet", ".arrows") else RESPONSE
    assert lw.estimate(tmp_path / f"b{target}", given, "answer").sample_size == 200


CSV_TYPES = [
    (["1", "-20"], pa.int64()),
    (["1", "007"], pa.string()),
    (["+1", "2"], pa.string()),
    (["1.0", "2.5", "1e-05", "1e+16"], pa.float64()),
    (["1", "2.5"], pa.float64()),
    (["1", "1.0", "2.5"], pa.string()),
    (["1.10", "1.1"], pa.string()),
    (["12.50", "3.00"], pa.decimal128(38, 2)),
    (["true", "false"], pa.bool_()),
    (["True", "False"], pa.bool_()),
    (["true", "False"], pa.string()),
    (["2020-02-29", "1970-01-01"], pa.date32()),
    (["2020-02-30", "1970-01-01"], pa.string()),
    (["2020-02-29 10:00:00", "1970-01-01 00:00:00"], pa.timestamp("s")),
    (["2020-02-29T10:00:00", "1970-01-01T00:00:00"], pa.timestamp("s")),
    (["12345678901234567890", "1"], pa.string()),
    (["9007199254740993", "1"], pa.int64()),
    (["9007199254740993", "1.5"], pa.string()),
    (["5", "1.0"], pa.string()),
    (["5", "true"], pa.string()),
    (["20200101", "2020-01-01"], pa.string()),
    (['""', "1"], pa.string()),
    (['"1"', "2"], pa.int64()),
    (["", ""], pa.string()),
    (["NA", "1"], pa.string()),
]


@pytest.mark.parametrize(("fields", "kind"), CSV_TYPES, ids=[" ".join(fields) for fields, _ in CSV_TYPES])
def test_a_column_of_texts_has_a_type_only_where_nothing_is_lost(fields, kind, tmp_path, monkeypatch):
    monkeypatch.setattr(records, "_BLOCK", 16)  # the type is that of all batches
    written = [*fields, ""] * 4
    lines = [f"{field},{'no' if turn % 2 else 'yes'}" for turn, field in enumerate(written)]
    (tmp_path / "a.csv").write_text("\n".join(["v,answer", *lines, ""]))
    lw.release(tmp_path / "a.csv", IDENTITY, "answer", out=tmp_path / "b.parquet")
    column = pq.read_table(tmp_path / "b.parquet").column("v")
    assert column.type == (pa.timestamp("ms") if kind == pa.timestamp("s") else kind)  # Parquet has no seconds
    empty = [None if field == "" else field.strip('"') for field in written]
    if kind == pa.string():
        assert column.to_pylist() == empty
    assert [value is None for value in column.to_pylist()] == [field is None for field in empty]


def test_the_type_is_that_of_all_rows_whatever_comes_first(tmp_path, monkeypatch):
    monkeypatch.setattr(records, "_BLOCK", 64)
    for name, fields, kind in (
        ("whole", ["1"] * 50 + ["2.5"] * 50, pa.float64()),
        ("points", ["1.0"] * 50 + ["2"] * 50, pa.string()),
        ("dates", ["2020-01-01"] * 50 + ["x"] * 50, pa.string()),
    ):
        (tmp_path / f"{name}.csv").write_text("\n".join(["v,answer", *(f"{field},no" for field in fields), ""]))
        lw.release(tmp_path / f"{name}.csv", IDENTITY, "answer", out=tmp_path / f"{name}.parquet")
        assert pq.read_schema(tmp_path / f"{name}.parquet").field("v").type == kind


@pytest.mark.parametrize("target", [".parquet", ".tsv", ".jsonl", ".arrow"])
def test_two_columns_of_one_name_are_refused_before_anything_is_drawn(target, tmp_path):
    (tmp_path / "a.csv").write_text("answer,b,b\nno,1,2\nyes,3,4\n")
    with pytest.raises(lw.InvalidInput, match="has 'b' more than once"):
        lw.release(tmp_path / "a.csv", IDENTITY, "answer", out=tmp_path / f"b{target}")
    same = lw.release(tmp_path / "a.csv", IDENTITY, "answer", out=tmp_path / "b.csv.gz")
    assert gzip.decompress(same.read_bytes()) == (tmp_path / "a.csv").read_bytes()


def test_types_never_come_from_the_values_of_the_secret(tmp_path):
    (tmp_path / "a.csv").write_text("age,x\n1,a\n2,b\n")
    m = lw.randomized_response(["1", "2", "?"], lift=3)
    lw.release(tmp_path / "a.csv", m, "age", out=tmp_path / "b.parquet")
    assert pq.read_schema(tmp_path / "b.parquet").field("age").type == pa.string()


def test_parquet_values_are_written_as_csv_reads_them(tmp_path):
    day, moment = datetime.date(2020, 2, 29), datetime.datetime(2020, 2, 29, 10, 30)
    table = pa.table(
        {
            "answer": ["no", "yes"],
            "day": [day, None],
            "moment": pa.array([moment, None], pa.timestamp("us")),
            "price": [decimal.Decimal("1.50"), None],
            "group": pa.array(["a", "b"]).dictionary_encode(),
            "view": pa.array(["v", "w"], pa.string_view()),
        }
    )
    pq.write_table(table, tmp_path / "a.parquet")
    for target in ("b.csv", "b.jsonl"):
        lw.release(tmp_path / "a.parquet", IDENTITY, "answer", out=tmp_path / target)
    head, first, second = (tmp_path / "b.csv").read_text().splitlines()
    assert head == "answer,day,moment,price,group,view"
    assert first == "no,2020-02-29,2020-02-29 10:30:00.000000,1.50,a,v"
    assert second == "yes,,,,b,w"
    assert (tmp_path / "b.jsonl").read_text().splitlines()[0] == (
        '{"answer":"no","day":"2020-02-29","moment":"2020-02-29 10:30:00.000000","price":1.50,"group":"a","view":"v"}'
    )


@pytest.mark.parametrize(
    ("column", "target"),
    [
        (pa.array([[1], [2, 3]]), ".csv"),
        (pa.array([{"a": 1}, {"a": 2}]), ".tsv.gz"),
        (pa.array([b"a", b"b"]), ".csv"),
        (pa.array([[b"a"], [b"b"]]), ".jsonl"),
        (pa.array([(1, 2, 3), (4, 5, 6)], pa.month_day_nano_interval()), ".parquet"),
    ],
    ids=["list", "struct", "bytes", "list of bytes", "interval"],
)
def test_what_a_kind_cannot_hold_is_refused_by_its_column_before_anything_is_drawn(
    column, target, tmp_path, monkeypatch
):
    write(pa.table({"answer": ["no", "yes"], "odd": column}), tmp_path / "a.arrow")
    drawn: list[object] = []
    monkeypatch.setattr("leakwise.tables.release.exchange.draw_codes", lambda *given: drawn.append(given))
    with pytest.raises(lw.InvalidInput, match=r"Column 'odd' of .* cannot be written to a .* file"):
        lw.release(tmp_path / "a.arrow", IDENTITY, "answer", out=tmp_path / f"b{target}")
    assert [one.name for one in tmp_path.iterdir()] == ["a.arrow"]
    assert not drawn


@pytest.mark.parametrize(
    ("values", "message"),
    [(["[1]", "[2]"], "lists or objects"), (["1", '"a"'], "several types"), (["1", str(2**70)], "hold exactly")],
)
def test_what_only_json_holds_is_refused_by_its_column(values, message, tmp_path):
    lines = [f'{{"answer":"no","odd":{value}}}\n' for value in values]
    (tmp_path / "a.jsonl").write_text("".join(lines))
    with pytest.raises(lw.InvalidInput, match=f"Column 'odd' .* has .*{message}"):
        lw.release(tmp_path / "a.jsonl", IDENTITY, "answer", out=tmp_path / "b.parquet")
    assert not (tmp_path / "b.parquet").exists()
    lw.protect(tmp_path / "a.jsonl", "answer", prior={"no": 0.6, "yes": 0.4}, lift=2, drop="odd", out=tmp_path / "b.pq")
    assert pq.read_schema(tmp_path / "b.pq").names == ["answer"]


def test_a_dropped_column_is_not_in_the_other_kind(tmp_path):
    path = write(TABLE, tmp_path / "a.csv")
    lw.protect(
        path, "answer", prior={"no": 0.6, "yes": 0.4}, lift=2, drop=["text", "x", "ok"], unrelated="id",
        out=tmp_path / "b.parquet", order="keep",
    )  # fmt: skip
    assert pq.read_schema(tmp_path / "b.parquet").names == ["id", "answer"]
    assert b"quoted" not in (tmp_path / "b.parquet").read_bytes()


@pytest.mark.parametrize("source", [".csv", ".parquet", ".jsonl"])
@pytest.mark.parametrize("target", [".arrow", ".parquet"])
@pytest.mark.parametrize("order", ["keep", "shuffle"])
def test_bounds_are_those_of_one_size_and_not_of_the_source(source, target, order, tmp_path, monkeypatch):
    """Row groups that end where the secret changes, or blocks whose ends its lengths decide, would tell it."""
    if source == target:
        target = ".arrows"
    path = tmp_path / f"a{source}"
    if source == ".parquet":
        with pq.ParquetWriter(path, TABLE.schema) as writer:
            for start, size in ((0, 7), (7, 150), (157, 43)):
                writer.write_table(TABLE.slice(start, size))
    else:
        write(TABLE, path)
    monkeypatch.setattr(records, "_BLOCK", 700)
    monkeypatch.setattr(json_lines, "_LINES", 33)
    monkeypatch.setattr("leakwise.tables.release.shuffle._ROWS", 31)
    monkeypatch.setattr(sinks.regrouped, "__defaults__", (64,))
    lw.release(path, IDENTITY, "answer", out=tmp_path / f"b{target}", order=order)
    assert list(open_table(tmp_path / f"b{target}").parts) == [64, 64, 64, 8]


def test_hidden_values_do_not_go_from_parquet_into_an_arrow_file(tmp_path):
    write(TABLE, tmp_path / "a.csv")
    lw.release(tmp_path / "a.csv", lw.randomized_response(["no", "yes"], lift=1), "answer", out=tmp_path / "b.arrows")
    with pa.OSFile(str(tmp_path / "b.arrows")) as file:
        for column in pa.ipc.open_stream(file).read_all().columns:
            assert all(chunk.offset == 0 for chunk in column.chunks)


@pytest.mark.parametrize(("source", "target"), [(".csv", ".parquet"), (".jsonl", ".csv"), (".parquet", ".csv.gz")])
def test_memory_holds_two_groups_of_rows_however_many_there_are(source, target, tmp_path, monkeypatch):
    monkeypatch.setattr(records, "_BLOCK", 2000)
    monkeypatch.setattr(json_lines, "_LINES", 64)
    monkeypatch.setattr("leakwise.tables.formats.parquet._ROWS", 64)
    monkeypatch.setattr(sinks.regrouped, "__defaults__", (64,))
    table = pa.concat_tables([TABLE] * 20)
    path = write(table, tmp_path / f"a{source}")
    if source == ".parquet":
        pq.write_table(table, path, row_group_size=64)
    before = pa.total_allocated_bytes()
    most: list[int] = []
    lw.release(
        path, IDENTITY, "answer", out=tmp_path / f"b{target}",
        progress=lambda *_: most.append(pa.total_allocated_bytes() - before),
    )  # fmt: skip
    assert len(most) > 60
    assert max(most) < table.nbytes / 2
