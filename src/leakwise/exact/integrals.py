"""Integrals of polynomials times exponentials of quadratics, piece by piece, in ball arithmetic: closed forms.

Floats below and above come out, however many bits that takes. Numbers go in as fractions.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

from flint import arb, arb_poly, ctx, fmpq, fmpq_poly

from leakwise.exact.logarithm import float_above, float_below
from leakwise.exact.rationals import from_ball, to_flint

__all__ = ["Factor", "Piece", "Pieces", "negative_somewhere"]

_FIRST_PRECISION = 96
_LAST_PRECISION = 1 << 14
_FIXED_PRECISION = 256
_ACCURATE = 56
_PARTS = 32

Factor = tuple[Fraction, Fraction, tuple[Fraction, Fraction, Fraction]]
"""From where to where, and e₀, e₁, e₂ of the function exp(e₀ + e₁x + e₂x²) there, e₂ ≤ 0."""

_Quadratic = tuple[fmpq, fmpq, fmpq]


class Piece(NamedTuple):
    """p(x), or p(x) times a bell e^{-(x-mean)²/2sd²} over its integral, from low to high; p constant first."""

    low: float
    high: float
    coefficients: tuple[Fraction, ...]
    bell: tuple[Fraction, Fraction] | None = None


class _Ready(NamedTuple):
    """A piece as FLINT's numbers."""

    low: fmpq
    high: fmpq
    poly: fmpq_poly
    bell: _Quadratic
    mean: fmpq | None

    def unit(self) -> arb:
        """The integral of the bell, by which it is divided; 1 for a polynomial."""
        return arb(1) if self.mean is None else _integral(fmpq_poly([1]), self.bell, self.low, self.high)


class Pieces:
    """A sum of pieces, such as a density."""

    def __init__(self, pieces: Sequence[Piece]) -> None:
        self._pieces = [_ready(piece) for piece in pieces]

    def against(self, factors: Sequence[Factor]) -> tuple[float, float]:
        """Return floats below and above the integral of the sum times the factors, which is at least 0."""
        parts = [
            (to_flint(start), to_flint(stop), tuple(to_flint(e) for e in exponent))
            for start, stop, exponent in factors
            if start < stop
        ]

        def compute() -> arb:
            total = arb(0)
            for piece in self._pieces:
                inner = arb(0)
                for start, stop, (e0, e1, e2) in parts:
                    a, b = max(piece.low, start), min(piece.high, stop)
                    if a < b:
                        both = (piece.bell[0] + e0, piece.bell[1] + e1, piece.bell[2] + e2)
                        inner += _integral(piece.poly, both, a, b)
                total += inner if piece.mean is None else inner / piece.unit()
            return total

        return _enclosed(compute)

    @cached_property
    def log_units(self) -> list[float]:
        """The logarithms of the integrals of the bells; they may be below every positive float."""
        with ctx.workprec(_FIXED_PRECISION):
            return [float(piece.unit().log().mid()) for piece in self._pieces]

    @cached_property
    def steepness(self) -> tuple[float, float]:
        """Upper bounds on the sum, and on the size of its slope inside the pieces."""
        peak = slope = 0.0
        with ctx.workprec(_FIXED_PRECISION):
            units = [piece.unit().log() for piece in self._pieces]
            edges = sorted({end for piece in self._pieces for end in (piece.low, piece.high)})
            for low, high in itertools.pairwise(edges):
                here = [(p, u) for p, u in zip(self._pieces, units, strict=True) if p.low < high and p.high > low]
                step = (high - low) / _PARTS
                for k in range(_PARTS):
                    value, rate = _on_ball(here, arb(low + step * k).union(arb(low + step * (k + 1))))
                    peak, slope = max(peak, _float_above(value)), max(slope, _float_above(abs(rate)))
        return peak, slope


def negative_somewhere(coefficients: Sequence[Fraction], low: float, high: float) -> bool:
    """Return whether a polynomial is below 0 anywhere between low and high, by its real roots; exact.

    >>> negative_somewhere([Fraction(1), Fraction(-1)], 0.0, 2.0), negative_somewhere([Fraction(1), Fraction(-1)], 0, 1)
    (True, False)
    """
    poly = fmpq_poly([to_flint(c) for c in coefficients])
    a, b, steps = to_flint(Fraction(low)), to_flint(Fraction(high)), max(poly.degree(), 0) + 3
    # FLINT's stubs forget that each root comes with its multiplicity.
    roots: list[Any] = list(poly.complex_roots()) if poly.degree() > 0 else []
    for root, times in roots:
        real, imaginary = root.real, root.imag
        if imaginary != 0 or times % 2 == 0:
            continue
        at_end = any(end in real and poly(end) == 0 for end in (a, b))
        if not (at_end or real < a or real > b):
            return True  # it crosses 0 there
    # Without a crossing the sign is that of any point that is not a root itself.
    signs = (poly(a + (b - a) * fmpq(k, steps)) for k in range(1, steps))
    return next((value < 0 for value in signs if value != 0), False)


def _ready(piece: Piece) -> _Ready:
    poly = fmpq_poly([to_flint(c) for c in piece.coefficients])
    low, high = to_flint(Fraction(piece.low)), to_flint(Fraction(piece.high))
    if piece.bell is None:
        return _Ready(low, high, poly, (fmpq(0), fmpq(0), fmpq(0)), None)
    mean, sd = (to_flint(part) for part in piece.bell)
    twice = 2 * sd * sd
    return _Ready(low, high, poly, (-mean * mean / twice, 2 * mean / twice, -1 / twice), mean)


def _on_ball(here: list[tuple[_Ready, arb]], ball: arb) -> tuple[arb, arb]:
    """The sum and its slope on all of a ball."""
    value = rate = arb(0)
    for piece, unit in here:
        p, dp = arb_poly(piece.poly)(ball), arb_poly(piece.poly.derivative())(ball)
        if piece.mean is not None:
            away = ball - piece.mean
            height = (piece.bell[2] * away**2 - unit).exp()
            p, dp = p * height, (dp + p * 2 * piece.bell[2] * away) * height
        value, rate = value + p, rate + dp
    return value, rate


def _integral(poly: fmpq_poly, exponent: _Quadratic, low: fmpq, high: fmpq) -> arb:
    """∫ p(x) exp(e₀ + e₁x + e₂x²) dx from low to high, at the precision that is set."""
    e0, e1, e2 = exponent
    if e2 != 0:
        return _bell(poly, exponent, low, high)
    if e1 == 0:
        whole = poly.integral()
        return arb(whole(high) - whole(low)) * arb(e0).exp()
    # Integration by parts until the polynomial is used up.
    total, rate = fmpq_poly(), e1
    for _ in range(len(poly)):
        total += poly * (1 / rate)
        poly, rate = poly.derivative(), -rate * e1
    return arb(total(high)) * arb(e0 + e1 * high).exp() - arb(total(low)) * arb(e0 + e1 * low).exp()


def _bell(poly: fmpq_poly, exponent: _Quadratic, low: fmpq, high: fmpq) -> arb:
    """The same for e₂ < 0: moments of a normal distribution between two points."""
    e0, e1, e2 = exponent
    mean, spread = -e1 / (2 * e2), (-1 / (2 * arb(e2))).sqrt()
    top = arb(e0 + e1 * mean / 2).exp()
    a, b = (low - mean) / spread, (high - mean) / spread
    half, root = (arb.pi() / 2).sqrt(), arb(2).sqrt()
    at_a, at_b = (-(a * a) / 2).exp(), (-(b * b) / 2).exp()
    # Beyond the mean the tails are small, and their difference loses no digits.
    if low > mean:
        first = half * ((a / root).erfc() - (b / root).erfc())
    elif high < mean:
        first = half * ((-b / root).erfc() - (-a / root).erfc())
    else:
        first = half * ((b / root).erf() - (a / root).erf())
    moments = [first]
    for k in range(1, len(poly)):
        before = moments[k - 2] * (k - 1) if k > 1 else arb(0)
        moments.append(before - (b ** (k - 1) * at_b - a ** (k - 1) * at_a))
    shifted = arb_poly(poly)(arb_poly([arb(mean), spread]))
    total = arb(0)
    for k in range(len(poly)):
        total += shifted[k] * moments[k]
    return total * top * spread


def _enclosed(compute: Callable[[], arb]) -> tuple[float, float]:
    """Floats below and above a number ≥ 0, computed with ever more bits until its ball is narrow."""
    precision = _FIRST_PRECISION
    while True:
        with ctx.workprec(precision):
            ball = compute()
            narrow = ball.rel_accuracy_bits() >= _ACCURATE
        if narrow or precision >= _LAST_PRECISION:
            return (max(_float_below(ball), 0.0), _float_above(ball)) if ball.is_finite() else (0.0, math.inf)
        precision *= 2


# Balls below all floats, whose exponents may have more digits than fractions can be made of.
_NO_FLOAT = arb(2) ** -1200


def _float_above(ball: arb) -> float:
    if abs(ball) < _NO_FLOAT:
        return math.ulp(0.0) if ball.upper() > 0 else 0.0
    return max(float_above(from_ball(ball.upper())), 0.0) if ball.is_finite() else math.inf


def _float_below(ball: arb) -> float:
    return 0.0 if abs(ball) < _NO_FLOAT else float_below(from_ball(ball.lower()))
