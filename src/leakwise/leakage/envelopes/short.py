"""Short fractions just above or just below long ones: the integers of a composition have thousands of digits."""

from __future__ import annotations

from fractions import Fraction

__all__ = ["ratio_above", "ratio_below"]

_LONG = 512
_BITS = 192


def ratio_above(top: int, bottom: int) -> Fraction:
    """top/bottom where that is short, else a fraction above it by less than 2^-190, relatively."""
    excess = min(top.bit_length(), bottom.bit_length()) - _LONG
    if excess <= 0:
        return Fraction(top, bottom)
    shift = bottom.bit_length() - _BITS
    return Fraction((top >> shift) + 1, bottom >> shift)


def ratio_below(top: int, bottom: int) -> Fraction:
    """top/bottom where that is short, else a fraction below it by less than 2^-190, relatively."""
    excess = min(top.bit_length(), bottom.bit_length()) - _LONG
    if excess <= 0:
        return Fraction(top, bottom)
    shift = bottom.bit_length() - _BITS
    return Fraction(top >> shift, (bottom >> shift) + 1)
