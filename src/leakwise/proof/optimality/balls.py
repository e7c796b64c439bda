"""A bound on every column that serves an l1 ball of priors, of any radius, without duals.

Let a be the least lift, M the largest, τ the level above which lies a mass of c = β/2, and E = Σ π(λ-τ)₊. The ball
allows the column iff M + t(cτ + E) ≤ t(1 + ca). The parts of λ up to τ average to 1 - E within [a, τ], those above it
come to E within [τ, M] and weigh at least π_min and at most c. By chords on both parts

    Σ π f(λ) ≤ f(a) + (1 - E - a) s(a, τ) + E s(τ, M),     s the slope of the chord,

which falls with a and rises with τ, M and E: on a box of (a, τ, M) its far corner bounds it. Boxes are cut until all
are below the goal.
"""

from __future__ import annotations

import math

import numpy as np

from leakwise.proof.optimality.functions import Function, highest
from leakwise.types import Floats

__all__ = ["ball_bound"]

_MOST_BOXES = 400_000
_LEVELS = 80
_SPARE = 2.0**-44
_NEAR = 1e-5


def ball_bound(f: Function, c: float, least: float, ratio: float, goal: float) -> float:
    """Return a number above Σ π f(λ) over all columns of the ball; ``goal`` where that can be shown."""
    if not math.isfinite(ratio):
        return math.inf
    start = np.array([[0.0], [0.0], [0.0]])
    stop = np.array([[1.0], [ratio], [ratio]])
    scale = stop.copy()
    best = np.inf
    for _ in range(_LEVELS):
        values = _corner(f, c, least, ratio, start, stop)
        open_ = ~(values <= goal)  # a number that is none is open, too
        if not open_.any():
            return min(best, goal)
        best = min(best, highest([goal, float(values.max())]))
        if 2 * int(open_.sum()) > _MOST_BOXES:
            return best
        start, stop = start[:, open_], stop[:, open_]
        widest = ((stop - start) / scale).argmax(axis=0)
        each = np.arange(start.shape[1])
        cut = (start[widest, each] + stop[widest, each]) / 2
        lower_stop, upper_start = stop.copy(), start.copy()
        lower_stop[widest, each] = upper_start[widest, each] = cut
        start, stop = np.concatenate([start, upper_start], axis=1), np.concatenate([lower_stop, stop], axis=1)
    return best


def _corner(f: Function, c: float, least: float, ratio: float, start: Floats, stop: Floats) -> Floats:
    """The largest bound on each box, rounded up; -∞ on boxes that no column reaches."""
    a, tau_least, top_least = start
    a_most, tau, top = stop
    tau = np.minimum(tau, top)
    tau_least, top_least = np.maximum(tau_least, a), np.maximum(top_least, np.maximum(tau_least, 1.0))
    excess = 1 + c * a_most - top_least / ratio - c * tau_least
    excess = np.minimum(np.minimum(excess, c * (top - tau_least)), 1 - a) + _SPARE
    needed = np.maximum(np.maximum(least * (top_least - tau), 1 - tau), 0.0)
    possible = (excess >= needed) & (top >= 1) & (tau >= a) & (top >= top_least) & (tau >= tau_least)
    tau, excess = np.maximum(tau, a), np.clip(excess, 0.0, None)
    lower, upper = _slope(f, a, tau), _slope(f, tau, top)
    values = f(a) + lower * (1 - a - excess) + upper * excess
    spare = (np.abs(f(a)) + np.abs(lower) + np.abs(upper) + 1) * _SPARE
    bounded: Floats = np.where(possible, values + spare, -np.inf)
    return bounded


def _slope(f: Function, left: Floats, right: Floats) -> Floats:
    """A number above the slope of every chord within: those of a convex f rise with their right end."""
    farther = np.maximum(right, left + _NEAR * (1 + left))
    slope: Floats = (f(farther) - f(left)) / (farther - left)
    return slope
