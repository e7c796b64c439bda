"""Clopper-Pearson bounds that hold for certain: a binomial tail bounded from above, at any level, without tables.

The tail P(Bin(m, p) ≥ k) is summed in blocks. The ratio of neighbouring terms falls, so within a block the terms are at
most geometric; the first term of a block is bounded by Stirling's formula with Robbins' remainder, in logarithms: a
level such as δ/(2^1000 - 2) is like any other.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from leakwise.exact import last_that_holds
from leakwise.types import Floats

__all__ = ["log_tail_upper", "lower_bounds", "upper_bounds"]


_STEPS = 52
_BLOCKS = 48
# Below this level one geometric series wastes less than a twentieth of it; above, the blocks are worth their time.
_DEEP = math.log(1e-6)


def _log_term_upper(k: Floats, m: float, log_p: Floats, log_q: Floats) -> Floats:
    """An upper bound on log P(Bin(m, p) = k) for 0 ≤ k ≤ m, by Robbins' form of Stirling's formula."""
    rest = m - k
    inner = (k > 0) & (rest > 0)
    safe_k, safe_rest = np.where(inner, k, m / 2), np.where(inner, rest, m / 2)
    divergence = safe_k * (np.log(safe_k / m) - log_p) + safe_rest * (np.log1p(-safe_k / m) - log_q)
    stirling = 0.5 * np.log(m / (2 * math.pi * safe_k * safe_rest))
    remainder = 1 / (12 * m) - 1 / (12 * safe_k + 1) - 1 / (12 * safe_rest + 1)
    ends = np.where(k <= 0, m * log_q, m * log_p)
    value: Floats = np.where(inner, -divergence + stirling + remainder, ends)
    return value


def log_tail_upper(successes: npt.ArrayLike, trials: int, p: npt.ArrayLike, *, blocks: int = 1) -> Floats:
    """Return an upper bound on log P(Bin(trials, p) ≥ successes); with more blocks closer to the truth.

    >>> exact = sum(math.comb(10, j) for j in range(8, 11)) / 2**10
    >>> bound = float(np.exp(log_tail_upper(8, 10, 0.5, blocks=48)))
    >>> f"{exact:.4f} is at most {bound:.4f}"
    '0.0547 is at most 0.0548'
    """
    m = float(trials)
    k, chance = np.broadcast_arrays(np.asarray(successes, dtype=np.float64), np.asarray(p, dtype=np.float64))
    safe = np.where((chance > 0) & (chance < 1), chance, 0.5)
    log_p, log_q = np.log(safe), np.log1p(-safe)
    length = np.maximum(1.0, np.floor(np.sqrt(m * safe * (1 - safe)) / 6))
    # One row per block: where it starts, and how fast its terms fall at most.
    start = k + length * np.arange(blocks).reshape(-1, *[1] * k.ndim)
    # One unit of rounding must not turn a ratio of just below 1 into a series that converges too fast.
    ratio = np.maximum(m - start, 0.0) / (start + 1) * (safe / (1 - safe)) * (1 + 2.0**-48)
    falls = ratio < 1 - 1e-9
    geometric = 1 / np.where(falls, 1 - ratio, 1.0)
    series = np.where(falls, geometric, np.inf)
    if blocks > 1:
        # All blocks but the last end: (1 - r^L)/(1 - r) terms, or where r is 1 or more L times the largest, the last.
        log_ratio = np.log(np.maximum(ratio[:-1], 1e-300))
        ends = np.where(falls[:-1], -np.expm1(length * np.minimum(log_ratio, 0.0)) * geometric[:-1], length)
        rise = np.where(falls[:-1], 0.0, np.maximum(log_ratio, 0.0) * (length - 1))
        with np.errstate(over="ignore"):
            series[:-1] = ends * np.exp(rise)
    terms = _log_term_upper(np.minimum(start, m), m, log_p, log_q) + np.log(series)
    total = np.logaddexp.reduce(np.where(start > m, -np.inf, terms), axis=0)
    # The divergence errs by units of its two parts, each at most m·|log|; a few units of that are added.
    size_of_parts = m * (np.abs(log_p) * np.minimum(1.0, k / m + 2 / m) + np.abs(log_q) + 1e-3)
    share = np.clip(k / m, 2.0**-1000, 1.0)
    rest = np.where(k < m, (m - k) * (np.log1p(-np.minimum(share, 1 - 1e-16)) - log_q), 0.0)
    chernoff = np.where(safe < share, -(k * (np.log(share) - log_p) + rest), 0.0)
    bound = np.minimum(total, chernoff) + size_of_parts * 2.0**-49 + 1e-12
    result: Floats = np.where(
        k <= 0, 0.0, np.where(chance <= 0, -np.inf, np.where(chance >= 1, 0.0, np.minimum(bound, 0.0)))
    )
    return result


def lower_bounds(successes: npt.ArrayLike, trials: int, log_level: float) -> Floats:
    """For each count k the largest p found with P(Bin(trials, p) ≥ k) ≤ e^{log_level}: a one-sided lower bound.

    Clopper and Pearson's bound, rounded down. With probability at least 1 - e^{log_level} the true chance is not below.

    >>> float(lower_bounds(0, 100, math.log(0.05)))
    0.0
    """
    counts = np.asarray(successes, dtype=np.float64)
    blocks = 1 if log_level < _DEEP else _BLOCKS
    share = np.minimum(counts / trials, 1.0)
    # Hoeffding's bound holds, too: the search starts there, a little below for the sake of rounding.
    low, high = np.maximum(share - math.sqrt(-log_level / (2 * trials)) * (1 + 2.0**-40), 0.0), share
    low = last_that_holds(
        lambda chance: log_tail_upper(counts, trials, chance, blocks=blocks) <= log_level, low, high, _STEPS
    )
    # All trials succeeded: p^m = level has a closed form, but the bisection finds it, too. No success says nothing.
    bounds: Floats = np.where(counts <= 0, 0.0, low)
    return bounds


def upper_bounds(successes: npt.ArrayLike, trials: int, log_level: float) -> Floats:
    """For each count the least p found with P(Bin(trials, p) ≤ k) ≤ e^{log_level}: a one-sided upper bound."""
    counts = np.asarray(successes, dtype=np.float64)
    bounds: Floats = np.nextafter(1 - lower_bounds(trials - counts, trials, log_level), 2.0)
    return np.minimum(bounds, 1.0)
