"""The enclosed trace of an inverse, against rationals."""

from __future__ import annotations

from fractions import Fraction

from leakwise.exact import inverse_trace


def test_two_by_two_by_hand() -> None:
    # (a c; c d)⁻¹ has the trace (a + d)/(ad - c²), also where nearly nothing is left of the determinant.
    for step in (1, 10**12, 10**30):
        first, second, divisors = [step + 1, step], [step, step + 1], [7, 5]
        a, c, d = (
            sum((Fraction(x * y, b) for x, y, b in zip(one, other, divisors, strict=True)), Fraction(0))
            for one, other in ((first, first), (first, second), (second, second))
        )
        ends = inverse_trace([first, second], divisors)
        assert ends is not None
        assert ends[0] <= (a + d) / (a * d - c * c) <= ends[1]
        assert ends[1] - ends[0] <= Fraction(1, 10**20) * ends[1]


def test_a_singular_matrix_has_none() -> None:
    assert inverse_trace([[1, 1], [1, 1]], [1, 1]) is None
