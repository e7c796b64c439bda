"""The master problem: weights of the columns found so far, and the duals that price the next ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from leakwise.lp import LinearProgram
from leakwise.types import Floats

__all__ = ["Master", "MasterSolution", "refined_solve"]


# The solver's tolerances are absolute: utilities multiplied by this come out that much sharper.
_SCALE = 1e4
# Weights below this are roundings of zero.
_DUST = 1e-15


@dataclass(frozen=True)
class MasterSolution:
    """An optimum of the master."""

    value: float
    duals: Floats
    weights: Floats


class Master:
    """max Σ_r ρ_r u_r  s.t.  Σ_r ρ_r a_r = 1, ρ ≥ 0 over growing columns; warm-started."""

    def __init__(self, utilities: Floats, columns: Floats) -> None:
        self.columns = columns
        self.utilities = utilities
        ones = np.ones(len(columns))
        self._program = LinearProgram(_SCALE * utilities, columns, ones, ones, maximize=True)
        # The constant column alone is a mechanism: where the first one is it, there is an answer before any solve.
        alone = MasterSolution(float(utilities[0]), np.zeros(len(columns)), np.eye(1, len(utilities))[0])
        self._last = alone if (columns[:, 0] == 1).all() else None

    def add(self, utilities: Floats, columns: Floats) -> None:
        """Add columns (rows × k)."""
        self._program.add_columns(_SCALE * utilities, columns)
        self.columns = np.concatenate([self.columns, columns], axis=1)
        self.utilities = np.concatenate([self.utilities, utilities])

    def solve(self, seconds: float | None = None) -> MasterSolution:
        """Solve, and sharpen weights and duals on the optimal basis, where it is regular.

        When ``seconds`` run out first, the last solution stands (at first the constant column): the columns added
        since have no weight.
        """
        solution = self._program.solve(None if self._last is None else seconds)
        if self._last is not None and not solution.optimal:
            weights = np.concatenate([self._last.weights, np.zeros(len(self.utilities) - len(self._last.weights))])
            return MasterSolution(self._last.value, self._last.duals, weights)
        weights, duals = solution.x, solution.duals / _SCALE
        basis = solution.basis
        if basis is not None and len(basis.columns) == len(self.columns):
            square = self.columns[:, basis.columns]
            try:
                sharp_weights = refined_solve(square, np.ones(len(square)))
                sharp_duals = refined_solve(square.T, self.utilities[basis.columns])
            except np.linalg.LinAlgError:
                sharp_weights = sharp_duals = np.full(len(square), np.nan)
            if np.abs(sharp_duals - duals).max() < 1e-6 and sharp_weights.min() > -1e-9:
                duals = sharp_duals
                weights = np.zeros(len(self.utilities))
                weights[basis.columns] = sharp_weights
        weights = np.where(weights > _DUST, weights, 0.0)
        self._last = MasterSolution(float(self.utilities @ weights), duals, weights)
        return self._last


def refined_solve(matrix: Floats, right: Floats) -> Floats:
    """Return the solution of a linear system, with one step of refinement in extended precision."""
    x = np.linalg.solve(matrix, right)
    residual = right.astype(np.longdouble) - matrix.astype(np.longdouble) @ x.astype(np.longdouble)
    refined: Floats = x + np.linalg.solve(matrix, residual.astype(np.float64))
    return refined
