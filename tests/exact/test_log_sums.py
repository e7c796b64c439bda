"""Sums of logarithms of rationals: signs against sixty digits, and zeros that no digits show."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leakwise.exact import LogSum

bases = st.fractions(min_value=Fraction(1, 40), max_value=40, max_denominator=40).filter(bool)
times = st.fractions(min_value=-3, max_value=3, max_denominator=6)


@settings(max_examples=60)
@given(st.lists(st.tuples(bases, times), max_size=5), times)
def test_the_sign_is_that_of_sixty_digits(terms: list[tuple[Fraction, Fraction]], constant: Fraction) -> None:
    number = sum((LogSum.log(base, factor) for base, factor in terms), start=LogSum(constant))
    with mpmath.workdps(60):
        logs = (
            mpmath.mpf(f.numerator) / f.denominator * mpmath.log(mpmath.mpf(b.numerator) / b.denominator)
            for b, f in terms
        )
        value = mpmath.fsum(logs) + mpmath.mpf(constant.numerator) / constant.denominator
        sign = 0 if abs(value) < mpmath.mpf(10) ** -50 else 1 if value > 0 else -1
        low, high = number.interval()
        assert low - 1e-300 <= value <= high + 1e-300
    assert number.sign() == sign


@settings(max_examples=60)
@given(st.lists(bases, min_size=2, max_size=5), st.lists(times, min_size=2, max_size=5))
def test_logarithms_that_cancel_are_zero_and_a_hair_more_is_not(
    numbers: list[Fraction], factors: list[Fraction]
) -> None:
    product, number = Fraction(1), LogSum()
    for base, factor in zip(numbers, factors, strict=False):
        power = round(factor)
        product *= base**power
        number += LogSum.log(base, power)
    assert (number - LogSum.log(product)).sign() == 0
    assert (number - LogSum.log(product * (1 + Fraction(1, 10**120)))).sign() == -1
    assert (number - LogSum.log(product) + LogSum(Fraction(1, 10**150))).sign() == 1


def test_it_reads_as_it_is_written() -> None:
    assert str(LogSum(Fraction(1, 2)) + LogSum.log(Fraction(3, 2), Fraction(-1, 4))) == "1/2 - 1/4·log(3/2)"
    assert LogSum.log(1).rational == 0


def test_it_counts_with_fractions_and_is_compared_without_rounding() -> None:
    half = Fraction(1, 2)
    six, two, three = (LogSum.log(n) for n in (6, 2, 3))
    assert sum([half, two, three]) == half + six
    assert half * six - half == LogSum(-half) + six * half
    assert (-six < half - six, half + six <= six, two < three < six, six > 1, six >= 2) == (
        True,
        False,
        True,
        True,
        False,
    )
    assert half - six == -(six - half)
    assert LogSum(half) == half
    assert six != LogSum.log(6 + Fraction(1, 10**100))
    assert six != "log 6"
    with pytest.raises(TypeError):
        six + 0.5  # type: ignore[operator]
