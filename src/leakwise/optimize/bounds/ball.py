"""The l1 ball at any size: a bound on every column that needs no search.

A column of the ball's cone has least entry a, largest entry M, and τ such that a mass c = β/2 lies at or above it. With
E = Σ π (λ-τ)₊ the cone says M + t(cτ + E) ≤ t(1 + ca), and π_min(M-τ) ≤ E ≤ c(M-τ). Below τ a convex f lies under its
chord on [a, τ], above it under its chord on [τ, M]:

    Σ π f(λ) ≤ f(a) + (1-a-E)·slope(a, τ) + E·slope(τ, M).

For c ≤ π_min this forces M = τ, and the bound is the one of the mathematics, section 4.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from leakwise.exact import float_above, float_below
from leakwise.optimize.bounds.chord import Function, chord_slopes
from leakwise.optimize.bounds.ranges import chord_at_one, over_boxes, range_bound
from leakwise.optimize.problem.prior_set_cone import ball_range
from leakwise.priors import PriorSet
from leakwise.types import Floats

__all__ = ["ball_bound"]

_RELATIVE = 1e-7
_MOST_BOXES = 150_000
_NEAR = 1e-5
_CUTS = 8  # of each side of the first boxes


def ball_bound(ball: PriorSet, ratio: Fraction, f: Function) -> float:
    """An upper bound on Σ π f(λ) over all lift vectors of the ball's cone."""
    p, where = ball.nominal.probabilities, ball_range(ball, ratio)
    assert ball.moved is not None  # an l1 ball
    assert where is not None
    least = min(ball.nominal.fractions)
    if ball.moved <= least:
        return max(range_bound(f, p, np.zeros(len(p)), where), 0.0)
    t, c = float_above(ratio), float_below(ball.moved)
    edges = np.unique(np.concatenate([np.linspace(0, 1, 4001), np.geomspace(1e-12, 1, 400)]))
    top = t * (1 + c * edges) / (1 + c * t)
    if not (top >= 1).any():
        return 0.0
    best = float(chord_at_one(f, edges, np.maximum(top, 1.0))[top >= 1].max())
    # a in [0, 1], τ and M in [0, t]: the bound rises with τ, M and E and falls with a, so the far corner bounds a box.
    corners = np.stack([grid.ravel() for grid in np.meshgrid(*3 * [np.arange(_CUTS)], indexing="ij")])
    sides = np.array([[1.0], [t], [t]]) / _CUTS

    def above(low: Floats, high: Floats) -> Floats:
        return _box_bounds(f, c, t, float_below(least), low, high)

    goal = best + _RELATIVE * abs(best)
    bound = over_boxes(above, corners * sides, (corners + 1) * sides, goal, _MOST_BOXES)
    return max(bound, 0.0) * (1 + 1e-12) + 1e-14


def _box_bounds(f: Function, c: float, t: float, least: float, low: Floats, high: Floats) -> Floats:
    (a, tau_low, top_low), (a_high, tau, top) = low, high
    tau = np.minimum(tau, top)
    excess = np.minimum(1 + c * a_high - np.maximum(top_low, tau_low) / t - c * tau_low, c * (top - tau_low))
    excess = np.minimum(excess, 1 - a)
    possible = (excess >= 0) & (top >= 1) & (tau >= a) & (excess >= least * np.maximum(top_low - tau, 0.0))
    possible &= excess >= 1 - tau  # what is below τ has the mean 1 - E
    excess = np.clip(excess, 0.0, None)
    # Where τ may come up to M (or to a) the chord becomes a tangent, which a chord a little farther bounds.
    rising = chord_slopes(f, a, np.maximum(tau, a + _NEAR))
    steepest = chord_slopes(f, tau, np.maximum(top, tau + _NEAR))
    values = f(a) + rising * (1 - a - excess) + steepest * excess
    return np.where(possible, values, -np.inf)
