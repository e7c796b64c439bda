"""Tails of a binomial number plus geometric noise: between the two rationals, whatever the place."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import betainc

from leakwise.exact import clamped_noisy_law, law_of_sum, noisy_binomial_tails


def tail(ratio: Fraction, z: int) -> Fraction:
    if not ratio:
        return Fraction(int(z <= 0))
    return ratio**z / (1 + ratio) if z >= 0 else 1 - ratio ** (1 - z) / (1 + ratio)


CHANCES = st.fractions(0, 1, max_denominator=100)
RATIOS = st.integers(0, 63).map(lambda a: Fraction(a, 64))


@given(n=st.integers(0, 12), chance=CHANCES, ratio=RATIOS, place=st.integers(-5, 18))
def test_tails_hold_the_truth(n: int, chance: Fraction, ratio: Fraction, place: int) -> None:
    truth = sum(
        (comb(n, s) * chance**s * (1 - chance) ** (n - s) * tail(ratio, place - s) for s in range(n + 1)), Fraction(0)
    )
    low, high = noisy_binomial_tails(n, chance, ratio, [place])[place]
    assert low <= truth <= high
    assert high - low <= Fraction(1, 2**80) * high


@pytest.mark.parametrize("place", [299_000, 300_000, 302_000, 305_000])
def test_a_million_trials_agree_with_the_incomplete_beta_function(place: int) -> None:
    low, high = noisy_binomial_tails(10**6, Fraction(3, 10), Fraction(0), [place])[place]
    assert low <= high
    assert float(low) == pytest.approx(betainc(place, 10**6 - place + 1, 0.3), rel=1e-9)


@pytest.mark.parametrize("place", [80, 120, 200, 399])
def test_many_trials_with_noise_agree_with_a_sum_of_fifty_digits(place: int) -> None:
    n, p, ratio = 400, Fraction(3, 10), Fraction(9, 10)
    low, high = noisy_binomial_tails(n, p, ratio, [place])[place]
    with mpmath.workdps(50):
        chance = mpmath.mpf(3) / 10
        terms = [
            mpmath.binomial(n, s) * chance**s * (1 - chance) ** (n - s) * mpmath.mpf(z.numerator) / z.denominator
            for s in range(n + 1)
            for z in [tail(ratio, place - s)]
        ]
        truth = mpmath.fsum(terms)
        assert abs(truth - mpmath.mpf(low.numerator) / low.denominator) < mpmath.mpf(10) ** -28 * truth
        assert abs(truth - mpmath.mpf(high.numerator) / high.denominator) < mpmath.mpf(10) ** -28 * truth


@given(
    weights=st.lists(st.integers(0, 5), min_size=2, max_size=4).filter(lambda w: w[0] > 0),
    terms=st.integers(0, 4),
    ratio=RATIOS,
)
def test_clamped_laws_are_the_sums_they_stand_for(weights: list[int], terms: int, ratio: Fraction) -> None:
    law, unit, span = law_of_sum(weights, terms), sum(weights) ** terms, len(weights) - 1
    assert (sum(law), len(law)) == (unit, span * terms + 1)
    last = span * (terms + 1)
    rows, denominator = clamped_noisy_law(law, unit, ratio, range(span + 1), last)
    for g, row in enumerate(rows):
        assert sum(row) == denominator
        for y, weight in enumerate(row):
            above = sum((Fraction(law[s], unit) * tail(ratio, y - g - s) for s in range(len(law))), Fraction(0))
            beyond = sum((Fraction(law[s], unit) * tail(ratio, y + 1 - g - s) for s in range(len(law))), Fraction(0))
            truth = above if y == last else 1 - beyond if y == 0 else above - beyond
            assert Fraction(weight, denominator) == truth
