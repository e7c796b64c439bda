"""Extreme columns as functions of the lift."""

from __future__ import annotations

from fractions import Fraction

from leakwise.optimize.exact_optimum.in_lift import columns_in_lift


def test_columns_are_linear_in_the_lift() -> None:
    p = [Fraction(1, 2), Fraction(3, 10), Fraction(1, 5)]
    (column,) = columns_in_lift(p, [(Fraction(3, 2), Fraction(5, 6), Fraction(0))], Fraction(3, 2))
    assert column == [(0, 1), (Fraction(10, 3), Fraction(-5, 3)), (0, 0)]
