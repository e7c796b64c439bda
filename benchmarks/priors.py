"""What a sample can vouch for, and how fast: ε' by several routes, exact capacity, robust designs.

Run ``python benchmarks/priors.py`` (``--repeats`` samples for each figure of the first table).

1. N = 20 letters, failure 1e-5: the mean ε' of [ED] (8), the exact capacity of the same l1 ball, the layer cake (and
   its closed form, which needs no mechanism), and a split with half of the rows for certification. «same sample»
   certifies a mechanism that was fixed beforehand with all rows.
2. Exact leakage capacity of a dense 1000 × 1000 mechanism on sets of priors.
3. Robust designs on the l1 ball of a sample, with their certified relative gap.
4. Robust designs on Clopper-Pearson boxes and KL balls, with their certified relative gap and the gap that the optimum
   of the estimate alone would prove.
"""

from __future__ import annotations

import argparse
import math
import time

import numpy as np
from book import Book
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

import leakwise as lw

FAILURE = 1e-5
LETTERS = 20


def mechanisms(generator: np.random.Generator) -> dict[str, tuple[lw.Mechanism, NDArray[np.float64]]]:
    """Each with the true prior of its sample."""
    uniform = np.full(LETTERS, 1 / LETTERS)
    falling = 0.8 ** np.arange(LETTERS)
    distance = -np.abs(np.subtract.outer(np.arange(LETTERS), np.arange(LETTERS)))
    return {
        "4-singular": (lw.k_singular(LETTERS, 4), uniform),
        "exponential": (lw.exponential(distance, epsilon=30.0), falling / falling.sum()),
        "random": (lw.Mechanism(generator.dirichlet(np.full(LETTERS, 0.5), LETTERS)), uniform),
    }


def promises(repeats: int, console: Console, book: Book) -> None:
    generator = np.random.default_rng(1)
    table = Table(title=f"Mean ε' over {repeats} samples, N = {LETTERS}, failure {FAILURE:g}")
    for header in (
        "mechanism", "m", "ε (true)", "(8)", "ball, exact", "layer cake", "closed form", "split", "same sample",
    ):  # fmt: skip
        table.add_column(header, justify="right")
    for name, (mechanism, truth) in mechanisms(generator).items():
        for samples in (10**4, 10**5, 10**6):
            rows = []
            for _ in range(repeats):
                counts = generator.multinomial(samples, truth)
                first = generator.multivariate_hypergeometric(counts, samples // 2, method="marginals")
                prior = lw.Prior.from_counts(counts)
                here = lw.epsilon(mechanism, prior)
                ball = prior.confidence(FAILURE)
                split = lw.measures.epsilon_from_sample(
                    mechanism, lw.Prior.from_counts(counts - first), FAILURE, plan=lw.Prior.from_counts(first)
                )
                rows.append(
                    [
                        lw.epsilon(mechanism, lw.Prior(truth)),
                        lw.measures.capacity_bound(lift=math.exp(here), beta=ball.beta),  # type: ignore[attr-defined]
                        lw.epsilon(mechanism, ball),
                        lw.epsilon(mechanism, prior.confidence(FAILURE, "layer-cake")),
                        lw.measures.estimation_bound(here, letters=LETTERS, samples=samples, failure=FAILURE),
                        split.epsilon,
                        lw.measures.epsilon_from_sample(mechanism, prior, FAILURE).epsilon,
                    ]
                )
            means = np.mean(rows, axis=0)
            table.add_row(name, f"{samples:,}", *(f"{mean:.3f}" for mean in means))
            figures = f"(8) {means[1]:.3f}, layer cake {means[3]:.3f}, split {means[5]:.3f}"
            best = min(means[3], means[5])
            book.note(f"mean ε', {name}, m = {samples:,}", figures, target="below (8)", kept=bool(best < means[1]))
    console.print(table)


def capacities(console: Console, book: Book) -> None:
    generator = np.random.default_rng(2)
    mechanism = lw.Mechanism(generator.dirichlet(np.ones(1000), 1000))
    prior = lw.Prior.from_counts(generator.integers(1, 2000, 1000))
    table = Table(title="Leakage capacity of a dense 1000 × 1000 mechanism, 1,000,000 samples")
    for header in ("set", "capacity (nats)", "seconds"):
        table.add_column(header, justify="right")
    for method in ("weissman", "clopper-pearson", "best", "kl", "layer-cake"):
        priors = prior.confidence(1e-6, method)
        start = time.perf_counter()
        found = lw.epsilon(mechanism, priors)
        spent = time.perf_counter() - start
        table.add_row(method, f"{found:.6f}", f"{spent:.3f}")
        if method == "weissman":
            book.note("exact capacity, 1000 × 1000, l1 ball", f"{spent:.3f} s", target="< 1 s", kept=spent < 1)
    start = time.perf_counter()
    certificate = lw.certify(mechanism, prior.confidence(1e-6))
    seconds = time.perf_counter() - start
    table.add_row("weissman, on integers", f"{certificate.epsilon_upper:.6f}", f"{seconds:.3f}")
    console.print(table)


def designs(console: Console, book: Book) -> None:
    generator = np.random.default_rng(3)
    table = Table(title="Robust design on the l1 ball of 1,000,000 samples, failure 1e-9, mutual information")
    for header in ("N", "lift", "value", "bound", "relative gap", "seconds"):
        table.add_column(header, justify="right")
    for letters in (30, 100):
        prior = lw.Prior.from_counts(generator.multinomial(10**6, generator.dirichlet(np.full(letters, 2.0))))
        ball = prior.confidence(1e-9)
        for lift in (1.3, 2.0):
            start = time.perf_counter()
            d = lw.design(ball, lift=lift)
            seconds = time.perf_counter() - start
            table.add_row(
                str(letters),
                f"{lift:g}",
                f"{d.value:.6f}",
                f"{d.bound:.6f}",
                f"{d.gap / d.value:.1e}",
                f"{seconds:.1f}",
            )
            gap = d.gap / d.value
            kept = gap <= 1e-4 and seconds < 60 if letters == 100 else None
            target = "gap ≤ 1e-4, < 60 s" if letters == 100 else None
            book.note(
                f"robust design, N = {letters}, lift {lift:g}",
                f"gap {gap:.1e}, {seconds:.1f} s",
                target=target,
                kept=kept,
            )
    console.print(table)


def known(prior: lw.Prior, lift: float) -> float:
    """Return what no mechanism for the estimate alone exceeds: Σ π min(ε, -log π)."""
    p = prior.probabilities
    return float(p @ np.minimum(math.log(lift), -np.log(p)))


def sets(console: Console, book: Book) -> None:
    table = Table(title="Robust design on sets around a sample, failure 1e-6, mutual information")
    for header in ("N", "samples", "set", "lift", "value", "relative gap", "by the estimate alone", "seconds"):
        table.add_column(header, justify="right")
    large, small = (1.5, 4.0), (1.2, 2.0)
    for letters, samples, lifts in ((20, 10**6, large), (30, 10**6, large), (20, 10**4, small), (50, 10**4, small)):
        generator = np.random.default_rng(letters)
        prior = lw.Prior.from_counts(generator.multinomial(samples, generator.dirichlet(np.full(letters, 2.0))))
        for method in ("clopper-pearson", "kl"):
            for lift in lifts:
                start = time.perf_counter()
                d = lw.design(prior.confidence(1e-6, method), lift=lift)
                seconds = time.perf_counter() - start
                gap, alone = d.gap / d.value, known(prior, lift) / d.value - 1
                figures = f"{lift:g}", f"{d.value:.6f}", f"{gap:.1e}", f"{alone:.1e}", f"{seconds:.1f}"
                table.add_row(str(letters), f"{samples:,}", method, *figures)
                rows = "" if samples == 10**6 else f", {samples:,} samples"
                name = f"robust design, {method}, N = {letters}{rows}, lift {lift:g}"
                book.note(name, f"gap {gap:.1e}, {seconds:.1f} s", target="gap ≤ 1 %", kept=gap <= 0.01)
    console.print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=20)
    repeats = parser.parse_args().repeats
    console = Console(width=140)
    book = Book("priors")
    promises(repeats, console, book)
    capacities(console, book)
    designs(console, book)
    sets(console, book)
    book.close()


if __name__ == "__main__":
    main()
