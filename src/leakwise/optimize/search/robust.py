"""Designs that hold for every prior of a set: what ``design`` does when it is given one."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from leakwise.errors import InvalidInput, NotConverged
from leakwise.exact import Level, float_above, level
from leakwise.mechanism import DenseKernel, Kernel, Mechanism
from leakwise.mechanism.catalog import BITS
from leakwise.optimize.bounds.ball import ball_bound
from leakwise.optimize.bounds.chord import Function, chord_duals, chord_maximum
from leakwise.optimize.design_result import Design
from leakwise.optimize.finish.finished import Allowed, Solution, finished
from leakwise.optimize.finish.integers import assemble
from leakwise.optimize.finish.optimality_claim import margin
from leakwise.optimize.finish.utility_interval import utility_interval
from leakwise.optimize.problem.cones import LDPCone
from leakwise.optimize.problem.kept_frequencies import KeptFrequencies
from leakwise.optimize.problem.requested_cone import provable_ratio
from leakwise.optimize.problem.utilities import FInformation, Frequencies, LinearUtility, Utility, as_utility
from leakwise.optimize.search.frequencies import search_frequencies
from leakwise.optimize.search.limits import Found, Limits, Progress
from leakwise.optimize.search.without_search import without_search
from leakwise.priors import Prior, PriorSet
from leakwise.proof import certify, least_mass_prover
from leakwise.types import Floats, Indices

if TYPE_CHECKING:
    from leakwise.optimize.problem.prior_set_cone import RobustCone

__all__ = ["binary_kernel", "conservative_lift", "robust_design"]


_UNIT = 1 << BITS
# Up to so many letters branch and bound closes the gap for any convex set.
_BRANCHED = 7
_FINEST = 1e-9  # the gap that linear programs over a set of priors can be trusted with
_SEARCH = 0.7  # of the time, for a search that others follow
_ATTEMPT = 0.25  # of the time that is left, for one design of the estimate
_NARROWED = "the design of the estimate at the largest ε that the set allows"


def robust_design(
    priors: PriorSet,
    epsilon: object = None,
    *,
    lift: object = None,
    utility: Any = "mutual_information",
    tolerance: float = 1e-9,
    time_limit: float | None = 60.0,
    progress: Progress | None = None,
) -> Design:
    """Return the mechanism of greatest utility at the nominal prior that leaks at most ε for every prior of the set.

    Maximises U(P, π) over max_i p_ij ≤ e^ε min_Q (QP)_j ([ED] problem (9)). Two letters: the closed form for every ε
    and every set (beyond [ED] Theorem 5). Small alphabets: column generation with branch and bound, exact. l1 balls of
    any size: columns of two values, or those of the known prior at a smaller ε, with a bound that needs no search.
    Never worse than local differential privacy at ε, never better than the optimum of the known prior.

    Examples
    --------
    >>> d = robust_design(Prior(["1/2", "1/2"]).ball(1), lift=3)
    >>> d.mechanism.matrix.tolist(), d.method  # every prior: Warner's randomized response ([ED] Remark 3)
    ([[0.75, 0.25], [0.25, 0.75]], 'closed form for two letters (beyond [ED] Theorem 5)')
    """
    return designed_for_all(priors, level(epsilon, lift), as_utility(utility), Limits(tolerance, time_limit, progress))


def designed_for_all(
    priors: PriorSet, asked: Level, goal: Utility, limits: Limits, *, closed_forms: bool = True
) -> Design:
    """Return what :func:`robust_design` returns, within limits that others share."""
    if isinstance(goal, KeptFrequencies):
        from leakwise.optimize.kept_design import kept_for_all

        return kept_for_all(priors, asked, goal, limits)
    limits.tolerance = max(limits.tolerance, _FINEST)
    nominal = priors.nominal
    says: Indices | None = None
    mechanism: Mechanism | None = None
    duals: Floats = np.empty(0)
    root: Floats | None = None
    kernel: Kernel
    if closed_forms and len(nominal) == 2 and not isinstance(goal, LinearUtility):
        kernel, best = binary_kernel(priors, asked.below), binary_kernel(priors, asked.above)
        bound = utility_interval(best, nominal, goal)[1]
        how = "closed form for two letters (beyond [ED] Theorem 5)"
        if nominal.support.all():
            duals, root = goal.column_duals(best, nominal)
            bound += 1e-12 * (1 + abs(bound))
    elif not priors.convex:  # a layer cake
        mechanism, bound = _narrowed(priors, asked, goal, limits)
        kernel, how = mechanism.kernel, _NARROWED
        if isinstance(goal, FInformation) and nominal.support.all():
            other = _everywhere(nominal, asked, goal, limits)
            if utility_interval(other, nominal, goal)[0] > utility_interval(kernel, nominal, goal)[0]:
                kernel, how, mechanism = other, "local differential privacy, the best found", None
    elif isinstance(goal, FInformation) and len(nominal) > _BRANCHED:
        kernel, bound, how, duals = _large(priors, asked, goal, limits)
    else:
        try:
            found, how = _search(priors, asked, goal, limits)
            cone = _cone(priors, asked, limits)
            kernel, says = assemble(cone, found)
            duals, root = found.duals, found.root
            bound = found.bound + (margin(cone, duals) if found.proven is None else 0.0)
        except NotConverged as error:
            kernel, bound, says = without_search(LDPCone(nominal, asked.below), goal)
            how = f"no search: {error}"
    allowed = Allowed(asked, f"PML {asked.words} for every prior of the set", high=asked.above)
    return finished(Solution(kernel, bound, how, duals, root, says, mechanism), priors, goal, allowed, limits)


# ---------------------------------------------------------------------------------------------------- two letters


def binary_kernel(priors: PriorSet, ratio: Fraction) -> DenseKernel:
    """The optimum for two letters, every ε and every set: only the least and the largest mass of a letter matter.

    With l ≤ Q_1 ≤ u, k_1 = max(0, (1-tl)/(t(1-l))), k_2 = max(0, (1-t(1-u))/(tu)):  p_11 = (1-k_2)/(1-k_1k_2) and
    p_21 = k_1 p_11. The integers round p_11 down and p_21 up, which keeps both columns inside.
    """
    # For a layer cake the checker's word is below the set's own, and it is what a certificate rests on.
    prove = least_mass_prover(priors)
    least, most = prove([1, 0]), 1 - prove([0, 1])
    ratio = provable_ratio(priors, ratio)
    first = Fraction(0) if least == 1 else max(Fraction(0), (1 - ratio * least) / (ratio * (1 - least)))
    second = Fraction(0) if most == 0 else max(Fraction(0), (1 - ratio * (1 - most)) / (ratio * most))
    if first * second >= 1:
        return DenseKernel(np.full((2, 1), _UNIT, dtype=np.int64), _UNIT)
    upper = (1 - second) / (1 - first * second)
    lower = first * upper
    p11, p21 = int(upper * _UNIT), -int(-lower * _UNIT // 1)
    weights = np.array([[p11, _UNIT - p11], [p21, _UNIT - p21]], dtype=np.int64)
    return DenseKernel(weights[:, weights.sum(axis=0) > 0], _UNIT)


# --------------------------------------------------------------------------------------------------- small and any


def _search(priors: PriorSet, asked: Level, goal: Utility, limits: Limits) -> tuple[Found, str]:
    found, how = _dispatch(priors, asked, goal, limits)
    limits.stopped |= found.stopped
    return found, how


def _cone(priors: PriorSet, asked: Level, limits: Limits) -> RobustCone:
    from leakwise.optimize.problem.prior_set_cone import RobustCone  # the solver loads when it is first needed

    cone = RobustCone(priors, provable_ratio(priors, asked.below))
    cone.limits = limits
    return cone


def _dispatch(priors: PriorSet, asked: Level, goal: Utility, limits: Limits) -> tuple[Found, str]:
    from leakwise.optimize.search.lift_ranges import search_ranges
    from leakwise.optimize.search.robust_columns import search_convex, search_gains

    cone = _cone(priors, asked, limits)
    if isinstance(goal, LinearUtility):
        return search_gains(cone, goal.gains(priors.nominal), limits), "columns, one linear program for each guess"
    if isinstance(goal, Frequencies):
        if not priors.nominal.support.all():
            raise InvalidInput(
                "The utility 'frequencies' needs an estimate that has seen every letter: frequencies of letters never "
                "seen cannot be weighed. Use another utility, or merge the letters never seen."
            )
        return search_frequencies(cone, limits), "columns, least trace of the inverse information"
    if isinstance(goal, FInformation):
        where = cone.lift_range()
        if where is not None:
            return search_ranges(cone, where, goal.f, limits), "columns of two values, priced set by set"
        return search_convex(cone, goal.f, limits), "columns, priced by branch and bound"
    raise InvalidInput(f"No robust search knows the utility {goal.name!r}: use FInformation, Gain or Expected.")


# ------------------------------------------------------------------------------------------------------------ large


def conservative_lift(ball: PriorSet, lift: Fraction) -> Fraction:
    """The e^{ε''} at the estimate that serves e^ε = ``lift`` on the whole ball; 1 when none does.

    e^ε/(1 + ce^ε) always; e^ε(1 + c/π_min)/(1 + ce^ε/π_min) where it is larger, as in the first privacy region.
    """
    c = ball.moved
    assert c is not None  # an l1 ball
    serves = [Fraction(1), lift / (1 + c * lift)]
    if ball.nominal.support.all():
        share = c / ball.nominal.least_probability
        serves.append(lift * (1 + share) / (1 + share * lift))
    return max(serves)


def _large(priors: PriorSet, asked: Level, goal: FInformation, limits: Limits) -> tuple[Kernel, float, str, Floats]:
    """The best of several inner designs, each proven on integers, with a bound on all columns of the cone."""
    from leakwise.optimize.problem.prior_set_cone import ball_range
    from leakwise.optimize.search.lift_ranges import search_ranges

    nominal, f = priors.nominal, goal.f
    candidates: list[tuple[Kernel, str]] = [
        (DenseKernel(np.full((len(nominal), 1), _UNIT, dtype=np.int64), _UNIT), "only a constant release is allowed")
    ]
    bound, duals = _known_prior_bound(priors, asked, f), np.empty(0)
    cone = _cone(priors, asked, limits)
    where = ball_range(priors, cone.ratio)
    if where is not None:
        if where.pieces[0][0]:
            bound = min(bound, ball_bound(priors, asked.above, f)[0])  # type: ignore[arg-type]
        found = search_ranges(cone, where, f, limits)
        candidates.append((assemble(cone, found)[0], "columns of two values"))
        if cone.lift_range() is not None and found.bound < bound:
            bound, duals = found.bound + margin(cone, found.duals), found.duals
        if priors.moved is not None and (narrower := conservative_lift(priors, asked.below)) > 1:
            candidates.append((_at_estimate(nominal, narrower, goal, limits), "columns of the estimate at a smaller ε"))
    else:
        searching, closed = limits.until(_SEARCH), False
        try:
            found, how = _search(priors, asked, goal, searching)
            candidates.append((assemble(cone, found)[0], how))
            if found.bound < bound:
                bound, duals = found.bound, found.duals
            closed = found.bound - found.weights @ (nominal.probabilities @ f(found.lifts)) <= 1e-6
        except NotConverged:
            pass  # no time for it, or numbers too extreme: the other ways need no program
        limits.stopped |= searching.stopped
        if not closed:
            candidates.append((_narrowed(priors, asked, goal, limits)[0].kernel, _NARROWED))
    if nominal.support.all() and cone.lift_range() is None:
        candidates.append((_everywhere(nominal, asked, goal, limits), "local differential privacy, the best found"))
    best = max(candidates, key=lambda pair: utility_interval(pair[0], nominal, goal)[0])
    return best[0], bound, best[1], duals


def _narrowed(priors: PriorSet, asked: Level, goal: Utility, limits: Limits) -> tuple[Mechanism, float]:
    """The design of the estimate at the largest ε found whose integers keep the level on the whole set; and a bound."""
    from leakwise.mechanism import constant
    from leakwise.optimize.design import designed

    def attempt(lift: Fraction) -> tuple[Design, bool]:
        d = designed(priors.nominal, level(lift=lift), goal, None, None, "auto", limits.part(_ATTEMPT))
        return d, certify(d.mechanism, priors, lift=asked.below).holds

    known, holds = attempt(asked.below)
    if holds:
        return known.mechanism, known.bound
    best, low, high = constant(priors.alphabet), Fraction(1), asked.below
    for _ in range(10):
        if limits.exhausted:
            limits.stopped = True
            break
        middle = (low + high) / 2
        d, holds = attempt(middle)
        low, high = (middle, high) if holds else (low, middle)
        best = d.mechanism if holds else best
    return best, known.bound


def _known_prior_bound(priors: PriorSet, asked: Level, f: Function) -> float:
    """The chord bound of the known prior: no set that holds it makes more possible."""
    if not priors.holds_nominal:
        return np.inf
    nominal = priors.nominal
    p = nominal.probabilities[nominal.support]
    low, high = np.zeros(len(p)), np.minimum(float_above(asked.above), 1 / p)
    duals = chord_duals(f, p, low, high)
    return float(duals.sum()) + max(chord_maximum(f, p, low, high, duals), 0.0)


def _at_estimate(nominal: Prior, lift: Fraction, goal: FInformation, limits: Limits) -> Kernel:
    from leakwise.optimize.design import designed

    return designed(nominal, level(lift=lift), goal, None, None, "auto", limits.part(_ATTEMPT)).mechanism.kernel


def _everywhere(nominal: Prior, asked: Level, goal: FInformation, limits: Limits) -> Kernel:
    """The best found for local differential privacy, which serves every set."""
    from leakwise.optimize.search.lift_ranges import search_ranges

    cone = LDPCone(nominal, asked.below)
    return assemble(cone, search_ranges(cone, cone.lift_range(), goal.f, limits))[0]
