"""Integers whose outcomes come as often as the values."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import leakwise as lw
from leakwise.optimize.finish.kept_frequencies import kept_integers, miss

UNIT = 1 << 60


@given(st.lists(st.integers(1, 10**5), min_size=3, max_size=8), st.floats(0.05, 0.95))
@settings(max_examples=40)
def test_weights_of_a_table_are_kept_exactly(weights, share):
    """A mixture of the secret itself and an independent draw keeps every frequency; so do its integers."""
    prior = lw.Prior(weights)
    p = prior.probabilities
    lifts = share * np.eye(len(p)) / p + (1 - share)
    matrix = kept_integers(lifts, prior, lambda found: True)[0]
    assert miss(matrix, prior) == 0
    assert (matrix.sum(axis=1) == UNIT).all()
    assert matrix.min() >= 0
    assert np.abs(matrix.astype(float) / UNIT - lifts * p).max() < 1e-9


def test_zeros_stay_zeros():
    """What the second value has of the last outcome, and the first does not, it gives back in the others."""
    prior = lw.Prior([3, 3, 5, 6])
    lifts = np.ones((4, 4))
    lifts[0], lifts[1] = [2, 1, 1.6, 0], [0, 1, 0.4, 2]
    found = kept_integers(lifts, prior, lambda found: True)
    assert all(matrix[0, 3] == matrix[1, 0] == 0 for matrix in found)
    assert miss(found[0], prior) == 0
    assert miss(found[-1], prior) < Fraction(1, 1 << 50)


def test_two_values_with_long_weights_are_kept_to_the_last_unit():
    """Only multiples of a weight of fifty bits would be exact: they have no room, and the miss is below 2^-59."""
    prior = lw.Prior([0.3, 0.7])
    lifts = 0.37 * np.eye(2) / prior.probabilities + 0.63
    near = kept_integers(lifts, prior, lambda found: np.abs(found / UNIT - lifts * prior.probabilities).max() < 1e-6)
    assert 0 < miss(near[0], prior) < Fraction(1, 1 << 59)
