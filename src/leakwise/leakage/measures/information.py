"""Mutual information and f-informations of secret and outcome."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from leakwise.exact import float_above, float_below, log_upper
from leakwise.leakage.many_releases.information import information_bounds
from leakwise.leakage.measures.arguments import TINY, ULP, checked, law, single_prior, wide
from leakwise.leakage.measures.divergences import DIVERGENCES, Convex, as_convex, x_log_x
from leakwise.leakage.sets_of_values import is_of_sets, sets_information_bounds
from leakwise.mechanism import CommonLawKernel, Composition, Mechanism
from leakwise.priors import Prior
from leakwise.types import Floats

__all__ = ["f_information", "mutual_information"]

# A lift at a time: up to so many entries that is no slower than a millisecond or two.
_FEW = 400
# The square of a lift up to this is a float.
_HUGE = 1e140


def mutual_information(mechanism: Mechanism, prior: Any) -> float:
    """The mutual information of secret and outcome, Σ_ij π_i p_ij log(p_ij / q_j), in nats, never below the truth.

    The average of the information density; it cannot grow under post-processing, and is at most the maximal leakage. Of
    releases with too many joint outcomes to list, and of sets of values that are not listed, an upper bound.

    >>> from leakwise import Prior, identity
    >>> print(f"{mutual_information(identity(2), Prior([0.5, 0.5])):.6f}")
    0.693147
    """
    if isinstance(mechanism, Composition) and not mechanism.enumerable:
        # More releases tell less each: their sum is a bound, too.
        known = single_prior(prior, mechanism)
        each = [
            count * mutual_information(part, known)
            for part, count in zip(mechanism.parts, mechanism.counts, strict=True)
        ]
        return min(math.fsum(each) * (1 + 2.0**-50), information_bounds(mechanism, known)[1])
    if is_of_sets(mechanism):
        return sets_information_bounds(mechanism, single_prior(prior, mechanism))[1]
    return _information(x_log_x, mechanism, prior)


def f_information(mechanism: Mechanism, prior: Any, f: Any) -> float:
    """Return the f-information Σ_ij π_i q_j f(λ_ij) of secret and outcome, rounded up.

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
    extreme: list[float] = []
    if math.prod(mechanism.shape) <= _FEW or bool(((mass < TINY) & (largest > 0)).any()):
        below, above, shares, extreme = _exact_lifts(f, mechanism, known)
    else:
        below, above, shares = _float_lifts(mechanism, known, mass)
    # A convex function is largest at an end of an interval: no lift in it can do better.
    values = np.maximum(np.asarray(f(below), dtype=np.float64), np.asarray(f(above), dtype=np.float64))
    values *= shares
    total = math.fsum([*(mass * values.sum(axis=0)).tolist(), *extreme])
    size = math.fsum([*(mass * np.abs(values).sum(axis=0)).tolist(), *map(abs, extreme)])
    return max(0.0, total + size * (2 * mechanism.shape[0] + 32) * ULP)


def _exact_lifts(f: Convex, mechanism: Mechanism, prior: Prior) -> tuple[Floats, Floats, Floats, list[float]]:
    """Floats on both sides of every lift over the support, the masses of the rows, and the terms beyond floats.

    What a tiny mass and a huge lift come to together is worked out exactly; such a pair has the lift 1 in the arrays.
    """
    masses = [int(mass) for mass in law(mechanism, prior)]
    rows = (wide(mechanism.weights)[prior.support] * prior.denominator).tolist()
    own = [int(weight) for weight in prior.weights[prior.support]]
    below, above = np.ones((len(rows), len(masses))), np.ones((len(rows), len(masses)))
    least = Fraction(TINY) * prior.denominator**2 * mechanism.denominator
    extreme = []
    for i, row in enumerate(rows):
        for j, (weight, mass) in enumerate(zip(row, masses, strict=True)):
            if not mass:
                continue
            lift = Fraction(weight, mass)
            if lift > _HUGE or own[i] * mass < least:
                share = Fraction(own[i] * mass, prior.denominator**2 * mechanism.denominator)
                extreme.append(_term(f, share, lift))
            else:
                below[i, j], above[i, j] = float_below(lift), float_above(lift)
    return below, above, prior.probabilities[prior.support][:, None], extreme


def _term(f: Convex, share: Fraction, lift: Fraction) -> float:
    """π_i q_j f(λ_ij) of one pair, never below the truth, whatever its size."""
    if lift <= _HUGE:
        value = float(np.max(f(np.array([float_below(lift), float_above(lift)]))))
        return value * (float_above(share) if value > 0 else float_below(share))
    if f is x_log_x:
        return float_above(share * lift) * log_upper(lift)
    if f is DIVERGENCES["chi_square"]:  # (λ-1)² < λ²
        return float_above(share * lift**2)
    if f in (DIVERGENCES["total_variation"], DIVERGENCES["hellinger"]):  # both below λ
        return float_above(share * lift)
    return math.inf


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
