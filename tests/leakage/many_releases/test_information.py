"""Bounds on the mutual information of many releases against listing them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import leakwise as lw
from leakwise.leakage.many_releases.information import information_bounds


@pytest.mark.parametrize("times", [1, 4, 12, 40])
@pytest.mark.parametrize("seed", range(4))
def test_the_listed_information_is_between(seed: int, times: int) -> None:
    generator = np.random.default_rng(seed)
    one, prior = lw.Mechanism(generator.dirichlet(np.ones(3), 3)), lw.Prior(generator.dirichlet(np.ones(3)))
    many = one.repeat(times)
    lower, upper = information_bounds(many, prior)
    assert lower <= lw.mutual_information(many, prior) <= upper + 1e-12


def test_both_ends_reach_the_entropy() -> None:
    generator = np.random.default_rng(1)
    one, prior = lw.Mechanism(generator.dirichlet(np.ones(8), 8)), lw.Prior(generator.dirichlet(np.ones(8)))
    entropy = -float(prior.probabilities @ np.log(prior.probabilities))
    lower, upper = information_bounds(one.repeat(400), prior)
    assert entropy - 1e-3 < lower <= upper < entropy + 1e-9
    assert lw.mutual_information(one.repeat(400), prior) <= entropy + 1e-9
    assert lw.maximal_leakage(one.repeat(400)) == pytest.approx(np.log(8))


def test_a_value_less_likely_than_any_float_leaves_both_ends() -> None:
    tiny = Fraction(1, 10**400)
    lower, upper = information_bounds(
        lw.randomized_response(3, lift=2).repeat(40), lw.Prior([tiny, Fraction(1, 2), Fraction(1, 2) - tiny])
    )
    assert 0.5 < lower <= upper <= np.log(2) + 1e-9
