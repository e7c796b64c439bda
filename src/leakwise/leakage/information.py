"""Mutual information and f-informations of secret and outcome."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from leakwise.exact import float_above, float_below
from leakwise.leakage.divergences import Convex, as_convex, x_log_x
from leakwise.leakage.outcomes import TINY, ULP, Floats, checked, is_small, law, single_prior, wide
from leakwise.mechanism import CommonLawKernel, Mechanism
from leakwise.priors import Prior

__all__ = ["f_information", "mutual_information"]


def mutual_information(mechanism: Mechanism, prior: Any) -> float:
    """The mutual information of secret and outcome, Σ_ij π_i p_ij log(p_ij / q_j), in nats, never below the truth.

    The average of the information density; it cannot grow under post-processing, and is at most the maximal leakage.

    >>> from leakwise import Prior, identity
    >>> print(f"{mutual_information(identity(2), Prior([0.5, 0.5])):.6f}")
    0.693147
    """
    return _information(x_log_x, mechanism, prior)


def f_information(mechanism: Mechanism, prior: Any, f: Any) -> float:
    """The f-information Σ_ij π_i q_j f(λ_ij) of secret and outcome, rounded up.

    ``f`` is ``"mutual_information"``, ``"total_variation"`` (½|λ-1|), ``"chi_square"`` ((λ-1)²), ``"hellinger"``
    ((1-√λ)²), or a function of a NumPy array that is convex, finite at 0, and 0 at 1; an f that is not convex is
    refused with a counter-example. It cannot grow under post-processing. Your own f is taken to be computed within 8
    roundings.

    >>> from leakwise import Prior, identity
    >>> print(f"{f_information(identity(2), Prior([0.5, 0.5]), 'total_variation'):.4f}")
    0.5000
    """
    return _information(as_convex(f), mechanism, prior)


def _information(f: Convex, mechanism: Mechanism, prior: Any) -> float:
    known = single_prior(prior, checked(mechanism))
    mass = mechanism.kernel.output_law_floats(known.weights, known.denominator)
    largest = mechanism.kernel.column_max(known.support)
    if is_small(mechanism) or bool(((mass < TINY) & (largest > 0)).any()):
        below, above, shares = _exact_lifts(mechanism, known)
    else:
        below, above, shares = _float_lifts(mechanism, known, mass)
    # A convex function is largest at an end of an interval: no lift in it can do better.
    values = np.maximum(np.asarray(f(below), dtype=np.float64), np.asarray(f(above), dtype=np.float64))
    values *= shares
    total = math.fsum((mass * values.sum(axis=0)).tolist())
    size = math.fsum((mass * np.abs(values).sum(axis=0)).tolist())
    return max(0.0, total + size * (2 * mechanism.shape[0] + 32) * ULP)


def _exact_lifts(mechanism: Mechanism, prior: Prior) -> tuple[Floats, Floats, Floats]:
    """Floats on both sides of every lift over the support, and the masses of the rows."""
    masses = law(mechanism, prior)
    possible = [int(mass) for mass in masses]
    rows = (wide(mechanism.weights)[prior.support] * prior.denominator).tolist()
    exact = [
        [Fraction(w, mass) if mass else Fraction(1) for w, mass in zip(row, possible, strict=True)] for row in rows
    ]
    below = np.array([[float_below(lift) for lift in row] for row in exact])
    above = np.array([[float_above(lift) for lift in row] for row in exact])
    return below, above, prior.probabilities[prior.support][:, None]


def _float_lifts(mechanism: Mechanism, prior: Prior, mass: Floats) -> tuple[Floats, Floats, Floats]:
    """The same within the error of the output law: (N+8)/2 units, and some to spare."""
    possible = mass > 0
    kernel = mechanism.kernel
    if isinstance(kernel, CommonLawKernel):
        # Two kinds of rows per outcome: its own letter, and all others.
        common = kernel.common / kernel.denominator
        own = (kernel.common + kernel.diagonal) / kernel.denominator
        entries = np.stack([common, own])
        shares = np.stack([1 - prior.probabilities, prior.probabilities])
    else:
        entries, shares = mechanism.matrix[prior.support], prior.probabilities[prior.support][:, None]
    lifts = np.divide(entries, mass, out=np.ones_like(entries), where=possible)
    slack = (mechanism.shape[0] + 16) * ULP
    return lifts * (1 - slack), lifts * (1 + slack), shares
