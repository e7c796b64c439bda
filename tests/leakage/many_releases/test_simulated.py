"""The simulated envelope covers the listed one as often as it says, and answers where nothing can be listed."""

from __future__ import annotations

import numpy as np
import pytest

import leakwise as lw
from leakwise.leakage.many_releases.simulated import simulated_envelope

PRIOR = lw.Prior([0.6, 0.3, 0.1])
ONE = lw.Mechanism([[0.5, 0.3, 0.2], [0.3, 0.4, 0.3], [0.2, 0.25, 0.55]])


def test_coverage_at_eighty_percent() -> None:
    many, delta = ONE.repeat(12), 0.05
    listed = lw.envelope(many, PRIOR, delta).epsilon
    runs = [simulated_envelope(many, PRIOR, delta, draws=2_000, confidence=0.8, seed=seed) for seed in range(25)]
    covered = sum(one.lower <= listed <= one.upper for one in runs)
    assert covered >= 20
    # And it says something: not just what the prior allows.
    assert np.median([one.upper for one in runs]) < PRIOR.epsilon_max - 0.1
    assert np.median([one.lower for one in runs]) > 0.5 * listed


def test_ninety_reports_of_twelve_values() -> None:
    generator = np.random.default_rng(2)
    report = lw.Mechanism(generator.dirichlet(np.full(12, 300.0), 12))
    prior = lw.Prior(generator.dirichlet(np.full(12, 2)))
    many = report.repeat(90)
    found = simulated_envelope(many, prior, 0.01, draws=60_000, seed=1)
    assert 0.5 < found.lower < found.upper < 0.6 * prior.epsilon_max
    assert found.upper < lw.epsilon(many, prior)
    again = simulated_envelope(many, prior, 0.01, draws=60_000, seed=1)
    assert (again.lower, again.upper) == (found.lower, found.upper)
    assert "This is simulated" in str(found)
    assert found.to_dict()["proven"] is False
    both = lw.measures.composition_bounds(many, prior, 0.01, confidence=0.99, draws=60_000, seed=1)
    assert both.simulated is not None
    assert "confidence 0.99" in str(both)


def test_refusals() -> None:
    with pytest.raises(lw.InvalidInput, match="draws must"):
        simulated_envelope(ONE, PRIOR, 0.1, draws=10)
    with pytest.raises(lw.InvalidInput, match="confidence must"):
        simulated_envelope(ONE, PRIOR, 0.1, confidence=1.5)
