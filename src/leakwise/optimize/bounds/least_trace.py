r"""A bound on how well frequencies can be recovered that needs no search, for any cone known by its entry boxes.

J = E λλᵀ satisfies J π = 1 and J_ii ≤ l_i + h_i - l_i h_i, since λ_i² lies below its chord on [l_i, h_i] and E λ_i = 1.
So min trace J⁻¹ over positive semidefinite J with these two properties is a lower bound. Its dual,

.. math:: \max_{d \ge 0,\, v}\; 2\,\mathrm{tr}\, M^{1/2} - d\cdot c - 2\,v\cdot 1,\qquad
   M = \mathrm{diag}(d) + \pi v^T + v \pi^T \succeq 0,

holds for every d and v, so that the numbers below only have to be good, not perfect.
"""

from __future__ import annotations

import numpy as np

from leakwise.optimize.problem.cones import Cone
from leakwise.optimize.search.limits import Limits
from leakwise.types import Floats

__all__ = ["least_trace_bound"]


_STAGES = 40
_STEPS = 30
_ACCURACY = 1e-8
_EDGE, _INSIDE = 1e-10, 1e-2  # how far from the border the closed form is taken, and the search begins


def least_trace_bound(cone: Cone, limits: Limits) -> tuple[float, Floats]:
    """Return a number below trace J⁻¹ of every mechanism in the cone, and the multipliers d and v that prove it.

    Columns that lose little of Σ_i d_i (λ_i - l_i)(h_i - λ_i) are those that the bound is made of.
    """
    p = cone.prior.probabilities
    low, high = cone.entry_box()
    ceiling = low + high - low * high
    size = len(p)
    kept = _without_search(p, ceiling, _EDGE)
    best = max(_safe_value(kept, p, ceiling), 0.0)  # trace J⁻¹ is positive
    point, barrier = _without_search(p, ceiling, _INSIDE), max(best, 1.0) * _INSIDE / size
    for _ in range(_STAGES):
        point = _climbed(point, p, ceiling, barrier, limits)
        value = _safe_value(point, p, ceiling)
        if value > best:
            best, kept = value, point
        if 2 * size * barrier < _ACCURACY * best or limits.exhausted:
            break
        barrier /= 8
    return best, kept


def _without_search(p: Floats, ceiling: Floats, share: float) -> Floats:
    """Multipliers of a closed form that is nearly the best one where no letter is heavy, a share inside the border.

    With d constant and v = d(Nπ/2 - 1) the matrix is d(I - π1ᵀ)(I - 1πᵀ): N - 2 of its eigenvalues are d, one is
    dN|π|² and one is zero. So trace J⁻¹ ≥ (N - 2 + √N|π|)² / Σ(c_i - 1), at the best d.
    """
    size = len(p)
    root = (size - 2 + float(np.sqrt(size * (p @ p)))) / max(float((ceiling - 1).sum()), 1e-300)
    d = min(root, 1e100) ** 2
    return np.concatenate([np.full(size, d), (1 - share) * d * (size * p / 2 - 1)])


def _matrix(point: Floats, p: Floats) -> Floats:
    d, v = np.split(point, 2)
    result: Floats = np.diag(d) + np.outer(p, v) + np.outer(v, p)
    return result


def _value(point: Floats, p: Floats, ceiling: Floats, barrier: float) -> float:
    d, v = np.split(point, 2)
    if (d <= 0).any():
        return -np.inf
    eigenvalues = np.linalg.eigvalsh(_matrix(point, p))
    if eigenvalues[0] <= 0:
        return -np.inf
    value = 2 * np.sqrt(eigenvalues).sum() - d @ ceiling - 2 * v.sum()
    return float(value + barrier * (np.log(d).sum() + np.log(eigenvalues).sum()))


def _safe_value(point: Floats, p: Floats, ceiling: Floats) -> float:
    """The dual value, rounded down: eigenvalues are accurate to the size of the matrix times N units."""
    d, v = np.split(point, 2)
    eigenvalues = np.linalg.eigvalsh(_matrix(point, p))
    error = float(np.abs(eigenvalues).max()) * (len(p) + 8) * 2.0**-50
    if eigenvalues[0] < error or (d < 0).any():
        return 0.0
    value = float(2 * np.sqrt(eigenvalues - error).sum() - d @ ceiling - 2 * v.sum())
    size = float(d @ ceiling + 2 * np.abs(v).sum())
    return value - size * (len(p) + 8) * 2.0**-50


def _climbed(point: Floats, p: Floats, ceiling: Floats, barrier: float, limits: Limits) -> Floats:
    """Newton's method for the dual with logarithmic barriers on d and on the eigenvalues of M."""
    size = len(p)
    current = _value(point, p, ceiling, barrier)
    for _ in range(_STEPS):
        if limits.exhausted:
            break
        gradient, curvature = _derivatives(point, p, ceiling, barrier)
        try:
            step = np.linalg.solve(curvature, gradient)
        except np.linalg.LinAlgError:
            break  # as far as floats go
        rise = float(gradient @ step)
        length = 1.0
        while length > 1e-8:
            following = _value(point + length * step, p, ceiling, barrier)
            if following >= current + 0.1 * length * rise:
                break
            length /= 2
        else:
            break
        point, current = point + length * step, following
        if rise < 0.01 * barrier * size:
            break
    return point


def _derivatives(point: Floats, p: Floats, ceiling: Floats, barrier: float) -> tuple[Floats, Floats]:
    """The gradient, and the Hessian with its sign turned.

    The second derivative of a spectral function is a divided difference, here 1 / (r_a r_b (r_a + r_b)) with r the
    roots of the eigenvalues. Written as ∫ exp(-s(r_a + r_b)) ds / (r_a r_b) it is a sum of products of a function of a
    and one of b, which brings the work from N⁴ to a few dozen N³. The step only has to be good, so few nodes do.
    """
    size = len(p)
    d = point[:size]
    eigenvalues, vectors = np.linalg.eigh(_matrix(point, p))
    # The least of them may come out as zero or below where the line search had it just above.
    eigenvalues = np.maximum(eigenvalues, 2.0**-52 * eigenvalues[-1])
    roots = np.sqrt(eigenvalues)
    slope = (vectors * (1 / roots + barrier / eigenvalues)) @ vectors.T
    gradient = np.concatenate([np.diag(slope) - ceiling + barrier / d, 2 * (slope @ p) - 2])
    width = 0.5
    nodes = np.exp(np.arange(np.log(2e-3 / roots[-1]), np.log(30 / roots[0]), width))
    factors = [np.sqrt(width * node) * np.exp(-node * roots) / roots for node in nodes]
    factors.append(np.sqrt(barrier) / eigenvalues)
    curvature = np.zeros((2 * size, 2 * size))
    for factor in factors:
        part = (vectors * factor) @ vectors.T
        along = part @ p
        across = along[:, None] * part
        curvature[:size, :size] += part**2
        curvature[:size, size:] += 2 * across
        curvature[size:, size:] += 2 * (float(p @ along) * part + np.outer(along, along))
    curvature[size:, :size] = curvature[:size, size:].T
    curvature[:size, :size] += np.diag(barrier / d**2)
    return gradient, curvature
