"""The mechanisms that [WC] compares with: exponential and randomized response, made ε-PML by Proposition 1."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from leakwise.errors import InvalidInput
from leakwise.exact import level
from leakwise.mechanism import DenseKernel, Mechanism, exponential, randomized_response
from leakwise.mechanism.catalog import identity
from leakwise.optimize.problem.utility_matrix import utility_matrix
from leakwise.priors import Prior
from leakwise.types import Floats

__all__ = ["local_epsilon", "pml_exponential", "pml_randomized_response", "worst_utility"]


def local_epsilon(prior: Prior, epsilon: object) -> float:
    """Return ε̄ = -log((e^{-ε} - π_min)/(1 - π_min)): every mechanism with this local differential privacy is ε-PML.

    [WC] Proposition 1, for ε < -log π_min; infinite from there on. The same number as [EX] (9). Rounded down.

    >>> from leakwise import Prior
    >>> print(f"{local_epsilon(Prior.uniform(7), 1.0):.6f}")
    1.337405
    """
    t, least = level(epsilon).below, prior.least_probability
    if t * least >= 1:
        return math.inf
    ratio = t * (1 - least) / (1 - t * least)
    return math.log(ratio) * (1 - 2.0**-50) if ratio < 2**1000 else 690.0


def pml_exponential(prior: Prior, utility: Any, epsilon: object) -> Mechanism:
    """Return the ε-PML exponential mechanism of [WC]: exp(u_ij ε̄ / (2Δ)), Δ the largest difference within a column.

    For ε at or above -log π_min, where every mechanism is ε-PML, the best output is given.
    """
    values, _ = utility_matrix(utility, None)
    local = local_epsilon(prior, epsilon)
    if math.isinf(local):
        return _best_output(prior, values)
    if not np.isfinite(values).all():
        raise InvalidInput(
            "The exponential mechanism gives every output with some probability: utility must be finite."
        )
    outputs = prior.alphabet if values.shape[1] == len(prior) else None
    return exponential(values, epsilon=local, inputs=prior.alphabet, outputs=outputs)


def pml_randomized_response(prior: Prior, utility: Any, epsilon: object) -> Mechanism:
    """Return the ε-PML randomized response of [WC]: a letter x' is drawn, and its best output is given."""
    values, _ = utility_matrix(utility, None)
    drawn = (
        identity(prior.alphabet)
        if math.isinf(local_epsilon(prior, epsilon))
        else randomized_response(prior.alphabet, pml=epsilon, prior=prior)
    )
    return drawn.then(_best_output(prior, values))


def _best_output(prior: Prior, values: Floats) -> Mechanism:
    weights = np.zeros(values.shape, dtype=np.int64)
    weights[np.arange(len(values)), values.argmax(axis=1)] = 1
    outputs = prior.alphabet if values.shape[1] == len(prior) else None
    return Mechanism.from_kernel(DenseKernel(weights, 1), prior.alphabet, outputs)


def worst_utility(mechanism: Mechanism, utility: Floats) -> float:
    """Return the least utility of any pair that can occur."""
    possible = np.asarray(mechanism.kernel.weights != 0, dtype=np.bool_)
    return float(np.where(possible, utility, np.inf).min())
