"""A basis of the cover, followed as a function of the ratio: where it covers everything, and the duals it has there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from leakwise.optimize.search.master import refined_solve
from leakwise.optimize.worst_case.least_ratio.packing import Covered, Packing
from leakwise.types import Floats

__all__ = ["AtRatio", "at_ratio", "basis_root"]


# Up to so many rows a dense solve is quicker than a sparse factorisation.
_DENSE = 300
_STEPS = 80
_NOTHING = 1e-15  # what is missing per letter and only noise of the solve
_COVERED = 1e-13


@dataclass(frozen=True)
class AtRatio:
    """What a basis says at a ratio: the weights of its columns, what they leave uncovered, and its duals."""

    ratio: float
    weights: Floats
    missing: float
    least: float  # the smallest weight or slack: the basis is feasible iff it is not negative
    y: Floats


def at_ratio(packing: Packing, covered: Covered, ratio: float, *, duals: bool = True) -> AtRatio | None:
    """Solve the basis at a ratio; None where it is singular."""
    matrix = packing.dense(covered.columns, ratio)
    tight = covered.tight
    square = matrix[tight]
    if square.shape[0] != square.shape[1]:
        return None
    try:
        weights, z = _solve(square, packing.room[tight], packing.needed @ matrix if duals else None)
    except (np.linalg.LinAlgError, RuntimeError):
        return None
    if not np.isfinite(weights).all():
        return None
    slack = packing.room[~tight] - matrix[~tight] @ weights
    y = packing.needed.copy()
    if z is not None:
        y[tight] -= z
    least = min(float(weights.min(initial=np.inf)), float(slack.min(initial=np.inf)))
    return AtRatio(ratio, weights, float(packing.needed[~tight] @ slack), least, y)


def _solve(square: Floats, ones: Floats, costs: Floats | None) -> tuple[Floats, Floats | None]:
    """B·ρ = 1 and Bᵀz = costs, each with a step of refinement."""
    if len(square) <= _DENSE:
        return refined_solve(square, ones), None if costs is None else refined_solve(square.T, costs)
    from scipy.sparse import csc_matrix
    from scipy.sparse.linalg import splu

    sparse = csc_matrix(square)
    factors = splu(sparse)
    weights = factors.solve(ones)
    weights = weights + factors.solve(ones - sparse @ weights)
    if costs is None:
        return weights, None
    z = factors.solve(costs, trans="T")
    return weights, z + factors.solve(costs - sparse.T @ z, trans="T")


def basis_root(packing: Packing, covered: Covered, highest: float) -> AtRatio | None:
    """Return the least ratio in (covered.ratio, highest] at which the basis covers everything; None without one.

    By secants from below. From the root on nothing may be missing, or the basis may be singular, or it may miss more
    again (where a letter has dropped out of a column): a step beyond says only that the root is not above it.
    """
    here = at_ratio(packing, covered, covered.ratio, duals=False)
    if here is None or here.missing <= 0:
        return None
    nothing = _NOTHING * packing.whole
    low, missing, slope = here.ratio, here.missing, np.nan
    root, wall = np.inf, np.inf
    at = min(low * (1 + 1e-6), highest)
    for step in range(_STEPS):
        here = at_ratio(packing, covered, at, duals=False)
        if here is not None and here.missing <= nothing:
            root = wall = at
        elif here is None or here.missing >= missing:
            wall = at
        else:
            slope = (here.missing - missing) / (at - low)
            low, missing = at, here.missing
        end = min(wall, highest)
        if end - low <= 4e-16 * end:
            break
        guess = low - missing / slope if slope < 0 else np.nan
        if not np.isfinite(wall):
            at = min(guess, highest)
        else:
            at = guess if low < guess < wall and step % 4 else (low + wall) / 2
    found = at_ratio(packing, covered, root if np.isfinite(root) else low)
    return found if found is not None and abs(found.missing) < _COVERED * packing.whole else None
