"""Plans, streams and datasets are read once, into a private file, and released from there."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import narwhals as nw
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset as ds
import pyarrow.fs
import pyarrow.parquet as pq
import pytest
from polars.io.plugins import register_io_source

import leakwise as lw
from leakwise.errors import InvalidInput

RESPONSE = lw.randomized_response(["no", "yes"], lift=3)
ROWS = 500


class Stream:
    """What gives Arrow rows, and is of no library that Leakwise knows; it counts how often it was read."""

    def __init__(self, table: Any) -> None:
        self.table, self.read = table, 0

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        self.read += 1
        return self.table.__arrow_c_stream__(requested_schema)


def frame(seed: int = 3) -> pl.DataFrame:
    rows = pl.int_range(ROWS, eager=True)
    return pl.DataFrame({"id": rows, "smokes": (rows * rows + seed).hash(seed) % 3}).with_columns(
        pl.when(pl.col("smokes") == 0).then(pl.lit("yes")).otherwise(pl.lit("no")).alias("smokes")
    )


def plan(runs: list[int]) -> pl.LazyFrame:
    """A plan that gives other rows each time that it is run."""

    def source(columns: Any, predicate: Any, rows: Any, size: Any) -> Iterator[pl.DataFrame]:
        runs.append(len(runs))
        found = frame(len(runs)).with_columns(pl.col("id") + 1000 * len(runs))
        yield found if columns is None else found.select(columns)

    return register_io_source(source, schema=frame().schema)


def table() -> Any:
    return pa.table(frame().to_dict(as_series=False))


SOURCES: dict[str, Any] = {
    "LazyFrame": lambda: frame().lazy(),
    "DataFrame of polars": frame,
    "DataFrame of pandas": lambda: frame().to_pandas(),
    "Table": table,
    "RecordBatch": lambda: table().to_batches()[0],
    "RecordBatchReader": lambda: table().to_reader(max_chunksize=77),
    "Dataset": lambda: ds.dataset(table()),
    "Scanner": lambda: ds.dataset(table()).scanner(),
    "stream": lambda: Stream(table()),
    "DataFrame of narwhals": lambda: nw.from_native(frame()),
    "relation of DuckDB": lambda: duckdb.from_arrow(table()),
}


@pytest.mark.parametrize("kind", SOURCES)
@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_anything_with_rows_in_arrow_is_released_into_any_file(tmp_path: Path, kind: str, ending: str) -> None:
    out = lw.release(SOURCES[kind](), RESPONSE, "smokes", out=tmp_path / f"r.{ending}", order="keep")
    assert out == tmp_path / f"r.{ending}"
    released = pq.read_table(out) if ending == "parquet" else pa.csv.read_csv(out)
    assert released.column_names == ["id", "smokes"]
    assert released.column("id").to_pylist() == list(range(ROWS))
    assert set(released.column("smokes").to_pylist()) == {"no", "yes"}
    assert lw.estimate(out, RESPONSE, "smokes").frequencies.sum() == pytest.approx(1)


@pytest.mark.parametrize("kind", ["Dataset", "Scanner", "stream", "DataFrame of narwhals", "relation of DuckDB"])
def test_without_a_file_an_arrow_table_comes_back(kind: str) -> None:
    released = lw.release(SOURCES[kind](), RESPONSE, "smokes", order="keep")
    assert isinstance(released, pa.Table)
    assert released.column("id").to_pylist() == list(range(ROWS))
    done = lw.protect(SOURCES[kind](), "smokes", prior={"no": 0.6, "yes": 0.4}, lift=2, unrelated=["id"], order="keep")
    assert done.table.num_rows == ROWS
    assert lw.estimate(SOURCES[kind](), lw.identity(["no", "yes"]), "smokes").frequencies[1] == pytest.approx(
        frame()["smokes"].eq("yes").mean()
    )


def test_a_plan_that_changes_is_run_once_and_never_collected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs: list[int] = []
    monkeypatch.setattr(pl.LazyFrame, "collect", lambda *_, **__: pytest.fail("the plan was collected"))
    done = lw.protect(
        plan(runs), "smokes", prior={"no": 0.6, "yes": 0.4}, lift=2, unrelated=["id"], out=tmp_path / "r.parquet",
        order="shuffle",
    )  # fmt: skip
    assert runs == [0]
    assert done.table == tmp_path / "r.parquet"
    released = pq.read_table(tmp_path / "r.parquet").column("id").to_pylist()
    assert sorted(released) == [1000 + row for row in range(ROWS)]


def test_a_stream_is_read_once(tmp_path: Path) -> None:
    stream = Stream(table())
    lw.release(stream, RESPONSE, "smokes", out=tmp_path / "r.parquet", order="keep")
    assert stream.read == 1
    stream = Stream(table())
    lw.protect(stream, "smokes", prior={"no": 0.6, "yes": 0.4}, lift=2, unrelated=["id"], order="keep")
    assert stream.read == 1


def test_a_stream_of_one_column_is_a_column() -> None:
    released = lw.release(Stream(pa.chunked_array([["no", "yes"] * 20])), RESPONSE, order="keep")
    assert isinstance(released, pa.ChunkedArray)
    assert len(released) == 40


def test_columns_are_refused_before_a_plan_is_run(tmp_path: Path) -> None:
    runs: list[int] = []
    with pytest.raises(InvalidInput, match="Did you mean 'smokes'"):
        lw.release(plan(runs), RESPONSE, "smoke", out=tmp_path / "r.parquet")
    assert runs == []


def test_nothing_of_the_true_rows_has_a_name_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[list[str]] = []
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "room"))
    (tmp_path / "room").mkdir()
    lw.release(
        frame().lazy(), RESPONSE, "smokes", out=tmp_path / "r.parquet", order="keep",
        progress=lambda *_: seen.append(os.listdir(tmp_path / "room")),
    )  # fmt: skip
    assert seen
    assert all(names == [] for names in seen)


def test_a_plan_that_fails_leaves_no_file(tmp_path: Path) -> None:
    def source(columns: Any, predicate: Any, rows: Any, size: Any) -> Iterator[pl.DataFrame]:
        yield frame()
        raise pl.exceptions.ComputeError("the disk is gone")

    with pytest.raises(InvalidInput, match="the disk is gone"):
        lw.release(
            register_io_source(source, schema=frame().schema), RESPONSE, "smokes", out=tmp_path / "r.csv", order="keep"
        )
    assert not (tmp_path / "r.csv").exists()


def test_the_ledger_asks_for_the_name_of_a_plan(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="dataset must name the data"):
        lw.protect(
            frame().lazy(), "smokes", prior={"no": 0.6, "yes": 0.4}, lift=2, unrelated=["id"],
            out=tmp_path / "r.parquet", ledger=tmp_path / "ledger.db",
        )  # fmt: skip


def hive(folder: Path, values: tuple[str, ...]) -> Any:
    """A dataset on a file system of its own, in folders by the secret."""
    for value in values:
        place = folder / f"smokes={value}"
        place.mkdir(parents=True)
        pq.write_table(pa.table({"id": range(100)}), place / "part.parquet")
    system = pyarrow.fs.SubTreeFileSystem(str(folder), pyarrow.fs.LocalFileSystem())
    return ds.dataset("", filesystem=system, format="parquet", partitioning="hive")


def test_the_order_of_folders_by_the_secret_is_seen(tmp_path: Path) -> None:
    dataset = hive(tmp_path / "table", ("no", "yes"))
    with pytest.warns(lw.RowOrderWarning, match="order of the rows reveals"):
        lw.release(dataset, RESPONSE, "smokes", out=tmp_path / "r.parquet")
    with pytest.raises(InvalidInput, match="order"):
        lw.protect(
            dataset, "smokes", prior={"no": 0.5, "yes": 0.5}, lift=2, unrelated=["id"], out=tmp_path / "s.parquet"
        )
    # One row group, whatever the files of the dataset were.
    assert pq.ParquetFile(tmp_path / "r.parquet").num_row_groups == 1


def test_a_dataset_of_one_value_of_the_secret_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="smokes=yes"):
        lw.release(hive(tmp_path / "table", ("yes",)), RESPONSE, "smokes", out=tmp_path / "r.parquet")


def test_the_files_of_a_plan_or_a_dataset_are_not_written_over(tmp_path: Path) -> None:
    path = tmp_path / "survey.parquet"
    frame().write_parquet(path)
    before = path.read_bytes()
    for data in (pl.scan_parquet(path).filter(pl.col("id") < 400), ds.dataset(path)):
        with pytest.raises(InvalidInput, match="must not be the table itself"):
            lw.release(data, RESPONSE, "smokes", out=path, overwrite=True, order="keep")
    assert path.read_bytes() == before


def test_what_cannot_be_read_is_an_error_in_words(tmp_path: Path) -> None:
    twice = frame().to_pandas()
    twice.columns = ["smokes", "smokes"]
    wrong = pl.LazyFrame({"smokes": ["no", "1"]})
    for data, message in {
        "twice": (twice, "Duplicate column names"),
        "no column": (wrong.select("none"), "plan of the LazyFrame"),
        "no number": (wrong.with_columns(pl.col("smokes").cast(pl.Int64).alias("n")), "plan of the LazyFrame"),
    }.values():
        with pytest.raises(InvalidInput, match=message):
            lw.release(data, RESPONSE, "smokes", out=tmp_path / "r.csv")
    with pytest.raises(InvalidInput, match="plan of the LazyFrame"):
        lw.release(wrong.select("none"), RESPONSE, "smokes")
    assert not (tmp_path / "r.csv").exists()


def test_advice_and_several_secrets_read_a_stream_once() -> None:
    domain = {"smokes": ["no", "yes"], "ill": ["no", "yes"]}
    both = table().append_column("ill", table().column("smokes").take(pa.array(list(reversed(range(ROWS))))))
    for ask in (
        lambda data: lw.advise(data, "smokes", domain=["no", "yes"], drop=["id", "ill"]),
        lambda data: lw.protect(
            data, {"smokes": 2, "ill": 2}, domain=domain, prior="table", failure=0.01, drop=["id"], order="shuffle"
        ),
    ):
        stream = Stream(both)
        assert ask(stream) is not None
        assert stream.read == 1


def test_several_secrets_of_a_plan_are_of_one_run(tmp_path: Path) -> None:
    runs: list[int] = []
    two = plan(runs).with_columns(pl.col("smokes").reverse().alias("ill"))
    domain = {"smokes": ["no", "yes"], "ill": ["no", "yes"]}
    for out in (None, tmp_path / "r.parquet"):
        lw.protect(
            two, {"smokes": 2, "ill": 2}, domain=domain, prior="table", failure=0.01, drop=["id"], order="shuffle",
            out=out,
        )  # fmt: skip
    assert runs == [0, 1]
