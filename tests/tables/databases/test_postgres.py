"""Tables of PostgreSQL, on a server of our own: the law, types, one moment, whole or not at all, names, rights."""

from __future__ import annotations

import datetime
import json
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2

import leakwise as lw
from leakwise.tables.databases import postgres_session

FALSE_ALARM = 1e-9
ROWS = 4000
YES_NO = lw.randomized_response(["no", "yes"], lift=3)
# Sorted by the secret: as they lie, the rows tell everything. The id tells the true value to the tests alone.
PEOPLE = (
    "CREATE TABLE people AS SELECT g AS id, CASE WHEN g <= 1000 THEN 'yes' ELSE 'no' END AS smokes, g % 90 AS age "
    f"FROM generate_series(1, {ROWS}) g"
)


@pytest.fixture
def people(clinic):
    clinic.ask(PEOPLE)
    return lw.SqlTable(clinic.uri, "people")


def tables(clinic) -> set[str]:
    return {
        name
        for (name,) in clinic.ask(
            "SELECT n.nspname || '.' || c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
            "WHERE n.nspname !~ '^(pg_|information_schema)'"
        )
    }


def sessions(clinic) -> int:
    ((found,),) = clinic.ask("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'leakwise'")
    return int(found)


# ------------------------------------------------------------------------------------------- the law, and the order


@pytest.mark.parametrize("elsewhere", [False, True], ids=["same database", "another"])
def test_the_law_and_the_other_columns_in_a_random_order(clinic, people, published, elsewhere):
    where = published if elsewhere else clinic
    out = lw.SqlTable(where.uri, "released")
    stages: list[tuple[str, int, int | None]] = []
    done = lw.release(people, YES_NO, "smokes", out=out, progress=lambda *one: stages.append(one))
    rows = where.ask("SELECT id, smokes, age FROM released ORDER BY ctid")
    assert done is out
    assert stages[-1] == ("writing", ROWS, ROWS)
    assert sorted((one, age) for one, _, age in rows) == [(one, one % 90) for one in range(1, ROWS + 1)]
    seen = np.zeros((2, 2))
    np.add.at(seen, ([int(row[0] <= 1000) for row in rows], [int(row[1] == "yes") for row in rows]), 1)
    expected = YES_NO.matrix * seen.sum(axis=1, keepdims=True)
    assert chi2.sf(float(((seen - expected) ** 2 / expected).sum()), 2) > FALSE_ALARM
    # As they lie now, the rows say nothing: as many true ones in each quarter as chance puts there.
    quarters = np.array([row[0] <= 1000 for row in rows]).reshape(4, -1).sum(axis=1)
    assert chi2.sf(float(((quarters - 250) ** 2 / (250 * 0.75)).sum()), 3) > FALSE_ALARM


def test_the_order_of_rows_cannot_be_kept(people, clinic):
    with pytest.raises(lw.InvalidInput, match="has no order that could be kept"):
        lw.release(people, YES_NO, "smokes", out=lw.SqlTable(clinic.uri, "o"), order="keep")


def test_views_are_shuffled_and_materialized_ones_are_tables(clinic, people):
    clinic.ask(
        "CREATE VIEW seen AS SELECT * FROM people ORDER BY smokes", "CREATE MATERIALIZED VIEW kept AS TABLE people"
    )
    chain = {"smokes": YES_NO, "age": lw.randomized_response(lw.bins(0, 90, 3), lift=2)}
    for name in ("seen", "kept"):
        lw.release(lw.SqlTable(clinic.uri, name), chain, out=lw.SqlTable(clinic.uri, f"{name}_out"))
        lying = [one for (one,) in clinic.ask(f"SELECT id FROM {name}_out ORDER BY ctid")]
        assert sorted(lying) == list(range(1, ROWS + 1)) != lying


def test_an_index_on_the_secret_is_not_read_in_its_place(clinic, people):
    """The outcomes of the first secret are drawn in one read, and written in another: the rows must come alike."""
    clinic.ask("CREATE INDEX ON people (age)", "CREATE INDEX ON people (smokes)", "VACUUM ANALYZE people")
    done = lw.protect(
        people,
        {"smokes": 2, "age": 2},
        domain={"smokes": ["no", "yes"], "age": lw.bins(0, 90, 2)},
        prior="table",
        failure=1e-6,
        drop=["id"],
        out=lw.SqlTable(clinic.uri, "both"),
    )
    assert done.certificate.holds
    assert clinic.ask('SELECT count(*) FROM "both"') == [(ROWS,)]


# ------------------------------------------------------------------------------------------------ types and values

TYPES = """CREATE TABLE kinds AS SELECT g AS id, (ARRAY['no', 'yes'])[1 + g % 2] AS smokes, (g % 2)::int2 AS small,
g::int8 AS large, 'b'::varchar(5) AS vc, 'c'::char(3) AS ch, (g % 5 + 0.25)::numeric(10, 3) AS exact, 1e60 AS huge,
'NaN'::numeric AS nan, 1.50::numeric AS scaled, DATE '2020-01-30' + g % 3 AS day, TIMESTAMP '2020-01-31 10:00' AS ts,
TIMESTAMP(3) WITH TIME ZONE '2020-01-31 10:00:00.123+02' AS tz,
g % 2 = 0 AS truth, (ARRAY['sad', 'ok'])[1 + g % 2]::mood AS mood,
NULL::text AS nothing, NULL::int4 AS none, 0.1::float4 AS f4, 0.1::float8 AS f8, 'NaN'::float8 AS fn,
gen_random_uuid() AS u, '{"a":  1}'::json AS j, '{"a": 1}'::jsonb AS jb, ARRAY[1, NULL] AS list, INTERVAL '3 days' AS i,
TIME '10:00' AS time, '\\xAA00'::bytea AS bytes, '10.0.0.1'::inet AS ip, 'x'::"char" AS one, 5::money AS money,
B'101' AS bits, '[1,3)'::int4range AS span, TIMETZ '10:00+02' AS ttz, DATE 'infinity' AS ever, TIMESTAMP '-infinity' AS
never, DATE '0044-03-15 BC' AS ides, ARRAY['sad']::mood[] AS moods, 7::small_number AS dom,
E'tab\\t"quote''\\\\'::text AS odd
FROM generate_series(1, 1500) g"""


def shape(clinic, name: str) -> dict[str, str]:
    rows = clinic.ask(
        "SELECT attname::text, format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = "
        f"'{name}'::regclass AND attnum > 0"
    )
    return dict(rows)


def test_types_and_values_stay(clinic):
    clinic.ask("CREATE TYPE mood AS ENUM ('sad', 'ok', 'glad')", "CREATE DOMAIN small_number AS int CHECK (VALUE < 9)")
    clinic.ask(TYPES)
    days = [datetime.date(2020, 1, 30) + datetime.timedelta(days=n) for n in range(3)]
    secrets = {
        "smokes": lw.identity(["no", "yes"]),
        "small": lw.identity([0, 1]),
        "mood": lw.identity(["sad", "ok"]),
        "exact": lw.identity([Decimal(n) + Decimal("0.25") for n in range(5)]),
        "day": lw.identity(days),
        "truth": lw.identity([False, True]),
        "tz": lw.identity([datetime.datetime(2020, 1, 31, 8, 0, 0, 123000, tzinfo=datetime.UTC)]),
    }
    out = lw.SqlTable(clinic.uri, "released")
    lw.release(lw.SqlTable(clinic.uri, "kinds"), secrets, out=out)
    before, after = shape(clinic, "kinds"), shape(clinic, "released")
    assert after.pop("exact") == "numeric"  # outcomes are any numbers
    assert after.pop("tz") == "timestamp with time zone"
    del before["exact"], before["tz"]
    assert after == before
    same = "SELECT count(*) FROM kinds k JOIN released r USING (id) WHERE to_jsonb(k) = to_jsonb(r)"
    assert clinic.ask(same) == [(1500,)]
    # An enum whose outcomes are no labels of it becomes a text.
    named = lw.Mechanism([[1, 0], [0, 1]], inputs=["sad", "ok"], outputs=["{sad}", "{ok}"])
    lw.release(lw.SqlTable(clinic.uri, "kinds"), named, "mood", out=lw.SqlTable(clinic.uri, "sets"))
    assert shape(clinic, "sets")["mood"] == "text"


def test_a_type_that_the_other_database_has_not_is_said_before_anything_is_drawn(clinic, published):
    clinic.ask("CREATE TYPE mood AS ENUM ('sad', 'ok')", "CREATE TABLE m AS SELECT 'no' AS s, 'ok'::mood AS mood")
    out = lw.SqlTable(published.uri, "m_out")
    with pytest.raises(lw.InvalidInput, match=r"'mood' has the type public\.mood, which .* does not have"):
        lw.release(lw.SqlTable(clinic.uri, "m"), YES_NO, "s", out=out)
    assert tables(published) == set()


def test_a_driver_that_writes_numbers_wrong_is_refused(clinic, people, monkeypatch):
    monkeypatch.setattr(postgres_session, "version", lambda name: "1.10.0")
    with pytest.raises(lw.MissingExtra, match=r"1\.11 or newer: 1\.10\.0, .* writes decimal numbers wrong"):
        lw.estimate(people, YES_NO, "smokes")


def test_values_without_a_name_in_python_are_refused(clinic):
    clinic.ask(
        "CREATE TABLE odd AS SELECT DATE 'infinity' AS d, TIMESTAMP '-infinity' AS t, DATE '0044-03-15 BC' AS b, "
        "'Infinity'::numeric AS n, 'NaN'::numeric AS m"
    )
    source, out = lw.SqlTable(clinic.uri, "odd"), lw.SqlTable(clinic.uri, "o")
    day = lw.identity([datetime.date(2020, 1, 1), None])
    for column in "db":
        with pytest.raises(lw.InvalidInput, match="infinite, or not within the years 1 to 9999"):
            lw.release(source, day, column, out=out)
    with pytest.raises(lw.InvalidInput, match="infinite, or not within the years"):
        lw.release(source, lw.identity([datetime.datetime(2020, 1, 1), None]), "t", out=out)
    with pytest.raises(lw.InvalidInput, match="contains infinity"):
        lw.release(source, lw.identity([Decimal(1), None]), "n", out=out)
    lw.release(source, lw.identity([Decimal(1), None]), "m", out=out)  # not a number is missing
    assert clinic.ask("SELECT m IS NULL FROM o") == [(True,)]


# -------------------------------------------------------------------------------------------------------- one moment


def test_both_reads_see_the_rows_of_one_moment(clinic, people):
    """Between the check and the writing others change the table: what was checked is released."""

    def meddle(stage: str, done: int, total: int | None) -> None:
        if stage == "checking":
            clinic.ask(
                "DELETE FROM people WHERE id % 2 = 0",
                "UPDATE people SET smokes = 'perhaps', age = 1000",
                "INSERT INTO people VALUES (5000, 'unknown', 1)",
            )

    lw.release(people, lw.identity(["no", "yes"]), "smokes", out=lw.SqlTable(clinic.uri, "o"), progress=meddle)
    rows = clinic.ask("SELECT id, smokes, age FROM o ORDER BY id")
    assert rows == [(one, "yes" if one <= 1000 else "no", one % 90) for one in range(1, ROWS + 1)]
    assert sessions(clinic) == 0


def test_a_table_cannot_be_dropped_or_changed_while_it_is_released(clinic, people):
    def meddle(stage: str, done: int, total: int | None) -> None:
        if stage == "checking":
            for statement in ("DROP TABLE people", "ALTER TABLE people ADD COLUMN told text", "CLUSTER people USING i"):
                with pytest.raises(Exception, match="lock timeout"):
                    clinic.ask("SET lock_timeout = '50ms'", statement)

    clinic.ask("CREATE INDEX i ON people (smokes)")
    lw.release(people, YES_NO, "smokes", out=lw.SqlTable(clinic.uri, "o"), progress=meddle)
    clinic.ask("DROP TABLE people")  # and can afterwards


def test_a_release_that_fails_early_leaves_no_session(clinic, people):
    with pytest.raises(lw.InvalidInput, match="outside the declared domain"):
        lw.release(people, lw.identity(["no"]), "smokes", out=lw.SqlTable(clinic.uri, "o"))
    with pytest.raises(lw.LeakwiseError):
        lw.protect(people, "smokes", prior={"no": 1.0}, lift=2, out=lw.SqlTable(clinic.uri, "o"))
    assert sessions(clinic) == 0


# ----------------------------------------------------------------------------------------------- whole or not at all


class Stopped(Exception):
    pass


@pytest.mark.parametrize("overwrite", [False, True])
def test_failing_midway_leaves_everything_as_it_was(clinic, people, overwrite):
    if overwrite:
        clinic.ask("CREATE TABLE o AS SELECT 'the first release' AS was")
    before = tables(clinic)

    def stop(stage: str, done: int, total: int | None) -> None:
        if stage == "writing":
            raise Stopped

    with pytest.raises(Stopped):
        lw.release(people, YES_NO, "smokes", out=lw.SqlTable(clinic.uri, "o"), overwrite=overwrite, progress=stop)
    assert tables(clinic) == before
    assert sessions(clinic) == 0
    if overwrite:
        assert clinic.ask("SELECT * FROM o") == [("the first release",)]
        lw.release(people, YES_NO, "smokes", out=lw.SqlTable(clinic.uri, "o"), overwrite=True)
        assert clinic.ask("SELECT count(*) FROM o") == [(ROWS,)]
        assert tables(clinic) == before


def test_a_server_that_ends_the_session_leaves_nothing(clinic, people):
    def end(stage: str, done: int, total: int | None) -> None:
        if stage == "writing":
            clinic.ask("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'leakwise'")

    with pytest.raises(lw.InvalidInput, match="says: "):
        lw.release(people, YES_NO, "smokes", out=lw.SqlTable(clinic.uri, "o"), progress=end)
    assert tables(clinic) == {"public.people"}


def test_a_table_that_someone_made_meanwhile_is_not_replaced(clinic, people):
    def make(stage: str, done: int, total: int | None) -> None:
        if stage == "writing":
            clinic.ask("CREATE TABLE IF NOT EXISTS o AS SELECT 'of someone else' AS was")

    with pytest.raises(lw.InvalidInput, match='"o" already exists'):
        lw.release(people, YES_NO, "smokes", out=lw.SqlTable(clinic.uri, "o"), progress=make)
    assert clinic.ask("SELECT * FROM o") == [("of someone else",)]


def test_a_second_release_takes_the_place_of_the_first_on_request_only(clinic, people):
    out = lw.SqlTable(clinic.uri, "o")
    lw.release(people, YES_NO, "smokes", out=out)
    with pytest.raises(lw.InvalidInput, match=r"exists already .* reveals more than the first alone"):
        lw.release(people, YES_NO, "smokes", out=out)
    clinic.ask("CREATE VIEW uses AS TABLE o")
    with pytest.raises(lw.InvalidInput, match="other objects depend on it"):
        lw.release(people, YES_NO, "smokes", out=out, overwrite=True)


@pytest.mark.parametrize("name", ["people", "public.people"])
@pytest.mark.parametrize("spelling", ["{0}", "{0}&connect_timeout=3", "postgres://postgres@/{1}?host={2}"])
def test_the_table_itself_is_never_written_over(clinic, people, name, spelling):
    out = lw.SqlTable(spelling.format(clinic.uri, clinic.name, clinic.server.folder), name)
    with pytest.raises(lw.InvalidInput, match="out must not be the table itself"):
        lw.release(people, YES_NO, "smokes", out=out, overwrite=True)


def test_a_table_that_the_source_is_made_of_is_not_dropped(clinic, people, monkeypatch):
    """The source is a view of the target: what is read stays locked, so that it cannot be lost."""
    monkeypatch.setitem(postgres_session.SESSION, "lock_timeout", "100ms")
    clinic.ask("CREATE FUNCTION all_people() RETURNS SETOF people LANGUAGE plpgsql AS "
               "'BEGIN RETURN QUERY SELECT * FROM people; END'",
               "CREATE VIEW seen AS SELECT id, smokes FROM all_people()")  # fmt: skip
    with pytest.raises(lw.InvalidInput, match=r"lock timeout|depend"):
        lw.release(lw.SqlTable(clinic.uri, "seen"), YES_NO, "smokes", out=people, overwrite=True)
    assert clinic.ask("SELECT count(*) FROM people") == [(ROWS,)]


# --------------------------------------------------------------------------------------------------- names and rights


def test_names_are_names(clinic):
    clinic.ask(
        'CREATE SCHEMA "My ""Own"".Schema"',
        'CREATE TABLE "My ""Own"".Schema"."Odd;--" AS SELECT \'no\' AS "s"";--", 1 AS "Ünï.x"',
        "CREATE TABLE \"dotted.name\" AS SELECT 'yes' AS s",
        "CREATE SCHEMA dotted",
        "CREATE TABLE dotted.name AS SELECT 'no' AS s",
        "CREATE TABLE \"UPPER\" AS SELECT 'no' AS s",
    )
    same = lw.identity(["no", "yes"])
    lw.release(lw.SqlTable(clinic.uri, "dotted.name"), same, "s", out=lw.SqlTable(clinic.uri, "dotted.out"))
    assert clinic.ask("SELECT s FROM dotted.out") == [("yes",)]  # a table of this very name comes first
    source = lw.SqlTable(clinic.uri, "Odd;--")
    with pytest.raises(lw.InvalidInput, match="is not a table of"):
        source.names  # noqa: B018
    with pytest.raises(lw.InvalidInput, match="Did you mean 'UPPER'"):
        lw.SqlTable(clinic.uri, "UPPR").names  # noqa: B018
    clinic.ask('ALTER SCHEMA "My ""Own"".Schema" RENAME TO "My ""Own"" Schema"')
    source = lw.SqlTable(clinic.uri, 'My "Own" Schema.Odd;--')
    assert source.names == ['s";--', "Ünï.x"]
    out = lw.SqlTable(clinic.uri, 'out"; DROP TABLE x; --')
    lw.release(source, same, 's";--', out=out)
    assert lw.estimate(out).sample_size == 1
    with pytest.raises(lw.InvalidInput, match="at most 63 bytes"):
        lw.release(source, same, 's";--', out=lw.SqlTable(clinic.uri, "ü" * 32))


def test_rights_that_are_missing_are_said(clinic, people, server):
    server.ask("DROP ROLE IF EXISTS weak", "CREATE ROLE weak LOGIN")
    weak = server.uri(clinic.name, "weak")
    with pytest.raises(lw.InvalidInput, match="permission denied for table people"):
        lw.release(lw.SqlTable(weak, "people"), YES_NO, "smokes", out=lw.SqlTable(clinic.uri, "o"))
    with pytest.raises(lw.InvalidInput, match="You may not make tables in the schema 'public'"):
        lw.release(people, YES_NO, "smokes", out=lw.SqlTable(weak, "o"))
    clinic.ask("CREATE TABLE o AS SELECT 1 AS mine")
    with pytest.raises(lw.InvalidInput, match=r"must be owner|permission denied"):
        lw.release(people, YES_NO, "smokes", out=lw.SqlTable(weak, "o"), overwrite=True)
    assert tables(clinic) == {"public.people", "public.o"}


def test_other_kinds_of_databases_are_refused(clinic, people, tmp_path):
    other = lw.SqlTable(tmp_path / "o.duckdb", "o")
    (tmp_path / "t.csv").write_text("smokes\nno\n")
    for source, out, words in (
        (people, other, "out must be a database of the same kind"),
        (people, None, "out must be a table of a database too: .*, or the path of a file"),
        (tmp_path / "t.csv", other, "or a table of PostgreSQL"),
    ):
        with pytest.raises(lw.InvalidInput, match=words):
            lw.release(source, YES_NO, "smokes", out=out)


# ------------------------------------------------------------------------------------------------ what comes after it


def test_the_mechanism_is_found_again_in_the_comment(clinic, people):
    out = lw.SqlTable(clinic.uri, "o")
    lw.release(people, YES_NO, "smokes", out=out)
    found = lw.estimate(out)
    assert found.sample_size == ROWS
    assert found.frequencies[1] == pytest.approx(0.25, abs=0.1)
    # A release of a release carries both, one after the other.
    lw.release(out, YES_NO, "smokes", out=lw.SqlTable(clinic.uri, "twice"))
    ((note,),) = clinic.ask("SELECT obj_description('twice'::regclass)")
    told = json.loads(note[note.index("{") :])["secrets"]
    assert [one["columns"] for one in told] == [["smokes"]]
    twice = lw.estimate(lw.SqlTable(clinic.uri, "twice"))
    assert twice.standard_error[0] > 1.5 * found.standard_error[0]
    clinic.ask("COMMENT ON TABLE o IS 'a note of somebody else'")
    with pytest.raises(lw.InvalidInput, match="mechanism must be given"):
        lw.estimate(out)


def test_regression_joint_tables_and_groups(clinic, people):
    clinic.ask("ALTER TABLE people ALTER age TYPE numeric(5, 1)", "ALTER TABLE people ADD sex text DEFAULT 'f'",
               "UPDATE people SET sex = 'm' WHERE id % 3 = 0")  # fmt: skip
    out = lw.SqlTable(clinic.uri, "o")
    lw.release(people, {"smokes": YES_NO, "sex": lw.randomized_response(["f", "m"], lift=1.8)}, out=out)
    fitted = lw.regress("smokes ~ age", out)
    assert fitted.sample_size == ROWS
    assert lw.estimate(out, {"smokes": None, "sex": None}).sample_size == ROWS
    grouped: Any = lw.estimate(out, YES_NO, "smokes", by="age")
    assert len(list(grouped)) == 90
