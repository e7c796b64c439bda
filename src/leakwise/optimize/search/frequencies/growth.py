"""Few letters: column generation to the optimum, with a bound over every vertex where they can be listed.

The master over the columns at hand is smooth and convex: a barrier method with exact second derivatives. The columns of
largest reduced cost join it, those that it has no use for leave it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from leakwise.errors import NotConverged
from leakwise.optimize.pricing.vertex_list import box_vertices, list_vertices, listed
from leakwise.optimize.problem.cones import Cone, LiftBox
from leakwise.optimize.search.frequencies.aim import TRACE, Aim
from leakwise.optimize.search.frequencies.weights import interior, least_variance, linearised
from leakwise.optimize.search.limits import Limits
from leakwise.types import Floats

__all__ = ["Grown", "distinct", "every_vertex", "grown"]

_ROUNDS = 200
_ALL_VERTICES = 600_000  # up to so many are priced one by one, which makes the bound exact
_RELATIVE_GAP = {True: 1e-8, False: 1e-4}  # where every vertex is listed, and where not: nobody's intervals notice
_PATIENCE = 4  # rounds without progress before a search without an exact proof ends
_PROGRESS = 3e-4  # what counts as progress, relative to the value
_START = 1.0  # second, at least, for the first weights
_CHUNK = 1 << 16


@dataclass(frozen=True)
class Grown:
    """Columns with weights, and the bound with its proof: duals, and H = J⁻¹B where every vertex was priced."""

    columns: Floats
    weights: Floats
    bound: float
    duals: Floats
    root: Floats | None
    stopped: bool


def every_vertex(cone: Cone) -> Floats | None:
    """Return every vertex of the lift vectors, where they are known and not too many."""
    size = len(cone.prior)
    if size * 2 ** (size - 1) > _ALL_VERTICES:
        return None
    if isinstance(cone, LiftBox):
        return box_vertices(cone.prior.probabilities, cone.low_float, cone.high_float)
    return list_vertices(cone) if cone.lift_range() is not None or listed(cone) else None


def grown(
    cone: Cone,
    start: Floats,
    every: Floats | None,
    bound: float,
    multipliers: Floats,
    limits: Limits,
    aim: Aim = TRACE,
) -> Grown:
    """Return the weights and columns of least variance; ``start`` are columns that tell all letters apart."""
    size, constant = len(cone.prior), aim.constant(cone.prior.probabilities)
    freedom = size * (size + 1) // 2  # of J
    generator = np.random.default_rng(size)  # not for privacy: the search is the same every time
    # The constant column makes the start feasible, those of the bound make it good.
    promising = _promising(cone, multipliers[aim.leading : aim.leading + size], every, generator, freedom)
    columns = distinct(np.concatenate([np.ones((size, 1)), start, promising], axis=1))
    # So few columns need a start more than they need the time that it takes.
    weights = interior(columns, Limits(seconds=None if limits.remaining is None else max(limits.remaining, _START)))
    proof: tuple[Floats, Floats | None] = (multipliers, None)
    kept, best, accuracy, waited, stopped = (columns, weights), -np.inf, 1.0, 0, False
    for number in range(_ROUNDS):
        if number and limits.exhausted:
            stopped = True
            break
        weights = least_variance(columns, weights, accuracy, limits, aim=aim)
        here = linearised(columns, weights, aim, accuracy)
        value, worth, y = constant + here.value, here.worth, _duals(columns, here.worth, weights)
        centre = here.centre
        if every is not None:
            costs = _costs(every, centre, y)
            largest = float(costs.max())
            found = every[:, np.argpartition(-costs, min(2 * size, len(costs) - 1))[: 2 * size]]
        else:
            found, largest = climb(cone, centre, y, generator, 2 * size)
        # For convex Φ: Φ* ≥ Φ(ρ) - (max over mechanisms of Σ worth·ρ' - Σ worth·ρ), where the maximum is at most
        # Σ y + largest if that is the largest of all columns.
        slack = float(y.sum()) + max(largest, 0.0) - float(worth @ weights)
        shown = constant + here.slope_at + slack
        if every is not None and shown < bound:
            bound, proof = shown, (np.concatenate([here.shares[: aim.leading], y]), here.root)
        limits.tell("columns", value, bound)
        waited = 0 if value > best + (_PROGRESS if every is None else 1e-9) * abs(value) else waited + 1
        if value > best:
            best, kept = value, (columns, weights)
        exact = every is not None and not limits.rough
        if bound - best <= max(limits.tolerance, _RELATIVE_GAP[exact] * abs(best)) or waited >= _PATIENCE:
            break
        finest = 1e-10 * abs(value) if every is not None else 1e-3 * (bound - value)
        accuracy = max(min(0.3 * accuracy, 1e-2 * (shown - value)), finest)
        try:
            columns, weights = _extended(columns, weights, worth - y @ columns, found, freedom + 8 * size, limits)
        except NotConverged:  # no time for it: what was found so far stands
            stopped = True
            break
    return Grown(*kept, bound, *proof, stopped)


def distinct(columns: Floats) -> Floats:
    """Return the columns without those that are there already."""
    _, places = np.unique(columns.round(12), axis=1, return_index=True)
    return columns[:, np.sort(places)]


def _costs(columns: Floats, centre: Floats, y: Floats) -> Floats:
    """λᵀGλ - y·λ, some columns at a time."""
    parts = [
        np.einsum("ij,ij->j", part, centre @ part) - y @ part
        for part in (columns[:, first : first + _CHUNK] for first in range(0, columns.shape[1], _CHUNK))
    ]
    return np.concatenate(parts)


def _duals(columns: Floats, worth: Floats, weights: Floats) -> Floats:
    """Duals of Σρλ = 1: at the optimum y·λ_r = worth_r for every column in use."""
    root = np.sqrt(weights)
    return np.linalg.lstsq((columns * root).T, worth * root, rcond=None)[0].astype(np.float64)


def _promising(
    cone: Cone, multipliers: Floats, every: Floats | None, generator: np.random.Generator, number: int
) -> Floats:
    """Columns with (almost) all entries at an end of their box, weighed by the multipliers of the trace bound."""
    low, high = cone.entry_box()
    linear = multipliers * (low + high)
    if every is None:
        return climb(cone, np.diag(multipliers), linear, generator, number)[0]
    costs = multipliers @ every**2 - linear @ every
    return every[:, np.argsort(-costs, kind="stable")[:number]]


def climb(cone: Cone, centre: Floats, y: Floats, generator: np.random.Generator, number: int) -> tuple[Floats, float]:
    """Local maxima of λᵀGλ - y·λ over the vertices, from many starts at once; the best of them."""
    lifts = cone.linear_max(generator.standard_normal((len(y), 4 * number)))[1]
    for _ in range(40):
        following = cone.linear_max(2 * centre @ lifts - y[:, None])[1]
        if np.allclose(following, lifts, atol=1e-12):
            break
        lifts = following
    lifts = distinct(lifts)
    costs = _costs(lifts, centre, y)
    return lifts[:, np.argsort(-costs)[:number]], float(costs.max())


def _extended(
    columns: Floats, weights: Floats, costs: Floats, found: Floats, room: int, limits: Limits
) -> tuple[Floats, Floats]:
    """The columns that may be in use at the optimum and the new ones, with positive weights that add up to one."""
    keep = np.argsort(-costs, kind="stable")[:room]
    together = np.concatenate([columns[:, keep], found], axis=1)
    _, places = np.unique(together.round(12), axis=1, return_index=True)
    places = np.sort(places)
    old = np.concatenate([weights[keep], np.zeros(found.shape[1])])[places]
    chosen = together[:, places]
    return chosen, 0.9 * old + 0.1 * interior(chosen, limits)  # Newton's steps make up for what was dropped
