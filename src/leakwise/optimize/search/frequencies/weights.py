"""Weights of given columns: so that they add up to one, and so that what is aimed at is recovered best."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from leakwise.optimize.search.frequencies.aim import TRACE, Aim
from leakwise.optimize.search.limits import Limits
from leakwise.types import Floats

__all__ = ["Linearised", "adding_up", "curvature", "interior", "least_variance", "linearised", "regular"]

_TILTS = 24
_FAST = 0.3  # of what is missing, what a step may leave
_LARGEST_TILT = 1.0
_CLOSE = 1e-13
_SMOOTH = 1e-3  # of the largest variance, where weights were not found by the barrier method


@dataclass(frozen=True)
class Linearised:
    """The value at some weights, and its slope in each column.

    ``value`` is minus the variance aimed at, ``slope_at`` the same with the shares of the slope (both agree for a sum);
    ``root`` is H = J⁻¹B, ``worth`` is |Hᵀλ|² of each column, and ``duals`` are y with y·λ ≈ worth on those in use.
    """

    value: float
    slope_at: float
    inverse: Floats
    root: Floats
    worth: Floats
    duals: Floats
    shares: Floats

    @property
    def centre(self) -> Floats:
        """HHᵀ, by which every column is worth λᵀHHᵀλ."""
        centre: Floats = self.root @ self.root.T
        return centre


def information(columns: Floats, weights: Floats) -> Floats:
    """Return J = Σ ρ λλᵀ."""
    scaled = columns * np.sqrt(weights)
    matrix: Floats = scaled @ scaled.T
    return matrix


def _inverse(columns: Floats, weights: Floats, aim: Aim) -> Floats:
    """J⁻¹, with zeros for the last rows where those only have to add up."""
    inverse: Floats = np.linalg.inv(information(columns[: len(columns) - aim.unseen], weights)).astype(np.float64)
    return np.pad(inverse, (0, aim.unseen)) if aim.unseen else inverse


def linearised(columns: Floats, weights: Floats, aim: Aim = TRACE, accuracy: float | None = None) -> Linearised:
    """Return the objective at these weights, to which they were found to an accuracy, and its slope in each column."""
    inverse = _inverse(columns, weights, aim)
    variances, root = aim.variances(inverse)
    barrier = _SMOOTH * float(variances.max()) if accuracy is None else accuracy / (len(weights) + aim.terms)
    _, shares = aim.smooth(variances, barrier)
    root = root * np.sqrt(shares)
    half = root.T @ columns
    worth: Floats = np.einsum("ij,ij->j", half, half)
    whole = _inverse_or_nearest(information(columns, weights)) if aim.unseen else inverse
    duals: Floats = whole @ (columns @ (weights * worth))  # the least squares that weigh each column by its weight
    return Linearised(-aim.total(variances), -float(shares @ variances), inverse, root, worth, duals, shares)


def regular(columns: Floats, weights: Floats) -> bool:
    """Whether J can be inverted in doubles: the trace of the inverse of a singular one is any number at all."""
    eigenvalues = np.linalg.eigvalsh(information(columns, weights))
    return bool(eigenvalues[0] > 1e-11 * eigenvalues[-1])


def adding_up(columns: Floats, weights: Floats, inverse: Floats | None = None) -> tuple[Floats, float]:
    """Weights with columns·ρ = 1 that are closest in relative entropy, and what they miss it by.

    Each is changed by a factor, so that none turns negative. An inverse of J of similar columns saves forming J, and
    one of similar weights serves as long as its steps lead there fast.
    """
    missing = 1 - columns @ weights
    miss = float(np.abs(missing).max())
    for _ in range(_TILTS):
        if miss < _CLOSE:
            break
        fresh = inverse is None
        if inverse is None:
            inverse = _inverse_or_nearest(information(columns, weights))
        tilt = (inverse @ missing) @ columns
        tilted = weights * np.exp(tilt * min(1.0, _LARGEST_TILT / max(float(np.abs(tilt).max()), 1e-300)))
        now_missing = 1 - columns @ tilted
        now = float(np.abs(now_missing).max())
        slow = not now < _FAST * miss
        if slow:
            inverse = None  # not similar enough: J itself, from here on or, if this was it, at the next weights
        if slow and not fresh:
            continue
        if not np.isfinite(now) or (now >= miss and miss < 1e-9):
            break
        weights, missing, miss = tilted, now_missing, now
    return weights, miss


def _inverse_or_nearest(matrix: Floats) -> Floats:
    """The inverse, or what comes nearest to one where the matrix is singular."""
    try:
        answer: Floats = np.linalg.inv(matrix).astype(np.float64)
        if np.isfinite(answer).all():
            return answer
    except np.linalg.LinAlgError:
        pass
    return np.linalg.pinv(matrix, hermitian=True).astype(np.float64)


def least_variance(
    columns: Floats, weights: Floats, accuracy: float, limits: Limits, steps: int = 40, aim: Aim = TRACE
) -> Floats:
    """Barrier method for the least variance s.t. columns·ρ = 1, ρ > 0, from an interior start to an accuracy."""
    size, count = columns.shape
    terms = count + aim.terms
    # A start from old weights and new columns is far from any central path: begin with a barrier that it can follow.
    barrier = max(accuracy, 1e-4, aim.start * abs(_smoothed(columns, weights, 0.0, aim).value)) / terms
    ones = np.ones(size)
    while True:
        current = _smoothed(columns, weights, barrier, aim)
        for _ in range(steps):
            hessian, weighed = curvature(columns, weights, barrier, aim, current)
            gradient = -np.einsum("ij,ij->j", weighed, weighed) * weights - barrier
            step = _newton_step(hessian, gradient, columns * weights, ones - columns @ weights)
            decrement = float(step @ hessian @ step)
            length = min(1.0, 0.95 / max(-float(step.min()), 1e-300))
            while length > 1e-9:
                further = weights * (1 + length * step)
                with suppress(np.linalg.LinAlgError):
                    following = _smoothed(columns, further, barrier, aim)
                    if following.value <= current.value + 1e-12 * abs(current.value):
                        break
                length /= 2
            else:
                break
            weights, current = further, following
            if limits.exhausted:
                return weights
            if decrement < 0.1 * barrier * terms:
                break
        if barrier * terms <= 1.01 * accuracy:
            return weights
        barrier = max(barrier / 10, accuracy / terms)


class _Smoothed(NamedTuple):
    """The objective with its barrier at some weights, and what its derivatives are made of."""

    value: float
    inverse: Floats
    root: Floats
    shares: Floats


def _smoothed(columns: Floats, weights: Floats, barrier: float, aim: Aim) -> _Smoothed:
    inverse = _inverse(columns, weights, aim)
    variances, root = aim.variances(inverse)
    value, shares = aim.smooth(variances, barrier)
    return _Smoothed(value - barrier * float(np.log(weights).sum()) if barrier else value, inverse, root, shares)


def curvature(
    columns: Floats, weights: Floats, barrier: float, aim: Aim = TRACE, at: _Smoothed | None = None
) -> tuple[Floats, Floats]:
    """Return the Hessian of the variance with its barrier, in units of the weights, and Hᵀλ of each column."""
    _, inverse, root, shares = at or _smoothed(columns, weights, barrier, aim)
    half = root.T @ columns
    weighed = half * np.sqrt(shares)[:, None]
    # In units of the weights themselves the barrier's part of the Hessian is a multiple of the identity.
    hessian = 2 * (columns.T @ (inverse @ columns)) * (weighed.T @ weighed)
    hessian += aim.curvature(half, shares, barrier)
    hessian *= weights[:, None] * weights
    hessian[np.diag_indices(len(weights))] += barrier
    return hessian, weighed


def _newton_step(hessian: Floats, gradient: Floats, columns: Floats, missing: Floats) -> Floats:
    """The Newton step within columns·step = missing, by the Schur complement of the Hessian."""
    solved = np.linalg.solve(hessian, np.concatenate([gradient[:, None], columns.T], axis=1))
    towards, across = solved[:, 0], solved[:, 1:]
    multipliers = np.linalg.lstsq(columns @ across, -missing - columns @ towards, rcond=None)[0]
    step: Floats = -towards - across @ multipliers
    return step


def interior(columns: Floats, limits: Limits) -> Floats:
    """Positive weights with columns·ρ = 1: the largest least weight, by a linear program."""
    from leakwise.lp import solve_lp

    size, count = columns.shape
    # max s  s.t.  columns·(s + r) = 1, r ≥ 0
    matrix = np.concatenate([columns.sum(axis=1)[:, None], columns], axis=1)
    costs = np.concatenate([[1.0], np.zeros(count)])
    solution = solve_lp(costs, matrix, np.ones(size), np.ones(size), maximize=True, time_limit=limits.remaining)
    if not solution.optimal:
        raise limits.over()
    positive: Floats = solution.x[0] + solution.x[1:]
    return np.maximum(positive, 1e-12)
