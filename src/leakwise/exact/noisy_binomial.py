"""Tails of a binomial number plus two-sided geometric noise, between two rationals, for millions of trials.

With S the number of successes in n trials, Z = z with probability (1-α)/(1+α) α^|z|, and T(z) = P(Z ≥ z), which is
α^z/(1+α) for z ≥ 0 and 1 - α^{1-z}/(1+α) below:

    P(S + Z ≥ k)  =  Σ_{s≤k} B(s) α^{k-s}/(1+α)  +  Σ_{s>k} B(s) (1 - α^{1+s-k}/(1+α)).

Each sum is a tail of a binomial distribution with tilted odds, p/α, p and pα to 1-p. A tail away from the mean is
summed term by term in ball arithmetic until a geometric series bounds what is left; one at the mean is 1 less the
other.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from flint import arb, ctx

from leakwise.exact.rationals import from_ball, to_ball

__all__ = ["noisy_binomial_tails"]

_FIRST = 192
_LAST = 1 << 14
_GOOD = 96  # bits of relative accuracy that are asked for

Sides = tuple[Fraction, Fraction]


def noisy_binomial_tails(trials: int, chance: Fraction, ratio: Fraction, places: Iterable[int]) -> dict[int, Sides]:
    """Return rationals below and above P(S + Z ≥ k) for each place k, about 2^-96 apart relatively.

    Parameters
    ----------
    trials, chance
        Of the binomial number S.
    ratio
        α of the noise, at least 0 and below 1; 0 is no noise.

    >>> low, high = noisy_binomial_tails(2, Fraction(1, 2), Fraction(1, 2), [1])[1]
    >>> print(float(low), float(high), low <= Fraction(5, 8) <= high)
    0.625 0.625 True
    """
    return {place: _sides(trials, chance, ratio, place) for place in places}


def _sides(trials: int, chance: Fraction, ratio: Fraction, place: int) -> Sides:
    precision = _FIRST
    while True:
        with ctx.workprec(precision + 2 * trials.bit_length()):
            ball = _noisy_tail(trials, chance, ratio, place)
            if ball.is_exact() or ball.rel_accuracy_bits() >= _GOOD or precision >= _LAST:
                low, high = from_ball(ball.lower()), from_ball(ball.upper())
                return max(low, Fraction(0)), min(high, Fraction(1))
        precision *= 2


def _noisy_tail(trials: int, chance: Fraction, ratio: Fraction, place: int) -> arb:
    p, q = to_ball(chance), to_ball(1 - chance)
    if ratio == 0:
        return _tail(trials, p, q, place)
    alpha, one = to_ball(ratio), arb(1)
    steep, flat = q + p / alpha, q + p * alpha
    below = _tail(trials, q / steep, p / alpha / steep, trials - place)  # P(Bin ≤ place), by its failures
    above = _tail(trials, p * alpha / flat, q / flat, place + 1)
    near = alpha**place * steep**trials * below
    far = alpha ** (1 - place) * flat**trials * above
    return (near - far) / (one + alpha) + _tail(trials, p, q, place + 1)


def _tail(trials: int, p: arb, q: arb, least: int) -> arb:
    """P(Bin(trials, p) ≥ least), with q = 1 - p given apart so that neither cancels."""
    if least <= 0:
        return arb(1)
    if least > trials or p == 0:
        return arb(0)
    if q == 0:
        return arb(1)
    odds = p / q
    if not arb(trials - least) * odds < arb(least + 1):  # the terms do not fall yet: the other tail does
        return arb(1) - _tail(trials, q, p, trials - least + 1)
    term = _term(trials, p, q, least)
    total, unit = term, arb(2) ** -(ctx.prec - 8)
    for place in range(least, trials):
        term *= odds * (trials - place) / (place + 1)
        total += term
        fall = odds * (trials - place - 1) / (place + 2)
        if (place & 15) == 15 and fall < 1:
            rest = term * fall / (1 - fall)
            if rest < total * unit:
                return total + rest * arb(0.5, 0.5)
    return total


def _term(trials: int, p: arb, q: arb, place: int) -> arb:
    """P(Bin(trials, p) = place)."""
    log_ways = arb(trials + 1).lgamma() - arb(place + 1).lgamma() - arb(trials - place + 1).lgamma()
    return log_ways.exp() * p**place * q ** (trials - place)
