"""What an outcome with these lifts is worth, exact: a rational, or a sum of logarithms of rationals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

from leakwise.exact import LogSum
from leakwise.types import Floats

__all__ = ["KNOWN", "Worth", "weighted_gains", "worth_of"]

Worth = Callable[[Sequence[Fraction]], LogSum]

KNOWN = ("mutual_information", "total_variation", "chi_square", "guessing", "gain")
"""The utilities whose worth is a rational, or a sum of logarithms of rationals."""


def weighted_gains(p: Sequence[Fraction], gains: Floats | None) -> list[list[Fraction]]:
    """Return π_i g_iw for each guess w, over the values i: of "guessing" those of the identity."""
    if gains is None:
        return [[mass if i == w else Fraction(0) for i, mass in enumerate(p)] for w in range(len(p))]
    return [[mass * Fraction(float(gain)) for mass, gain in zip(p, column, strict=True)] for column in gains.T]


def worth_of(utility: str, p: Sequence[Fraction], gains: Floats | None) -> Worth:
    """Return μ of a lift vector, so that the utility is Σ_j q_j μ(λ_j)."""
    if utility == "mutual_information":
        return lambda lifts: sum(
            (LogSum.log(x, mass * x) for x, mass in zip(lifts, p, strict=True) if x), start=LogSum()
        )
    if utility == "total_variation":
        return lambda lifts: LogSum(sum(mass * abs(x - 1) for x, mass in zip(lifts, p, strict=True)) / Fraction(2))
    if utility == "chi_square":
        return lambda lifts: LogSum(sum((mass * (x - 1) ** 2 for x, mass in zip(lifts, p, strict=True)), Fraction(0)))
    weighted = weighted_gains(p, gains)
    return lambda lifts: LogSum(
        max(sum((g * x for g, x in zip(guess, lifts, strict=True)), Fraction(0)) for guess in weighted)
    )
