"""Envelopes for sets of priors: exact for a list, a proven bound for any set."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import leakwise as lw
from strategies import Matrix, laws, matrices


@settings(max_examples=30)
@given(matrices(), st.data())
def test_a_list_takes_the_largest(matrix: Matrix, data: st.DataObject) -> None:
    m = lw.Mechanism(matrix)
    priors = [lw.Prior(data.draw(laws(len(matrix), zeros=False))) for _ in range(3)]
    found = lw.envelope(m, priors, "0.2")
    assert found.epsilon == max(lw.envelope(m, prior, "0.2").epsilon for prior in priors)
    found.certificate.verify()


@pytest.mark.parametrize("delta", [0.02, 0.3, 0.8])
@pytest.mark.parametrize("beta", [0.02, 0.3])
def test_a_ball_is_bounded_for_every_prior_in_it(beta: float, delta: float) -> None:
    rng = np.random.default_rng(1)
    m = lw.Mechanism(rng.dirichlet(np.ones(5), 4))
    centre = np.array([0.1, 0.2, 0.3, 0.4])
    ball = lw.Prior(centre.tolist()).ball(beta)
    found = lw.envelope(m, ball, delta)
    found.certificate.verify()
    assert found.epsilon >= lw.envelope(m, ball.nominal, delta).epsilon - 1e-12
    assert found.epsilon <= lw.maximal_leakage(m) + math.log(1 / delta) + 1e-9
    assert found.epsilon <= lw.epsilon(m, ball) + 1e-9
    for _ in range(20):
        move = rng.dirichlet(np.ones(4)) - centre
        inside = centre + move * min(1.0, beta / np.abs(move).sum()) * 0.999999
        single = lw.envelope(m, lw.Prior((inside / inside.sum()).tolist()), delta)
        assert single.attained <= found.epsilon


def test_a_ball_of_nearly_no_radius_is_nearly_the_prior() -> None:
    m = lw.Mechanism([["0.7", "0.2", "0.1"], ["0.1", "0.3", "0.6"], ["0.2", "0.2", "0.6"]])
    prior = lw.Prior([0.2, 0.3, 0.5])
    found = lw.envelope(m, prior.ball(1e-9), 0.3)
    assert found.epsilon == pytest.approx(lw.envelope(m, prior, 0.3).epsilon, abs=1e-6)
    assert found.attained <= found.epsilon


def test_all_priors_fall_back_to_what_needs_no_prior() -> None:
    m = lw.randomized_response(3, lift=3)
    found = lw.envelope(m, lw.AllPriors(3), 0.9)
    assert found.epsilon <= min(math.log(3), lw.maximal_leakage(m) + math.log(1 / 0.9)) + 1e-9
    found.certificate.verify()
