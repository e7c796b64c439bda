"""Column generation for any cone and any f-information, priced by climbing and proven by branch and bound."""

from __future__ import annotations

import numpy as np

from leakwise.optimize.bounds.chord import Function
from leakwise.optimize.pricing.branch_and_bound import BranchPricing
from leakwise.optimize.problem.cones import Cone
from leakwise.optimize.search.limits import Found, Limits
from leakwise.optimize.search.master import Master

__all__ = ["search_generic", "search_vertices"]

_ROUNDS = 300
_NODES = 20_000


def search_generic(cone: Cone, f: Function, limits: Limits) -> Found:
    """The optimum over a cone known only through linear programs; exact for small alphabets, bounded for others."""
    pricing = BranchPricing(cone, f)
    p = cone.prior.probabilities
    size = len(p)
    generator = np.random.default_rng(size)
    starts = cone.linear_max(generator.standard_normal((size, 8 * size)))[1]
    columns = np.concatenate([np.ones((size, 1)), starts], axis=1)
    master = Master(p @ f(columns), columns)
    best = (np.inf, np.zeros(size), np.inf)
    stopped = False
    solution = master.solve(limits.remaining)
    for _ in range(_ROUNDS):
        y = solution.duals
        climbed = pricing.climb(y, cone.linear_max(generator.standard_normal((size, 2 * size)) - y[:, None])[1])
        costs = pricing.value(climbed, y)
        better = np.flatnonzero(costs > max(1e-9, limits.tolerance))
        if len(better):
            better = better[np.argsort(-costs[better])[: 2 * size]]
            master.add(p @ f(climbed[:, better]), climbed[:, better])
            solution = master.solve(limits.remaining)
            if limits.exhausted:
                stopped = True
                break
            continue
        # Climbing found nothing more: prove it, or find what it missed.
        found, largest = pricing.price(y, limits, accuracy=max(limits.tolerance, 1e-10), nodes=_NODES)
        bound = float(y.sum()) + max(largest, 0.0)
        if bound < best[0]:
            best = (bound, y, largest)
        limits.tell("columns", solution.value, best[0])
        costs = pricing.value(found, y)
        missed = costs > max(1e-9, limits.tolerance)
        if not missed.any():
            break
        if limits.exhausted:
            stopped = True
            break
        master.add(p @ f(found[:, missed]), found[:, missed])
        solution = master.solve(limits.remaining)
    if not np.isfinite(best[0]):
        _, largest = pricing.price(solution.duals, limits, accuracy=1e-9, nodes=1)
        best = (0.0, solution.duals, largest)
    used = solution.weights > 0
    return Found(master.columns[:, used], solution.weights[used], best[1], best[2], "branch", stopped=stopped)


def search_vertices(cone: Cone, f: Function, vertices: np.ndarray, limits: Limits) -> Found:
    """Return the linear program over a complete list of vertices (N × V), as in [EX] Theorem 5."""
    p = cone.prior.probabilities
    columns = np.concatenate([np.ones((len(p), 1)), vertices], axis=1)
    master = Master(p @ f(columns), columns)
    solution = master.solve(limits.remaining)
    largest = float((master.utilities - solution.duals @ columns).max())
    used, late = solution.weights > 0, limits.exhausted
    return Found(columns[:, used], solution.weights[used], solution.duals, largest + 1e-14, "vertices", stopped=late)
