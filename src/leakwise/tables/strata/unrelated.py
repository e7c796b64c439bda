r"""Whether a column tells something about the secret that the given columns do not tell: a test on counts.

Under the assumption that it tells nothing, the values of the secret in a stratum are drawn alike whatever the column
says. Two tests follow that are valid for any number of independent rows, without an approximation:

- a single cell: its counts are hypergeometric given those of the stratum, which the bound of Chernoff and Hoeffding is
  for; all cells at once;
- all cells together: the likelihood of the rows by a model that gives each value of the column frequencies of its own,
  over the largest likelihood under the assumption. Its expectation is at most 1, so it is above 1/α with probability at
  most α (Markov). The model predicts one cell after the other from those before, so that it may adapt to them.

Both are made for the values as they are and, where there are many, for runs of neighbours among them, since numbers and
codes that are next to each other often tell the same; neighbours by their ends, too, where codes often have a kind.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from leakwise.alphabet import Label
from leakwise.guarantee import at_least, at_most
from leakwise.types import Counts, Floats, Indices

__all__ = ["FALSE_ALARM", "Cells", "Evidence", "evidence"]

# How often columns that tell nothing are refused all the same, at most, over all columns of one release.
FALSE_ALARM = 0.001

# Numbers of runs of neighbouring values that are tested where a column has at least twice as many values.
_RUNS = (4, 16, 64)

# How closely the frequencies of cells keep to those before: a model for each, all equally likely beforehand.
_KEPT_BY = (1.0, 4.0, 16.0, 64.0, 256.0, 1024.0)
# All strata with at least so many rows are taken together.
_SIZES = (1, 100, 1000, 10_000)


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

    def with_values_at(self, places: Indices) -> Cells:
        """Return the same counts with the values numbered in another way."""
        return Cells(self.strata, places[self.values], self.counts)

    def in_runs(self, values: int, runs: int) -> Cells:
        """Return the counts of so many runs of neighbouring values."""
        which = self.values * runs // values
        keys, places = np.unique(self.strata * runs + which, return_inverse=True)
        return Cells(keys // runs, keys % runs, _summed(self.counts, places))


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
    20 of 100 rows where zip = A have 'yes', and 80 of all 200: 0.5 times as often (at most 1 times). By chance that \
happens in at most 1 of 4,300 tables.
    """
    tests: list[tuple[Cells, Callable[[int], str]]] = [(cells, lambda value: f"{column} = {values[value]}")]
    for runs in _RUNS:
        if len(values) >= 2 * runs:
            tests.append((cells.in_runs(len(values), runs), partial(_run_words, column, values, runs)))
            by_end = sorted(range(len(values)), key=lambda value: str(values[value])[::-1])
            moved = cells.with_values_at(np.argsort(by_end))
            words = partial(_run_words, f"{column}, sorted by its end,", [values[value] for value in by_end], runs)
            tests.append((moved.in_runs(len(values), runs), words))
    share = alarm / (2 * len(tests))
    found = [_one_cell(tested, letters, words, stratum_words, share) for tested, words in tests]
    # What is easiest to understand first: a cell that is certain, then all of them together.
    certain = [one for one in found if one is not None and one.chance <= share]
    if certain:
        return max(certain, key=lambda one: max(one.least, 1 / one.least) if one.least else math.inf)
    for (tested, _), one in zip(tests, found, strict=True):
        if one is not None and (ratio := _all_cells(tested)) >= -math.log(share):
            return Evidence(
                math.exp(-ratio),
                one.lift,
                one.least,
                f"A model with frequencies of its own for each value of {column} gives the rows {_times(ratio)} times "
                f"the probability that the best one without does, which by chance happens in at most "
                f"{_one_in(math.exp(-ratio))} tables. What stands out most: {one.words}",
            )
    return None


def _run_words(column: str, values: Sequence[Label], runs: int, run: int) -> str:
    """A run of neighbouring values in words."""
    first, last = (-(-one * len(values) // runs) for one in (run, run + 1))
    return f"{column} is between {values[first]} and {values[last - 1]}"


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


def _all_cells(cells: Cells) -> float:
    """The logarithm of how many times as likely the rows are if each value of the column has frequencies of its own.

    A number whose exponential has expectation at most 1 if it has not: a mean over models, of which each predicts the
    rows of a cell from those of the cells before it in their stratum.
    """
    from scipy.special import gammaln, logsumexp

    order = np.lexsort((cells.values, cells.strata))
    counts = cells.counts[order]
    places, totals = Cells(cells.strata[order], cells.values[order], counts).totals()
    sizes = totals.sum(axis=1).astype(np.float64)
    before = np.cumsum(counts, axis=0) - counts
    starts = np.flatnonzero(np.diff(places, prepend=-1))
    before = before - before[starts][places]
    letters = counts.shape[1]
    base = (before + 0.5) / (before.sum(axis=1, keepdims=True) + 0.5 * letters)
    rows, columns = np.nonzero(counts)
    seen, share = counts[rows, columns].astype(np.float64), base[rows, columns]
    in_cell = counts.sum(axis=1).astype(np.float64)
    scores = []
    for kept in _KEPT_BY:
        term = np.bincount(rows, gammaln(kept * share + seen) - gammaln(kept * share), minlength=len(counts))
        scores.append(np.bincount(places, term + gammaln(kept) - gammaln(kept + in_cell), minlength=sizes.size))
    with np.errstate(divide="ignore", invalid="ignore"):
        usual = np.where(totals > 0, totals * np.log(totals / sizes[:, None]), 0.0).sum(axis=1)
    ratios = np.stack(scores) - usual
    models = [ratios[:, sizes >= least].sum(axis=1) for least in _SIZES]
    together = logsumexp(np.concatenate(models)) - math.log(len(_SIZES) * len(_KEPT_BY))
    alone = logsumexp(logsumexp(ratios, axis=0) - math.log(len(_KEPT_BY)), b=sizes / sizes.sum())
    # Less what the sums of floats may have erred by.
    return float(np.logaddexp(together, alone)) - math.log(2) - 1e-9 * float(sizes.sum())


def _times(ratio: float) -> str:
    """Return e to a power as a number that is not larger."""
    power = math.floor(ratio / math.log(10))
    return f"10^{power}" if power > 5 else f"{math.floor(math.exp(ratio)):,}"


def _one_in(chance: float) -> str:
    """Return a small probability as ``1 of 2,000``, never smaller than it is."""
    if chance >= 0.5:
        return "all"
    whole = math.floor(1 / chance) if chance > 1e-15 else 10**15
    digits = max(len(str(whole)) - 2, 0)
    return f"1 of {whole // 10**digits * 10**digits:,}"
