"""The chord bound: what no mechanism can beat, from any dual vector, without a search.

On a box [l, h] a convex f lies below its chord. Replacing f by chords makes the pricing problem max_λ Σ_i π_i
f(λ_i) - y·λ a continuous knapsack, solved by sorting; U* ≤ Σ y + its value for every y.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from leakwise.types import Floats

__all__ = ["chord_duals", "chord_maximum", "knapsack"]

Function = Callable[[Floats], Floats]


def _slopes(f: Function, low: Floats, high: Floats) -> Floats:
    width = high - low
    rise = f(high) - f(low)
    return np.divide(rise, width, out=np.zeros_like(rise), where=width > 0)


def chord_maximum(f: Function, p: Floats, low: Floats, high: Floats, y: Floats) -> float:
    """Return max Σ_i π_i chord_i(λ_i) - y·λ over π·λ = 1, low ≤ λ ≤ high; never below the truth."""
    slope = _slopes(f, low, high)
    gains = p * slope - y
    base = p * f(low) - y * low
    best, magnitude = knapsack(gains, p, low, high)
    start = gains * low
    # best counts the gain from 0; the chords start at low with the value of f there.
    terms = np.concatenate([base, -start])
    value = math.fsum(terms) + best
    return value + (float(np.abs(terms).sum()) + magnitude) * (len(p) + 16) * 2.0**-51


def knapsack(gains: Floats, p: Floats, low: Floats, high: Floats) -> tuple[float, float]:
    """Return max gains·λ over π·λ = 1, low ≤ λ ≤ high, and the sum of the sizes of its terms."""
    order = np.argsort(-gains / p, kind="stable")
    width = p[order] * (high - low)[order]
    before = np.cumsum(width) - width
    budget = 1 - float(p @ low)
    share = np.clip(budget - before, 0.0, width)
    terms = np.concatenate([gains * low, share * gains[order] / p[order]])
    return math.fsum(terms), float(np.abs(terms).sum())


def chord_duals(f: Function, p: Floats, low: Floats, high: Floats) -> Floats:
    """Return the dual vector of the global bound Σ_i π_i chord_i(1): it leaves no reduced cost at all.

    With chord_i(x) = a_i + s_i x the duals y_i = π_i (s_i + Σ_j π_j a_j) make Σ_i π_i chord_i(λ_i) - y·λ zero wherever
    π·λ = 1.
    """
    slope = _slopes(f, low, high)
    intercept = f(low) - slope * low
    duals: Floats = p * (slope + float(p @ intercept))
    return duals
