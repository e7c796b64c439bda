"""Shannon capacity, between two values that are both proven."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from leakwise.charts.shown import Parts, Shown, Table
from leakwise.charts.table import number
from leakwise.errors import InvalidInput, LeakwiseWarning
from leakwise.guarantee import at_least, at_most
from leakwise.leakage.measures.arguments import ULP, checked
from leakwise.leakage.measures.divergences import x_log_x
from leakwise.mechanism import Mechanism
from leakwise.priors import Prior
from leakwise.types import Floats

__all__ = ["ShannonCapacity", "shannon_capacity"]

# Letters that the optimum does not use keep this mass, so that no outcome becomes impossible on the way.
_LEAST = 1e-290


@dataclass(frozen=True, repr=False)
class ShannonCapacity(Shown):
    """The largest mutual information over all priors, in nats, as far as it was closed in on.

    Attributes
    ----------
    lower, upper
        Proven bounds: the mutual information at ``prior``, rounded down, and max_x D(P_x‖q), rounded up.
    prior
        The prior that reaches ``lower``.
    iterations
        How many output laws were tried.
    tolerance
        The gap that was asked for.
    """

    lower: float
    upper: float
    prior: Prior
    iterations: int
    tolerance: float

    @property
    def gap(self) -> float:
        """How far apart the two bounds are."""
        return self.upper - self.lower

    @property
    def closed(self) -> bool:
        """Whether the gap is within the tolerance."""
        return self.gap <= self.tolerance

    def _shown(self) -> Parts:
        rows: list[list[object]] = [
            ["capacity, at least (nats)", at_least(self.lower, 6)],
            ["capacity, at most (nats)", at_most(self.upper, 6)],
            ["gap", number(self.gap, 3)],
            ["closed", self.closed],
            ["iterations", self.iterations],
        ]
        return [Table(["", "value"], rows, "Shannon capacity", align="ll")]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "lower": self.lower,
            "upper": self.upper,
            "gap": self.gap,
            "closed": self.closed,
            "iterations": self.iterations,
            "prior": self.prior.to_dict(),
        }


def shannon_capacity(mechanism: Mechanism, *, tolerance: float = 1e-6, max_iterations: int = 10_000) -> ShannonCapacity:
    """Return the Shannon capacity max_π I(X;Y) with a certified gap.

    Blahut-Arimoto, π ← π·exp(s·D(P_x‖q)) normalised, with a step s ≥ 1 that grows while the information does (s = 1
    always makes it grow). At every step the information is a lower bound and max_x D(P_x‖q) an upper one. When the
    gap is not closed after ``max_iterations`` both bounds are returned, with a LeakwiseWarning.

    >>> from leakwise import identity
    >>> found = shannon_capacity(identity(4))
    >>> found.lower <= 1.3862943611198906 <= found.upper, found.closed
    (True, True)
    """
    if not (isinstance(tolerance, (int, float)) and tolerance > 0):
        raise InvalidInput(f"tolerance must be a positive number of nats. Got {tolerance!r} instead.")
    if isinstance(max_iterations, bool) or not isinstance(max_iterations, int) or max_iterations < 1:
        raise InvalidInput(f"max_iterations must be a whole number, at least 1. Got {max_iterations!r} instead.")
    matrix = checked(mechanism).matrix
    matrix = matrix[:, matrix.max(axis=0) > 0]
    search = _Search(matrix)
    while search.upper - search.lower > tolerance and search.count < max_iterations:
        search.step(max_iterations)
    law = search.best_law
    prior = Prior(law.tolist(), mechanism.inputs if mechanism.input_alphabet.declared else None)
    found = ShannonCapacity(search.lower, search.upper, prior, search.count, float(tolerance))
    if not found.closed:
        warnings.warn(
            f"The capacity was not closed in on within {max_iterations} iterations: it is between {found.lower:.9g} "
            f"and {found.upper:.9g}, a gap of {found.gap:.3g}. Both bounds hold. Allow more iterations or a larger "
            f"tolerance than {tolerance:g}.",
            LeakwiseWarning,
            stacklevel=2,
        )
    return found


class _Search:
    """The state of the iteration: a law of the secret, its divergences, and the best proven bounds so far."""

    def __init__(self, matrix: Floats) -> None:
        rows, columns = matrix.shape
        self.matrix = matrix
        self.row_information: Floats = x_log_x(matrix).sum(axis=1)
        self.units = (2 * (rows + columns) + 64) * ULP
        self.count = 0
        self.pace = 1.0
        self.lower, self.upper = 0.0, math.inf
        self.law: Floats = np.full(rows, 1.0 / rows)
        self.best_law = self.law
        self.divergences, self.information = self._evaluate(self.law)

    def _evaluate(self, law: Floats) -> tuple[Floats, float]:
        self.count += 1
        logs = np.log(law @ self.matrix)
        cross = self.matrix @ logs
        divergences = self.row_information - cross
        information = float(law @ divergences)
        # Every sum here is of terms of one sign: its error is its size times the number of terms in units.
        error = self.units * (1.0 + float(np.abs(self.row_information).max()) + float(np.abs(cross).max()))
        if information - error > self.lower:
            self.lower, self.best_law = information - error, law
        self.upper = min(self.upper, float(divergences.max()) + error)
        return divergences, information

    def step(self, limit: int) -> None:
        while True:
            grown = self.law * np.exp(self.pace * (self.divergences - self.divergences.max()))
            law = np.maximum(grown / grown.sum(), _LEAST)
            divergences, information = self._evaluate(law)
            if information >= self.information or self.pace <= 1.0 or self.count >= limit:
                break
            self.pace = max(1.0, self.pace / 4)
        self.law, self.divergences, self.information = law, divergences, information
        self.pace *= 2
