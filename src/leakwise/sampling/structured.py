"""Draws from a common law plus a diagonal, in linear memory."""

from __future__ import annotations

import operator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from leakwise.errors import InvalidInput
from leakwise.sampling._arrays import (
    BLOCK,
    RestOfWords,
    blend,
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

__all__ = ["StructuredSampler"]

_MIXED = np.uint32(1 << 31)
_LETTER = np.uint32((1 << 31) - 1)


class StructuredSampler:
    r"""Outcome codes drawn exactly from :math:`P_{ij} = (c_j + d\,[i = j]) / 2^{bits}`, without a matrix.

    All rows share one base law of total ``2**bits``, laid out as intervals of words:

    - ``d >= 0``: the letters with weights ``c_j``, then "stay" with weight ``d``.
    - ``d < 0``: the letters with weights ``c_j``, the last one shortened by ``|d|``. In row ``i`` the first
      ``|d|`` words of the interval of ``i`` stand for the last letter instead; the row of the last letter needs no
      change. (Every ``c_j`` is at least ``|d|``, so both cuts fit, and no sum ever passes ``2**bits``.)

    There is no rejection. The letter of a word comes from a guide table on its leading bits, the remaining bits being
    fetched only where they matter; or, where all ``c_j`` are equal (randomized response), from one division.

    The object never changes, so threads may share it, each with its own stream.

    Parameters
    ----------
    common
        N non-negative integers ``c_j``.
    diagonal
        The integer ``d``, of either sign: ``sum(common) + diagonal == 2**bits`` and all ``c_j + d >= 0``.
    bits
        The denominator is ``2**bits``; from 1 to 64.
    guide_bits
        Leading bits that index a guide table, at most 24. Table or division is chosen from the law when left out; it
        never changes the law.

    Examples
    --------
    >>> never_itself = StructuredSampler([1, 1, 1], diagonal=-1, bits=1)
    >>> never_itself.draw_from_words(np.array([0, 0, 1, 1, 2, 2]), np.array([0, 1, 0, 1, 0, 1]))
    array([2, 1, 0, 2, 0, 1], dtype=uint8)
    """

    __slots__ = (
        "_guide", "_last_cut", "_leading_bits", "_letters", "_rest_bits", "_step", "_tops",
        "bits", "diagonal", "dtype", "inputs",
    )  # fmt: skip

    def __init__(self, common: ArrayLike, diagonal: int, bits: int, *, guide_bits: int | None = None) -> None:
        self.bits = checked_bits(bits)
        try:
            self.diagonal = operator.index(diagonal)
        except TypeError as error:
            raise InvalidInput(f"diagonal must be an integer. Got {diagonal!r} instead.") from error
        words, whole = exact_integers(common, "common", 1)
        self.inputs = words.size
        if self.inputs >= int(_LETTER):
            raise InvalidInput(f"common must have fewer than 2**31 - 1 letters. Got {self.inputs}.")
        if guide_bits is not None and not 1 <= guide_bits <= 24:
            raise InvalidInput(
                f"guide_bits must be from 1 to 24. Got {guide_bits!r} instead; leave it out to have it chosen."
            )
        self.dtype = np.dtype(np.min_scalar_type(self.inputs - 1))
        self._check_law(words, whole)

        # The last of the |d| words given away, counted from 0: unlike |d| = 2**64 itself, it fits a word.
        self._last_cut = np.uint64(max(0, -self.diagonal - 1) if self.inputs > 1 else 0)
        # Zero says "not by division". A step of 2**64 is stored as 0 and so goes by the table, rightly.
        equal = self.inputs > 1 and bool(words.min() == words.max())
        self._step = int(words[0]) if equal and whole is None and guide_bits is None else 0
        if self._step:
            self._leading_bits, self._rest_bits = self.bits, 0
            self._tops = np.empty(0, np.uint64)
            self._letters = self._guide = np.empty(0, np.uint32)
        else:
            # Four cells a letter: at most a quarter of the words need more than their leading bits.
            chosen = guide_bits or min(24, max(12, (4 * self.inputs - 1).bit_length()))
            self._leading_bits = min(self.bits, chosen)
            self._rest_bits = self.bits - self._leading_bits
            self._build(words, whole)

    def _check_law(self, words: Words, whole: Bools | None) -> None:
        total = row_sums(words, whole)[0] + self.diagonal
        if total != 1 << self.bits:
            raise InvalidInput(
                f"sum(common) + diagonal must be 2**{self.bits} = {1 << self.bits}. Got {total} instead; "
                f"round the kernel to that denominator first."
            )
        if self.diagonal >= 0 or self.inputs == 1:
            return
        bounded = words if whole is None else words[~whole]
        least = int(bounded.min()) if bounded.size else 1 << 64
        if least + self.diagonal < 0:
            raise InvalidInput(
                f"common[j] + diagonal must not be negative. Got {least} + ({self.diagonal}) among them; "
                f"a diagonal below zero can take away no more than the smallest common weight."
            )

    def _build(self, words: Words, whole: Bools | None) -> None:
        base = np.append(words, np.uint64(max(self.diagonal, 0) % (1 << 64)))
        present = base != 0
        if whole is not None:
            present[:-1] |= whole
        present[-1] = self.diagonal > 0
        if self.diagonal < 0:
            # Modulo 2**64, which also brings a stored 2**64 back into range.
            last = (int(base[-2]) + self.diagonal) % (1 << 64)
            base[-2] = last
            present[-2] = last != 0 or self.inputs == 1
        # Inclusive tops fit a word even where the total is 2**64; letters without weight are left out.
        self._tops = np.cumsum(base[present], dtype=np.uint64) - np.uint64(1)
        places = np.flatnonzero(present)
        in_order = bool((places == np.arange(places.size)).all())
        self._letters = np.empty(0, np.uint32) if in_order else places.astype(np.uint32)

        cells = 1 << self._leading_bits
        full = np.uint64((1 << self._rest_bits) - 1)
        cell_of_top = (self._tops >> np.uint64(self._rest_bits)).astype(np.intp)
        ends_inside = (self._tops & full) != full
        self._guide = np.zeros(cells, np.uint32)
        np.cumsum(np.bincount(cell_of_top, minlength=cells)[:-1], out=self._guide[1:])
        self._guide[np.bincount(cell_of_top[ends_inside], minlength=cells) > 0] |= _MIXED
        for array in (self._tops, self._letters, self._guide):
            array.setflags(write=False)

    def draw(self, codes: ArrayLike, stream: SecureStream | None = None, out: Array | None = None) -> Array:
        """Return one independent outcome for each letter code, in the smallest unsigned dtype that holds them.

        Parameters
        ----------
        codes
            Letter numbers from 0 to N-1, any integer dtype and shape.
        stream
            Where the random words come from; the secure stream of the calling thread when left out.
        out
            An array to write to, of the shape of ``codes``; it may be ``codes`` itself.
        """
        flat, result, target = prepare(codes, self.inputs, self.dtype, out)
        source = stream_for_this_thread() if stream is None else stream
        buffer = np.empty(min(flat.size, BLOCK), word_dtype(self._leading_bits))

        def rest(places: Indices) -> Array:
            return source.words(places.size, self._rest_bits)

        for part in blocks(flat.size):
            chunk = flat[part]
            leading = source.words(chunk.size, self._leading_bits, out=buffer[: chunk.size])
            target[part] = self._settle(chunk, leading, rest)
        return result

    def draw_from_words(self, codes: ArrayLike, words: ArrayLike) -> Array:
        """Return the outcomes that given ``bits``-bit words stand for: the map from words to outcomes, laid open.

        Over all ``2**bits`` words, row ``i`` gives outcome ``j`` exactly ``common[j] + diagonal * (i == j)``
        times. `draw` computes the same map from fresh words, of which it fetches only the bits it needs.
        """
        flat, result, target = prepare(codes, self.inputs, self.dtype, None)
        given = checked_words(words, flat.size, self.bits)
        leading = (given >> np.uint64(self._rest_bits)).astype(word_dtype(self._leading_bits))
        low = given & np.uint64((1 << self._rest_bits) - 1)
        for part in blocks(flat.size):
            target[part] = self._settle(flat[part], leading[part], low[part].take)
        return result

    def _settle(self, codes: Array, leading: Array, rest: RestOfWords) -> Array:
        """The outcomes of one block."""
        if self._step:
            return self._by_division(codes, leading)
        cells = leading.astype(np.intp)
        guess = self._guide.take(cells, mode="wrap")
        mixed = guess >= _MIXED
        guess &= _LETTER
        if self.diagonal < 0 and self.inputs > 1:
            return self._with_cut(codes, cells, guess, mixed, rest)
        places = np.flatnonzero(mixed)
        if places.size:
            guess[places] = self._search(cells[places], guess[places], self._word(cells, places, rest))
        letters = self._letters.take(guess) if self._letters.size else guess
        if self.diagonal > 0:
            return blend(letters.astype(self.dtype), codes, letters == self.inputs)
        return letters

    def _with_cut(
        self, codes: Array, cells: Indices, guess: NDArray[np.uint32], mixed: Bools, rest: RestOfWords
    ) -> NDArray[np.uint32]:
        # Only the last letter can have lost all its weight, so a place in the table is the letter itself.
        last = self.inputs - 1
        own = codes.astype(np.uint32)
        places = np.flatnonzero(mixed | ((guess == own) & (own != last)))
        if places.size:
            u = self._word(cells, places, rest)
            found = self._search(cells[places], guess[places], u)
            # The interval of letter k begins one past the top of letter k - 1.
            begin = np.where(found == 0, np.uint64(0), self._tops.take(found - 1, mode="wrap") + np.uint64(1))
            found[(found == own[places]) & (u - begin <= self._last_cut)] = last
            guess[places] = found
        return guess

    def _by_division(self, codes: Array, u: Array) -> Array:
        # A step wider than any word puts all words into the first interval.
        narrow = self._step <= np.iinfo(u.dtype).max
        letters = u // u.dtype.type(self._step) if narrow else np.zeros_like(u)
        if self.diagonal > 0:
            return blend(letters.astype(self.dtype), codes, letters >= self.inputs)
        if self.diagonal < 0:
            places = np.flatnonzero(letters == codes)
            found = letters[places].astype(np.uint64)
            offset = u[places] - found * np.uint64(self._step)
            letters[places[offset <= self._last_cut]] = self.inputs - 1
        return letters

    def _word(self, cells: Indices, places: Indices, rest: RestOfWords) -> Words:
        high = cells[places].astype(np.uint64) << np.uint64(self._rest_bits)
        return high | rest(places).astype(np.uint64)

    def _search(self, cells: Indices, first: NDArray[np.uint32], u: Words) -> Indices:
        # The letter at the start of the next cell is the last that can reach into this one.
        after = self._guide.take(np.minimum(cells + 1, self._guide.size - 1)) & _LETTER
        final = np.where(cells + 1 < self._guide.size, after, self._tops.size - 1).astype(np.intp)
        start = first.astype(np.intp)
        return lower_bound(self._tops, start, final - start + 1, u)

    @property
    def nbytes(self) -> int:
        """Bytes of memory held by the tables."""
        return self._tops.nbytes + self._letters.nbytes + self._guide.nbytes

    def __repr__(self) -> str:
        return f"StructuredSampler({self.inputs} letters, diagonal={self.diagonal}, bits={self.bits})"
