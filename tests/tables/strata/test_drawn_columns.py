"""Later secrets are drawn for by the outcomes of earlier ones, row by row, in every kind of table."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import leakwise as lw
from leakwise.errors import InvalidInput, LeakwiseWarning

ROWS = 3000


def plain() -> pd.DataFrame:
    generator = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "id": range(ROWS),
            "a": generator.choice(["x", "y"], ROWS),
            "b": generator.choice(["no", "yes"], ROWS),
        }
    )


def chain() -> dict[str, Any]:
    """The second says "other" or "same" of its value by what was drawn for the first, so that rows can be compared."""
    first = lw.Mechanism([[0.75, 0.25], [0.25, 0.75]], inputs=["x", "y"], outputs=["p", "q"])
    keep = lw.Mechanism([[1, 0], [0, 1]], inputs=["no", "yes"], outputs=["no", "yes"])
    turn = lw.Mechanism([[0, 1], [1, 0]], inputs=["no", "yes"], outputs=["no", "yes"])
    return {"a": first, "b": lw.StratifiedMechanism({"p": keep, "q": turn}, {"a": ["p", "q"]}, secret="b")}


def write_csv(table: pd.DataFrame, folder: Path) -> Path:
    table.to_csv(folder / "t.csv", index=False)
    return folder / "t.csv"


def write_parquet(table: pd.DataFrame, folder: Path) -> Path:
    pq.write_table(pa.Table.from_pandas(table, preserve_index=False), folder / "t.parquet", row_group_size=700)
    return folder / "t.parquet"


def write_lines(table: pd.DataFrame, folder: Path) -> Path:
    table.to_json(folder / "t.jsonl", orient="records", lines=True)
    return folder / "t.jsonl"


def write_arrow(table: pd.DataFrame, folder: Path) -> Path:
    with pa.OSFile(str(folder / "t.arrow"), "wb") as sink:
        made = pa.Table.from_pandas(table, preserve_index=False)
        with pa.ipc.new_file(sink, made.schema) as writer:
            writer.write_table(made, max_chunksize=900)
    return folder / "t.arrow"


READ: dict[str, Callable[[Path], pd.DataFrame]] = {
    ".csv": pd.read_csv,
    ".parquet": pd.read_parquet,
    ".jsonl": lambda path: pd.DataFrame(map(json.loads, path.read_text(encoding="utf-8").splitlines())),
    ".arrow": lambda path: pa.ipc.open_file(path).read_all().to_pandas(),
}


def compare(released: pd.DataFrame, true: pd.DataFrame) -> None:
    """Every row was turned exactly where its own first outcome says so."""
    both = released.merge(true, on="id", suffixes=("", "_true"))
    assert len(both) == ROWS
    assert set(both["a"]) == {"p", "q"}
    assert ((both["b"] == both["b_true"]) == (both["a"] == "p")).all()


@pytest.mark.parametrize("order", ["keep", "shuffle"])
@pytest.mark.parametrize("write", [write_csv, write_parquet, write_lines, write_arrow])
@pytest.mark.filterwarnings("ignore::leakwise.CertaintyWarning")
@pytest.mark.filterwarnings("ignore:The guarantee speaks of someone")
def test_every_row_of_a_file_is_drawn_for_by_its_own_outcome(
    write: Callable[[pd.DataFrame, Path], Path], order: str, tmp_path: Path
) -> None:
    source = write(plain(), tmp_path)
    out = source.with_name(f"out{source.suffix}")
    lw.release(source, chain(), out=out, order=order)
    compare(READ[source.suffix](out), plain())


@pytest.mark.parametrize("order", ["keep", "shuffle"])
@pytest.mark.filterwarnings("ignore::leakwise.CertaintyWarning")
@pytest.mark.filterwarnings("ignore:The guarantee speaks of someone")
def test_every_row_in_memory_and_in_a_database_is_drawn_for_by_its_own_outcome(order: str, tmp_path: Path) -> None:
    compare(lw.release(plain(), chain(), order=order), plain())
    with sqlite3.connect(tmp_path / "t.sqlite") as db:
        plain().to_sql("t", db, index=False)
        db.execute("CREATE VIEW v AS SELECT * FROM t")
    place = tmp_path / "t.sqlite"
    lw.release(lw.SqlTable(place, "t"), chain(), out=lw.SqlTable(tmp_path / "out.sqlite", "t"), order=order)
    with sqlite3.connect(tmp_path / "out.sqlite") as db:
        compare(pd.read_sql("SELECT * FROM t", db), plain())
    with pytest.raises(InvalidInput, match="is a view, whose rows may come in another order"):
        lw.release(lw.SqlTable(place, "v"), chain(), out=lw.SqlTable(tmp_path / "out.sqlite", "v"))


@pytest.mark.filterwarnings("ignore::leakwise.CertaintyWarning")
@pytest.mark.filterwarnings("ignore:The guarantee speaks of someone")
def test_a_stream_of_batches_is_drawn_for_in_one_pass() -> None:
    table = pa.Table.from_pandas(plain(), preserve_index=False)
    reader = pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=500))
    compare(lw.release(reader, chain(), order="keep").read_all().to_pandas(), plain())


@pytest.mark.filterwarnings("ignore:The guarantee speaks of someone")
@pytest.mark.filterwarnings("ignore::leakwise.CertaintyWarning")
def test_a_mechanism_by_true_values_of_another_secret_is_refused() -> None:
    made = chain()
    with pytest.raises(InvalidInput, match="must not be a given column"):
        lw.release(plain(), {"b": made["b"], "a": made["a"]})
    keep = made["b"]["p"]
    by_value = lw.StratifiedMechanism({"x": keep, "y": keep}, {"a": ["x", "y"]}, secret="b")
    with pytest.raises(InvalidInput, match="its outcomes are meant, 'p', 'q', and the domain there has 'x', 'y'"):
        lw.release(plain(), {"a": made["a"], "b": by_value})


@pytest.mark.filterwarnings("ignore::leakwise.CertaintyWarning")
@pytest.mark.filterwarnings("ignore:The guarantee speaks of someone")
def test_rows_that_come_otherwise_the_second_time_are_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from leakwise.tables.release import sources

    source = write_csv(plain(), tmp_path)
    true = sources.Exchanger.draw

    def other(self: Any, encoded: Any, batch: Any) -> Any:
        return true(self, [codes[::-1].copy() for codes in encoded] if len(self._secrets) > 1 else encoded, batch)

    monkeypatch.setattr(sources.Exchanger, "draw", other)
    with pytest.raises(InvalidInput, match="its rows came in another order"):
        lw.release(source, chain(), out=tmp_path / "out.csv", order="keep")
    assert not (tmp_path / "out.csv").exists()


def test_protect_writes_files_and_they_say_how_to_estimate(tmp_path: Path) -> None:
    source = write_parquet(plain().drop(columns="id"), tmp_path)
    prior = {"a": lw.Prior.uniform(["x", "y"]), "b": lw.Prior.uniform(["no", "yes"])}
    done = lw.protect(source, {"a": 1.5, "b": 1.25}, prior=prior, out=tmp_path / "out.parquet", order="shuffle")
    assert done.table == tmp_path / "out.parquet"
    found = lw.estimate(done.table, {"a": None, "b": None})
    assert found.frequencies.shape == (2, 2)
    with pytest.warns(LeakwiseWarning, match="unsafe_seed"):
        seeded = lw.protect(plain()[["a", "b"]], {"a": 1.5, "b": 1.25}, prior=prior, unsafe_seed=1)
    assert seeded.guarantee.startswith("FOR TESTS ONLY")
