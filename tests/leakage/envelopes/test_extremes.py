"""Envelopes where floats have nothing left to hold on to: rows that differ in their last digits, masses of 1e-200."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import leakwise as lw


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("delta", [1e-6, 0.5, 1 - 2.0**-53])
@pytest.mark.parametrize("tiny", [None, 45, 250])
def test_bounds_hold_and_nothing_breaks(seed: int, delta: float, tiny: int | None) -> None:
    """Found by ``make attack`` (programs:189): no share was left of the program, and an empty minimum raised."""
    generator = np.random.default_rng(seed)
    rows, columns = generator.integers(2, 7, 2)
    if tiny is None:
        matrix = generator.dirichlet(np.ones(columns)) * (1 + 1e-13 * generator.standard_normal((rows, columns)))
        prior = lw.Prior.uniform(int(rows))
    else:
        matrix = generator.dirichlet(np.ones(columns), rows)
        small = [Fraction(1, 10**tiny)] * int(rows - 1)
        prior = lw.Prior([1 - sum(small), *small])
    m = lw.Mechanism(matrix / matrix.sum(axis=1, keepdims=True))
    found = lw.envelope(m, prior, delta)
    assert found.attained <= found.epsilon <= found.upper
    assert found.epsilon <= lw.epsilon(m, prior)
    found.certificate.verify()
