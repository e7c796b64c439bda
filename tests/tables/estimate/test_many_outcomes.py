"""Estimates from designs with several outcomes for each value: intervals that cover, and many values in no time."""

from __future__ import annotations

import numpy as np
import pytest

import leakwise as lw


def releases(mechanism, prior, rows, runs, seed=1):
    """Counts of outcomes, as ``runs`` releases of so many rows would show them."""
    law = prior.probabilities @ mechanism.matrix
    generator = np.random.default_rng(seed)
    for _ in range(runs):
        yield dict(zip(mechanism.outputs, generator.multinomial(rows, law / law.sum()).tolist(), strict=True))


@pytest.mark.parametrize("size", [5, 50])
def test_intervals_at_95_percent_cover_95_percent(size):
    prior = lw.Prior(np.arange(size, 2 * size))
    mechanism = lw.design(prior, lift=2, utility="frequencies").mechanism
    covered = []
    for counts in releases(mechanism, prior, 10**5, 200):
        low, high = lw.estimate(counts, mechanism).intervals.T
        covered.append((low <= prior.probabilities) & (prior.probabilities <= high))
    assert 0.93 <= np.mean(covered) <= 0.97


def test_a_hundred_values_with_eight_hundred_outcomes_are_estimated():
    prior = lw.Prior(np.random.default_rng(100).dirichlet(np.ones(100)))
    with pytest.warns(lw.LeakwiseWarning, match="time limit"):
        design = lw.design(prior, lift=2, utility="frequencies", time_limit=0.5)
    (counts,) = releases(design.mechanism, prior, 10**6, 1)
    found = lw.estimate(counts, design.mechanism)
    error = found.frequencies - prior.probabilities
    assert found.identifiable
    assert float(error @ error) < -2 * design.value / 10**6
