r"""A bound on the largest variance of several contrasts that needs no search, for any cone known by its entry boxes.

With shares w of the contrasts c_k (centred: c_k·π = 0), B the matrix of √w_k c_k, and any d ≥ 0,

.. math:: \max_k c_k^T J^{-1} c_k \ge \mathrm{tr}\, B^T J^{-1} B \ge 2\,\|\mathrm{diag}(d)^{1/2} B\|_* - d\cdot(a - 1),

where the a_i bound E λ_i². For tr BᵀJ⁻¹B ≥ 2 tr BᵀH - tr HᵀJH with every H; take H = (I - π1ᵀ) diag(d)^{1/2} R, R being
the polar factor of diag(d)^{1/2} B: then BᵀH = Bᵀ diag(d)^{1/2} R, as Bᵀπ = 0, and HHᵀ is at most (I - π1ᵀ) diag(d)
(I - 1πᵀ), whose product with J has the trace Σ d_i (J_ii - 1), as Jπ = 1. At the best multiple of d the bound is the
square of the nuclear norm over d·(a - 1). It is jointly concave in w and d: both are multiplied by a power of how
much their own condition is missed, as for optimal designs of experiments.
"""

from __future__ import annotations

import numpy as np

from leakwise.optimize.bounds.mean_square import MeanSquare
from leakwise.optimize.problem.cones import Cone
from leakwise.optimize.search.limits import Limits
from leakwise.types import Floats

__all__ = ["largest_variance_bound", "weighted_bound"]

_STEPS = 300
_WORK = 1e9  # of singular values: N³ times the steps
_FEWEST_STEPS = 6
_ACCURACY = 1e-7
_PRICED = 130  # letters, up to which duals of their own are found
_PRICED_STEPS = 4


def largest_variance_bound(
    cone: Cone, contrasts: Floats, limits: Limits, shares: Floats | None = None, *, rough: bool = False
) -> tuple[float, Floats]:
    """Return a number below the largest variance of every mechanism in the cone, and the multipliers that prove it.

    They are the shares w and d; where lifts share a range, the duals y of the mean of squares follow. Given
    ``shares`` are kept. A ``rough`` bound takes the box of each lift for all that is known.
    """
    size, count = contrasts.shape
    squares = MeanSquare(cone)
    room = np.maximum(squares.rough() - 1, 1e-150)
    w = np.full(count, 1 / count) if shares is None else shares / shares.sum()
    d = (contrasts**2) @ w / room**2
    d = np.maximum(d / d.max(), 1e-60)
    steps = max(_FEWEST_STEPS, min(_STEPS, int(_WORK / size**3)))
    for step in range(steps):
        norm, of_d, of_w = _slopes(contrasts, d, w)
        ratio_d = of_d * float(d @ room) / (norm * d * room)
        ratio_w = of_w / (norm * w)
        off = float(ratio_d.max()) if shares is not None else max(float(ratio_d.max()), float(ratio_w.max()))
        if not np.isfinite(off) or off < 1 + _ACCURACY or (step and limits.exhausted):
            break
        d = d * ratio_d
        d = np.maximum(d / d.max(), 1e-60)
        if shares is None:
            w = np.maximum(w * ratio_w, 1e-60)
            w /= w.sum()
    within = size <= _PRICED and squares.range is not None and not rough
    best, kept = 0.0, np.concatenate([w, np.zeros(size)])
    for _ in range(_PRICED_STEPS if within else 1):
        proof = squares.boxed(d) if rough else squares.priced(d) if within else squares.simple(d)
        room = np.maximum(proof.ceilings - 1, 1e-150)
        norm, of_d, _ = _slopes(contrasts, d, w)
        if not np.isfinite(norm):
            break
        total = float(d @ room)
        units = (size + count + 16) * 2.0**-48
        value = norm**2 / total * (1 - units)
        scale = (norm / total) ** 2
        if value > best:
            shared = [] if squares.range is None else [proof.duals * scale]
            best, kept = value, np.concatenate([w, d * scale, *shared])
        if limits.exhausted:
            break
        d = d * of_d * total / (norm * d * room)
        d = np.maximum(d / d.max(), 1e-60)
    return best, kept


def weighted_bound(cone: Cone, contrasts: Floats, shares: Floats, limits: Limits) -> tuple[float, Floats]:
    """Return a number below Σ w_k var_k of every mechanism in the cone for given shares w, and its slope in them.

    As a function of w the best such number is concave, and the slope is that of the multipliers found.
    """
    bound, kept = largest_variance_bound(cone, contrasts, limits, shares)
    w, d = kept[: len(shares)], kept[len(shares) : len(shares) + len(contrasts)]
    norm, _, of_w = _slopes(contrasts, np.maximum(d, 1e-300), w)
    # The nuclear norm squared over d·room is the norm times its own best multiple.
    rise: Floats = bound * of_w / (max(norm, 1e-300) * w)
    return bound, rise


def _slopes(contrasts: Floats, d: Floats, w: Floats) -> tuple[float, Floats, Floats]:
    """The nuclear norm of diag(d)^{1/2} C diag(w)^{1/2}, and twice its slopes in the logarithms of d and of w."""
    left, values, right = np.linalg.svd(np.sqrt(d)[:, None] * contrasts * np.sqrt(w), full_matrices=False)
    return float(values.sum()), (left**2) @ values, (right.T**2) @ values
