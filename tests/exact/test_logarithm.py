"""Logarithms and exponentials are on the side they say, and close."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from flint import arb, ctx, fmpq
from hypothesis import assume, given
from hypothesis import strategies as st

from leakwise.errors import InvalidInput
from leakwise.exact import exp_lower, exp_upper, float_above, float_below, log_at_most, log_lower, log_upper
from strategies import exp_bracket, finite_floats

LARGEST = Fraction(math.nextafter(math.inf, 0.0))
LEAST = Fraction(5e-324)

positive = st.one_of(
    st.fractions(min_value=Fraction(1, 10**6), max_value=10**6),
    st.integers(-400, 400).map(lambda power: Fraction(2) ** power * Fraction(3, 7)),
    st.integers(1, 300).map(lambda bits: 1 + Fraction(1, 1 << bits)),
    st.integers(2, 300).map(lambda bits: 1 - Fraction(1, 1 << bits)),
)


def log_at_400_bits(value: Fraction) -> arb:
    with ctx.workprec(800):
        return arb(fmpq(value.numerator, value.denominator)).log()


@given(positive)
def test_log_bounds_bracket(value: Fraction) -> None:
    truth, low, high = log_at_400_bits(value), log_lower(value), log_upper(value)
    with ctx.workprec(800):
        assert not (arb(low) > truth)
        assert not (arb(high) < truth)
        # One float step between them, two where the truth is a float itself (only at 1).
        assert math.nextafter(low, math.inf) >= high
    if value != 1:
        assert low < high


@given(positive)
def test_log_bounds_bracket_by_the_series(value: Fraction) -> None:
    assume(Fraction(1, 10**6) <= value <= 10**6)
    assert exp_bracket(Fraction(log_lower(value)))[0] <= value <= exp_bracket(Fraction(log_upper(value)))[1]


def test_log_of_one_is_zero() -> None:
    assert log_lower(Fraction(1)) == log_upper(Fraction(1)) == 0.0


@pytest.mark.parametrize("value", [Fraction(0), Fraction(-1, 3)])
@pytest.mark.parametrize("function", [log_lower, log_upper])
def test_no_logarithm_of_nothing(function: object, value: Fraction) -> None:
    with pytest.raises(InvalidInput, match="positive"):
        function(value)  # type: ignore[operator]


@given(
    st.one_of(
        st.fractions(min_value=0, max_value=30, max_denominator=10**6),
        st.integers(1, 300).map(lambda bits: Fraction(1, 1 << bits)),
    )
)
def test_exponentials_bracket_within_a_unit(epsilon: Fraction) -> None:
    low, high = exp_lower(epsilon), exp_upper(epsilon)
    below, above = exp_bracket(epsilon)
    assert low <= above
    assert high >= below
    assert high - low <= Fraction(1, 1 << 64)
    assert low >= 1
    assert (1 << 64) % low.denominator == 0
    assert (1 << 64) % high.denominator == 0
    # With 600 bits of the truth, the bounds are strict: nothing was rounded to the wrong side.
    if epsilon > Fraction(1, 1 << 60):
        assert low <= below
        assert above <= high


def test_exponentials_of_zero_and_of_much() -> None:
    assert exp_lower(Fraction(0)) == exp_upper(Fraction(0)) == 1
    assert math.floor(exp_lower(Fraction(5000))).bit_length() == 7214  # 5000 / log 2 = 7213.5
    assert exp_lower(Fraction(-1), 8) == Fraction(94, 256)  # e^-1 = 94.18/256


@given(st.fractions(min_value=Fraction(1, 1000), max_value=20, max_denominator=1000), st.integers(60, 500))
def test_log_at_most_decides_next_to_the_border(epsilon: Fraction, bits: int) -> None:
    low, high = exp_lower(epsilon, bits), exp_upper(epsilon, bits)
    assert log_at_most(low, epsilon)
    assert not log_at_most(high, epsilon)


@pytest.mark.parametrize(
    ("value", "epsilon", "expected"),
    [
        (Fraction(0), Fraction(-5), True),
        (Fraction(1), Fraction(0), True),
        (Fraction(1) + Fraction(1, 10**400), Fraction(0), False),
        (Fraction(1), Fraction(1, 10**400), True),
        (Fraction(1), Fraction(-1, 10**400), False),
        (Fraction(1) + Fraction(1, 10**400), Fraction(1, 10**400), True),
        (Fraction(1) + Fraction(2, 10**400), Fraction(1, 10**400), False),
    ],
)
def test_log_at_most_at_the_ends(value: Fraction, epsilon: Fraction, expected: bool) -> None:
    assert log_at_most(value, epsilon) is expected


@given(
    st.one_of(st.fractions(), finite_floats.map(Fraction), st.integers(-1100, 1100).map(lambda k: Fraction(2) ** k / 3))
)
def test_floats_beside_a_rational(value: Fraction) -> None:
    above, below = float_above(value), float_below(value)
    assert above == math.inf or Fraction(above) >= value
    assert below == -math.inf or Fraction(below) <= value
    # They are the nearest on their sides: a step inwards leaves the side.
    inward = math.nextafter(above, -math.inf)
    assert inward == -math.inf or Fraction(inward) < value
    inward = math.nextafter(below, math.inf)
    assert inward == math.inf or Fraction(inward) > value


@pytest.mark.parametrize(
    ("value", "above", "below"),
    [
        (Fraction(1, 10**400), 5e-324, 0.0),
        (-Fraction(1, 10**400), 0.0, -5e-324),
        (Fraction(10**400), math.inf, float(LARGEST)),
        (-Fraction(10**400), -float(LARGEST), -math.inf),
        (LARGEST + 1, math.inf, float(LARGEST)),
        (LEAST, 5e-324, 5e-324),
        (Fraction(0), 0.0, 0.0),
        (Fraction(1e-300), 1e-300, 1e-300),
        (Fraction(1e300), 1e300, 1e300),
    ],
)
def test_floats_beside_the_extremes(value: Fraction, above: float, below: float) -> None:
    assert (float_above(value), float_below(value)) == (above, below)
    assert math.copysign(1, float_below(Fraction(0))) == 1  # no minus zero in a table
