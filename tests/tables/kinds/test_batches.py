"""Batches of any engine are read once, checked whole, drawn for in one place, and committed once."""

from __future__ import annotations

import copy
import os
import pickle
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import leakwise as lw
from leakwise.errors import InvalidInput, RowOrderWarning
from leakwise.results import Batches
from leakwise.tables.release import exchange

RESPONSE = lw.randomized_response(["no", "yes"], lift=3)
ROWS = 600
RANDOM = np.random.default_rng(7)
TABLE = pa.table(
    {
        "id": pa.array(range(ROWS), pa.int32()),
        "smokes": pa.array(RANDOM.choice(["no", "yes"], ROWS)).dictionary_encode(),
        "sex": pa.array(RANDOM.choice(["f", "m"], ROWS), pa.large_string()),
        "seen": pa.array(range(ROWS), pa.timestamp("s", "UTC")),  # Parquet has no seconds
        "kind": pa.DictionaryArray.from_arrays(pa.array([0, 1] * (ROWS // 2), pa.int8()), ["a", "b"]),
        "parts": pa.array([[n, None] for n in range(ROWS)]),
    }
)


def parts(size: int = 77, table: Any = TABLE) -> Iterator[Any]:
    yield from table.to_batches(max_chunksize=size)


@pytest.fixture(autouse=True)
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of temporary files: what is left in it is seen."""
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    return tmp_path / "temporary"


@pytest.fixture
def draws(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rows were drawn for, each time that something was."""
    seen: list[int] = []
    real = exchange.draw_codes

    def counting(codes: Any, *rest: Any) -> Any:
        seen.append(codes.size)
        return real(codes, *rest)

    monkeypatch.setattr(exchange, "draw_codes", counting)
    return seen


def test_batches_come_back_as_batches_with_every_type_and_can_be_read_again(room: Path, draws: list[int]) -> None:
    out = lw.release(lw.batches(parts()), RESPONSE, "smokes", order="keep")
    assert isinstance(out, Batches)
    first = pa.Table.from_batches(list(out), out.schema)
    assert first.equals(pa.table(out))
    assert sum(draws) == ROWS
    assert out.schema.remove_metadata() == TABLE.schema
    assert first.drop_columns("smokes").equals(TABLE.drop_columns("smokes"))
    assert not first["smokes"].equals(TABLE["smokes"])
    assert lw.estimate(out).sample_size == ROWS  # the schema carries the mechanism
    assert os.listdir(room) == []


SOURCES: dict[str, Any] = {
    "generator": parts,
    "list of tables": lambda: [TABLE.slice(0, 400), TABLE.slice(400)],
    "reader": lambda: TABLE.to_reader(max_chunksize=50),
    "table": lambda: TABLE,
    "pandas frames": lambda: (TABLE.slice(at, 100).to_pandas() for at in range(0, ROWS, 100)),
    "polars frames": lambda: (pl.from_arrow(one) for one in parts()),
    "polars plan": lambda: pl.LazyFrame(TABLE).collect_batches(chunk_size=90),
}


@pytest.mark.parametrize("kind", SOURCES)
def test_the_rows_of_every_kind_of_batch_go_out_once(tmp_path: Path, kind: str) -> None:
    out = lw.release(lw.batches(SOURCES[kind]()), RESPONSE, "smokes", out=tmp_path / "r.parquet", order="keep")
    released = pq.read_table(out)
    assert released["id"].to_pylist() == list(range(ROWS))
    assert set(released["smokes"].to_pylist()) == {"no", "yes"}
    assert pq.ParquetFile(out).metadata.num_row_groups == 1  # not as the batches came
    assert [batch.num_rows for batch in lw.release(lw.batches(SOURCES[kind]()), RESPONSE, "smokes")] == [ROWS]


def test_a_source_is_read_once() -> None:
    source = lw.batches(list(parts()))
    assert source.schema == source.schema == TABLE.schema  # looking is not reading
    lw.release(source, RESPONSE, "smokes")
    for again in (lambda: lw.release(source, RESPONSE, "smokes"), lambda: list(source), lambda: pa.table(source)):
        with pytest.raises(InvalidInput, match="read already"):
            again()
    with pytest.raises(InvalidInput, match="no batches"):
        lw.release(lw.batches(iter([])), RESPONSE, "smokes")


def test_a_source_is_neither_copied_nor_taken_by_two_threads() -> None:
    source = lw.batches(list(parts()))
    for taken in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(InvalidInput, match="one place"):
            taken(source)

    def read(_: int) -> bool:
        try:
            return source.reader() is not None
        except InvalidInput:
            return False

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(read, range(64))) == 1


def test_released_batches_are_pickled() -> None:
    out = lw.release(lw.batches(parts()), RESPONSE, "smokes")
    assert pa.table(pickle.loads(pickle.dumps(out))).equals(pa.table(out), check_metadata=True)


class WorkerDied(Exception):
    """What an engine raises."""


@pytest.mark.parametrize("out", [None, "r.parquet", "r.csv"])
@pytest.mark.parametrize("how", ["dies", "undeclared"])
def test_an_error_in_the_middle_leaves_nothing(
    tmp_path: Path, room: Path, draws: list[int], out: str | None, how: str
) -> None:
    def broken() -> Iterator[Any]:
        yield from parts(100, TABLE.select(["id", "smokes"]))
        if how == "dies":
            raise WorkerDied("lost")
        yield pa.record_batch({"id": pa.array([0], pa.int32()), "smokes": pa.array(["maybe"]).dictionary_encode()})

    place = None if out is None else tmp_path / out
    source = lw.batches(broken())
    with pytest.raises(WorkerDied if how == "dies" else InvalidInput, match="lost" if how == "dies" else "maybe"):
        lw.release(source, RESPONSE, "smokes", out=place)
    assert draws == []
    del source
    assert os.listdir(tmp_path) == ["temporary"]
    assert os.listdir(room) == []


def test_batches_that_are_split_by_the_secret_are_warned_of() -> None:
    split = [TABLE.filter(pa.compute.equal(TABLE["smokes"], value)) for value in ("no", "yes")]
    with pytest.warns(RowOrderWarning, match="smokes"):
        lw.release(lw.batches(split), RESPONSE, "smokes")


def test_several_secrets_strata_and_the_ledger_take_batches(tmp_path: Path) -> None:
    sex = lw.randomized_response(["f", "m"], lift=2)
    out = lw.release(lw.batches(parts()), {"smokes": RESPONSE, "sex": sex}, order="keep")
    assert lw.estimate(out, {"smokes": RESPONSE, "sex": sex}).frequencies.shape == (2, 2)
    mechanism = lw.StratifiedMechanism({"f": RESPONSE, "m": RESPONSE}, given={"sex": ["f", "m"]}, secret="smokes")
    rows = lw.batches(parts(50, TABLE.select(["smokes", "sex"])))
    assert pa.table(lw.release(rows, mechanism)).num_rows == ROWS
    ledger = lw.Ledger(tmp_path / "ledger.db")
    r = lw.protect(
        lw.batches(parts()), "smokes", prior="table", domain=["no", "yes"], failure=1e-6, lift=2, given="sex",
        drop=["seen", "kind", "parts", "id"], least_rows=100, ledger=ledger, dataset="survey",
    )  # fmt: skip
    assert r.table.schema.names == ["smokes", "sex"]
    assert [entry.dataset for entry in ledger.entries()] == ["survey"]
    assert lw.estimate(r.table, by="sex").groups


def test_whatever_takes_a_table_takes_batches() -> None:
    released = lw.release(lw.batches(parts()), RESPONSE, "smokes", order="keep")
    assert lw.regress("smokes ~ sex", released).coefficients
    assert lw.audit_table(lw.batches(parts()), "smokes", given="sex", mechanism=RESPONSE)
    few = TABLE.select(["smokes", "sex"])
    found = lw.advise(lw.batches(parts(50, few)), "smokes", domain=["no", "yes"])
    assert found.settings
    public = lw.Prior({"no": 0.5, "yes": 0.5})
    r = lw.protect(lw.batches(parts(50, few)), "smokes", prior=public, lift=2, drop="sex", dry_run=True)
    assert r.table is None
    assert lw.simulate(r, lw.batches(parts(50, few)), column="smokes", repeats=20)
    with pytest.raises(InvalidInput, match="overwrite and out must be left out for Batches"):
        lw.release(lw.batches(parts()), RESPONSE, "smokes", overwrite=True)


def test_a_generator_of_batches_is_answered_with_lw_batches() -> None:
    with pytest.raises(InvalidInput, match=r"lw\.batches\(\.\.\.\)"):
        lw.release(parts(), RESPONSE, "smokes")
    with pytest.raises(InvalidInput, match=r"lw\.batches\(\.\.\.\)"):
        lw.protect(parts(), "smokes", lift=2, prior=lw.Prior({"no": 0.5, "yes": 0.5}))


def test_batches_of_other_columns_or_types_are_refused_and_a_schema_casts() -> None:
    first, last = pa.table({"smokes": ["no"], "age": [1]}), pa.table({"smokes": ["yes"], "age": [2.0]})
    with pytest.raises(InvalidInput, match=r"'age' of batch 2 is double, before it was int64.*schema="):
        lw.release(lw.batches([first, last]), RESPONSE, "smokes")
    with pytest.raises(InvalidInput, match=r"Batch 2 has \['age', 'smokes'\]"):
        lw.release(lw.batches([first, first.select(["age", "smokes"])]), RESPONSE, "smokes")
    schema = pa.schema({"smokes": pa.string(), "age": pa.int16()})
    assert lw.release(lw.batches([first, last], schema), RESPONSE, "smokes").schema.field("age").type == pa.int16()
    with pytest.raises(InvalidInput, match="Batch 1 does not fit"):
        lw.release(lw.batches([last.set_column(1, "age", [[1.5]])], schema), RESPONSE, "smokes")
    # A part of a pandas frame without any value has no type, and one with gaps has floats.
    frames = [pd.DataFrame({"smokes": ["no", "yes"], "age": ages}) for ages in ([1, 2], [3, None], [None, None])]
    assert pa.table(lw.release(lw.batches(frames), RESPONSE, "smokes"))["age"].to_pylist() == [1, 2, 3, *[None] * 3]


@pytest.mark.parametrize(
    ("source", "told"),
    [
        (parts, "Call it"),
        ("rows.parquet", "Got str"),
        (["rows.parquet"], "Batch 1 is a str"),
        ([pd.DataFrame({"smokes": ["no"]}, index=pd.Index(["Ada"], name="who"))], "reset_index"),
        ([pa.array(["no"])], "Batch 1 cannot be read"),
    ],
)
def test_what_is_not_batches_is_refused_with_what_to_do(source: Any, told: str) -> None:
    with pytest.raises(InvalidInput, match=told):
        lw.release(lw.batches(source), RESPONSE, "smokes")
    with pytest.raises(InvalidInput, match="pyarrow Schema"):
        lw.batches([TABLE], schema=["smokes"])
