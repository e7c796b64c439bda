"""Local differential privacy of a mechanism: ε, the whole profile δ(ε), its inverse, and the probabilistic version.

None of it knows a prior: two letters are compared with each other, not with what was believed before.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TypeGuard

import numpy as np

from leakwise.errors import InvalidInput
from leakwise.exact import exact_fraction, exp_lower, float_above, level, log_lower, log_upper
from leakwise.leakage.many_releases.privacy_loss import ComposedProfile, joint_ldp
from leakwise.leakage.measures.arguments import ULP, checked, checked_delta, wide
from leakwise.leakage.measures.privacy_profile import SMALL_PAIRS, PrivacyProfile
from leakwise.leakage.sets_of_values import is_of_sets, sets_ldp_ratio
from leakwise.mechanism import CommonLawKernel, Composition, Mechanism

# Of a composition so many terms (letters² × outcomes) are listed; beyond, privacy losses are convolved.
_LISTED = 2_000_000

__all__ = ["ldp", "ldp_ratio", "privacy_profile", "probabilistic_ldp", "probabilistic_ldp_bound"]


def ldp(mechanism: Mechanism, delta: object = 0.0) -> float:
    """Return the ε of (ε, δ)-local differential privacy, in nats, never below the truth; infinite when there is none.

    For δ = 0 it is max_j log(max_i p_ij / min_i p_ij), infinite as soon as an outcome is possible for one letter and
    not for another; for δ > 0 the least ε with max_{x,x'} Σ_j (p_xj - e^ε p_x'j)₊ ≤ δ.

    >>> from leakwise import randomized_response
    >>> print(f"{ldp(randomized_response(4, lift=3)):.6f}")
    1.098612
    >>> ldp(randomized_response(4, lift=3), delta=1.0)
    0.0
    """
    allowed = checked_delta(delta)
    if allowed > 0:
        return privacy_profile(mechanism).epsilon(allowed)
    known = checked(mechanism)
    if _is_long(known):
        return joint_ldp(known)
    ratio = ldp_ratio(known)
    return float("inf") if ratio is None else log_upper(ratio)


def ldp_ratio(mechanism: Mechanism) -> Fraction | None:
    """Return e^ε of local differential privacy, exact: the lift that no prior exceeds; None where there is none."""
    if is_of_sets(mechanism):
        return sets_ldp_ratio(mechanism)
    kernel = mechanism.kernel
    largest, smallest = kernel.column_max(), kernel.column_min()
    possible = largest > 0
    if bool((possible & (smallest == 0)).any()):
        return None
    largest, smallest = largest[possible], smallest[possible]
    # Floats find the columns that may hold the largest ratio; the integers decide among all of those.
    ratios = (largest / smallest).astype(np.float64)
    near = np.flatnonzero(ratios >= ratios.max() * (1 - 8 * ULP))
    top, bottom = 1, 1
    for high, low in set(zip(largest[near].tolist(), smallest[near].tolist(), strict=True)):
        if high * bottom > top * low:
            top, bottom = high, low
    return Fraction(top, bottom)


def privacy_profile(mechanism: Mechanism) -> PrivacyProfile:
    """Return the whole privacy profile δ(ε) = max_{x,x'} Σ_j (p_xj - e^ε p_x'j)₊, and its inverse.

    Of many releases privacy losses are convolved, and what that loses is added to δ.

    >>> from leakwise import randomized_response
    >>> profile = privacy_profile(randomized_response(2, lift=3))
    >>> profile.delta(lift=2), profile.delta(lift=3)
    (0.25, 0.0)
    """
    known = checked(mechanism)
    if is_of_sets(known):
        known = known.pair
    return ComposedProfile(known) if _is_long(known) else PrivacyProfile(known)


def _is_long(mechanism: Mechanism) -> TypeGuard[Composition]:
    """Whether so many joint outcomes are better not listed."""
    rows, columns = mechanism.shape
    return isinstance(mechanism, Composition) and (rows * rows * columns > _LISTED or not mechanism.enumerable)


def probabilistic_ldp(mechanism: Mechanism, epsilon: object = None, *, lift: object = None) -> float:
    """Return the probability that the privacy loss exceeds ε, max_{x,x'} P(L_xx'(Y) > ε | x), never below the truth.

    (ε, δ)-probabilistic LDP ([EN] Definition 3) holds iff this is at most δ. It is at least δ(ε) of the profile, and
    can grow under post-processing.

    >>> from leakwise import randomized_response
    >>> probabilistic_ldp(randomized_response(2, lift=3), lift=2)
    0.75
    """
    if is_of_sets(checked(mechanism)):
        mechanism = mechanism.pair  # type: ignore[attr-defined]
    kernel = mechanism.kernel
    factor = level(epsilon, lift).below
    up, down = factor.numerator, factor.denominator
    rows, columns = mechanism.shape
    if isinstance(kernel, CommonLawKernel):
        if rows == 1:
            return 0.0
        low, high = wide(kernel.common), wide(kernel.common + kernel.diagonal)
        if kernel.diagonal < 0:
            low, high = high, low
        exceeding = high[high * down > up * low]
        return float_above(Fraction(int(exceeding.max()), kernel.denominator)) if len(exceeding) else 0.0
    if rows * rows * columns <= SMALL_PAIRS:
        weights = wide(kernel.weights)
        worst = max(int(np.where(row * down > up * weights, row, 0).sum(axis=1).max()) for row in weights)
        return float_above(Fraction(worst, kernel.denominator))
    matrix = kernel.matrix
    if factor > 1 << 900:
        factor = Fraction(1 << 900)  # beyond any ratio of floats but the infinite
    scaled = matrix * (float(factor) * (1 - 4 * ULP))
    most = max(float((row * (row > scaled)).sum(axis=1).max()) for row in matrix)
    return min(1.0, most * (1 + (columns + 4) * ULP))


def probabilistic_ldp_bound(
    epsilon: object = None, delta: object = 0, *, lift: object = None, times: object = 2
) -> float:
    """Return how likely a privacy loss above k·ε can be under (ε, δ)-local differential privacy, rounded up.

    max_{x,x'} P(L_xx'(Y) > kε | x) ≤ δ / (1 - e^{-(k-1)ε}) ([EN] (4), stated there for whole k ≥ 2; it holds for every
    real k > 1), with k = ``times``. Above ε itself (ε, δ)-LDP bounds nothing by δ: see :func:`probabilistic_ldp`.

    >>> print(f"{probabilistic_ldp_bound(epsilon=1, delta='1e-6'):.4g}")
    1.582e-06
    """
    asked, allowed = level(epsilon, lift), checked_delta(delta)
    factor = exact_fraction(times, "times")
    if factor <= 1:
        raise InvalidInput(f"times must be above 1: δ does not bound the loss above ε itself. Got {times!r} instead.")
    exponent = Fraction(log_lower(asked.below)) if asked.exponent is None else asked.exponent
    # A smaller exponent only makes the bound larger; beyond 700 it makes no difference.
    left = 1 - 1 / exp_lower(min(max(exponent, Fraction(0)) * (factor - 1), Fraction(700)))
    if allowed == 0:
        return 0.0
    return 1.0 if allowed >= left else float_above(allowed / left)
