r"""Corrected scores: estimating equations whose mean over the mechanisms' randomness is that of the true values.

For a mechanism P and b with P b = 1, :math:`\sum_s b[y, s]\, \psi(s)` has the mean ψ(s) at the true s, whatever ψ is.
So least squares and Poisson regression need neither a distribution of the outcome nor a model of unseen covariates: the
outcome is exchanged for :math:`\tilde t = \sum_t b[z, t]\, v_t` and every covariate is weighted by b. Errors are
those of the sandwich.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from leakwise.errors import NotConverged
from leakwise.types import Floats

__all__ = ["CorrectedScore"]


@dataclass(frozen=True)
class CorrectedScore:
    """The estimating equation Σ w Σ_s b_s x_s (t - m(x_s β)) = 0, m the identity or the exponential.

    Attributes
    ----------
    matrices, shares
        The model matrix for each combination of unseen covariates, and the weight b of it, rows × combinations.
    outcome
        t for every row, unbiased.
    """

    matrices: Sequence[Floats]
    shares: Floats
    outcome: Floats
    weight: Floats
    exponential: bool

    def solve(self) -> tuple[Floats, Floats]:
        """Return the coefficients, and minus the derivative of the equation there."""
        size = self.matrices[0].shape[1]
        beta = np.zeros(size)
        if self.exponential:
            level = float(self.weight @ self.outcome) / float(self.weight.sum())
            flat = sum(share[:, None] * x for share, x in zip(self.shares.T, self.matrices, strict=True))
            beta = np.linalg.lstsq(np.asarray(flat), np.full(self.outcome.size, np.log(max(level, 1e-3))), rcond=None)[
                0
            ]
        for _ in range(100):
            score, slope = self._at(beta)
            step: Floats = np.asarray(np.linalg.lstsq(slope, score, rcond=1e-12)[0], dtype=np.float64)
            if self.exponential:
                step *= min(1.0, 2.0 / max(self._reach(step), 1e-300))  # the exponential runs away from long steps
            beta = beta + step
            if np.abs(step).max() <= 1e-12 * max(1.0, np.abs(beta).max()):
                break
        else:
            raise NotConverged(
                "The corrected equations of the regression have no solution near: there are too few rows for this "
                "mechanism. Use fewer terms, or more rows.",
                lower=float("-inf"),
                upper=float("inf"),
            )
        return beta, self._at(beta)[1]

    def _reach(self, step: Floats) -> float:
        return max(float(np.abs(x @ step).max()) for x in self.matrices)

    def _means(self, x: Floats, beta: Floats) -> tuple[Floats, Floats]:
        eta = x @ beta
        if not self.exponential:
            return eta, np.ones(eta.size)
        mean = np.exp(np.minimum(eta, 50.0))
        return mean, mean

    def _at(self, beta: Floats) -> tuple[Floats, Floats]:
        score, slope = np.zeros(beta.size), np.zeros((beta.size, beta.size))
        for share, x in zip(self.shares.T, self.matrices, strict=True):
            mean, change = self._means(x, beta)
            score += (self.weight * share * (self.outcome - mean)) @ x
            slope += (x * (self.weight * share * change)[:, None]).T @ x
        return score, slope

    def functions(self, x: Floats, beta: Floats) -> Floats:
        """Return the functions of true covariates that the equation and its derivative are made of, row after row."""
        mean, change = self._means(x, beta)
        squares = (x[:, :, None] * x[:, None, :]).reshape(x.shape[0], -1)
        return np.concatenate((x, x * mean[:, None], squares * change[:, None]), axis=1).reshape(-1)

    def scores(self, beta: Floats) -> Floats:
        """Return what every row of weight one adds to the equation, rows × coefficients."""
        total = np.zeros((self.outcome.size, beta.size))
        for share, x in zip(self.shares.T, self.matrices, strict=True):
            mean, _ = self._means(x, beta)
            total += (share * (self.outcome - mean))[:, None] * x
        return total
