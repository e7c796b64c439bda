"""Newton's method with damping for log-likelihoods that need not be concave."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from leakwise.tables.estimate.regression.likelihood import Derivatives
from leakwise.types import Floats

__all__ = ["Maximum", "maximize"]

_STEPS = 100
_ENOUGH = 1e-13  # of the squared length of a step in its own metric, per row


class Smooth(Protocol):
    """A function with derivatives."""

    def value(self, parameters: Floats) -> float:
        """Return the function."""

    def derivatives(self, parameters: Floats) -> Derivatives:
        """Return the function with its derivatives."""


@dataclass(frozen=True)
class Maximum:
    """Where a search ended: the parameters, the derivatives there, and whether it converged."""

    parameters: Floats
    at: Derivatives
    converged: bool
    iterations: int


def maximize(function: Smooth, start: Floats, rows: float) -> Maximum:
    """Return a maximum. Where the Hessian is not negative definite, steps use what complete data would have instead."""
    parameters = start
    at = function.derivatives(parameters)
    for step in range(1, _STEPS + 1):
        direction = _direction(at)
        gain = float(at.score @ direction)
        if gain <= _ENOUGH * max(rows, 1.0):
            # One full step more: at the end Newton's steps are quadratic.
            last = parameters + direction
            final = function.derivatives(last)
            if np.isfinite(final.value) and final.value >= at.value - 1e-9 * (1 + abs(at.value)):
                parameters, at = last, final
            return Maximum(parameters, at, True, step)
        # The whole step is nearly always taken: its derivatives are computed at once.
        trial, length = function.derivatives(parameters + direction), 1.0
        value = trial.value
        while not (np.isfinite(value) and value >= at.value + 1e-4 * length * gain - 1e-12 * abs(at.value)):
            length /= 2
            if length < 1e-8:
                return Maximum(parameters, at, gain <= 1e-6 * max(rows, 1.0), step)
            value = function.value(parameters + length * direction)
        parameters = parameters + length * direction
        at = trial if length == 1.0 else function.derivatives(parameters)
    return Maximum(parameters, at, False, _STEPS)


def _direction(at: Derivatives) -> Floats:
    """A direction of ascent: Newton's where minus the Hessian is positive definite, else damped."""
    scale = np.sqrt(np.maximum(np.diagonal(at.complete), 1e-300))
    score = at.score / scale
    exact = at.information / np.outer(scale, scale)
    complete = at.complete / np.outer(scale, scale)
    for mix in (0.0, 0.1, 0.5, 1.0):
        system = (1 - mix) * exact + mix * complete
        values, vectors = np.linalg.eigh((system + system.T) / 2)
        if values[0] > -1e-9 * max(values[-1], 1e-300):
            # What the data do not determine is left where it is.
            kept = values > 1e-11 * max(values[-1], 1e-300)
            steps = (vectors[:, kept].T @ score) / values[kept]
            return np.asarray((vectors[:, kept] @ steps) / scale)
    return np.asarray(score / scale)
