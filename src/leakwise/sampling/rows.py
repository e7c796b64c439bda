"""Draws from the rows of a dense matrix of integer weights."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from leakwise.errors import InvalidInput
from leakwise.sampling._arrays import (
    BLOCK,
    RestOfWords,
    blocks,
    checked_bits,
    checked_words,
    exact_integers,
    lower_bound,
    prepare,
    row_sums,
)
from leakwise.sampling.stream import SecureStream, stream_for_this_thread, word_dtype
from leakwise.types import Array, Bools, Indices, Words

__all__ = ["RowSampler"]

# Four million cells of the first-level table are gathered at nearly the speed of a few thousand (measured):
# the gathers of a block do not wait for one another.
_CELLS = 1 << 22
_MOST_CELLS = 1 << 31


class RowSampler:
    r"""Outcome codes drawn exactly from the rows of an integer matrix.

    Row ``i`` gives outcome ``j`` with probability :math:`w_{ij} / 2^{bits}`, to the last bit.

    The ``2**bits`` words are dealt out in cells of equal leading ``first_bits``. Outcome ``j`` owns as many whole cells
    as fit into its weight; what all outcomes have left over fills the first ``R`` cells of the row, with the same ``R``
    for every row. A draw whose leading bits fall beyond these is settled by one look into a table; only the others (a
    share of ``R / 2**first_bits``) ask for the remaining bits and search.

    The object never changes, so threads may share it, each with its own stream.

    Parameters
    ----------
    weights
        N×M non-negative integers, each row with sum ``2**bits``. Integers beyond 64 bits (a weight of ``2**64``) belong
        in an array of ``dtype=object``.
    bits
        The denominator is ``2**bits``; from 1 to 64.
    first_bits
        Leading bits that index the table, at most 16. Chosen from the shape when left out; it never changes the law.

    Examples
    --------
    >>> sampler = RowSampler([[3, 1], [0, 4]], bits=2)
    >>> sampler.draw(np.ones(5, np.uint8))
    array([1, 1, 1, 1, 1], dtype=uint8)
    >>> sampler.draw_from_words(np.zeros(4, np.uint8), np.arange(4))
    array([0, 0, 0, 1], dtype=uint8)
    """

    __slots__ = (
        "_columns", "_counts", "_first_bits", "_residual", "_rest_bits", "_skipped_bits", "_starts",
        "_table", "_tops", "bits", "dtype", "inputs", "outputs",
    )  # fmt: skip

    def __init__(self, weights: ArrayLike, bits: int, *, first_bits: int | None = None) -> None:
        self.bits = checked_bits(bits)
        words, whole = exact_integers(weights, "weights", 2)
        for row, total in enumerate(row_sums(words, whole)):
            if total != 1 << self.bits:
                raise InvalidInput(
                    f"weights must have rows that sum to 2**{self.bits} = {1 << self.bits}. "
                    f"Row {row} sums to {total}; round the matrix to that denominator first."
                )
        self.inputs: int = words.shape[0]
        self.outputs: int = words.shape[1]
        self.dtype = np.dtype(np.min_scalar_type(self.outputs - 1))

        # Bits that no weight uses are never drawn. (2**64, stored as 0, is a multiple of every power of two.)
        used = int(np.bitwise_or.reduce(words, axis=None))
        self._skipped_bits = min((used & -used).bit_length() - 1, self.bits) if used else self.bits
        needed = self.bits - self._skipped_bits
        self._first_bits = self._choose_first_bits(first_bits, needed)
        self._rest_bits = needed - self._first_bits
        self._build(words, whole)

    def _choose_first_bits(self, wish: int | None, needed: int) -> int:
        rows, outcomes = self.inputs, self.outputs
        if wish is not None:
            if not 0 <= wish <= 16 or rows << wish > _MOST_CELLS:
                raise InvalidInput(
                    f"first_bits must be from 0 to 16, with at most 2**31 cells for {rows} rows. "
                    f"Got {wish!r} instead; leave it out to have it chosen."
                )
            return min(wish, needed)
        # About half the outcomes leave a cell over: 64 cells an outcome keep the searched share near 1/128.
        goal = min(16, max(14, (64 * outcomes - 1).bit_length()))
        cells = min(_MOST_CELLS, max(_CELLS, 4 * rows * outcomes))
        if needed <= 16 and rows << needed <= cells:
            return needed
        return min(needed, goal, (cells // rows).bit_length() - 1)

    def _build(self, words: Words, whole: Bools | None) -> None:
        cells = 1 << self._first_bits
        cut = self._skipped_bits + self._rest_bits
        shift = np.uint64(cut)
        # A shift by the width of a word is not to be relied on; there the only whole cell is 2**64 itself.
        full = words >> shift if cut < 64 else np.zeros_like(words)
        left = words - (full << shift) if cut < 64 else words
        left = left >> np.uint64(self._skipped_bits) if self._skipped_bits < 64 else left
        if whole is not None:
            full[whole] = cells
        leftover_cells = np.uint64(cells) - full.sum(axis=1, dtype=np.uint64)
        self._residual = int(leftover_cells.max())

        # Rows with fewer leftover cells give up whole ones, so that one comparison serves all rows.
        owed = (np.uint64(self._residual) - leftover_cells)[:, None]
        before = np.cumsum(full, axis=1, dtype=np.uint64) - full
        given = np.minimum(full, np.maximum(owed, before) - before)
        full -= given

        outcomes = np.arange(-1, self.outputs).clip(0).astype(self.dtype)
        runs = np.empty((self.inputs, self.outputs + 1), np.intp)
        runs[:, 0] = self._residual  # these cells are never read; any outcome fills the place
        runs[:, 1:] = full
        self._table = _frozen(np.repeat(np.tile(outcomes, self.inputs), runs.ravel()))

        # Modulo 2**64: the only true sum that wraps is 2**64 itself, and its inclusive top is right again.
        mass = left + (given << np.uint64(self._rest_bits)) if self._rest_bits < 64 else left
        has_mass = (left != 0) | (given != 0)
        tops = np.cumsum(mass, axis=1, dtype=np.uint64) - np.uint64(1)
        counts = has_mass.sum(axis=1).astype(np.intp)
        self._counts = _frozen(counts)
        self._starts = _frozen(np.cumsum(counts) - counts)
        self._tops = _frozen(tops[has_mass])
        self._columns = _frozen(np.nonzero(has_mass)[1].astype(self.dtype))

    def draw(self, codes: ArrayLike, stream: SecureStream | None = None, out: Array | None = None) -> Array:
        """Return one independent outcome for each row code, in the smallest unsigned dtype that holds them.

        Parameters
        ----------
        codes
            Row numbers from 0 to N-1, any integer dtype and shape.
        stream
            Where the random words come from; the secure stream of the calling thread when left out.
        out
            An array to write to, of the shape of ``codes``; it may be ``codes`` itself.
        """
        flat, result, target = prepare(codes, self.inputs, self.dtype, out)
        source = stream_for_this_thread() if stream is None else stream
        scratch = _Scratch(min(flat.size, BLOCK), self._first_bits, self.dtype)

        def rest(places: Indices) -> Array:
            return source.words(places.size, self._rest_bits)

        for part in blocks(flat.size):
            chunk = flat[part]
            first = source.words(chunk.size, self._first_bits, out=scratch.first[: chunk.size])
            self._settle(chunk, first, rest, target[part], scratch)
        return result

    def draw_from_words(self, codes: ArrayLike, words: ArrayLike) -> Array:
        """Return the outcomes that given ``bits``-bit words stand for: the map from words to outcomes, laid open.

        Over all ``2**bits`` words, row ``i`` gives outcome ``j`` exactly ``weights[i, j]`` times. `draw` computes the
        same map from fresh words, of which it fetches only the bits it needs.
        """
        flat, result, target = prepare(codes, self.inputs, self.dtype, None)
        given = checked_words(words, flat.size, self.bits)
        scratch = _Scratch(min(flat.size, BLOCK), self._first_bits, self.dtype)
        used = given >> np.uint64(self._skipped_bits) if self._skipped_bits < 64 else np.zeros_like(given)
        leading = used >> np.uint64(self._rest_bits) if self._rest_bits < 64 else np.zeros_like(used)
        low = used & np.uint64((1 << self._rest_bits) - 1)
        for part in blocks(flat.size):
            first = leading[part].astype(word_dtype(self._first_bits))
            self._settle(flat[part], first, low[part].take, target[part], scratch)
        return result

    def _settle(self, codes: Array, first: Array, rest: RestOfWords, target: Array, scratch: _Scratch) -> None:
        """Write the outcomes of one block to ``target``."""
        count = codes.size
        places = self._unsettled(first)
        rows = codes[places].astype(np.intp)  # before target is written: it may be the same memory

        narrow, wide = scratch.narrow[:count], scratch.wide[:count]
        np.copyto(narrow, codes, casting="unsafe")  # the codes are checked, and N * 2**first_bits fits
        np.left_shift(narrow, self._first_bits, out=narrow)
        np.bitwise_or(narrow, first, out=narrow)
        np.copyto(wide, narrow)
        # Every index is in range; "wrap" is the mode in which take writes to its target without a copy of it.
        if target.dtype == self.dtype:
            np.take(self._table, wide, out=target, mode="wrap")
        else:
            np.copyto(target, np.take(self._table, wide, out=scratch.outcomes[:count], mode="wrap"))

        if places.size:
            u = rest(places).astype(np.uint64)
            if self._first_bits:
                u |= first[places].astype(np.uint64) << np.uint64(self._rest_bits)
            found = lower_bound(self._tops, self._starts[rows], self._counts[rows], u)
            target[places] = self._columns[found]

    def _unsettled(self, first: Array) -> Indices:
        if self._residual == 0:
            return np.empty(0, np.intp)
        if self._residual == 1 << self._first_bits:
            return np.arange(first.size)
        return np.flatnonzero(first < self._residual)

    @property
    def first_bits(self) -> int:
        """Random bits that every draw takes."""
        return self._first_bits

    @property
    def searched_share(self) -> float:
        """The share of draws that the first-level table leaves to the search."""
        return self._residual / (1 << self._first_bits)

    @property
    def nbytes(self) -> int:
        """Bytes of memory held by the tables."""
        arrays = (self._table, self._tops, self._columns, self._starts, self._counts)
        return sum(array.nbytes for array in arrays)

    def __repr__(self) -> str:
        return f"RowSampler({self.inputs} rows, {self.outputs} outcomes, bits={self.bits})"


class _Scratch:
    """Working space of one call, so that the sampler itself holds none and threads can share it."""

    def __init__(self, count: int, first_bits: int, dtype: np.dtype[Any]) -> None:
        self.first = np.empty(count, word_dtype(first_bits))
        self.narrow = np.empty(count, np.uint32)
        self.wide = np.empty(count, np.intp)
        self.outcomes = np.empty(count, dtype)


def _frozen(array: Array) -> Array:
    array.setflags(write=False)
    return array
