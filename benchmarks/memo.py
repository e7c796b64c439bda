"""The same people released every year: draws that repeat by a key against memoised randomized response; one run.

Run ``python benchmarks/memo.py``. Marital status of the Adult table (7 values, 32,561 rows), unchanged for T years, is
released every year. All releases together have the same guarantee for every protocol: no guess becomes more than 2
times as likely for anyone who knew the prior, nor more than 20 times for anyone (and, below, 3 times for anyone, with
no prior at all).

- *ours* is ``lw.release(..., memo=key, person="id")`` by the best mechanism for ``frequencies``.
- *L-GRR* and *L-OSUE* are the protocols of multi-freq-ldpy 0.2.5 (Arcolezi et al., Improving the utility of locally
  differentially private protocols for longitudinal and multidimensional frequency estimates, arXiv:2111.04636): a first
  round that is drawn once and kept, a second round that is drawn every year on top of it. Their formulas are written
  out here, with their linear estimator, averaged over all T years. *as published* has half of ε for the first report,
  ε₁ = ε∞/2; *one round* has next to no second round, which is their best at an equal guarantee. ε∞ is the largest at
  which the exact lift of all T reports together keeps within both limits.

Errors are mean squared errors of the estimated frequencies for the same table, summed over the values, without
clipping, times the rows: exact, and compared with repeated draws (ours through the release itself). Exit status 1 where
the two differ, or where ours is not the smaller. What the second round buys, and ours does not have: it makes it harder
to see *that* a value changed.
"""

from __future__ import annotations

import argparse
import itertools
import math
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from book import Book
from rich.console import Console
from rich.table import Table

import leakwise as lw
from leakwise.data import adult_table

SEED = 2026
YEARS = (1, 2, 5, 10)
SPLITS = {"as published": 0.5, "one round": 0.999}
SECRET = "marital_status"


class LGRR:
    """Generalised randomized response twice."""

    name = "L-GRR"

    def __init__(self, k: int, perm: float, first: float) -> None:
        e = math.exp(first)
        self.k = k
        self.p1 = math.exp(perm) / (math.exp(perm) + k - 1)
        self.q1 = (1 - self.p1) / (k - 1)
        below = -self.p1 * e + k * self.q1 * e - self.q1 * e - self.p1 * (k - 1) + self.q1
        self.p2 = (self.q1 - e * self.p1) / below
        self.q2 = (1 - self.p2) / (k - 1)

    def lifts(self, prior: np.ndarray, years: int) -> tuple[float, float]:
        """The largest lift of all reports together for the prior, and for any prior, over all counts of reports."""
        ratio = self.p2 / self.q2
        known = anyone = 1.0
        for counts in _counts(self.k, min(years, 10)):
            power = ratio ** np.array(counts, dtype=float)
            chance = self.q1 * power.sum() + (self.p1 - self.q1) * power
            known = max(known, chance.max() / (prior @ chance))
            anyone = max(anyone, chance.max() / chance.min())
        return known, anyone

    def error(self, years: int) -> float:
        return _error(self, years)

    def estimate(self, rng: np.random.Generator, values: np.ndarray, years: int) -> np.ndarray:
        kept = _other(rng, values, self.k, self.p1)
        total = np.zeros(self.k)
        for _ in range(years):
            total += np.bincount(_other(rng, kept, self.k, self.p2), minlength=self.k)
        return _undone(total / (years * values.size), self.p1, self.q1, self.p2, self.q2)


class LOSUE:
    """A bit for each value: optimised unary encoding, then a symmetric one."""

    name = "L-OSUE"

    def __init__(self, k: int, perm: float, first: float) -> None:
        a, b = math.exp(perm), math.exp(first)
        self.k, self.p1, self.q1 = k, 0.5, 1 / (a + 1)
        self.p2 = (1 - a * b) / (b - a - a * b + 1)
        self.q2 = 1 - self.p2

    def lifts(self, prior: np.ndarray, years: int) -> tuple[float, float]:
        """Bits are independent given the value: only the likelihood ratio of each bit matters."""
        ones = np.arange(years + 1)
        chances = np.array([math.comb(years, c) for c in ones], dtype=float)
        up = chances * self.p2**ones * self.q2 ** (years - ones)
        down = chances * self.q2**ones * self.p2 ** (years - ones)
        ratio = (self.p1 * up + (1 - self.p1) * down) / (self.q1 * up + (1 - self.q1) * down)
        high, low, rare = ratio.max(), ratio.min(), prior.min()
        return high / (rare * high + (1 - rare) * low), high / low

    def error(self, years: int) -> float:
        return _error(self, years)

    def estimate(self, rng: np.random.Generator, values: np.ndarray, years: int) -> np.ndarray:
        own = np.arange(self.k)[None, :] == values[:, None]
        kept = rng.random(own.shape) < np.where(own, self.p1, self.q1)
        # The ones of a bit over all years are binomial given the bit that is kept.
        ones = rng.binomial(years, np.where(kept, self.p2, self.q2)).sum(axis=0)
        return _undone(ones / (years * values.size), self.p1, self.q1, self.p2, self.q2)


def _error(one: LGRR | LOSUE, years: int) -> float:
    """The exact error of the average over the years: what is kept varies once, the second round every year."""
    spread = 0.0
    for kept, times in ((one.p1, 1), (one.q1, one.k - 1)):
        yearly = kept * one.p2 * (1 - one.p2) + (1 - kept) * one.q2 * (1 - one.q2)
        spread += times * ((one.p2 - one.q2) ** 2 * kept * (1 - kept) + yearly / years)
    return spread / ((one.p1 - one.q1) * (one.p2 - one.q2)) ** 2


def _counts(k: int, years: int) -> list[tuple[int, ...]]:
    """How often each of k values may have been reported."""
    cuts = itertools.combinations(range(years + k - 1), k - 1)
    return [tuple(b - a - 1 for a, b in itertools.pairwise((-1, *one, years + k - 1))) for one in cuts]


def _other(rng: np.random.Generator, values: np.ndarray, k: int, stay: float) -> np.ndarray:
    moved = (values + rng.integers(1, k, values.size)) % k
    return np.where(rng.random(values.size) < stay, values, moved)


def _undone(share: np.ndarray, p1: float, q1: float, p2: float, q2: float) -> np.ndarray:
    """MI_long of multi-freq-ldpy, without its clipping."""
    return (share - q1 * (p2 - q2) - q2) / ((p1 - q1) * (p2 - q2))


def largest(kind: type, prior: np.ndarray, years: int, split: float, lift: float, anyone: float) -> LGRR | LOSUE:
    """The protocol with the largest ε∞ whose reports of all years together keep within both limits."""
    low, high = 0.0, 12.0
    for _ in range(50):
        middle = (low + high) / 2
        known, every = kind(prior.size, middle, split * middle).lifts(prior, years)
        low, high = (middle, high) if known <= lift and every <= anyone else (low, middle)
    return kind(prior.size, low, split * low)


class Ours:
    """Released by a key, and estimated by the best linear weights for the prior."""

    def __init__(self, mechanism: lw.Mechanism, prior: np.ndarray, folder: Path) -> None:
        self.mechanism, self._folder = mechanism, folder
        matrix, law = mechanism.matrix, prior @ mechanism.matrix
        self._weights = np.linalg.inv((matrix / law) @ matrix.T) @ (matrix / law)
        self.error = float(law @ (self._weights**2).sum(axis=0)) - 1

    def estimate(self, codes: np.ndarray, turn: int) -> np.ndarray:
        """Release the table through ``lw.release``, with a key of its own."""
        key = lw.MemoKey.create(self._folder / f"{turn}.bin")
        table = {"id": np.arange(codes.size), SECRET: np.array(self.mechanism.inputs)[codes]}
        released = lw.release(table, self.mechanism, SECRET, memo=key, person="id", order="keep")[SECRET]
        counts = [np.count_nonzero(np.asarray(released) == name) for name in self.mechanism.outputs]
        return self._weights @ (np.array(counts) / codes.size)


def agrees(run: Callable[[int], np.ndarray], truth: np.ndarray, error: float, rows: int, repeats: int) -> bool:
    """Whether the mean over draws is the exact error, within five standard errors."""
    squares = rows * np.array([((run(turn) - truth) ** 2).sum() for turn in range(repeats)])
    return bool(abs(squares.mean() - error) < 5 * squares.std(ddof=1) / math.sqrt(repeats))


def speed(book: Book, folder: Path) -> None:
    """Rows that are drawn in a second of one core, ids of eight digits."""
    rows = 1_000_000
    mechanism = lw.randomized_response(list("abcdefg"), lift=2)
    codes = np.random.default_rng(SEED).integers(0, 7, rows)
    table = {"id": 10**7 + np.arange(rows), "s": np.array(list("abcdefg"))[codes]}
    key = lw.MemoKey.create(folder / "speed.bin")
    told = []
    for options in ({"memo": key, "person": "id"}, {}):
        start = time.process_time()
        lw.release(table, mechanism, "s", order="keep", **options)
        told.append(rows / (time.process_time() - start) / 1e6)
    book.note(
        "a table of 10⁶ rows in memory, released", f"{told[0]:.2f}, fresh {told[1]:.2f} million rows per CPU-second"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=40, help="draws that each exact error is compared with")
    repeats = parser.parse_args().repeats
    warnings.simplefilter("error")
    book, rng, right = Book("memo"), np.random.default_rng(SEED), True
    labels, codes = np.unique(adult_table()[SECRET], return_inverse=True)
    rows, truth = codes.size, np.bincount(codes) / codes.size
    prior = lw.Prior(dict(zip(labels.tolist(), np.bincount(codes).tolist(), strict=True)))
    shown = Table("guarantee", "years", "protocol", "ε∞", "error × rows", "times ours", title=f"Adult, {rows:,} rows")
    limits = [("lift 2, 20 for anyone", prior, 2.0, 20.0), ("lift 3 for anyone", lw.AllPriors(prior), math.inf, 3.0)]
    with tempfile.TemporaryDirectory() as place:
        for number, (title, known, lift, anyone) in enumerate(limits):
            asked = {"lift": 2, "anyone": 20} if math.isfinite(lift) else {"lift": 3}
            folder = Path(place) / str(number)
            folder.mkdir()
            ours = Ours(lw.design(known, utility="frequencies", **asked).mechanism, truth, folder)
            right &= agrees(lambda turn, one=ours: one.estimate(codes, turn), truth, ours.error, rows, repeats)
            shown.add_row(title, "any", "ours", "", f"{ours.error:.2f}", "")
            book.note(f"Adult, {title}, any number of years, ours", f"squared error times rows {ours.error:.2f}")
            for years, kind in itertools.product(YEARS, (LGRR, LOSUE)):
                told = {}
                for name, split in SPLITS.items():
                    peer = largest(kind, truth, years, split, lift, anyone)
                    theirs = peer.error(years)
                    right &= agrees(lambda _, p=peer, t=years: p.estimate(rng, codes, t), truth, theirs, rows, repeats)
                    perm = math.log(peer.p1 / peer.q1 if kind is LGRR else 1 / peer.q1 - 1)
                    told[name] = theirs / ours.error
                    words = (f"{kind.name}, {name}", f"{perm:.3f}", f"{theirs:.2f}", f"{told[name]:.2f}")
                    shown.add_row(title, str(years), *words)
                book.note(
                    f"Adult, {title}, {years} {'year' if years == 1 else 'years'}, {kind.name}",
                    ", ".join(f"{name} {ratio:.2f}" for name, ratio in told.items()) + " times our squared error",
                    target="more than ours",
                    kept=min(told.values()) > 1,
                )
                right &= min(told.values()) > 1
        mechanism = lw.design(prior, lift=2, anyone=20, utility="frequencies").mechanism
        grown = [math.exp(lw.epsilon(mechanism.repeat(years), prior)) for years in (1, 2)]
        book.note("Adult, lift 2, drawn afresh every year", f"lift after 1 and 2 years {grown[0]:.2f}, {grown[1]:.2f}")
        speed(book, Path(place))
    Console().print(shown)
    print(book.close().relative_to(Path(__file__).parents[1]))
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
