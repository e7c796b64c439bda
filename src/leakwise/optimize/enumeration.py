"""All vertices, listed: [EX] Algorithm 1, the reference for small alphabets, and the two-valued columns of LDP."""

from __future__ import annotations

import itertools
import math

import numpy as np
import numpy.typing as npt

from leakwise.errors import InvalidInput
from leakwise.optimize.cones import Cone, LDPCone, LiftBox

__all__ = ["MOST_VERTICES", "list_vertices", "vertex_count_bound"]

Floats = npt.NDArray[np.float64]

MOST_VERTICES = 2_000_000


def vertex_count_bound(letters: int, region: int) -> int:
    """At most so many vertices in a privacy region: [EX] (14), an upper bound (an equality for no prior with ties).

    >>> vertex_count_bound(4, 2)
    16
    """
    return sum((letters - zeros) * math.comb(letters, zeros) for zeros in range(region))


def list_vertices(cone: Cone) -> Floats:
    """Every vertex of the slice of lift vectors, as columns."""
    size = len(cone.prior)
    if isinstance(cone, LDPCone):
        _refuse(2**size - 2, size)
        return _two_valued(cone)
    if isinstance(cone, LiftBox) and cone.low == 0:
        region = cone.prior.region(lift=cone.high)
        _refuse(vertex_count_bound(size, region), size)
        return _algorithm_1(cone, region)
    raise InvalidInput(
        'method="enumeration" knows the vertices of ε-PML and of ε-LDP only. Use method="columns" for others.'
    )


def _refuse(count: int, size: int) -> None:
    if count > MOST_VERTICES:
        raise InvalidInput(
            f'method="enumeration" would list up to {count:,} vertices for {size} letters ([EX] (14)), more than '
            f'{MOST_VERTICES:,}. Use method="columns", which finds the same optimum without the list.'
        )


def _algorithm_1(cone: LiftBox, region: int) -> Floats:
    """[EX] Algorithm 1: choose the letters that are not zero, then the one among them that is not e^ε."""
    p, t = cone.prior.probabilities, cone.high_float
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


def _two_valued(cone: LDPCone) -> Floats:
    p, t = cone.prior.probabilities, cone.ratio_float
    size = len(p)
    codes = np.arange(1, 2**size - 1)
    raised = (codes[None, :] >> np.arange(size)[:, None]) & 1
    columns = np.where(raised == 1, t, 1.0)
    lifts: Floats = columns / (p @ columns)
    return np.concatenate([np.ones((size, 1)), lifts], axis=1)
