"""What a design claims about its optimality, in the form that the independent checker takes."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np

from leakwise.exact import Level, level
from leakwise.leakage.measures.divergences import DIVERGENCES
from leakwise.mechanism import Kernel
from leakwise.optimize.bounds.chord import chord_duals
from leakwise.optimize.problem.cones import Cone, LiftBox
from leakwise.optimize.problem.utilities import FInformation, Frequencies, LinearUtility, Utility
from leakwise.optimize.search.limits import Limits
from leakwise.priors import AllPriors, Ball, Box, Hull, KLBall, Prior, PriorSet
from leakwise.proof import OptimalityClaim, is_exact, proven_bound
from leakwise.types import Floats

__all__ = ["close_to", "closed_form_duals", "column_duals", "margin", "optimality_claim", "set_claim"]


# Larger alphabets are proven by chords, without duals; a matrix of gains of so many entries is already two megabytes.
_MOST_LETTERS = 4096
_MOST_GAINS = 90_000
_MOST_SOLVED = 300
_SLACKS = (0.0, 1e-11, 1e-9)
_LOGARITHMIC = (6e-8, 1e-6)  # sets that rest on logarithms are designed for a slightly smaller ratio


def margin(cone: Cone, duals: Floats) -> float:
    """Return what the checker's own roundings, and the step from t₋ to t₊, may add to a bound."""
    _, high = cone.entry_box()
    # A lift is at most 1/π_i: what a letter weighs in the sums is bounded, however large e^ε is.
    p = cone.prior.probabilities
    letters = np.abs(duals) if len(duals) == len(p) else np.zeros(len(p))
    logs = np.log(np.maximum(high, 2.0))
    size = float(letters @ high) + float((p * high * np.minimum(high, 1e3) + p * high * logs).sum()) + 1
    return size * (len(p) + 48) * 2.0**-49


def closed_form_duals(cone: Cone, utility: Utility, bound: float) -> Floats:
    """Return duals that prove a closed form: the chords of Theorems 2 and 3, equal shares for Theorem 4."""
    size = len(cone.prior)
    if not isinstance(utility, FInformation) or not isinstance(cone, LiftBox):
        return np.empty(0)
    if len(set(cone.prior.weights.tolist())) == 1:
        return np.full(size, bound / size)
    low, high = cone.entry_box()
    return chord_duals(utility.f, cone.prior.probabilities, low, high)


def column_duals(kernel: Kernel, prior: Prior, utility: Utility) -> tuple[Floats, Floats | None]:
    """Duals that leave the columns of a mechanism no reduced cost, for optima that are the only ones made of vertices.

    For ``frequencies`` a column is worth |J⁻¹λ|², and J⁻¹ comes with them.
    """
    if len(prior) > _MOST_SOLVED or not isinstance(utility, (FInformation, Frequencies)):
        return np.empty(0), None
    mass = kernel.output_law_floats(prior.weights, prior.denominator)
    used = mass > 0
    lifts = kernel.matrix[:, used] / mass[used]
    root = None
    if isinstance(utility, FInformation):
        worth = prior.probabilities @ utility.f(lifts)
    else:
        try:
            root = np.asarray(np.linalg.inv((lifts * mass[used]) @ lifts.T), dtype=np.float64)
        except np.linalg.LinAlgError:
            return np.empty(0), None
        worth = np.sum((root @ lifts) ** 2, axis=0)
    if not (np.isfinite(lifts).all() and np.isfinite(worth).all()):
        return np.empty(0), None
    duals: Floats = np.linalg.lstsq(lifts.T, worth, rcond=None)[0]
    return duals, root


def optimality_claim(
    cone: Cone,
    asked: Level | None,
    ldp: object,
    lip: object,
    utility: Utility,
    prior: Prior,
    value: float,
    bound: float,
    duals: Floats,
    root: Floats | None,
    limits: Limits,
) -> tuple[OptimalityClaim | None, str | None]:
    """The claim of a design for a known prior, with the bound that the checker can show; else the reason for none."""
    both = None if lip is None else level(lip, name="lip")
    low = Fraction(0) if both is None else 1 / both.above
    high = min((end.above for end in (asked, both) if end is not None), default=None)
    other = None if ldp is None else level(ldp, name="ldp").above
    if isinstance(cone, LiftBox) and cone.high == 1:
        low, high, other = Fraction(0), Fraction(1), None  # only constant columns are left
        if asked is not None:
            high = asked.above
    return _shown(utility, prior, prior, value, bound, duals, root, low, high, other, limits)


def set_claim(
    asked: Level,
    utility: Utility,
    priors: PriorSet,
    value: float,
    bound: float,
    duals: Floats,
    root: Floats | None,
    limits: Limits,
) -> tuple[OptimalityClaim | None, str | None]:
    """Return the claim of a design for every prior of a set, as :func:`optimality_claim`."""
    if not isinstance(priors, (AllPriors, Ball, Box, Hull, KLBall)):
        return None, f"no checker for a {type(priors).__name__}"
    return _shown(utility, priors, priors.nominal, value, bound, duals, root, Fraction(0), asked.above, None, limits)


def _shown(
    utility: Utility,
    priors: PriorSet,
    prior: Prior,
    value: float,
    bound: float,
    duals: Floats,
    root: Floats | None,
    low: Fraction,
    high: Fraction | None,
    ldp: Fraction | None,
    limits: Limits,
) -> tuple[OptimalityClaim | None, str | None]:
    if math.isnan(value) or math.isnan(bound):
        return None, "probabilities or lifts beyond floats"
    letters = int(priors.support.sum())
    name, gains, guesses = utility.name, None, None
    if isinstance(utility, FInformation):
        # The checker knows the function by its own name, whatever the user calls it.
        name = next((known for known, f in DIVERGENCES.items() if f is utility.f), "")
        if not name:
            return None, "a Python function cannot be stored"
        if letters > _MOST_LETTERS:
            duals = np.empty(0)  # the chords prove the bound of large alphabets, and the checker knows them
    elif isinstance(utility, LinearUtility):
        if name != "guessing":
            name, gains = "gain", utility.gains(prior)
        guesses = utility.says(prior).labels if gains is not None else None
        if len(duals) != letters:
            return None, "nothing was searched, so there are no duals"
        if letters > _MOST_LETTERS or (gains is not None and gains.size > _MOST_GAINS):
            return None, f"too large a proof ({letters:,} letters)"
    elif isinstance(utility, Frequencies):
        if not math.isfinite(value) or not math.isfinite(bound) or not len(duals):
            return None, "its error is not finite, or not proven"
    else:
        return None, f"no checker for the utility {name!r}"
    claim = OptimalityClaim(name, low, high, value, max(bound, value), duals, gains, ldp, root, guesses)
    shown = math.inf
    for slack in _SLACKS if is_exact(priors) else _LOGARITHMIC:
        # Where the checker's roundings are in the way, a bound that is hardly larger is shown without its fallbacks.
        claim = replace(claim, bound=max(bound, value) + slack * (1 + abs(bound)))
        shown = proven_bound(claim, priors, lambda: limits.exhausted)
        if shown <= claim.bound:
            return claim, None
        if limits.exhausted:
            break
    if isinstance(utility, FInformation) and len(claim.duals):
        chords = replace(claim, duals=np.empty(0))  # where the duals cannot be shown, their chords may do better
        alone = proven_bound(chords, priors, lambda: limits.exhausted)
        claim, shown = (chords, alone) if alone < shown else (claim, shown)
    if not math.isfinite(shown):
        return None, "no bound of the checker's own"
    return replace(claim, bound=shown), None


def close_to(claim: OptimalityClaim | None, priors: PriorSet, bound: float) -> float:
    """Return the bound of a design: that of its claim, unless the checker falls far short of what the search has shown.

    Where a set rests on logarithms the search has looked at a slightly smaller ratio: then only the checker's word
    counts.
    """
    if claim is None:
        return bound if is_exact(priors) else bound + 1e-6 * (1 + abs(bound))
    return bound if is_exact(priors) and claim.bound - bound > 1e-6 * max(1.0, abs(bound)) else claim.bound
