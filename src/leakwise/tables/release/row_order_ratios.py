"""Numbers of expectation at most one under every random arrangement of rows: bets and likelihood ratios."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from leakwise.types import Array, Counts, Floats

__all__ = ["log_arranged", "log_likelihood", "log_won", "slack"]

# How many times as often as by chance a row may have the value of the row before.
_STICKY = np.array([0.1, 3.0, 30.0, 1000.0])
_SHORT = 1 << 16


def log_won(codes: Array, strata: Array) -> float:
    """Bet, row by row, that the next row has the value of this one more (or less) often than what is left gives.

    With r of the R rows to come having it, it comes next with probability r/R. So the product of w^[it comes] over
    1 + (w - 1) r/R has expectation one for every w, and so has the mean over w, of which this is the logarithm. Rows
    of several strata come one stratum after the other, and the bets in each have that expectation whatever the others
    were.
    """
    size = int(codes.max()) + 1
    ends = np.cumsum(np.bincount(strata))[strata]
    keys = strata.astype(np.int64) * size + codes
    if keys.max() < _SHORT:
        # Numbers of two bytes are sorted by counting.
        counts, keys = np.bincount(keys), keys.astype(np.uint16)
    else:
        _, keys, counts = np.unique(keys, return_inverse=True, return_counts=True)
    later = np.empty(codes.size, np.intp)
    later[np.argsort(keys, kind="stable")] = np.repeat(np.cumsum(counts), counts) - 1 - np.arange(codes.size)
    left = ends - 1 - np.arange(codes.size)
    bet = left > 0
    chance = later[bet] / left[bet]
    equal = np.count_nonzero((codes[1:] == codes[:-1]) & bet[:-1])
    bets = np.array([equal * np.log(w) - _log_product(1 + (w - 1) * chance) for w in _STICKY])
    top = float(bets.max())
    return top + float(np.log(np.exp(bets - top).mean()))


def _log_product(factors: Floats) -> float:
    """The logarithm of a product of numbers from 0.1 to 1000: 64 of them at a time stay far from overflow."""
    many = factors.size // 64 * 64
    return float(np.log(factors[:many].reshape(-1, 64).prod(axis=1)).sum() + np.log(factors[many:]).sum())


def log_arranged(counts: Counts) -> Floats:
    """Per row: the log-probability of one arrangement with these counts, when all are equally likely."""
    from scipy.special import gammaln

    result: Floats = gammaln(counts + 1.0).sum(axis=1) - gammaln(counts.sum(axis=1) + 1.0)
    return result


def log_likelihood(counts: Counts) -> Floats:
    """Per row: the log-probability of a sequence with these counts, frequencies drawn from Dirichlet(1/K, …, 1/K)."""
    from scipy.special import gammaln

    terms = _terms(counts.shape[1])
    if counts.size and counts.max() < terms.size:
        summed = terms.take(counts).sum(axis=1)
    else:
        alpha = 1.0 / counts.shape[1]
        summed = np.where(counts, gammaln(counts + alpha) - gammaln(alpha), 0.0).sum(axis=1)
    result: Floats = summed - gammaln(counts.sum(axis=1) + 1.0)
    return result


@lru_cache(maxsize=16)
def _terms(size: int) -> Floats:
    """What small counts add to it, looked up because most blocks are small."""
    from scipy.special import gammaln

    terms: Floats = gammaln(np.arange(4096) + 1.0 / size) - gammaln(1.0 / size)
    terms[0] = 0.0
    return terms


def slack(rows: float) -> float:
    """More than the logarithms of factorials can have erred by, taken together."""
    return 1e-6 + 1e-12 * rows * float(np.log(rows + 1))
