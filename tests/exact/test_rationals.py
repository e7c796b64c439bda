"""Numbers of every kind are the rationals they are."""

from __future__ import annotations

import decimal
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leakwise.errors import InvalidInput
from leakwise.exact import exact_fraction, floats_over_power_of_two, is_exact_kind, over_common_denominator
from strategies import finite_floats


@given(finite_floats)
def test_a_float_is_its_binary_value(value: float) -> None:
    numerator, denominator = value.as_integer_ratio()
    assert exact_fraction(value, "p") == Fraction(numerator, denominator)
    assert exact_fraction(np.float64(value), "p") == Fraction(numerator, denominator)


@given(st.decimals(allow_nan=False, allow_infinity=False, places=12))
def test_decimals_and_their_texts_are_decimal(value: decimal.Decimal) -> None:
    assert exact_fraction(value, "p") == exact_fraction(f"  {value}\n", "p") == Fraction(str(value))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (3, Fraction(3)),
        (np.int8(-3), Fraction(-3)),
        (np.uint64(2**63), Fraction(2**63)),
        (Fraction(1, 3), Fraction(1, 3)),
        ("1/3", Fraction(1, 3)),
        ("1e-3", Fraction(1, 1000)),
        ("-2.5E+2", Fraction(-250)),
        (np.float32(0.1), Fraction(13421773, 2**27)),
        (np.str_("0.1"), Fraction(1, 10)),
        (5e-324, Fraction(1, 2**1074)),
    ],
)
def test_kinds(value: object, expected: Fraction) -> None:
    assert exact_fraction(value, "p") == expected


def test_a_long_double_loses_nothing() -> None:
    value = np.longdouble(1) + np.finfo(np.longdouble).eps
    assert exact_fraction(value, "p") == 1 + Fraction(*np.finfo(np.longdouble).eps.as_integer_ratio())


@pytest.mark.parametrize(
    "value",
    [
        math.nan,
        math.inf,
        -math.inf,
        np.float32("nan"),
        decimal.Decimal("nan"),
        decimal.Decimal("Infinity"),
        "nan",
        "inf",
        "",
        "a half",
        "1/0",
        "0.5.5",
        True,
        np.bool_(False),
        None,
        [1],
        1j,
        b"1",
        "1e999999999",
        decimal.Decimal("1e-999999999"),
    ],
)
def test_what_is_no_number_is_refused_by_name(value: object) -> None:
    with pytest.raises(InvalidInput, match="the weight of 'a' must"):
        exact_fraction(value, "the weight of 'a'")


def test_exact_kinds() -> None:
    assert all(is_exact_kind(value) for value in (1, Fraction(1), "0.1", decimal.Decimal(1), np.int64(1)))
    assert not any(is_exact_kind(value) for value in (1.0, np.float32(1.0), np.float64(1.0)))


@given(st.lists(st.fractions(max_denominator=1000), max_size=8))
def test_over_common_denominator(values: list[Fraction]) -> None:
    numerators, denominator = over_common_denominator(values)
    assert [Fraction(numerator, denominator) for numerator in numerators] == values
    assert math.gcd(denominator, *numerators) == 1 or denominator == 1  # the least one


@given(st.lists(finite_floats, max_size=8))
def test_floats_over_power_of_two(values: list[float]) -> None:
    numerators, denominator = floats_over_power_of_two(np.array(values))
    assert (numerators, denominator) == over_common_denominator([Fraction(value) for value in values])
