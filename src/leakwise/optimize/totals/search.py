"""The search under a limit on maximal leakage: over sets of letters, all of which are priced where they are listed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from leakwise.optimize.pricing.vertex_list import box_vertices
from leakwise.optimize.problem.labelled_utilities import LinearUtility
from leakwise.optimize.problem.utilities import FInformation
from leakwise.optimize.problem.utility import Utility
from leakwise.optimize.search.any_cone import search_any
from leakwise.optimize.search.frequencies import Aim, search_frequencies
from leakwise.optimize.search.generate import Generated, Priced, generate
from leakwise.optimize.search.labelled import search_labelled
from leakwise.optimize.search.limits import Answer, Found, Limits
from leakwise.optimize.search.master import Master, MasterSolution
from leakwise.optimize.totals.cone import LeakageTotal, TotalCone
from leakwise.optimize.totals.utility import paying
from leakwise.types import Bools, Floats, Indices

__all__ = ["found_in", "largest_cost", "leakage_columns", "listable", "paying_master", "search_total"]

_LISTED = 12  # letters: so many have some thousand columns
_PRICED = 16  # for frequencies, whose columns join one after the other
_SUBSETS = 18  # and so many a quarter of a million sets
_ADDED = 200
_CLOSE = 1e-11


def listable(cone: TotalCone, goal: Utility) -> bool:
    """Return whether :func:`search_total` comes to an end: few letters, or linear programs alone."""
    if goal.kind == "frequencies":
        if not isinstance(cone, LeakageTotal) or cone.boxed is None:
            return False
        return len(cone.letters) <= (_PRICED if cone.unlimited else _LISTED)
    if goal.labelled or not isinstance(cone, LeakageTotal) or cone.boxed is None:
        return True
    return len(cone.letters) <= (_SUBSETS if isinstance(goal, FInformation) else _LISTED)


def search_total(cone: TotalCone, goal: Utility, limits: Limits) -> Answer:
    """Return the optimum over the columns that pay for themselves."""
    utility = paying(goal, cone.letters)
    if isinstance(utility, LinearUtility):
        return search_labelled(cone, utility, limits)
    box = cone.boxed if isinstance(cone, LeakageTotal) else None
    if box is None or not isinstance(cone, LeakageTotal):
        return search_any(cone, utility, limits)
    if goal.kind == "frequencies":
        columns = leakage_columns(cone)
        found = search_frequencies(cone, limits, columns, Aim(unseen=1))
        if not len(found.duals) or found.duals[-1] < 0:  # of those that use the whole total alone
            found = replace(found, proven=np.inf)
        return Answer(found, f"all {columns.shape[1]:,} extreme columns listed, least trace of the inverse information")
    if len(cone.letters) <= _LISTED:
        return _listed(cone, utility, limits)
    assert isinstance(goal, FInformation)  # or it is not listable
    return _by_sets(cone, goal, limits)


def leakage_columns(cone: LeakageTotal) -> Floats:
    """Return every extreme column with its payment: indicators of sets of letters, and vertices at the largest lift."""
    p, box = cone.letters.probabilities, cone.boxed
    assert box is not None
    raised = _subsets(len(p))
    mass = p @ raised
    allowed = np.full(len(mass), True) if cone.unlimited else mass * box.high_float >= 1  # 1/π_i is rounded, too
    whole = raised[:, allowed] / mass[allowed]
    lifts = whole if cone.unlimited else np.concatenate([whole, box_vertices(p, 0.0, box.high_float)], axis=1)
    return _with_payment(lifts, cone)


def _subsets(size: int) -> Bools:
    every: Bools = ((np.arange(1, 2**size)[None, :] >> np.arange(size)[:, None]) & 1).astype(bool)
    return every


def _with_payment(lifts: Floats, cone: LeakageTotal) -> Floats:
    return np.concatenate([lifts, lifts.max(axis=0, keepdims=True) / cone.total_float])


def _listed(cone: LeakageTotal, utility: Utility, limits: Limits) -> Answer:
    def search(of: LeakageTotal) -> Found:
        columns = leakage_columns(of)
        master = paying_master(utility.columns_worth(columns, of.prior), columns)
        return _found(master, generate(master, lambda solution: _every(master, solution), limits))

    columns = 2 ** len(cone.letters) - 1 if cone.unlimited else leakage_columns(cone).shape[1]
    return Answer(_with_inner(search, cone, limits), f"all {columns:,} extreme columns listed")


def _by_sets(cone: LeakageTotal, goal: FInformation, limits: Limits) -> Answer:
    """Column generation: an indicator is worth what its mass says, and every set is priced in each round.

    Where lifts are limited only the indicators among the extreme columns are looked at: then they prove no bound.
    """
    mass, free, box = _sums(cone.letters.probabilities), cone.unlimited, cone.boxed
    assert box is not None
    worth = mass * goal.f(1 / mass) + (1 - mass) * float(goal.f(np.zeros(1))[0])

    def search(of: LeakageTotal) -> Found:
        def columns(places: Indices) -> Floats:
            raised = (((places + 1)[None, :] >> np.arange(len(of.letters))[:, None]) & 1).astype(bool)
            return _with_payment(raised / mass[places], of)

        first = np.append(1 << np.arange(len(of.letters)), len(mass)) - 1
        allowed = np.full(len(mass), True) if free else mass * box.high_float * (1 - 2.0**-39) >= 1
        first = first[allowed[first]]
        master = paying_master(worth[first], columns(first))

        def price(solution: MasterSolution) -> Priced:
            costs = worth - (_sums(solution.duals[:-1]) + solution.duals[-1] / of.total_float) / mass
            costs = np.where(allowed, costs, -np.inf)
            best = np.argpartition(-costs, min(_ADDED, len(costs) - 1))[:_ADDED]
            best = best[costs[best] > _CLOSE]
            return Priced(worth[best], columns(best), largest_cost(costs, solution))

        found = _found(master, generate(master, price, limits))
        return found if free else replace(found, largest=np.inf)

    which = "every set of values" if free else "every set of values that the lift allows"
    return Answer(_with_inner(search, cone, limits), f"columns, {which} priced")


def paying_master(worth: Floats, columns: Floats, constant: float = 0.0) -> Master:
    """Return the master over columns, the constant one, and what is left of the total, which is worth nothing."""
    ones, rest = np.ones((len(columns), 1)), np.eye(len(columns))[:, -1:]
    return Master(np.concatenate([[constant, 0.0], worth]), np.concatenate([ones, rest, columns], axis=1))


def _every(master: Master, solution: MasterSolution) -> Priced:
    """Nothing is missing where every column is in the master; what floats leave open is priced once more."""
    costs = np.delete(master.utilities - solution.duals @ master.columns, 1)
    return Priced(np.empty(0), np.empty((len(master.columns), 0)), largest_cost(costs, solution))


def largest_cost(costs: Floats, solution: MasterSolution) -> float:
    """Return what reduced costs add to a bound: columns weigh one in all, what is left of the total at most one."""
    return max(float(costs.max()), 0.0) + max(-float(solution.duals[-1]), 0.0)


def _found(master: Master, done: Generated) -> Found:
    found = found_in(master, done.solution)
    largest = done.proof.largest + 1e-13 * (1 + float(np.abs(done.proof.duals).sum()))
    return replace(found, duals=done.proof.duals, largest=largest, stopped=done.stopped)


def found_in(master: Master, solution: MasterSolution) -> Found:
    """Return the columns in use; what is left of the total is shared among them, for it may pay for nothing."""
    weights, left = np.delete(solution.weights, 1), float(solution.weights[1])
    columns, used = np.delete(master.columns, 1, axis=1), weights > 0
    columns, weights = columns[:, used].copy(), weights[used]
    columns[-1] += left / float(weights.sum())
    return Found(columns, weights, solution.duals, np.inf, "sets")


def _with_inner(search: Callable[[LeakageTotal], Found], cone: LeakageTotal, limits: Limits) -> Found:
    """What a search finds, and how it finds the same for a slightly smaller cone: that, rounded, keeps its zeros."""

    def inner() -> tuple[Floats, Floats] | None:
        smaller = None if limits.exhausted else cone.slightly_smaller()
        again = None if smaller is None else search(smaller)
        return None if again is None or again.stopped else (again.lifts, again.weights)

    return replace(search(cone), inner=inner)


def _sums(values: Floats) -> Floats:
    """Return the sum of the values of every set but the empty one, in the order of binary numbers."""
    sums = np.zeros(1)
    for value in values:
        sums = np.concatenate([sums, sums + value])
    return sums[1:]
