"""The lift of every outcome of a noisy count, in floats that are never below the truth.

With B the probabilities of the others' count and α the ratio of the noise, let U(y) = Σ_{s≤y} B(s) α^{y-s} and
V(y) = Σ_{s≥y} B(s) α^{s-y}, so that Q(y) is proportional to U(y) + V(y) - B(y). The shares w = B/U and z = B/V follow a
recursion of positive numbers below 1, which neither overflows nor cancels: each step adds less than eight units of
rounding to a relative error.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from leakwise.types import Floats

__all__ = ["outcome_lifts"]

_UNITS = 64 * 2.0**-53


def outcome_lifts(unknown: int, chance: Fraction, ratio: Fraction) -> Floats:
    """Return the largest lift of either value for each outcome 0 … m, rounded up.

    >>> outcome_lifts(2, Fraction(1, 2), Fraction(0)).round(4).tolist()
    [2.0, 1.0, 2.0]
    """
    p, q = float(chance), float(1 - chance)
    outcomes = np.arange(unknown + 1, dtype=np.float64)
    if ratio == 0:  # by symmetry a record has the property with probability y/m
        one, zero = outcomes / (unknown * p), (unknown - outcomes) / (unknown * q)
        lifts: Floats = np.maximum(one, zero) * (1 + _UNITS)
        return lifts
    # r = Q(y-1)/Q(y) for 0 < y < m; it is α below and 1/α above.
    alpha, others = float(ratio), unknown - 1
    rise = _rises(others, p / q)
    ratios = np.empty(unknown + 1)
    ratios[0], ratios[-1] = alpha, 1 / alpha
    ratios[1:-1] = _neighbour_ratios(rise, _rises(others, q / p), alpha)
    mixed = q + p * ratios
    lifts = np.maximum(ratios, 1.0) / mixed
    found: Floats = lifts * (1 + _UNITS * (unknown + 1))
    return found


def _rises(others: int, odds: float) -> Floats:
    """B(y)/B(y-1) for y = 1 … others."""
    places = np.arange(1, others + 1, dtype=np.float64)
    rises: Floats = (others - places + 1) / places * odds
    return rises


def _shares(rises: Floats, alpha: float) -> list[float]:
    """B(y)/U(y) for y = 0 … others: w(y) = b w(y-1) / (b w(y-1) + α)."""
    share, shares = 1.0, [1.0]
    for rise in rises.tolist():
        grown = rise * share
        share = grown / (grown + alpha)
        shares.append(share)
    return shares


def _neighbour_ratios(up: Floats, down: Floats, alpha: float) -> Floats:
    """Q(y-1)/Q(y) for y = 1 … others."""
    w, z = np.array(_shares(up, alpha)), np.array(_shares(down, alpha))[::-1]
    before, here, there = w[:-1], w[1:], z[1:]
    # 1 - z, without cancellation: at the last place all of V is B.
    rest = np.zeros(len(there))
    rest[:-1] = alpha / (alpha + down[::-1][1:] * z[2:]) if len(there) > 1 else 0.0
    ratios: Floats = (there / (up * before + alpha) + alpha * here) / (there + here * rest)
    return ratios
