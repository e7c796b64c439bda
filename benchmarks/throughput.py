"""Rows per second of a release and of an estimate for every source and sink, compared with an unchanged copy.

Run ``python benchmarks/throughput.py`` (``--rows`` for another size, ``--kinds`` for some rows only; about three
minutes on two quiet cores). A table of four columns and a secret of seven values is released by one mechanism; every
value is checked, and the order of the rows is tested. *Copy* is the fastest of the ordinary tools named: it reads the
same source whole and writes it unchanged to the same kind of sink. Release and copy take turns, so that whatever else
the machine does is done to both; figures are the best of three turns after one to warm up.

Wall-clock seconds are what a user waits; CPU-seconds are those of the process and what it started
(`time.process_time`), and tell less about the load. The goal is the copy for CSV; exit status 1 if it is missed.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import importlib.util
import sqlite3
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from book import Book
from rich.console import Console
from rich.table import Table

import leakwise as lw

VALUES = [f"status {k}" for k in range(7)]
MECHANISM = lw.randomized_response(VALUES, lift=3)
TURNS = 3
Work = Callable[[], object]


@dataclass
class Case:
    """A source and a sink: what releases, what copies, and what estimates from the release."""

    name: str
    release: Work
    copies: dict[str, Work]
    estimate: Work | None = None
    share: float = 1.0
    goal: bool = False


@dataclass
class Best:
    """The least seconds of some turns, of the clock and of the processor."""

    wall: float = float("inf")
    cpu: float = float("inf")
    turns: int = field(default=0)

    def add(self, work: Work) -> None:
        wall, cpu = time.perf_counter(), time.process_time()
        work()
        if self.turns:
            self.wall = min(self.wall, time.perf_counter() - wall)
            self.cpu = min(self.cpu, time.process_time() - cpu)
        self.turns += 1


def made(rows: int) -> pa.Table:
    generator = np.random.default_rng(2026)
    columns = {
        "sex": np.array(["female", "male"])[generator.integers(0, 2, rows)],
        "age": generator.integers(0, 100, rows),
        "occupation": np.array([f"occupation {k}" for k in range(15)])[generator.integers(0, 15, rows)],
        "status": np.array(VALUES)[generator.integers(0, 7, rows)],
    }
    return pa.table(columns)


def case(name: str, source: Any, out: Any, copies: dict[str, Work], **more: Any) -> Case:
    """A release from a source to a sink; the sink is what is estimated from."""
    options: dict[str, Any] = {} if out is None else {"out": out, "overwrite": True}
    released: list[Any] = []

    def release() -> None:
        released[:] = [lw.release(source() if callable(source) else source, MECHANISM, "status", **options)]

    return Case(name, release, copies, lambda: lw.estimate(released[0], MECHANISM, "status"), **more)


# ------------------------------------------------------------------------------------------------------- files


def copied_csv(source: Path, out: Path, **options: Any) -> dict[str, Work]:
    """CSV by pyarrow, whole and in a stream, and by polars."""
    parse = pacsv.ParseOptions(delimiter=options.get("separator", ","))
    write = pacsv.WriteOptions(delimiter=options.get("separator", ","))

    def stream() -> None:
        with (
            pacsv.open_csv(source, parse_options=parse) as reader,
            pacsv.CSVWriter(out, reader.schema, write_options=write) as writer,
        ):
            for batch in reader:
                writer.write(batch)

    return {
        "pyarrow": lambda: pacsv.write_csv(pacsv.read_csv(source, parse_options=parse), out, write),
        "pyarrow, stream": stream,
        "polars": lambda: pl.read_csv(source, **options).write_csv(out, **options),
    }


def compressed_csv(source: Path, out: Path, codec: str) -> dict[str, Work]:
    """CSV by pyarrow, compressed as a release is: gzip with level 6, zstd as it comes."""

    def by_pyarrow() -> None:
        with out.open("wb") as file:
            level = gzip.GzipFile(fileobj=file, mode="wb", compresslevel=6)
            with pa.CompressedOutputStream(file, codec) if codec == "zstd" else level as stream:
                pacsv.write_csv(pacsv.read_csv(source), stream)

    return {"pyarrow": by_pyarrow}


def text_files(table: pa.Table, folder: Path) -> Iterator[Case]:
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    copy = folder / "copy"
    plain, quoted, tabs, lone = (folder / name for name in ("plain.csv", "quoted.csv", "plain.tsv", "lone.csv"))
    frame.write_csv(plain)
    pacsv.write_csv(table, quoted)
    frame.write_csv(tabs, separator="\t")
    frame.select("status").write_csv(lone)
    for name, source in (("CSV", plain), ("CSV, texts in quotes", quoted), ("CSV, the secret alone", lone)):
        yield case(name, source, folder / "out.csv", copied_csv(source, copy), goal=name != "CSV, the secret alone")
    yield case("TSV", tabs, folder / "out.tsv", copied_csv(tabs, copy, separator="\t"), goal=True)
    few = frame.head(len(frame) // 5)
    for ending, codec in ((".gz", "gzip"), (".zst", "zstd")):
        source, out = folder / f"plain.csv{ending}", folder / f"out.csv{ending}"
        with pa.output_stream(source, codec) as stream:
            stream.write(few.write_csv().encode())
        yield case(f"CSV{ending}", source, out, compressed_csv(source, copy, codec), share=0.2)
    lines = folder / "plain.jsonl"
    few.write_ndjson(lines)
    by_polars = {"polars": lambda: pl.read_ndjson(lines).write_ndjson(copy)}
    yield case("JSON lines", lines, folder / "out.jsonl", by_polars, share=0.2)


def typed_files(table: pa.Table, folder: Path) -> Iterator[Case]:
    copy, parquet, arrow, csv = folder / "copy", folder / "a.parquet", folder / "a.arrow", folder / "a.csv"
    pq.write_table(table, parquet)
    with pa.ipc.new_file(arrow, table.schema) as writer:
        writer.write_table(table, max_chunksize=1 << 17)
    pl.DataFrame(table).write_csv(csv)

    def copy_arrow() -> None:
        with pa.ipc.open_file(arrow) as reader, pa.ipc.new_file(copy, reader.schema) as writer:
            for place in range(reader.num_record_batches):
                writer.write_batch(reader.get_batch(place))

    def copy_parquet() -> None:
        pq.write_table(pq.read_table(parquet), copy)

    by_polars = {"polars": lambda: pl.scan_parquet(parquet).sink_parquet(copy)}
    yield case("Parquet", parquet, folder / "out.parquet", {"pyarrow": copy_parquet, **by_polars})
    yield case("Arrow", arrow, folder / "out.arrow", {"pyarrow": copy_arrow})
    into = {"pyarrow": lambda: pq.write_table(pacsv.read_csv(csv), copy)}
    yield case("CSV to Parquet", csv, folder / "out.parquet", into)
    back = {"pyarrow": lambda: pacsv.write_csv(pq.read_table(parquet), copy)}
    yield case("Parquet to CSV", parquet, folder / "out.csv", back)
    parts = folder / "parts"
    parts.mkdir()
    for place in range(4):
        pq.write_table(table.slice(place * (len(table) // 4), len(table) // 4), parts / f"part-{place}.parquet")
    (parts / "_SUCCESS").touch()
    together = {"pyarrow": lambda: pq.write_table(ds.dataset(parts).to_table(), copy)}
    yield case("folder of Parquet files to Parquet", parts, folder / "out.parquet", together)


def survey_files(table: pa.Table, folder: Path) -> Iterator[Case]:
    import pyreadstat

    few = table.slice(0, len(table) // 10).to_pandas()
    for name, ending, kind in (("Stata", ".dta", "dta"), ("SPSS", ".sav", "sav")):
        source, copy = folder / f"a{ending}", folder / f"copy{ending}"
        read, write = getattr(pyreadstat, f"read_{kind}"), getattr(pyreadstat, f"write_{kind}")
        write(few, source)

        def copied(read: Any = read, write: Any = write, source: Path = source, copy: Path = copy) -> None:
            write(read(source)[0], copy)

        yield case(name, source, folder / f"out{ending}", {"pyreadstat": copied}, share=0.1)


# --------------------------------------------------------------------------------------------------- databases


def databases(table: pa.Table, folder: Path) -> Iterator[Case]:
    few = table.slice(0, len(table) // 5)
    duck, lite = folder / "a.duckdb", folder / "a.sqlite"
    with duckdb.connect(str(duck)) as connection:
        connection.execute("CREATE TABLE people AS SELECT * FROM few")
    with closing(sqlite3.connect(lite)) as connection:
        few.to_pandas().to_sql("people", connection, index=False)

    def copy_duck() -> None:
        (folder / "copy.duckdb").unlink(missing_ok=True)
        with duckdb.connect(str(folder / "copy.duckdb")) as connection:
            connection.execute(f"ATTACH '{duck}' AS a (READ_ONLY)")
            connection.execute("CREATE TABLE people AS SELECT * FROM a.people")

    def copy_lite() -> None:
        (folder / "copy.sqlite").unlink(missing_ok=True)
        with closing(sqlite3.connect(folder / "copy.sqlite")) as connection:
            connection.execute("ATTACH ? AS a", [str(lite)])
            connection.execute("CREATE TABLE people AS SELECT * FROM a.people")

    for name, source, copied in (("DuckDB", duck, copy_duck), ("SQLite", lite, copy_lite)):
        sink = lw.SqlTable(folder / f"out{source.suffix}", "people")
        yield case(name, lw.SqlTable(source, "people"), sink, {name: copied}, share=0.2)


@contextlib.contextmanager
def postgres() -> Iterator[Any]:
    """The server of the tests, where it can be started; otherwise why not."""
    root = Path(__file__).parents[1]
    if not (root / "tests" / "postgres_server.py").exists() or not importlib.util.find_spec("adbc_driver_postgresql"):
        yield "no driver"
        return
    import pytest

    sys.path.insert(0, str(root / "tests"))
    from postgres_server import running_server

    with contextlib.ExitStack() as stack:
        try:
            server = stack.enter_context(running_server())
        except pytest.skip.Exception as reason:
            server = str(reason)
        yield server


def server_tables(server: Any, table: pa.Table) -> Iterator[Case]:
    from adbc_driver_postgresql import dbapi

    few, uri = table.slice(0, len(table) // 5), server.uri()
    with dbapi.connect(uri) as connection, connection.cursor() as cursor:
        cursor.adbc_ingest("people", few, mode="create")
        connection.commit()

    def copied() -> None:
        with dbapi.connect(uri) as reading, dbapi.connect(uri) as writing:
            with reading.cursor() as source, writing.cursor() as sink:
                source.execute("SELECT * FROM people")
                sink.adbc_ingest("copied", source.fetch_record_batch(), mode="replace")
            writing.commit()

    sink = lw.SqlTable(uri, "released")
    yield case("PostgreSQL", lw.SqlTable(uri, "people"), sink, {"ADBC": copied}, share=0.2)


# --------------------------------------------------------------------------------------------------- in memory


def in_memory(table: pa.Table, folder: Path) -> Iterator[Case]:
    copy, parquet = folder / "copy", folder / "m.parquet"
    pq.write_table(table, parquet)
    frame, polars = table.to_pandas(), pl.DataFrame(table)
    categories = frame.astype(dict.fromkeys(["sex", "occupation", "status"], "category"))
    yield case("pandas, texts", frame, None, {"pandas": lambda: pd.DataFrame(frame.to_dict("series"), copy=True)})
    yield case("pandas, categories", categories, None, {"pandas": lambda: categories.copy(deep=True)})
    every = np.arange(len(table))
    yield case("polars", polars, None, {"polars": lambda: polars[every]})
    yield case("Arrow table", table, None, {"pyarrow": lambda: table.take(pa.array(every))})
    sunk = {"polars": lambda: pl.scan_parquet(parquet).sink_parquet(copy)}
    yield case("LazyFrame to Parquet", lambda: pl.scan_parquet(parquet), folder / "out.parquet", sunk)

    def reader() -> pa.RecordBatchReader:
        return ds.dataset(parquet).scanner().to_reader()

    def written() -> None:
        with reader() as batches, pq.ParquetWriter(copy, batches.schema) as writer:
            for batch in batches:
                writer.write_batch(batch)

    yield case("Arrow reader to Parquet", reader, folder / "out.parquet", {"pyarrow": written})


# ------------------------------------------------------------------------------------------------------ measured


def million(rows: float, seconds: float) -> str:
    return f"{rows / seconds / 1e6:.2f} M"


def measured(one: Case, rows: int) -> tuple[list[str], bool | None]:
    """The cells of a line, and whether the goal was reached."""
    release, estimate = Best(), Best()
    copies = {tool: Best() for tool in one.copies}
    for _ in range(TURNS + 1):
        release.add(one.release)
        for tool, copy in one.copies.items():
            copies[tool].add(copy)
        if one.estimate is not None:
            estimate.add(one.estimate)
    tool = min(copies, key=lambda name: copies[name].wall)
    many = rows * one.share
    told = [million(many, release.wall), f"{million(many, copies[tool].wall)} ({tool})"]
    told += [f"{copies[tool].wall / release.wall:.2f}", f"{copies[tool].cpu / release.cpu:.2f}"]
    told += [million(many, estimate.wall)]
    pyarrow = [best for name, best in copies.items() if name.startswith("pyarrow")]
    kept = all(best.wall >= release.wall for best in pyarrow) if one.goal else None
    return told, kept


HEAD = [
    "source and sink",
    "rows",
    "release, rows/s",
    "unchanged copy, rows/s",
    "share",
    "share by CPU time",
    "estimate, rows/s",
]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--kinds", default="", help="names of rows with semicolons between them")
    options = parser.parse_args()
    chosen = options.kinds.split(";") if options.kinds else None
    warnings.simplefilter("ignore", lw.errors.LeakwiseWarning)
    book, table, good = Book("throughput"), made(options.rows), True
    shown, lines = Table(*HEAD, title="Releases and copies"), list[list[str]]()

    def measure(cases: Iterator[Case]) -> None:
        nonlocal good
        for one in cases:
            if chosen is not None and one.name not in chosen:
                continue
            told, kept = measured(one, options.rows)
            line = [one.name, f"{int(options.rows * one.share):,}", *told]
            lines.append(line)
            shown.add_row(*line)
            good &= kept is not False
            figure = f"{told[0]} rows/s, unchanged copy {told[1]}, estimate {told[4]}"
            book.note(f"release, {one.name}", figure, target="pyarrow's faster copy" if one.goal else None, kept=kept)

    for cases in (text_files, typed_files, survey_files, databases, in_memory):
        with tempfile.TemporaryDirectory() as name:
            measure(cases(table, Path(name)))
    with postgres() as server:
        if isinstance(server, str):
            lines.append(["PostgreSQL", "", f"not measured: {server}", *[""] * (len(HEAD) - 3)])
        else:
            measure(server_tables(server, table))
    Console(width=140).print(shown)
    if chosen is None:
        book.table("Every source and sink of a release", HEAD, lines)
        book.close()
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
