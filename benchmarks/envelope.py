"""How long exact envelopes take, beside the plain linear program.

Run ``python benchmarks/envelope.py`` (``--outcomes 1e6`` for the large kernel). Every answer is checked: certificates
are verified on integers, curves are compared with single points, compositions with brute force. Exit status 1 if a
check fails or a target of issue 6 is missed: 200×200 under 5 s; a 100-point curve at least 20× faster than 100
bisections of the plain program; 10 letters × 1,000,000 outcomes under 60 s; 1000 repetitions of a binary mechanism
under 1 s.

The bisection solves the linear program for V(t) from scratch at each step, to 1e-12 in t; a few points are
timed and scaled to a hundred.
"""

from __future__ import annotations

import argparse
import itertools
import math
import sys
import time
from fractions import Fraction

import numpy as np
from book import Book
from rich.console import Console
from rich.table import Table

import leakwise as lw
from leakwise.lp import solve_lp

BISECTED = 2


def random_kernel(letters: int, outcomes: int, seed: int = 0) -> tuple[lw.Mechanism, lw.Prior]:
    """A dense random kernel and a random prior."""
    rng = np.random.default_rng(seed)
    matrix = rng.gamma(1.0, size=(letters, outcomes))
    prior = rng.dirichlet(np.full(letters, 3.0))
    return lw.Mechanism(matrix / matrix.sum(axis=1, keepdims=True)), lw.Prior((prior / prior.sum()).tolist())


def plain_value(matrix: np.ndarray, law: np.ndarray, t: float) -> float:
    """V(t), written down and solved from scratch."""
    letters, outcomes = matrix.shape
    pair = np.arange(letters * outcomes)
    letter, outcome = np.divmod(pair, outcomes)
    data = np.column_stack([np.ones(len(pair)), (matrix / law - t).ravel()]).ravel()
    rows = np.column_stack([outcome, outcomes + letter]).ravel()
    return solve_lp(
        np.ones(len(pair)),
        (data, rows, np.arange(0, 2 * len(pair) + 1, 2)),
        np.concatenate([np.full(outcomes, -np.inf), np.zeros(letters)]),
        np.concatenate([law, np.full(letters, np.inf)]),
        maximize=True,
    ).objective


def bisected(mechanism: lw.Mechanism, prior: lw.Prior, delta: float) -> float:
    """ε_c(δ) by bisection of the plain program."""
    matrix = mechanism.matrix
    law = prior.probabilities @ matrix
    low, high = 1.0, float((matrix / law).max()) * (1 + 1e-12)
    while high - low > 1e-12 * high:
        middle = math.sqrt(low * high)
        if plain_value(matrix, law, middle) >= delta:
            low = middle
        else:
            high = middle
    return math.log(high)


def timed(call):  # type: ignore[no-untyped-def]
    """Seconds and the answer."""
    start = time.perf_counter()
    answer = call()
    return time.perf_counter() - start, answer


def main() -> int:
    """Print the figures; 1 if a check fails."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--outcomes", type=float, default=1e6, help="outcomes of the large kernel")
    options = parser.parse_args()
    book = Book("envelope")
    table = Table(title="Exact envelopes")
    for header in ("what", "seconds", "target", "gap or error", "how"):
        table.add_column(header, justify="left" if header in ("what", "how") else "right")
    good = True

    def row(what: str, seconds: float, target: float | None, error: float, how: str, allowed: float = 1e-9) -> None:
        nonlocal good
        kept = (target is None or seconds <= target) and error <= allowed
        good &= error <= allowed
        wanted = None if target is None else f"{target:.3g} s, error ≤ {allowed:g}"
        book.note(what, f"{seconds:.2f} s, error {error:.1e}", target=wanted, kept=kept if wanted else None)
        table.add_row(what, f"{seconds:.2f}", "" if target is None else f"{target:g}", f"{error:.1e}", how)

    m, prior = random_kernel(200, 200)
    seconds, found = timed(lambda: lw.envelope(m, prior, 0.3))
    found.certificate.verify()
    row("200 × 200, δ = 0.3", seconds, 5.0, found.gap, f"{found.method}, {found.solves} programs")

    weights = np.arange(1, 51) ** 1.5
    skewed, response = lw.Prior((weights / weights.sum()).tolist()), lw.randomized_response(50, epsilon=1.0)
    deltas = np.linspace(0.005, 0.995, 100)
    seconds_closed, closed = timed(lambda: lw.envelope_curve(response, skewed)(deltas))
    seconds_traced, traced = timed(lambda: lw.envelope_curve(response, skewed, method="primal")(deltas))
    chosen = deltas[:: len(deltas) // BISECTED][:BISECTED]
    seconds_plain, plain = timed(lambda: [bisected(response, skewed, float(delta)) for delta in chosen])
    seconds_plain *= len(deltas) / len(chosen)
    error = max(abs(a - closed[list(deltas).index(d)]) for a, d in zip(plain, chosen, strict=True))
    row("50-RR, 100 points, closed form", seconds_closed, seconds_plain / 20, float(np.abs(closed - traced).max()), "")
    row("50-RR, 100 points, traced", seconds_traced, seconds_plain / 20, float(np.abs(closed - traced).max()), "")
    row(f"50-RR, 100 bisections ({len(chosen)} timed)", seconds_plain, None, error, "plain linear program", 1e-6)

    m, prior = random_kernel(10, int(options.outcomes))
    for delta in (0.01, 0.3):
        seconds, found = timed(lambda delta=delta: lw.envelope(m, prior, delta))
        row(
            f"10 × {int(options.outcomes):,}, δ = {delta}",
            seconds,
            60.0,
            found.gap,
            f"{found.method}, {found.solves} boxes",
        )
    seconds, _ = timed(found.certificate.verify)
    row("its certificate, checked on integers", seconds, None, 0.0, "")

    binary, even = lw.randomized_response(2, epsilon=0.1), lw.Prior([0.7, 0.3])
    seconds, joint = timed(lambda: (lambda c: (c, c.kernel)[0])(binary.repeat(1000)))
    row("repeat(1000), binary", seconds, 1.0, brute_force_error(binary, even), "error: brute force for n ≤ 8")
    seconds, leakage = timed(lambda: lw.pml(joint, even))
    row("its PML", seconds, 1.0, max(0.0, float(leakage.max()) - even.epsilon_max), f"{len(leakage)} count vectors")
    seconds, found = timed(lambda: lw.envelope(joint, even, 0.01))
    row("its envelope, δ = 0.01", seconds, 1.0, found.gap, found.method)
    Console().print(table)
    speedups = f"{seconds_plain / seconds_traced:.0f}× faster traced, {seconds_plain / seconds_closed:.0f}× closed"
    print(f"100-point curve: {speedups}")
    faster = seconds_plain / seconds_traced
    book.note("50-RR, 100-point curve against bisection", speedups, target="≥ 20×", kept=faster >= 20)
    book.close()
    return 0 if good else 1


def brute_force_error(mechanism: lw.Mechanism, prior: lw.Prior) -> float:
    """The largest difference of ε and ε_c(0.1) between count vectors and all 2^n outputs, n ≤ 8."""
    rows = [[Fraction(int(w), mechanism.denominator) for w in row] for row in mechanism.weights]
    worst = 0.0
    for times in range(1, 9):
        outputs = list(itertools.product(range(len(rows[0])), repeat=times))
        direct = lw.Mechanism([[math.prod((row[j] for j in y), start=Fraction(1)) for y in outputs] for row in rows])
        joint = mechanism.repeat(times)
        worst = max(
            worst,
            abs(lw.epsilon(direct, prior) - lw.epsilon(joint, prior)),
            abs(lw.envelope(direct, prior, 0.1).epsilon - lw.envelope(joint, prior, 0.1).epsilon),
        )
    return worst


if __name__ == "__main__":
    sys.exit(main())
