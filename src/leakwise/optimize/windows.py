"""Column generation with exact pricing by windows: the optimum for up to about forty different masses."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from leakwise.optimize.chord import Function, chord_duals
from leakwise.optimize.cones import LiftBox
from leakwise.optimize.halves import HalfTables
from leakwise.optimize.lift_pricing import Groups, LiftPricing, Vertices
from leakwise.optimize.master import Master
from leakwise.optimize.search import Found, Limits
from leakwise.optimize.warm import tables_of

__all__ = ["search_windows", "windows_fit"]

Floats = npt.NDArray[np.float64]

_ROUNDS = 400
_FIRST_WINDOW, _LARGEST_WINDOW = 30_000, 1_500_000
_SLOW = 0.02


def windows_fit(cone: LiftBox) -> bool:
    """Whether the subsets of the letters can be met in the middle."""
    return HalfTables.fit(Groups.of(cone).sizes)


def search_windows(cone: LiftBox, f: Function, limits: Limits) -> Found:
    """The optimum over all vertices, with the duals that prove it."""
    groups = Groups.of(cone)
    pricing = LiftPricing(cone, f, tables_of(groups.masses, groups.sizes))
    low, high = cone.entry_box()
    start = chord_duals(f, cone.prior.probabilities, low, high)
    y = np.array([start[group[0]] for group in groups.letters])
    vertices, _, _ = pricing.best_vertices(pricing.nearest(24 * len(y)), y, 48 * len(y), -np.inf)
    generator = np.random.default_rng(len(start))  # not for privacy: the search is the same every time
    wild = generator.standard_normal((len(start), 6 * len(y)))
    corners = pricing.from_linear(np.concatenate([np.eye(len(start)), -np.eye(len(start)), wild], axis=1))
    optimum = _generate(pricing, corners.joined(vertices), limits)
    lifts, weights = _spread(optimum.vertices, optimum.weights, pricing)
    # The optimum of a slightly smaller box, whose rounding to integers is inside this one and keeps zeros.
    smaller = cone.slightly_smaller()
    inner = None
    if smaller is not None:
        near = LiftPricing(smaller, f, pricing.tables)
        again = _generate(near, _moved(optimum.vertices, near), limits)
        inner = _spread(again.vertices, again.weights, near)
    return Found(
        lifts,
        weights,
        groups.per_letter(optimum.duals),
        optimum.largest,
        optimum.proof,
        stopped=optimum.stopped,
        inner=inner,
    )


@dataclass(frozen=True)
class _Optimum:
    vertices: Vertices
    weights: Floats  # of the constant column, then of the vertices
    duals: Floats
    largest: float
    proof: str
    stopped: bool


def _generate(pricing: LiftPricing, vertices: Vertices, limits: Limits) -> _Optimum:
    """Column generation from a first set of vertices."""
    sizes = pricing.groups.sizes
    count = len(sizes)
    constant = np.ones((count, 1))  # always in the cone, so that the master is feasible from the start
    master = Master(
        np.concatenate([[0.0], _utilities(vertices, pricing)]),
        np.concatenate([constant, _averages(vertices, pricing)], axis=1),
    )
    bound, duals, largest, proof = np.inf, np.zeros(count), np.inf, "chord"
    window = _FIRST_WINDOW
    stopped = False
    solution = master.solve()
    for _ in range(_ROUNDS):
        y = solution.duals / sizes
        priced = pricing.price(y, most=3 * count, above=0.25 * limits.tolerance, largest_window=window)
        if float(solution.duals.sum()) + max(priced.largest, 0.0) < bound:
            bound = float(solution.duals.sum()) + max(priced.largest, 0.0)
            duals, largest, proof = y, priced.largest, "windows" if priced.complete else "chord"
        limits.tell("columns", solution.value, bound)
        finished = bound - solution.value <= limits.tolerance or not len(priced.vertices)
        if finished and (priced.complete or window == _LARGEST_WINDOW):
            break
        if limits.exhausted:
            stopped = True
            break
        before = solution.value
        master.add(_utilities(priced.vertices, pricing), _averages(priced.vertices, pricing))
        vertices = vertices.joined(priced.vertices)
        solution = master.solve(limits.remaining)
        if solution.value <= before and priced.complete and priced.largest < 1e-9:
            break  # what is left is below the accuracy of the linear program
        if not priced.complete and solution.value - before <= _SLOW * (bound - before):
            window = min(8 * window, _LARGEST_WINDOW)  # what is close at hand is used up: look farther
    return _Optimum(vertices, solution.weights, duals, largest, proof, stopped)


def _moved(vertices: Vertices, pricing: LiftPricing) -> Vertices:
    """The same letters raised and the same one free, in another box; those that do not exist there are dropped."""
    p = pricing.groups.masses
    rest = (1 - pricing.low) - (pricing.high - pricing.low) * (vertices.counts @ p)
    lifts = pricing.low + rest / p[vertices.free]
    exist = np.flatnonzero((lifts >= pricing.low) & (lifts <= pricing.high))
    return Vertices(vertices.counts[exist], vertices.free[exist], lifts[exist])


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
    """Real columns from vertices up to permutation: each group is turned around its circle, all groups in step.

    A vertex that raises k of the n letters of a group becomes n cyclic shifts of weight 1/n each. Groups of different
    sizes share one clock u in [0, 1): at time u a group of n stands at shift ⌊un⌋. So a vertex gives at most N columns.
    """
    groups = pricing.groups
    size = int(groups.sizes.sum())
    columns: list[Floats] = []
    shares: list[float] = []
    for place in np.flatnonzero(weights > 0):
        weight = float(weights[place])
        if place == 0:
            columns.append(np.ones(size))
            shares.append(weight)
            continue
        counts, free, lift = (
            vertices.counts[place - 1],
            int(vertices.free[place - 1]),
            float(vertices.lifts[place - 1]),
        )
        moving = [int(n) for group, n in enumerate(groups.sizes) if n > 1 and (0 < counts[group] < n or group == free)]
        ticks = np.unique(np.concatenate([[0.0, 1.0], *(np.arange(1, n) / n for n in set(moving))]))
        for start, stop in itertools.pairwise(ticks):
            middle = (start + stop) / 2
            column = np.full(size, pricing.low)
            for group, letters in enumerate(groups.letters):
                n, k = len(letters), int(counts[group])
                shift = int(middle * n)
                column[letters[(shift + np.arange(k)) % n]] = pricing.high
                if group == free:
                    column[letters[(shift + k) % n]] = lift
            columns.append(column)
            shares.append(weight * float(stop - start))
    lifts = np.stack(columns, axis=1)
    return _fewest(lifts, np.array(shares), pricing)


def _fewest(lifts: Floats, weights: Floats, pricing: LiftPricing) -> tuple[Floats, Floats]:
    """At most N columns with the same sum ([EX] Theorem 1): a vertex of the master on these columns alone."""
    if lifts.shape[1] <= lifts.shape[0]:
        return lifts, weights
    utilities = pricing.cone.prior.probabilities @ pricing.f(lifts)
    solution = Master(utilities, lifts).solve()
    used = solution.weights > 0
    return lifts[:, used], solution.weights[used]
