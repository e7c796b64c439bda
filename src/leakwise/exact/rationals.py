"""Numbers of every kind as the rationals they are."""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction

import numpy as np
from flint import arb, fmpq

from leakwise.errors import InvalidInput
from leakwise.types import Floats

__all__ = [
    "as_typed",
    "exact_fraction",
    "floats_over_power_of_two",
    "from_ball",
    "from_flint",
    "is_exact_kind",
    "over_common_denominator",
    "to_ball",
    "to_flint",
]

_LARGEST_POWER = 10_000


def to_flint(value: Fraction) -> fmpq:
    """Return a fraction as FLINT's."""
    return fmpq(value.numerator, value.denominator)


def from_flint(value: fmpq) -> Fraction:
    """Return a fraction of FLINT as Python's."""
    return Fraction(int(value.p), int(value.q))


def to_ball(value: Fraction) -> arb:
    """Return a ball around a fraction, as small as the precision of the moment allows."""
    return arb(to_flint(value))


def from_ball(ball: arb) -> Fraction:
    """Return the exact value of a ball of radius zero, such as an end of another."""
    mantissa, exponent = ball.man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def is_exact_kind(value: object) -> bool:
    """Return whether a number carries its exact value by itself: everything but a float."""
    return not isinstance(value, (float, np.floating))


def as_typed(value: Fraction) -> Fraction | float:
    """Return a rational as the float that it is the value of, if there is one, which prints as it was typed.

    >>> as_typed(Fraction(0.1)), as_typed(Fraction(1, 10))
    (0.1, Fraction(1, 10))
    """
    near = float(value)
    return near if Fraction(near) == value else value


def exact_fraction(value: object, name: str) -> Fraction:
    """Return the exact rational value of a number.

    A float means its exact binary value, a string its decimal (or ``"1/3"``) value.

    >>> exact_fraction("0.1", "p"), exact_fraction(0.5, "p")
    (Fraction(1, 10), Fraction(1, 2))
    """
    if isinstance(value, (bool, np.bool_)):
        raise InvalidInput(f"{name} must be a number. Got {value!r} instead: write 1 or 0.")
    try:
        if isinstance(value, Fraction):
            return value
        if isinstance(value, (int, np.integer)):
            return Fraction(int(value))
        if isinstance(value, (float, np.floating)):
            if not math.isfinite(value):
                raise InvalidInput(f"{name} must be finite. Got {value!r} instead.")
            return Fraction(*value.as_integer_ratio())
        if isinstance(value, (Decimal, str)):
            if isinstance(value, Decimal) and not value.is_finite():
                raise InvalidInput(f"{name} must be finite. Got {value!r} instead.")
            _refuse_long(value, name)
            return Fraction(value.strip() if isinstance(value, str) else value)
        if isinstance(value, numbers.Rational):
            return Fraction(int(value.numerator), int(value.denominator))
    except (ValueError, ZeroDivisionError) as error:
        if isinstance(error, InvalidInput):
            raise
        raise InvalidInput(f"{name} must be a number such as 0.25, '0.25' or '1/4'. Got {value!r} instead.") from error
    raise InvalidInput(
        f"{name} must be a number (int, float, Fraction, Decimal or decimal string). "
        f"Got {value!r} of type {type(value).__name__} instead."
    )


def _refuse_long(value: Decimal | str, name: str) -> None:
    """Refuse '1e999999999' before its digits fill the memory."""
    power = value.as_tuple().exponent if isinstance(value, Decimal) else value.lower().rpartition("e")[2]
    try:
        size = abs(int(power))
    except ValueError:
        return  # no exponent: a plain number, or no number at all
    if size > _LARGEST_POWER and (isinstance(value, Decimal) or "e" in value.lower()):
        raise InvalidInput(f"{name} must have an exponent within ±{_LARGEST_POWER}. Got {value!r} instead.")


def over_common_denominator(fractions: Sequence[Fraction]) -> tuple[list[int], int]:
    """Rationals as integers over their least common denominator.

    >>> over_common_denominator([Fraction(1, 2), Fraction(1, 3)])
    ([3, 2], 6)
    """
    denominator = math.lcm(*(fraction.denominator for fraction in fractions)) if fractions else 1
    return [fraction.numerator * (denominator // fraction.denominator) for fraction in fractions], denominator


def floats_over_power_of_two(values: Floats) -> tuple[list[int], int]:
    """Finite floats as integers over one power of two, exact: the fast way for a million of them.

    >>> floats_over_power_of_two(np.array([0.5, 0.25, 3.0]))
    ([2, 1, 12], 4)
    """
    fraction, exponent = np.frexp(values)
    mantissa = np.ldexp(fraction, 53).astype(np.int64)
    exponent = np.where(mantissa == 0, 0, exponent.astype(np.int64) - 53)
    # Trailing zeros of the mantissas go into the exponents, so that the denominator is the least one.
    while (even := (mantissa & 1 == 0) & (mantissa != 0)).any():
        mantissa[even] >>= 1
        exponent[even] += 1
    least = min(int(exponent.min(initial=0)), 0)
    shifts = (exponent - least).tolist()
    return [number << shift for number, shift in zip(mantissa.tolist(), shifts, strict=True)], 1 << -least
