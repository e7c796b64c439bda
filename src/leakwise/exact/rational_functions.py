"""Rational functions of one variable, and linear systems whose entries are linear in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from flint import fmpq, fmpq_mat, fmpq_poly

from leakwise.exact.rationals import from_flint, to_flint

__all__ = ["Linear", "RationalFunction", "ones_as_mixture"]

Linear = tuple[Fraction, Fraction]
"""a + b t."""


@dataclass(frozen=True)
class RationalFunction:
    """A rational function of t: coefficients of numerator and denominator, lowest power first, in lowest terms.

    >>> half = RationalFunction((Fraction(1), Fraction(0)), (Fraction(0), Fraction(2)))
    >>> print(half, "at 3 is", half(Fraction(3)))
    (1)/(2 t) at 3 is 1/6
    """

    numerator: tuple[Fraction, ...]
    denominator: tuple[Fraction, ...]

    def __call__(self, t: Fraction) -> Fraction:
        """Return its value."""
        above, below = (
            sum((c * t**k for k, c in enumerate(one)), Fraction(0)) for one in (self.numerator, self.denominator)
        )
        return above / below

    def __str__(self) -> str:
        return f"({_polynomial(self.numerator)})/({_polynomial(self.denominator)})"


def _polynomial(coefficients: Sequence[Fraction]) -> str:
    powers = ["", "t", *(f"t^{k}" for k in range(2, len(coefficients)))]
    parts = [(c, power) for c, power in zip(coefficients, powers, strict=False) if c]
    texts = [
        str(c) if not power else power if c == 1 else f"-{power}" if c == -1 else f"{c} {power}" for c, power in parts
    ]
    return " + ".join(texts).replace("+ -", "- ") or "0"


def ones_as_mixture(columns: Sequence[Sequence[Linear]], t: Fraction) -> list[RationalFunction]:
    """Return B(t)⁻¹1 for as many columns as there are rows, as rational functions found from enough of their values.

    ``t`` is where B has an inverse.
    """
    size, points, determinants, solutions = len(columns), list[fmpq](), list[fmpq](), list[list[fmpq]]()
    step = 0
    while len(points) <= size:  # the determinant has at most so many roots: the loop ends
        at = t + Fraction(step, 1 << 10)
        step += 1
        matrix = fmpq_mat(size, size, [to_flint(c[i][0] + c[i][1] * at) for i in range(size) for c in columns])
        determinant = matrix.det()
        if not determinant:
            continue
        answer = matrix.solve(fmpq_mat(size, 1, [1] * size))
        points.append(to_flint(at))
        determinants.append(determinant)
        solutions.append([answer[row, 0] * determinant for row in range(size)])
    bottom = _through(points, determinants)
    return [_reduced(_through(points, [one[row] for one in solutions]), bottom) for row in range(size)]


def _through(points: Sequence[fmpq], values: Sequence[fmpq]) -> fmpq_poly:
    """The polynomial through these values, by Newton's divided differences."""
    divided = list(values)
    for order in range(1, len(points)):
        for k in range(len(points) - 1, order - 1, -1):
            divided[k] = (divided[k] - divided[k - 1]) / (points[k] - points[k - order])
    found = fmpq_poly([divided[-1]])
    for k in range(len(points) - 2, -1, -1):
        found = found * fmpq_poly([-points[k], 1]) + divided[k]
    return found


def _reduced(top: fmpq_poly, bottom: fmpq_poly) -> RationalFunction:
    common = top.gcd(bottom)
    above, below = top // common, bottom // common
    lead = next(c for c in below.coeffs() if c)
    return RationalFunction(_coefficients(above, lead), _coefficients(below, lead))


def _coefficients(polynomial: fmpq_poly, unit: fmpq) -> tuple[Fraction, ...]:
    scaled = [c / unit for c in polynomial.coeffs()]
    return tuple(from_flint(c) for c in scaled) or (Fraction(0),)
