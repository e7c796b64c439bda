"""What others see of a release in PostgreSQL: rows, catalogues and files, messages, reports, settings, the screen."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

import leakwise as lw
from leakwise.cli import app
from postgres_server import PASSWORD, QUOTED, Database

YES_NO = lw.randomized_response(["no", "yes"], lift=3)
PEOPLE = (
    "CREATE TABLE people AS SELECT g AS id, CASE WHEN random() < 0.25 THEN 'yes' ELSE 'no' END AS smokes, g % 9 AS age "
    "FROM generate_series(1, 3000) g"
)


@pytest.fixture
def guarded(clinic: Database) -> str:
    """The address of somebody whose password is asked for, with the password in it."""
    clinic.ask(
        PEOPLE,
        "DO $$ BEGIN CREATE ROLE guarded LOGIN; EXCEPTION WHEN duplicate_object THEN END $$",
        f"ALTER ROLE guarded PASSWORD '{PASSWORD}'",
        "GRANT SELECT ON people TO guarded",
        "GRANT CREATE ON SCHEMA public TO guarded",
    )
    return clinic.server.uri(clinic.name, "guarded", QUOTED)


# --------------------------------------------------------------------------------------------- in the database itself


def test_a_released_table_has_nothing_but_its_rows_and_its_mechanism(clinic):
    """No index, default, sequence, note, statistic or dropped column of the source; one transaction wrote all rows."""
    clinic.ask(
        "CREATE TABLE people (gone text, id serial PRIMARY KEY, smokes text DEFAULT 'yes', born date GENERATED ALWAYS "
        "AS (DATE '2000-01-01') STORED, CHECK (smokes <> 'truth'))",
        "INSERT INTO people (gone, smokes) SELECT 'x', CASE WHEN g % 4 = 0 THEN 'yes' ELSE 'no' END FROM "
        "generate_series(1, 3000) g",
        "ALTER TABLE people DROP COLUMN gone",
        "CREATE INDEX ON people (smokes)",
        "CREATE STATISTICS s ON id, smokes FROM people",
        "COMMENT ON TABLE people IS 'yes=750'",
        "COMMENT ON COLUMN people.smokes IS 'yes=750'",
        "ANALYZE people",
    )
    lw.release(lw.SqlTable(clinic.uri, "people"), YES_NO, "smokes", out=lw.SqlTable(clinic.uri, "o"))
    told = {
        "attributes": "SELECT count(*) FROM pg_attribute WHERE attrelid = 'o'::regclass AND attnum > 0",
        "dropped, generated, identity or not null": "SELECT count(*) FROM pg_attribute WHERE attrelid = 'o'::regclass "
        "AND attnum > 0 AND (attisdropped OR attgenerated <> '' OR attidentity <> '' OR atthasdef OR attnotnull)",
        "indexes": "SELECT count(*) FROM pg_index WHERE indrelid = 'o'::regclass",
        "constraints": "SELECT count(*) FROM pg_constraint WHERE conrelid = 'o'::regclass",
        "statistics": "SELECT count(*) FROM pg_statistic_ext WHERE stxrelid = 'o'::regclass",
        "notes at columns": "SELECT count(*) FROM pg_description WHERE objoid = 'o'::regclass AND objsubid <> 0",
        "pg_stats": "SELECT count(*) FROM pg_stats WHERE tablename = 'o'",
        "transactions": "SELECT count(DISTINCT (xmin::text, cmin::text, xmax::text)) FROM o",
        "tables and sequences": "SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind "
        "IN ('r', 'S')",
    }
    found = {name: clinic.ask(statement)[0][0] for name, statement in told.items()}
    assert found == {**dict.fromkeys(told, 0), "attributes": 3, "transactions": 1, "tables and sequences": 3}
    ((note,),) = clinic.ask("SELECT obj_description('o'::regclass)")
    assert note.startswith("Released by Leakwise. Estimates find the mechanism here: {")
    assert set(json.loads(note[note.index("{") :])) == {"version", "secrets"}
    assert "750" not in note


def test_no_true_value_reaches_the_files_of_the_other_database(clinic, published):
    """Not even for a moment: a table that was dropped, or a row of a transaction that failed, could be dug out."""
    truths = ["truth-no-6b1f", "truth-yes-93ac"]
    value = f"CASE WHEN g % 4 = 0 THEN '{truths[1]}' ELSE '{truths[0]}' END"
    clinic.ask(f"CREATE TABLE people AS SELECT g AS id, {value} AS smokes FROM generate_series(1, 2000) g")
    m = lw.Mechanism([[0.75, 0.25], [0.25, 0.75]], inputs=truths, outputs=["drawn-no", "drawn-yes"])
    lw.release(lw.SqlTable(clinic.uri, "people"), m, "smokes", out=lw.SqlTable(published.uri, "o"))
    published.ask("COMMENT ON TABLE o IS NULL", "VACUUM FULL pg_description", "CHECKPOINT")
    ((oid,),) = published.ask("SELECT oid::int FROM pg_database WHERE datname = 'published'")
    found = [path.read_bytes() for path in (published.server.folder / "data" / "base" / str(oid)).iterdir()]
    assert any(b"drawn-yes" in content for content in found)
    assert not [truth for truth in truths for content in found if truth.encode() in content]


# ------------------------------------------------------------------------------------------------------- the password


def written(folder: Path) -> str:
    return "".join(path.read_bytes().decode("latin-1") for path in folder.rglob("*") if path.is_file())


def hidden(*texts: str) -> bool:
    return not any(word in text for word in (PASSWORD, QUOTED, "s3cret") for text in texts)


def test_the_password_stands_nowhere(guarded, clinic, tmp_path, monkeypatch):
    """Not on the screen, nor in the report, the ledger, the settings, the mechanism, the certificate, the table."""
    monkeypatch.chdir(tmp_path)
    words = [
        *("release", "people", "--from-sql", guarded, "-c", "smokes", "--domain", "no,yes", "--lift", "2"),
        *("--prior", "no=0.75,yes=0.25", "--unrelated", "id,age", "--ledger", "ledger.db", "--save-config", "s.toml"),
        *("--certificate", "c.json", "--steward-report", "steward.html", "--json"),
    ]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    shown = f"postgresql://guarded@/{clinic.name}?host={clinic.server.folder}"
    assert json.loads(done.stdout)["files"]["table"] == f"people_released in {shown}"
    assert {path.name for path in tmp_path.iterdir()} >= {
        f"{clinic.name}.people_released.report.html",
        f"{clinic.name}.people_released.mechanism.json",
        "ledger.db",
        "s.toml",
    }
    assert f'from-sql = "{shown}"' in (tmp_path / "s.toml").read_text()
    assert hidden(
        done.output, written(tmp_path), str(clinic.ask("SELECT obj_description('people_released'::regclass)"))
    )
    # The settings work for whoever has the password from elsewhere.
    again = ["release", "people", "--config", "s.toml", "-o", "again", "--report", "again.html"]
    denied = CliRunner().invoke(app, again)
    assert denied.exit_code != 0
    assert "password" in denied.output
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    assert CliRunner().invoke(app, again).exit_code == 0
    estimated = CliRunner().invoke(app, ["estimate", "again", "--from-sql", shown, "--json"])
    assert json.loads(estimated.stdout)["sample_size"] == 3000
    fitted = CliRunner().invoke(app, ["regress", "smokes ~ age", "people_released", "--from-sql", shown, "--json"])
    assert fitted.exit_code == 0, fitted.output


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("@/", "@nowhere.invalid/", "host=", "application_name="), "Cannot connect to postgresql://guarded@nowhere"),
        (("@/clinic", "@/nothing"), 'database "nothing.*" does not exist'),
        (("%2F", "%2Fx"), "password authentication failed"),
        (("host=/", "host=/x"), "No such file or directory"),
        (("?host", "?passwd=s3cret&pwd=s3cret&host"), "invalid URI query parameter"),
    ],
)
def test_what_is_wrong_with_a_server_is_said_without_the_password(guarded, clinic, change, words):
    uri = guarded
    for old, new in zip(change[::2], change[1::2], strict=True):
        assert old in uri
        uri = uri.replace(old, new)
    with pytest.raises(lw.InvalidInput, match=words) as caught:
        lw.estimate(lw.SqlTable(uri, "people"), YES_NO, "smokes")
    assert hidden(str(caught.value), repr(caught.value))
    assert caught.value.__cause__ is None
    told = CliRunner().invoke(app, ["estimate", "people", "--from-sql", uri, "-m", "rr:no,yes:3", "-c", "smokes"])
    assert told.exit_code != 0
    assert hidden(told.output)


def test_files_of_a_release_that_failed_are_taken_away(guarded, clinic, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    clinic.ask("INSERT INTO people VALUES (3001, 'perhaps', 1)")
    words = ["release", "people", "--from-sql", guarded, "-c", "smokes", "--domain", "no,yes", "--lift", "2"]
    words += ["--prior", "no=0.75,yes=0.25", "--unrelated", "id,age", "--save-mechanism", "m.json"]
    failed = CliRunner().invoke(app, words)
    assert "'perhaps'" in failed.output
    assert hidden(failed.output)
    assert os.listdir(tmp_path) == []
    assert clinic.ask("SELECT to_regclass('people_released') IS NULL") == [(True,)]


def test_advice_is_given_for_a_table_of_a_server(guarded, clinic, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = ["advise", "people", "--from-sql", guarded, "-c", "smokes", "--drop", "id,age", "--time-limit", "1"]
    told = CliRunner().invoke(app, words)
    assert told.exit_code == 0, told.output
    assert (
        f"leakwise release people --from-sql 'postgresql://guarded@/clinic?host={clinic.server.folder}'" in told.output
    )
    assert hidden(told.output)
    assert os.listdir(tmp_path) == []
    piped = CliRunner().invoke(
        app, ["release", "people", "--from-sql", guarded, "-o", "-", "-c", "smokes", "--lift", "2"]
    )
    assert "--out must be the name of a table or a file" in piped.output


def test_a_dry_run_writes_nothing(guarded, clinic, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = ["release", "people", "--from-sql", guarded, "-c", "smokes", "--domain", "no,yes", "--lift", "2"]
    words += ["--prior-from-table", "--failure", "1e-6", "--drop", "id", "--given", "age", "--dry-run"]
    tried = CliRunner().invoke(app, words)
    assert tried.exit_code == 0, tried.output
    assert hidden(tried.output)
    assert os.listdir(tmp_path) == []
    assert clinic.ask("SELECT to_regclass('people_released') IS NULL") == [(True,)]
