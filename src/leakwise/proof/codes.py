"""Mechanisms whose letters are words of a code, checked place by place: no matrix, by sums of the checker's own.

What the frequencies can be recovered to follows from one unbiased estimate. With windows of d of q symbols, steps s_r
and places r of K multiples of all linear functions in m digits, weigh "the window holds the letter" by α_r with
α_r s_r = (q-1)/(K d (q-d) q^(m-1)): two different letters share equally many windows at all places together, so that
the sum has the mean p_i plus a constant that is known. Its second moment about any number γ_r at each place bounds
trace J⁻¹ - Σπ² from above.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np

from leakwise.mechanism import CodeKernel
from leakwise.priors import Prior
from leakwise.types import Array

__all__ = ["code_column", "code_columns", "code_value"]

_BITS = 24  # sums of so many letters as there can be stay in 63


def code_columns(kernel: CodeKernel, prior: Prior, support: list[bool]) -> Iterator[tuple[int, int, int, int]]:
    """Yield of each outcome the largest weight over the support, a letter that has it, and its mass as a ratio."""
    total, first = prior.denominator, support.index(True)
    numbers = [int(weight) for weight in prior.weights.tolist()]
    masses = np.zeros((kernel.places.count, kernel.places.q), dtype=np.object_)
    for k in range(-(-max(numbers).bit_length() // _BITS)):
        part = np.array([(number >> _BITS * k) % (1 << _BITS) for number in numbers])
        masses += _in_windows(kernel, part, np.add).astype(np.object_) << _BITS * k
    # Of the letters of the support in a window the last, counted from one; zero where there is none.
    letters = _in_windows(kernel, np.where(support, np.arange(1, len(support) + 1), 0), np.maximum)
    rows = zip(kernel.low.tolist(), kernel.step.tolist(), masses.tolist(), letters.tolist(), strict=True)
    for lows, step, inside, last in rows:
        for low, mass, letter in zip(lows, inside, last, strict=True):
            yield low + step * (letter > 0), letter - 1 if letter else first, low * total + step * mass, total
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
    counts = _in_windows(kernel, present.astype(np.float64), np.add)
    masses = _in_windows(kernel, prior.probabilities, np.add)
    unit = float(kernel.denominator)
    low, step = kernel.low.astype(np.float64) / unit, kernel.step.astype(np.float64) / unit
    law = low + step[:, None] * masses
    whole = low.sum(axis=1) + d * step
    share = (law * counts).sum(axis=1) / (size * whole)  # of the letters in the window that comes, on average
    scale = (q - 1) / (places.multiples * d * (q - d) * float(q) ** (places.digits - 1))
    moments = (scale / step) ** 2 * size * whole * share * (1 - share)
    return -math.fsum(moments) * (1 + q * (size + places.count + 64) * 2.0**-49)


def _in_windows(kernel: CodeKernel, values: Array, joined: np.ufunc) -> Array:
    """For each place and window the values (not negative) of the letters in it, added, or the largest of them.

    Digit by digit: of all functions with given coefficients for the digits so far, the letters with the same later
    digits and the same sum so far are one.
    """
    places = kernel.places
    q = places.q
    table = np.zeros((q**places.digits, q), dtype=values.dtype)
    table[kernel.words, 0] = values
    for digit in range(places.digits):
        before = table.reshape(-1, q, q**digit, q)
        after = np.zeros_like(before)
        for coefficient, value in itertools.product(range(q), repeat=2):
            turned = np.roll(before[:, value], coefficient * value % q, axis=2)
            joined(after[:, coefficient], turned, out=after[:, coefficient])
        table = after.reshape(-1, q)
    by_symbol = table[places.functions @ q ** np.arange(places.digits)]
    windows: Array = joined.reduce([np.roll(by_symbol, -turn, axis=1) for turn in range(places.raised)])
    return windows
