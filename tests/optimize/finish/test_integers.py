"""From columns to integers: letters without mass, and outputs too rare to be kept."""

from __future__ import annotations

import numpy as np
import pytest

import leakwise as lw
from optimize.promises import check


def test_zero_mass_letters_get_the_output_law():
    prior = lw.Prior({"a": 0.5, "b": 0.3, "c": 0.2, "never": 0})
    design = lw.design(prior, epsilon=0.6)
    check(design, prior, 0.6)
    law = prior.probabilities @ design.mechanism.matrix
    assert design.mechanism.matrix[3] == pytest.approx(law, abs=1e-15)
    assert design.value == pytest.approx(lw.design([0.5, 0.3, 0.2], epsilon=0.6).value, abs=1e-12)


def test_outputs_too_rare_to_be_kept_still_serve_rare_letters():
    weights = np.array([0.702, 6.71e-08, 0.172, 0.00192, 6.08e-12, 1.05e-12, 3.31e-06, 0.000263, 1.0, 6.69e-11])
    design = lw.design(lw.Prior(weights / weights.sum()), epsilon=0.5801, utility="guessing")
    assert design.gap <= 1e-10
