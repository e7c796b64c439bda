"""Rows per CPU-second of a release by strata compared with the plain release of the same table, in one run.

Run ``python benchmarks/tables.py`` (``--rows`` for another size, ``--kinds`` for some tables only). A table of three
columns and a secret of seven values is released twice: by one mechanism for all rows, and by a mechanism for each of
300 strata (sex, ten bins of age, 15 occupations; 60 different mechanisms). Both check every value and test the order of
the rows; the release by strata also reads the other columns and puts ages into bins. Then 10,000 strata.

CPU-seconds are those of the process (`time.process_time`), the best of three runs after one to warm up. The goal is
half of the plain release; exit status 1 if it is missed.
"""

from __future__ import annotations

import argparse
import sqlite3
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from book import Book
from rich.console import Console
from rich.table import Table

import leakwise as lw

SECRET = [f"status {k}" for k in range(7)]
SEX, JOBS = ["female", "male"], [f"occupation {k}" for k in range(15)]
AGES = lw.bins(0, 100, 10)
# The kind of table, by what its rows are divided where it is slow, and how many strata (None: 300 by three columns).
CASES: list[tuple[str, int, int | None]] = [
    *((kind, 1, None) for kind in ("pandas, texts", "pandas, categories", "polars", "Arrow")),
    *((kind, 1, None) for kind in (".csv", ".parquet", ".arrow")),
    *((kind, 10, None) for kind in (".jsonl", "DuckDB", "SQLite")),
    *((kind, 1, 10_000) for kind in ("pandas, texts", ".csv", ".parquet")),
]


def table(rows: int) -> dict[str, Any]:
    generator = np.random.default_rng(2026)
    return {
        "sex": np.array(SEX)[generator.integers(0, 2, rows)],
        "age": generator.integers(0, 100, rows),
        "occupation": np.array(JOBS)[generator.integers(0, 15, rows)],
        "status": np.array(SECRET)[generator.integers(0, 7, rows)],
    }


def mechanisms(count: int) -> list[lw.Mechanism]:
    generator = np.random.default_rng(1)
    return [lw.Mechanism(generator.dirichlet(np.full(7, 3.0), 7), inputs=SECRET, outputs=SECRET) for _ in range(count)]


def by_strata(ids: int | None = None) -> lw.StratifiedMechanism:
    own = mechanisms(60)
    if ids is not None:
        strata = {str(k): own[k % 60] for k in range(ids)}
        return lw.StratifiedMechanism(strata, {"id": list(strata)}, secret="status", otherwise=own[0])
    keys = [(sex, age, job) for sex in SEX for age in AGES for job in JOBS]
    given = {"sex": SEX, "age": AGES, "occupation": JOBS}
    return lw.StratifiedMechanism({u: own[k % 60] for k, u in enumerate(keys)}, given, secret="status")


def stored(data: dict[str, Any], kind: str, folder: Path) -> Any:
    frame = pd.DataFrame(data)
    if kind == "pandas, texts":
        return frame
    if kind == "pandas, categories":
        return frame.astype({name: "category" for name in ("sex", "occupation", "status") if name in frame})
    if kind == "polars":
        return pl.DataFrame(data)
    if kind == "Arrow":
        return pa.table({name: pa.array(values).dictionary_encode() for name, values in data.items()})
    path = folder / f"table{kind}"
    if kind == ".csv":
        frame.to_csv(path, index=False)
    elif kind == ".jsonl":
        frame.to_json(path, orient="records", lines=True)
    elif kind == ".parquet":
        pq.write_table(pa.table(data), path)
    elif kind == ".arrow":
        with pa.ipc.new_file(path, pa.table(data).schema) as writer:
            writer.write_table(pa.table(data), max_chunksize=1 << 17)
    elif kind == "SQLite":
        with closing(sqlite3.connect(folder / "base.sqlite")) as connection:
            frame.to_sql("people", connection, index=False)
        return lw.SqlTable(folder / "base.sqlite", "people")
    else:
        with duckdb.connect(str(folder / "base.duckdb")) as connection:
            connection.execute("CREATE TABLE people AS SELECT * FROM frame")
        return lw.SqlTable(folder / "base.duckdb", "people")
    return path


def place(source: Any, folder: Path) -> Any:
    if isinstance(source, lw.SqlTable):
        return lw.SqlTable(folder / f"out{source.path.suffix}", "people")
    return folder / f"out{source.suffix}" if isinstance(source, Path) else None


def cpu_seconds(run: Callable[[], object], repeats: int = 3) -> float:
    run()
    best = float("inf")
    for _ in range(repeats):
        start = time.process_time()
        run()
        best = min(best, time.process_time() - start)
    return best


def compared(source: Any, sm: lw.StratifiedMechanism, folder: Path) -> tuple[float, float]:
    out, plain = place(source, folder), sm.mechanisms[0]
    options: dict[str, Any] = {} if out is None else {"out": out, "overwrite": True}
    return (
        cpu_seconds(lambda: lw.release(source, plain, "status", **options)),
        cpu_seconds(lambda: lw.release(source, sm, **options)),
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=500_000)
    parser.add_argument("--kinds", default="", help="names of tables with semicolons between them")
    options = parser.parse_args()
    rows, chosen = options.rows, options.kinds
    warnings.simplefilter("ignore", lw.errors.LeakwiseWarning)
    book, good = Book("tables"), True
    shown = Table("table", "strata", "plain, rows per CPU-second", "by strata", "share", title=f"{rows:,} rows")
    for kind, count, strata in CASES:
        if chosen and kind not in chosen.split(";"):
            continue
        many = rows // count
        data, sm = table(many), by_strata(strata)
        if strata is not None:
            ids = np.random.default_rng(3).integers(0, strata, many).astype(str)
            data = {"id": ids, "status": data["status"]}
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            plain, own = compared(stored(data, kind, folder), sm, folder)
        share = plain / own
        good &= share >= 0.5
        speeds = [f"{many / seconds / 1e6:.2f} M" for seconds in (plain, own)]
        shown.add_row(kind, f"{len(sm):,}", *speeds, f"{share:.2f}")
        what = f"release by {len(sm):,} strata, {kind}"
        book.note(what, f"{share:.2f} of the plain release", target="≥ 0.5", kept=share >= 0.5)
    Console().print(shown)
    if not chosen:
        book.close()
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
