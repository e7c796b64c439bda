r"""Whether a column tells something about the secret that the given columns do not tell: a test on counts.

Under the assumption that it tells nothing, the values of the secret in a stratum are spread over the column's values as
if they were dealt out at random, whatever the frequencies are: the counts of a cell are hypergeometric, and mean and
variance of :math:`\chi^2` are known exactly. So no probability here is an approximation, for any number of rows:

- a single cell by the bound of Chernoff and Hoeffding, for all cells at once;
- all cells together by :math:`\chi^2`, summed over strata, and Cantelli's inequality: many values of which each tells
  little.

Both are made for the values as they are and, where there are many, for runs of neighbours among them, since numbers and
codes that are next to each other often tell the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from leakwise.alphabet import Label
from leakwise.guarantee import at_least, at_most
from leakwise.types import Counts, Floats, Indices

__all__ = ["FALSE_ALARM", "Cells", "Evidence", "evidence"]

# How often columns that tell nothing are refused all the same, at most, over all columns of one release.
FALSE_ALARM = 0.001

# Runs of neighbouring values that are tested together where a column has more than twice as many.
_RUNS = 64


class Cells(NamedTuple):
    """How often each value of the secret occurs with each value of a column in each stratum that occurs.

    ``strata`` and ``values`` number the stratum and the value of each cell, values in their natural order; ``counts``
    has a row for each cell and a column for each value of the secret.
    """

    strata: Indices
    values: Indices
    counts: Counts

    def totals(self) -> tuple[Indices, Counts]:
        """Return for each cell the place of its stratum, and the counts of each stratum."""
        _, places = np.unique(self.strata, return_inverse=True)
        return places, _summed(self.counts, places)

    def in_runs(self, values: int) -> Cells:
        """Return the counts of runs of neighbouring values, of which there are so many."""
        runs = self.values * _RUNS // values
        keys, places = np.unique(self.strata * _RUNS + runs, return_inverse=True)
        return Cells(keys // _RUNS, keys % _RUNS, _summed(self.counts, places))


@dataclass(frozen=True)
class Evidence:
    """What contradicts the assumption that a column tells nothing about the secret.

    Attributes
    ----------
    chance
        The probability of such counts if the assumption held, or a larger number.
    lift
        What the column makes of a value of the secret in one cell, compared with its stratum; the one that stands out
        most.
    least
        What that lift is at least in the population that the rows were drawn from (at most, if it is below 1).
    words
        The numbers in a sentence.
    """

    chance: float
    lift: float
    least: float
    words: str


def evidence(
    cells: Cells,
    letters: Sequence[Label],
    column: str,
    values: Sequence[Label],
    stratum_words: Callable[[int], str] | None = None,
    alarm: float = FALSE_ALARM,
) -> Evidence | None:
    """Return what contradicts the assumption, with a false alarm in at most the share ``alarm`` of tables; else None.

    Parameters
    ----------
    cells
        The counts.
    letters
        The values of the secret.
    column, values
        The name and the values of the column that is assumed to tell nothing.
    stratum_words
        A stratum in words (``sex = f``); None where there is one only.

    Examples
    --------
    >>> told = Cells(np.array([0, 0]), np.array([0, 1]), np.array([[80, 20], [40, 60]]))
    >>> print(evidence(told, ["no", "yes"], "zip", ["A", "B"]).words)
    20 of 100 rows where zip = A have 'yes', and 80 of all 200: 0.5 times as likely (at most 1 times). By chance that \
happens in at most 1 of 4,300 tables.
    """
    tests: list[tuple[Cells, Callable[[int], str]]] = [(cells, lambda value: f"{column} = {values[value]}")]
    if len(values) > 2 * _RUNS:
        ends = [-(-run * len(values) // _RUNS) for run in range(_RUNS + 1)]
        tests.append(
            (
                cells.in_runs(len(values)),
                lambda run: f"{column} is between {values[ends[run]]} and {values[ends[run + 1] - 1]}",
            )
        )
    share = alarm / (2 * len(tests))
    found = [_one_cell(tested, letters, words, stratum_words, share) for tested, words in tests]
    # What is easiest to understand first: a cell that is certain, then all of them together.
    for one in found:
        if one is not None and one.chance <= share:
            return one
    for (tested, _), one in zip(tests, found, strict=True):
        if one is not None and (chance := _all_cells(tested)).chance <= share:
            return Evidence(
                chance.chance,
                one.lift,
                one.least,
                f"The lifts of its values differ more than chance explains: χ² is {chance.square:,.0f} where "
                f"{chance.mean:,.0f} is expected, with a standard deviation of {chance.deviation:,.1f}. By chance that "
                f"happens in at most {_one_in(chance.chance)} tables. What stands out most: {one.words}",
            )
    return None


def _summed(counts: Counts, places: Indices) -> Counts:
    """Return the sums of rows that have the same place."""
    order = np.argsort(places, kind="stable")
    starts = np.flatnonzero(np.diff(places[order], prepend=-1))
    sums: Counts = np.add.reduceat(counts[order], starts, axis=0)
    return sums


@np.errstate(divide="ignore", invalid="ignore")
def _chernoff(seen: Floats, draws: Floats, share: Floats) -> Floats:
    """The logarithm of a bound on the probability of so many (so few) among so many draws without replacement."""
    rate = seen / draws
    inside = np.where(rate > 0, rate * np.log(rate / share), 0.0)
    outside = np.where(rate < 1, (1 - rate) * np.log((1 - rate) / (1 - share)), 0.0)
    bound: Floats = -draws * (inside + outside)
    return bound


def _one_cell(
    cells: Cells,
    letters: Sequence[Label],
    value_words: Callable[[int], str],
    stratum_words: Callable[[int], str] | None,
    alarm: float,
) -> Evidence | None:
    """The cell that stands out most, and how often one does so by chance; None where no cell can."""
    places, totals = cells.totals()
    seen, of_letter = cells.counts.astype(np.float64), totals.astype(np.float64)[places]
    rows, whole = seen.sum(axis=1, keepdims=True), of_letter.sum(axis=1, keepdims=True)
    possible = (of_letter > 0) & (of_letter < whole) & (rows < whole)
    if not possible.any():
        return None
    # Draws of the rows of the cell, or of the rows with the value: one hypergeometric distribution has both bounds.
    with np.errstate(divide="ignore", invalid="ignore"):
        bound = np.fmin(_chernoff(seen, rows, of_letter / whole), _chernoff(seen, of_letter, rows / whole))
    bound = np.where(possible, bound, 0.0)
    cell, letter = (int(one) for one in np.unravel_index(int(bound.argmin()), bound.shape))
    tests = 2 * int(possible.sum())  # too many and too few in each
    chance = min(1.0, tests * math.exp(min(float(bound[cell, letter]), 0.0)))
    here, among, all_here, all_rows = (
        int(one) for one in (seen[cell, letter], rows[cell, 0], of_letter[cell, letter], whole[cell, 0])
    )
    lift = (here / among) / (all_here / all_rows)
    least, most = _lift_interval(here, among, all_here, all_rows, alarm / tests)
    end = f"at least {at_least(least, 3)} times" if lift > 1 else f"at most {at_most(most, 3)} times"
    value = value_words(int(cells.values[cell]))
    where, in_all = f"where {value}", ""
    if stratum_words is not None:
        stratum = stratum_words(int(cells.strata[cell]))
        where, in_all = f"{where} and {stratum}", f" where {stratum}"
    words = (
        f"{here:,} of {among:,} rows {where} have {letters[letter]!r}, and {all_here:,} of all {all_rows:,}{in_all}: "
        f"{lift:.3g} times as often ({end}). By chance that happens in at most {_one_in(chance)} tables."
    )
    return Evidence(chance, lift, least if lift > 1 else most, words)


def _lift_interval(here: int, among: int, all_here: int, all_rows: int, alarm: float) -> tuple[float, float]:
    """The ends of the lift in the population, by the intervals of Clopper and Pearson for the cell and its stratum.

    They are asked for where the cell contradicts a lift of 1, so the end that faces 1 is no further than that.
    """
    from scipy.special import betainccinv, betaincinv

    tail = alarm / 2

    def low(count: int, rows: int) -> float:
        return float(betaincinv(count, rows - count + 1, tail)) if count else 0.0

    def high(count: int, rows: int) -> float:
        return float(betainccinv(count + 1, rows - count, tail)) if count < rows else 1.0

    floor = low(all_here, all_rows)
    most = high(here, among) / floor if floor else math.inf
    return max(1.0, low(here, among) / high(all_here, all_rows)), min(1.0, most)


class _Chi(NamedTuple):
    square: float
    mean: float
    deviation: float
    chance: float


def _all_cells(cells: Cells) -> _Chi:
    r"""The sum of :math:`\chi^2` over strata, its exact mean and deviation given the margins, and Cantelli's bound.

    Mean and variance of one stratum are those of Haldane (1940); strata are independent given their margins.
    """
    places, totals = cells.totals()
    sizes = totals.sum(axis=1)
    large = sizes > 3  # below that the variance has no formula, and there is nothing to learn
    rows = cells.counts.sum(axis=1)
    kept = large[places]
    n = sizes[large].astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(cells.counts > 0, cells.counts.astype(np.float64) ** 2 / totals[places], 0.0)
        shares = terms.sum(axis=1) / rows
        one_over = np.where(totals > 0, 1 / totals, 0.0).sum(axis=1)[large]
    by_stratum = np.bincount(places[kept], shares[kept], minlength=sizes.size)[large]
    square = float((n * (by_stratum - 1)).sum())
    r = np.bincount(places, minlength=sizes.size)[large].astype(np.float64)
    c = (totals > 0).sum(axis=1)[large].astype(np.float64)
    one_over_rows = np.bincount(places, 1 / rows, minlength=sizes.size)[large]
    mean = float((n * (r - 1) * (c - 1) / (n - 1)).sum())
    v1, v2 = (r - 1) * (n - r) / (n - 1), (c - 1) * (n - c) / (n - 1)
    w1, w2 = (n * one_over_rows - r * r) / (n - 2), (n * one_over - c * c) / (n - 2)
    variance = float((2 * n / (n - 3) * (v1 - w1) * (v2 - w2) + n * n / (n - 1) * w1 * w2).sum())
    above = square - mean
    # Sums that should cancel leave some rounding behind: what is within it is no excess.
    if above <= 1e-9 * max(1.0, mean) or not np.isfinite(above):
        return _Chi(square, mean, math.sqrt(max(variance, 0.0)), 1.0)
    variance = max(variance, 0.0)
    return _Chi(square, mean, math.sqrt(variance), variance / (variance + above * above))


def _one_in(chance: float) -> str:
    """Return a small probability as ``1 of 2,000``, never smaller than it is."""
    if chance >= 0.5:
        return "all"
    whole = math.floor(1 / chance) if chance > 1e-15 else 10**15
    digits = max(len(str(whole)) - 2, 0)
    return f"1 of {whole // 10**digits * 10**digits:,}"
