"""Designs for statistics: the least asymptotic error of the recovered frequencies.

Minimise trace J(ρ)⁻¹ with J = Σ_r ρ_r λ_r λ_rᵀ over weights with Σ_r ρ_r λ_r = 1 (MATH section 2). The master is
smooth and
convex: a barrier method with exact second derivatives. Linearised at an optimum, a column is worth λᵀ J⁻² λ, convex
in λ:
so extreme rays suffice, and the same pricing picture gives the bound.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from leakwise.optimize.chord import knapsack
from leakwise.optimize.cones import Cone, LDPCone, LiftBox
from leakwise.optimize.enumeration import list_vertices, vertex_count_bound
from leakwise.optimize.search import Found, Limits

__all__ = ["search_frequencies"]

Floats = npt.NDArray[np.float64]

_ROUNDS = 60
_ALL_VERTICES = 60_000  # up to so many are priced one by one, which makes the bound exact


def search_frequencies(cone: Cone, limits: Limits) -> Found:
    """The weights and columns of least trace J⁻¹, with duals that bound it from below."""
    p = cone.prior.probabilities
    size = len(p)
    every = _every_vertex(cone)
    generator = np.random.default_rng(size)
    objectives = np.concatenate([np.eye(size), -np.eye(size), generator.standard_normal((size, 6 * size))], axis=1)
    columns = _distinct(cone.linear_max(objectives)[1])
    columns = _feasible_start(columns)
    weights, stopped = np.empty(0), False
    best_bound = np.inf
    for turn in range(_ROUNDS):
        weights = _least_trace(columns)
        value, worth, centre = _linearised(columns, weights, p)
        y = _duals(columns, worth, weights)
        if every is not None:
            costs = np.einsum("ij,ij->j", every, centre @ every) - y @ every
            largest = float(costs.max())
            chosen = np.argsort(-costs)[: 2 * size]
            found = every[:, chosen[costs[chosen] > limits.tolerance]]
        else:
            found, largest = _climb(cone, centre, y, generator, limits.tolerance)
            largest = max(largest, _separable_bound(cone, centre, y))
        # For convex Φ: Φ* ≥ Φ(ρ) - (max over mechanisms of Σ worth·ρ' - Σ worth·ρ), and the maximum is at most Σy +
        # largest.
        gap = float(y.sum()) + max(largest, 0.0) - float(worth @ weights)
        best_bound = min(best_bound, value + gap)
        limits.tell("columns", value, best_bound)
        if best_bound - value <= max(limits.tolerance, 1e-9 * abs(value)) or not found.shape[1]:
            break
        if limits.exhausted:
            stopped = True
            break
        if turn < _ROUNDS - 1:
            columns = _distinct(np.concatenate([columns[:, weights > 1e-9], found], axis=1))
    used = weights > 1e-7
    # Dropping the dust of the barrier leaves the rows slightly off: put them right on the columns that stay.
    weights = _corrected(columns[:, used], weights[used])
    # The caller reads bound = Σ duals + largest: hand it over in that form.
    shift = np.full(size, best_bound / size)
    return Found(columns[:, used], weights, shift, 0.0, "vertices" if every is not None else "chord", stopped=stopped)


def _every_vertex(cone: Cone) -> Floats | None:
    if isinstance(cone, LiftBox) and cone.low == 0:
        region = cone.prior.region(lift=cone.high)
        if vertex_count_bound(len(cone.prior), region) <= _ALL_VERTICES:
            return list_vertices(cone)
    if isinstance(cone, LDPCone) and 2 ** len(cone.prior) <= _ALL_VERTICES:
        return list_vertices(cone)
    return None


def _distinct(columns: Floats) -> Floats:
    _, places = np.unique(columns.round(12), axis=1, return_index=True)
    return columns[:, np.sort(places)]


def _feasible_start(columns: Floats) -> Floats:
    """The constant column makes every set of columns feasible."""
    return np.concatenate([np.ones((len(columns), 1)), columns], axis=1)


def _linearised(columns: Floats, weights: Floats, p: Floats) -> tuple[float, Floats, Floats]:
    """The value Σπ² - trace J⁻¹, what each column is worth, and the matrix J⁻²."""
    information = (columns * weights) @ columns.T
    inverse = np.linalg.inv(information)
    centre = inverse @ inverse
    worth = np.einsum("ij,ij->j", columns, centre @ columns)
    return float((p**2).sum() - np.trace(inverse)), worth, centre


def _duals(columns: Floats, worth: Floats, weights: Floats) -> Floats:
    """Duals of Σρλ = 1: at the optimum y·λ_r = worth_r for every column in use."""
    root = np.sqrt(weights)
    return np.linalg.lstsq((columns * root).T, worth * root, rcond=None)[0].astype(np.float64)


def _least_trace(columns: Floats) -> Floats:
    """Barrier method for min trace J(ρ)⁻¹ s.t. columns·ρ = 1, ρ > 0, from an interior start."""
    size, count = columns.shape
    weights = _interior(columns)
    barrier = 1.0
    ones = np.ones(size)
    for _ in range(60):
        for _ in range(40):
            inverse = np.linalg.inv((columns * weights) @ columns.T)
            half = inverse @ columns
            worth = np.einsum("ij,ij->j", half, half)
            gradient = -worth - barrier / weights
            hessian = 2 * (columns.T @ half) * (half.T @ half) + np.diag(barrier / weights**2)
            step = _newton_step(hessian, gradient, columns, ones - columns @ weights)
            decrement = float(step @ hessian @ step)
            shrinking = step < 0
            length = min(1.0, 0.95 * float((-weights[shrinking] / step[shrinking]).min())) if shrinking.any() else 1.0
            current = _objective(columns, weights, barrier)
            while length > 1e-12 and _objective(columns, weights + length * step, barrier) > current + 1e-12 * abs(
                current
            ):
                length /= 2
            weights = weights + length * step
            if decrement < 1e-9 * max(barrier, 1e-12) or length <= 1e-12:
                break
        if barrier * count < 1e-10:
            break
        barrier /= 10
    return weights


def _newton_step(hessian: Floats, gradient: Floats, columns: Floats, missing: Floats) -> Floats:
    """The Newton step within columns·step = missing, by the Schur complement of the Hessian."""
    solved = np.linalg.solve(hessian, np.concatenate([gradient[:, None], columns.T], axis=1))
    towards, across = solved[:, 0], solved[:, 1:]
    multipliers = np.linalg.lstsq(columns @ across, -missing - columns @ towards, rcond=None)[0]
    step: Floats = -towards - across @ multipliers
    return step


def _objective(columns: Floats, weights: Floats, barrier: float) -> float:
    if (weights <= 0).any():
        return np.inf
    try:
        return float(np.trace(np.linalg.inv((columns * weights) @ columns.T)) - barrier * np.log(weights).sum())
    except np.linalg.LinAlgError:
        return np.inf


def _interior(columns: Floats) -> Floats:
    """Positive weights with columns·ρ = 1: the largest least weight, by a linear program."""
    from leakwise.lp import solve_lp

    size, count = columns.shape
    # max s  s.t.  columns·(s + r) = 1, r ≥ 0
    matrix = np.concatenate([columns.sum(axis=1)[:, None], columns], axis=1)
    costs = np.concatenate([[1.0], np.zeros(count)])
    solution = solve_lp(costs, matrix, np.ones(size), np.ones(size), maximize=True)
    interior: Floats = solution.x[0] + solution.x[1:]
    return np.maximum(interior, 1e-12)


def _corrected(columns: Floats, weights: Floats) -> Floats:
    """Weights that meet columns·ρ = 1 again, each changed in proportion to itself, so that none turns negative."""
    for _ in range(4):
        missing = 1 - columns @ weights
        multipliers = np.linalg.lstsq((columns * weights) @ columns.T, missing, rcond=None)[0]
        weights = weights * (1 + columns.T @ multipliers)
    return np.maximum(weights, 0.0)


def _climb(
    cone: Cone, centre: Floats, y: Floats, generator: np.random.Generator, tolerance: float
) -> tuple[Floats, float]:
    """Local maxima of λᵀGλ - y·λ over the vertices, from many starts at once."""
    size = len(y)
    lifts = cone.linear_max(generator.standard_normal((size, 8 * size)))[1]
    for _ in range(40):
        following = cone.linear_max(2 * centre @ lifts - y[:, None])[1]
        if np.allclose(following, lifts, atol=1e-12):
            break
        lifts = following
    costs = np.einsum("ij,ij->j", lifts, centre @ lifts) - y @ lifts
    chosen = np.flatnonzero(costs > tolerance)
    chosen = chosen[np.argsort(-costs[chosen])[: 2 * size]]
    return _distinct(lifts[:, chosen]), float(costs.max())


def _separable_bound(cone: Cone, centre: Floats, y: Floats) -> float:
    """An upper bound on λᵀGλ - y·λ: products of different entries bounded by squares, squares by chords."""
    low, high = cone.entry_box()
    p = cone.prior.probabilities
    off = np.maximum(centre - np.diag(np.diag(centre)), 0.0)
    diagonal = np.diag(centre) + off.sum(axis=1)
    gains = diagonal * (low + high) - y  # the chord of d·x² on [l, h] has slope d(l+h)
    best, magnitude = knapsack(gains, p, low, high)
    return best - float(diagonal @ (low * high)) + magnitude * 1e-12
