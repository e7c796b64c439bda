"""Column generation for any cone and any convex utility, priced by climbing and proven by branch and bound."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from leakwise.optimize.pricing.branch_and_bound import BranchPricing
from leakwise.optimize.pricing.vertex_list import polytope_vertices
from leakwise.optimize.problem.cones import Cone
from leakwise.optimize.problem.utility import Utility
from leakwise.optimize.search.generate import Priced, Proof, generate
from leakwise.optimize.search.limits import Answer, Found, Limits
from leakwise.optimize.search.master import Master, MasterSolution
from leakwise.types import Floats

__all__ = ["search_any", "search_generic", "search_vertices"]

_ROUNDS = 200
# Up to so many letters branch and bound closes the gap: there it may take its time.
BRANCHED = 7
_LISTED = 6  # up to so many letters vertices are no closer to each other than floats tell
_NODES = {True: 20_000, False: 4_000}
FINEST = 1e-9  # the gap that linear programs over a cone can be trusted with


def search_any(cone: Cone, utility: Utility, limits: Limits) -> Answer:
    """The optimum over a cone known only by its inequalities: over all its vertices where they can be listed."""
    rows = cone.facets() if len(cone.prior) <= _LISTED else None
    vertices = None if rows is None else polytope_vertices(cone.prior.probabilities, rows)
    if vertices is None:
        return Answer(search_generic(cone, utility, limits), "columns, priced by branch and bound")
    found = search_vertices(cone, utility, vertices, limits)
    # Vertices are accurate to what linear programs are.
    slack = FINEST * (1 + float(np.abs(found.duals).sum()))
    return Answer(replace(found, largest=found.largest + slack), f"all {vertices.shape[1]:,} vertices listed")


def search_generic(cone: Cone, utility: Utility, limits: Limits) -> Found:
    """The optimum over a cone known only through linear programs; exact for small alphabets, bounded for others."""
    pricing, prior, size = BranchPricing(cone, utility), cone.prior, len(cone.prior)
    generator = np.random.default_rng(size)  # not for privacy: the search is the same every time
    starts = cone.linear_max(generator.standard_normal((size, 4 * size)))[1]
    columns = np.concatenate([np.ones((size, 1)), starts], axis=1)
    master = Master(utility.columns_worth(columns, prior), columns)
    accuracy = max(limits.tolerance, FINEST)

    def price(solution: MasterSolution) -> Priced:
        y, largest = solution.duals, np.inf
        wild = generator.standard_normal((size, size)) * prior.probabilities.max()
        found = pricing.climb(y, cone.linear_max(wild - y[:, None])[1])
        better = pricing.value(found, y) > accuracy
        if not better.any():  # climbing found nothing more: prove it, or find what it missed
            found, largest = pricing.price(y, limits, accuracy=accuracy, nodes=_NODES[size <= BRANCHED])
            better = pricing.value(found, y) > accuracy
        return Priced(utility.columns_worth(found[:, better], prior), found[:, better], largest)

    done = generate(master, price, limits, rounds=_ROUNDS)
    proof = done.proof
    # Stopped before the first proof, or ended with a gap: one box with the last duals, or with those of its chords.
    if proof.bound - done.solution.value > accuracy:
        slopes, constant = utility.chord(pricing.low, pricing.high, prior)
        chords = slopes + constant * prior.probabilities
        others = [
            Proof(y, pricing.price(y, limits, accuracy=accuracy, nodes=0)[1]) for y in (done.solution.duals, chords)
        ]
        proof = min(proof, *others, key=lambda proof: proof.bound)
    used = done.solution.weights > 0
    slack = FINEST * (
        1 + float(np.abs(proof.duals).sum())
    )  # the tolerances of linear programs, on top of their optimum
    stopped = done.stopped or (limits.exhausted and proof.bound - done.solution.value > 1e-6)
    largest = proof.largest + slack
    return Found(master.columns[:, used], done.solution.weights[used], proof.duals, largest, "branch", stopped=stopped)


def search_vertices(cone: Cone, utility: Utility, vertices: Floats, limits: Limits) -> Found:
    """Return the linear program over a complete list of vertices (N × V), as in [EX] Theorem 5."""
    columns = np.concatenate([np.ones((len(cone.prior), 1)), vertices], axis=1)
    master = Master(utility.columns_worth(columns, cone.prior), columns)
    solution = master.solve(limits.remaining)
    largest = float((master.utilities - solution.duals @ columns).max())
    used, late = solution.weights > 0, limits.exhausted
    return Found(columns[:, used], solution.weights[used], solution.duals, largest + 1e-14, "vertices", stopped=late)
