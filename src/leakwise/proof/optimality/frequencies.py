"""How well frequencies can be recovered at best: bounds on trace J⁻¹ that hold for matrices of any origin.

For every matrix H and every information matrix J,  trace J⁻¹ ≥ 2 trace H - trace(HᵀJH),  because the difference is the
square of J^{-1/2} - J^{1/2}H. As J = Σ_r ρ_r λ_r λ_rᵀ, the last trace is Σ_r ρ_r |Hᵀλ_r|², at most Σy + max (|Hᵀλ|² -
y·λ) over the allowed columns: all vertices are listed. Where they are too many, H is the root of
M = diag(d) + πvᵀ + vπᵀ, and Jπ = 1, J_ii ≤ l_i + h_i - l_i h_i on the ranges [l, h] of the lifts bound trace(MJ).

For thousands of letters there is a bound without eigenvalues. J = 11ᵀ + C with Cπ = 0, and J⁻¹ = ππᵀ + G with
GC = I - π1ᵀ and GCG = G. By the inequality of Cauchy and Schwarz (1 - π_i)² = (e_iᵀGCe_i)² ≤ G_ii C_ii, so that
trace J⁻¹ ≥ Σπ² + Σ (1 - π_i)² / (J_ii - 1), which is exact for a uniform prior; and a²/x ≥ 2a√d - dx for every d.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from leakwise.proof.optimality.functions import highest, sum_up
from leakwise.types import Floats

__all__ = ["box_vertices", "largest_square", "letter_bound", "lift_error", "recovered", "safe_inverses", "trace_bound"]

_MOST = 400_000


def recovered(lifts: Floats, law: Floats, p: Floats) -> float:
    """Return Σπ² - trace J⁻¹ of a mechanism, rounded down; -∞ where J is not safely invertible."""
    best = -math.inf
    for scale, inverse, miss in safe_inverses(lifts, law, p):
        trace = float(scale**2 @ (np.diag(inverse) + miss))
        best = max(best, float((p**2).sum()) - trace - (1 + abs(trace)) * (len(p) + 16) * 2.0**-50)
    return best


def safe_inverses(lifts: Floats, law: Floats, p: Floats) -> Iterator[tuple[Floats, Floats, float]]:
    """Yield a scale of the letters, the inverse of J with rows and columns weighed by it, and a norm of what it misses.

    J is weighed by √π, and taken as it is: large lifts of rare letters are better off with the one, small ones with the
    other, and both are safe. What is not safely inverted is left out.
    """
    information, size = (lifts * law) @ lifts.T, len(p)
    for scale in (np.sqrt(p), np.ones(size)):
        scaled = scale[:, None] * information * scale
        if not np.isfinite(scaled).all():
            continue
        try:
            inverse = np.asarray(np.linalg.inv(scaled), dtype=np.float64)
        except np.linalg.LinAlgError:
            continue
        # J itself is known to some units of its entries; what the inverse misses is measured.
        error = float(np.linalg.norm(np.eye(size) - scaled @ inverse))
        error += float(np.linalg.norm(np.abs(scaled) @ np.abs(inverse))) * (size + lifts.shape[1] + 16) * 2.0**-50
        if error < 0.5:
            yield scale, inverse, float(np.linalg.norm(inverse)) * error / (1 - error)


def largest_square(root: Floats, y: Floats, vertices: Floats, error: Floats) -> float:
    """Return a number above |Hᵀλ|² - y·λ at every vertex (columns), whose entries are known up to ``error``."""
    largest = -math.inf
    rows = float((np.linalg.norm(root, axis=1) * error).sum())
    slope = float((np.abs(y) * error).sum())
    for start in range(0, vertices.shape[1], 4096):
        part = vertices[:, start : start + 4096]
        values = np.sum((root.T @ part) ** 2, axis=0) - y @ part
        size = np.sum((np.abs(root).T @ part) ** 2, axis=0) + np.abs(y) @ part
        blurred = (2 * np.sqrt(size) + rows) * rows + slope
        largest = highest([largest, float((values + blurred + size * (2 * len(y) + 32) * 2.0**-50).max())])
    return largest


def trace_bound(d: Floats, v: Floats, p: Floats, box: tuple[Floats, Floats], mean_square: float | None = None) -> float:
    """Return a number below trace J⁻¹ of all mechanisms with lifts in a box, and E Σ d λ² at most ``mean_square``."""
    low, high = box
    if (d < 0).any():
        return 0.0
    matrix = np.diag(d) + np.outer(p, v) + np.outer(v, p)
    values, vectors = np.linalg.eigh(matrix)
    root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    root = (root + root.T) / 2
    units = (len(p) + 16) * 2.0**-50
    # trace(H²J) exceeds trace(MJ) by at most the norm of H² - M times trace J.
    miss = float(np.linalg.norm(root @ root - matrix)) + float(np.linalg.norm(np.abs(root) @ np.abs(root))) * units
    ceiling = (low + high - low * high) * (1 + 2.0**-48) + 2.0**-48
    squares = sum_up(d * ceiling) if mean_square is None else mean_square
    taken = (
        squares
        + sum_up(2 * v)
        + (abs(squares) + float(np.abs(v).sum())) * 2.0**-48
        + miss * float(ceiling.sum()) * (1 + units)
    )
    return 2 * float(np.trace(root)) * (1 - units) - taken


def letter_bound(d: Floats, p: Floats, mean_square: float) -> float:
    """Return a number below trace J⁻¹ of all mechanisms with E Σ d λ² at most ``mean_square``; d is not negative."""
    gained = 2 * (1 - p) * np.sqrt(d)
    value = math.fsum(p**2) + math.fsum(gained) + math.fsum(d) - mean_square
    return value - (math.fsum(gained) + math.fsum(d) + abs(mean_square) + 1) * 2.0**-48


def lift_error(p: Floats, high: float) -> Floats:
    """Return how far the computed lift of a free letter may be from the truth."""
    error: Floats = high * (len(p) + 8) * 2.0**-50 / p
    return error


def box_vertices(p: Floats, low: float, high: float) -> Floats | None:
    """Return every vertex of the lift vectors in [low, high], as columns, or None where they are too many."""
    size, span = len(p), high - low
    if span <= 0:
        return np.ones((size, 1))
    order = np.argsort(-p)
    after = np.concatenate([np.cumsum(p[order][::-1])[::-1], [0.0]])
    target, largest, spare = (1 - low) / span, float(p.max()), (size + 8) * 2.0**-50
    error = lift_error(p, high)
    found: list[Floats] = []
    stack: list[tuple[int, float, tuple[int, ...]]] = [(0, 0.0, ())]
    while stack:
        place, mass, raised = stack.pop()
        if mass > target + spare or mass + after[place] < target - largest - spare:
            continue
        if place < size:
            letter = int(order[place])
            stack.append((place + 1, mass, raised))
            stack.append((place + 1, mass + float(p[letter]), (*raised, letter)))
            continue
        column = np.full(size, low)
        column[list(raised)] = high
        lift = low + (1 - low - span * mass) / p
        for free in np.flatnonzero((lift <= high + error) & (column == low)):
            vertex = column.copy()
            vertex[free] = min(max(lift[free], low), high)
            found.append(vertex)
        if len(found) > _MOST:
            return None
    return np.array(found).T if found else np.ones((size, 1))
