"""Column generation with exact pricing by windows: the optimum for up to about forty different masses."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from leakwise.optimize.bounds.chord import Function, chord_duals
from leakwise.optimize.finish.integers import rounded
from leakwise.optimize.finish.permutations import Patterns, spread
from leakwise.optimize.pricing.lift_box import Groups, LiftPricing
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
_MARGINS = tuple(Fraction(1, 1 << bits) for bits in (40, 36, 32, 28))
_RARE = 1e-6  # masses below it have columns as rare, whose roundings need the larger margins


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
    vertices, _ = pricing.best_vertices(pricing.nearest(24 * len(y)), y, 48 * len(y), -np.inf)
    generator = np.random.default_rng(len(start))  # not for privacy: the search is the same every time
    wild = generator.standard_normal((len(start), 6 * len(y)))
    corners = pricing.from_linear(np.concatenate([np.eye(len(start)), -np.eye(len(start)), wild], axis=1))
    found, done = _generate(pricing, corners.joined(vertices), limits)

    def worth(lifts: Floats) -> Floats:
        worth: Floats = cone.prior.probabilities @ f(lifts)
        return worth

    def inner() -> tuple[Floats, Floats] | None:
        """The optimum of a slightly smaller box, whose rounding to integers is inside this one and keeps zeros.

        Beside letters of tiny mass there are columns as rare, whose entries are rounded more: for them the box must be
        smaller by more.
        """
        real, answer = found.take(np.flatnonzero(found.free >= 0)), None
        for margin in _MARGINS if cone.prior.probabilities.min() < _RARE else _MARGINS[:1]:
            smaller = cone.slightly_smaller(margin)
            if smaller is None or limits.exhausted:
                break
            near = LiftPricing(smaller, f, pricing.tables)
            again, optimum = _generate(near, near.completed(real.counts, real.free), limits)
            if optimum.stopped or not optimum.solution.weights.any():
                break
            answer = spread(again, optimum.solution.weights, groups.letters, worth)
            if rounded(cone, *answer) is not None:
                break
        return answer

    lifts, weights = spread(found, done.solution.weights, groups.letters, worth)
    duals, proof = groups.per_letter(done.proof.duals / groups.sizes), done.proof
    return Found(lifts, weights, duals, proof.largest, proof.how or "chord", stopped=done.stopped, inner=inner)


def _generate(pricing: LiftPricing, vertices: Patterns, limits: Limits) -> tuple[Patterns, Generated]:
    """Column generation from a first set of vertices: all columns in the end, and their weights."""
    masses, sizes = pricing.groups.masses, pricing.groups.sizes
    count = len(sizes)
    kept, window, waited = [Patterns.constant(count).joined(vertices)], _FIRST_WINDOW, 0
    master = Master(kept[0].utilities(pricing.f, masses, sizes), kept[0].averages(sizes))
    known = set(_names(kept[0]))

    def price(solution: MasterSolution) -> Priced:
        found = pricing.price(
            solution.duals / sizes, most=3 * count, above=0.25 * limits.tolerance, largest_window=window
        )
        # What the master has already would only seem to pay, by its roundings, and be found again in every round.
        names = _names(found.vertices)
        new = found.vertices.take(np.array([i for i, name in enumerate(names) if name not in known], dtype=np.intp))
        known.update(names)
        kept.append(new)
        how, farthest = "windows" if found.complete else "chord", found.complete or window == _LARGEST_WINDOW
        worth = new.utilities(pricing.f, masses, sizes)
        return Priced(worth, new.averages(sizes), found.largest, how, farthest)

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

    done = generate(master, price, limits, enough=enough, ended=ended)
    return kept[0].joined(*kept[1:]), done


def _names(vertices: Patterns) -> list[tuple[bytes, int, float]]:
    """What tells one vertex from another."""
    raised = [counts.tobytes() for counts in vertices.counts]
    return list(zip(raised, vertices.free.tolist(), vertices.lifts.tolist(), strict=True))
