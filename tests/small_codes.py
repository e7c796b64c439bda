"""Small kernels of codes, with the dense kernels that they must agree with."""

from __future__ import annotations

import numpy as np

from leakwise.mechanism import CodeKernel, DenseKernel
from leakwise.mechanism.code_kernel import places_of

KINDS = [(2, 1, 7), (2, 1, 16), (3, 1, 4), (3, 2, 9), (5, 2, 11), (7, 3, 20)]


def small(q, raised, size, *, full=False):
    """A code with random weights; ``full`` leaves nothing of the denominator to the last outcome."""
    generator = np.random.default_rng(q)
    places = places_of(size, q, raised)
    low, step = generator.integers(0, 3, (places.count, q)), generator.integers(1, 4, places.count)
    bits = int(low.sum() + raised * step.sum()).bit_length()
    if full:
        left = (1 << bits) - int(low.sum() + raised * step.sum())
        low[0] += left // q
        low[0, 0] += left % q
    words = generator.permutation(q**places.digits)[:size]
    return CodeKernel(places, words, low, step, 1 << bits)


def dense(kernel):
    """The same kernel by its definition, one letter and one window at a time."""
    places, q = kernel.places, kernel.places.q
    rows = []
    for word in kernel.words.tolist():
        digits = [word // q**k % q for k in range(places.digits)]
        row = []
        for place, function in enumerate(places.functions.tolist()):
            symbol = sum(a * b for a, b in zip(function, digits, strict=True)) % q
            for window in range(q):
                inside = (symbol - window) % q < places.raised
                row.append(int(kernel.low[place, window]) + int(kernel.step[place]) * inside)
        rows.append(row + [kernel.rest] * (kernel.rest > 0))
    return DenseKernel(np.array(rows), kernel.denominator)
