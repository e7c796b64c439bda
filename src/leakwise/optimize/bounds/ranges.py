"""Lifts in a range [a, top(a)] at any size: a bound on every column that needs no search.

Where the least lift is between a₁ and a₂ all lifts are in the box [a₁, top(a₂)], whose chords lie above every column.
Intervals of the least lift are cut until none of them is above the best that was found.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from leakwise.exact import float_above, float_below
from leakwise.optimize.bounds.chord import Function, chord_maxima, chord_slopes
from leakwise.optimize.problem.lift_range import LiftRange
from leakwise.types import Floats

__all__ = ["chord_at_one", "over_boxes", "over_intervals", "range_bound"]

_RELATIVE = 1e-9
_INTERVALS = 256
_MOST = 300_000
_MOST_WITH_DUALS = 4_000  # each is a knapsack of its own
_ROUNDS = 60


def chord_at_one(f: Function, low: Floats, high: Floats) -> Floats:
    """Return the chord of f on [low, high] at 1: with no duals the best column of a box is worth no more."""
    value: Floats = f(low) + chord_slopes(f, low, high) * (1 - low)
    return value


def over_boxes(
    above: Callable[[Floats, Floats], Floats], low: Floats, high: Floats, goal: float, most: int = _MOST
) -> float:
    """Return a number above ``above(low, high)`` for boxes (columns of both) and their parts: the goal where it can.

    Those that are not below the goal are cut in two across their longest side.
    """
    sides = (high - low).max(axis=1, keepdims=True)
    bound = goal
    for _ in range(_ROUNDS):
        values = above(low, high)
        open_ = ~(values <= goal)
        if not open_.any():
            return goal
        bound = float(values.max())
        if open_.sum() > most or not bound < math.inf:
            break
        low, high = low[:, open_], high[:, open_]
        cut = ((high - low) / sides).argmax(axis=0), np.arange(low.shape[1])
        left_high, right_low = high.copy(), low.copy()
        left_high[cut] = right_low[cut] = (low[cut] + high[cut]) / 2
        low, high = np.concatenate([low, right_low], axis=1), np.concatenate([left_high, high], axis=1)
    return bound if bound >= goal else math.inf  # not a number: nothing is bounded


def over_intervals(above: Callable[[Floats, Floats], Floats], low: float, goal: float, most: int = _MOST) -> float:
    """Return a number above ``above(a₁, a₂)`` for the intervals that make up [low, 1]: the goal where it can be."""
    edges = np.linspace(low, 1.0, _INTERVALS + 1)[None, :]
    return over_boxes(lambda left, right: above(left[0], right[0]), edges[:, :-1], edges[:, 1:], goal, most)


def range_bound(f: Function, p: Floats, y: Floats, where: LiftRange) -> float:
    """Return a number above Σ π f(λ) - y·λ for all lift vectors of a range."""
    pieces = [(float_above(alpha), float_above(beta)) for alpha, beta in where.pieces]
    plain = not y.any()

    def above(left: Floats, right: Floats) -> Floats:
        floor = left * (1 - 2.0**-50)
        top = np.min([alpha + beta * right for alpha, beta in pieces], axis=0) * (1 + 2.0**-50)
        fits, ceiling = top >= 1, np.maximum(top, 1.0)
        if plain:
            values = chord_at_one(f, floor, ceiling)
            values = values + (np.abs(values) + np.abs(f(floor)) + np.abs(f(ceiling))) * 2.0**-46
        else:
            values = chord_maxima(f, p, floor, ceiling, y)
        return np.where(fits, values, -np.inf)

    low = float_below(where.low)
    grid = np.linspace(low, 1.0, _INTERVALS + 1)
    best = float(above(grid, grid).max())
    goal = best + _RELATIVE * (abs(best) + abs(float(y.sum())))
    return over_intervals(above, low, goal, _MOST if plain else _MOST_WITH_DUALS)
