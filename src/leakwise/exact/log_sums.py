"""Sums of logarithms of rationals with rational coefficients: exact, with a sign that is decided and not rounded.

Whether c + Σ_k c_k log b_k is zero is decided without rounding. A sum of logarithms of positive rationals is zero or
transcendental (Lindemann), so that c must be zero; and logarithms of numbers that are pairwise coprime are linearly
independent over the rationals, so that with all b_k written as products of such numbers every exponent must cancel. No
number has to be factored for that: greatest common divisors are enough.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from flint import arb, ctx

from leakwise.exact.logarithm import float_above, float_below
from leakwise.exact.rationals import from_ball, to_ball, to_flint

__all__ = ["LogSum"]

_FIRST_PRECISION = 256


@dataclass(frozen=True, eq=False)
class LogSum:
    """A number c + Σ_k c_k log b_k, which counts with fractions and is compared without rounding.

    Attributes
    ----------
    constant
        c.
    logs
        The coefficients c_k by b_k, none of which is 1.

    Examples
    --------
    >>> six, two, three = (LogSum.log(n) for n in (6, 2, 3))
    >>> (six - two - three).sign(), (six - two).sign()
    (0, 1)
    >>> sum([two, three]) == six, six > 2
    (True, False)
    """

    constant: Fraction = Fraction(0)
    logs: Mapping[Fraction, Fraction] = field(default_factory=dict)

    @classmethod
    def log(cls, number: Fraction | int, times: Fraction | int = 1) -> LogSum:
        """Return a multiple of the logarithm of a positive rational."""
        return cls(logs={Fraction(number): Fraction(times)} if times and number != 1 else {})

    @property
    def rational(self) -> Fraction | None:
        """The number as a fraction; None where it has logarithms, which do not cancel or were not asked whether."""
        return None if self.logs else self.constant

    def __add__(self, other: LogSum | Fraction | int) -> LogSum:
        if not isinstance(other, LogSum | Fraction | int):
            return NotImplemented
        more = _sum(other)
        logs = dict(self.logs)
        for base, times in more.logs.items():
            logs[base] = logs.get(base, Fraction(0)) + times
        return LogSum(self.constant + more.constant, {base: times for base, times in logs.items() if times})

    __radd__ = __add__

    def __neg__(self) -> LogSum:
        return self * -1

    def __sub__(self, other: LogSum | Fraction | int) -> LogSum:
        return self + -other

    def __rsub__(self, other: Fraction | int) -> LogSum:
        return -self + other

    def __mul__(self, factor: Fraction | int) -> LogSum:
        if not isinstance(factor, Fraction | int):
            return NotImplemented
        logs = {base: times * factor for base, times in self.logs.items() if factor}
        return LogSum(self.constant * factor, logs)

    __rmul__ = __mul__

    def __eq__(self, other: object) -> bool:
        return (self - other).sign() == 0 if isinstance(other, LogSum | Fraction | int) else NotImplemented

    def __lt__(self, other: LogSum | Fraction | int) -> bool:
        return (self - other).sign() < 0

    def __le__(self, other: LogSum | Fraction | int) -> bool:
        return (self - other).sign() <= 0

    def __gt__(self, other: LogSum | Fraction | int) -> bool:
        return (self - other).sign() > 0

    def __ge__(self, other: LogSum | Fraction | int) -> bool:
        return (self - other).sign() >= 0

    def ball(self, precision: int = _FIRST_PRECISION) -> arb:
        """Return an interval that the number is in."""
        with ctx.workprec(precision):
            found = to_ball(self.constant)
            for base, times in self.logs.items():
                found += to_ball(base).log() * to_flint(times)
            return found

    def sign(self) -> int:
        """Return -1, 0 or 1, decided without rounding."""
        if not self.logs:
            return (self.constant > 0) - (self.constant < 0)
        precision = _FIRST_PRECISION
        if self.ball(precision).contains(0) and self._is_zero():
            return 0
        while True:  # ends: the number is not zero
            ball = self.ball(precision)
            if not ball.contains(0):
                return 1 if ball > 0 else -1
            precision *= 2

    def _is_zero(self) -> bool:
        if self.constant:
            return False
        sides = [(base.numerator, times) for base, times in self.logs.items()]
        sides += [(base.denominator, -times) for base, times in self.logs.items()]
        return all(
            not sum(_exponent(number, one) * times for number, times in sides)
            for one in _coprime(number for number, _ in sides)
        )

    def near(self) -> Fraction:
        """Return a fraction within 2^-200 or so of the number."""
        return self.constant if not self.logs else from_ball(self.ball().mid())

    def interval(self) -> tuple[float, float]:
        """Return the number rounded down and up to floats."""
        ball = self.ball()
        with ctx.workprec(4 * _FIRST_PRECISION):
            return float_below(from_ball(ball.lower())), float_above(from_ball(ball.upper()))

    def __float__(self) -> float:
        return float(self.near())

    def __str__(self) -> str:
        parts = [str(self.constant)] if self.constant or not self.logs else []
        parts += [f"{times}·log({base})" for base, times in self.logs.items()]
        return " + ".join(parts).replace("+ -", "- ")


def _sum(number: LogSum | Fraction | int) -> LogSum:
    return number if isinstance(number, LogSum) else LogSum(Fraction(number))


def _coprime(numbers: Iterable[int]) -> list[int]:
    """Pairwise coprime numbers above 1 of which each of these is a product."""
    found, waiting = list[int](), list(numbers)
    while waiting:
        number = waiting.pop()
        if number == 1:
            continue
        for place, other in enumerate(found):
            common = math.gcd(number, other)
            if common > 1:
                del found[place]
                waiting += [common, other // common, number // common]
                break
        else:
            found.append(number)
    return found


def _exponent(number: int, factor: int) -> int:
    count = 0
    while number % factor == 0:
        number //= factor
        count += 1
    return count
