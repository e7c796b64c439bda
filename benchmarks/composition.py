"""Many releases of one secret: how close and how fast, in one run with dp_accounting.

Run ``python benchmarks/composition.py`` (``--runs 1000`` for the whole test of coverage). ε is compared with the bounds
that were known before (the sum of LDP and what the prior allows), (ε, δ)-LDP with dp_accounting for the two values that
are furthest apart, the simulated envelope with the listed one over many runs, and a ledger of a year of daily entries
is added up, and its account is made. Exit status 1 if a simulated bound covers less often than it says.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from book import Book
from dp_accounting.pld import privacy_loss_distribution as accounting

import leakwise as lw
from leakwise.leakage.many_releases.largest_lift import largest_lift
from leakwise.leakage.many_releases.privacy_loss import ComposedProfile
from leakwise.leakage.many_releases.simulated import simulated_envelope

DELTA = 1e-6


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """CPU-seconds and result."""
    start = time.process_time()
    found = work()
    return time.process_time() - start, found


def case(values: int, seed: int = 0) -> tuple[lw.Mechanism, lw.Prior]:
    """A report whose rows are alike, and a prior."""
    generator = np.random.default_rng(seed)
    matrix = generator.dirichlet(np.full(max(values, 2), 3000.0), values)
    return lw.Mechanism(matrix), lw.Prior(generator.dirichlet(np.full(values, 2.0)))


def peer(one: lw.Mechanism, times: int) -> float:
    """The largest ε of dp_accounting over the ordered pairs of the two values that are furthest apart."""
    logs = np.log(one.matrix)
    apart = (one.matrix[:, None] * (logs[:, None] - logs)).sum(axis=2)
    x, other = np.unravel_index(int(apart.argmax()), apart.shape)
    rows = [{place: float(log) for place, log in enumerate(logs[row])} for row in (other, x)]
    found = accounting.from_two_probability_mass_functions(*rows, value_discretization_interval=1e-4)
    return float(found.self_compose(times).get_epsilon_for_delta(DELTA))


def main() -> int:
    """Print every comparison."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100, help="runs of the test of coverage")
    options = parser.parse_args()
    book = Book("composition")
    for values in (2, 12, 50):
        one, prior = case(values)
        for times in (90, 365, 1000):
            many = one.repeat(times)
            seconds, found = timed(lambda many=many, prior=prior: largest_lift(many, prior))
            before = min(prior.epsilon_max, times * lw.ldp(one))
            told = f"[{found.lower:.6f}, {found.upper:.6f}] in {seconds:.2f} CPU-s; before at most {before:.4f}"
            book.note(f"ε of {times} releases, {values} values", told)
            ours, mine = timed(lambda many=many: ComposedProfile(many).epsilon(DELTA))
            theirs, other = timed(lambda one=one, times=times: peer(one, times))
            told = f"{mine:.4f} for every pair in {ours:.2f} CPU-s; dp_accounting {other:.4f} for one in {theirs:.2f}"
            book.note(f"(ε, {DELTA:g})-LDP of {times} releases, {values} values", told)
    one, prior = lw.Mechanism([[0.5, 0.3, 0.2], [0.3, 0.4, 0.3], [0.2, 0.25, 0.55]]), lw.Prior([0.6, 0.3, 0.1])
    many = one.repeat(12)
    listed = lw.envelope(many, prior, 0.05).epsilon
    runs = [simulated_envelope(many, prior, 0.05, draws=3_000, confidence=0.95, seed=k) for k in range(options.runs)]
    covered = sum(one.lower <= listed <= one.upper for one in runs) / len(runs)
    book.note(
        "simulated envelope, how often it covers", f"{covered:.1%} of {len(runs)}", target="95%", kept=covered >= 0.95
    )
    report, prior = case(12)
    proof = lw.certify(report, prior)
    with tempfile.TemporaryDirectory() as folder:
        ledger = lw.Ledger(f"{folder}/ledger.db")
        for _ in range(365):
            ledger.confirm(ledger.reserve("people", "report", proof))
        seconds, total = timed(lambda: ledger.total("people", "report"))
        whole, account = timed(lambda: ledger.account("people"))
    told = f"{seconds:.2f} CPU-s, ε at most {total.epsilon:.4f}"
    book.note("total of a ledger of 365 daily releases, 12 values", told, target="< 1 s", kept=seconds < 1)
    told = f"{whole:.2f} CPU-s for {len(account.added)} totals, the last of ε at most {account.row.epsilon:.4f}"
    book.note("account of the same ledger: what each release added", told)
    for line in book.figures:
        print(f"{line['what']}: {line['figure']}")
    book.close()
    return 0 if covered >= 0.95 else 1


if __name__ == "__main__":
    sys.exit(main())
