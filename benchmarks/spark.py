"""A release of ten million rows on local Spark beside the same job with an identity ``mapInArrow``.

Run ``python benchmarks/spark.py`` (``--rows``, ``--cores``, ``--repeats`` for other sizes). Both jobs read one Parquet
table (an id, a number, a secret text of sixteen values, a code), pass every batch through Python, write Parquet, and
take turns; the best run of each counts. The release must reach 70 % of the other's rows per second; what the test of
the row order and a shuffle add is measured beside it. What it wrote
must have every row once, and the law of the mechanism (chi-square, false alarm 1e-9).

Then a small cluster is started, a master and two workers of two addresses of this machine, with speculation on. A task
hangs after it has drawn; Spark runs it a second time elsewhere. Of the two draws of its rows only one may be there.
(Left out where the machine has no second address of its own.)

Exit status 1 if a promise does not hold. Figures go to benchmarks/results/spark.json.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import platform
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from book import Book
from rich.console import Console
from rich.table import Table
from scipy.stats import chi2

import leakwise as lw

CONSOLE = Console()
RESULTS = Path(__file__).parent / "results" / "spark.json"
LABELS = [f"value {k}" for k in range(16)]
GOAL = 0.70
# The true value of a row, by its id, in no order that a test could find.
LETTER = "cast(pmod(xxhash64(id), 16) as int)"
FALSE_ALARM = 1e-9


def source(spark: Any, rows: int, parts: int, folder: Path) -> Any:
    """The table, written once, so that both jobs read the same files."""
    names = ", ".join(f"'{label}'" for label in LABELS)
    df = spark.range(0, rows, 1, parts).selectExpr(
        "id",
        "rand(1) as x",
        f"element_at(array({names}), {LETTER} + 1) as s",
        "cast(id % 1000 as int) as c",
    )
    df.write.parquet(str(folder / "source"))
    return spark.read.parquet(str(folder / "source"))


def identity(batches: Iterator[Any]) -> Iterator[Any]:
    yield from batches


def timed(run: Callable[[str], object], folder: Path) -> float:
    """Seconds of a job; what it wrote is taken away afterwards."""
    path = folder / "out"
    start = time.perf_counter()
    run(str(path))
    seconds = time.perf_counter() - start
    shutil.rmtree(path)
    return seconds


def law_holds(spark: Any, path: str, mechanism: lw.Mechanism, rows: int) -> tuple[bool, float]:
    """Whether every row is there once and the outcomes follow the mechanism, given the true values that ids tell."""
    out = spark.read.parquet(path)
    pairs = out.selectExpr(f"{LETTER} as letter", "s").groupBy("letter", "s").count().collect()
    seen = np.zeros((16, 16))
    for letter, outcome, count in pairs:
        seen[letter, LABELS.index(outcome)] = count
    expected = mechanism.matrix * seen.sum(axis=1, keepdims=True)
    level = float(chi2.sf(float(((seen - expected) ** 2 / expected).sum()), 16 * 15))
    distinct = out.selectExpr("count(distinct id)", "min(id)", "max(id)", "count(1)").collect()[0]
    return tuple(distinct) == (rows, 0, rows - 1, rows) and level > FALSE_ALARM, level


# --------------------------------------------------------------------------------------------------- speculation

ADDRESSES = ("127.0.0.1", "127.0.0.2", "127.0.0.3")


def free_port(address: str) -> int:
    with socket.socket() as probe:
        probe.bind((address, 0))
        return int(probe.getsockname()[1])


@contextmanager
def cluster(folder: Path) -> Iterator[str]:
    """A master and two workers; Spark runs a task a second time only on another host than the first."""
    home = Path(importlib.import_module("pyspark").__file__ or "").parent
    port = free_port(ADDRESSES[0])
    master = f"spark://{ADDRESSES[0]}:{port}"
    running: list[subprocess.Popen[bytes]] = []

    def start(name: str, address: str, *words: str) -> Path:
        log = folder / f"{name}.log"
        command = ["java", "-Xmx512m", "-cp", str(home / "jars" / "*"), f"org.apache.spark.deploy.{name}", *words]
        settings = {"SPARK_HOME": str(home), "SPARK_LOCAL_IP": address, "SPARK_SCALA_VERSION": "2.13"}
        with log.with_name(f"{name} {address}.log").open("wb") as said:
            running.append(
                subprocess.Popen(command, env={**os.environ, **settings}, stdout=said, stderr=subprocess.STDOUT)
            )
        return log.with_name(f"{name} {address}.log")

    def wait(log: Path, word: str) -> None:
        for _ in range(600):
            if word in log.read_text(errors="replace"):
                return
            time.sleep(0.2)
        raise RuntimeError(f"{log.name} never said {word!r}")

    try:
        web = str(free_port(ADDRESSES[0]))
        wait(
            start("master.Master", ADDRESSES[0], "--host", ADDRESSES[0], "--port", str(port), "--webui-port", web),
            "ALIVE",
        )
        for address in ADDRESSES[1:]:
            room = ("--cores", "2", "--memory", "1g", "--work-dir", str(folder / address))
            web = str(free_port(address))
            log = start("worker.Worker", address, "--host", address, "--webui-port", web, *room, master)
            wait(log, "Successfully registered")
        yield master
    finally:
        for process in reversed(running):
            process.terminate()
            process.wait()


def speculation(folder: Path) -> dict[str, Any] | None:
    """One slow task, run twice: which attempts there were, and whether every row is there once."""
    try:
        for address in ADDRESSES:
            free_port(address)
    except OSError:
        return None
    rows, notes, out = 20_000, folder / "notes", folder / "speculated"
    notes.mkdir()
    settings = {
        "spark.driver.host": ADDRESSES[0],
        "spark.driver.bindAddress": ADDRESSES[0],
        "spark.executor.memory": "1g",
        "spark.speculation": "true",
        "spark.speculation.interval": "100ms",
        "spark.speculation.minTaskRuntime": "100ms",
        "spark.speculation.multiplier": "1.5",
        "spark.speculation.quantile": "0.5",
        "spark.sql.execution.arrow.maxRecordsPerBatch": 1000,
        "spark.ui.enabled": "false",
    }

    def hanging(batches: Iterator[Any]) -> Iterator[Any]:
        from pyspark import TaskContext

        context = TaskContext.get()
        part, attempt = context.partitionId(), context.attemptNumber()
        (notes / f"partition {part}, attempt {attempt}").touch()
        for turn, batch in enumerate(batches):
            if (turn, part, attempt) == (3, 1, 0):
                time.sleep(3600)  # until the other attempt has won and this one is killed
            yield batch

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    with cluster(folder) as master, warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas")
        spark = lw.spark.session(master, settings)
        spark.sparkContext.setLogLevel("ERROR")
        try:
            df = spark.range(0, rows, 1, 4).selectExpr("id", "if(id % 4 = 0, 'yes', 'no') as s")
            df.mapInArrow(identity, df.schema).count()  # the workers start: a task that hangs stands out afterwards
            slow = df.mapInArrow(hanging, df.schema)
            mechanism = lw.randomized_response(["no", "yes"], lift=3)
            released = lw.spark.release(slow, mechanism, "s", path=out, order="keep")
            ids = [row[0] for row in released.select("id").collect()]
        finally:
            spark.stop()
    return {
        "attempts": sorted(note.name for note in notes.iterdir()),
        "speculated": (notes / "partition 1, attempt 1").exists(),
        "files": len(list(out.glob("part-*"))),
        "every_row_once": sorted(ids) == list(range(rows)),
    }


def main() -> int:
    reader = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    reader.add_argument("--rows", type=float, default=1e7)
    reader.add_argument("--cores", type=int, default=os.cpu_count() or 2)
    reader.add_argument("--repeats", type=int, default=3)
    given = reader.parse_args()
    rows, started = int(given.rows), time.perf_counter()
    folder = Path(tempfile.mkdtemp(prefix="leakwise-bench-"))
    spark = lw.spark.session(f"local[{given.cores}]", {"spark.driver.memory": "4g"})
    spark.sparkContext.setLogLevel("ERROR")
    mechanism = lw.randomized_response(LABELS, lift=4)
    try:
        df = source(spark, rows, 4 * given.cores, folder)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas")
            passed = df.mapInArrow(identity, df.schema)
        jobs: dict[str, Callable[[str], object]] = {
            "identity mapInArrow": lambda path: passed.write.parquet(path),
            "lw.spark.release": lambda path: lw.spark.release(df, mechanism, "s", path=path, order="keep"),
            "with the row order tested": lambda path: lw.spark.release(df, mechanism, "s", path=path),
            "with the rows shuffled": lambda path: lw.spark.release(df, mechanism, "s", path=path, order="shuffle"),
        }
        seconds = {name: float("inf") for name in jobs}
        for turn in range(given.repeats + 1):
            for name, run in jobs.items():
                taken = timed(run, folder)
                if turn:  # the first turn starts the workers
                    seconds[name] = min(seconds[name], taken)
        jobs["lw.spark.release"](str(folder / "kept"))
        whole, level = law_holds(spark, str(folder / "kept"), mechanism, rows)
        spark.stop()
        twice = speculation(folder)
    finally:
        spark.stop()
        shutil.rmtree(folder, ignore_errors=True)
    ratio = seconds["identity mapInArrow"] / seconds["lw.spark.release"]
    table = Table(title=f"{rows:,} rows on local Spark, {given.cores} cores", title_justify="left")
    for name in ("job", "seconds", "rows per second"):
        table.add_column(name, justify="left" if name == "job" else "right")
    for name, taken in seconds.items():
        table.add_row(name, f"{taken:.2f}", f"{rows / taken:,.0f}")
    CONSOLE.print(table)
    fast = ratio >= GOAL
    CONSOLE.print(
        f"throughput beside the identity: {ratio:.0%} (at least {GOAL:.0%}): {'kept' if fast else 'not kept'}"
    )
    CONSOLE.print(f"every row once, law at level {level:.3g}: {'kept' if whole else 'not kept'}")
    single = twice is None or (twice["speculated"] and twice["every_row_once"] and twice["files"] == 4)
    if twice is None:
        CONSOLE.print("speculative tasks: not tried, since this machine has no second address of its own")
    else:
        told = f"task run twice: {'yes' if twice['speculated'] else 'no'}, every row once: {twice['every_row_once']}"
        CONSOLE.print(f"speculative tasks: {told}: {'kept' if single else 'not kept'}")
    RESULTS.parent.mkdir(exist_ok=True)
    figures = {
        "machine": {"python": platform.python_version(), "processor": platform.machine(), "cores": given.cores},
        "seconds": time.perf_counter() - started,
        "rows": rows,
        "jobs": {name: {"seconds": taken, "rows_per_second": rows / taken} for name, taken in seconds.items()},
        "ratio": ratio,
        "goal": GOAL,
        "chi_square_level": level,
        "speculation": twice,
        "kept": fast and whole and single,
    }
    RESULTS.write_text(json.dumps(figures, indent=1) + "\n")
    book = Book("spark")
    book.note(f"{rows:,} rows beside identity mapInArrow", f"{ratio:.0%}", target=f"≥ {GOAL:.0%}", kept=fast)
    book.note("every row once, law not refused", f"level {level:.3g}", target="goodness of fit", kept=whole)
    book.close()
    return 0 if figures["kept"] else 1


if __name__ == "__main__":
    sys.exit(main())
