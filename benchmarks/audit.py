"""Measures of a random channel beside bare NumPy and, where they install, the packages qif and dit; one run.

Run ``python benchmarks/audit.py``. The peers are taken from this interpreter, or from another one: ``--peers
path/to/python`` of an environment with ``pip install qif dit numpy``. Each of their answers is asked for in a process
of its own and given up after ``--patience`` seconds. Without them the run says so and goes on.

- *bare NumPy* is the one line a user would write: no checks, no labels, no safe side. - *leakwise* starts from a
Mechanism and a Prior that are there already (making them is a line of its own), and every number is
  rounded to the safe side.
- *capacity* is asked to a gap of 1e-4 nats between a proven lower and a proven upper value; dit has no upper value,
and stops as
  soon as two steps differ by less than 1e-4.

Times are CPU-seconds of the process, the best of several runs.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from book import Book
from rich.console import Console
from rich.table import Table

import leakwise as lw

SEED = 2026
GAP = 1e-4

# What a peer runs: it makes the same channel again and prints its answer in nats and its time.
PEER = """
import json, sys, time
import numpy as np
package, measure, size, seed, gap = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), float(sys.argv[5])
rng = np.random.default_rng(seed)
P = rng.random((size, size)); P /= P.sum(axis=1, keepdims=True)
pi = rng.random(size); pi /= pi.sum()
if package == "qif":
    import qif
    ask = {
        "Bayes capacity": lambda: np.log(qif.measure.bayes_vuln.mult_capacity(P)),
        "min-entropy leakage": lambda: np.log(2) * qif.measure.bayes_vuln.min_entropy_leakage(pi, P),
        "mutual information": lambda: np.log(2) * qif.measure.shannon.add_leakage(pi, P),
        "LDP": lambda: qif.measure.d_privacy.smallest_epsilon(P, qif.metric.discrete(qif.uint)),
        "capacity": lambda: np.log(2) * qif.measure.shannon.add_capacity(P, gap)[0],
    }[measure]
else:
    import dit
    ask = {"capacity": lambda: np.log(2) * dit.algorithms.channel_capacity(P, rtol=0.0, atol=gap)[0]}[measure]
start = time.process_time()
value = float(ask())
print(json.dumps([value, time.process_time() - start]))
"""


def channel(size: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(SEED)
    matrix = rng.random((size, size))
    matrix /= matrix.sum(axis=1, keepdims=True)
    prior = rng.random(size)
    return matrix, prior / prior.sum()


def seconds(run: Callable[[], Any], repeats: int) -> tuple[Any, float]:
    best, value = float("inf"), run()
    for _ in range(repeats):
        start = time.process_time()
        value = run()
        best = min(best, time.process_time() - start)
    return value, best


def has(python: str, package: str) -> bool:
    return subprocess.run([python, "-c", f"import {package}"], capture_output=True, check=False).returncode == 0


def ask_peer(python: str, package: str, measure: str, size: int, patience: float) -> tuple[str, float | None]:
    """The peer's time as text, and in seconds if it ended."""
    words = [python, "-c", PEER, package, measure, str(size), str(SEED), str(GAP)]
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=patience)
    except subprocess.TimeoutExpired:
        return f"> {patience:g} s", patience
    if done.returncode:
        return "failed", None
    value, spent = json.loads(done.stdout.splitlines()[-1])
    return f"{1e3 * spent:.1f} ms ({value:.5f})", spent


def bare_min_entropy(matrix: Any, prior: Any) -> float:
    return float(np.log((prior[:, None] * matrix).max(axis=0).sum() / prior.max()))


def bare_mutual_information(matrix: Any, prior: Any) -> float:
    return float((prior[:, None] * matrix * np.log(matrix / (prior @ matrix))).sum())


def bare_capacity(matrix: Any) -> float:
    """Blahut-Arimoto as in the textbooks, to the same gap."""
    law = np.full(len(matrix), 1 / len(matrix))
    entropy = (matrix * np.log(matrix)).sum(axis=1)
    while True:
        divergence = entropy - matrix @ np.log(law @ matrix)
        if divergence.max() - law @ divergence <= GAP:
            return float(law @ divergence)
        law *= np.exp(divergence)
        law /= law.sum()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--size", type=int, default=1000, help="letters and outcomes")
    parser.add_argument("--peers", default=sys.executable, help="a Python that has qif and dit")
    parser.add_argument("--patience", type=float, default=60.0, help="seconds to wait for a peer's answer")
    options = parser.parse_args()
    matrix, prior = channel(options.size)
    (m, p), making = seconds(lambda: (lw.Mechanism(matrix), lw.Prior(prior.tolist())), 1)
    m.matrix  # noqa: B018 - the float view is made once per mechanism; the bare line starts with one, too
    there = [package for package in ("qif", "dit") if has(options.peers, package)]

    measures: list[tuple[str, Callable[[], float], Callable[[], float], int]] = [
        ("Bayes capacity", lambda: float(np.log(matrix.max(axis=0).sum())), lambda: lw.maximal_leakage(m), 20),
        (
            "min-entropy leakage",
            lambda: bare_min_entropy(matrix, prior),
            lambda: lw.measures.min_entropy_leakage(m, p),
            20,
        ),
        (
            "LDP",
            lambda: float(np.log((matrix.max(axis=0) / matrix.min(axis=0)).max())),
            lambda: lw.ldp(m),
            20,
        ),
        (
            "mutual information",
            lambda: bare_mutual_information(matrix, prior),
            lambda: lw.mutual_information(m, p),
            5,
        ),
        ("capacity", lambda: bare_capacity(matrix), lambda: lw.measures.shannon_capacity(m, tolerance=GAP).upper, 2),
    ]
    book = Book("audit")
    table = Table(title=f"Random channel, {options.size} × {options.size}")
    for name in ("measure", "value (nats)", "bare NumPy", "leakwise", "× bare", "qif", "dit", "peers ÷ leakwise"):
        table.add_column(name)
    for name, bare, own, repeats in measures:
        _, plain = seconds(bare, min(repeats, 5))
        value, mine = seconds(own, repeats)
        cells, ratios = [], []
        for package in ("qif", "dit"):
            if package not in there or (package == "dit" and name != "capacity"):
                cells.append("—" if package in there else "not installed")
                continue
            text, spent = ask_peer(options.peers, package, name, options.size, options.patience)
            cells.append(text)
            if spent is not None:
                ratios.append(f"{'> ' if text.startswith('>') else ''}{spent / mine:.1f} ({package})")
        figures = [f"{1e3 * plain:.2f} ms", f"{1e3 * mine:.2f} ms", f"{mine / plain:.2f}"]
        table.add_row(name, f"{value:.6f}", *figures, *cells, ", ".join(ratios) or "—")
        beside = f"; peers take {', '.join(ratios)} times as long" if ratios else ""
        size = f"{options.size} × {options.size}"
        book.note(f"{name}, {size}", f"{1e3 * mine:.2f} ms, bare NumPy {1e3 * plain:.2f} ms{beside}")
    console = Console(width=150)
    console.print(table)
    console.print(f"Making the Mechanism (exact integers, every row checked) and the Prior: {1e3 * making:.0f} ms.")
    if len(there) < 2:
        missing = ", ".join(sorted({"qif", "dit"} - set(there)))
        console.print(f"Not installed here: {missing}. See --help for how to have them measured, too.")
    book.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
