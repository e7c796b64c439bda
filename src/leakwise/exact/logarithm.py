"""Logarithm and exponential with a proven side: ball arithmetic, then one outward step to a float."""

from __future__ import annotations

import math
from fractions import Fraction

from flint import arb, ctx

from leakwise.errors import InvalidInput
from leakwise.exact.rationals import from_ball, to_ball

__all__ = ["exp_lower", "exp_upper", "float_above", "float_below", "log_at_most", "log_lower", "log_upper"]

_FIRST_PRECISION = 128
_LAST_PRECISION = 1 << 16


def float_above(value: Fraction) -> float:
    """Return the least float that is not below a rational.

    >>> float_above(Fraction(1, 10)), float_above(Fraction(3, 10))  # the float 0.3 lies below three tenths
    (0.1, 0.30000000000000004)
    """
    try:
        nearest = value.numerator / value.denominator
    except OverflowError:
        return math.inf if value > 0 else -math.nextafter(math.inf, 0.0)
    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)


def float_below(value: Fraction) -> float:
    """Return the greatest float that is not above a rational."""
    return 0.0 - float_above(-value)  # not -x: zero has no sign here


def _log_ball(value: Fraction) -> arb:
    if value <= 0:
        raise InvalidInput(f"a logarithm needs a positive number. Got {value} instead.")
    # Near 1 the leading digits cancel: enough bits for the difference to 1 come on top.
    closeness, precision = abs(value - 1), _FIRST_PRECISION
    if closeness:
        precision += max(0, closeness.denominator.bit_length() - closeness.numerator.bit_length())
    with ctx.workprec(precision):
        return to_ball(value).log()


def log_upper(value: Fraction) -> float:
    """Return a float that is not below log(value), at most one step above the nearest.

    >>> log_upper(Fraction(1)), log_upper(Fraction(2)) >= 0.6931471805599453
    (0.0, True)
    """
    if value == 1:
        return 0.0
    ball = _log_ball(value)
    with ctx.workprec(2 * _FIRST_PRECISION):
        return float_above(from_ball(ball.upper()))


def log_lower(value: Fraction) -> float:
    """Return a float that is not above log(value), at most one step below the nearest."""
    if value == 1:
        return 0.0
    ball = _log_ball(value)
    with ctx.workprec(2 * _FIRST_PRECISION):
        return float_below(from_ball(ball.lower()))


def log_at_most(value: Fraction, epsilon: Fraction) -> bool:
    """Decide log(value) ≤ epsilon without any rounding.

    e^epsilon is irrational for every rational epsilon ≠ 0, so that more digits always decide.
    """
    if value <= 0:
        return True
    if epsilon == 0 or value == 1:
        return value <= 1 if epsilon == 0 else epsilon > 0
    precision = _FIRST_PRECISION
    while precision <= _LAST_PRECISION:
        with ctx.workprec(precision):
            difference = to_ball(value) - to_ball(epsilon).exp()
            if difference > 0:
                return False
            if difference < 0:
                return True
        precision *= 2
    return False  # closer than 65,536 bits: the safe answer is that the bound does not hold


def exp_lower(epsilon: Fraction, bits: int = 64) -> Fraction:
    """Return the largest multiple of 2^-bits that is not above e^epsilon."""
    if epsilon == 0:
        return Fraction(1)
    precision = _FIRST_PRECISION + bits + max(0, int(2 * epsilon))
    while True:
        with ctx.workprec(precision):
            floor = (to_ball(epsilon).exp() * (arb(2) ** bits)).floor().unique_fmpz()
        if floor is not None:
            return Fraction(int(floor), 1 << bits)
        precision *= 2


def exp_upper(epsilon: Fraction, bits: int = 64) -> Fraction:
    """Return the least multiple of 2^-bits that is not below e^epsilon."""
    return Fraction(1) if epsilon == 0 else exp_lower(epsilon, bits) + Fraction(1, 1 << bits)
