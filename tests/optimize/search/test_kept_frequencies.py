"""The transportation problem against an independent linear program."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import leakwise as lw
from optimize.promises import check, priors


def plain_optimum(prior, gains, lift=None, ldp=None, lip=None, zeros=(), least=(), members=()):
    """The same as one plain linear program over p_ij, every limit a row of its own, by SciPy."""
    from scipy.optimize import linprog

    size, p = len(prior), prior.probabilities
    upper, equal, right = [], [], []

    def row(entries):
        made = np.zeros((size, size))
        for place, entry in entries:
            made[place] += entry
        return made.ravel()

    for i in range(size):
        equal.append(row([((i, j), 1.0) for j in range(size)]))
        right.append(1.0)
    for j in range(size):
        equal.append(row([((i, j), p[i]) for i in range(size)]))
        right.append(p[j])
        mean = [((i, j), p[i]) for i in range(size)]
        for i in range(size):
            for member in members:
                upper.append(row([((i, j), 1.0), *[((k, j), -lift * q) for k, q in enumerate(member.probabilities)]]))
            if lift is not None:
                upper.append(row([((i, j), 1.0), *[(place, -lift * entry) for place, entry in mean]]))
            if lip is not None:
                upper.append(row([((i, j), 1.0), *[(place, -math.exp(lip) * entry) for place, entry in mean]]))
                upper.append(row([((i, j), -1.0), *[(place, math.exp(-lip) * entry) for place, entry in mean]]))
            if ldp is not None:
                upper += [row([((i, j), 1.0), ((k, j), -ldp)]) for k in range(size) if k != i]
    low, high = np.zeros((size, size)), np.ones((size, size))
    for place in zeros:
        high[place] = 0.0
    for i, share in least:
        low[i, i] = share
    bounds = list(zip(low.ravel(), high.ravel(), strict=True))
    answer = linprog(
        -(p[:, None] * gains).ravel(), upper or None, np.zeros(len(upper)) if upper else None, equal, right, bounds
    )
    return -answer.fun


@given(priors(most=5), st.floats(1.05, 4.0), st.integers(0, 1000))
@settings(max_examples=25)
def test_the_optimum_is_that_of_an_independent_program(prior, lift, seed):
    gains = np.random.default_rng(seed).normal(size=(len(prior), len(prior)))
    design = lw.design(prior, lift=lift, utility=lw.Expected(gains), keep_frequencies=True)
    check(design, prior, math.log(lift) + 1e-12)
    assert design.value == pytest.approx(plain_optimum(prior, gains, lift), abs=1e-8)
    assert design.gap < 1e-8
    assert design.mechanism.outputs == prior.labels


@given(priors(most=4), st.floats(1.1, 3.0), st.floats(1.5, 12.0), st.integers(0, 1000))
@settings(max_examples=20)
def test_with_the_limit_for_anyone_too(prior, lift, anyone, seed):
    gains = np.random.default_rng(seed).normal(size=(len(prior), len(prior)))
    design = lw.design(prior, lift=lift, ldp=math.log(anyone), utility=lw.Expected(gains), keep_frequencies=True)
    assert lw.ldp(design.mechanism) <= math.log(anyone) + 1e-12
    assert design.value == pytest.approx(plain_optimum(prior, gains, lift, anyone), abs=1e-8)
    assert design.value <= design.bound <= design.value + 1e-8
    design.certificate.verify()


def test_local_information_privacy_bounds_both_sides():
    prior, gains = lw.Prior([0.5, 0.3, 0.2]), np.eye(3)
    design = lw.design(prior, lip=0.5, utility="guessing", keep_frequencies=True)
    assert design.value == pytest.approx(plain_optimum(prior, gains, lip=0.5), abs=1e-8)


def test_masks_and_shares_against_the_independent_program():
    prior, gains = lw.Prior({"a": 5, "b": 3, "c": 2, "d": 1}), np.eye(4)
    design = lw.design(
        prior,
        lift=3,
        utility="guessing",
        keep_frequencies=True,
        forbidden=[("a", "d"), ("b", "c")],
        keep_at_least={"c": 0.4, "d": "0.25"},
    )
    best = plain_optimum(prior, gains, 3, zeros=[(0, 3), (1, 2)], least=[(2, 0.4), (3, 0.25)])
    assert design.value == pytest.approx(best, abs=1e-8)
    weights = design.mechanism.weights
    assert weights[0, 3] == weights[1, 2] == 0
    assert weights[2, 2] >= 0.4 * 2**60
    assert weights[3, 3] >= 2**58


def test_a_hull_of_priors_against_the_independent_program():
    """Every corner is a row of its own for each value and outcome; the frequencies are those of the nominal prior."""
    corners = [
        lw.Prior({"a": 5, "b": 3, "c": 2}),
        lw.Prior({"a": 4, "b": 3, "c": 3}),
        lw.Prior({"a": 2, "b": 1, "c": 1}),
    ]
    hull = lw.Hull(corners)
    design = lw.design(hull, lift=2, utility="guessing", keep_frequencies=True)
    best = plain_optimum(hull.nominal, np.eye(3), 2, members=corners)
    assert design.value == pytest.approx(best, abs=1e-7)
    assert design.gap < 1e-7
    assert lw.certify(design.mechanism, hull, lift=2).holds


def test_sets_known_by_their_worst_members_are_served():
    prior = lw.Prior.from_counts({"a": 500, "b": 300, "c": 200})
    ball = prior.confidence(0.01, "kl")
    design = lw.design(ball, lift=2, utility="guessing", keep_frequencies=True)
    design.certificate.verify()
    assert design.gap < 1e-5
    assert design.value < lw.design(prior, lift=2, utility="guessing", keep_frequencies=True).value
