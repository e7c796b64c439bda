"""A leakage that remembers which letters of mass zero it was taken without."""

from __future__ import annotations

from leakwise.priors.prior import Prior
from leakwise.priors.prior_set import PriorSet
from leakwise.priors.sets.around_estimate import unseen_letters

__all__ = ["SupportLeakage", "over_support"]


class SupportLeakage(float):
    """A leakage over the letters that a prior calls possible.

    A number like any other. ``left_out`` holds the declared letters of mass zero, so that what speaks about other
    priors, where these letters may occur, can refuse it.
    """

    left_out: tuple[object, ...]

    def __new__(cls, value: float, left_out: tuple[object, ...]) -> SupportLeakage:
        made = super().__new__(cls, value)
        made.left_out = left_out
        return made

    def __getnewargs__(self) -> tuple[float, tuple[object, ...]]:  # type: ignore[override]
        return float(self), self.left_out


def over_support(value: float, priors: PriorSet) -> float:
    """Return the leakage itself, marked with the letters left out where it is that of a single prior without them."""
    if not isinstance(priors, Prior) or priors.support.all():
        return value
    return SupportLeakage(value, tuple(unseen_letters(priors)))
