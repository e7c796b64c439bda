"""A release of ten million rows on local Spark beside an idle job and one that draws by SQL's ``rand()``; then kills.

Run ``python benchmarks/spark.py`` (``--rows``, ``--cores``, ``--repeats`` for other sizes, ``--cluster`` for the kills
alone). The jobs read one Parquet table (an id, a number, a secret text of sixteen values, a code), write Parquet, and
take turns; of each the run with the fewest CPU-seconds counts, of the JVM and its Python workers. One passes every
batch through Python and does nothing (identity ``mapInArrow``), one draws in the JVM by ``rand()`` (neither secure nor
exact), one is the release, which aims at 1.5 times as long as ``rand()`` and must reach 70 % of the idle job's
speed; what the test of the row order and a shuffle add is measured beside it. What it wrote must have every row once,
and the law of the mechanism (chi-square, false alarm 1e-9).

Then a small cluster is started, a master and two workers of two addresses of this machine, with speculation on. A task
hangs after it has drawn; Spark runs it a second time elsewhere. An executor is killed after it has drawn. A stream is
killed, driver and all, while it draws its first batch and again when a batch has been released, and started a third
time. Each row must be there once, no second draw anywhere on disk, and the stream once in its ledger. (Left out where
the machine has no second address of its own.)

Exit status 1 if a promise does not hold. Figures go to benchmarks/results/spark.json.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import platform
import shutil
import signal
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
GOAL, SQL_GOAL = 0.70, 1.5
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


def timed(run: Callable[[str], object], folder: Path) -> tuple[float, float]:
    """CPU-seconds of a job, and seconds by the clock; what it wrote is taken away afterwards."""
    path = folder / "out"
    start, busy = time.perf_counter(), cpu_seconds()
    run(str(path))
    seconds, used = time.perf_counter() - start, cpu_seconds() - busy
    shutil.rmtree(path)
    return used or seconds, seconds


def cpu_seconds() -> float:
    """What this process, its JVM and the Python workers of that have used so far; 0 where nothing tells it."""
    parents: dict[int, int] = {}
    used: dict[int, int] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            told = stat.read_text().rpartition(")")[2].split()
        except OSError:  # it ended
            continue
        parents[int(stat.parent.name)], used[int(stat.parent.name)] = int(told[1]), sum(map(int, told[11:15]))
    ours = {os.getpid()}
    while more := {one for one, parent in parents.items() if parent in ours} - ours:
        ours |= more
    return sum(used.get(one, 0) for one in ours) / os.sysconf("SC_CLK_TCK")


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


SETTINGS = {
    "spark.driver.host": ADDRESSES[0],
    "spark.driver.bindAddress": ADDRESSES[0],
    "spark.executor.memory": "1g",
    "spark.sql.execution.arrow.maxRecordsPerBatch": 1000,
    "spark.ui.enabled": "false",
}


def has_addresses() -> bool:
    try:
        for address in ADDRESSES:
            free_port(address)
    except OSError:
        return False
    return True


def speculation(folder: Path, master: str) -> dict[str, Any]:
    """One slow task, run twice: which attempts there were, and whether every row is there once."""
    rows, notes, out = 20_000, folder / "notes", folder / "speculated"
    notes.mkdir()
    settings = {
        **SETTINGS,
        "spark.speculation": "true",
        "spark.speculation.interval": "100ms",
        "spark.speculation.minTaskRuntime": "100ms",
        "spark.speculation.multiplier": "1.5",
        "spark.speculation.quantile": "0.5",
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

    def dying(batches: Iterator[Any]) -> Iterator[Any]:
        from pyspark import TaskContext

        for turn, batch in enumerate(batches):
            if turn == 3 and TaskContext.get().partitionId() == 2 and not (notes / "killed").exists():
                (notes / "killed").touch()
                # This process was made by Spark's daemon, and that by the executor.
                daemon = Path(f"/proc/{os.getppid()}/stat").read_text().rpartition(")")[2].split()
                os.kill(int(daemon[1]), signal.SIGKILL)
            yield batch

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas")
        spark = lw.spark.session(master, settings)
        spark.sparkContext.setLogLevel("OFF")
        try:
            df = spark.range(0, rows, 1, 4).selectExpr("id", "if(id % 4 = 0, 'yes', 'no') as s")
            df.mapInArrow(identity, df.schema).count()  # the workers start: a task that hangs stands out afterwards
            slow = df.mapInArrow(hanging, df.schema)
            mechanism = lw.randomized_response(["no", "yes"], lift=3)
            released = lw.spark.release(slow, mechanism, "s", path=out, order="keep")
            ids = [row[0] for row in released.select("id").collect()]
            lost = lw.spark.release(df.mapInArrow(dying, df.schema), mechanism, "s", path=folder / "lost", order="keep")
            after = [row[0] for row in lost.select("id").collect()]
        finally:
            spark.stop()
    return {
        "attempts": sorted(note.name for note in notes.glob("partition*")),
        "speculated": (notes / "partition 1, attempt 1").exists(),
        "files": len(list(out.glob("part-*"))),
        "every_row_once": sorted(ids) == list(range(rows)),
        "executor_killed": (notes / "killed").exists(),
        "every_row_once_after_that": sorted(after) == list(range(rows)),
    }


# -------------------------------------------------------------------------------------------------------- streams

BATCHES, BATCH_ROWS = 4, 20_000


def stream_driver(folder: Path, master: str) -> None:
    """What is killed: a query that releases a folder of files, one file a batch. It waits while a file ``hold`` is."""
    spark = lw.spark.session(master, SETTINGS)
    spark.sparkContext.setLogLevel("OFF")
    hold = str(folder / "hold")

    def held(batches: Iterator[Any]) -> Iterator[Any]:
        for turn, batch in enumerate(batches):
            while turn == 10 and os.path.exists(hold):
                time.sleep(0.05)
            yield batch

    stream = spark.readStream.schema("id bigint, s string").option("maxFilesPerTrigger", 1)
    source = stream.parquet(str(folder / "arrivals"))
    mechanism, prior = lw.randomized_response(["no", "yes"], lift=3), lw.Prior.uniform(["no", "yes"])
    each = lw.spark.foreach_batch(
        lw.certify(mechanism, prior), "s", path=folder / "stream", order="keep", ledger=folder / "ledger.db",
        dataset="stream",
    )  # fmt: skip
    query = source.mapInArrow(held, "id bigint, s string").writeStream.foreachBatch(each)
    query.option("checkpointLocation", str(folder / "progress")).trigger(availableNow=True).start().awaitTermination()
    spark.stop()


def killed_stream(folder: Path, master: str) -> dict[str, Any]:
    """A stream that is killed twice and started three times: what is on disk in the end."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    (folder / "arrivals").mkdir()
    for place in range(BATCHES):
        ids = np.arange(place * BATCH_ROWS, (place + 1) * BATCH_ROWS)
        pq.write_table(
            pa.table({"id": ids, "s": np.where(ids % 4, "no", "yes")}), folder / "arrivals" / f"{place}.parquet"
        )
    out = folder / "stream"

    def start() -> subprocess.Popen[bytes]:
        command = [sys.executable, __file__, "--stream", str(folder), master]
        with (folder / "stream.log").open("ab") as said:
            return subprocess.Popen(command, stdout=said, stderr=subprocess.STDOUT, start_new_session=True)

    def kill_when(is_time: Callable[[], bool]) -> None:
        running = start()
        while not is_time():
            if running.poll() is not None:
                raise RuntimeError((folder / "stream.log").read_text(errors="replace")[-2000:])
            time.sleep(0.02)
        os.killpg(running.pid, signal.SIGKILL)
        running.wait()

    def drawn() -> list[Path]:
        return [one for one in out.rglob("*part-*") if not one.relative_to(out).parts[0].startswith("batch=")]

    (folder / "hold").touch()
    kill_when(lambda: bool(drawn()))
    left = len(drawn())
    (folder / "hold").unlink()
    kill_when(lambda: (out / "batch=1").exists())
    last = start()
    if last.wait():
        raise RuntimeError((folder / "stream.log").read_text(errors="replace")[-2000:])
    found = pq.read_table(out, columns=["id"])
    return {
        "driver_kills": 2,
        "draws_that_the_first_kill_left": left,
        "every_row_once": sorted(found["id"].to_pylist()) == list(range(BATCHES * BATCH_ROWS)),
        "second_draws_on_disk": len(drawn()),
        "ledger_entries": len(lw.Ledger(folder / "ledger.db").entries()),
    }


def cluster_figures(folder: Path) -> dict[str, Any] | None:
    """What a cluster of two workers makes of tasks that run twice, and of kills; None where there is none."""
    if not has_addresses():
        return None
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    with cluster(folder) as master:
        return {"tasks": speculation(folder, master), "stream": killed_stream(folder, master)}


def cluster_keeps(found: dict[str, Any] | None) -> bool:
    if found is None:
        CONSOLE.print("tasks run twice, kills: not tried, since this machine has no second address of its own")
        return True
    tasks, stream = found["tasks"], found["stream"]
    once = tasks["speculated"] and tasks["every_row_once"] and tasks["files"] == 4
    after = tasks["executor_killed"] and tasks["every_row_once_after_that"]
    whole = stream["every_row_once"] and not stream["second_draws_on_disk"] and stream["ledger_entries"] == 1
    for name, kept in (
        ("a task run twice by speculation: every row once", once),
        ("an executor killed after it had drawn: every row once", after),
        ("a stream killed twice: every row once, no second draw on disk, one entry", whole),
    ):
        CONSOLE.print(f"{name}: {'kept' if kept else 'not kept'}")
    return bool(once and after and whole)


def draw_by_sql(df: Any, mechanism: lw.Mechanism) -> Any:
    """Randomized response in the JVM, by a generator that is neither secure nor exact."""
    names = ", ".join(f"'{label}'" for label in LABELS)
    stay = float(mechanism.matrix[0, 0] - mechanism.matrix[0, 1])
    other = f"element_at(array({names}), cast(floor(rand() * 16) as int) + 1)"
    return df.selectExpr("id", "x", f"if(rand() < {stay}, s, {other}) as s", "c")


def main() -> int:
    reader = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    reader.add_argument("--rows", type=float, default=1e7)
    reader.add_argument("--cores", type=int, default=os.cpu_count() or 2)
    reader.add_argument("--repeats", type=int, default=3)
    reader.add_argument("--cluster", action="store_true", help="the kills alone; no figures are kept")
    reader.add_argument("--stream", nargs=2, metavar=("FOLDER", "MASTER"), help=argparse.SUPPRESS)
    given = reader.parse_args()
    if given.stream:
        stream_driver(Path(given.stream[0]), given.stream[1])
        return 0
    rows, started = int(given.rows), time.perf_counter()
    folder = Path(tempfile.mkdtemp(prefix="leakwise-bench-"))
    if given.cluster:
        try:
            found = cluster_figures(folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        CONSOLE.print_json(json.dumps(found))
        return 0 if cluster_keeps(found) else 1
    spark = lw.spark.session(
        f"local[{given.cores}]", {"spark.driver.memory": "4g", "spark.ui.showConsoleProgress": "false"}
    )
    spark.sparkContext.setLogLevel("ERROR")
    mechanism = lw.randomized_response(LABELS, lift=4)
    try:
        df = source(spark, rows, 4 * given.cores, folder)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas")
            passed = df.mapInArrow(identity, df.schema)
        jobs: dict[str, Callable[[str], object]] = {
            "identity mapInArrow": lambda path: passed.write.parquet(path),
            "SQL rand()": lambda path: draw_by_sql(df, mechanism).write.parquet(path),
            "lw.spark.release": lambda path: lw.spark.release(df, mechanism, "s", path=path, order="keep"),
            "with the row order tested": lambda path: lw.spark.release(df, mechanism, "s", path=path),
            "with the rows shuffled": lambda path: lw.spark.release(df, mechanism, "s", path=path, order="shuffle"),
        }
        seconds = {name: (float("inf"), float("inf")) for name in jobs}
        for turn in range(given.repeats + 1):
            for name, run in jobs.items():
                taken = timed(run, folder)
                if turn:  # the first turn starts the workers
                    seconds[name] = min(seconds[name], taken)
        jobs["lw.spark.release"](str(folder / "kept"))
        whole, level = law_holds(spark, str(folder / "kept"), mechanism, rows)
        spark.stop()
        on_cluster = cluster_figures(folder)
    finally:
        spark.stop()
        shutil.rmtree(folder, ignore_errors=True)
    ratio = seconds["identity mapInArrow"][0] / seconds["lw.spark.release"][0]
    beside_sql = seconds["lw.spark.release"][0] / seconds["SQL rand()"][0]
    table = Table(title=f"{rows:,} rows on local Spark, {given.cores} cores", title_justify="left")
    for name in ("job", "CPU-seconds", "seconds", "rows per second"):
        table.add_column(name, justify="left" if name == "job" else "right")
    for name, (used, taken) in seconds.items():
        table.add_row(name, f"{used:.2f}", f"{taken:.2f}", f"{rows / taken:,.0f}")
    CONSOLE.print(table)
    fast, near = ratio >= GOAL, beside_sql <= SQL_GOAL
    CONSOLE.print(f"speed beside the identity: {ratio:.0%} (at least {GOAL:.0%}): {'kept' if fast else 'not kept'}")
    met = "reached" if near else "not reached"
    CONSOLE.print(f"time beside SQL rand(): {beside_sql:.2f} times (aimed at: {SQL_GOAL:g}): {met}")
    CONSOLE.print(f"every row once, law at level {level:.3g}: {'kept' if whole else 'not kept'}")
    single = cluster_keeps(on_cluster)
    RESULTS.parent.mkdir(exist_ok=True)
    figures = {
        "machine": {"python": platform.python_version(), "processor": platform.machine(), "cores": given.cores},
        "seconds": time.perf_counter() - started,
        "rows": rows,
        "jobs": {
            name: {"cpu_seconds": used, "seconds": taken, "rows_per_second": rows / taken}
            for name, (used, taken) in seconds.items()
        },
        "ratio": ratio,
        "goal": GOAL,
        "times_sql_rand": beside_sql,
        "goal_beside_sql_rand": SQL_GOAL,
        "chi_square_level": level,
        "cluster": on_cluster,
        "kept": fast and whole and single,
    }
    RESULTS.write_text(json.dumps(figures, indent=1) + "\n")
    book = Book("spark")
    book.note(f"{rows:,} rows beside identity mapInArrow", f"{ratio:.0%}", target=f"≥ {GOAL:.0%}", kept=fast)
    book.note(f"{rows:,} rows beside SQL rand()", f"{beside_sql:.2f} times")
    if on_cluster is not None:
        book.note(
            "two workers, kills, a restarted stream", "yes" if single else "no", target="every row once", kept=single
        )
    book.note("every row once, law not refused", f"level {level:.3g}", target="goodness of fit", kept=whole)
    book.close()
    return 0 if figures["kept"] else 1


if __name__ == "__main__":
    sys.exit(main())
