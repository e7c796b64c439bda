"""How well frequencies can be recovered at best: bounds on trace J⁻¹ that hold for matrices of any origin.

For every matrix H and every information matrix J,  trace J⁻¹ ≥ 2 trace H - trace(HᵀJH),  because the difference is the
square of J^{-1/2} - J^{1/2}H. As J = Σ_r ρ_r λ_r λ_rᵀ, the last trace is Σ_r ρ_r |Hᵀλ_r|², at most Σy + max (|Hᵀλ|² -
y·λ) over the allowed columns. Of up to twenty letters all vertices are looked at: a set of letters is raised from one
lift to another, and in a box of lifts one letter may be between them. Where they are too many, H is the root of
M = diag(d) + πvᵀ + vπᵀ, and Jπ = 1, J_ii ≤ l_i + h_i - l_i h_i on the ranges [l, h] of the lifts bound trace(MJ).

For thousands of letters there is a bound without eigenvalues. J = 11ᵀ + C with Cπ = 0, and J⁻¹ = ππᵀ + G with
GC = I - π1ᵀ and GCG = G. By the inequality of Cauchy and Schwarz (1 - π_i)² = (e_iᵀGCe_i)² ≤ G_ii C_ii, so that
trace J⁻¹ ≥ Σπ² + Σ (1 - π_i)² / (J_ii - 1), which is exact for a uniform prior; and a²/x ≥ 2a√d - dx for every d.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from leakwise.proof.optimality.functions import highest, sum_up
from leakwise.proof.optimality.ranges import Range
from leakwise.types import Floats

__all__ = [
    "largest_square",
    "largest_square_in_range",
    "letter_bound",
    "lift_error",
    "recovered",
    "safe_inverses",
    "trace_bound",
]

_MOST_LETTERS = 20
_NARROW = 1.05  # lifts below which sums are taken in long numbers
_TABLE = 12  # letters, all of whose sets are looked at together


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


def largest_square(root: Floats, y: Floats, p: Floats, columns: Floats) -> float:
    """Return a number above |Hᵀλ|² - y·λ at every one of some columns."""
    root, y = _long(root, y, columns.max())
    values = np.sum((root.T @ columns) ** 2, axis=0) - y @ columns
    largest = highest([float(values.max())])
    return largest + _rounded(root, y, p, columns.max(axis=1), largest)


def largest_square_in_range(root: Floats, y: Floats, p: Floats, where: Range, *, box: bool = False) -> float:
    """Return a number above |Hᵀλ|² - y·λ at every vertex of the range, or of its box of least lifts; ∞ for too many.

    The sets of the last letters are tables, for one set of the first letters after the other.
    """
    size = len(p)
    if size > _MOST_LETTERS:
        return math.inf
    boxes = [(a, float(where.top(np.array([a]))[0])) for a in ([where.low] if box else where.kinks())]
    high = max([top for _, top in boxes] + [float(where.top(np.array([1.0]))[0])])
    root, y = _long(root, y, high)
    gram, tail = root @ root.T, min(size, _TABLE)
    last = ((np.arange(1 << tail)[None, :] >> np.arange(tail)[:, None]) & 1).astype(np.float64)
    rows_of_last = gram[:, size - tail :] @ last
    largest = float(gram.sum() - y.sum())  # the constant column is in every range
    for number in range(1 << (size - tail)):
        first = ((number >> np.arange(size - tail)) & 1).astype(np.float64)
        sets = np.concatenate([np.repeat(first[:, None], 1 << tail, axis=1), last])
        rows = rows_of_last + (gram[:, : size - tail] @ first)[:, None]
        table = _Sets(sets, rows, gram, y, p)
        found = [] if box else [table.two_values(where)]
        found += [table.one_between(low, high) for low, high in boxes if high > max(low, 1.0)]
        largest = highest([largest, *found])
    return largest + _rounded(root, y, p, np.minimum(high, 1 / p) * (1 + 2.0**-40), largest)


@dataclass(frozen=True, eq=False)
class _Sets:
    """Sets of letters as columns of zeros and ones, and the rows of HHᵀ summed over each."""

    sets: Floats
    rows: Floats
    gram: Floats
    y: Floats
    p: Floats

    def _cost(self, low: Floats | float, high: Floats | float) -> Floats:
        """The reduced cost of lifts that are high on a set and low off it."""
        span = high - low
        inside = np.einsum("ij,ij->j", self.sets, self.rows)
        across = self.gram.sum(axis=1)
        cost: Floats = span * (span * inside - self.y @ self.sets) + low * (
            low * float(across.sum()) + 2 * span * (across @ self.sets) - float(self.y.sum())
        )
        return cost

    def two_values(self, where: Range) -> float:
        """The largest reduced cost with the lifts that the range allows a set and the others."""
        below, above = where.levels(self.p @ self.sets, self.p @ (1 - self.sets))
        possible = below >= where.low - (len(self.p) + 8) * 2.0**-50
        return float(np.where(possible, self._cost(np.maximum(below, 0.0), above), -np.inf).max())

    def one_between(self, low: float, high: float) -> float:
        """The largest reduced cost of the vertices of a box."""
        size, span = len(self.p), high - low
        spare = (size + 8) * 2.0**-50
        left = 1 - low - span * (self.p @ self.sets)
        near = (left >= -span * spare) & (left <= span * (self.p.max() + spare))
        if not near.any():
            return -math.inf
        some = _Sets(self.sets[:, near], self.rows[:, near], self.gram, self.y, self.p)
        lift = left[near] / self.p[:, None]
        fits = (some.sets == 0) & (lift <= span + lift_error(self.p, high)[:, None])
        lift = np.clip(lift, 0.0, span)
        slope = 2 * (low * self.gram.sum(axis=1)[:, None] + span * some.rows) - self.y[:, None]
        costs = some._cost(low, high) + lift * (slope + lift * np.diag(self.gram)[:, None])
        return highest([float(np.where(fits, costs, -np.inf).max())])


def _long(root: Floats, y: Floats, high: float) -> tuple[Any, Any]:
    """The same numbers, as long ones where all lifts are nearly 1: of what is added up little is left there."""
    kind = np.longdouble if high < _NARROW else np.float64
    return root.astype(kind), y.astype(kind)


def _rounded(root: Any, y: Any, p: Floats, reach: Floats, largest: float) -> float:
    """What roundings may take off a reduced cost whose lifts are at most ``reach``, known as free letters are.

    ``largest`` is the largest that was computed: with y·λ it bounds |Hᵀλ|², from which an error of λ is seen.
    """
    error, unit = lift_error(p, float(reach.max())), 4 * float(np.finfo(root.dtype).eps)
    most = float(((np.abs(root).T @ reach) ** 2).sum())
    blurred = float((np.sqrt((root * root).sum(axis=1)) * error).sum())
    slope = float((np.abs(y) * error).sum())
    size = most + float(np.abs(y) @ reach)
    summed = size * (4 * len(y) + 64) * unit
    length = math.sqrt(min(most, max(largest, 0.0) + float(np.abs(y) @ reach) + summed))
    return (2 * length + blurred) * blurred + slope + summed + abs(largest) * 2.0**-50


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
