"""Two-sided geometric noise on the whole numbers, exact: every number has the probability that its formula says."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from leakwise.errors import InvalidInput
from leakwise.sampling.stream import SecureStream, stream_for_this_thread
from leakwise.types import Counts

__all__ = ["two_sided_geometric"]

_AHEAD = 64  # trials of each draw at a time


def two_sided_geometric(ratio: Fraction, count: int, stream: SecureStream | None = None) -> Counts:
    """Draw ``count`` whole numbers, k with probability (1 - α)/(1 + α) α^|k|, independent of each other.

    Each is the difference of two geometric ones, the trials before the first failure where a trial succeeds with
    probability α. That is a rational over a power of two, so that a trial compares one random word with an integer.

    Parameters
    ----------
    ratio
        α, at least 0 and below 1, over a power of two up to 2^64.

    Examples
    --------
    >>> two_sided_geometric(Fraction(0), 3).tolist()
    [0, 0, 0]
    >>> print(f"{two_sided_geometric(Fraction(3, 4), 100_000).std():.1f}")  # the root of 2α over 1 - α
    4.9
    """
    bits = ratio.denominator.bit_length() - 1
    if not 0 <= ratio < 1 or ratio.denominator != 1 << bits or bits > 64:
        raise InvalidInput(
            f"ratio must be at least 0 and below 1, over a power of two up to 2^64. Got {ratio} instead."
        )
    source = stream_for_this_thread() if stream is None else stream
    first, second = np.split(_geometric(ratio.numerator, bits, 2 * count, source), 2)
    difference: Counts = first - second
    return difference


def _geometric(below: int, bits: int, count: int, stream: SecureStream) -> Counts:
    """How many words are below a number before one is not; trials that nobody needs any more are thrown away."""
    found = np.zeros(count, dtype=np.int64)
    left = np.arange(count)
    while left.size:
        fails = stream.words(left.size * _AHEAD, bits).reshape(left.size, _AHEAD) >= below
        ended = fails.any(axis=1)
        found[left] += np.where(ended, fails.argmax(axis=1), _AHEAD)
        left = left[~ended]
    return found
