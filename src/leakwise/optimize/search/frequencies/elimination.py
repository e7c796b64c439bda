"""Columns that leave one after the other, each time the one that is missed least.

At their best weights ρ columns may leave for next to nothing, if the weights of the others make up for it. To second
order, with the Hessian of the variance and within Σρλ = 1, that costs ρ_r²/(2 Z_rr), where Z is the inverse of the
Hessian on the weights that may move; the others move along the column Z_r, and Z loses Z_r Z_rᵀ/Z_rr. Where there is a
relation among the λλᵀ, as among any N(N+1)/2 + 1 of them, it costs nothing.
"""

from __future__ import annotations

import numpy as np

from leakwise.optimize.search.frequencies.aim import TRACE, Aim
from leakwise.optimize.search.frequencies.weights import curvature, linearised
from leakwise.types import Floats

__all__ = ["eliminated"]

_FLAT = 1e-9  # of the variance, the least curvature: relations among columns have none
_ROUNDED = 1e-14  # of the largest entry of Z, what rounding leaves where there is nothing
_LEAST = 1e-3  # of its old weight, what a column keeps at least before weights are found again


def eliminated(columns: Floats, weights: Floats, most: int, aim: Aim = TRACE) -> tuple[Floats, Floats]:
    """Return ``most`` of the columns, those that are missed least having left, with weights near the best ones."""
    if len(weights) <= most:
        return columns, weights
    hessian, _ = curvature(columns, weights, _FLAT * abs(linearised(columns, weights, aim).value), aim)
    scaled = columns * weights
    free = np.linalg.inv(hessian)
    across = free @ scaled.T
    free -= across @ np.linalg.solve(scaled @ across, across.T)  # within Σρλ = 1
    left, share = np.ones(len(weights), dtype=bool), np.ones(len(weights))
    least = _ROUNDED * float(np.abs(np.diag(free)).max())
    for _ in range(len(weights) - most):
        room = np.maximum(np.diag(free), least)
        leaving = int(np.where(left, share**2 / room, np.inf).argmin())
        step = -share[leaving] / room[leaving] * free[leaving]
        # Another weight may come to zero on the way: then that column leaves.
        falling = left & (step < 0)
        ends = np.where(falling, share / np.maximum(-step, 1e-300), np.inf)
        first = int(ends.argmin())
        share = np.maximum(share + min(1.0, float(ends[first])) * step, 0.0)
        leaving = first if ends[first] < 1 else leaving
        left[leaving], share[leaving] = False, 0.0
        if free[leaving, leaving] > least:  # a column that cannot move takes no other with it
            free -= np.outer(free[leaving], free[leaving]) / free[leaving, leaving]
    return columns[:, left], weights[left] * np.maximum(share[left], _LEAST)
