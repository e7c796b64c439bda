"""What a design claims about its optimality, in the form that the independent checker takes."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from leakwise.leakage.measures.divergences import DIVERGENCES
from leakwise.lp.blas_threads import one_blas_thread
from leakwise.optimize.problem.cones import Cone
from leakwise.optimize.problem.utility import Utility
from leakwise.optimize.search.limits import Found, Limits
from leakwise.priors import Prior, PriorSet
from leakwise.proof import OptimalityClaim, ValueBox, is_checked, is_exact, proven_bound
from leakwise.types import Floats

__all__ = ["bound_of", "close_to", "margin", "optimality_claim"]

_HEAVIEST = 10**300  # lifts above it, or their sums, are beyond floats
_SLACKS = (0.0, 1e-11, 1e-9)
_TERMS = 64  # times the bound: more than the terms of a small one add up to
_CUT = 2e-8  # where the checker cuts boxes for a set of priors it looks no closer: more slack would show the same
_CONFIRMED = 4  # bounds that the checker is asked to show again
_NEARLY = 1e-7  # of a bound, what the checker's may be above the search's to be given in its place
_LOGARITHMIC = (6e-8, 1e-6)  # sets that rest on logarithms are designed for a slightly smaller ratio


def margin(cone: Cone, duals: Floats, bound: float) -> float:
    """Return what the checker's own roundings, and the step from t₋ to t₊, may add to a bound.

    It is little where the bound is: the checker's terms are no larger than what they add up to, but for a few of them,
    and where t is nearly 1 a step of it counts for more.
    """
    _, high = cone.entry_box()
    # A lift is at most 1/π_i: what a letter weighs in the sums is bounded, however large e^ε is.
    p = cone.prior.probabilities
    letters = np.abs(duals) if len(duals) == len(p) else np.zeros(len(p))
    logs = np.log(np.maximum(high, 2.0))
    size = float(letters @ high) + float((p * high * np.minimum(high, 1e3) + p * high * logs).sum()) + 1
    top = max(float(high.max()), 1 + 2.0**-52)
    return min(size, _TERMS * bound * top / (top - 1) if bound > 0 else math.inf) * (len(p) + 48) * 2.0**-49


def bound_of(cone: Cone, found: Found) -> float:
    """Return the bound that a search has proven, with the margin where it rests on duals."""
    return found.bound + (margin(cone, found.duals, found.bound) if found.proven is None else 0.0)


@one_blas_thread()
def optimality_claim(
    draft: OptimalityClaim,
    utility: Utility,
    priors: PriorSet,
    limits: Limits,
    unchecked: str | None = None,
    box: ValueBox | None = None,
) -> tuple[OptimalityClaim | None, str | None]:
    """The claim of a design, with the bound that the checker can show for it; else the reason for none.

    ``box`` is what limits of single values leave of the lifts.
    """
    if math.isnan(draft.value) or math.isnan(draft.bound) or (draft.high is not None and draft.high > _HEAVIEST):
        return None, "probabilities or lifts beyond floats"
    if unchecked is not None:
        return None, unchecked
    if not is_checked(priors):
        return None, f"no checker for a {type(priors).__name__}"
    claim, remark = utility.claim(draft, priors)
    if claim is None:
        return None, remark
    if claim.utility in DIVERGENCES and isinstance(priors, Prior) and claim.ldp is None and box is None:
        # Where chords alone show no more they need no duals, and no sums with roundings of their own.
        chords = replace(claim, duals=np.empty(0))
        alone = proven_bound(chords, priors)
        alone += abs(alone) * _SLACKS[1]
        if alone <= claim.bound:
            return replace(chords, bound=alone), None
    bound, shown = claim.bound, math.inf
    cut = claim.utility in DIVERGENCES and not isinstance(priors, Prior)
    for slack in _SLACKS if is_exact(priors) else _LOGARITHMIC:
        # Where the checker's roundings are in the way, a bound that is hardly larger is shown without its fallbacks.
        claim = replace(claim, bound=bound + slack * (abs(bound) if isinstance(priors, Prior) else 1 + abs(bound)))
        if not shown <= claim.bound:
            shown = proven_bound(claim, priors, lambda: limits.exhausted, box)
        if shown <= claim.bound:
            return claim, None
        if limits.exhausted or (cut and shown <= bound + _CUT * (1 + abs(bound))):
            break
    if claim.utility in DIVERGENCES and len(claim.duals):
        chords = replace(claim, duals=np.empty(0))  # where the duals cannot be shown, their chords may do better
        alone = proven_bound(chords, priors, lambda: limits.exhausted, box)
        claim, shown = (chords, alone) if alone < shown else (claim, shown)
    for _ in range(_CONFIRMED):
        if not math.isfinite(shown):
            break
        claim = replace(claim, bound=shown)
        if limits.exhausted or not cut:
            return claim, None
        # Told to show another bound, the checker may cut boxes in another order and fall short of it.
        shown = proven_bound(claim, priors, lambda: limits.exhausted, box)
        if shown <= claim.bound:
            return claim, None
    return None, "no bound of the checker's own"


def close_to(claim: OptimalityClaim | None, priors: PriorSet, bound: float) -> float:
    """Return the bound of a design: that of its claim, unless the checker falls far short of what the search has shown.

    Where a set rests on logarithms the search has looked at a slightly smaller ratio: then only the checker's word
    counts.
    """
    if claim is None:
        return bound if is_exact(priors) else bound + 1e-6 * (1 + abs(bound))
    return bound if is_exact(priors) and claim.bound - bound > _NEARLY * abs(bound) else claim.bound
