"""Column generation with exact pricing by windows: the optimum for up to about forty different masses."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

import numpy as np

from leakwise.optimize.bounds.chord import Function, chord_duals
from leakwise.optimize.finish.permutations import Patterns, fewest_columns, spread
from leakwise.optimize.pricing.lift_box import Groups, LiftPricing, Vertices
from leakwise.optimize.pricing.shared_tables import tables_of
from leakwise.optimize.pricing.subset_sums import HalfTables
from leakwise.optimize.problem.cones import LiftBox
from leakwise.optimize.search.generate import Generated, Priced, generate
from leakwise.optimize.search.limits import Found, Limits
from leakwise.optimize.search.master import Master, MasterSolution
from leakwise.types import Floats

__all__ = ["search_windows", "windows_fit"]


_FIRST_WINDOW, _LARGEST_WINDOW = 30_000, 1_500_000
_SLOW = 0.02
# A search that cannot list subset masses ends at this relative gap, or after so many slow rounds.
_ENOUGH, _PATIENCE = 1e-4, 12


def windows_fit(cone: LiftBox) -> bool:
    """Return whether the subsets of the letters can be met in the middle."""
    return HalfTables.fit(Groups.of(cone).sizes)


def search_windows(cone: LiftBox, f: Function, limits: Limits) -> Found:
    """Return the optimum over all vertices, with the duals that prove it."""
    groups = Groups.of(cone)
    pricing = LiftPricing(cone, f, tables_of(groups.masses, groups.sizes) if windows_fit(cone) else None)
    low, high = cone.entry_box()
    start = chord_duals(f, cone.prior.probabilities, low, high)
    y = np.array([start[group[0]] for group in groups.letters])
    vertices, _, _ = pricing.best_vertices(pricing.nearest(24 * len(y)), y, 48 * len(y), -np.inf)
    generator = np.random.default_rng(len(start))  # not for privacy: the search is the same every time
    wild = generator.standard_normal((len(start), 6 * len(y)))
    corners = pricing.from_linear(np.concatenate([np.eye(len(start)), -np.eye(len(start)), wild], axis=1))
    optimum = _generate(pricing, corners.joined(vertices), limits)
    lifts, weights = _spread(optimum.vertices, optimum.generated.solution.weights, pricing)

    def inner() -> tuple[Floats, Floats] | None:
        """The optimum of a slightly smaller box, whose rounding to integers is inside this one and keeps zeros."""
        smaller = cone.slightly_smaller()
        if smaller is None or limits.exhausted:
            return None
        near = LiftPricing(smaller, f, pricing.tables)
        again = _generate(near, near.completed(optimum.vertices.counts, optimum.vertices.free), limits)
        stopped = again.generated.stopped
        return None if stopped else _spread(again.vertices, again.generated.solution.weights, near)

    proof, stopped = optimum.generated.proof, optimum.generated.stopped
    duals = groups.per_letter(proof.duals / groups.sizes)
    return Found(lifts, weights, duals, proof.largest, proof.how or "chord", stopped=stopped, inner=inner)


@dataclass(frozen=True)
class _Optimum:
    vertices: Vertices
    generated: Generated


def _generate(pricing: LiftPricing, vertices: Vertices, limits: Limits) -> _Optimum:
    """Column generation from a first set of vertices."""
    sizes = pricing.groups.sizes
    count = len(sizes)
    constant = np.ones((count, 1))  # always in the cone, so that the master is feasible from the start
    master = Master(
        np.concatenate([[0.0], _utilities(vertices, pricing)]),
        np.concatenate([constant, _averages(vertices, pricing)], axis=1),
    )
    kept, window, waited = [vertices], _FIRST_WINDOW, 0

    def price(solution: MasterSolution) -> Priced:
        y = solution.duals / sizes
        found = pricing.price(y, most=3 * count, above=0.25 * limits.tolerance, largest_window=window)
        kept.append(found.vertices)
        columns, how = _averages(found.vertices, pricing), "windows" if found.complete else "chord"
        farthest = found.complete or window == _LARGEST_WINDOW
        return Priced(_utilities(found.vertices, pricing), columns, found.largest, how, farthest)

    def ended(before: float, value: float, bound: float, priced: Priced) -> bool:
        nonlocal window, waited
        if priced.how == "windows":
            return value <= before and priced.largest < 1e-9  # what is left is below the accuracy of linear programs
        if value - before <= _SLOW * (bound - before):
            window = min(8 * window, _LARGEST_WINDOW)  # what is close at hand is used up: look farther
            waited += 1
        return pricing.tables is None and waited == _PATIENCE

    def enough(bound: float) -> float:
        return limits.tolerance if pricing.tables else max(limits.tolerance, _ENOUGH * abs(bound))

    generated = generate(master, price, limits, enough=enough, ended=ended)
    return _Optimum(reduce(Vertices.joined, kept), generated)


def _utilities(vertices: Vertices, pricing: LiftPricing) -> Floats:
    p, sizes = pricing.groups.masses, pricing.groups.sizes
    base = float((sizes * p).sum()) * pricing.f_low
    high = vertices.counts @ (p * (pricing.f_high - pricing.f_low))
    free: Floats = p[vertices.free] * (pricing.f(vertices.lifts) - pricing.f_low)
    return base + high + free


def _averages(vertices: Vertices, pricing: LiftPricing) -> Floats:
    """The average lift within each group: what counts once letters of a group are treated alike (G × n)."""
    sizes = pricing.groups.sizes
    total = pricing.low * sizes + (pricing.high - pricing.low) * vertices.counts
    total[np.arange(len(vertices)), vertices.free] += vertices.lifts - pricing.low
    averages: Floats = (total / sizes).T
    return averages


def _spread(vertices: Vertices, weights: Floats, pricing: LiftPricing) -> tuple[Floats, Floats]:
    """Real columns from vertices up to permutation; the first weight is that of the constant column."""
    count, size = len(vertices), len(pricing.groups.sizes)
    constant = Patterns(np.zeros((1, size), dtype=np.int64), np.full(1, -1), np.ones(1), np.ones(1), np.ones(1))
    found = Patterns(
        vertices.counts, vertices.free, vertices.lifts, np.full(count, pricing.low), np.full(count, pricing.high)
    )
    lifts, shares = spread(constant.joined(found), weights, pricing.groups.letters)
    return fewest_columns(lifts, shares, pricing.cone.prior.probabilities @ pricing.f(lifts))
