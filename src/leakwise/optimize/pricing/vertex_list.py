"""All vertices, listed: [EX] Algorithm 1, the reference for small alphabets, and the two-valued columns of LDP."""

from __future__ import annotations

import itertools
import math

import numpy as np

from leakwise.errors import InvalidInput
from leakwise.exact import float_above, float_below
from leakwise.optimize.problem.cones import Cone
from leakwise.optimize.problem.lift_range import LiftRange
from leakwise.types import Floats

__all__ = ["MOST_VERTICES", "list_vertices", "listed", "vertex_count", "vertex_count_bound"]


MOST_VERTICES = 2_000_000
_ZERO = 1e-12  # convex functions are largest at the end: a bound over vertices errs to the safe side
MOST_OF_ANY = 7  # letters: linear limits of any kind have thousands of vertices by then


def vertex_count_bound(letters: int, region: int) -> int:
    """At most so many vertices in a privacy region: [EX] (14), an upper bound (an equality for no prior with ties).

    >>> vertex_count_bound(4, 2)
    16
    """
    return sum((letters - zeros) * math.comb(letters, zeros) for zeros in range(region))


def list_vertices(cone: Cone) -> Floats:
    """Return every vertex of the slice of lift vectors, as columns."""
    size, p, where = len(cone.prior), cone.prior.probabilities, cone.lift_range()
    _refuse(vertex_count(cone), size)
    if where is not None and cone.kind != "box":
        return range_vertices(p, where)
    if where is not None and where.low:
        return box_vertices(p, float_below(where.low), float_above(where.pieces[0][0]))
    if where is not None:
        top = where.pieces[0][0]
        return _algorithm_1(p, float_above(top), cone.prior.region(lift=top))
    rows = cone.facets()
    vertices = None if rows is None or size > MOST_OF_ANY else polytope_vertices(p, rows)
    if vertices is not None:
        return vertices
    raise InvalidInput(
        'method="enumeration" knows the vertices of bounds on lifts and of ε-LDP, and of linear limits for up to '
        f'{MOST_OF_ANY} values. Use method="columns" for others.'
    )


def listed(cone: Cone) -> bool:
    """Return whether the vertices of a cone without a range of lifts are few enough to be listed."""
    return len(cone.prior) <= MOST_OF_ANY and cone.facets() is not None


def polytope_vertices(p: Floats, rows: Floats) -> Floats | None:
    """Return the vertices of {λ ≥ 0, π·λ = 1, rows·λ ≤ 0}, all of which the constant column is strictly inside of.

    None where some of them are too close to each other for floats.
    """
    from scipy.linalg import null_space
    from scipy.spatial import HalfspaceIntersection, QhullError

    size = len(p)
    if size == 1:
        return np.ones((1, 1))
    flat = null_space(p[None, :])  # λ = 1 + flat·z
    every = np.concatenate([rows, -np.eye(size)])
    every = every / np.abs(every).max(axis=1, keepdims=True)
    room = every.sum(axis=1)
    if size == 2:
        ends = np.divide(-room, (slopes := (every @ flat)[:, 0]), out=np.zeros(len(room)), where=slopes != 0)
        z = np.array([[ends[slopes < 0].max(), ends[slopes > 0].min()]])
    else:
        halfspaces = np.concatenate([every @ flat, room[:, None]], axis=1)
        try:
            z = HalfspaceIntersection(halfspaces, np.zeros(size - 1)).intersections.T
        except QhullError:
            return None
    vertices: Floats = 1 + flat @ z
    vertices[vertices < _ZERO] = 0.0
    _, places = np.unique(vertices.round(10), axis=1, return_index=True)
    return vertices[:, np.sort(places)]


def box_vertices(p: Floats, low: float, high: float) -> Floats:
    """Return the vertices of the lift vectors in [low, high]: all at an end, but for one between; few letters only."""
    size, span = len(p), high - low
    if span <= 0:
        return np.ones((size, 1))
    raised = ((np.arange(2**size)[None, :] >> np.arange(size)[:, None]) & 1).astype(bool)
    rest = (1 - low) - span * (p @ raised)
    found = []
    for free in range(size):
        lift = low + rest / p[free]
        chosen = np.flatnonzero(~raised[free] & (lift >= low - 1e-12) & (lift <= high * (1 + 1e-12)))
        vertices = np.where(raised[:, chosen], high, low)
        vertices[free] = np.clip(lift[chosen], low, high)
        found.append(vertices)
    columns: Floats = np.unique(np.concatenate(found, axis=1), axis=1)
    return columns


def range_vertices(p: Floats, where: LiftRange) -> Floats:
    """Return the vertices of lift vectors in a range: two values on each set of letters, and the boxes at its kinks."""
    size = len(p)
    raised = ((np.arange(1, 2**size - 1)[None, :] >> np.arange(size)[:, None]) & 1).astype(bool)
    low, high, real = where.levels(p @ raised, p @ ~raised)
    found = [np.ones((size, 1)), np.where(raised, high, low)[:, real]]
    found += [box_vertices(p, float(low), float(high)) for low, high in where.boxes()]
    return np.concatenate(found, axis=1)


def _refuse(count: int, size: int) -> None:
    if count > MOST_VERTICES:
        raise InvalidInput(
            f'method="enumeration" would list up to {count:,} vertices for {size} letters ([EX] (14)), more than '
            f'{MOST_VERTICES:,}. Use method="columns", which finds the same optimum without the list.'
        )


def vertex_count(cone: Cone) -> int:
    """Return a number that the vertices do not exceed; zero where they are not known."""
    size, where = len(cone.prior), cone.lift_range()
    if where is None:
        return 0
    if cone.kind != "box":
        return int(2**size * (1 + len(where.boxes()) * size))
    return size * 2 ** (size - 1) if where.low else vertex_count_bound(size, cone.prior.region(lift=where.pieces[0][0]))


def _algorithm_1(p: Floats, t: float, region: int) -> Floats:
    """[EX] Algorithm 1: choose the letters that are not zero, then the one among them that is not e^ε."""
    size = len(p)
    vertices = []
    for zeros in range(region):
        for support in itertools.combinations(range(size), size - zeros):
            chosen = list(support)
            mass = float(p[chosen].sum())
            if mass * t < 1 - 1e-12:
                continue
            for free in chosen:
                lift = (1 - t * (mass - p[free])) / p[free]
                if -1e-12 <= lift <= t + 1e-12:
                    vertex = np.zeros(size)
                    vertex[chosen] = t
                    vertex[free] = max(lift, 0.0)
                    vertices.append(vertex)
    return np.unique(np.array(vertices), axis=0).T
