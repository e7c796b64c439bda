"""Releases of tables whose row order tells the secret: refused, warned of, or shuffled, for every kind of source."""

from __future__ import annotations

import contextlib
import itertools
import json
import sqlite3
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
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
from leakwise.sampling import SecureStream, random_order
from leakwise.sampling.order import _by_words
from leakwise.tables.release.shuffle import shuffled

ROWS = 2_000
PRIOR = lw.Prior({"no": 0.7, "yes": 0.3})
# The ids of these tables tell the secret, as the order does: what is released beside them holds for anyone.
ANYONE = lw.AllPriors(PRIOR)
pytestmark = pytest.mark.filterwarnings("ignore:'id' says what smokes is:leakwise.errors.LeakwiseWarning")
EXACT = lw.identity(["no", "yes"])
SORTED = ["yes"] * 600 + ["no"] * 1_400
TABLE = {"smokes": SORTED, "id": list(range(ROWS))}


def guessed(smokes: Any) -> float:
    """How often a guess by position alone is right: the best change point between two runs of one value each."""
    truth = np.asarray(smokes) == "yes"
    before = np.concatenate([[0], np.cumsum(truth)])
    right = before + (len(truth) - before[-1]) - (np.arange(len(truth) + 1) - before)
    return float(np.maximum(right, len(truth) - right).max()) / len(truth)


KINDS: dict[str, Any] = {
    "mapping": lambda: dict(TABLE),
    "pandas": lambda: pd.DataFrame(TABLE),
    "polars": lambda: pl.DataFrame(TABLE),
    "lazy": lambda: pl.LazyFrame(TABLE),
    "arrow": lambda: pa.table(TABLE),
    "relation": lambda: duckdb.sql("SELECT * FROM sorted_rows"),
}


@pytest.fixture
def sorted_rows() -> Any:
    duckdb.register("sorted_rows", pa.table(TABLE))
    yield
    duckdb.unregister("sorted_rows")


@pytest.mark.usefixtures("sorted_rows")
@pytest.mark.parametrize("kind", KINDS)
def test_a_sorted_table_in_memory(kind):
    with pytest.raises(lw.InvalidInput, match=r'order="shuffle".*order="keep".*sort the table by other columns'):
        lw.protect(KINDS[kind](), "smokes", prior=ANYONE, lift=1.1)
    with pytest.warns(lw.RowOrderWarning, match="come in 1 run"):
        lw.release(KINDS[kind](), EXACT, "smokes")
    kept = lw.protect(KINDS[kind](), "smokes", prior=ANYONE, lift=1.1, order="keep", allow_certainty=True)
    assert columns(kept.table)[1] == list(range(ROWS))
    assert "kept on request" in repr(kept)
    smokes, ids = columns(lw.release(KINDS[kind](), EXACT, "smokes", order="shuffle"))
    assert sorted(ids) == list(range(ROWS))
    # Rows stay whole, and where they stand says nothing.
    assert smokes == [SORTED[place] for place in ids]
    assert guessed(smokes) < 0.75
    made = lw.protect(KINDS[kind](), "smokes", prior=ANYONE, lift=1.1, order="shuffle", allow_certainty=True)
    assert "random" in repr(made)
    assert lw.release(columns(made.table)[1], lw.identity(list(range(ROWS)))) != list(range(ROWS))


def columns(table: Any) -> tuple[list[Any], list[Any]]:
    table = table.collect() if isinstance(table, pl.LazyFrame) else table
    return tuple(
        column.to_pylist() if hasattr(column, "to_pylist") else list(column)
        for column in (table["smokes"], table["id"])
    )


@pytest.mark.parametrize("kind", [list, tuple, np.array, pd.Series, pd.Index, pd.Categorical, pl.Series, pa.array])
def test_a_sorted_column(kind):
    with pytest.raises(lw.InvalidInput, match="Three ways out"):
        lw.protect(kind(SORTED), prior=PRIOR, lift=1.1)
    with pytest.warns(lw.RowOrderWarning):
        lw.release(kind(SORTED), EXACT)
    out = lw.release(kind(SORTED), EXACT, order="shuffle")
    assert type(out) is type(kind(SORTED))
    values = out.to_pylist() if hasattr(out, "to_pylist") else list(out)
    assert Counter(values) == Counter(SORTED)
    assert values != SORTED


def test_the_index_of_a_shuffled_frame_does_not_tell_the_old_order():
    frame = pd.DataFrame(TABLE, index=[f"row {k}" for k in range(ROWS)])
    out = lw.release(frame, EXACT, "smokes", order="shuffle")
    assert out.index.equals(pd.RangeIndex(ROWS))
    out = lw.release(pd.DataFrame(TABLE), EXACT, "smokes", order="shuffle")
    assert out.index.equals(pd.RangeIndex(ROWS))
    assert out["id"].tolist() != list(range(ROWS))


def test_other_orders_that_tell_are_refused():
    for smokes in (["yes", "no"] * 500, ["yes", "no", "no"] * 400, [["no", "yes"][k // 10 % 2] for k in range(1_000)]):
        with pytest.raises(lw.InvalidInput, match="order"):
            lw.protect({"smokes": smokes}, "smokes", prior=PRIOR, lift=1.1)


def test_an_order_that_tells_nothing_is_released():
    mixed = np.random.default_rng(1).permutation(SORTED)
    done = lw.protect({"smokes": mixed}, "smokes", prior=PRIOR, lift=1.1)
    assert "kept; no sign of the secret found" in repr(done)
    assert done.to_dict()["row_order"] == "kept; no sign of the secret found"


def test_a_joint_secret_and_several_secrets():
    table = {"a": SORTED, "b": np.random.default_rng(2).permutation(SORTED).tolist()}
    pairs = list(itertools.product(["no", "yes"], repeat=2))
    with pytest.raises(lw.InvalidInput, match="reveals 'a' and 'b'"):
        lw.protect(table, ("a", "b"), prior=lw.Prior.uniform(pairs), lift=2)
    with pytest.warns(lw.RowOrderWarning, match="reveals 'a'"):
        lw.release(table, {"a": EXACT, "b": EXACT})


def test_only_known_orders():
    for call in (lambda: lw.release(TABLE, EXACT, "smokes", order="sort"),
                 lambda: lw.protect(TABLE, "smokes", prior=ANYONE, lift=2, order=True)):  # fmt: skip
        with pytest.raises(lw.InvalidInput, match='order must be "shuffle"'):
            call()


# ---------------------------------------------------------------------------------------------------------- files


def write(path: Path, rows: int = ROWS) -> Path:
    table = pa.table({name: column[:rows] for name, column in TABLE.items()})
    frame = table.to_pandas()
    if path.suffix in (".csv", ".tsv"):
        frame.to_csv(path, index=False, sep="," if path.suffix == ".csv" else "\t")
    elif path.suffix == ".jsonl":
        frame.to_json(path, orient="records", lines=True)
    elif path.suffix == ".parquet":
        pq.write_table(table, path, row_group_size=300)
    elif path.suffix == ".arrows":
        with pa.ipc.new_stream(path, table.schema) as writer:
            writer.write_table(table, max_chunksize=300)
    else:
        pa.feather.write_feather(table, path, chunksize=300)
    return path


def read(path: Path) -> tuple[list[str], list[int]]:
    if path.suffix in (".csv", ".tsv"):
        frame = pd.read_csv(path, sep="," if path.suffix == ".csv" else "\t")
    elif path.suffix == ".jsonl":
        frame = pd.read_json(path, lines=True)
    elif path.suffix == ".parquet":
        frame = pd.read_parquet(path)
    elif path.suffix == ".arrows":
        frame = pa.ipc.open_stream(path).read_all().to_pandas()
    else:
        frame = pd.read_feather(path)
    return frame["smokes"].tolist(), frame["id"].tolist()


SUFFIXES = [".csv", ".tsv", ".jsonl", ".parquet", ".feather", ".arrows"]


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("held", [None, 4_000], ids=["in memory", "on disk"])
def test_a_sorted_file(suffix, held, tmp_path, monkeypatch):
    source, out = write(tmp_path / f"t{suffix}"), tmp_path / f"o{suffix}"
    with pytest.raises(lw.InvalidInput, match="reveals 'smokes'"):
        lw.protect(source, "smokes", prior=ANYONE, lift=1.1, out=out)
    assert not out.exists()
    if held is not None:
        monkeypatch.setattr(shuffled, "__kwdefaults__", None)
        monkeypatch.setattr(shuffled, "__defaults__", (None, held))
    with pytest.warns(lw.RowOrderWarning):
        lw.release(source, EXACT, "smokes", out=out)
    assert read(out)[1] == list(range(ROWS))
    lw.release(source, EXACT, "smokes", out=out, overwrite=True, order="shuffle")
    smokes, ids = read(out)
    assert sorted(ids) == list(range(ROWS))
    assert smokes == [SORTED[place] for place in ids]
    assert guessed(smokes) < 0.75
    assert {one.name for one in tmp_path.iterdir()} == {source.name, out.name}


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_the_ledger_knows_a_shuffled_release_by_what_was_written(suffix, tmp_path):
    source, out = write(tmp_path / f"t{suffix}"), tmp_path / f"o{suffix}"
    ledger = lw.Ledger(tmp_path / "ledger.db")
    lw.protect(source, "smokes", prior=ANYONE, lift=1.1, out=out, order="shuffle", ledger=ledger, dataset="d",
               allow_certainty=True)  # fmt: skip
    (entry,) = ledger.entries()
    assert entry.released_digest is not None


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_the_last_line_of_a_shuffled_csv_is_like_the_others(end, tmp_path):
    """It may have had no ending of its own; quotes, blank lines and a byte order mark do no harm."""
    rows = [f'{value},"{place},""x"""' for place, value in enumerate(SORTED)]
    (tmp_path / "t.csv").write_bytes(b"\xef\xbb\xbf" + end.join(["smokes,id", rows[0], "", *rows[1:]]).encode())
    out = lw.release(tmp_path / "t.csv", EXACT, "smokes", out=tmp_path / "o.csv", order="shuffle")
    head, *lines, rest = out.read_bytes().split(end.encode())
    assert head == b"\xef\xbb\xbfsmokes,id"
    assert rest == b""
    assert sorted(lines) == sorted(row.encode() for row in rows)
    assert lines != [row.encode() for row in rows]


def test_the_command(tmp_path):
    source, numbers = tmp_path / "t.csv", np.random.default_rng(9).permutation(ROWS).tolist()
    pd.DataFrame({"smokes": SORTED, "id": numbers}).to_csv(source, index=False)
    words = ["release", str(source), "-c", "smokes", "--domain", "no,yes", "--lift", "1.1", "--prior", "no=0.7,yes=0.3"]
    words += ["--unrelated", "id"]
    refused = CliRunner().invoke(app, words)
    assert refused.exit_code == 2
    assert "--order shuffle" in refused.stderr
    assert {one.name for one in tmp_path.iterdir()} == {"t.csv"}
    done = CliRunner().invoke(app, [*words, "--order", "shuffle", "--json"])
    assert done.exit_code == 0
    assert json.loads(done.stdout)["row_order"] == "random"
    assert read(tmp_path / "t.released.csv")[1] != numbers
    kept = CliRunner().invoke(app, [*words, "--order", "keep", "--overwrite"])
    assert kept.exit_code == 0
    page = (tmp_path / "t.released.report.html").read_text()
    assert "kept on request, without a test" in page
    assert "the position of a row reveals its value" in page


# ---------------------------------------------------------------------------------------------------- databases


@contextlib.contextmanager
def opened(path: Path) -> Any:
    connection = duckdb.connect(str(path)) if path.suffix == ".duckdb" else sqlite3.connect(path)
    with contextlib.closing(connection):
        yield connection
        if path.suffix != ".duckdb":
            connection.commit()


def ask(path: Path, statement: str) -> list[Any]:
    with opened(path) as connection:
        return connection.execute(statement).fetchall()


@pytest.fixture(params=["duckdb", "sqlite"])
def shop(request, tmp_path) -> Path:
    """A table in an order that tells nothing, with an index by the secret; one that is sorted by it; a view."""
    path = tmp_path / f"shop.{request.param}"
    order = np.random.default_rng(3).permutation(ROWS)
    with opened(path) as connection:
        for name, places in (("mixed", order), ("sorted", range(ROWS))):
            connection.execute(f"CREATE TABLE {name} (smokes TEXT, id INTEGER)")
            rows = ", ".join(f"('{SORTED[k]}', {k})" for k in places)
            connection.execute(f"INSERT INTO {name} VALUES {rows}")
        connection.execute("CREATE INDEX by_secret ON mixed (smokes, id)")
        connection.execute("CREATE VIEW seen AS SELECT smokes, id FROM mixed WHERE id >= 0 ORDER BY smokes")
    return path


@pytest.mark.parametrize("elsewhere", [False, True])
def test_tables_of_databases_are_read_as_they_are_stored(shop, elsewhere):
    out = lw.SqlTable(shop.with_name(f"out{shop.suffix}") if elsewhere else shop, "released")
    lw.protect(lw.SqlTable(shop, "mixed"), "smokes", prior=ANYONE, lift=1.1, out=out, allow_certainty=True)
    ids = [row[0] for row in ask(out.database, "SELECT id FROM released")]
    assert ids == np.random.default_rng(3).permutation(ROWS).tolist()
    with pytest.raises(lw.InvalidInput, match="reveals 'smokes'"):
        lw.protect(lw.SqlTable(shop, "sorted"), "smokes", prior=ANYONE, lift=1.1, out=lw.SqlTable(shop, "other"))
    with pytest.warns(lw.RowOrderWarning):
        lw.release(lw.SqlTable(shop, "sorted"), EXACT, "smokes", out=lw.SqlTable(shop, "other"))


def test_a_table_of_sqlite_that_is_stored_by_the_secret_is_refused(tmp_path):
    path = tmp_path / "shop.sqlite"
    with opened(path) as connection:
        connection.execute("CREATE TABLE t (smokes TEXT, id INTEGER, PRIMARY KEY (smokes, id)) WITHOUT ROWID")
        connection.executemany("INSERT INTO t VALUES (?, ?)", [("yes" if k % 3 else "no", k) for k in range(500)])
    with pytest.raises(lw.InvalidInput, match="reveals 'smokes'"):
        lw.protect(lw.SqlTable(path, "t"), "smokes", prior=ANYONE, lift=1.1, out=lw.SqlTable(path, "o"))


@pytest.mark.parametrize(("table", "order"), [("seen", None), ("sorted", "shuffle"), ("seen", "shuffle")])
@pytest.mark.parametrize("elsewhere", [False, True])
def test_views_and_sorted_tables_of_databases_are_shuffled(shop, table, order, elsewhere):
    out = lw.SqlTable(shop.with_name(f"out{shop.suffix}") if elsewhere else shop, "released")
    lw.release(lw.SqlTable(shop, table), EXACT, "smokes", out=out, order=order)
    rows = ask(out.database, "SELECT smokes, id FROM released")
    assert sorted(row[1] for row in rows) == list(range(ROWS))
    assert [row[0] for row in rows] == [SORTED[row[1]] for row in rows]
    assert guessed([row[0] for row in rows]) < 0.75
    made = lw.protect(lw.SqlTable(shop, table), "smokes", prior=ANYONE, lift=1.1, out=out, order=order, overwrite=True,
                      ledger=shop.with_name("ledger.db"), allow_certainty=True)  # fmt: skip
    assert made.facts.row_order == "random"


def test_a_reader_warns_at_its_end_and_can_be_shuffled():
    with pytest.warns(lw.RowOrderWarning):
        lw.release(pa.table(TABLE).to_reader(100), EXACT, "smokes").read_all()
    out = lw.release(pa.table(TABLE).to_reader(100), EXACT, "smokes", order="shuffle").read_all()
    assert sorted(out["id"].to_pylist()) == list(range(ROWS))
    assert guessed(out["smokes"].to_pylist()) < 0.75
    assert lw.release(pa.table(TABLE).to_reader(100), EXACT, "smokes", order="keep").read_all()["id"][5].as_py() == 5


# ------------------------------------------------------------------------------------------------ the random order


def test_every_order_is_equally_likely():
    """Words of one bit, so that nearly all rows tie and are put in order again."""
    stream = SecureStream(unsafe_seed=1)
    seen = Counter(tuple(_by_words(3, 1, stream).tolist()) for _ in range(3_000))
    assert len(seen) == 6
    # Chi-square with 5 degrees of freedom: 50 has probability 1e-9.
    assert sum((count - 500) ** 2 / 500 for count in seen.values()) < 50
    assert sorted(random_order(1_000).tolist()) == list(range(1_000))
    assert random_order(0).size == 0


def test_every_order_is_equally_likely_over_heaps(tmp_path):
    stream = SecureStream(unsafe_seed=2)
    table = pa.table({"k": [0, 1, 2]})
    seen = Counter(
        tuple(pa.concat_tables(shuffled(table.to_batches(1), tmp_path, stream, held=1))["k"].to_pylist())
        for _ in range(150)
    )
    assert len(seen) == 6
    assert sum((count - 25) ** 2 / 25 for count in seen.values()) < 50


def test_dictionaries_and_other_types_survive_the_heaps(tmp_path):
    pieces = [
        pa.table(
            {
                "k": range(10 * j, 10 * j + 10),
                "d": pa.array([f"{j}{i % 2}" for i in range(10)]).dictionary_encode(),
                "l": [[i, None] for i in range(10)],
                "n": pa.array([None, 1] * 5, pa.int8()),
            }
        )
        for j in range(30)
    ]
    out = pa.concat_tables(shuffled(iter(pieces), tmp_path, held=500)).sort_by("k")
    whole = pa.concat_tables(pieces)
    assert out.schema == whole.schema
    assert out.to_pylist() == whole.to_pylist()


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_parts_of_a_file_cut_where_the_secret_changes_are_refused(tmp_path: Path, kind: str) -> None:
    """The rows are in random order, but every row group (or batch) holds one value only, and the release keeps them."""
    values = np.random.default_rng(0).choice(["no", "yes"], 400)
    table = pa.table({"smokes": values})
    starts = [0, *(np.flatnonzero(values[1:] != values[:-1]) + 1).tolist(), len(values)]
    pieces = [table.slice(low, high - low) for low, high in itertools.pairwise(starts)]
    prior = lw.Prior({"no": 0.5, "yes": 0.5})

    def write(name: str, parts: list[Any]) -> Path:
        path = tmp_path / f"{name}.{kind}"
        if kind == "parquet":
            with pq.ParquetWriter(path, table.schema) as writer:
                for part in parts:
                    writer.write_table(part)
        else:
            with pa.ipc.new_file(path, table.schema) as writer:
                for part in parts:
                    writer.write_table(part)
        return path

    with pytest.raises(lw.InvalidInput, match=r"between the [0-9,]+ files"):
        lw.protect(write("cut", pieces), "smokes", prior=prior, lift="3/2", out=tmp_path / f"out.{kind}")
    even = [table.slice(start, 7) for start in range(0, 400, 7)]
    assert lw.protect(write("even", even), "smokes", prior=prior, lift="3/2", out=tmp_path / f"out.{kind}").table
