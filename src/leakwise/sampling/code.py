"""Draws of a place and a window of symbols for letters that are words of a code, in memory for the windows alone."""

from __future__ import annotations

import numpy as np

from leakwise.errors import InvalidInput
from leakwise.sampling._arrays import blocks, checked_bits, checked_words, exact_integers, prepare
from leakwise.sampling.stream import SecureStream, stream_for_this_thread
from leakwise.types import Array, Counts, Words

__all__ = ["CodeSampler"]


class CodeSampler:
    r"""Outcome codes drawn exactly from :math:`P_{x,(r,b)} = (l_{rb} + s_r\,[b \le x_r < b + d]) / 2^{bits}`.

    Here :math:`x_r` is the symbol of the letter at place r, counted modulo q. The words are dealt out place by place:
    first d·s_r for the windows that hold the letter's symbol, which differ from letter to letter, then l_rb for each
    window; what is left at the end is the last outcome. There is no rejection.

    The object never changes, so threads may share it, each with its own stream.

    Parameters
    ----------
    digits
        N×m, the digits of each letter.
    functions
        R×m, the coefficients of the symbol at each place.
    q, raised
        How many symbols there are, and how many a window holds.
    low, step
        R×q and R non-negative integers.
    bits
        The denominator is ``2**bits``; from 1 to 64.

    Examples
    --------
    >>> sampler = CodeSampler([[0], [1]], [[1]], 2, 1, [[1, 1]], [2], bits=2)
    >>> sampler.draw_from_words(np.array([0, 0, 0, 0, 1, 1, 1, 1]), np.array([0, 1, 2, 3, 0, 1, 2, 3]))
    array([0, 0, 0, 1, 1, 1, 0, 1], dtype=uint8)
    """

    __slots__ = (
        "_digits", "_functions", "_low", "_starts", "_step",
        "bits", "dtype", "inputs", "outputs", "q", "raised",
    )  # fmt: skip

    def __init__(
        self, digits: Array, functions: Array, q: int, raised: int, low: Array, step: Array, bits: int
    ) -> None:
        self.bits, self.q, self.raised = checked_bits(bits), q, raised
        self._digits, self._functions = np.asarray(digits, dtype=np.int64), np.asarray(functions, dtype=np.int64)
        lows, whole = exact_integers(low, "low", 2)
        steps, whole_step = exact_integers(step, "step", 1)
        each = [sum(row) + raised * one for row, one in zip(lows.tolist(), steps.tolist(), strict=True)]
        rest = (1 << self.bits) - sum(each)
        if whole is not None or whole_step is not None or rest < 0 or max(each) >> 64:
            raise InvalidInput(f"low and step must add up to at most 2**{self.bits}, and a place to less than 2**64.")
        self.inputs, self.outputs = len(self._digits), lows.size + (rest > 0)
        self.dtype = np.dtype(np.min_scalar_type(self.outputs - 1))
        # Where the words of each place begin; a place without words begins where the next one does.
        starts = np.zeros(len(each) + 1, dtype=np.object_)
        starts[1:] = np.cumsum(np.array(each, dtype=np.object_))
        self._starts: Words = starts[starts < 1 << 64].astype(np.uint64)
        self._low: Words = np.cumsum(lows, axis=1, dtype=np.uint64)
        self._step: Words = steps

    def draw(self, codes: Array, stream: SecureStream | None = None, out: Array | None = None) -> Array:
        """Return one independent outcome for each letter code, in the smallest unsigned dtype that holds them."""
        flat, result, target = prepare(codes, self.inputs, self.dtype, out)
        source = stream_for_this_thread() if stream is None else stream
        for part in blocks(flat.size):
            chunk = flat[part]
            target[part] = self._settle(chunk.astype(np.int64), source.words(chunk.size, self.bits).astype(np.uint64))
        return result

    def draw_from_words(self, codes: Array, words: Array) -> Array:
        """Return the outcomes that given ``bits``-bit words stand for: the map from words to outcomes, laid open."""
        flat, result, target = prepare(codes, self.inputs, self.dtype, None)
        target[:] = self._settle(flat.astype(np.int64), checked_words(words, flat.size, self.bits))
        return result

    def _settle(self, letters: Counts, words: Words) -> Array:
        q, places = self.q, len(self._step)
        found = np.searchsorted(self._starts, words, side="right") - 1
        last = found >= places
        place = np.where(last, 0, found)
        left = words - self._starts[place]
        symbols = np.einsum("ij,ij->i", self._digits[letters], self._functions[place]) % q
        step = self._step[place]
        own = left < step * np.uint64(self.raised)
        turned = (left // np.maximum(step, np.uint64(1))).astype(np.int64)
        window = (symbols - np.where(own, turned, 0)) % q
        beyond = left - step * np.uint64(self.raised)
        common = np.zeros(len(place), dtype=np.int64)
        for symbol in range(q - 1):
            common += beyond >= self._low[place, symbol]
        outcome = place * q + np.where(own, window, common)
        return np.where(last, places * q, outcome).astype(self.dtype)
