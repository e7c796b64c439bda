"""Balanced sets: every two letters meet equally often."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import leakwise as lw
from leakwise.optimize.pricing.balanced_sets import balanced_sets, set_columns
from leakwise.optimize.problem.cones import Intersection, LDPCone, LiftBox


@pytest.mark.parametrize(("size", "share"), [(8, 0.5), (9, 1 / 3), (9, 2 / 3), (25, 0.2), (20, 0.5), (100, 0.2)])
def test_every_two_letters_meet_equally_often(size, share):
    sets = balanced_sets(size, share, 8 * size, np.random.default_rng(0)).astype(int)
    assert 0 < sets.shape[1] <= 8 * size
    meetings = sets @ sets.T
    assert len(set(np.diag(meetings))) == 1
    assert len(set(meetings[~np.eye(size, dtype=bool)])) == 1
    assert sets.mean() == pytest.approx(share, abs=0.08)


def test_with_several_symbols_they_meet_nearly_equally_often():
    sets = balanced_sets(25, 0.4, 200, np.random.default_rng(0)).astype(int)
    meetings = (sets @ sets.T)[~np.eye(25, dtype=bool)]
    random = np.random.default_rng(1).random(sets.shape) < 0.4
    assert meetings.std() < 0.8 * (random.astype(int) @ random.T)[~np.eye(25, dtype=bool)].std()


def test_there_is_none_where_no_code_is_so_short():
    assert balanced_sets(100, 0.5, 120, np.random.default_rng(0)).shape == (100, 0)


def test_sets_a_little_too_heavy_lose_letters_and_not_the_levels_of_their_lifts():
    # Lift 5, for anyone 50: at 0.1 and 5 the mean of λ² is 4.6, for sets of 9/49 of the mass; the code has a fifth.
    prior = lw.Prior(np.random.default_rng(7).dirichlet(np.ones(125)))
    cone = Intersection([LiftBox(prior, Fraction(0), Fraction(5)), LDPCone(prior, Fraction(50))])
    generator = np.random.default_rng(0)
    columns = set_columns(cone, balanced_sets(125, 0.2, 1000, generator), generator)
    between = (columns > 0.1 + 1e-9) & (columns < 5 - 1e-9)
    assert between.sum(axis=0).max() <= 1
    assert np.average(columns**2, axis=0, weights=prior.probabilities).mean() > 4.5
