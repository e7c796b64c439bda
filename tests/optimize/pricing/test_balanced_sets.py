"""Balanced sets: every two letters meet equally often."""

from __future__ import annotations

import numpy as np
import pytest

from leakwise.optimize.pricing.balanced_sets import balanced_sets


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
