"""Searches over the cone of a set of priors: what it contains and what it lies in, where it is too large itself.

Inside it lie, for every set, ε-LDP and the mechanisms of the estimate at a smaller ε; for an l1 ball also columns of
two values. It lies in the cone of the estimate, where that is one of the set. So there is always a mechanism and a
bound, however many letters there are.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from leakwise.errors import NotConverged
from leakwise.exact import float_above
from leakwise.optimize.bounds.ball import ball_bound
from leakwise.optimize.bounds.chord import chord_duals, chord_maximum
from leakwise.optimize.finish.integers import assemble
from leakwise.optimize.problem.cones import LDPCone, LiftBox
from leakwise.optimize.problem.prior_set_cone import RobustCone, ball_range, conservative_lift
from leakwise.optimize.problem.utilities import FInformation
from leakwise.optimize.problem.utility import Utility
from leakwise.optimize.search.any_cone import BRANCHED, FINEST, search_any, search_generic
from leakwise.optimize.search.lift_ranges import search_ranges
from leakwise.optimize.search.limits import Answer, Found, Limits
from leakwise.optimize.search.set_levels import has_levels, search_levels
from leakwise.types import Floats

__all__ = ["search_narrowed", "search_set"]

_SEARCH = 0.7  # of the time, for a search that others follow
_ATTEMPT = 0.25  # of the time that is left, for one design of the estimate
_STEPS = 10
_LEVELS = "columns of few values, improved letter by letter"
_TWO_VALUES = "columns of two values, priced set by set"
_EVERYWHERE = "local differential privacy, the best found"
_ABOVE = 1 + Fraction(1, 1 << 50)  # from t₋ to t₊, and more


def search_set(cone: RobustCone, utility: FInformation, limits: Limits) -> Answer:
    """The optimum for an f-information over a convex set of priors: exact for few letters, the best known for many."""
    limits.tolerance = max(limits.tolerance, FINEST)
    f, everything = utility.f, cone.lift_range()
    if len(cone.prior) <= BRANCHED and everything is not None:
        return Answer(search_ranges(cone, everything, f, limits), _TWO_VALUES)
    if len(cone.prior) <= BRANCHED:
        return search_any(cone, utility, limits)
    if has_levels(cone):
        found, bound = search_levels(cone, f, limits), _without_search(cone, utility)
        return Answer(found if found.bound <= bound else replace(found, duals=np.empty(0), proven=bound), _LEVELS)
    candidates, proofs = list[Answer](), list[Found]()
    where = ball_range(cone.priors, cone.ratio)
    if where is not None:
        candidates.append(Answer(search_ranges(cone, where, f, limits), _TWO_VALUES))
        proofs += [candidates[0].found] if everything is not None else []
        if (narrower := conservative_lift(cone.priors, cone.ratio)) > 1:
            found = _at_estimate(cone, narrower, utility, limits)
            candidates.append(Answer(found, "columns of the estimate at a smaller ε"))
    else:
        searching = limits.until(_SEARCH)
        try:
            found = search_generic(cone, utility, searching)
            candidates.append(Answer(found, "columns, priced by branch and bound"))
            proofs.append(found)
        except NotConverged:
            pass  # no time for it, or numbers too extreme: the other ways need no program
        limits.stopped |= searching.stopped
        if not proofs or proofs[0].bound - _worth(cone, utility, proofs[0]) > 1e-6:
            candidates.append(search_narrowed(cone, utility, limits))
    candidates += _everywhere(cone, utility, limits) if everything is None else []
    best = max(candidates, key=lambda answer: _worth(cone, utility, answer.found))
    bound = _without_search(cone, utility)
    proof = min(proofs, key=lambda found: found.bound, default=None)
    if proof is None or bound < proof.bound:
        return replace(best, found=replace(best.found, duals=np.empty(0), proven=bound))
    return replace(best, found=replace(best.found, duals=proof.duals, largest=proof.largest, proven=proof.proven))


def search_narrowed(cone: RobustCone, utility: Utility, limits: Limits) -> Answer:
    """The design of the estimate at the largest ε found that the whole set allows: for sets that need not be convex."""
    limits.tolerance = max(limits.tolerance, FINEST)
    known = _at_estimate(cone, cone.ratio, utility, limits)
    low, high, steps = Fraction(1), cone.ratio, _STEPS
    best = _constant(cone, utility)
    if _inside(cone, known):
        best, steps = known, 0
    for _ in range(steps):
        if limits.exhausted:
            limits.stopped = True
            break
        middle = (low + high) / 2
        found = _at_estimate(cone, middle, utility, limits)
        inside = _inside(cone, found)
        low, high, best = (middle, high, found) if inside else (low, middle, best)
    bound = min(known.bound if cone.priors.holds_nominal else np.inf, utility.most(cone.prior))
    answers = [Answer(best, "the design of the estimate at the largest ε that the set allows")]
    answers += _everywhere(cone, utility, limits)
    answer = max(answers, key=lambda answer: _worth(cone, utility, answer.found))
    return replace(answer, found=replace(answer.found, duals=np.empty(0), root=None, proven=bound))


def _at_estimate(cone: RobustCone, lift: Fraction, utility: Utility, limits: Limits) -> Found:
    """The optimum for the estimate alone; letters that it gives no mass have lift 1, which tells nothing."""
    from leakwise.optimize.search.dispatch import search

    seen = np.flatnonzero(cone.prior.support)
    box = LiftBox(cone.prior.reordered(seen), Fraction(0), lift)
    if lift == 1:
        return _constant(cone, utility)
    part = limits.part(_ATTEMPT)
    found = search(box, utility.on_support(cone.prior), part, "columns").found
    limits.stopped |= part.stopped

    def spread(lifts: Floats) -> Floats:
        whole = np.ones((len(cone.prior), lifts.shape[1]))
        whole[seen] = lifts
        return whole

    def inner() -> tuple[Floats, Floats] | None:
        smaller = None if found.inner is None else found.inner()
        return None if smaller is None else (spread(smaller[0]), smaller[1])

    return replace(found, lifts=spread(found.lifts), inner=inner)


def _inside(cone: RobustCone, found: Found) -> bool:
    """Whether integers made of the columns are in the cone, up to what rounding and mixing may move them."""
    kernel, _ = assemble(LiftBox(cone.prior, Fraction(0), 1 / min(m for m in cone.prior.fractions if m)), found)
    return all(cone.contains(column) for column in kernel.weights.T.tolist())


def _constant(cone: RobustCone, utility: Utility) -> Found:
    ones = np.ones((len(cone.prior), 1))
    return Found(ones, np.ones(1), np.empty(0), 0.0, "constant", utility.best_constant(cone.prior))


def _everywhere(cone: RobustCone, utility: Utility, limits: Limits) -> list[Answer]:
    """The best found for local differential privacy, which serves every set."""
    from leakwise.optimize.search.dispatch import search

    if utility.kind != "information" or not cone.prior.support.all():
        return []
    return [Answer(search(LDPCone(cone.prior, cone.ratio), utility, limits, "columns").found, _EVERYWHERE)]


def _worth(cone: RobustCone, utility: Utility, found: Found) -> float:
    return utility.value(found.lifts, found.weights, cone.prior)


def _without_search(cone: RobustCone, utility: FInformation) -> float:
    """The chord bound of the estimate, where it is in the set, and for an l1 ball one that no column of it exceeds."""
    bound, f = utility.most(cone.prior), utility.f
    if cone.priors.holds_nominal:
        p = cone.prior.probabilities[cone.prior.support]
        low, high = np.zeros(len(p)), np.minimum(float_above(cone.ratio * _ABOVE), 1 / p)
        duals = chord_duals(f, p, low, high)
        bound = min(bound, float(duals.sum()) + max(chord_maximum(f, p, low, high, duals), 0.0))
    if cone.priors.moved is not None:
        bound = min(bound, ball_bound(cone.priors, cone.ratio * _ABOVE, f))
    return bound
