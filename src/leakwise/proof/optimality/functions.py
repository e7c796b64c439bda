"""The named f-informations, in code of the checker's own, and sums and maxima that are rounded against the claim."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import numpy as np

from leakwise.types import Floats

__all__ = ["FUNCTIONS", "Function", "Late", "chords", "fill", "highest", "largest_nearby", "never", "sum_up"]

Function = Callable[[Floats], Floats]
Late = Callable[[], bool]


def never() -> bool:
    """Return the deadline of a check: it takes the time that it needs."""
    return False


def _entropy(x: Floats) -> Floats:
    positive = np.where(x > 0, x, 1.0)
    return positive * np.log(positive) * (x > 0)


FUNCTIONS: dict[str, Function] = {
    "mutual_information": _entropy,
    "total_variation": lambda x: np.abs(x - 1) / 2,
    "chi_square": lambda x: (x - 1) * (x - 1),
    "hellinger": lambda x: np.square((1 - x) / (1 + np.sqrt(x))),
}


def sum_up(values: Floats) -> float:
    """Return a sum, rounded up."""
    return math.fsum(values) + float(np.abs(values).sum()) * 2.0**-52


def highest(values: Iterable[float]) -> float:
    """Return the largest of some numbers; ∞ where one of them is none, as differences of infinities are."""
    listed = list(values)
    return math.inf if any(math.isnan(value) for value in listed) else max(listed, default=-math.inf)


def largest_nearby(f: Function, x: Floats, error: Floats | float) -> Floats:
    """Return the largest value of a convex f within an error of x: at an end. (Near 0 a root magnifies errors.)"""
    largest: Floats = np.maximum(f(np.maximum(x - error, 0.0)), f(x + error))
    return largest


def chords(f: Function, floor: Floats, ceiling: Floats) -> tuple[Floats, Floats]:
    """Slopes and intercepts of lines that f does not exceed on the boxes: its chords, a few roundings higher."""
    width = ceiling - floor
    at_floor, at_ceiling = f(floor), f(ceiling)
    slope = np.divide(at_ceiling - at_floor, width, out=np.zeros_like(width), where=width > 0)
    spare = (np.abs(at_floor) + np.abs(at_ceiling) + np.abs(slope) * ceiling) * 2.0**-49
    return slope, np.where(width > 0, at_floor, np.maximum(at_floor, at_ceiling)) - slope * floor + spare


def fill(gains: Floats, p: Floats, floor: Floats, ceiling: Floats) -> float:
    """Return a number above max gains·λ over π·λ = 1 in a box, by duality: any price θ of mass gives one.

    θ + Σ_i max over [floor_i, ceiling_i] of (gains_i - θ π_i) λ_i; the best θ is the gain per mass of the letter that
    is filled last.
    """
    seen = p > 0
    density = np.full(len(p), -np.inf)
    density[seen] = gains[seen] / p[seen]
    order = np.argsort(-density)
    width = p[order] * (ceiling - floor)[order]
    reached = np.searchsorted(np.cumsum(width), 1 - float(p @ floor))
    price = float(density[order[min(int(reached), int(seen.sum()) - 1)]])
    left = gains - price * p
    terms = np.maximum(left * floor, left * ceiling)
    size = abs(price) * (1 + float(p @ ceiling)) + float((np.abs(gains) * ceiling).sum())
    return math.fsum(terms) + price + size * (len(p) + 16) * 2.0**-51
