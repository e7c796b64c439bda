"""What a database file holds after a release was replaced or has failed: nothing of the rows that are gone."""

from __future__ import annotations

import contextlib
import dataclasses
import sqlite3
from pathlib import Path
from typing import Any

import duckdb
import pytest

import leakwise as lw
from leakwise.tables.databases.sql_table import check_table, release_table

# So many that DuckDB writes groups of them before the end of the transaction.
ROWS = {".duckdb": 500_000, ".sqlite": 150_000}


def named(word: str) -> lw.Mechanism:
    """Randomized response whose outcomes can be found among the bytes of a file."""
    m = lw.randomized_response(["no", "yes"], lift=3)
    return lw.Mechanism(m.weights / m.denominator, inputs=["no", "yes"], outputs=[f"{word}-no", f"{word}-yes"])


@contextlib.contextmanager
def opened(path: Path) -> Any:
    connection = duckdb.connect(str(path)) if path.suffix == ".duckdb" else sqlite3.connect(path)
    with contextlib.closing(connection):
        yield connection
        if path.suffix != ".duckdb":
            connection.commit()


@pytest.fixture(params=["duckdb", "sqlite"])
def source(request, tmp_path) -> lw.SqlTable:
    path = tmp_path / f"shop.{request.param}"
    with opened(path) as connection:
        numbers = f"WITH RECURSIVE n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n WHERE k < {ROWS[path.suffix]})"
        numbers = (
            f"WITH n AS (SELECT range AS k FROM range({ROWS[path.suffix]}))" if path.suffix == ".duckdb" else numbers
        )
        half = "CASE k * 7919 % 1013 % 2 WHEN 0 THEN 'no' ELSE 'yes' END"
        connection.execute(f"CREATE TABLE customers AS {numbers} SELECT {half} AS smokes, k AS id FROM n")
    path.chmod(0o600)
    return lw.SqlTable(path, "customers")


def released(source: lw.SqlTable, word: str, out: Path, table: str = "released", **options: Any) -> None:
    lw.release(source, named(word), "smokes", out=lw.SqlTable(out, table), order="keep", **options)


def count(path: Path, word: str) -> int:
    return sum(one.read_bytes().count(word.encode()) for one in path.parent.glob(f"{path.name}*"))


def test_a_replaced_release_is_gone_from_the_file(source):
    out = source.database.with_name(f"out{source.database.suffix}")
    released(source, "first", out)
    assert count(out, "first-yes") > 0
    released(source, "second", out, overwrite=True)
    assert count(out, "first-yes") == 0
    assert count(out, "second-yes") > 0
    with opened(out) as connection:
        assert connection.execute("SELECT count(*) FROM released").fetchone() == (ROWS[out.suffix],)
    # As closed to others as the source; and nothing else is left in the folder.
    assert out.stat().st_mode & 0o777 == 0o600
    assert {one.name for one in out.parent.iterdir()} == {source.database.name, out.name}


def test_a_release_is_not_replaced_where_its_rows_would_stay(source):
    out = source.database.with_name(f"out{source.database.suffix}")
    with opened(out) as connection:
        connection.execute("CREATE TABLE other AS SELECT 'kept' AS word")
    released(source, "first", out)
    with opened(out) as connection:
        assert connection.execute("SELECT word FROM other").fetchall() == [("kept",)]
    if out.suffix == ".duckdb":
        before = out.read_bytes()
        with pytest.raises(lw.InvalidInput, match="a database of its own"):
            released(source, "second", out, overwrite=True)
        assert out.read_bytes() == before
        return
    released(source, "second", out, overwrite=True)
    assert count(out, "first-yes") == 0
    with opened(out) as connection:
        assert connection.execute("SELECT word FROM other").fetchall() == [("kept",)]


def failed(source: lw.SqlTable, out: Path, **options: Any) -> None:
    """A release of a table that has lost a row since it was checked, which is seen when all rows are written."""
    m = named("failed")
    found = check_table(source, ["smokes"], m.input_alphabet)
    changed = dataclasses.replace(found, rows=found.rows + 1)
    with pytest.raises(lw.InvalidInput, match="was changed"):
        release_table([(changed, m)], lw.SqlTable(out, "released"), **options)


def test_a_release_that_fails_leaves_no_rows_in_a_database_that_was_there(source):
    """Not even in parts of the file that were free before: SQLite does not restore those."""
    out = source.database.with_name(f"out{source.database.suffix}")
    with opened(out) as connection:
        connection.execute("CREATE TABLE other AS SELECT 'kept' AS word")
        connection.execute("CREATE TABLE large (id INTEGER, filler TEXT)")
        fill = "WITH RECURSIVE n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n WHERE k < 60000)"
        connection.execute(f"INSERT INTO large {fill} SELECT k, 'filler' || k || 'filler' || k FROM n")
    with opened(out) as connection:
        connection.execute("DROP TABLE large")
    failed(source, out)
    assert count(out, "failed-yes") == 0
    assert {one.name for one in out.parent.iterdir()} == {source.database.name, out.name}
    with opened(out) as connection:
        assert connection.execute("SELECT word FROM other").fetchall() == [("kept",)]
    # A release that is there already stays whole when its successor fails.
    if out.suffix != ".duckdb":
        released(source, "first", out)
        failed(source, out, overwrite=True)
        assert count(out, "failed-yes") == 0
        with opened(out) as connection:
            assert connection.execute("SELECT count(*) FROM released").fetchone() == (ROWS[out.suffix],)


def test_a_release_that_fails_leaves_no_new_database(source):
    out = source.database.with_name(f"out{source.database.suffix}")
    failed(source, out)
    assert {one.name for one in out.parent.iterdir()} == {source.database.name}


def test_a_database_with_a_log_keeps_nothing_in_it(tmp_path):
    """SQLite in WAL mode, held open by someone else meanwhile."""
    path, out = tmp_path / "shop.sqlite", tmp_path / "out.sqlite"
    with opened(path) as connection:
        connection.execute("CREATE TABLE customers AS SELECT 'no' AS smokes UNION ALL SELECT 'yes'")
    with opened(out) as other:
        other.execute("PRAGMA journal_mode = WAL")
        other.execute("CREATE TABLE other (word)")
        other.commit()
        released(lw.SqlTable(path, "customers"), "first", out)
        released(lw.SqlTable(path, "customers"), "second", out, overwrite=True)
        assert count(out, "first-") == 0
        assert count(out, "second-") > 0
