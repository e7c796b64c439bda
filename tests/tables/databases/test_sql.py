"""Tables of databases, DuckDB and SQLite alike: the law, whole or not at all, names that are names; and streams."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2
from typer.testing import CliRunner

import leakwise as lw
from leakwise.cli import app
from leakwise.tables.databases import duck, lite, quoted
from leakwise.tables.databases.sql_table import check_table, release_table

# The tables here are made of patterns, whose order tells everything; their tests are about something else.
pytestmark = pytest.mark.filterwarnings("ignore::leakwise.RowOrderWarning")

FALSE_ALARM = 1e-9
YES_NO = lw.randomized_response(["no", "yes"], lift=3)
ROWS = 12_000
# The id tells the true value by arithmetic that no test finds, its place does not: what is found is refused.
IDS = np.random.default_rng(0).permutation(ROWS)
AGES = np.random.default_rng(1).integers(0, 100, ROWS)
BESIDE = ["id", "age"]  # what goes out beside the secret; that the id tells the value is for the tests alone


@contextlib.contextmanager
def opened(path: Path) -> Iterator[Any]:
    """A connection of the kind of the file's name, with what was done committed at the end."""
    connection = duckdb.connect(str(path)) if path.suffix == ".duckdb" else sqlite3.connect(path)
    with contextlib.closing(connection):
        yield connection
        connection.commit() if path.suffix != ".duckdb" else None


def ask(path: Path, statement: str, *values: Any) -> list[tuple[Any, ...]]:
    with opened(path) as connection:
        return connection.execute(statement, list(values)).fetchall()


@pytest.fixture(params=["duckdb", "sqlite"])
def shop(request, tmp_path) -> Path:
    """A database with one table of customers, the id telling the true value."""
    path = tmp_path / f"shop.{request.param}"
    ids = IDS
    frame = pd.DataFrame({"id": ids, "smokes": np.where(ids * 48271 % 65537 % 4 == 0, "yes", "no"), "age": AGES})
    with opened(path) as connection:
        if request.param == "duckdb":
            connection.execute("CREATE TABLE customers AS SELECT * FROM frame")
        else:
            frame.to_sql("customers", connection, index=False)
    return path


def other(path: Path, name: str = "out") -> Path:
    return path.with_name(f"{name}{path.suffix}")


# ------------------------------------------------------------------------------------------------------- the law


@pytest.mark.parametrize("elsewhere", [False, True], ids=["same database", "another"])
def test_the_law_the_order_and_the_other_columns(shop, elsewhere):
    out = lw.SqlTable(other(shop) if elsewhere else shop, "released")
    stages: list[tuple[str, int, int | None]] = []
    done = lw.release(
        lw.SqlTable(shop, "customers"), YES_NO, "smokes", out=out, progress=lambda *one: stages.append(one)
    )
    assert done is out
    assert stages[-1] == ("writing", ROWS, ROWS)
    assert {stage for stage, *_ in stages} == {"checking", "writing"}
    rows = ask(out.database, "SELECT id, smokes, age FROM released")
    assert [row[0] for row in rows] == IDS.tolist()
    assert [row[2] for row in rows] == AGES.tolist()
    seen = np.zeros((2, 2))
    np.add.at(seen, ([int(row[0] * 48271 % 65537 % 4 == 0) for row in rows], [int(row[1] == "yes") for row in rows]), 1)
    expected = YES_NO.matrix * seen.sum(axis=1, keepdims=True)
    assert chi2.sf(float(((seen - expected) ** 2 / expected).sum()), 2) > FALSE_ALARM
    # The source is as it was.
    assert ask(shop, "SELECT count(*) FROM customers WHERE (id * 48271 % 65537 % 4 = 0) = (smokes = 'yes')") == [
        (ROWS,)
    ]
    # The way back needs the counts only.
    counts = dict(ask(out.database, "SELECT smokes, count(*) FROM released GROUP BY smokes"))
    assert lw.estimate(counts, YES_NO).sample_size == ROWS


def test_several_secrets_joint_ones_bins_and_missing_values(shop):
    with opened(shop) as connection:
        connection.execute("CREATE TABLE few AS SELECT id, smokes, age, nullif(id % 3, 0) AS kind FROM customers")
    pairs = lw.identity([("no", None), ("no", 1), ("no", 2), ("yes", None), ("yes", 1), ("yes", 2)])
    ages = lw.randomized_response(lw.bins(0, 100, 4), lift=2)
    out = lw.SqlTable(shop, "out")
    lw.release(lw.SqlTable(shop, "few"), {("smokes", "kind"): pairs, "age": ages}, out=out)
    assert ask(shop, "SELECT id, smokes, kind FROM out") == ask(shop, "SELECT id, smokes, kind FROM few")
    assert {row[0] for row in ask(shop, "SELECT DISTINCT age FROM out")} == set(lw.bins(0, 100, 4))


def test_protect_with_a_ledger(shop, tmp_path):
    prior = lw.Prior({"no": 0.75, "yes": 0.25})
    source, out = lw.SqlTable(shop, "customers"), lw.SqlTable(other(shop), "released")
    ledger = lw.Ledger(tmp_path / "ledger.db")
    done = lw.protect(source, "smokes", unrelated=BESIDE, prior=prior, lift=2, out=out, ledger=ledger)
    assert done.table is out
    assert done.certificate.holds
    assert ledger.total("customers", "smokes").releases == 1
    assert set(ask(out.database, "SELECT DISTINCT smokes FROM released")) == {("{no}",), ("{yes}",)}
    assert done.report(tmp_path / "r.html").is_file()
    learnt = lw.protect(
        source,
        "smokes",
        domain=["no", "yes"],
        unrelated=BESIDE,
        prior="table",
        failure=1e-6,
        lift=2,
        out=out,
        overwrite=True,
    )
    assert learnt.prior.probabilities.round(2).tolist() == [0.75, 0.25]


def test_types_of_duckdb_stay(tmp_path):
    path = tmp_path / "types.duckdb"
    with opened(path) as connection:
        connection.execute(
            """CREATE TABLE t AS SELECT range AS id, IF(range % 2 = 0, 'a', 'b')::ENUM('a', 'b') AS e,
            (range % 2)::UTINYINT AS small, uuid() AS u, range::HUGEINT * 100000000000000000000 AS h, {'x': range} AS s,
            '11:00:00+02'::TIMETZ AS z, '101'::BIT AS bits, map{'k': [1, 2]} AS m, 3.25::DECIMAL(10, 3) AS d,
            DATE '2020-01-31' AS day, INTERVAL 3 DAYS AS i, '\\xAA'::BLOB AS bytes FROM range(5000)"""
        )
    lw.release(
        lw.SqlTable(path, "t"),
        {"e": lw.identity(["a", "b"]), "small": lw.identity([0, 1])},
        out=lw.SqlTable(path, "o"),
    )
    before, after = (dict(row[:2] for row in ask(path, f"DESCRIBE {name}")) for name in "to")
    assert after.pop("e") in ("VARCHAR", before.pop("e"))
    assert after == before
    assert ask(path, "SELECT * FROM o") == ask(path, "SELECT * FROM t")


def test_values_of_sqlite_stay(tmp_path):
    """SQLite has values of any kind in any column; what is not secret keeps its kind."""
    path = tmp_path / "any.sqlite"
    rows = [("a", 1, b"\x00", None, 1.0, "01"), ("b", "one", 2, "x", 10**18, "1e3"), ("a", None, 2.5, 3, "q", "7")]
    with opened(path) as connection:
        connection.execute('CREATE TABLE t (s "VARCHAR(5)", i INTEGER, n, b BLOB, r REAL, t TEXT)')
        connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?, ?)", rows)
    lw.release(lw.SqlTable(path, "t"), lw.identity(["a", "b"]), "s", out=lw.SqlTable(path, "o"))
    kinds = ", ".join(f"typeof({name}), {name}" for name in "sinbrt")
    assert ask(path, f"SELECT {kinds} FROM o") == ask(path, f"SELECT {kinds} FROM t")
    # Outcomes stay what they are too, under any declared type of the column.
    texts = lw.Mechanism([[1, 0], [0, 1]], inputs=["a", "b"], outputs=["1", "02"])
    lw.release(lw.SqlTable(path, "t"), texts, "s", out=lw.SqlTable(path, "p"))
    assert ask(path, "SELECT typeof(s), s FROM p") == [("text", "1"), ("text", "02"), ("text", "1")]
    tuples = lw.Mechanism([[1, 0], [0, 1]], inputs=["a", "b"], outputs=[(1, 2), (3, 4)])
    with pytest.raises(lw.InvalidInput, match="cannot stand in a SQLite table"):
        lw.release(lw.SqlTable(path, "t"), tuples, "s", out=lw.SqlTable(path, "q"))


# ------------------------------------------------------------------------------------------- whole or not at all


def tables(path: Path) -> set[str]:
    source = "sqlite_master WHERE type = 'table'" if path.suffix == ".sqlite" else "duckdb_tables()"
    column = "name" if path.suffix == ".sqlite" else "table_name"
    return {row[0] for row in ask(path, f"SELECT {column} FROM {source}")}


def test_a_late_unknown_value_is_found_before_anything_is_written(shop):
    with opened(shop) as connection:
        connection.execute("INSERT INTO customers VALUES (99999, 'perhaps', 3), (99998, NULL, 3)")
    with pytest.raises(lw.InvalidInput, match=r"outside the declared domain: .*'perhaps'"):
        lw.release(lw.SqlTable(shop, "customers"), YES_NO, "smokes", out=lw.SqlTable(other(shop), "o"))
    assert not other(shop).exists()


def test_a_source_that_changes_meanwhile_leaves_nothing(shop):
    """Checked, then changed by somebody else in a way that keeps the number of rows, then released."""
    source = lw.SqlTable(shop, "customers")
    checked = check_table(source, ["smokes"], YES_NO.input_alphabet)
    with opened(shop) as connection:
        connection.execute("UPDATE customers SET smokes = 'yes' WHERE id = 1")
    for target in (other(shop), shop):
        with pytest.raises(lw.InvalidInput, match=r"changed while it was released\. Nothing was written"):
            release_table([(checked, YES_NO)], lw.SqlTable(target, "o"))
    assert not list(shop.parent.glob("out*"))
    assert tables(shop) == {"customers"}


@pytest.mark.parametrize("elsewhere", [False, True], ids=["same database", "another"])
def test_a_failure_in_the_middle_rolls_back(shop, elsewhere, monkeypatch):
    """The third batch fails: an old table stays as it was, a new database is gone."""
    monkeypatch.setattr(duck, "_ROWS", 2048)
    monkeypatch.setattr(lite, "_ROWS", 2048)
    target = other(shop) if elsewhere else shop
    lost = RuntimeError("the disk is gone")

    def failing(stage: str, done: int, total: int | None) -> None:
        if stage == "writing" and done > 5000:
            raise lost

    def attempt(name: str, **options: Any) -> None:
        with pytest.raises(RuntimeError) as caught:
            lw.release(
                lw.SqlTable(shop, "customers"),
                YES_NO,
                "smokes",
                out=lw.SqlTable(target, name),
                progress=failing,
                **options,
            )
        assert caught.value is lost

    attempt("new")
    assert not elsewhere or not target.exists()
    with opened(target) as connection:
        connection.execute("CREATE TABLE old AS SELECT 1 AS one")
    attempt("old", overwrite=True)
    assert ask(target, "SELECT * FROM old") == [(1,)]
    assert tables(target) == {"old"} | (set() if elsewhere else {"customers"})


def test_existing_tables_and_the_table_itself(shop):
    source, out = lw.SqlTable(shop, "customers"), lw.SqlTable(shop, "o")
    lw.release(source, lw.identity(["no", "yes"]), "smokes", out=out)
    with pytest.raises(lw.InvalidInput, match=r"'o' exists already .*say overwrite"):
        lw.release(source, YES_NO, "smokes", out=out)
    lw.release(source, YES_NO, "smokes", out=out, overwrite=True)
    assert ask(shop, "SELECT count(*) FROM o WHERE (id * 48271 % 65537 % 4 = 0) <> (smokes = 'yes')") != [(0,)]
    for name in ("customers", "CUSTOMERS"):
        with pytest.raises(lw.InvalidInput, match="must not be the table itself"):
            lw.release(source, YES_NO, "smokes", out=lw.SqlTable(shop, name), overwrite=True)


# ------------------------------------------------------------------------------------------------ names are names

NASTY = ['x"; DROP TABLE customers; --', "a b", "select", "'", "ü", "--", "a.b", "1); --", 'o"o']


@pytest.mark.parametrize("name", NASTY)
def test_names_are_never_statements(shop, name):
    with opened(shop) as connection:
        connection.execute(f"CREATE TABLE {quoted(name)} AS SELECT id, smokes AS {quoted(name)} FROM customers")
    out = lw.SqlTable(other(shop), name + "!")
    lw.release(lw.SqlTable(shop, name), lw.identity(["no", "yes"]), name, out=out)
    assert tables(out.database) == {name + "!"}
    assert tables(shop) == {"customers", name}
    select = f"SELECT {quoted(name)} FROM "
    assert ask(out.database, select + quoted(name + "!")) == ask(shop, select + quoted(name))


@given(st.text(st.characters(exclude_characters="\0", codec="utf-8"), min_size=1, max_size=8))
def test_every_quoted_name_is_one_name(name):
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        cursor = connection.execute(f"SELECT 1 AS {quoted(name)}")
        assert [column[0] for column in cursor.description] == [name]


def test_schemas_of_duckdb(tmp_path):
    path = tmp_path / "s.duckdb"
    with opened(path) as connection:
        connection.execute("CREATE SCHEMA sales; CREATE TABLE sales.t AS SELECT 'no' AS s")
    lw.release(lw.SqlTable(path, "sales.t"), lw.identity(["no"]), "s", out=lw.SqlTable(path, "sales.o"))
    assert ask(path, "SELECT * FROM sales.o") == [("no",)]
    with pytest.raises(lw.InvalidInput, match="must not be the table itself"):
        lw.release(
            lw.SqlTable(path, "sales.t"), lw.identity(["no"]), "s", out=lw.SqlTable(path, "SALES.t"), overwrite=True
        )


# ------------------------------------------------------------------------------------------------ what goes wrong


def test_bad_places(shop, tmp_path):
    source = lw.SqlTable(shop, "customers")

    def refused(message: str, data: Any = source, out: Any = None, column: Any = "smokes") -> None:
        with pytest.raises(lw.InvalidInput, match=message):
            lw.release(data, YES_NO, column, out=out)
        if isinstance(data, lw.SqlTable):
            with pytest.raises(lw.InvalidInput, match=message):
                lw.protect(data, column, unrelated=BESIDE, mechanism=YES_NO, prior={"no": 0.5, "yes": 0.5}, out=out)

    good = lw.SqlTable(shop, "o")
    refused(r"out must be a table of a database too", out=tmp_path / "x.csv")
    refused(r"out must be a table of a database too")
    refused("column must say which", out=good, column=None)
    refused("'smoke' is not in the table.*Did you mean 'smokes'", out=good, column="smoke")
    refused("Did you mean 'customers'", data=lw.SqlTable(shop, "customer"), out=good)
    refused("there is no such database", data=lw.SqlTable(tmp_path / "none.db", "t"), out=good)
    refused("is a folder", data=lw.SqlTable(tmp_path, "t"), out=good)
    refused("folder .* does not exist", out=lw.SqlTable(tmp_path / "no" / "x.db", "t"))
    (tmp_path / "text.db").write_text("not a database at all")
    refused("neither a DuckDB nor a SQLite", data=lw.SqlTable(tmp_path / "text.db", "t"), out=good)
    (tmp_path / "t.csv").write_text("smokes\nno\n")
    with pytest.raises(lw.InvalidInput, match="out must be a file"):
        lw.release(str(tmp_path / "t.csv"), YES_NO, "smokes", out=good)
    for kind in ("duckdb", "sqlite"):
        if shop.suffix != f".{kind}":
            with opened(tmp_path / f"x.{kind}") as connection:
                connection.execute("CREATE TABLE t (a INTEGER)")
            refused("must be a database of the same kind", out=lw.SqlTable(tmp_path / f"x.{kind}", "o"))
    with opened(shop) as connection:
        connection.execute("CREATE TABLE empty AS SELECT * FROM customers WHERE id < 0")
    refused("has no rows", data=lw.SqlTable(shop, "empty"), out=good)
    for name in ("", "a\0b", None):
        with pytest.raises(lw.InvalidInput, match="table must be the name of a table"):
            lw.SqlTable(shop, name)


def test_a_database_that_somebody_else_holds(tmp_path, monkeypatch):
    path = tmp_path / "held.sqlite"
    with opened(path) as connection:
        connection.execute("CREATE TABLE t AS SELECT 'no' AS s")
    with contextlib.closing(sqlite3.connect(path, timeout=0, isolation_level=None)) as holder:
        holder.execute("BEGIN EXCLUSIVE")
        connect = sqlite3.connect
        monkeypatch.setattr(sqlite3, "connect", lambda *words, **options: connect(*words, timeout=0, **options))
        with pytest.raises(lw.InvalidInput, match="locked"):
            lw.release(lw.SqlTable(path, "t"), YES_NO, "s", out=lw.SqlTable(path, "o"))


def test_without_duckdb(tmp_path, monkeypatch):
    path = tmp_path / "s.duckdb"
    with opened(path) as connection:
        connection.execute("CREATE TABLE t AS SELECT 'no' AS s")
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(lw.MissingExtra, match=r"pip install 'leakwise\[sql\]'"):
        _ = lw.SqlTable(path, "t").names


# ------------------------------------------------------------------------------------------- relations and streams


def test_a_relation_comes_back_as_an_arrow_table_that_duckdb_reads():
    with contextlib.closing(duckdb.connect()) as connection:
        connection.execute(
            "CREATE TABLE t AS SELECT range AS id, IF(hash(range) % 4 = 0, 'yes', 'no') AS smokes FROM range(1000)"
        )
        released = lw.release(connection.sql("FROM t"), YES_NO, "smokes")
        assert isinstance(released, pa.Table)
        rows = connection.sql("SELECT id, smokes FROM released").fetchall()
        assert [row[0] for row in rows] == list(range(1000))
        # It is drawn: reading it again gives the same.
        assert connection.sql("SELECT id, smokes FROM released").fetchall() == rows
        assert connection.sql(
            "SELECT count(*) FROM released JOIN t USING (id) WHERE released.smokes <> t.smokes"
        ).fetchall() != [(0,)]
        with pytest.raises(lw.InvalidInput, match="outside the declared domain"):
            lw.release(connection.sql("SELECT 'perhaps' AS smokes"), YES_NO, "smokes")
        done = lw.protect(connection.sql("FROM t"), "smokes", unrelated="id", prior={"no": 0.75, "yes": 0.25}, lift=2)
        assert isinstance(done.table, pa.Table)


def test_a_reader_is_drawn_as_it_is_read_and_once():
    smokes = np.random.default_rng(0).permutation(["no", "yes"] * 2500)
    table = pa.table({"id": range(5000), "smokes": smokes})
    released = lw.release(table.to_reader(max_chunksize=100), YES_NO, "smokes")
    assert isinstance(released, pa.RecordBatchReader)
    with contextlib.closing(duckdb.connect()) as connection:
        connection.execute("CREATE TABLE o AS SELECT * FROM released")
        assert connection.sql("SELECT id FROM o").fetchall() == [(place,) for place in range(5000)]
    assert released.read_all().num_rows == 0  # nothing is left that could be drawn again
    # Others read the same stream, and what is read says how it was made.
    again = lw.release(table.to_reader(), YES_NO, "smokes")
    assert lw.estimate(again.read_all()).sample_size == 5000
    assert pl.DataFrame(lw.release(table.to_reader(), YES_NO, "smokes")).shape == (5000, 2)


def test_no_column_is_copied_on_the_way_through():
    """The untouched column of the stream is the same memory as that of the source."""
    table = pa.table({"id": np.arange(5000), "smokes": ["no"] * 5000})
    (batch,) = lw.release(table.to_reader(), YES_NO, "smokes")
    assert batch.column("id").buffers()[1].address == table.column("id").chunk(0).buffers()[1].address


def test_a_stream_with_an_unknown_value_ends_the_statement_that_reads_it():
    table = pa.table({"smokes": ["no"] * 5000 + ["perhaps"]})
    with contextlib.closing(duckdb.connect()) as connection:
        connection.register("released", lw.release(table.to_reader(max_chunksize=100), YES_NO, "smokes"))
        with pytest.raises(duckdb.Error, match="outside the declared domain"):
            connection.execute("CREATE TABLE o AS SELECT * FROM released")
        assert connection.execute("SELECT count(*) FROM duckdb_tables()").fetchall() == [(0,)]


# ------------------------------------------------------------------------------------------------ on the command line

OPTIONS = ("--column", "smokes", "--domain", "no,yes", "--lift", "2", "--prior", "no=0.75,yes=0.25")
OPTIONS += ("--unrelated", ",".join(BESIDE))


def run(*words: object) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)
    return done.exit_code, done.stdout, done.stderr


def test_the_command_from_table_to_table(shop):
    code, said, _ = run("release", "customers", "--from-sql", shop, *OPTIONS)
    assert code == 0
    assert "2 times as likely" in said
    assert tables(shop) == {"customers", "customers_released"}
    mechanism = lw.Mechanism.load(shop.with_name("shop.customers_released.mechanism.json"))
    assert shop.with_name("shop.customers_released.report.html").is_file()
    counts = dict(ask(shop, "SELECT smokes, count(*) FROM customers_released GROUP BY smokes"))
    assert lw.estimate(counts, mechanism).sample_size == ROWS
    code, _, said = run("release", "customers", "--from-sql", shop, *OPTIONS)
    assert code != 0
    assert "exists already" in said
    assert run("release", "customers", "--from-sql", shop, *OPTIONS, "--overwrite")[0] == 0


def test_the_command_into_another_database_as_json(shop):
    words = ("release", "customers", "--from-sql", shop, "--to-sql", other(shop), "-o", "a/b", *OPTIONS, "--json")
    code, said, _ = run(*words)
    assert code == 0
    files = json.loads(said)["files"]
    assert files["table"] == f"a/b in {other(shop)}"
    assert Path(files["mechanism"]).name == "out.a_b.mechanism.json"
    assert tables(other(shop)) == {"a/b"}


def test_the_command_refuses_half_of_the_way(shop, tmp_path):
    (tmp_path / "t.csv").write_text("smokes\nno\n")
    code, _, said = run("release", tmp_path / "t.csv", "--to-sql", shop, *OPTIONS)
    assert code != 0
    assert "--to-sql needs --from-sql" in said
    code, _, said = run("release", "customers", "--from-sql", tmp_path / "no.duckdb", *OPTIONS)
    assert code != 0
    assert "there is no such database" in said
    with opened(shop) as connection:
        connection.execute("INSERT INTO customers VALUES (-1, 'perhaps', 3)")
    code, _, said = run("release", "customers", "--from-sql", shop, *OPTIONS)
    assert code != 0
    assert "perhaps" in said
    assert tables(shop) == {"customers"}
    assert not list(tmp_path.glob("shop.*.json"))
