"""Datasets against an entropy-bounded adversary: certified global values beside the paper's alternating algorithms.

Run ``python benchmarks/records.py`` (``--quick`` for a shorter run). Seconds are wall-clock.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from typing import Any

from book import Book
from rich.console import Console
from rich.table import Table

from leakwise import records

LOG2 = math.log(2)


def timed(run: Callable[[], Any]) -> tuple[Any, float]:
    start = time.perf_counter()
    result = run()
    return result, time.perf_counter() - start


def against_alternating(console: Console, restarts: int, book: Book) -> None:
    table = Table(title=f"Parity of 6 bits, flip 0.3: global against Algorithms 1–5 with {restarts} restarts")
    for header in ("b", "alternating", "s", "global (closed form off)", "gap", "s", "times faster", "never lower"):
        table.add_column(header, justify="right")
    channel = records.parity(6).symmetric_channel(0.3)
    for b in (2.0, 3.0, 3.8):
        local, slow = timed(
            lambda b=b: records.leakage(channel, b, method="alternating", restarts=restarts, time_limit=600)
        )
        best, quick = timed(lambda b=b: records.leakage(channel, b, closed_form=False))
        table.add_row(
            f"{b:.1f}",
            f"{local.value:.6f}",
            f"{slow:.1f}",
            f"{best.value:.6f}",
            f"{best.gap:.1e}",
            f"{quick:.3f}",
            f"{slow / quick:.0f}",
            "yes" if best.value >= local.value - 1e-9 else "NO",
        )
        book.note(
            f"parity n = 6, b = {b:.1f}, against alternating with {restarts} restarts",
            f"{slow / quick:.0f}×, gap {best.gap:.1e}",
            target="never lower",
            kept=best.value >= local.value - 1e-9,
        )
    console.print(table)


def certified(console: Console, limit: float, book: Book) -> None:
    table = Table(title="Certified leakage")
    for header in ("query", "mechanism", "b", "value", "gap", "asked", "closed", "boxes", "s"):
        table.add_column(header, justify="right")
    parity, mod3 = records.parity(1000), records.modular_sum(1000, 3)
    count = records.count(20)
    jobs: list[tuple[records.Query, records.Channel, float, float]] = []
    jobs += [(parity, parity.symmetric_channel(0.3), b * LOG2, 1e-7) for b in (998.0, 999.3, 999.7)]
    six = records.modular_sum(6, 3)
    jobs += [(six, six.symmetric_channel(0.3), f * six.max_entropy, 1e-6) for f in (0.8, 0.9, 0.95)]
    jobs += [(mod3, mod3.symmetric_channel(0.3), b, 1e-4) for b in (692.5, 692.8, 693.08)]
    for n, m in ((20, 4), (8, 5)):
        q = records.modular_sum(n, m)
        jobs += [(q, q.symmetric_channel(0.3), f * q.max_entropy, 1e-4) for f in (0.9, 0.95, 0.99)]
    for epsilon in (1.0, 0.3):
        c = count.geometric(epsilon)
        jobs += [(count, c, f * count.max_entropy, 1e-4) for f in (0.3, 0.6, 0.8, 0.9, 0.97, 0.99, 0.995, 0.9999)]
    jobs += [(count, count.symmetric_channel(0.3), f * count.max_entropy, 1e-4) for f in (0.6, 0.9, 0.97, 0.99, 0.995)]
    for query, channel, b, tolerance in jobs:
        r, seconds = timed(
            lambda c=channel, b=b, t=tolerance: records.leakage(c, b, closed_form=False, tolerance=t, time_limit=limit)
        )
        table.add_row(
            query.name,
            channel.name,
            f"{b:.2f}",
            f"{r.value:.6f}",
            f"{r.gap:.1e}",
            f"{tolerance:.0e}",
            "yes" if r.closed else "no",
            f"{r.boxes:,}",
            f"{seconds:.2f}",
        )
        book.note(
            f"leakage of {query.name}, {channel.name}, b = {b:.2f}",
            f"gap {r.gap:.1e} in {seconds:.2f} s",
            target=f"gap ≤ {tolerance:.0e}",
            kept=r.gap <= tolerance,
        )
    console.print(table)


def designs(console: Console, limit: float, book: Book) -> None:
    table = Table(title="Best mechanisms")
    for header in ("query", "question", "b", "bound", "value", "gap", "method", "s"):
        table.add_column(header, justify="right")
    jobs: list[tuple[Callable[..., Any], records.Query, float, float, float]] = [
        (records.least_leakage, records.parity(4), 0.2, 2.5, 1e-6),
        (records.least_distortion, records.parity(4), 0.05, 2.5, 1e-6),
        (records.least_leakage, records.modular_sum(3, 3), 0.3, 1.6, 1e-4),
        (records.least_leakage, records.count(4), 0.5, 1.6, 1e-6),
        (records.least_distortion, records.count(4), 0.2, 1.6, 1e-6),
        (records.least_leakage, records.count(8), 1.0, 2.6, 1e-4),
        (records.least_distortion, records.count(8), 0.1, 2.6, 1e-4),
    ]
    for function, query, level, b, tolerance in jobs:
        r, seconds = timed(
            lambda f=function, q=query, x=level, b=b, t=tolerance: f(q, x, b, tolerance=t, time_limit=limit)
        )
        table.add_row(
            query.name,
            r.question,
            f"{b:.2f}",
            f"{r.bound:.6f}",
            f"{r.value:.6f}",
            f"{r.gap:.1e}",
            r.method,
            f"{seconds:.2f}",
        )
        book.note(
            f"least {r.goal} on {query.name}, {r.question}, b = {b:.2f}",
            f"gap {r.gap:.1e} in {seconds:.2f} s",
            target=f"gap ≤ {tolerance:.0e}",
            kept=r.gap <= tolerance,
        )
    console.print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer restarts and shorter limits")
    quick = parser.parse_args().quick
    console = Console(width=150)
    book = Book("records")
    against_alternating(console, 3 if quick else 20, book)
    certified(console, 2.0 if quick else 10.0, book)
    designs(console, 3.0 if quick else 10.0, book)
    if not quick:
        book.close()


if __name__ == "__main__":
    main()
