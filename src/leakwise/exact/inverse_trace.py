"""The trace of the inverse of A diag(1/b) Aᵀ for integers, enclosed: where floats leave nothing of it."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from flint import arb_mat, ctx, fmpq, fmpz_mat

__all__ = ["inverse_trace", "rank_of"]

_PRECISION = 384


def inverse_trace(rows: Sequence[Sequence[int]], divisors: Sequence[int]) -> tuple[Fraction, Fraction] | None:
    """Return numbers below and above the trace of (A diag(1/b) Aᵀ)⁻¹; None where it is not surely invertible.

    >>> low, high = inverse_trace([[3, 1], [1, 3]], [4, 4])  # 1/4 of [[10, 6], [6, 10]]
    >>> print(float(low), float(high))
    1.25 1.25
    """
    with ctx.workprec(_PRECISION):
        weighed = arb_mat([[fmpq(int(entry), int(b)) for entry, b in zip(row, divisors, strict=True)] for row in rows])
        product = weighed * arb_mat([[int(entry) for entry in row] for row in rows]).transpose()
        try:
            inverse = product.inv()
        except ZeroDivisionError:
            return None
        trace = sum((inverse[place, place] for place in range(1, len(rows))), inverse[0, 0])
        if not trace.is_finite():
            return None
        ends = [end.man_exp() for end in (trace.lower(), trace.upper())]
    low, high = (Fraction(int(mantissa)) * Fraction(2) ** int(exponent) for mantissa, exponent in ends)
    return low, high


def rank_of(rows: Sequence[Sequence[int]]) -> int:
    """Return the rank of a matrix of integers."""
    return int(fmpz_mat([[int(entry) for entry in row] for row in rows]).rank())
