"""How large E Σ_i d_i λ_i² can be where the lifts of each outcome share a range [a, top(a)], for ``frequencies``.

As E λ = 1, the mean is at most Σy + max (Σ d λ² - y·λ) for every y. Outcomes whose least lift is in a short interval
have all lifts in a box; chords on it make the maximum a linear one, which any price of the mass bounds. For a uniform
prior the mean of λ² is at most that of the best vertex, and there are only so many up to the order of the letters.
"""

from __future__ import annotations

import itertools
import math

import numpy as np

from leakwise.proof.optimality.functions import sum_up
from leakwise.proof.optimality.ranges import Range
from leakwise.types import Floats

__all__ = ["largest_mean_square", "range_box"]

_INTERVALS = 64
_HALVINGS = 10
_MOST = 4096
_SLACK = 1e-4  # relative, what is not worth cutting intervals for
_UP = 1 + 2.0**-44


def range_box(p: Floats, where: Range) -> tuple[Floats, Floats]:
    """Return the least and the largest lift of each letter, rounded outwards."""
    low, high = np.full(len(p), where.low), 1 / p
    for alpha, beta in where.pieces:
        # All others at the top beside a least lift, and all others at the least lift beside a largest one.
        low = np.maximum(low, (1 - (1 - p) * alpha) / (p + (1 - p) * beta))
        high = np.minimum(high, (alpha * (1 - p) + beta) / ((1 - p) + beta * p))
    return np.maximum(low / _UP - 2.0**-44, 0.0), high * _UP


def largest_mean_square(d: Floats, y: Floats, p: Floats, where: Range) -> float:
    """Return a number above E Σ d λ² for every mechanism with lifts in the range; d is not negative."""
    low, high = range_box(p, where)
    found = [sum_up(d * (low + high - low * high) * _UP)]
    if bool((p == p[0]).all()):
        found.append(float(d.max()) * len(p) * _best_vertex(where, len(p)) * _UP)
    if np.isfinite(y).all():
        size = float((np.abs(y) + d * high**2) @ high) + float(np.abs(y).sum())
        found.append(sum_up(y) + _largest(d, y, p, low, high, where) + size * (len(p) + 32) * 2.0**-48)
    return min(one for one in found if not math.isnan(one))


def _best_vertex(where: Range, size: int) -> float:
    """The largest mean of λ² over the vertices for a uniform prior: two values on sets of any size, and boxes."""
    raised = np.arange(size + 1) / size
    below, above = where.levels(raised, 1 - raised)
    possible = below >= where.low - 2.0**-40
    best = float(np.where(possible, raised * above**2 + (1 - raised) * below**2, 1.0).max())
    for a in where.kinks():
        top = float(where.top(np.array([a]))[0])
        if top > 1 > a:
            share = np.clip((1 - a) / (top - a) * size - np.arange(size), 0.0, 1.0)
            best = max(best, float(((a + (top - a) * share) ** 2).mean()))
    return best * _UP


def _largest(d: Floats, y: Floats, p: Floats, low: Floats, high: Floats, where: Range) -> float:
    """A number above Σ d λ² - y·λ over the range, by intervals of the least lift that are cut where they matter."""
    ends = sorted({*where.kinks(), 1.0})
    grid = [np.linspace(first, last, _INTERVALS + 1) for first, last in itertools.pairwise(ends)]
    left, right = (np.concatenate([part[cut] for part in grid]) for cut in (slice(None, -1), slice(1, None)))
    bound, settled = -math.inf, -math.inf
    for _ in range(_HALVINGS):
        values = _in_boxes(d, y, p, low, high, where, left, right)
        middle = (left + right) / 2
        settled = max(settled, float(_in_boxes(d, y, p, low, high, where, middle, middle).max()))
        open_ = values > settled + _SLACK * (abs(settled) + float(np.abs(y).sum()))
        bound = max(bound, float(values[~open_].max(initial=-math.inf)))
        if not open_.any():
            return bound
        rest = float(values[open_].max())
        if open_.sum() > _MOST:
            break
        left, right = np.concatenate([left[open_], middle[open_]]), np.concatenate([middle[open_], right[open_]])
    return max(bound, rest)


def _in_boxes(
    d: Floats, y: Floats, p: Floats, low: Floats, high: Floats, where: Range, left: Floats, right: Floats
) -> Floats:
    """For each interval of the least lift a number above Σ d chord(λ) - y·λ; -∞ where no lifts average to one."""
    floor = np.maximum(low, left[:, None] / _UP)
    roof = np.maximum(np.minimum(high, where.top(right)[:, None] * _UP), floor)
    gains = d * (floor + roof) - y
    density = gains / p
    order = np.argsort(-density, axis=1)
    width = np.take_along_axis(p * (roof - floor), order, axis=1)
    place = np.minimum((np.cumsum(width, axis=1) < (1 - floor @ p)[:, None]).sum(axis=1), len(p) - 1)
    price = np.take_along_axis(density, np.take_along_axis(order, place[:, None], axis=1), axis=1)
    rest = gains - price * p
    values = np.maximum(rest * floor, rest * roof).sum(axis=1) + price[:, 0] - (floor * roof) @ d
    possible = (floor @ p <= 1 + 1e-9) & (roof @ p >= 1 - 1e-9)
    bounded: Floats = np.where(possible, values, -math.inf)
    return bounded
