"""Columns that add up to a mechanism by themselves: arcs of a circle on which the letters lie by their masses.

Lay the letters around a circle of length one, each on an arc as long as its mass, and let M arcs of length r/M start at
equal distances. Every point is on exactly r of them, so that the overlaps of letter and arc, divided by the letter's
mass and by r/M, are lifts of at most M/r that average to one over the M arcs. No program is solved: this is where a
search starts, and what it has to show, however many letters there are and however little time is left.
"""

from __future__ import annotations

import math

import numpy as np

from leakwise.optimize.problem.cones import LiftBox
from leakwise.types import Floats

__all__ = ["arc_columns"]


_MOST_ARCS = 64
_CLOSE = 2e-2  # of the largest lift: more arcs on a circle would come closer, but be more alike


def arc_columns(cone: LiftBox, number: int, generator: np.random.Generator) -> tuple[Floats, Floats]:
    """About ``number`` columns of the box (N × K) with weights for which they add up to one, from random circles."""
    p = cone.prior.probabilities
    span = cone.high_float - cone.low_float
    if span <= 0:
        return np.ones((len(p), 1)), np.ones(1)
    ratio = span / (1 - cone.low_float)
    arcs = _arcs(ratio)
    length = math.ceil(arcs / ratio) / arcs
    starts = np.arange(arcs) / arcs
    circles = []
    for _ in range(max(1, number // arcs)):
        order = generator.permutation(len(p))
        ends = np.concatenate([[0.0], np.cumsum(p[order])])
        ends /= ends[-1]
        # How much of [0, x] an arc [s, s + length) covers, going round: the difference gives each letter's overlap.
        place = ends[:, None] - starts
        covered = np.clip(place, 0.0, length) + np.clip(place + 1, 0.0, length)
        lifts = np.empty((len(p), arcs))
        lifts[order] = np.diff(covered, axis=0) / (p[order][:, None] * length)
        circles.append(np.clip(lifts, 0.0, 1 / length))
    columns = cone.low_float + (1 - cone.low_float) * np.concatenate(circles, axis=1)
    return columns, np.full(columns.shape[1], 1 / columns.shape[1])


def _arcs(ratio: float) -> int:
    """How many arcs on a circle: the fewest whose lift M/r comes close to the largest, else the closest."""
    reached = {arcs: arcs / math.ceil(arcs / ratio) for arcs in range(2, _MOST_ARCS + 1)}
    best = max(reached.values())
    return min(arcs for arcs, lift in reached.items() if lift >= (1 - _CLOSE) * best)
