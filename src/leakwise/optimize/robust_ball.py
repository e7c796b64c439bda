"""The l1 ball at any size: a bound on every column that needs no search, and columns of two values that reach it.

A column of the ball's cone has least entry a, largest entry M, and τ such that a mass c = β/2 lies at or above it. With
E = Σ π (λ-τ)₊ the cone says M + t(cτ + E) ≤ t(1 + ca), and π_min(M-τ) ≤ E ≤ c(M-τ). Below τ a convex f lies under its
chord on [a, τ], above it under its chord on [τ, M]:

    Σ π f(λ) ≤ f(a) + (1-a-E)·slope(a, τ) + E·slope(τ, M).

For c ≤ π_min this forces M = τ, and the bound is the one of MATH section 4.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from leakwise.exact import float_above, float_below
from leakwise.optimize.chord import Function
from leakwise.optimize.master import Master
from leakwise.optimize.search import Limits
from leakwise.priors import Ball

__all__ = ["ball_bound", "two_level_columns"]

Floats = npt.NDArray[np.float64]

_RELATIVE = 1e-7
_MOST_BOXES = 300_000


def _slope(f: Function, left: Floats, right: Floats) -> Floats:
    width = right - left
    rise = f(right) - f(left)
    return np.divide(rise, width, out=np.zeros_like(rise), where=width > 1e-14)


def _two_level(f: Function, a: Floats, top: Floats) -> Floats:
    """The chord of f on [a, top] at 1."""
    return f(a) + _slope(f, a, top) * (1 - a)


def ball_bound(ball: Ball, ratio: object, f: Function) -> tuple[float, float]:
    """An upper bound on Σ π f(λ) over all lift vectors of the ball's cone, and the least entry a that is best."""
    t = float_above(ratio)  # type: ignore[arg-type]
    c = float_below(ball.moved)
    least = float_below(min(mass for mass in ball.nominal.fractions))
    edges = np.unique(np.concatenate([np.linspace(0, 1, 4001), np.geomspace(1e-12, 1, 400)]))
    top = t * (1 + c * edges) / (1 + c * t)
    fits = top >= 1
    if not fits.any():
        return 0.0, 1.0
    values = np.where(fits, _two_level(f, edges, np.maximum(top, 1.0)), -np.inf)
    best, start = float(values.max()), float(edges[int(values.argmax())])
    bound = _one_dimensional(f, c, t, best) if c <= least else _three_dimensional(f, c, t, least, best)
    return max(bound, 0.0) * (1 + 1e-12) + 1e-14, start


def _one_dimensional(f: Function, c: float, t: float, best: float) -> float:
    """On [a₁, a₂] the chord with (a₁, A(a₂)) is above all others: intervals are cut until they are all below."""
    goal = best + _RELATIVE * abs(best)
    left, right = np.linspace(0, 1, 257)[:-1], np.linspace(0, 1, 257)[1:]
    bound = goal
    for _ in range(40):
        top = t * (1 + c * right) / (1 + c * t)
        values = np.where(top >= 1, _two_level(f, left, np.maximum(top, 1.0)), -np.inf)
        open_ = values > goal
        if not open_.any():
            return goal
        bound = float(values.max())
        if open_.sum() > _MOST_BOXES:
            break
        middle = (left[open_] + right[open_]) / 2
        left, right = np.concatenate([left[open_], middle]), np.concatenate([middle, right[open_]])
    return bound


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
    values = f(a) + _slope(f, a, np.maximum(tau, a)) * (1 - a - excess) + _slope(f, tau, top) * excess
    return np.where(possible, values, -np.inf)


# -------------------------------------------------------------------------------------------------------- columns


def _levels(s: Floats, c: float, t: float) -> tuple[Floats, Floats]:
    """The two values of a column raised on a set of mass s: A on it, a elsewhere (MATH section 4)."""
    below = 1 - s + c * t
    return t * (1 - s + c) / below, (1 - (s - c) * t) / below


def two_level_columns(ball: Ball, ratio: object, f: Function, start: float, limits: Limits) -> tuple[Floats, Floats]:
    """Columns of two values and their weights: any set of about the best mass will do, so they add up to one easily.

    ``start`` is the best least entry of :func:`ball_bound`, above 0. Letters of mass zero are given the lift 1.
    """
    p = ball.nominal.probabilities
    seen = np.flatnonzero(p > 0)
    mass = p[seen]
    c, t = float_above(ball.moved), float_below(ratio)  # type: ignore[arg-type]
    top = t * (1 + c * start) / (1 + c * t)
    target = min(max((1 - start) / (top - start), c), 1.0)
    generator = np.random.default_rng(len(p))  # not for privacy: the search is the same every time

    def from_orders(orders: npt.NDArray[np.intp]) -> Floats:
        """For each order of the letters the sets that it fills up to the target: as far as each next letter still fits,
        and with the first one that does not."""
        count = orders.shape[1]
        raised, sums = np.zeros((len(mass), count), dtype=bool), np.zeros(count)
        each = np.arange(count)
        for letters in orders:
            fit = sums + mass[letters] <= target
            raised[letters[fit], each[fit]] = True
            sums[fit] += mass[letters[fit]]
        beyond = raised.copy()
        beyond[np.where(raised, np.inf, mass[:, None]).argmin(axis=0), each] = True
        sets = np.unique(np.concatenate([raised, beyond], axis=1), axis=1)
        s = mass @ sets
        fits = (s >= c) & (s <= c + 1 / t) & (s < 1)
        upper, lower = _levels(s[fits], c, t)
        return np.where(sets[:, fits], upper, np.maximum(lower, 0.0))

    size = len(mass)
    first = from_orders(np.argsort(generator.random((size, 12 * size)), axis=0))
    singles = from_orders(np.argsort(-np.eye(size) + 0.1 * generator.random((size, size)), axis=0))
    columns = np.concatenate([np.ones((size, 1)), first, singles], axis=1)
    master = Master(mass @ f(columns), columns)
    solution = master.solve()
    for _ in range(60):
        y = solution.duals / mass
        noise = generator.standard_normal((size, 2 * size)) * np.linspace(0, 0.5, 2 * size) * float(y.std() + 1e-12)
        found = from_orders(np.argsort(y[:, None] + noise, axis=0))
        costs = mass @ f(found) - solution.duals @ found
        better = costs > 1e-9 * max(1.0, abs(solution.value))
        if not better.any() or limits.exhausted:
            break
        master.add(mass @ f(found[:, better]), found[:, better])
        before = solution.value
        solution = master.solve()
        if solution.value - before <= 1e-9 * abs(before):
            break
    used = solution.weights > 0
    lifts = np.ones((len(p), int(used.sum())))
    lifts[seen] = master.columns[:, used]
    return lifts, solution.weights[used]


def transformed(ratio: float, moved: float) -> float:
    """e^{ε''} = e^ε/(1 + ce^ε): ε''-PML at the estimate is ε-PML on the ball (MATH section 4, conservative route)."""
    return ratio / (1 + moved * ratio)
