"""Draws by the inverse of the distribution function, row by row: a map from words that no other row has a part in."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from leakwise.errors import InvalidInput
from leakwise.sampling._arrays import blocks, checked_bits, exact_integers, lower_bound, row_sums
from leakwise.types import Array, Words

__all__ = ["InverseSampler"]


class InverseSampler:
    r"""Outcome codes of given 64-bit words: outcome j of row i has :math:`2^{64-bits} w_{ij}` of them, in order.

    A word u stands for the first outcome j with :math:`u < 2^{64-bits} (w_{i0} + … + w_{ij})`. Unlike the faster
    :class:`RowSampler`, whose map depends on all rows of the matrix and on how it is laid out in memory, this one is
    the same wherever the row stands: it is part of what a repeated release means, and never changes.

    Parameters
    ----------
    matrices
        Matrices of non-negative integers, one below the other in the order of their rows, each with the exponent of
        its denominator and the outcomes that its columns stand for. Each row sums to ``2**bits``.

    Examples
    --------
    >>> sampler = InverseSampler([([[3, 1], [0, 4]], 2, [0, 1])])
    >>> quarter = 2**62
    >>> sampler.draw_from_words(np.array([0, 0, 1]), np.array([3 * quarter - 1, 3 * quarter, 0], dtype=np.uint64))
    array([0, 1, 1])
    """

    def __init__(self, matrices: list[tuple[ArrayLike, int, ArrayLike]]) -> None:
        tops, columns, counts = [], [], []
        for weights, bits, outcomes in matrices:
            words, whole = exact_integers(weights, "weights", 2)
            exponent = checked_bits(bits)
            if any(total != 1 << exponent for total in row_sums(words, whole)):
                raise InvalidInput(f"weights must have rows that sum to 2**{exponent}.")
            has_mass = words != 0 if whole is None else (words != 0) | whole
            # Modulo 2**64: the only sum that wraps is 2**64 itself, and its inclusive top is right again.
            scaled = words << np.uint64(64 - exponent)
            tops.append((np.cumsum(scaled, axis=1, dtype=np.uint64) - np.uint64(1))[has_mass])
            columns.append(np.asarray(outcomes)[np.nonzero(has_mass)[1]])
            counts.append(has_mass.sum(axis=1))
        self._tops: Words = np.concatenate(tops)
        self._columns: Array = np.concatenate(columns)
        self._counts = np.concatenate(counts).astype(np.intp)
        self._starts = np.cumsum(self._counts) - self._counts

    def draw_from_words(self, rows: Array, words: Words) -> Array:
        """Return the outcome of each row that its word stands for."""
        drawn = np.empty(rows.size, self._columns.dtype)
        for part in blocks(rows.size):
            chosen = rows[part].astype(np.intp)
            found = lower_bound(self._tops, self._starts[chosen], self._counts[chosen], words[part])
            drawn[part] = self._columns[found]
        return drawn
