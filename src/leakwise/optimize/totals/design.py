"""The solution under a limit on all outcomes together, also where there are too many values for a search."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np

from leakwise.errors import NotConverged
from leakwise.exact import Level
from leakwise.lp.blas_threads import one_blas_thread
from leakwise.mechanism import constant
from leakwise.optimize.finish.finished import Solution, integers_of
from leakwise.optimize.problem.cones import Cone, LiftBox, pml_cone
from leakwise.optimize.problem.utilities import FInformation
from leakwise.optimize.problem.utility import Utility
from leakwise.optimize.search.dispatch import search
from leakwise.optimize.search.limits import Limits
from leakwise.optimize.totals.cone import MARGIN, LeakageTotal, without_payment
from leakwise.optimize.totals.envelope_search import LARGEST_LIFT, MOST_LETTERS, search_envelope
from leakwise.optimize.totals.search import listable, search_total
from leakwise.proof import AskedLimits

__all__ = ["total_solution"]

# Larger lifts have weights that are roundings of zero.
_LARGEST_LIFT = 1e12
# f-informations of which a column of largest lift m is worth at most a concave function of m: see leakage_bound.
_CONCAVE = ("mutual_information", "total_variation", "chi_square", "hellinger")


def total_solution(inner: Cone, asked: AskedLimits, goal: Utility, limits: Limits) -> Solution | None:
    """Return the optimum, or the best in the time given with its bound; None where the other limits imply this one.

    ``inner`` is the cone of what each outcome has to keep by itself.
    """
    if asked.envelope is not None:
        return _envelope_solution(inner, *asked.envelope, goal, limits)
    assert asked.maximal_leakage is not None
    total, letters = asked.maximal_leakage.below, inner.prior
    if float(inner.entry_box()[1].max()) <= total or len(letters) <= total:
        return None
    says = goal.best_constant(letters)
    if total - 1 < 8 * MARGIN:
        nothing = constant(letters.alphabet).kernel
        return Solution(nothing, goal.interval(nothing, letters, says)[1], "nothing may leak", says=says)
    cone = LeakageTotal(inner, total)
    cone.limits = inner.limits = limits
    bound = min(leakage_bound(goal, cone), goal.most(letters))
    try:
        with one_blas_thread():
            if cone.most <= _LARGEST_LIFT and listable(cone, goal):
                answer = search_total(cone, goal, limits)
                found = without_payment(integers_of(cone, answer.found, answer.how))
            else:
                # What keeps the lift e^L outcome by outcome keeps it on average; for many values little is lost.
                narrow = pml_cone(letters, total)
                answer = search(narrow, goal, limits, "auto")
                found = integers_of(narrow, answer.found, f"lift e^L for each outcome: {answer.how}")
                found = replace(found, bound=math.inf, duals=np.empty(0))
        limits.stopped |= answer.found.stopped
        duals = np.empty(0) if goal.kind == "frequencies" else found.duals.copy()
        duals[-1:] = np.maximum(duals[-1:], 0.0)  # a price of nothing, a rounding below it
        return replace(found, bound=min(found.bound, bound), duals=duals, root=None, multipliers=None)
    except NotConverged as error:
        return Solution(constant(letters.alphabet).kernel, bound, f"no search: {error}", says=says)


def _envelope_solution(inner: Cone, most: Level, delta: Fraction, goal: Utility, limits: Limits) -> Solution | None:
    """The best mechanism found that keeps an envelope; None where no lift exceeds it anyhow.

    Every such mechanism has maximal leakage log B at most, B = 1 + (t - 1)/(1 - δ): a bound for any number of letters.
    """
    letters = inner.prior
    if most.below * min(letters.fractions) >= 1:
        return None
    assert isinstance(inner, LiftBox)  # every column there is: other limits were refused
    total = 1 + (most.above - 1) / (1 - delta)
    bound = min(leakage_bound(goal, LeakageTotal(inner, total)), goal.most(letters)) if total > 1 else math.inf
    pure = pml_cone(letters, most.below)
    nothing = tuple(Fraction(0) for _ in letters.fractions)
    if most.below - 1 < 8 * MARGIN:
        says, kernel = goal.best_constant(letters), constant(letters.alphabet).kernel
        bound = min(bound, goal.interval(kernel, letters, says)[1])
        return Solution(kernel, bound, "nothing may leak", says=says, dual=nothing)
    try:
        with one_blas_thread():
            if len(letters) <= MOST_LETTERS and float(inner.entry_box()[1].max()) <= LARGEST_LIFT:
                best = search_envelope(inner, most.below, delta, goal, limits)
                found = without_payment(integers_of(best.cone, best.found, best.how))
                return replace(found, bound=min(best.bound, bound), duals=np.empty(0), dual=best.cone.dual)
            answer = search(pure, goal, limits, "auto")
            found = integers_of(pure, answer.found, f"lift e^ε for each outcome: {answer.how}")
            return replace(found, bound=bound, duals=np.empty(0), dual=nothing)
    except NotConverged as error:
        kernel, says = constant(letters.alphabet).kernel, goal.best_constant(letters)
        return Solution(kernel, bound, f"no search: {error}", says=says, dual=nothing)


def leakage_bound(goal: Utility, cone: LeakageTotal) -> float:
    """Return what no mechanism of maximal leakage log B is worth more than; ∞ where nothing is known.

    Of a convex f a column with lifts up to m is worth no more than its chord on [0, m], ψ(m) = f(0) + (f(m) - f(0))/m.
    Where ψ is concave, Σ ρ ψ(m) ≤ ψ(Σ ρ m) = ψ(B): for mutual information that is log B. Frequencies:
    Σ_i π_i J_ii ≤ Σ ρ max λ ≤ B bounds the trace of √π J √π, of which √π is an eigenvector, so that by Cauchy
    tr J⁻¹ - Σ π² ≥ (tr √D)²/(B - 1), D being diag(π) across √π.
    """
    total, p = cone.total_float, cone.letters.probabilities
    if goal.name == "frequencies":
        root = np.sqrt(p)
        across = np.eye(len(p)) - np.outer(root, root)
        spread = np.sqrt(np.linalg.eigvalsh(across @ np.diag(p) @ across)[1:]).sum()  # the first is 0, that of √π
        return -(float(spread) ** 2) / (total - 1) * (1 - 2.0**-30)
    if goal.name not in _CONCAVE or not isinstance(goal, FInformation):
        return math.inf
    low, high = (float(goal.f(np.array([end]))[0]) for end in (0.0, total))
    return (low + (high - low) / total) * (1 + 2.0**-40) + 2.0**-40
