"""The utility of a mechanism, between two floats that hold the truth."""

from __future__ import annotations

from leakwise.mechanism import Kernel
from leakwise.optimize.problem.utilities import Utility
from leakwise.priors import Prior

__all__ = ["utility_interval"]


def utility_interval(kernel: Kernel, prior: Prior, utility: Utility) -> tuple[float, float]:
    """Return U(P) = Σ_j q_j μ(λ_j), rounded down and rounded up."""
    return utility.interval(kernel, prior)
