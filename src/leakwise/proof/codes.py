"""Mechanisms whose letters are words of a code, checked place by place: no matrix, by sums of the checker's own.

What the frequencies can be recovered to follows from one unbiased estimate. With windows of d of q symbols, steps s_r
and places r of K multiples of all linear functions in m digits, weigh "the window holds the letter" by α_r with
α_r s_r = (q-1)/(K d (q-d) q^(m-1)): two different letters share equally many windows at all places together, so that
the sum has the mean p_i plus a constant that is known. Its second moment about any number γ_r at each place bounds
trace J⁻¹ - Σπ² from above.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from leakwise.mechanism import CodeKernel
from leakwise.priors import Prior
from leakwise.types import Array

__all__ = ["code_column", "code_columns", "code_value"]

_CELLS = 1 << 23
_BITS = 24


def code_columns(kernel: CodeKernel, prior: Prior, support: list[bool]) -> Iterator[tuple[int, int, int, int]]:
    """Yield of each outcome the largest weight over the support, a letter that has it, and its mass as a ratio."""
    total, present, q = prior.denominator, np.array(support), kernel.places.q
    lows, steps, first = kernel.low.tolist(), kernel.step.tolist(), int(present.argmax())
    numbers = [int(weight) for weight in prior.weights.tolist()]
    limbs = range(-(-max(numbers).bit_length() // _BITS))
    parts = np.array([[(number >> _BITS * k) % (1 << _BITS) for k in limbs] for number in numbers], dtype=np.float64)
    for start, symbols in _symbols(kernel):
        # Of each symbol: a letter of the support, -1 where there is none, and the masses, which doubles add exactly.
        letters, masses = [], []
        for symbol in range(q):
            here = symbols == symbol
            masses.append((here.T.astype(np.float64) @ parts).astype(np.int64).tolist())
            here &= present[:, None]
            letters.append(np.where(here.any(axis=0), here.argmax(axis=0), -1).tolist())
        for offset in range(symbols.shape[1]):
            for symbol in range(q):
                inside = [(symbol + turn) % q for turn in range(kernel.places.raised)]
                letter = max(letters[one][offset] for one in inside)
                low, step = lows[start + offset][symbol], steps[start + offset]
                mass = sum(masses[one][offset][k] << _BITS * k for one in inside for k in limbs)
                largest = low + step if letter >= 0 else low
                yield largest, letter if letter >= 0 else first, low * total + step * mass, total
    if kernel.rest:
        yield kernel.rest, first, kernel.rest * total, total


def code_column(kernel: CodeKernel, outcome: int) -> list[int]:
    """Return the weights of one outcome."""
    place, symbol = divmod(outcome, kernel.places.q)
    if place == kernel.places.count:
        return [kernel.rest] * kernel.shape[0]
    low, step = int(kernel.low[place, symbol]), int(kernel.step[place])
    function, q = kernel.places.functions[place].tolist(), kernel.places.q
    column = []
    for word in kernel.words.tolist():
        value = sum(coefficient * (word // q**k % q) for k, coefficient in enumerate(function))
        column.append(low + step * ((value - symbol) % q < kernel.places.raised))
    return column


def code_value(kernel: CodeKernel, prior: Prior) -> float:
    """Return a number that the utility ``frequencies`` of the mechanism is not below, over the letters with mass."""
    places, present = kernel.places, prior.support
    q, d, size = places.q, places.raised, int(present.sum())
    if min(kernel.step.tolist()) <= 0 or size < 2:
        return -math.inf
    values = np.stack([present.astype(np.float64), prior.probabilities], axis=1)
    sums = np.empty((places.count, q, 2))
    for start, symbols in _symbols(kernel):
        for symbol in range(q):
            sums[start : start + symbols.shape[1], symbol] = (symbols == symbol).T.astype(np.float64) @ values
    windows = np.sum([sums[:, (np.arange(q) + turn) % q] for turn in range(d)], axis=0)
    counts, masses = windows[:, :, 0], windows[:, :, 1]
    unit = float(kernel.denominator)
    low, step = kernel.low.astype(np.float64) / unit, kernel.step.astype(np.float64) / unit
    law = low + step[:, None] * masses
    whole = low.sum(axis=1) + d * step
    share = (law * counts).sum(axis=1) / (size * whole)  # of the letters in the window that comes, on average
    scale = (q - 1) / (places.multiples * d * (q - d) * float(q) ** (places.digits - 1))
    moments = (scale / step) ** 2 * size * whole * share * (1 - share)
    return -math.fsum(moments) * (1 + q * (size + places.count + 64) * 2.0**-49)


def _symbols(kernel: CodeKernel) -> Iterator[tuple[int, Array]]:
    """Some places at a time, from which on, and the symbols of all letters there (N × places)."""
    places = kernel.places
    q = places.q
    digits = np.array([[word // q**k % q for k in range(places.digits)] for word in kernel.words.tolist()], dtype=float)
    step = max(1, _CELLS // len(digits))
    for start in range(0, places.count, step):
        functions: Array = places.functions[start : start + step].astype(np.float64)
        yield start, np.fmod(digits @ functions.T, q).astype(np.uint8)  # exact: the sums are small integers
