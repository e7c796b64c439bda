"""What a design claims about its optimality, in the form that the independent checker takes."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from leakwise.exact import Level, level
from leakwise.optimize.chord import chord_duals
from leakwise.optimize.cones import Cone, LiftBox
from leakwise.optimize.utilities import FInformation, LinearUtility, Utility
from leakwise.priors import Prior
from leakwise.proof.optimality import OptimalityClaim

__all__ = ["closed_form_duals", "margin", "optimality_claim"]

Floats = npt.NDArray[np.float64]

# Larger proofs are left to the theorem or the bound: a matrix of gains of this many letters is already a megabyte.
_MOST_LETTERS = 2000
_MOST_GAINS = 250


def margin(cone: Cone, duals: Floats) -> float:
    """What the checker's own roundings, and the step from t₋ to t₊, may add to a bound."""
    _, high = cone.entry_box()
    top = float(high.max())
    size = float(np.abs(duals).sum()) * top + top * math.log(max(top, 2.0)) + 1
    return size * (len(duals) + 64) * 2.0**-48


def closed_form_duals(cone: Cone, utility: Utility, bound: float) -> Floats:
    """Duals that prove a closed form: the chords of Theorems 2 and 3, equal shares for Theorem 4."""
    size = len(cone.prior)
    if not isinstance(utility, FInformation) or not isinstance(cone, LiftBox):
        return np.empty(0)
    if len(set(cone.prior.weights.tolist())) == 1:
        return np.full(size, bound / size)
    low, high = cone.entry_box()
    return chord_duals(utility.f, cone.prior.probabilities, low, high)


def optimality_claim(
    cone: Cone,
    asked: Level | None,
    lip: object,
    utility: Utility,
    prior: Prior,
    value: float,
    bound: float,
    duals: Floats,
) -> OptimalityClaim | None:
    """The claim, where the checker knows the constraint and the utility; None where only the finder's word stands."""
    if not isinstance(cone, LiftBox) or len(duals) != len(cone.prior) or len(prior) > _MOST_LETTERS:
        return None
    both = None if lip is None else level(lip, name="lip")
    low = Fraction(0) if both is None else 1 / both.above
    high = min(end.above for end in (asked, both) if end is not None)
    if isinstance(utility, FInformation):
        if not OptimalityClaim.speaks_of(utility.name):
            return None
        return OptimalityClaim(utility.name, low, high, value, bound, duals)
    if isinstance(utility, LinearUtility) and len(prior) <= _MOST_GAINS:
        return OptimalityClaim("gain", low, high, value, bound, duals, utility.gains(prior))
    return None
