"""What it takes to find known bugs in programs that can only be run, and how often a correct program is called wrong.

Run ``python benchmarks/blackbox.py`` (``--programs 100`` for fewer correct ones). Bugs and correct programs are those
of attack/: every bug claims what the correct program next to it keeps, and every correct program leaks exactly what it
claims (or, for some of the corrected bugs, a little less). Times are CPU-seconds of the process, the running of the
program included.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from pathlib import Path

import numpy as np
from book import Book

import leakwise as lw
from leakwise.priors.binomial import upper_bounds

sys.path.append(str(Path(__file__).parents[1] / "attack"))
from bugs import BUGS
from correct import alarm

SEED, FAILURE, MINUTE = 2026, 0.05, 60.0


def known_bugs(book: Book) -> None:
    lines, slowest = [], 0.0
    missed = []
    for name, bug in BUGS.items():
        start = time.process_time()
        found = bug.audit(np.random.default_rng(SEED), wrong=True)
        spent = time.process_time() - start
        slowest = max(slowest, spent)
        if found.verdict != "refuted":
            missed.append(name)
        lower = found.measures["ldp"].lower
        lines.append([name, bug.what, f"{bug.epsilon:.3g}", f"{lower:.3g}", f"{found.samples:,}", f"{spent:.1f} s"])
        print(*lines[-1], sep=" | ", flush=True)
    book.table("Known bugs in programs", ["bug", "what is wrong", "claimed ε", "shown ε", "answers", "CPU time"], lines)
    book.note(
        f"{len(BUGS)} known bugs: found, the slowest in",
        f"{len(BUGS) - len(missed)}, {slowest:.1f} CPU-seconds",
        target="all, each within a minute",
        kept=not missed and slowest <= MINUTE,
    )


def unary(book: Book) -> None:
    """Unary encoding of 64 values that leaks exactly 2."""
    generator = np.random.default_rng(SEED)
    flip = 1 / (math.e + 1)

    def encode(x: int, count: int) -> object:
        return (np.arange(64) == x) ^ (generator.random((count, 64)) < flip)

    for claim, wanted in ((1.8, True), (2.0, False)):
        start = time.process_time()
        found = lw.audit_program(encode, [3, 40], epsilon=claim, batch=True, samples=100_000, failure=0.01)
        spent = time.process_time() - start
        book.note(
            f"unary encoding of 64 values, true ε 2, claim {claim:g}: {found.verdict}, shown at least",
            f"{found.measures['ldp'].lower:.3f} by {found.samples:,} answers in {spent:.1f} CPU-seconds",
            target="refuted within a minute" if wanted else "not refuted",
            kept=(found.verdict == "refuted") == wanted and (spent <= MINUTE or not wanted),
        )
        print(book.figures[-1], flush=True)


def false_alarms(book: Book, programs: int) -> None:
    generator, start = np.random.default_rng(SEED), time.process_time()
    alarms = 0
    for number in range(programs):
        alarms += alarm(generator, FAILURE, 6_000)
        if number % 100 == 99:
            print(f"{number + 1} correct programs, {alarms} false alarms", flush=True)
    most = float(upper_bounds(alarms, programs, math.log(0.01)))
    book.note(
        f"false alarms over {programs:,} correct programs at a stated rate of {FAILURE:.0%}",
        f"{alarms} (rate at most {most:.2%} with confidence 99%), {time.process_time() - start:.0f} CPU-seconds",
        target=f"at most {FAILURE:.0%}",
        kept=most <= FAILURE,
    )
    print(book.figures[-1], flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=int, default=1_000)
    options = parser.parse_args()
    book = Book("blackbox")
    known_bugs(book)
    unary(book)
    false_alarms(book, options.programs)
    print(book.close())


if __name__ == "__main__":
    main()
