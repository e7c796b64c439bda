"""Mutual information of many releases, from both sides, by how far the values' outcome distributions are apart.

The outcomes of all releases are a mixture of one product distribution for each value, and the mutual information is
what the mixture adds to their entropies. Kolchinsky and Tracey ("Estimating mixture entropy with pairwise distances",
2017) bound it by pairwise distances, which add up over independent releases:

    -Σ_x π_x log Σ_x' π_x' e^{-C_α(x, x')}  ≤  I  ≤  -Σ_x π_x log Σ_x' π_x' e^{-KL(x‖x')},

with C_α = -log Σ_j p_xj^α p_x'j^(1-α) for any α in (0, 1). Both ends reach the entropy of the prior exponentially fast.
"""

from __future__ import annotations

import math

import numpy as np

from leakwise.leakage.measures.arguments import TINY, ULP
from leakwise.mechanism import Composition
from leakwise.priors import Prior
from leakwise.types import Floats

__all__ = ["information_bounds"]

_ORDERS = (0.5, 0.4, 0.6, 0.25, 0.75)


def information_bounds(composition: Composition, prior: Prior) -> tuple[float, float]:
    """Return a lower and an upper bound on the mutual information of the secret and all outcomes together, in nats.

    ``prior`` has the values in the order of the composition.
    """
    # What has next to no probability adds less than the slack.
    rows = np.flatnonzero(prior.probabilities > TINY)
    mass = prior.probabilities[rows]
    matrices = [part.matrix[rows] for part in composition.parts]
    slack = (composition.releases + len(rows)) * 64 * ULP
    divergences = sum(n * _divergence(one) for one, n in zip(matrices, composition.counts, strict=True))
    entropy = -math.fsum((mass * np.log(mass)).tolist())
    lower = max(
        _apart(mass, sum(n * _chernoff(one, order) for one, n in zip(matrices, composition.counts, strict=True)))
        for order in _ORDERS
    )
    # What the divergences lose grows with the number of releases; the entropy has nothing to do with it.
    own = len(rows) * 64 * ULP
    upper = min(_apart(mass, divergences) * (1 + slack) + slack, entropy * (1 + own) + own)
    return max(0.0, lower * (1 - slack) - slack), upper


def _apart(mass: Floats, distance: Floats | int) -> float:
    weights = np.exp(-np.asarray(distance)) @ mass
    return -math.fsum((mass * np.log(weights)).tolist())


def _divergence(matrix: Floats) -> Floats:
    """KL of every two rows; infinite where an outcome of the first cannot come of the second."""
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(matrix)
        terms = matrix[:, None] * (logs[:, None] - logs)
    found: Floats = np.where(matrix[:, None] > 0, terms, 0.0).sum(axis=2)
    return found


def _chernoff(matrix: Floats, order: float) -> Floats:
    with np.errstate(divide="ignore"):
        return -np.log(np.minimum(matrix**order @ (matrix ** (1 - order)).T, 1.0))
