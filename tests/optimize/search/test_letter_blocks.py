"""Blocks of letters share one clock."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import leakwise as lw
from leakwise.optimize.problem.cones import pml_cone
from leakwise.optimize.search.letter_blocks import search_blocks
from leakwise.optimize.search.limits import Limits
from optimize.cones import FUNCTIONS


def test_blocks_share_one_clock():
    prior = lw.Prior(np.random.default_rng(3).dirichlet(np.ones(170)))
    cone = pml_cone(prior, Fraction(2))
    found = search_blocks(cone, FUNCTIONS["mutual_information"], Limits())
    assert found.lifts @ found.weights == pytest.approx(np.ones(170), abs=1e-9)
    assert prior.probabilities @ found.lifts == pytest.approx(np.ones(found.lifts.shape[1]), abs=1e-9)
    assert found.lifts.min() >= 0
    assert found.lifts.max() <= 2 + 1e-12
    assert found.weights.sum() == pytest.approx(1, abs=1e-12)
    assert found.lifts.shape[1] <= 170
