"""What a count or a histogram of many records tells about one, and numbers with a density: beside the earlier ways.

Run ``python benchmarks/aggregates.py``. The proven envelope of a count is compared with the linear program over its
outcomes written out (our earlier way, and the only one for a general mechanism) and with what differential privacy says
by dp_accounting; the least noise for a limit with the noise that differential privacy asks for. The leakage of noise on
a density is compared with the density cut into a fine grid. Exit status 1 where two ways contradict each other.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from book import Book
from dp_accounting.pld import privacy_loss_distribution as accounting

import leakwise as lw

DELTA = 1e-6


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """CPU-seconds and result."""
    start = time.process_time()
    found = work()
    return time.process_time() - start, found


def beside_the_program(book: Book) -> bool:
    """The same envelope from thresholds and from the linear program, while the outcomes can be listed."""
    kept = True
    for unknown in (30, 100, 300):
        asked = lw.aggregate.count(unknown=unknown, prior=0.3, noise=1)
        fast, found = timed(lambda asked=asked: asked.envelope(DELTA))
        slow, listed = timed(lambda asked=asked: lw.envelope(asked.mechanism, {1: "0.3", 0: "0.7"}, DELTA))
        done = found.attained <= listed.epsilon + 1e-9 and listed.attained <= found.epsilon + 1e-9
        kept &= done
        book.note(
            f"count of {unknown} unknown records, ε = 1, envelope at δ = {DELTA:g}",
            f"{found.epsilon:.6f} in {fast:.2f} CPU-s; linear program over {asked.mechanism.shape[1]} outcomes "
            f"{listed.epsilon:.6f} in {slow:.2f}",
            target="equal",
            kept=done,
        )
    return kept


def with_any_number(book: Book) -> None:
    """Millions of records, beside the ε of differential privacy at the same δ."""
    for unknown in (10**3, 10**5, 10**7, 10**9):
        asked = lw.aggregate.count(unknown=unknown, prior=0.3, noise=1)
        seconds, found = timed(lambda asked=asked: asked.envelope(DELTA))
        again, _ = timed(lambda found=found: found.certificate.verify())
        pld = accounting.from_discrete_laplace_mechanism(1.0)
        book.note(
            f"count of {unknown:,} unknown records, ε = 1, envelope at δ = {DELTA:g}",
            f"{found.epsilon:.6f}, gap {found.gap:.1e}, in {seconds:.2f} CPU-s, checked again in {again:.2f}; "
            f"differential privacy (dp_accounting) {pld.get_epsilon_for_delta(DELTA):.4f}",
        )


def least_noise(book: Book) -> None:
    """How much less noise a limit needs than differential privacy would take."""
    for unknown, lift in ((1000, 1.1), (5000, 1.1), (10_000, 1.1), (1000, 1.5)):
        asked = lw.aggregate.count(unknown=unknown, prior=0.3)
        seconds, found = timed(lambda asked=asked, lift=lift: asked.noise_for(lift=lift, delta=DELTA))
        plain = lw.aggregate.count(unknown=unknown, prior=0.3, noise=math.log(lift)).deviation
        ours = "none" if found.noise is None else f"standard deviation {found.aggregate.deviation:.2f}"
        book.note(
            f"noise for a lift of {lift:g} except with probability {DELTA:g}, {unknown:,} unknown records",
            f"{ours} in {seconds:.1f} CPU-s; {plain:.2f} for {math.log(lift):.3f}-differential privacy",
        )


def densities(book: Book) -> bool:
    """The proven leakage of Laplace noise on a density, beside its value on a grid of 10,000 points."""
    kept = True
    cases = {
        "uniform on [0, 100]": lw.noise.Density.uniform(0, 100),
        "truncated normal, mean 40, sd 12, on [0, 100]": lw.noise.Density.truncated_normal(40, 12, 0, 100),
        "histogram of three ages": lw.noise.Density.histogram([0, 18, 65, 100], [20, 61, 19]),
    }
    scale = 20.0
    points = (np.arange(10_000) + 0.5) / 100
    answers = np.concatenate([[0.0], points[::50], [100.0]])
    for name, density in cases.items():
        noise = lw.noise.Laplace(scale=scale)
        seconds, found = timed(lambda noise=noise, density=density: noise.epsilon(density))
        start = time.process_time()
        mass = density.pdf(points)
        chance = np.exp(-np.abs(answers[:, None] - points[None, :]) / scale) @ (mass / mass.sum())
        top = np.exp(-np.abs(answers - np.clip(answers, 0, 100)) / scale)
        grid = float(np.log(top / chance).max())
        slow = time.process_time() - start
        done = grid <= found + 1e-3 and found <= grid + 1e-2
        kept &= done
        book.note(
            f"Laplace noise of scale 20, {name}: leakage",
            f"{found:.9f} nats, proven, in {seconds:.2f} CPU-s; on a grid {grid:.6f}, not proven, in {slow:.2f}; "
            f"differential privacy 5",
            target="within the grid",
            kept=done,
        )
    return kept


def little_noise(book: Book) -> bool:
    """How close the bounds are where the noise is a ten-thousandth of the range: Laplace and Gaussian noise."""
    from leakwise.noise.continuous.leakage import information_between, largest_leakage

    kept = True
    cases = {
        "uniform": lw.noise.Density.uniform(0, 100),
        "triangular": lw.noise.Density.triangular(0, 30, 100),
        "histogram of three ages": lw.noise.Density.histogram([0, 18, 65, 100], [20, 61, 19]),
        "truncated normal, sd 12": lw.noise.Density.truncated_normal(40, 12, 0, 100),
        "truncated normal, sd 1": lw.noise.Density.truncated_normal(40, 1, 0, 100),
    }
    for name, density in cases.items():
        noises = [lw.noise.Laplace(scale="0.01"), lw.noise.Gaussian(scale="0.01")]
        pairs = {f"δ = {delta:g}": [n.envelope_bounds(density, delta) for n in noises] for delta in (1e-3, 0.05)}
        pairs |= {"information": [information_between(noise, density) for noise in noises]}
        pairs |= {"ε": [largest_leakage(noises[0], density)]}
        widths = {what: max(high - low for low, high in found) for what, found in pairs.items()}
        done = widths["δ = 0.05"] <= 0.02
        kept &= all(width >= 0 for width in widths.values())
        told = ", ".join(f"{what} {width:.0e}" for what, width in widths.items())
        book.note(
            f"noise of 1e-4 of the range, {name}: nats between the bounds",
            told,
            target="0.02 at δ = 0.05",
            kept=done,
        )
    return kept


def pointwise(book: Book) -> bool:
    """Every guess about a record, beside its average (mutual information), and beside all datasets by brute force."""
    from scipy.optimize import linprog

    query = lw.records.parity(4)
    channel = query.symmetric_channel(flip=0.3)
    seconds, found = timed(lambda: lw.records.leakage(channel, min_entropy=2.0, measure="pointwise"))
    start = time.process_time()
    most, best = math.exp(-2.0), 0.0
    bits = (np.arange(16)[:, None] >> np.arange(4)[None, :]) & 1
    flips = np.where(bits.sum(axis=1) % 2 == 1, 0.7, 0.3)  # the probability of the answer 1
    for share in np.linspace(1e-3, 1.0, 2000):
        # The lift of "record 0 is 1" at the answer 1: largest numerator, least rest, each a linear program.
        own = bits[:, 0] == 1
        if own.sum() * most < share or (~own).sum() * most < 1 - share:
            continue
        top = linprog(-flips[own], A_eq=np.ones((1, 8)), b_eq=[share], bounds=(0, most))
        low = linprog(flips[~own], A_eq=np.ones((1, 8)), b_eq=[1 - share], bounds=(0, most))
        best = max(best, -top.fun / share / (-top.fun + low.fun))
    slow = time.process_time() - start
    done = abs(math.log(best) - found.bound) < 1e-3
    book.note(
        "parity of 4 bits, flip 0.3, min-entropy 2: every guess about a record",
        f"{found.bound:.6f} in {seconds * 1e3:.0f} ms; 2,000 pairs of linear programs over all datasets "
        f"{math.log(best):.6f} in {slow:.1f} CPU-s",
        target="equal to 1e-3",
        kept=done,
    )
    for records in (100, 1000):
        count = lw.records.count(records)
        noisy = count.geometric(epsilon=1.0)
        least = count.max_entropy * Fraction(99, 100)
        seconds, found = timed(
            lambda noisy=noisy, least=least: lw.records.leakage(noisy, min_entropy=float(least), measure="pointwise")
        )
        book.note(
            f"count of {records} bits, geometric noise, ε = 1, min-entropy 0.99 of the largest",
            f"{found.bound:.6f}, gap {found.gap:.0e}, in {seconds:.1f} CPU-s",
        )
    return done


def main() -> int:
    book = Book("aggregates")
    kept = beside_the_program(book)
    with_any_number(book)
    least_noise(book)
    kept &= densities(book)
    kept &= little_noise(book)
    kept &= pointwise(book)
    for line in book.figures:
        print(f"{line['what']}: {line['figure']}")
    book.close()
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
