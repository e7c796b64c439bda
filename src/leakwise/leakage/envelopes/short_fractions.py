"""Short fractions just above or just below long ones: the integers of a composition have thousands of digits."""

from __future__ import annotations

from fractions import Fraction

__all__ = ["ratio_above", "ratio_below"]

_LONG = 512


def ratio_above(top: int, bottom: int) -> Fraction:
    """Return top/bottom where that is short, else a fraction above it by less than 2^-510, relatively.

    >>> ratio_above(2, 6), ratio_above(10**400, 3 * 10**400) > Fraction(1, 3)
    (Fraction(1, 3), True)
    """
    excess = min(top.bit_length(), bottom.bit_length()) - _LONG
    return Fraction(top, bottom) if excess <= 0 else Fraction((top >> excess) + 1, bottom >> excess)


def ratio_below(top: int, bottom: int) -> Fraction:
    """Return top/bottom where that is short, else a fraction below it by less than 2^-510, relatively."""
    excess = min(top.bit_length(), bottom.bit_length()) - _LONG
    return Fraction(top, bottom) if excess <= 0 else Fraction(top >> excess, (bottom >> excess) + 1)
