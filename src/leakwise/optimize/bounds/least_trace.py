r"""A bound on how well frequencies can be recovered that needs no search, for any cone known by its entry boxes.

J = E λλᵀ satisfies J π = 1, and J_ii ≤ l_i + h_i - l_i h_i since λ_i² lies below its chord on [l_i, h_i] and E λ_i = 1.
So min trace J⁻¹ over positive semidefinite J with these two properties is a lower bound. Its dual,

.. math:: \max_{d \ge 0,\, v}\; 2\,\mathrm{tr}\, M^{1/2} - d\cdot c - 2\,v\cdot 1,\qquad
   M = \mathrm{diag}(d) + \pi v^T + v \pi^T \succeq 0,

holds for every d and v, so that the numbers below only have to be good, not perfect. Given d the best v is known: the
root of M is G + ππᵀ, where G² = (I - π1ᵀ) diag(d) (I - 1πᵀ) and G1 = 0, and the bound is |π|² + 2 tr G - d·(c - 1), at
the best multiple of d |π|² + (tr G)²/d·(c - 1). Each d_i is then multiplied by a power of how much its own constraint
is exceeded, as for optimal designs of experiments: G is nearly diagonal, so that a handful of steps are enough.

Where the lifts of an outcome share a range, d·c is replaced by what :mod:`leakwise.optimize.bounds.mean_square` proves.
"""

from __future__ import annotations

import numpy as np

from leakwise.optimize.bounds.mean_square import MeanSquare
from leakwise.optimize.problem.cones import Cone
from leakwise.optimize.search.limits import Limits
from leakwise.types import Floats

__all__ = ["least_trace_bound"]


_STEPS = 300
_WORK = 3e9  # of eigenvalues: N³ times the steps
_FEWEST_STEPS = 6
_ACCURACY = 1e-7
_POWER = 1.8  # 2 would be exact for a diagonal G
_PRICED = 130  # letters, up to which d is moved by what the duals find
_PRICED_STEPS, _PATIENCE = 12, 2
_FEW_VALUES, _FEW_STEPS = 200, 6  # of so many values, more steps change nothing
_DAMPED = 0.7
_WORTH_IT = 2e-4
_FAR = 0.9


def least_trace_bound(cone: Cone, limits: Limits, *, rough: bool = False, known: float = 0.0) -> tuple[float, Floats]:
    """Return a number below trace J⁻¹ of every mechanism in the cone, and the multipliers d and v that prove it.

    Where lifts share a range, the duals y of the mean of squares follow them. Columns that lose little of
    Σ_i d_i (λ_i - l_i)(h_i - λ_i) are those that the bound is made of. A ``rough`` one takes the box of each lift for
    all that is known. What is far below a ``known`` bound is not proven.
    """
    p = cone.prior.probabilities
    squares = MeanSquare(cone)
    steps = max(_FEWEST_STEPS, min(_STEPS, int(_WORK / len(p) ** 3)))
    likely = squares.rough()
    d = 1 / np.maximum(likely - 1, 1e-150) ** 2
    d /= d.max()
    for step in range(steps):
        scale, taken, *_ = _at(d, p, likely)
        if not np.isfinite(scale) or taken.max() < 1 + _ACCURACY or (step and limits.exhausted):
            break
        following = np.maximum(d * taken**_POWER, 1e-60 * d.max())
        d = following / following.max()
    best, kept, waited = 0.0, np.zeros(2 * len(p)), 0  # trace J⁻¹ is positive
    if known and float(p @ p + _at(d, p, likely)[0] ** 2 * (d @ (likely - 1))) < _FAR * known:
        return best, kept
    within = squares.range is not None and not rough and len(p) <= _PRICED
    priced = _FEW_STEPS if len(p) <= _FEW_VALUES else _PRICED_STEPS
    for _ in range(priced if within else 1):
        proof = squares.boxed(d) if rough else squares.simple(d) if limits.exhausted else squares.priced(d)
        scale, taken, roots, vectors = _at(d, p, proof.ceilings)
        if not np.isfinite(scale):
            break
        point = _point(d * scale**2, roots * scale, vectors, p)
        value = _safe_value(point, p, proof.ceilings)
        waited = 0 if value > best * (1 + _WORTH_IT) else waited + 1
        if value > best:
            shared = [] if squares.range is None else [proof.duals * scale**2]
            best, kept = value, np.concatenate([point, *shared])
        if waited == _PATIENCE or limits.exhausted:
            break
        # Which letters the best columns favour depends on d and jumps: a step of full length goes past the best d.
        d = np.maximum(d * taken**_DAMPED, 1e-60)
        d /= d.max()
    return best, kept


def _at(d: Floats, p: Floats, ceiling: Floats) -> tuple[float, Floats, Floats, Floats]:
    """The best multiple of the root of d, what J takes of each room at it, and the eigenvalues and vectors of G.

    Of its room c_i - 1 the J of these multipliers takes (e_i - π)ᵀ G⁻¹ (e_i - π).
    """
    room = np.maximum(ceiling - 1, 1e-150)
    roots, vectors = _root(d, p)
    scale = float(roots.sum() / (d @ room))
    taken = ((vectors - p @ vectors) ** 2) @ (1 / np.maximum(roots * scale, 1e-300)) / room
    return scale, taken, roots, vectors


def _root(d: Floats, p: Floats) -> tuple[Floats, Floats]:
    """The positive eigenvalues of G and their vectors: G² = (I - π1ᵀ) diag(d) (I - 1πᵀ) has the null vector 1."""
    v = d.sum() * p / 2 - d
    values, vectors = np.linalg.eigh(np.diag(d) + np.outer(p, v) + np.outer(v, p))
    # Rounding may turn other tiny eigenvalues negative: what they add to the trace is left out.
    return np.sqrt(np.maximum(values[1:], 1e-18 * values[-1])), vectors[:, 1:]


def _point(d: Floats, roots: Floats, vectors: Floats, p: Floats) -> Floats:
    """d and the v for which M is the square of G + ππᵀ."""
    along = vectors @ (roots * (p @ vectors))
    return np.concatenate([d, (d.sum() + p @ p) * p / 2 - d + along])


def _matrix(point: Floats, p: Floats) -> Floats:
    d, v = np.split(point, 2)
    result: Floats = np.diag(d) + np.outer(p, v) + np.outer(v, p)
    return result


def _safe_value(point: Floats, p: Floats, ceiling: Floats) -> float:
    """The dual value, rounded down: eigenvalues are accurate to the size of the matrix times N units."""
    d, v = np.split(point, 2)
    eigenvalues = np.linalg.eigvalsh(_matrix(point, p))
    error = float(np.abs(eigenvalues).max()) * (len(p) + 8) * 2.0**-50
    if eigenvalues[0] < -error or (d < 0).any():
        return 0.0
    # A matrix that is negative by no more than the error is raised by as much, and loses that times trace J, of which
    # the ceilings are a quarter at least.
    raised = error if eigenvalues[0] < error else 0.0
    value = float(2 * np.sqrt(np.maximum(eigenvalues - error, 0.0)).sum() - d @ ceiling - 2 * v.sum())
    value -= 8 * raised * float(ceiling.sum())
    size = float(d @ ceiling + 2 * np.abs(v).sum())
    return value - size * (len(p) + 8) * 2.0**-50
