"""Frequencies kept with pairs forbidden: what must never occur is never drawn, and everything else holds."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from cases import letters
from truth import must

import leakwise as lw
from leakwise.tables.release.draw import draw_codes

__all__ = ["masks"]

Generator = np.random.Generator
DRAWS = 1 << 24  # sixty cases are a billion


def masks(generator: Generator) -> None:
    """A random prior and lift, pairs forbidden and shares to keep; millions of draws of the values with such pairs."""
    size = letters(generator, 8)
    prior = lw.Prior.from_counts(generator.integers(1, 1000, size))
    lift = Fraction(int(generator.integers(110, 400)), 100)
    pairs = [(int(i), int(j)) for i, j in np.argwhere(generator.random((size, size)) < 0.2) if i != j]
    share = float(generator.random() * 0.5 * float(prior.probabilities.min()))
    ask: dict[str, object] = {"lift": lift, "utility": "guessing", "keep_frequencies": True}
    try:
        found = lw.design(prior, forbidden=pairs, keep_at_least=share, **ask)
    except (lw.Infeasible, lw.NotConverged):
        return
    must(found.certificate.verify().holds, "the design is beyond its level")
    must(found.value <= found.bound, f"value {found.value} above bound {found.bound}")
    must(lw.measures.frequency_shift(found.mechanism, prior) <= 2.0**-50, "the frequencies are not kept")
    m = found.mechanism
    must(all(m.weights[i, i] >= share * m.denominator for i in range(size)), "less is kept than was asked for")
    bad = np.zeros((size, size), dtype=bool)
    for value, outcome in pairs:
        bad[value, outcome] = True
    values = np.flatnonzero(bad.any(axis=1))
    if not len(values):
        return
    codes = np.tile(values.astype(np.uint8), DRAWS // len(values) + 1)
    must(not bad[codes, draw_codes(codes, m.sampler)].any(), f"a forbidden pair was drawn ({prior}, {lift}, {pairs})")
