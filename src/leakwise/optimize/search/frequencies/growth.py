"""Few letters: column generation to the optimum, with a bound over every vertex where they can be listed.

The master over the columns at hand is smooth and convex: a barrier method with exact second derivatives. Of the columns
of largest reduced cost those join it that are worth most together, those that it has no use for leave it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from leakwise.errors import NotConverged
from leakwise.optimize.pricing.set_vertices import MOST_LETTERS, ListedVertices, SetVertices, Vertices
from leakwise.optimize.pricing.vertex_list import list_vertices, listed
from leakwise.optimize.problem.cones import Cone
from leakwise.optimize.search.frequencies.aim import TRACE, Aim
from leakwise.optimize.search.frequencies.elimination import eliminated
from leakwise.optimize.search.frequencies.weights import Linearised, adding_up, interior, least_variance, linearised
from leakwise.optimize.search.limits import Limits
from leakwise.types import Floats, Indices

__all__ = [
    "Grown",
    "climb",
    "distinct",
    "first_columns",
    "grown",
    "joined",
    "others",
    "together",
    "vertices_of",
]

_ROUNDS = 200
_TRIED = 15  # times as many columns are looked at as join
_OVERLAP = 1.5  # of the weight given, by which columns that join take away from each other
_SPARE = 4  # columns for each letter, beyond those that an optimum has, before some leave
_JOINING = 0.1  # of the mean weight, what a column begins with
_ADDS_UP = 1e-8
_PATIENCE = 4  # rounds without progress before a search without an exact proof ends
_PROGRESS = 3e-4  # what counts as progress, relative to the value
_FIRST = 0.05  # of the value, the accuracy of the weights in the first round
_START = 1.0  # second, at least, for the first weights


@dataclass(frozen=True)
class Grown:
    """Columns with weights, and the bound with its proof: duals, and H = J⁻¹B where every vertex was priced."""

    columns: Floats
    weights: Floats
    bound: float
    duals: Floats
    root: Floats | None
    stopped: bool


class ClimbedVertices:
    """Local maxima, from many starts at once, where there is no list."""

    complete = False

    def __init__(self, cone: Cone) -> None:
        self.cone = cone
        self.generator = np.random.default_rng(len(cone.prior))  # not for privacy: the same every time

    def best(self, centre: Floats, y: Floats, number: int) -> tuple[Floats, float]:
        """Return vertices from which λᵀGλ - y·λ rises no farther, the largest first, and that number."""
        return climb(self.cone, centre, y, self.generator, number)


def vertices_of(cone: Cone) -> Vertices:
    """Return every vertex of the lift vectors where they are known and not too many, and else what a climb finds."""
    if cone.lift_range() is not None and len(cone.prior) <= MOST_LETTERS:
        return SetVertices(cone)
    return ListedVertices(list_vertices(cone)) if listed(cone) else ClimbedVertices(cone)


def first_columns(
    cone: Cone, start: Floats, vertices: Vertices, multipliers: Floats, limits: Limits
) -> tuple[Floats, Floats]:
    """Return columns to begin with and positive weights; ``start`` are some that tell all letters apart."""
    size, (low, high) = len(cone.prior), cone.entry_box()
    # The constant column makes it feasible. Columns with (almost) all entries at an end of their box, weighed by the
    # multipliers of the bound, make it good.
    promising, _ = vertices.best(np.diag(multipliers), multipliers * (low + high), size * (size + 1) // 2)
    columns = distinct(np.concatenate([np.ones((size, 1)), start, promising], axis=1))
    # So few columns need a start more than they need the time that it takes.
    seconds = None if limits.remaining is None else max(limits.remaining, _START)
    return columns, interior(columns, Limits(seconds=seconds))


def grown(
    cone: Cone,
    first: tuple[Floats, Floats],
    vertices: Vertices,
    bound: float,
    multipliers: Floats,
    limits: Limits,
    near: float,
    aim: Aim = TRACE,
) -> Grown:
    """Return the weights and columns of least variance, to a relative gap of ``near``, from the first ones on."""
    size, constant = len(cone.prior), aim.constant(cone.prior.probabilities)
    freedom = size * (size + 1) // 2  # of J
    joining = 2 * size
    tried = (_TRIED if vertices.complete else 1) * joining
    columns, weights = first
    proof: tuple[Floats, Floats | None] = (multipliers, None)
    kept, best, waited, stopped = (columns, weights), -np.inf, 0, False
    accuracy = _FIRST * abs(linearised(columns, weights, aim).value)
    for number in range(_ROUNDS):
        if number and limits.exhausted:
            stopped = True
            break
        weights = least_variance(columns, weights, accuracy, limits, aim=aim)
        here = linearised(columns, weights, aim, accuracy)
        value, worth, y = constant + here.value, here.worth, _duals(columns, here.worth, weights)
        found, largest = vertices.best(here.centre, y, tried)
        # For convex Φ: Φ* ≥ Φ(ρ) - (max over mechanisms of Σ worth·ρ' - Σ worth·ρ), where the maximum is at most
        # Σ y + largest if that is the largest of all columns.
        slack = float(y.sum()) + max(largest, 0.0) - float(worth @ weights)
        shown = constant + here.slope_at + slack
        waited = 0 if value > best + (1e-9 if vertices.complete else _PROGRESS) * abs(value) else waited + 1
        if vertices.complete and shown < bound:
            waited = 0 if shown < bound - near * abs(value) else waited
            bound, proof = shown, (np.concatenate([here.shares[: aim.leading], y]), here.root)
        limits.tell("columns", value, bound)
        if value > best:
            best, kept = value, (columns, weights)
        if bound - best <= max(limits.tolerance, near * abs(best)) or waited >= _PATIENCE:
            break
        finest = 1e-2 * near * abs(value) if vertices.complete else 1e-3 * (bound - value)
        accuracy = max(min(0.3 * accuracy, 1e-2 * (shown - value)), finest)
        if len(weights) > freedom + _SPARE * size:
            columns, weights = eliminated(columns, weights, freedom, aim)
        found = others(found, columns)
        found = found[:, together(here, found, joining, float(weights.mean()))]
        try:
            columns, weights = joined(columns, weights, found, limits)
        except NotConverged:  # no time for it: what was found so far stands
            stopped = True
            break
    return Grown(*kept, bound, *proof, stopped)


def distinct(columns: Floats) -> Floats:
    """Return the columns without those that are there already."""
    _, places = np.unique(columns.round(12), axis=1, return_index=True)
    return columns[:, np.sort(places)]


def others(found: Floats, columns: Floats) -> Floats:
    """Return those found that are not among the columns."""
    known = {column.tobytes() for column in np.ascontiguousarray(columns.T.round(12) + 0.0)}
    new = [column.tobytes() not in known for column in np.ascontiguousarray(found.T.round(12) + 0.0)]
    return found[:, new]


def _duals(columns: Floats, worth: Floats, weights: Floats) -> Floats:
    """Duals of Σρλ = 1: at the optimum y·λ_r = worth_r for every column in use."""
    root = np.sqrt(weights)
    return np.linalg.lstsq((columns * root).T, worth * root, rcond=None)[0].astype(np.float64)


def climb(cone: Cone, centre: Floats, y: Floats, generator: np.random.Generator, number: int) -> tuple[Floats, float]:
    """Local maxima of λᵀGλ - y·λ over the vertices, from many starts at once; the best of them."""
    lifts = cone.linear_max(generator.standard_normal((len(y), 4 * number)))[1]
    for _ in range(40):
        following = cone.linear_max(2 * centre @ lifts - y[:, None])[1]
        if np.allclose(following, lifts, atol=1e-12):
            break
        lifts = following
    lifts = distinct(lifts)
    costs = np.einsum("ij,ij->j", lifts, centre @ lifts) - y @ lifts
    return lifts[:, np.argsort(-costs)[:number]], float(costs.max())


def together(here: Linearised, columns: Floats, number: int, weight: float) -> Indices:
    """Return the columns of largest reduced cost, one after the other, less what others of this weight take away.

    Columns that are worth much are often much alike: all of them together would be worth nothing.
    """
    half = here.centre @ columns
    taken = 2 * _OVERLAP * weight * (columns.T @ (here.inverse @ columns)) * (columns.T @ half)
    costs = np.einsum("ij,ij->j", columns, half) - here.duals @ columns
    chosen = np.empty(min(number, len(costs)), dtype=np.intp)
    for place in range(len(chosen)):
        chosen[place] = best = int(costs.argmax())
        costs -= taken[best]
        costs[best] = -np.inf
    return chosen


def joined(columns: Floats, weights: Floats, found: Floats, limits: Limits) -> tuple[Floats, Floats]:
    """Return the columns and the new ones, with positive weights that add up to one."""
    both = np.concatenate([columns, found], axis=1)
    light = np.concatenate([weights, np.full(found.shape[1], _JOINING * float(weights.mean()))])
    added, miss = adding_up(both, light * len(both) / float((both @ light).sum()))
    if miss < _ADDS_UP:
        return both, added
    return both, 0.9 * np.concatenate([weights, np.zeros(found.shape[1])]) + 0.1 * interior(both, limits)
