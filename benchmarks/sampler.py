"""Rows per CPU-second of the exact sampler, beside plain NumPy, in one run.

Run ``python benchmarks/sampler.py`` (``--fit 1e8`` draws for the goodness of fit, ``--rows`` for the speed).

- *copy* is a bare NumPy copy of the codes: the ceiling for anything that touches each row once.
- *choice* is what a NumPy user writes: ``Generator.choice`` for each letter present (neither exact nor secure).
- *inverse* is one float ``Generator.random`` a row and a search in that row's cumulative law, vectorised over
  outcomes (neither exact nor secure); left out where it would need a matrix.

"2 threads" is the wall-clock speed-up of two threads that share one sampler; it says something only while two cores
are otherwise idle. CPU-seconds are those of the process (`time.process_time`), the best of several runs. The
false-alarm rate of the fit is 1e-6 a line: a right sampler is called wrong once in a million runs. Exit status 1 if a
fit is refused.
"""

from __future__ import annotations

import argparse
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from book import Book
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from scipy.special import chdtrc

from leakwise.sampling import RowSampler, StructuredSampler

BITS = 60
FALSE_ALARM = 1e-6

Sampler = RowSampler | StructuredSampler


def dense_law(letters: int) -> NDArray[np.int64]:
    """A random dense matrix without structure over 2**60."""
    law = np.random.default_rng(letters).dirichlet(np.full(letters, 3.0), letters)
    weights = np.floor(law * 2.0**BITS).astype(np.int64)
    weights[:, 0] += (1 << BITS) - weights.sum(axis=1)
    return weights


def structured_laws(letters: int) -> dict[str, tuple[NDArray[np.int64], int]]:
    """Randomized response, its negative twin, and uneven laws with either sign of the diagonal."""
    total = 1 << BITS
    mean = total // letters
    uneven = np.random.default_rng(1).integers(mean // 2, mean + mean // 2, letters)
    uneven += (total - int(uneven.sum())) // letters
    negative = uneven.copy()
    negative[-1] += total - int(uneven.sum()) + int(uneven.min()) // 2
    laws = {
        "randomized response": np.full(letters, total // 2 // letters),
        "equal, diagonal < 0": np.full(letters, 2 * total // (2 * letters - 1)),
        "uneven, diagonal > 0": uneven // 2,
        "uneven, diagonal < 0": negative,
    }
    return {name: (common, total - int(common.sum())) for name, common in laws.items()}


def cpu_seconds(run: Callable[[], object], repeats: int = 3) -> float:
    """The least CPU time of a few runs after one to warm up."""
    run()
    best = float("inf")
    for _ in range(repeats):
        start = time.process_time()
        run()
        best = min(best, time.process_time() - start)
    return best


def choice(codes: NDArray[Any], law: NDArray[np.float64], rng: np.random.Generator) -> NDArray[Any]:
    out = np.empty_like(codes)
    for letter in range(len(law)):
        mine = np.flatnonzero(codes == letter)
        out[mine] = rng.choice(len(law), size=mine.size, p=law[letter])
    return out


def inverse(codes: NDArray[Any], law: NDArray[np.float64], rng: np.random.Generator) -> NDArray[Any]:
    tops = np.cumsum(law, axis=1)[:, :-1]
    out = np.empty_like(codes)
    for start in range(0, codes.size, 1 << 14):
        part = codes[start : start + (1 << 14)]
        out[start : start + part.size] = (rng.random(part.size)[:, None] >= tops[part]).sum(axis=1)
    return out


def two_threads(sampler: Sampler, codes: NDArray[Any]) -> float:
    """Wall-clock speed-up of two threads that share the sampler over one."""

    def wall(count: int) -> float:
        threads = [threading.Thread(target=sampler.draw, args=(codes,)) for _ in range(count)]
        start = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return (time.perf_counter() - start) / count

    return min(wall(1) for _ in range(3)) / min(wall(2) for _ in range(3))


def fit_dense(sampler: RowSampler, weights: NDArray[np.int64], draws: int) -> float:
    """The p-value of Pearson's test over all rows, pooling cells with fewer than 20 expected draws."""
    letters = len(weights)
    codes = (np.arange(1 << 22) % letters).astype(np.uint8)
    counts = np.zeros(letters * letters, np.int64)
    drawn_rows = np.zeros(letters, np.int64)
    for start in range(0, draws, codes.size):
        part = codes[: min(codes.size, draws - start)]
        cells = part.astype(np.uint32) * np.uint32(letters) + sampler.draw(part)
        counts += np.bincount(cells, minlength=counts.size)
        drawn_rows += np.bincount(part, minlength=letters)
    expected = (drawn_rows[:, None] * (weights / 2.0**BITS)).ravel()
    return pearson(counts, expected, constraints=letters)


def fit_structured(sampler: StructuredSampler, common: NDArray[np.int64], diagonal: int, draws: int) -> float:
    """The same for a million letters, from 64 of them: how often each stays itself, and where the others go."""
    letters = common.size
    base = common / 2.0**BITS
    secrets = np.linspace(0, letters - 1, 64).astype(np.uint32)
    codes = np.resize(secrets, 1 << 22)
    counts = np.zeros(letters, np.int64)
    own = np.zeros(64, np.int64)
    drawn_rows = np.zeros(64, np.int64)
    for start in range(0, draws, codes.size):
        part = codes[: min(codes.size, draws - start)]
        drawn = sampler.draw(part)
        itself = drawn == part
        counts += np.bincount(drawn[~itself], minlength=letters)
        own += np.bincount(np.flatnonzero(itself) % 64, minlength=64)
        drawn_rows += np.bincount(np.arange(part.size) % 64, minlength=64)

    stay = base[secrets] + diagonal / 2.0**BITS
    expected_own = drawn_rows * stay
    if expected_own.min() < 20:  # nearly equal tiny chances: the sum has the law of the parts
        own, stay, rows = own.sum(keepdims=True), stay.mean(keepdims=True), drawn_rows.sum(keepdims=True)
    else:
        rows = drawn_rows
    p_own = pearson(np.append(own, rows - own), np.append(rows * stay, rows * (1 - stay)), constraints=own.size)

    # Given that a letter changes, it goes to the others by the common law. The rows differ only in the one letter
    # that each leaves out, so that the sum over rows is a multinomial but for one part in a million.
    leaving = (drawn_rows - own if own.size == 64 else drawn_rows) / (base.sum() - base[secrets])
    leaving *= counts.sum() / (leaving * (base.sum() - base[secrets])).sum()
    expected = leaving.sum() * base
    expected[secrets] -= leaving * base[secrets]
    return min(1.0, 2 * min(p_own, pearson(counts, expected, constraints=1)))


def pearson(counts: NDArray[Any], expected: NDArray[Any], constraints: int) -> float:
    impossible = expected == 0
    if counts[impossible].any():
        return 0.0
    small = (expected < 20) & ~impossible
    observed, wanted = counts[~small & ~impossible], expected[~small & ~impossible]
    if small.any():
        observed, wanted = np.append(observed, counts[small].sum()), np.append(wanted, expected[small].sum())
    return float(chdtrc(wanted.size - constraints, ((observed - wanted) ** 2 / wanted).sum()))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=float, default=2e7, help="rows for the speed of the sampler")
    parser.add_argument("--fit", type=float, default=1e8, help="draws for the goodness of fit; 0 leaves it out")
    parser.add_argument("--letters", type=float, default=1e6, help="letters of the structured laws")
    options = parser.parse_args()
    rows, draws, letters = int(options.rows), int(options.fit), int(options.letters)

    table = Table(title=f"Exact sampler, denominator 2**{BITS}: million rows per CPU-second")
    for name in (
        "law",
        "leakwise",
        "copy",
        "choice",
        "inverse",
        "× copy",
        "× choice",
        "× inverse",
        "2 threads",
        "fit p",
    ):
        table.add_column(name, justify="left" if name == "law" else "right")
    refused, book = False, Book("sampler")

    def add(name: str, sampler: Sampler, codes: NDArray[Any], slow: dict[str, float], p: float | None) -> None:
        nonlocal refused
        out = np.empty(codes.shape, sampler.dtype)
        ours = codes.size / cpu_seconds(lambda: sampler.draw(codes, out=out)) / 1e6
        copied = codes.size / cpu_seconds(lambda: np.copyto(out, codes)) / 1e6
        cells = [name, f"{ours:,.0f}", f"{copied:,.0f}"]
        cells += [f"{slow[peer]:,.2f}" if peer in slow else "–" for peer in ("choice", "inverse")]
        cells += [f"{ours / copied:.3f}"]
        cells += [f"{ours / slow[peer]:,.0f}" if peer in slow else "–" for peer in ("choice", "inverse")]
        cells += [f"{two_threads(sampler, codes):.2f}×", "–" if p is None else f"{p:.2g}"]
        table.add_row(*cells)
        beside = ", ".join(f"{ours / rate:,.0f}× {peer}" for peer, rate in slow.items())
        figure = f"{ours:,.0f} M rows per CPU-second" + (f" ({beside})" if beside else "")
        good = None if p is None else p >= FALSE_ALARM
        book.note(f"exact sampler, {name}", figure, target=f"fit at {draws:,} draws" if draws else None, kept=good)
        refused |= p is not None and p < FALSE_ALARM

    rng = np.random.default_rng(0)
    for k in (2, 16, 256):
        weights = dense_law(k)
        sampler = RowSampler(weights, BITS)
        codes = rng.integers(0, k, rows).astype(np.uint8)
        some = codes[: max(1, rows // 20)]
        law = weights / 2.0**BITS
        slow = {
            "choice": some.size / cpu_seconds(partial(choice, some, law, rng), 1) / 1e6,
            "inverse": some.size / cpu_seconds(partial(inverse, some, law, rng), 1) / 1e6,
        }
        add(f"dense, k = {k}", sampler, codes, slow, fit_dense(sampler, weights, draws) if draws else None)
    codes = rng.integers(0, letters, rows // 2).astype(np.uint32)
    for name, (common, diagonal) in structured_laws(letters).items():
        built = StructuredSampler(common, diagonal, BITS)
        p = fit_structured(built, common, diagonal, draws) if draws else None
        add(f"{name}, N = {letters:,}", built, codes, {}, p)

    book.close()
    console = Console(width=140)
    console.print(table)
    if draws:
        console.print(f"Fit: Pearson over {draws:,} draws a line, false-alarm rate {FALSE_ALARM:g} each.")
    console.print("[red]A fit was refused.[/red]" if refused else "No fit was refused." if draws else "")
    return int(refused)


if __name__ == "__main__":
    sys.exit(main())
