r"""A bound on how well frequencies can be recovered that takes no eigenvalues: for thousands of letters.

J = 11ᵀ + C with Cπ = 0, and J⁻¹ = ππᵀ + G with GC = I - π1ᵀ: by Cauchy and Schwarz G_ii C_ii ≥ (1 - π_i)², so that

.. math:: \mathrm{tr}\, J^{-1} \ge \sum_i \pi_i^2 + \sum_i \frac{(1 - \pi_i)^2}{J_{ii} - 1}.

For a uniform prior it is what symmetric mechanisms attain; else it is hardly below the bound over all J. Where only a
mean Σ d J_ii is bounded, (1-π)²/x ≥ 2 (1-π)√d - d x.
"""

from __future__ import annotations

import numpy as np

from leakwise.optimize.bounds.mean_square import MeanSquare
from leakwise.optimize.problem.cones import Cone
from leakwise.types import Floats

__all__ = ["least_trace_by_letter"]


def least_trace_by_letter(cone: Cone) -> tuple[float, Floats]:
    """Return a number below trace J⁻¹ of every mechanism in the cone, and the multipliers that prove it.

    They are d, and where the lifts of an outcome share a range the duals of the mean of squares, and a one.
    """
    p = cone.prior.probabilities
    squares = MeanSquare(cone)
    d = ((1 - p) / np.maximum(squares.rough() - 1, 1e-150)) ** 2
    proof = squares.simple(d)
    gained, room = float((1 - p) @ np.sqrt(d)), float(d @ (proof.ceilings - 1))
    scale = gained / room  # of √d: the best of 2 k·gained - k²·room
    value = float(p @ p) + gained * scale
    shared = [] if squares.range is None else [proof.duals * scale**2, np.ones(1)]
    return value - (1 + gained * scale) * (len(p) + 64) * 2.0**-48, np.concatenate([d * scale**2, *shared])
