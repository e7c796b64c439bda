"""How large the worst of several variances is: of a mechanism, and of every mechanism with lifts in a range.

The contrasts c_k are in units in which a variance of one is what a margin allows. Centred, c·π = 0, the variance of c·p̂
from one row is cᵀJ⁻¹c. For shares w that add up to one, B the matrix of √w_k c_k, and every matrix H,

    max_k c_kᵀJ⁻¹c_k ≥ tr BᵀJ⁻¹B ≥ 2 tr BᵀH - tr HᵀJH ,

because the difference is the square of J^{-1/2}B - J^{1/2}H. The last trace is E|Hᵀλ|², at most Σy + max (|Hᵀλ|² - y·λ)
over all vertices. Where they are too many, H is (I - π1ᵀ) diag(d)^{1/2} R with R the polar factor of diag(d)^{1/2} B:
the first trace is then the nuclear norm of that matrix, and the last one at most Σ d_i (E λ_i² - 1), as Jπ = 1.
"""

from __future__ import annotations

import math

import numpy as np

from leakwise.proof.optimality.frequencies import safe_inverses
from leakwise.types import Floats

__all__ = ["centred", "largest_variance", "least_by_multipliers", "least_by_root", "meets", "shares_of"]


def meets(value: float, bound: float) -> bool:
    """Return whether margins are met by a mechanism of this value and by none within this bound: 1 is allowed."""
    return value >= -1 > bound


def centred(contrasts: Floats, p: Floats) -> tuple[Floats, Floats]:
    """Return contrasts whose mean under the prior is zero, and how far each of their entries may be off."""
    error = np.abs(contrasts).max(axis=0) * (len(p) + 8) * 2.0**-51
    return contrasts - p @ contrasts, error


def shares_of(given: Floats) -> Floats | None:
    """Return the shares of the contrasts, which add up to at most one; None where they are none."""
    total = math.fsum(given)
    if not (given >= 0).all() or not 0 < total < math.inf:
        return None
    shares: Floats = given / total * (1 - (len(given) + 8) * 2.0**-52)
    return shares


def largest_variance(lifts: Floats, law: Floats, p: Floats, contrasts: Floats) -> float:
    """Return the largest variance of a contrast from one row of a mechanism, rounded up; ∞ without a safe inverse."""
    size, (chosen, off) = len(p), centred(contrasts, p)
    least = np.full(contrasts.shape[1], math.inf)
    for scale, inverse, miss in safe_inverses(lifts, law, p):
        half = scale[:, None] * chosen
        variances = np.einsum("ij,ij->j", half, inverse @ half) + miss * np.einsum("ij,ij->j", half, half)
        # An error e of the contrast moves the root of its variance by at most the root of that of e.
        most = size * (float(np.linalg.norm(inverse)) + miss)
        blurred = np.sqrt(np.maximum(variances, 0.0)) + off * math.sqrt(most)
        least = np.minimum(least, blurred**2)
    return float(least.max(initial=0.0)) * (1 + (size + 16) * 2.0**-50)


def least_by_root(shares: Floats, contrasts: Floats, p: Floats, root: Floats, squares: float) -> float:
    """Return a number below the largest variance of all mechanisms with E|Hᵀλ|² at most ``squares``."""
    chosen, off = centred(contrasts, p)
    rooted = np.sqrt(shares)
    gained = math.fsum((chosen * root).sum(axis=0) * rooted)
    lost = float(((np.abs(chosen) + off) * np.abs(root)).sum(axis=0) @ rooted) * (len(p) + 16) * 2.0**-50
    lost += float((off * np.abs(root).sum(axis=0)) @ rooted)
    return 2 * (gained - lost) - squares - abs(squares) * 2.0**-48


def least_by_multipliers(shares: Floats, contrasts: Floats, p: Floats, d: Floats, mean_square: float) -> float:
    """Return a number below the largest variance of all mechanisms with E Σ d λ² at most ``mean_square``; d ≥ 0."""
    chosen, off = centred(contrasts, p)
    matrix = np.sqrt(d)[:, None] * chosen * np.sqrt(shares)
    values = np.linalg.svd(matrix, compute_uv=False)
    # A matrix that is off by E has a nuclear norm that is off by at most √rank·|E|, and the same for rounding.
    least = math.sqrt(min(matrix.shape))
    blurred = float(np.linalg.norm(np.sqrt(d)[:, None] * off * np.sqrt(shares)))
    error = least * (blurred + float(np.linalg.norm(matrix)) * (sum(matrix.shape) + 16) * 2.0**-49)
    total = math.fsum(d)
    return 2 * (math.fsum(values) - error) - (mean_square - total) - (abs(mean_square) + total) * 2.0**-48
