"""Closed forms of integrals against mpmath's quadrature."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import pytest

from leakwise.exact import Piece, Pieces


@pytest.mark.parametrize(
    "exponent",
    [(0, 0, 0), (1, -3, 0), (0, "1e-9", 0), (-30, 20, "-0.2"), (0, 0, "-1e-12"), (5, -90, -4)],
)
def test_integrals_of_polynomials_times_exponentials_are_those_of_mpmath(exponent: tuple[object, ...]) -> None:
    terms = tuple(Fraction(e) for e in exponent)  # type: ignore[arg-type]
    cubic = Piece(0.5, 3.0, (Fraction(1), Fraction(2), Fraction(1, 3), Fraction(5)))
    below, above = Pieces([cubic]).against([(Fraction(0), Fraction(7), terms)])  # type: ignore[list-item]
    with mpmath.workdps(40):
        e0, e1, e2 = (mpmath.mpf(e.numerator) / e.denominator for e in terms)

        def f(x: mpmath.mpf) -> mpmath.mpf:
            return (1 + 2 * x + x * x / 3 + 5 * x**3) * mpmath.exp(e0 + e1 * x + e2 * x * x)

        expected = mpmath.quad(f, [mpmath.mpf(1) / 2, 0.51, 0.6, 1, 2, 3])
        assert below <= expected <= above
        assert above - below <= 4e-16 * expected
