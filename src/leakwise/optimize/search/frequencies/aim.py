"""What is to be known well from a release: all frequencies, by the sum of their variances, or the worst of a list.

The variance of c·p̂ from one row is cᵀJ⁻¹c for a contrast c with c·π = 0 (J⁻¹1 = π, so that any other is centred first).
The largest of several is smoothed by a barrier μ, as in all interior methods: min s - μ Σ log(s - f_k), whose slope in
the variances f are shares w_k = μ/(s - f_k) that add up to one. They are the dual: no mechanism has a largest variance
below Σ w_k f_k at its least.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from leakwise.types import Floats

__all__ = ["TRACE", "Aim"]

_ITERATIONS = 60


@dataclass(frozen=True, eq=False)
class Aim:
    """The contrasts whose largest variance is to be least (N×K, centred), or with ``given`` shares their weighed sum.

    Without contrasts, the sum over all frequencies. ``unseen`` rows, the last of each column, tell nothing: they only
    add up to one like the others (``optimize/totals``).
    """

    contrasts: Floats | None = None
    given: Floats | None = None
    unseen: int = 0

    @property
    def terms(self) -> int:
        """How many terms the barrier has for it."""
        return 0 if self.given is not None else self.leading

    @property
    def leading(self) -> int:
        """How many shares come first among the multipliers and duals that prove a bound."""
        return 0 if self.contrasts is None else self.contrasts.shape[1]

    @property
    def start(self) -> float:
        """The share of the objective that a barrier begins with: the largest of several is far from smooth."""
        return 0.1 if self.terms else 1e-4

    def variances(self, inverse: Floats) -> tuple[Floats, Floats]:
        """Return the variances for an inverse information, and J⁻¹ times the contrasts."""
        if self.contrasts is None:
            return np.diag(inverse), inverse
        root: Floats = inverse @ self.contrasts
        return np.einsum("ij,ij->j", self.contrasts, root), root

    def total(self, variances: Floats) -> float:
        """Return the sum, or the largest."""
        if self.given is not None:
            return float(self.given @ variances)
        return float(variances.sum() if self.contrasts is None else variances.max())

    def constant(self, p: Floats) -> float:
        """Return what is added to minus the variances from J⁻¹ alone: Σπ² for the sum; contrasts are centred."""
        return float(p @ p) if self.contrasts is None else 0.0

    def smooth(self, variances: Floats, barrier: float) -> tuple[float, Floats]:
        """Return the objective and its slope in each variance: ones for the sum, shares for the largest."""
        if self.contrasts is None:
            return float(variances.sum()), np.ones(len(variances))
        if self.given is not None:
            return float(self.given @ variances), self.given
        least, top = float(variances.min()), float(variances.max())
        if not 0 < least <= top < np.inf:
            return np.inf, np.full(len(variances), 1 / len(variances))
        if not barrier:
            return top, (variances == top) / float((variances == top).sum())
        # Σ μ/(s - f_k) = 1 has its root between μ and Kμ above the largest. The inverse of the sum is concave: Newton's
        # steps on it rise to the root from the left.
        below = (top - variances) / barrier
        above, ones = 1.0, np.ones(len(variances))
        for _ in range(_ITERATIONS):
            parts = 1 / (above + below)
            whole = float(ones @ parts)
            step = whole * (whole - 1) / float(parts @ parts)
            above += step
            if step <= 1e-14 * above:
                break
        parts = 1 / (above + below)
        shares: Floats = parts / parts.sum()
        value = top + barrier * (above - float(np.log(barrier * (above + below)).sum()))
        return value, shares

    def curvature(self, half: Floats, shares: Floats, barrier: float) -> Floats | float:
        """Return the Hessian that smoothing adds; ``half`` are the contrasts times J⁻¹ times the columns."""
        if not self.terms:
            return 0.0
        squares, weighed = half**2, shares**2 / barrier
        along = weighed @ squares
        added: Floats = (squares.T * weighed) @ squares - np.outer(along, along) / float(weighed.sum())
        return added


TRACE = Aim()
