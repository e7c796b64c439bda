"""The l1 ball at any size: a bound on every column that needs no search.

A column of the ball's cone has least entry a, largest entry M, and τ such that a mass c = β/2 lies at or above it. With
E = Σ π (λ-τ)₊ the cone says M + t(cτ + E) ≤ t(1 + ca), and π_min(M-τ) ≤ E ≤ c(M-τ). Below τ a convex f lies under its
chord on [a, τ], above it under its chord on [τ, M]:

    Σ π f(λ) ≤ f(a) + (1-a-E)·slope(a, τ) + E·slope(τ, M).

For c ≤ π_min this forces M = τ, and the bound is the one of the mathematics, section 4.
"""

from __future__ import annotations

import numpy as np

from leakwise.exact import float_above, float_below
from leakwise.optimize.bounds.chord import Function
from leakwise.optimize.bounds.ranges import chord_at_one, over_intervals
from leakwise.priors import PriorSet
from leakwise.types import Floats

__all__ = ["ball_bound"]


_RELATIVE = 1e-7
_MOST_BOXES = 300_000
_NEAR = 1e-5


def _slope(f: Function, left: Floats, right: Floats) -> Floats:
    width = right - left
    rise = f(right) - f(left)
    return np.divide(rise, width, out=np.zeros_like(rise), where=width > 1e-14)


def ball_bound(ball: PriorSet, ratio: object, f: Function) -> tuple[float, float]:
    """An upper bound on Σ π f(λ) over all lift vectors of the ball's cone, and the least entry a that is best."""
    t = float_above(ratio)  # type: ignore[arg-type]
    assert ball.moved is not None  # an l1 ball
    c = float_below(ball.moved)
    least = float_below(min(mass for mass in ball.nominal.fractions))
    edges = np.unique(np.concatenate([np.linspace(0, 1, 4001), np.geomspace(1e-12, 1, 400)]))
    top = t * (1 + c * edges) / (1 + c * t)
    fits = top >= 1
    if not fits.any():
        return 0.0, 1.0
    values = np.where(fits, chord_at_one(f, edges, np.maximum(top, 1.0)), -np.inf)
    best, start = float(values.max()), float(edges[int(values.argmax())])
    bound = _one_dimensional(f, c, t, best) if c <= least else _three_dimensional(f, c, t, least, best)
    return max(bound, 0.0) * (1 + 1e-12) + 1e-14, start


def _one_dimensional(f: Function, c: float, t: float, best: float) -> float:
    """On [a₁, a₂] the chord with (a₁, A(a₂)) is above all others: intervals are cut until they are all below."""

    def above(left: Floats, right: Floats) -> Floats:
        top = t * (1 + c * right) / (1 + c * t)
        return np.where(top >= 1, chord_at_one(f, left, np.maximum(top, 1.0)), -np.inf)

    return over_intervals(above, 0.0, best + _RELATIVE * abs(best))


def _three_dimensional(f: Function, c: float, t: float, least: float, best: float) -> float:
    """Boxes in (a, τ, M): the bound rises with τ, M and E and falls with a, so the far corner bounds a box."""
    goal = best + _RELATIVE * abs(best)
    cuts = np.linspace(0, 1, 9)
    grids = np.meshgrid(np.arange(8), np.arange(8), np.arange(8), indexing="ij")
    a1, m1, k1 = (cuts[grid.ravel()] for grid in grids)
    a2, m2, k2 = (cuts[grid.ravel() + 1] for grid in grids)
    low = np.stack([a1, m1 * t, k1 * t])  # a in [0, 1], τ and M in [0, t]
    high = np.stack([a2, m2 * t, k2 * t])
    bound = goal
    for _ in range(60):
        values = _box_bounds(f, c, t, least, low, high)
        open_ = values > goal
        if not open_.any():
            return goal
        bound = float(values[open_].max())
        if open_.sum() * 2 > _MOST_BOXES:
            break
        low, high = low[:, open_], high[:, open_]
        widest = ((high - low) / np.array([[1.0], [t], [t]])).argmax(axis=0)
        middle = (low + high) / 2
        places = np.arange(low.shape[1])
        left_high, right_low = high.copy(), low.copy()
        left_high[widest, places] = middle[widest, places]
        right_low[widest, places] = middle[widest, places]
        low, high = np.concatenate([low, right_low], axis=1), np.concatenate([left_high, high], axis=1)
    return bound


def _box_bounds(f: Function, c: float, t: float, least: float, low: Floats, high: Floats) -> Floats:
    (a, tau_low, top_low), (a_high, tau, top) = low, high
    tau = np.minimum(tau, top)
    excess = np.minimum(1 + c * a_high - np.maximum(top_low, tau_low) / t - c * tau_low, c * (top - tau_low))
    excess = np.minimum(excess, 1 - a)
    possible = (excess >= 0) & (top >= 1) & (tau >= a) & (excess >= least * np.maximum(top_low - tau, 0.0))
    possible &= excess >= 1 - tau  # what is below τ has the mean 1 - E
    excess = np.clip(excess, 0.0, None)
    # Where τ may come up to M (or to a) the chord becomes a tangent, which a chord a little farther bounds.
    rising, steepest = _slope(f, a, np.maximum(tau, a + _NEAR)), _slope(f, tau, np.maximum(top, tau + _NEAR))
    values = f(a) + rising * (1 - a - excess) + steepest * excess
    return np.where(possible, values, -np.inf)
