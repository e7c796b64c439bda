"""From PostgreSQL into files and back: values, order, one moment, whole or not at all, and what types tell."""

from __future__ import annotations

import datetime
import json
import os
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import leakwise as lw
from leakwise.cli import app
from leakwise.tables.databases.server_table import ServerTable

SAME = lw.identity(["no", "yes"])
ROWS = 1500
PEOPLE = f"""CREATE TABLE people AS SELECT g AS id, CASE WHEN g <= 400 THEN 'yes' ELSE 'no' END AS smokes,
(g % 5 + 0.25)::numeric(10, 3) AS paid, CASE WHEN g % 9 = 0 THEN 'NaN'::numeric ELSE g % 7 / 8.0 END AS free,
1e80 AS huge, DATE '2020-01-30' + g % 3 AS day, TIMESTAMPTZ '2020-01-31 10:00+02' AS at, g % 2 = 0 AS truth,
NULL::text AS nothing, ARRAY[1, 2] AS list FROM generate_series(1, {ROWS}) g"""


@pytest.fixture
def people(clinic):
    clinic.ask(PEOPLE)
    return lw.SqlTable(clinic.uri, "people")


def test_a_table_of_a_server_is_released_into_files(clinic, people, tmp_path):
    """Also while others change it: the files have the rows of one moment, in a random order."""

    def meddle(stage: str, done: int, total: int | None) -> None:
        if stage == "checking":
            clinic.ask("DELETE FROM people WHERE id > 10")

    done = lw.release(people, SAME, "smokes", out=tmp_path / "o.parquet", progress=meddle)
    assert done == tmp_path / "o.parquet"
    table = pq.read_table(done)
    kinds = {field.name: str(field.type) for field in table.schema}
    assert kinds == {
        **{"id": "int32", "smokes": "string", "paid": "decimal128(10, 3)", "free": "decimal128(21, 20)"},
        **{"huge": "string", "day": "date32[day]", "at": "timestamp[us, tz=UTC]", "truth": "bool"},
        **{"nothing": "string", "list": "string"},
    }
    lying = table["id"].to_pylist()
    assert sorted(lying) == list(range(1, ROWS + 1)) != lying
    row = table.filter(pa.compute.equal(table["id"], 8)).to_pylist()[0]
    assert row == {
        **{"id": 8, "smokes": "yes", "paid": Decimal("3.250"), "free": Decimal("0.125"), "huge": "1" + "0" * 80},
        **{"day": datetime.date(2020, 2, 1), "at": datetime.datetime(2020, 1, 31, 8, tzinfo=datetime.UTC)},
        **{"truth": True, "nothing": None, "list": "{1,2}"},
    }
    assert table.filter(pa.compute.equal(table["id"], 9))["free"].to_pylist() == [None]
    assert lw.estimate(done).sample_size == ROWS


def test_a_view_is_run_once(clinic, tmp_path):
    """What a view gives may be another thing each time: the rows that were checked are the rows that are released."""
    clinic.ask("CREATE VIEW dice AS SELECT CASE WHEN random() < 0.5 THEN 'yes' ELSE 'no' END AS s, random() AS r "
               "FROM generate_series(1, 1000)")  # fmt: skip
    dice = ServerTable(lw.SqlTable(clinic.uri, "dice"))
    first, second = ([one["r"].to_pylist() for one in dice.batches(["r"])] for _ in range(2))
    assert first == second
    assert lw.estimate(lw.release(dice, SAME, "s", out=tmp_path / "o.parquet")).sample_size == 1000


def test_the_type_of_outcomes_does_not_tell_of_true_values(clinic, tmp_path):
    """How many digits the longest true value has would be told by the type of a column of numbers."""
    clinic.ask("CREATE TABLE t AS SELECT CASE WHEN g = 7 THEN 1.00000001 ELSE 1 END AS n FROM generate_series(1, 99) g")
    domain = [Decimal(1), Decimal(2), Decimal("1.00000001")]
    m = lw.Mechanism(np.full((3, 2), 0.5), inputs=domain, outputs=[Decimal(1), Decimal(2)])
    lw.release(lw.SqlTable(clinic.uri, "t"), m, "n", out=tmp_path / "long.parquet")
    clinic.ask("UPDATE t SET n = 1")
    lw.release(lw.SqlTable(clinic.uri, "t"), m, "n", out=tmp_path / "short.parquet")
    assert pq.read_schema(tmp_path / "long.parquet") == pq.read_schema(tmp_path / "short.parquet")


def test_files_and_tables_in_memory_are_released_into_a_server(clinic, tmp_path):
    ids = np.arange(2000)
    frame = pd.DataFrame(
        {
            "id": ids,
            "smokes": np.where(ids % 4 == 0, "yes", "no"),
            "when": pd.Timestamp("2020-01-01") + pd.to_timedelta(ids, "h"),
            "kind": pd.Categorical(np.where(ids % 2 == 0, "a", "b")),
            "large": ids.astype("uint64") + 2**63,
        }
    )
    frame.to_parquet(tmp_path / "t.parquet", index=False)
    frame.to_csv(tmp_path / "t.csv.gz", index=False)
    for place, data in enumerate((tmp_path / "t.parquet", tmp_path / "t.csv.gz", pa.table(frame))):
        out = lw.SqlTable(clinic.uri, f"o{place}")
        assert lw.release(data, SAME, "smokes", out=out) is out
        rows = clinic.ask(f'SELECT id, smokes, "when", kind, large::text FROM o{place} ORDER BY ctid')
        assert sorted(rows) == [
            (int(one), smokes, when.to_pydatetime(), kind, str(large))
            for one, smokes, when, kind, large in frame.itertuples(index=False)
        ]
        assert [row[0] for row in rows] != ids.tolist()
        assert lw.estimate(out).sample_size == 2000  # the mechanism is in the comment
        with pytest.raises(lw.InvalidInput, match="exists already"):
            lw.release(data, SAME, "smokes", out=out)
    with pytest.raises(lw.InvalidInput, match="has no order that could be kept"):
        lw.release(tmp_path / "t.parquet", SAME, "smokes", out=lw.SqlTable(clinic.uri, "p"), order="keep")


@pytest.mark.parametrize(
    ("column", "words"),
    [
        (pa.array([{"a": 1}] * 4), r"'odd' of .*struct.* cannot be written to a table of PostgreSQL"),
        (pa.array([1_000_000_001] * 4, pa.timestamp("ns")), r"'odd' .*to the microsecond only"),
        (pa.array(["a\0b"] * 4), "invalid byte sequence"),
    ],
    ids=["no such type", "too fine", "no such text"],
)
def test_what_the_server_cannot_hold_leaves_nothing(clinic, tmp_path, column, words):
    pq.write_table(pa.table({"s": ["no", "yes"] * 2, "odd": column}), tmp_path / "t.parquet")
    with pytest.raises(lw.InvalidInput, match=words):
        lw.release(tmp_path / "t.parquet", SAME, "s", out=lw.SqlTable(clinic.uri, "o"))
    assert clinic.ask("SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace") == [(0,)]


def test_a_file_that_fails_midway_leaves_nothing(clinic, tmp_path):
    table = tmp_path / "t.csv"
    table.write_text("s,id\n" + "".join(f"no,{one}\n" for one in range(5000)))

    def change(stage: str, done: int, total: int | None) -> None:
        if stage == "writing":
            os.utime(table, (1, 1))

    with pytest.raises(lw.InvalidInput, match=r"changed while it was released\. Nothing was written"):
        lw.release(table, SAME, "s", out=lw.SqlTable(clinic.uri, "o"), progress=change)
    assert clinic.ask("SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace") == [(0,)]


def test_on_the_command_line(clinic, people, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = ["-c", "smokes", "--domain", "no,yes", "--lift", "2", "--prior", "no=0.7,yes=0.3", "--ledger", "l.db"]
    row = ["--unrelated", "truth", "--drop", "id,paid,free,huge,day,at,nothing,list"]
    out = CliRunner().invoke(app, ["release", "people", "--from-sql", clinic.uri, "-o", "o.parquet", *words, *row])
    assert out.exit_code == 0, out.output
    assert pq.read_schema("o.parquet").names == ["smokes", "truth"]
    assert {"o.parquet", "o.report.html", "l.db"} <= set(os.listdir())
    assert lw.Ledger("l.db").total("people", "smokes").releases == 1
    pd.DataFrame({"smokes": ["no", "yes"] * 300, "n": range(600)}).to_csv("survey.csv", index=False)
    back = CliRunner().invoke(app, ["release", "survey.csv", "--to-sql", clinic.uri, *words, "--drop", "n", "--json"])
    assert back.exit_code == 0, back.output
    assert json.loads(back.stdout)["files"]["table"].startswith("survey_released in postgresql://")
    found = CliRunner().invoke(app, ["estimate", "survey_released", "--from-sql", clinic.uri, "--json"])
    assert json.loads(found.stdout)["sample_size"] == 600
    wrong = CliRunner().invoke(app, ["release", "survey.csv", "--to-sql", "x.duckdb", *words, "--drop", "n"])
    assert "--to-sql needs --from-sql" in " ".join(wrong.output.split())
