"""Hadamard response: each value has half of the words of a Hadamard code, and a word tells of many values at once."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from leakwise.alphabet import Alphabet, as_alphabet
from leakwise.errors import InvalidInput
from leakwise.exact import level
from leakwise.mechanism.catalog.simple import Letters, identity
from leakwise.mechanism.catalog.two_levels import two_levels
from leakwise.mechanism.kernel import refuse_large
from leakwise.mechanism.mechanism import Mechanism
from leakwise.types import Bools

__all__ = ["hadamard_response"]


def hadamard_response(
    letters: Letters, epsilon: object = None, *, lift: object = None, blocks: int | None = None
) -> Mechanism:
    """Return one of K words, those of the value's own set e^ε times as often ([ASZ]).

    P(y|x) = t / (s·t + K - s) for the s words of the set of x, and 1 / (s·t + K - s) for the others; t = e^ε is the
    local differential privacy that the integers satisfy. There are B ``blocks`` of b words, K = B·b; value number x
    has the words of block x mod B where row 1 + ⌊x/B⌋ of the Hadamard matrix is +1: s = b/2. Left out, B is the power
    of two of [ASZ], about half of e^ε: 1 up to e^ε = 2.

    With one block, a value's words come with p = t/(1+t) for the value itself and with q = 1/2 for any other, and the
    estimate (share of its words - q) / (p - q) of its frequency f has the variance
    [q(1-q)/(p-q)² + f(1-p-q)/(p-q)] / n, which is ((t+1)/(t-1))² / n for f near 0.

    >>> hadamard_response(3, lift=3, blocks=1).matrix[0].tolist()
    [0.375, 0.125, 0.375, 0.125]
    """
    alphabet = as_alphabet(letters, name="letters")
    asked, size = level(epsilon, lift), len(alphabet)
    if size == 1:
        return identity(alphabet)
    count = _usual_blocks(size, asked.below) if blocks is None else _checked_blocks(blocks, size)
    words = 1 << math.ceil(size / count).bit_length()  # the least power of two above ⌈k/B⌉
    refuse_large(size, count * words, "Use optimized_local_hashing, which needs no matrix, or fewer letters.")
    kernel = two_levels(_own_words(size, count, words), asked.below)
    names = [f"w{place}" for place in range(kernel.shape[1])]
    return Mechanism.from_kernel(kernel, alphabet, Alphabet(names, name="outcomes"))


def _usual_blocks(size: int, ratio: Fraction) -> int:
    """2^(⌈log₂ min(e^ε, 2k)⌉ - 1), at least one."""
    least = math.ceil(min(ratio, Fraction(2 * size)))
    return 1 << max(0, (least - 1).bit_length() - 1)


def _checked_blocks(blocks: object, size: int) -> int:
    if isinstance(blocks, bool) or not isinstance(blocks, (int, np.integer)) or not 1 <= blocks <= size:
        raise InvalidInput(
            f"blocks must be a whole number from 1 to the number of values ({size}). Got {blocks!r} instead."
        )
    return int(blocks)


def _own_words(size: int, blocks: int, words: int) -> Bools:
    """Which words each value has: the entry (r, c) of Sylvester's matrix is +1 where r and c share evenly many bits."""
    own = np.zeros((size, blocks * words), dtype=np.bool_)
    places = np.arange(words)
    for value in range(size):
        row, block = 1 + value // blocks, value % blocks
        odd = np.bitwise_count(places & row) % 2
        own[value, block * words : (block + 1) * words] = odd == 0
    return own
