"""Rows per CPU-second of a release: in memory, from Parquet to Parquet, a billion rows in a stream; and fifty kills.

Run ``python benchmarks/release.py`` (``--rows``, ``--streamed``, ``--kills`` for other sizes; 0 leaves a part out).

- *copy* is a bare NumPy copy of the codes, and in files what pyarrow needs to read a file and write it unchanged.
- Peers (OpenDP, diffprivlib, multi-freq-ldpy, pure-ldp) are run where they are installed, each by the call its users
  make for one value; none of them is needed here, and a peer that is missing is said to be.

CPU-seconds are those of the process (`time.process_time`), the best of several runs. The resident memory of the stream
is the peak of a process of its own. A kill is SIGKILL at a random moment of a release with a ledger: afterwards the
target must be absent or whole, the source untouched, no half-written file left, and the budget kept. Exit status 1 if
one of these fails, or if a goal of speed is missed.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from book import Book
from rich.console import Console
from rich.table import Table

import leakwise as lw
from leakwise.tables.release.draw import randomize_codes

CONSOLE = Console()
LABELS = [f"value {k}" for k in range(16)]
CALLS = 2000


def cpu_seconds(run: Callable[[], object], repeats: int = 3) -> float:
    """The least CPU time of a few runs after one to warm up."""
    run()
    best = float("inf")
    for _ in range(repeats):
        start = time.process_time()
        run()
        best = min(best, time.process_time() - start)
    return best


def speed(rows: int, seconds: float) -> str:
    per = rows / seconds
    return f"{per / 1e6:,.1f} M" if per >= 1e6 else f"{per:,.0f}"


# ------------------------------------------------------------------------------------------------------- in memory


def peers(letters: int) -> dict[str, Callable[[int], object] | str]:
    """For each peer what randomises so many values one by one, or why it cannot be run."""
    found: dict[str, Callable[[int], object] | str] = {}

    def add(name: str, module: str, make: Callable[[Any], Callable[[], object]]) -> None:
        try:
            one = make(importlib.import_module(module))
            one()
        except Exception as error:  # whatever a peer fails with, the others are still measured
            reason = "not installed" if isinstance(error, ModuleNotFoundError) else f"fails: {error}"
            found[name] = reason[:60]
            return
        found[name] = lambda count: [one() for _ in range(count)]

    def opendp(measurements: Any) -> Callable[[], object]:
        importlib.import_module("opendp.mod").enable_features("contrib")
        measurement = measurements.make_randomized_response({f"v{k}" for k in range(letters)}, 0.5)
        return lambda: measurement("v1")

    def diffprivlib(mechanisms: Any) -> Callable[[], object]:
        if letters == 2:
            binary = mechanisms.Binary(epsilon=1.0, value0="0", value1="1")
            return lambda: binary.randomise("1")
        pairs = [[str(i), str(j), 1.0] for i in range(letters) for j in range(i)]
        mechanism = mechanisms.ExponentialCategorical(epsilon=1.0, utility_list=pairs)
        return lambda: mechanism.randomise("1")

    add("OpenDP randomized response", "opendp.measurements", opendp)
    add("diffprivlib", "diffprivlib.mechanisms", diffprivlib)
    add(
        "multi-freq-ldpy GRR",
        "multi_freq_ldpy.pure_frequency_oracles.GRR",
        lambda module: lambda: module.GRR_Client(1, letters, 1.0),
    )

    def pure_ldp(module: Any) -> Callable[[], object]:
        client = module.DEClient(epsilon=1.0, d=letters)
        return lambda: client.privatise(1)

    add("pure-ldp direct encoding", "pure_ldp.frequency_oracles.direct_encoding", pure_ldp)
    return found


def in_memory(rows: int, book: Book) -> bool:
    """The sampler on uint8 codes beside a copy and the peers; at least 100 M rows per CPU-second."""
    table = Table(title=f"In memory, {rows:,} codes of uint8: rows per CPU-second", title_justify="left")
    for name in ("letters", "what", "rows per CPU-second", "this is … times as fast"):
        table.add_column(name, justify="left" if name == "what" else "right")
    good = True
    for letters in (2, 16, 256):
        codes = np.random.default_rng(letters).integers(0, letters, rows).astype(np.uint8)
        law = np.random.default_rng(1).dirichlet(np.full(letters, 3.0), letters)
        mechanisms = {
            "leakwise, randomized response": lw.randomized_response(letters, lift=4),
            "leakwise, dense": lw.Mechanism(law),
        }
        slowest = float("inf")
        for name, mechanism in mechanisms.items():
            seconds = cpu_seconds(partial(randomize_codes, codes, mechanism))
            slowest = min(slowest, rows / seconds)
            table.add_row(str(letters), name, speed(rows, seconds), "1")
        table.add_row(str(letters), "copy", speed(rows, cpu_seconds(codes.copy)), "")
        good &= slowest >= 1e8
        book.note(
            f"randomise {letters} letters in memory",
            f"{slowest / 1e6:,.0f} M rows per CPU-second",
            target="≥ 100 M",
            kept=slowest >= 1e8,
        )
        for name, run in peers(letters).items():
            if isinstance(run, str):
                table.add_row(str(letters), name, run, "")
                continue
            seconds = cpu_seconds(partial(run, CALLS), repeats=2)
            times = slowest * seconds / CALLS
            table.add_row(str(letters), name, speed(CALLS, seconds), f"{times:,.0f}")
            wanted = 1000 if name.startswith("OpenDP") else 20
            good &= times >= wanted
            book.note(
                f"against {name}, {letters} letters", f"{times:,.0f}×", target=f"≥ {wanted}×", kept=times >= wanted
            )
    CONSOLE.print(table)
    return good


# --------------------------------------------------------------------------------------------------------- Parquet


def copy(source: Path, out: Path) -> None:
    """What pyarrow needs to read a file and write it unchanged."""
    pq.write_table(pq.read_table(source), out)


def parquet(rows: int, folder: Path, book: Book) -> bool:
    """Parquet to Parquet beside pyarrow's own copy: at least half its speed."""
    rng = np.random.default_rng(0)
    texts = pa.DictionaryArray.from_arrays(pa.array(rng.integers(0, 16, rows).astype(np.int8)), pa.array(LABELS))
    columns = {
        "id": pa.array(np.arange(rows)),
        "x": pa.array(rng.normal(size=rows)),
        "s": texts.cast(pa.string()),
        "c": pa.array(rng.integers(0, 1000, rows).astype(np.int32)),
    }
    mechanism = lw.randomized_response(LABELS, lift=4)
    table = Table(title=f"Parquet to Parquet, {rows:,} rows", title_justify="left")
    for name in ("table", "release, rows per CPU-second", "pyarrow copy", "release / copy"):
        table.add_column(name, justify="left" if name == "table" else "right")
    good = True
    for title, names in {"four columns": list(columns), "the secret column alone": ["s"]}.items():
        source, out = folder / "a.parquet", folder / "b.parquet"
        pq.write_table(pa.table({name: columns[name] for name in names}), source)

        ours = cpu_seconds(partial(lw.release, source, mechanism, "s", out=out, overwrite=True))
        theirs = cpu_seconds(partial(copy, source, out))
        good &= ours <= 2 * theirs
        table.add_row(title, speed(rows, ours), speed(rows, theirs), f"{theirs / ours:.2f}")
        share = theirs / ours
        book.note(f"Parquet to Parquet, {title}", f"{share:.2f} of pyarrow's copy", target="≥ 0.5", kept=share >= 0.5)
    CONSOLE.print(table)
    return good


# ---------------------------------------------------------------------------------------------------------- stream

STREAM = """
import json, resource, sys, time
import leakwise as lw
source, out = sys.argv[1:]
m = lw.randomized_response(["no", "perhaps", "yes"], lift=4)
start, cpu = time.perf_counter(), time.process_time()
lw.release(source, m, "s", out=out)
print(json.dumps({
    "seconds": time.perf_counter() - start,
    "cpu": time.process_time() - cpu,
    "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
}))
"""


def streamed(rows: int, folder: Path, book: Book) -> bool:
    """So many rows from Parquet to Parquet by a process of its own, in less than 1 GB."""
    source, out = folder / "long.parquet", folder / "long out.parquet"
    size = min(rows, 1 << 20)
    labels = pa.array(["no", "perhaps", "yes"])
    schema = pa.schema([("s", pa.dictionary(pa.int8(), pa.string()))])
    codes = np.random.default_rng(0).integers(0, 3, size).astype(np.int8)
    with pq.ParquetWriter(source, schema) as writer:
        for start in range(0, rows, size):
            part = pa.array(codes[: min(size, rows - start)])
            writer.write_table(pa.table([pa.DictionaryArray.from_arrays(part, labels)], schema=schema))
    words = [sys.executable, "-c", STREAM, str(source), str(out)]
    told = json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)
    whole = pq.ParquetFile(out).metadata.num_rows == rows
    CONSOLE.print(
        f"Streamed: {rows:,} rows in {told['seconds']:.0f} s ({speed(rows, told['seconds'])} rows/s, "
        f"{speed(rows, told['cpu'])} rows per CPU-second), peak resident memory {told['peak'] / 1e6:,.0f} MB"
    )
    peak = told["peak"]
    figure = f"{peak / 1e6:,.0f} MB, {told['seconds']:.0f} s"
    book.note(f"{rows:,} rows streamed", figure, target="< 1 GB", kept=whole and peak < 1e9)
    return whole and bool(peak < 1e9)


# ----------------------------------------------------------------------------------------------------------- kills

VICTIM = """
import sys
import leakwise as lw
source, out, ledger = sys.argv[1:]
prior = lw.Prior({"no": 0.5, "perhaps": 0.25, "yes": 0.25})
print("started", flush=True)
try:
    lw.protect(source, "s", unrelated="n", prior=prior, lift=1.25, out=out, overwrite=True, ledger=ledger, dataset="d")
except lw.Infeasible:
    sys.exit(5)
"""


def kills(count: int, folder: Path) -> bool:
    """Releases killed at random moments: what is there afterwards is whole, and the budget holds."""
    rows = 400_000
    codes = np.random.default_rng(0).integers(0, 3, rows)
    source, out, book = folder / "k.csv", folder / "k out.csv", folder / "k.db"
    with source.open("w") as stream:
        stream.write("n,s\n")
        stream.writelines(f"{place},{('no', 'perhaps', 'yes')[code]}\n" for place, code in enumerate(codes))
    before = source.read_bytes()
    ledger = lw.Ledger(book)
    ledger.set_budget("d", "s", lift=1.9)
    outcomes = {"finished": 0, "killed": 0, "refused by the budget": 0}
    good = True
    longest = 0.0
    # A first release that nobody kills says how long one takes.
    for turn in range(count + 1):
        out.unlink(missing_ok=True)
        words = [sys.executable, "-c", VICTIM, str(source), str(out), str(book)]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout is not None
            child.stdout.readline()
            start = time.perf_counter()
            try:
                child.wait(timeout=None if turn == 0 else random.uniform(0, 1.2 * longest))
            except subprocess.TimeoutExpired:
                child.send_signal(signal.SIGKILL)
                child.wait()
            longest = max(longest, time.perf_counter() - start)
        outcomes[
            "finished" if child.returncode == 0 else "refused by the budget" if child.returncode == 5 else "killed"
        ] += 1
        good &= child.returncode in (0, 5, -signal.SIGKILL)
        good &= source.read_bytes() == before
        good &= not list(folder.glob(".*.part"))
        if out.exists():
            lines = out.read_bytes().count(b"\n")
            good &= lines == rows + 1 and child.returncode != 5
        good &= ledger.total("d", "s").within_budget
        # Who knows that a killed release was never seen takes its entry back, so that the next one can be tried.
        for one in ledger.entries():
            if one.state == "reserved" and not out.exists():
                ledger.cancel(one.id)
        if child.returncode == 5:
            # A fresh ledger when the budget is spent, so that releases go on being made and killed.
            for name in (book, book.with_name("k.db-wal"), book.with_name("k.db-shm")):
                name.unlink(missing_ok=True)
            ledger = lw.Ledger(book)
            ledger.set_budget("d", "s", lift=1.9)
    counted = ", ".join(f"{number} {name}" for name, number in outcomes.items())
    CONSOLE.print(f"Kills: {counted}; {'nothing lost, nothing half-written' if good else 'SOMETHING WAS LEFT BEHIND'}")
    return good


def full_disk(folder: Path) -> bool:
    """A release onto a file system of 1 MB, where the machine lets one be made."""
    mount = folder / "small"
    mount.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(mount)], capture_output=True, check=False
    )
    if made.returncode:
        CONSOLE.print("Full disk: not tried, since no small file system can be made here (the tests limit file sizes).")
        return True
    try:
        source = folder / "f.csv"
        source.write_text("s\n" + "yes\nno\n" * 200_000)
        try:
            lw.release(source, lw.randomized_response(["no", "yes"], lift=2), "s", out=mount / "o.csv")
        except lw.InvalidInput as error:
            left = os.listdir(mount)
            CONSOLE.print(f"Full disk: refused ({str(error)[-60:]}), left behind: {left or 'nothing'}")
            return not left
        return False
    finally:
        subprocess.run(["umount", str(mount)], check=False)


def main() -> int:
    reader = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    reader.add_argument("--rows", type=float, default=2e7, help="codes in memory")
    reader.add_argument("--parquet", type=float, default=4e6, help="rows from Parquet to Parquet")
    reader.add_argument("--streamed", type=float, default=1e9, help="rows in a stream")
    reader.add_argument("--kills", type=int, default=50, help="releases to kill")
    given = reader.parse_args()
    folder, book = Path(tempfile.mkdtemp(prefix="leakwise-bench-")), Book("release")
    good = True
    try:
        if given.rows:
            good &= in_memory(int(given.rows), book)
        if given.parquet:
            good &= parquet(int(given.parquet), folder, book)
        if given.streamed:
            good &= streamed(int(given.streamed), folder, book)
        if given.kills:
            whole = kills(given.kills, folder)
            book.note(
                f"{given.kills} releases killed", "nothing lost" if whole else "LOST", target="nothing lost", kept=whole
            )
            good &= whole
            good &= full_disk(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    book.close()
    CONSOLE.print("All goals met." if good else "[bold]A goal was missed: see above.[/bold]")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
