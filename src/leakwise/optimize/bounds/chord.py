"""The chord bound: what no mechanism can beat, from any dual vector, without a search.

On a box [l, h] a convex f lies below its chord. Replacing f by chords makes the pricing problem max_λ Σ_i π_i
f(λ_i) - y·λ a continuous knapsack, solved by sorting; U* ≤ Σ y + its value for every y.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from leakwise.types import Floats

__all__ = ["chord_duals", "chord_maxima", "chord_maximum", "chord_slopes", "flattened", "knapsack"]

_AT_ONCE = 1 << 20  # numbers in memory
_NARROW = 2.0**-40  # ranges around 1 narrower than this have too few floats for a slope

Function = Callable[[Floats], Floats]


def chord_slopes(f: Function, low: Floats, high: Floats) -> Floats:
    """Return the slopes of the chords of f on [low, high]; zero where both ends are the same."""
    width, rise = high - low, f(high) - f(low)
    return np.divide(rise, width, out=np.zeros_like(rise), where=width > 0)


def flattened(f: Function, p: Floats, low: Floats, high: Floats) -> Function:
    """Return f less the multiple of x - 1 that makes the heaviest letter's chord flat: as lifts average to 1, the same.

    A letter with nearly all of the mass has lifts of nearly 1, whose roundings would be more than all others are worth.
    """
    heaviest = [int(p.argmax())]
    spread = np.maximum(_NARROW - (high - low)[heaviest], 0.0)  # any slope will do: one that has digits
    slope = float(chord_slopes(f, np.maximum(low[heaviest] - spread, 0.0), high[heaviest] + spread)[0])

    def flat(x: Floats) -> Floats:
        turned: Floats = f(x) - slope * (x - 1)
        return turned

    return flat


def chord_maximum(f: Function, p: Floats, low: Floats, high: Floats, y: Floats) -> float:
    """Return max Σ_i π_i chord_i(λ_i) - y·λ over π·λ = 1, low ≤ λ ≤ high; never below the truth."""
    slopes = p * chord_slopes(f, low, high)
    lifts = knapsack(slopes - y, p, low, high)
    terms = np.concatenate([p * f(low), slopes * lifts, -slopes * low, -y * lifts])
    return math.fsum(terms) + float(np.abs(terms).sum()) * (len(p) + 16) * 2.0**-51


def chord_maxima(f: Function, p: Floats, low: Floats, high: Floats, y: Floats) -> Floats:
    """Return :func:`chord_maximum` of many cubes: box k has the sides [low_k, high_k] for every letter.

    All letters have the same chord, so every cube raises them in the same order.
    """
    order = np.argsort(y / p, kind="stable")
    p, y = p[order], y[order]
    before = np.cumsum(p) - p
    slopes = chord_slopes(f, low, high)
    values = np.empty(len(low))
    step = max(1, _AT_ONCE // len(p))
    for k in range(0, len(low), step):
        part = slice(k, k + step)
        a, width, slope = (side[part, None] for side in (low, high - low, slopes))
        raised = np.clip(1 - p.sum() * a - before * width, 0.0, p * width)
        lifts = a + raised / p
        terms = np.stack([p * f(a), slope * p * lifts, -slope * p * a, -y * lifts])
        # The terms and the sums of 4n of them are rounded.
        values[part] = terms.sum(axis=(0, 2)) + np.abs(terms).sum(axis=(0, 2)) * (2 * len(p) + 20) * 2.0**-51
    return values


def knapsack(gains: Floats, p: Floats, low: Floats, high: Floats) -> Floats:
    """Return the λ of the largest gains·λ over π·λ = 1, low ≤ λ ≤ high: letters raised by gain per mass."""
    order = np.argsort(-gains / p, kind="stable")
    width = p[order] * (high - low)[order]
    share = np.clip(1 - float(p @ low) - (np.cumsum(width) - width), 0.0, width)
    lifts = low.copy()
    lifts[order] += share / p[order]
    return lifts


def chord_duals(f: Function, p: Floats, low: Floats, high: Floats) -> Floats:
    """Return the dual vector of the global bound Σ_i π_i chord_i(1): it leaves no reduced cost at all.

    With chord_i(x) = a_i + s_i x the duals y_i = π_i (s_i + Σ_j π_j a_j) make Σ_i π_i chord_i(λ_i) - y·λ zero wherever
    π·λ = 1.
    """
    slope = chord_slopes(f, low, high)
    intercept = f(low) - slope * low
    duals: Floats = p * (slope + float(p @ intercept))
    return duals
