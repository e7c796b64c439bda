"""What noisy counts prove, in ball arithmetic: Chernoff's bound on a sample and two-sided geometric noise together."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from fractions import Fraction

from flint import arb, ctx, fmpq

from leakwise.exact import exp_upper

__all__ = ["proven_noisy_bound"]

PRECISION = 192
NOISE_BITS = 32  # the noise's ratio α is e^{-cost/2} (or e^{-cost} for two letters), rounded up to so many
_GOLDEN = (math.sqrt(5) - 1) / 2
_STEPS = 60


@functools.lru_cache(maxsize=1 << 16)
def proven_noisy_bound(scaled: int, letters: int, size: int, rows: int, cost: Fraction, failure: Fraction) -> Fraction:
    """A p such that a set of so many letters and probability at most p has that noisy count (``scaled``, N times it)
    or more with probability at most failure/(2^N - 2).

    Any θ > 0 with finite moments of the noise proves one; the best is searched for in floats.
    """
    alpha = exp_upper(-cost / (1 if size == 2 else 2), NOISE_BITS)
    # The weights of the noises in the estimate of the count, and how many have each.
    noises = [(Fraction(1), 1)]
    if size > 2:
        noises = [(Fraction(size - letters, size), letters), (Fraction(letters, size), size - letters)]
    heaviest = max(weight for weight, _ in noises)
    most = -math.log(alpha) / float(heaviest)
    count, sets = Fraction(scaled, size), 2**size - 2 if size > 1 else 1
    level = math.log(failure.numerator) - math.log(failure.denominator) - math.log(sets)

    def worth(log_theta: float) -> float:
        theta, total = math.exp(log_theta), level
        for weight, number in noises:
            x = float(weight) * theta
            beyond = 1 - float(alpha) * math.exp(x)
            if beyond <= 0:
                return -math.inf
            total -= number * math.log((1 - float(alpha)) ** 2 / (beyond * (1 - float(alpha) * math.exp(-x))))
        return math.expm1((total + theta * float(count)) / rows) / math.expm1(theta)

    theta = Fraction(math.exp(_largest(worth, math.log(most) - 12, math.log(most) - 2.0**-9)))
    with ctx.workprec(PRECISION + rows.bit_length()):
        ratio = _ball(alpha)
        total = (_ball(failure) / sets).log() + _ball(theta * count)
        for weight, number in noises:
            power = _ball(theta * weight).exp()
            moment = (1 - ratio) ** 2 / ((1 - ratio * power) * (1 - ratio / power))
            if not (1 - ratio * power > 0):
                return Fraction(0)
            total -= number * moment.log()
        bound = ((total / rows).exp() - 1) / (_ball(theta).exp() - 1)
        if not bound > 0:
            return Fraction(0)
        mantissa, exponent = bound.lower().man_exp()
    return min(Fraction(int(mantissa)) * Fraction(2) ** int(exponent), Fraction(1))


def _ball(value: Fraction) -> arb:
    return arb(fmpq(value.numerator, value.denominator))


def _largest(worth: Callable[[float], float], low: float, high: float) -> float:
    """Where a function that rises and then falls is largest, about."""
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_left, at_right = worth(left), worth(right)
    for _ in range(_STEPS):
        if at_left < at_right:
            low, left, at_left = left, right, at_right
            right = low + _GOLDEN * (high - low)
            at_right = worth(right)
        else:
            high, right, at_right = right, left, at_left
            left = high - _GOLDEN * (high - low)
            at_left = worth(left)
    return (low + high) / 2
