"""How often the 95% intervals of ``lw.estimate`` contain the true frequency, over 1,000 simulated releases.

Run ``python benchmarks/interval_coverage.py`` (``--releases`` for another number). Zipf's law over 5, 50 and 300
values, a design for frequencies with lift 2 and 20 for anyone, ten million rows: the counts of the outcomes of a
release are one draw from a multinomial distribution. Coverage is the share of all intervals of all releases. With so
few rows that a rare value cannot be told from one that is absent, its interval starts at zero, errs on one side only,
and covers 97.5% of the time. Exit status 1 if a coverage is outside 93-97%.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings

import numpy as np
from book import Book

import leakwise as lw

ROWS = 10_000_000
LEAST, MOST = 0.93, 0.97


def coverage(size: int, releases: int, rows: int = ROWS) -> float:
    """The share of the intervals that contain the true frequency."""
    weights = 1 / np.arange(1, size + 1)
    prior = lw.Prior(weights / weights.sum())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lw.LeakwiseWarning)  # of the gap
        mechanism = lw.design(prior, lift=2, anyone=20, utility="frequencies").mechanism
    p, generator = prior.probabilities, np.random.default_rng(size)
    law = p @ mechanism.matrix
    inside = 0.0
    for _ in range(releases):
        counts = generator.multinomial(rows, law / law.sum()).tolist()
        low, high = lw.estimate(dict(zip(mechanism.outputs, counts, strict=True)), mechanism).intervals.T
        inside += float(((low <= p) & (p <= high)).mean())
    return inside / releases


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--releases", type=int, default=1000)
    releases = parser.parse_args().releases
    book, wrong = Book("interval_coverage"), 0
    for size in (5, 50, 300):
        start = time.process_time()
        share = coverage(size, releases)
        spent = time.process_time() - start
        kept = LEAST <= share <= MOST
        wrong += not kept
        figure = f"{share:.2%} of {releases * size:,} intervals, {spent:.0f} CPU-seconds"
        print(f"N = {size}: {figure}")
        book.note(f"95% intervals, N = {size}, {releases:,} releases", figure, target="93-97%", kept=kept)
    book.close()
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
