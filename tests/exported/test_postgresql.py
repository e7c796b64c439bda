"""A mechanism as functions of PostgreSQL draws what Python draws, once for each row, and only from pgcrypto."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy.special import chdtrc

import leakwise as lw
from exported.mechanisms import HOSTILE, UNSTRATIFIED, by_strata, rounded, telling_words
from leakwise.sampling import SecureStream
from postgres_server import Database

Install = Callable[[str], str]
FALSE_ALARM = 1e-9


def ingested(database: Database, name: str, columns: dict[str, Any]) -> None:
    from adbc_driver_postgresql import dbapi

    words = np.asarray(columns.pop("word"), dtype=np.uint64).astype("<u8").tobytes()
    bytes_of = pa.array([words[at : at + 8] for at in range(0, len(words), 8)], pa.binary())
    table = pa.table({"n": np.arange(len(bytes_of)), "word": bytes_of, **columns})
    with dbapi.connect(database.uri, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.adbc_ingest(name, table, mode="create")


def drawn(database: Database, call: str, table: str) -> list[Any]:
    return [outcome for (outcome,) in database.ask(f"SELECT {call} FROM {table} ORDER BY n")]


@pytest.mark.filterwarnings("ignore::leakwise.errors.LeakwiseWarning")  # some rule values out, and say so
def test_every_kind_of_mechanism_draws_the_same_at_the_ends_of_its_outcomes(
    answers: Database, install: Install
) -> None:
    for place, (name, mechanism) in enumerate(UNSTRATIFIED.items()):
        sampler = lw.export(mechanism, "sql", name=f"draw_{place}")
        assert install(sampler.source) == ""
        words = telling_words(mechanism)
        values = [value for value in mechanism.inputs for _ in words]
        ingested(answers, f"t{place}", {"word": words * len(mechanism.inputs), "value": values})
        expected = sampler.draw_from_words(values, words * len(mechanism.inputs))
        assert drawn(answers, f"draw_{place}_from(word, value)", f"t{place}") == expected, name


def test_strata_choose_the_same_mechanism_and_refuse_the_same_values(answers: Database, install: Install) -> None:
    mechanism = by_strata()
    sampler = lw.export(mechanism, "sql")
    assert install(sampler.source) == ""
    cases = [
        (word, value, sex, age)
        for word in telling_words(mechanism)
        for value in mechanism.inputs
        for sex in ("f", "m", "it's $1", "not declared")
        for age in (0.0, 18.499, 18.5, 64.0, 65.0, 1e9, -1.0)
        if not (sex == "m" and 0 <= age < 18.5 and value == "yes")
    ]
    word, value, sex, age = (list(column) for column in zip(*cases, strict=True))
    ingested(answers, "t", {"word": word, "value": value, "sex": sex, "age": age})
    expected = sampler.draw_from_words(value, word, {"sex": sex, "age": age})
    assert drawn(answers, "leakwise_draw_from(word, value, sex, age)", "t") == expected
    named = "leakwise_draw(value => 'no', sex => 'f', age => 3)"
    assert drawn(answers, named, "(SELECT 1 AS n) AS one")[0] in ("no", "yes", None)
    with pytest.raises(Exception, match="value cannot occur with these given values"):
        answers.ask("SELECT leakwise_draw('yes', 'm', 3)")


def test_a_hundred_thousand_draws_are_those_of_python(answers: Database, install: Install) -> None:
    """From the words of the stream that releases draw from, with a seed; benchmarks/exported.py does a million."""
    count, mechanism = 100_000, rounded(5, 7, seed=2)
    with pytest.warns(lw.LeakwiseWarning, match="rules some values out"):
        sampler = lw.export(mechanism, "sql")
    assert install(sampler.source) == ""
    with pytest.warns(lw.UnsafeSeedWarning):
        stream = SecureStream(unsafe_seed=29)
    words, values = stream.words(count, 64), stream.words(count, 16) % 5
    ingested(answers, "t", {"word": words, "value": values.astype(np.int64)})
    assert drawn(answers, "leakwise_draw_from(word, value)", "t") == sampler.draw_from_words(values, words)


def test_the_secure_draw_has_the_probabilities_of_the_mechanism(answers: Database, install: Install) -> None:
    mechanism = UNSTRATIFIED["a common distribution"]
    assert install(lw.export(mechanism, "sql").source) == ""
    rows = answers.ask(
        "SELECT value, leakwise_draw(value), count(*) FROM generate_series(1, 20000), "
        "unnest(ARRAY['no', 'yes', 'rather not say']) AS value GROUP BY 1, 2"
    )
    counts = {(value, outcome): count for value, outcome, count in rows}
    for value, row in zip(mechanism.inputs, mechanism.matrix, strict=True):
        met = np.array([counts[value, outcome] for outcome in mechanism.outputs])
        assert chdtrc(len(met) - 1, ((met - row * 20_000) ** 2 / (row * 20_000)).sum()) > FALSE_ALARM


@pytest.mark.parametrize("setting", ["on", "off"])
def test_labels_stay_labels_whatever_the_server_makes_of_backslashes(
    answers: Database, install: Install, setting: str
) -> None:
    labels = [label for label in HOSTILE if "\0" not in label]
    with pytest.warns(lw.LeakwiseWarning, match="rules some values out"):
        sampler = lw.export(lw.identity(labels), "sql")
    assert sampler.source.isascii()
    answers.ask("CREATE TABLE truth (value text)")
    # Of the settings of a session that read quotations otherwise, the worst.
    session = f"SET standard_conforming_strings = {setting}; SET escape_string_warning = off; "
    assert install(session + "SET backslash_quote = on;\n" + sampler.source) == ""
    assert answers.ask("SELECT count(*) FROM truth") == [(0,)]
    ingested(answers, "t", {"word": [0] * len(labels), "value": labels})
    assert drawn(answers, "leakwise_draw(value)", "t") == labels


def test_names_of_given_columns_stay_names_and_a_zero_byte_is_refused(answers: Database, install: Install) -> None:
    given = {name: ["a", "b"] for name in ["sex", "value", "word", *HOSTILE[:17]]}
    every = {("a",) * 20: lw.randomized_response(["no", "yes"], lift=3)}
    sampler = lw.export(lw.StratifiedMechanism(every, given=given), "sql")
    assert sampler.source.isascii()
    assert install(sampler.source) == ""
    assert answers.ask(f"SELECT leakwise_draw('no', {', '.join(['$$a$$'] * 20)})")[0][0] in ("no", "yes")
    with pytest.raises(lw.InvalidInput, match="zero byte"):
        lw.export(lw.randomized_response(["a\0b", "c"], lift=2), "sql")


def test_what_is_refused_is_not_told(answers: Database, install: Install) -> None:
    assert install(lw.export(UNSTRATIFIED["a common distribution"], "sql").source) == ""
    ingested(answers, "truth", {"word": [0, 1, 2], "value": ["HIV", None, "NO"]})
    for row in range(3):
        with pytest.raises(Exception, match="value is not in the domain") as refused:
            answers.ask(f"CREATE TABLE outcomes AS SELECT leakwise_draw(value) FROM truth WHERE n = {row}")
        assert "HIV" not in str(refused.value)
    for word in ("'\\x00'", "NULL", "'\\x000000000000000000'"):
        with pytest.raises(Exception, match="word must be eight bytes"):
            answers.ask(f"CREATE TABLE outcomes AS SELECT leakwise_draw_from({word}, 'no')")


def test_equal_by_a_collation_is_not_equal(answers: Database, install: Install) -> None:
    assert install(lw.export(UNSTRATIFIED["a common distribution"], "sql").source) == ""
    answers.ask("CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level1', deterministic = false)")
    assert answers.ask("SELECT 'NO' COLLATE loose = 'no'") == [(True,)]
    with pytest.raises(Exception, match="value is not in the domain"):
        answers.ask("SELECT leakwise_draw('NO' COLLATE loose)")


def test_a_row_is_drawn_once_and_a_view_draws_at_every_look(answers: Database, install: Install) -> None:
    """Why the first lines warn: what is written stays, and what is computed at each look averages the noise away."""
    assert install(lw.export(UNSTRATIFIED["a common distribution"], "sql").source) == ""
    rows = 1000
    answers.ask(
        f"CREATE TABLE truth AS SELECT n, 'no' AS value FROM generate_series(1, {rows}) AS n",
        "CREATE TABLE outcomes AS SELECT n, leakwise_draw(value) AS outcome FROM truth",
        "CREATE VIEW again AS SELECT n, leakwise_draw(value) AS outcome FROM truth",
    )
    looks = "SELECT count(*) FROM {0} AS a JOIN {0} AS b USING (n) WHERE a.outcome <> b.outcome"
    assert answers.ask(looks.format("outcomes")) == [(0,)]
    assert answers.ask(looks.format("again"))[0][0] > rows / 4
    # The two uses of a column of a subquery are one draw: the planner does not copy what is volatile.
    for drawing in (
        "SELECT outcome AS x, outcome AS y FROM (SELECT leakwise_draw(value) AS outcome FROM truth) AS s",
        "WITH s AS (SELECT leakwise_draw(value) AS outcome FROM truth) SELECT outcome AS x, outcome AS y FROM s",
        "SELECT outcome AS x, outcome AS y FROM truth CROSS JOIN LATERAL (SELECT leakwise_draw(value) AS outcome) AS s",
        "SELECT outcome AS x, outcome AS y FROM again ORDER BY outcome",
    ):
        assert answers.ask(f"SELECT count(*) FROM ({drawing}) AS t WHERE x <> y") == [(0,)], drawing
    # A join is another matter: it can go through the subquery once for each row of the other side, and draw each time.
    drawing = "(SELECT n, leakwise_draw(value) AS outcome FROM truth WHERE n < 50) AS s"
    joined = f"generate_series(1, 50) AS g LEFT JOIN {drawing} ON n <> g"
    several = f"SELECT max(c) FROM (SELECT count(DISTINCT outcome) AS c FROM {joined} GROUP BY n) AS t"
    assert answers.ask("SET enable_material = off", several) == [(3,)]
    kinds = "SELECT provolatile, proparallel FROM pg_proc WHERE proname = 'leakwise_draw'"
    assert answers.ask(kinds) == [("v", "s")] or answers.ask(kinds) == [(b"v", b"s")]
    # What must not change is refused to a function that does: neither an index nor a generated column can have it.
    for wrong in (
        "CREATE INDEX ON truth (leakwise_draw(value))",
        "ALTER TABLE truth ADD outcome text GENERATED ALWAYS AS (leakwise_draw(value)) STORED",
    ):
        with pytest.raises(Exception, match=r"must be marked IMMUTABLE|is not immutable"):
            answers.ask(wrong)


def test_a_view_with_the_draw_fails_for_its_readers(answers: Database, install: Install) -> None:
    """Someone who may read the view, and not call the function, cannot repeat the draw."""
    assert install(lw.export(UNSTRATIFIED["a common distribution"], "sql").source) == ""
    answers.ask(
        "DROP ROLE IF EXISTS reader, collector",
        "CREATE ROLE reader",
        "CREATE ROLE collector",
        "CREATE TABLE truth AS SELECT 'no' AS value",
        "CREATE TABLE outcomes AS SELECT leakwise_draw(value) AS outcome FROM truth",
        "CREATE VIEW again AS SELECT leakwise_draw(value) AS outcome FROM truth",
        "CREATE VIEW pure AS SELECT leakwise_draw_from(gen_random_bytes(8), value) AS outcome FROM truth",
        "GRANT SELECT ON outcomes, again, pure TO reader",
        "GRANT INSERT ON outcomes TO collector",
        "GRANT EXECUTE ON FUNCTION leakwise_draw(text), leakwise_draw_from(bytea, text) TO collector",
    )
    for view in ("again", "pure"):
        with pytest.raises(Exception, match="permission denied for function leakwise_draw"):
            answers.ask("SET ROLE reader", f"SELECT outcome FROM {view}")
    assert len(answers.ask("SET ROLE reader", "SELECT outcome FROM outcomes")) == 1
    answers.ask("SET ROLE collector", "INSERT INTO outcomes VALUES (leakwise_draw('yes'))")
    assert answers.ask("SELECT count(*) FROM outcomes") == [(2,)]
    answers.ask("DROP OWNED BY reader, collector", "DROP ROLE reader, collector")


def test_processes_that_share_the_work_draw_for_themselves(
    answers: Database, install: Install, psql: Callable[[str], Any]
) -> None:
    """As PARALLEL SAFE says: no worker repeats the randomness of another."""
    uniform = lw.Mechanism([[Fraction(1, 256)] * 256], inputs=["only"], outputs=list(range(256)))
    assert install(lw.export(uniform, "sql").source) == ""
    answers.ask(
        "CREATE TABLE truth AS SELECT 'only' AS value FROM generate_series(1, 20000)",
        "ALTER TABLE truth SET (parallel_workers = 2)",
    )
    settings = ("parallel_setup_cost = 0", "parallel_tuple_cost = 0", "parallel_leader_participation = off")
    script = "".join(f"SET {setting};\n" for setting in settings)
    script += "EXPLAIN (ANALYZE, COSTS off, TIMING off) SELECT leakwise_draw(value) FROM truth;\n"
    script += "CREATE TABLE outcomes AS SELECT leakwise_draw(value) AS outcome FROM truth;\n"
    assert "Workers Launched: 2" in psql(script).stdout
    drawn = [one for (one,) in answers.ask("SELECT outcome FROM outcomes")]
    met = np.bincount(drawn, minlength=256)
    assert met.sum() == 20_000
    assert chdtrc(255, ((met - 20_000 / 256) ** 2).sum() * 256 / 20_000) > FALSE_ALARM
    # Eight draws of a process in a row are 64 bits: where two processes drew the same, such runs come twice.
    runs = [tuple(drawn[at : at + 8]) for at in range(len(drawn) - 8)]
    assert len(set(runs)) == len(runs)


def test_nothing_is_created_without_pgcrypto_and_a_function_of_its_name_is_not_taken_for_it(
    answers: Database, install: Install
) -> None:
    answers.ask("DROP EXTENSION pgcrypto")
    answers.ask("CREATE FUNCTION gen_random_bytes(integer) RETURNS bytea LANGUAGE sql AS $$ SELECT '\\x00'::bytea $$")
    script = lw.export(UNSTRATIFIED["a common distribution"], "sql").source
    assert "gen_random_bytes of pgcrypto is not here, and random() is not secure" in install(script)
    assert answers.ask("SELECT count(*) FROM pg_proc WHERE proname ~ '^leakwise'") == [(0,)]


def test_a_function_in_another_schema_cannot_take_the_place_of_the_generator(
    answers: Database, install: Install
) -> None:
    zero = "LANGUAGE sql AS $$ SELECT '\\x0000000000000000'::bytea $$"
    answers.ask(
        "CREATE SCHEMA secure",
        "ALTER EXTENSION pgcrypto SET SCHEMA secure",
        f"CREATE FUNCTION public.gen_random_bytes(integer) RETURNS bytea {zero}",
        "CREATE FUNCTION public.get_byte(bytea, integer) RETURNS integer LANGUAGE sql AS 'SELECT 0'",
    )
    script = lw.export(UNSTRATIFIED["a common distribution"], "sql").source
    assert install(script) == ""
    calls = "SELECT count(DISTINCT leakwise_draw('no')) FROM generate_series(1, 200)"
    answers.ask("ALTER DATABASE answers SET search_path = public, pg_catalog")
    try:
        assert answers.ask(calls) == [(3,)]
    finally:
        answers.ask("ALTER DATABASE answers RESET search_path")
    # A second sampler of the same name is refused, and the first stays.
    assert "already exists" in install(script)
    assert answers.ask(calls) == [(3,)]


def test_bins_dates_and_numbers_take_what_python_takes(answers: Database, install: Install) -> None:
    infinite, moment = float("inf"), datetime.datetime(2024, 1, 31, 12, 30)
    kinds: list[tuple[Any, list[Any], list[str]]] = [
        (lw.bins([-1, 0, 1.5, 10]), [-1, -0.5, 0, 1.5, 10], ["-1.1", "10.1", "'NaN'", "'Infinity'", "NULL"]),
        (
            lw.bins([-infinite, 0, infinite]).with_missing(),
            [-1e308, 0, 5, None],
            ["'NaN'", "'-Infinity'", "'Infinity'"],
        ),
        (
            lw.bins("2024-01", "2024-03", "month"),
            ["2024-01-01", "2024-02-29", "2024-03-31"],
            ["'2024-04-01'", "'2023-12-31'", "'infinity'", "NULL"],
        ),
        ([2**70, Decimal("1.50"), 3], [2**70, Decimal("1.5"), 3], ["4", "NULL"]),
        ([moment, moment.replace(year=1999)], [moment], ["'2024-01-31'"]),
    ]
    for place, (domain, told, others) in enumerate(kinds):
        sampler = lw.export(lw.randomized_response(domain, lift=3), "sql", name=f"draw_{place}")
        assert install(sampler.source) == ""
        call = f"SELECT draw_{place}_from('\\x0000000000000080', {{}})::text"
        for value in told:
            literal = "NULL" if value is None else repr(str(value)) if isinstance(value, str | datetime.date) else value
            (expected,) = sampler.draw_from_words([value], [2**63])
            assert answers.ask(call.format(literal)) == [(None if expected is None else str(expected),)], value
        for other in others:
            with pytest.raises(Exception, match="value is not in the domain"):
                answers.ask(call.format(other))


def test_the_database_shows_the_guarantee(answers: Database, install: Install) -> None:
    sampler = lw.export(UNSTRATIFIED["a common distribution"], "sql", name="draw_smokes")
    assert install(sampler.source) == ""
    (said,) = answers.ask("SELECT obj_description('draw_smokes'::regproc)")[0]
    assert said == f"{sampler.guarantee} (Leakwise, mechanism {sampler.checksum})"


def test_what_has_no_secure_generator_or_no_type_is_refused_with_the_reason() -> None:
    mechanism = UNSTRATIFIED["a common distribution"]
    for dialect, reason in {
        "sqlite": "nothing says that they are secure",
        "DuckDB": "not a cryptographic generator",
        "mysql": "dialect must be 'postgresql'",
    }.items():
        with pytest.raises(lw.InvalidInput, match=reason):
            lw.export(mechanism, "sql", dialect=dialect)
    for labels in (["a", 1], [("a", 1), ("b", 2)], [True, 5]):
        with pytest.raises(lw.InvalidInput, match="a column of PostgreSQL has one type"):
            lw.export(lw.randomized_response(labels, lift=2), "sql")


def test_the_first_lines_say_what_is_guaranteed_and_that_a_view_is_not_safe() -> None:
    source = lw.export(UNSTRATIFIED["a common distribution"], "sql").source
    said = " ".join(re.sub(r"^-- ?", "", line) for line in source.splitlines() if line.startswith("--"))
    assert "No guess about the secret becomes more than 3 times as likely by seeing the outcome, for anyone" in said
    assert "Never put this function into a view" in said
    assert 'INSERT INTO outcomes SELECT "leakwise_draw"(value) FROM truth;' in said
