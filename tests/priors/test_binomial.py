"""Binomial tails and Clopper-Pearson bounds: above the exact sum, close to it, at any level."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leakwise.priors.binomial import log_tail_upper, lower_bounds, upper_bounds


def exact_tail(k: int, m: int, p: Fraction) -> Fraction:
    return sum((math.comb(m, j) * p**j * (1 - p) ** (m - j) for j in range(k, m + 1)), Fraction(0))


@given(st.integers(1, 60), st.data())
def test_tail_bound_is_above_the_exact_sum_and_near_it(m: int, data: st.DataObject) -> None:
    k = data.draw(st.integers(0, m))
    p = Fraction(data.draw(st.integers(0, 64)), 64)
    exact = exact_tail(k, m, p)
    for blocks in (1, 48):
        bound = float(log_tail_upper(k, m, float(p), blocks=blocks))
        assert exact == 0 or bound >= math.log(exact) - 1e-13
    if 0 < exact < Fraction(1, 3):
        assert bound <= math.log(exact) + 0.08


@given(st.integers(1, 40), st.sampled_from([0.3, 0.05, 1e-3, 1e-9]))
def test_lower_bounds_keep_the_level_exactly(m: int, level: float) -> None:
    bounds = lower_bounds(np.arange(m + 1), m, math.log(level))
    assert bounds[0] == 0
    assert (np.diff(bounds) >= 0).all()
    for k, bound in enumerate(bounds.tolist()):
        assert k == 0 or exact_tail(k, m, Fraction(bound)) <= level
    upper = upper_bounds(np.arange(m + 1), m, math.log(level))
    for k, bound in enumerate(upper.tolist()):
        assert exact_tail(m - k, m, 1 - Fraction(bound)) <= level or bound == 1


@pytest.mark.parametrize("trials", [100, 10_000, 1_000_000])
@pytest.mark.parametrize("level", [0.05, 1e-5, 1e-12, 1e-100])
def test_bounds_are_clopper_and_pearsons(trials: int, level: float) -> None:
    from scipy.special import betaincinv

    counts = np.unique(np.linspace(1, trials, 25).astype(int))
    reference = betaincinv(counts, trials - counts + 1, level)
    found = lower_bounds(counts, trials, math.log(level))
    assert (found <= reference * (1 + 1e-10)).all()
    # What the tail bound wastes is a thousandth of the distance to the observed share.
    assert (reference - found <= 2e-3 * (counts / trials - reference) + 1e-9).all()


def test_a_level_beyond_floats_is_like_any_other() -> None:
    bound = float(lower_bounds(5_000, 10_000, -2000.0))
    assert 0 < bound < 0.5
    # The Chernoff bound at 2000 nats is the same to first order.
    divergence = 0.5 * math.log(0.5 / bound) + 0.5 * math.log(0.5 / (1 - bound))
    assert divergence == pytest.approx(2000 / 10_000, rel=0.01)
