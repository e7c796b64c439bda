"""Frequencies from codes without a matrix: unbiased, with the variances and covariances of brute force."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import leakwise as lw
from leakwise.tables.estimate.codes import code_law, invert_code
from leakwise.tables.estimate.inversion import invert
from small_codes import KINDS, small


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_exact_counts_give_the_frequencies_and_the_variances_of_the_weights(kind, full):
    kernel = small(*kind, full=full)
    size, rows = kind[2], 10**10
    p = np.random.default_rng(3).dirichlet(np.ones(size))
    law = p @ kernel.matrix
    assert np.allclose(code_law(kernel, p), law, rtol=1e-12)
    counts = np.rint(law * rows).astype(np.int64)
    found = invert_code(counts, kernel, confidence=0.95, simultaneous=False)
    assert np.allclose(found.frequencies, p, atol=1e-8)
    assert found.gap < 1e-6
    # No unbiased estimate has less variance than the inverse information.
    seen = kernel.matrix[:, law > 0]
    information = (seen / law[law > 0]) @ seen.T
    least = np.diag(np.linalg.inv(information)) - p**2
    mine = found.standard_error**2 * found.sample_size
    assert (mine >= least * (1 - 1e-6)).all()
    covariance = found.covariance() * found.sample_size
    assert np.allclose(np.diag(covariance), mine, rtol=1e-6)
    assert np.linalg.eigvalsh(covariance - np.linalg.inv(information) + np.outer(p, p)).min() > -1e-4 * mine.max()
    assert pickle.loads(pickle.dumps(found)).covariance([0]).shape == (1, 1)


def test_intervals_cover_as_often_as_they_say():
    prior = lw.Prior(np.random.default_rng(5).dirichlet(np.full(64, 3.0)))
    kernel = lw.design(lw.Prior.uniform(64), lift=2, utility="frequencies").mechanism.kernel
    p, generator = prior.probabilities, np.random.default_rng(6)
    law = p @ kernel.matrix
    inside = 0.0
    for counts in generator.multinomial(1_000_000, law / law.sum(), size=300):
        low, high = invert_code(counts, kernel, confidence=0.95, simultaneous=False).intervals.T
        inside += float(((low <= p) & (p <= high)).mean())
    assert 0.94 <= inside / 300 <= 0.965


def test_it_is_close_to_the_most_likely_frequencies_and_wider_together():
    kernel = small(3, 1, 9, full=True)
    p = np.random.default_rng(7).dirichlet(np.full(9, 5.0))
    counts = np.random.default_rng(8).multinomial(100_000, p @ kernel.matrix)
    linear, likely = invert_code(counts, kernel, confidence=0.9, simultaneous=False), invert(counts, kernel.matrix)
    assert np.abs(linear.frequencies - likely.frequencies).max() < 3 * linear.standard_error.max()
    together = invert_code(counts, kernel, confidence=0.9, simultaneous=True)
    assert (np.diff(together.intervals) >= np.diff(linear.intervals)).all()
