"""How the time of every public verb grows with its size: the exponent, and where it falls off a cliff.

Run ``python benchmarks/scaling.py`` (``--seconds 5`` for each call at most, ``--only design`` for some of them).

Each verb is called at growing sizes until a call takes longer than the limit. The exponent is the slope of a line
through the logarithms of sizes and CPU-seconds, over the sizes whose call takes long enough to be measured. A *cliff*
is a step from one size to the next that costs over four times as much as the line through the sizes before it says. It
fails nothing: the page shows where to look.
"""

from __future__ import annotations

import argparse
import math
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from book import Book
from rich.console import Console
from rich.table import Table

import leakwise as lw

Call = Callable[[], Any]
Prepared = Callable[[int], Call]

LETTERS = (5, 10, 15, 20, 25, 30, 35, 40, 50, 70, 100, 150, 200, 300, 500, 1000)
RELEASES = (10, 20, 50, 100, 200, 500, 1000, 2000)
ROWS = (10_000, 100_000, 1_000_000, 10_000_000)
STRATA = (5, 10, 20, 50, 100, 200, 500, 1000)
SHORTEST = 2e-3
CLIFF = 4.0
LIFT = 2


def prior(size: int) -> lw.Prior:
    """Masses at random, the same at every run."""
    return lw.Prior(np.random.default_rng(size).dirichlet(np.ones(size)))


def mechanism(size: int) -> lw.Mechanism:
    """Rows at random, the same at every run."""
    return lw.Mechanism(np.random.default_rng(size).dirichlet(np.ones(size), size))


def design(utility: str, among: Callable[[lw.Prior], Any] = lambda one: one, **limits: Any) -> Prepared:
    """A design for random masses."""

    def prepared(size: int) -> Call:
        known = among(prior(size))
        return lambda: lw.design(known, lift=LIFT, utility=utility, time_limit=60, **limits)

    return prepared


def measure(name: str, *more: Any, knows_prior: bool = True) -> Prepared:
    """A measure of a random square matrix."""

    def prepared(size: int) -> Call:
        m, known = mechanism(size), prior(size)
        verb = getattr(lw, name)
        return lambda: verb(m, known, *more) if knows_prior else verb(m, *more)

    return prepared


def by_stratum(size: int) -> Call:
    """A design for four letters in so many strata, with masses of their own in each."""
    laws = np.random.default_rng(size).dirichlet(np.full(4, 3.0), size)
    known = lw.PriorByStratum({place: lw.Prior(law) for place, law in enumerate(laws)}, {"group": range(size)})
    return lambda: lw.design(known, lift=LIFT, anyone=20, utility="frequencies")


def certify(size: int) -> Call:
    """A certificate, whether it holds or not."""
    m, known = mechanism(size), prior(size)
    return lambda: lw.certify(m, known, lift=LIFT)


def least_leakage(size: int) -> Call:
    """The least leakage of mechanisms that never tell the truth."""
    known, mask = prior(size), ~np.eye(size, dtype=bool)
    return lambda: lw.least_leakage(known, mask)


def repeated(verb: Callable[[lw.Mechanism], Any]) -> Prepared:
    """So many releases of one secret by randomized response."""
    return lambda size: lambda: verb(lw.randomized_response(2, epsilon=0.1).repeat(size))


def rows(verb: Callable[[Any, lw.Mechanism], Any]) -> Prepared:
    """A column of codes in memory."""

    def prepared(size: int) -> Call:
        m = lw.randomized_response(7, lift=3)
        column = np.random.default_rng(size).integers(0, 7, size)
        return lambda: verb(column, m)

    return prepared


COIN = lw.Prior([0.7, 0.3])
VERBS: dict[str, tuple[str, tuple[int, ...], Prepared]] = {
    "design, mutual information": ("letters", LETTERS, design("mutual_information")),
    "design, guessing": ("letters", LETTERS, design("guessing")),
    "design, frequencies": ("letters", LETTERS, design("frequencies")),
    "design, frequencies, anyone": ("letters", LETTERS, design("frequencies", anyone=20)),
    "design, information, anyone": ("letters", LETTERS, design("mutual_information", anyone=20)),
    "design, information, ball": ("letters", LETTERS, design("mutual_information", lambda one: one.ball(0.02))),
    "design, guessing, ball": ("letters", LETTERS, design("guessing", lambda one: one.ball(0.02))),
    "design by stratum, frequencies": ("strata", STRATA, by_stratum),
    "pml": ("letters", LETTERS, measure("pml")),
    "epsilon": ("letters", LETTERS, measure("epsilon")),
    "mutual_information": ("letters", LETTERS, measure("mutual_information")),
    "maximal_leakage": ("letters", LETTERS, measure("maximal_leakage", knows_prior=False)),
    "ldp": ("letters", LETTERS, measure("ldp", knows_prior=False)),
    "ldp with delta": ("letters", LETTERS, measure("ldp", 1e-6, knows_prior=False)),
    "envelope": ("letters", LETTERS, measure("envelope", 0.05)),
    "audit": ("letters", LETTERS, measure("audit")),
    "certify": ("letters", LETTERS, certify),
    "least_leakage": ("letters", LETTERS, least_leakage),
    "epsilon of repeats": ("releases", RELEASES, repeated(lambda m: lw.epsilon(m, COIN))),
    "ldp of repeats with delta": ("releases", RELEASES, repeated(lambda m: lw.ldp(m, 1e-6))),
    "envelope of repeats": ("releases", RELEASES, repeated(lambda m: lw.envelope(m, COIN, 0.01))),
    "release": ("rows", ROWS, rows(lw.release)),
    "estimate": ("rows", ROWS, rows(lambda column, m: lw.estimate(column, m))),
}


def measured(sizes: tuple[int, ...], prepared: Prepared, limit: float) -> Iterator[tuple[int, float]]:
    """Size and CPU-seconds, until a call takes longer than the limit."""
    prepared(sizes[0])()  # loads what later calls have
    for size in sizes:
        call = prepared(size)
        begun = time.process_time()
        call()
        taken = time.process_time() - begun
        if taken < 0.1:  # short ones are noisy: the second is the better
            begun = time.process_time()
            call()
            taken = time.process_time() - begun
        yield size, taken
        if taken > limit:
            return


def exponent(points: list[tuple[int, float]]) -> float:
    """The slope of the line through the logarithms, over what takes long enough to be measured."""
    long = [(math.log(size), math.log(taken)) for size, taken in points if taken >= SHORTEST]
    if len(long) < 2:
        return math.nan
    slope: float = np.polyfit(*map(np.array, zip(*long, strict=True)), 1)[0]
    return slope


def cliffs(points: list[tuple[int, float]]) -> list[int]:
    """The sizes whose call costs over four times what the sizes before, or the next one, let expect."""
    found = []
    for place in range(1, len(points)):
        (before, early), (size, taken) = points[place - 1], points[place]
        usual = exponent(points[:place])
        expected = max(early, SHORTEST) * (size / before) ** max(0.0 if math.isnan(usual) else usual, 1.0)
        later = points[place + 1][1] if place + 1 < len(points) else math.inf
        if taken > CLIFF * expected or taken > CLIFF * max(later, SHORTEST):
            found.append(size)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=5.0, help="the longest call")
    parser.add_argument("--only", default="", help="verbs whose name contains this")
    asked = parser.parse_args()
    warnings.simplefilter("ignore", lw.LeakwiseWarning)
    book, table = Book("scaling"), Table(title="CPU-seconds over sizes")
    for title in ("verb", "of", "exponent", "cliffs", "CPU-seconds"):
        table.add_column(title)
    for name, (what, sizes, prepared) in VERBS.items():
        if asked.only not in name:
            continue
        points = list(measured(sizes, prepared, asked.seconds))
        steep = exponent(points)
        slope = "below 2 ms throughout" if math.isnan(steep) else f"{steep:.1f}"
        falls = ", ".join(map(str, cliffs(points))) or "none"
        shown = "  ".join(f"{size}: {taken:.2g}" for size, taken in points)
        table.add_row(name, what, slope, falls, shown)
        book.note(f"{name}, over {what}", f"exponent {slope}; cliffs: {falls}; CPU-seconds {shown}")
    Console(width=160).print(table)
    if not asked.only:
        book.close()


if __name__ == "__main__":
    main()
