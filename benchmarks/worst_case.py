"""Least leakage on masks beside bisection with the plain linear program (10) of the paper; large banded masks.

Run ``python benchmarks/worst_case.py``. The first table is the full curve of a random order: every level, with the
mechanism and the proof of each, against bisection with (10) on the same levels to the same accuracy, by SciPy's HiGHS.
The plain program is timed on some levels only (``--levels``) and counted for all of them: its time hardly depends on
which. The second table is a banded utility on thousands of letters. Times are CPU-seconds of this process.
"""

from __future__ import annotations

import argparse
import math
import time

import numpy as np
from book import Book
from rich.console import Console
from rich.table import Table
from scipy.optimize import linprog
from scipy.sparse import coo_matrix

import leakwise as lw

SEED = 2026
ACCURACY = 1e-9


def plain_feasible(allowed: np.ndarray, p: np.ndarray, ratio: float) -> bool:
    """The feasibility program (10) as it is printed, on the allowed pairs of the usable outputs."""
    usable = np.flatnonzero(ratio * (p @ allowed) >= 1)
    allowed = allowed[:, usable]
    output, letter = np.nonzero(allowed.T)
    if not allowed.any(axis=1).all():
        return False
    count = len(output)
    rows, columns, values = [], [], []
    for j in range(allowed.shape[1]):
        own = np.flatnonzero(output == j)
        block = np.eye(len(own)) - ratio * np.tile(p[letter[own]], (len(own), 1))
        rows.append(np.repeat(own, len(own)))
        columns.append(np.tile(own, len(own)))
        values.append(block.ravel())
    leakage = coo_matrix(
        (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))), shape=(count, count)
    ).tocsc()
    sums = coo_matrix((np.ones(count), (letter, np.arange(count))), shape=(len(p), count)).tocsc()
    answer = linprog(np.zeros(count), leakage, np.zeros(count), sums, np.ones(len(p)), method="highs")
    return bool(answer.status == 0)


def plain_least(allowed: np.ndarray, p: np.ndarray) -> tuple[float, int]:
    """Bisection on ε to ACCURACY, and how many programs it took."""
    if allowed.all(axis=0).any():
        return 0.0, 1
    low, high, programs = 0.0, float(-np.log(p.min())), 0
    while high - low > ACCURACY:
        middle = (low + high) / 2
        programs += 1
        low, high = (low, middle) if plain_feasible(allowed, p, math.exp(middle)) else (middle, high)
    return high, programs


def curve(size: int, levels: list[int], console: Console, book: Book) -> None:
    rng = np.random.default_rng(SEED)
    utility = rng.random((size, size))
    order = utility.argsort(axis=1).argsort(axis=1) + 1
    prior = lw.Prior(rng.dirichlet(np.ones(size) * 2).tolist())
    p = prior.probabilities
    start = time.process_time()
    found = lw.worst_case_curve(prior, utility, by="order")
    ours = time.process_time() - start
    table = Table(title=f"Full curve, random order {size} × {size}: {len(found.levels)} levels")
    for header in ("", "CPU-s", "programs", "largest difference"):
        table.add_column(header, justify="right" if header else "left")
    table.add_row("leakwise, all levels, with proofs", f"{ours:.2f}", "", f"gap {found.gap:.1e}")
    spent, programs, worst = 0.0, 0, 0.0
    for level in levels:
        start = time.process_time()
        epsilon, count = plain_least(order >= level, p)
        spent += time.process_time() - start
        programs += count
        worst = max(worst, abs(epsilon - found.epsilon[level - 1]))
    table.add_row(f"bisection with (10), levels {levels}", f"{spent:.1f}", f"{programs}", f"{worst:.1e}")
    all_levels = spent / len(levels) * len(found.levels)
    table.add_row("bisection, all levels (counted up)", f"{all_levels:.0f}", "", "")
    console.print(table)
    faster = all_levels / ours
    console.print(f"{faster:.0f} times faster.")
    figure = f"{faster:.0f}×, gap {found.gap:.1e}"
    book.note(f"full curve {size} × {size} against bisection with (10)", figure, target="≥ 20×", kept=faster >= 20)


def banded(console: Console, book: Book) -> None:
    table = Table(title="Banded utility -|x-y|, 2,000 letters, mechanism and proof included")
    for header in ("prior", "level", "least ε", "gap", "utility-safe ε", "CPU-s"):
        table.add_column(header, justify="right")
    rng = np.random.default_rng(SEED)
    size = 2000
    utility = lw.distance_utility(range(size))
    priors = {
        "uniform": lw.Prior.uniform(size),
        "Dirichlet(5)": lw.Prior(rng.dirichlet(np.ones(size) * 5).tolist()),
        "Dirichlet(1)": lw.Prior(rng.dirichlet(np.ones(size)).tolist()),
    }
    for name, prior in priors.items():
        for level in (-5, -10):
            safe = lw.utility_safe(prior, utility, level)
            start = time.process_time()
            found = lw.least_leakage(prior, utility >= level)
            spent = time.process_time() - start
            table.add_row(
                name, f"{level}", f"{found.epsilon:.9f}", f"{found.gap:.1e}", f"{safe.epsilon:.6f}", f"{spent:.1f}"
            )
            figure = f"{spent:.1f} CPU-s, gap {found.gap:.1e}"
            book.note(f"2,000 letters, banded, {name}, level {level}", figure, target="< 60 s", kept=spent < 60)
    console.print(table)


def main() -> None:
    """Both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=60, help="letters and outputs of the random order")
    levels = [10, 20, 30, 40, 50]
    parser.add_argument("--levels", type=int, nargs="+", default=levels, help="levels the plain program is timed on")
    chosen = parser.parse_args()
    console = Console()
    book = Book("worst_case")
    curve(chosen.size, chosen.levels, console, book)
    banded(console, book)
    book.close()


if __name__ == "__main__":
    main()
