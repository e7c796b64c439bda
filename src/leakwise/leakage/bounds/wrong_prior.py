"""How much leakage a wrong prior can cost: the exact sensitivity, and the bounds of [ED] that need no mechanism.

All bounds are rounded up. They hold around an estimate π and for any prior Q with ‖Q - π‖₁ ≤ β, which may give mass to
letters that π does not. So their ε counts every declared letter, max_j max_i log(p_ij / π·p_j) with i over all of them:
``lw.epsilon(mechanism, estimate, every_letter=True)``. One that was taken over the support of π is refused.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from leakwise.errors import InvalidInput, some_of
from leakwise.exact import Level, exact_fraction, last_that_holds, level, log_upper
from leakwise.leakage.bounds.mean import kl
from leakwise.leakage.measures.arguments import checked
from leakwise.mechanism import Mechanism
from leakwise.mechanism.mechanism import align_prior
from leakwise.priors.confidence import log_union, weissman_radius
from leakwise.priors.sample import log_subsets_upper
from leakwise.priors.sets.around_estimate import checked_failure, checked_radius
from leakwise.priors.support import SupportLeakage
from leakwise.proof import certify

__all__ = [
    "capacity_bound",
    "estimation_bound",
    "estimation_failure",
    "leakage_sensitivity",
    "lipschitz_bound",
    "output_divergence",
    "sensitivity_bound",
]

_UP = 1 + 2.0**-46
METHODS = ("layer-cake", "weissman")


def leakage_sensitivity(mechanism: Mechanism, priors: Any) -> float:
    """How much more the mechanism leaks for the worst prior of the set than for its nominal one, exact, rounded up.

    S = sup_Q ε(P, Q) - ε(P, π) ([ED] Definition 6).

    >>> from leakwise import Prior, k_singular
    >>> uniform = Prior.uniform(4)
    >>> print(f"{leakage_sensitivity(k_singular(4, 2), uniform.ball('0.2')):.4f}")
    0.2231
    """
    known = align_prior(priors, checked(mechanism))
    worst, here = (certify(mechanism, each).ratio for each in (known, known.nominal))
    if worst is None or here is None:
        return math.inf
    return log_upper(max(worst / here, Fraction(1)))


def output_divergence(mechanism: Mechanism, priors: Any) -> float:
    """Return max over outcomes and priors of log P_Y(y)/Q_Y(y): how far the output law can fall, exact, rounded up.

    This is what [ED] Theorem 4 bounds. [ED] Remark 2 equates it with the sensitivity; it is an upper bound on that
    where the nominal prior gives mass to every letter, and equal where every outcome leaks the same.
    """
    known = align_prior(priors, checked(mechanism))
    largest = 0.0
    for column in mechanism.weights.T.tolist():
        here = known.nominal.exact_least_mass(column)
        if here == 0:
            continue
        least = known.exact_least_mass(column)
        if least == 0:
            return math.inf
        largest = max(largest, log_upper(here / least))
    return largest


def lipschitz_bound(capacity: float, distance: float, *, as_printed: bool = False) -> float:
    """Return the most that ε(P, ·) changes between two priors of a set at l1 ``distance`` ([ED] Theorem 3).

    e^C · distance with C the leakage capacity of the set (``lw.epsilon(mechanism, set)``). Half of it suffices, because
    the differences of two priors sum to zero; ``as_printed=True`` gives the theorem's own number. Where a prior calls
    letters impossible, its ε is meant with ``every_letter=True``: it jumps when such a letter gets any mass.
    """
    _every_letter(capacity, "capacity")
    if capacity < 0 or not 0 <= distance <= 2:
        raise InvalidInput(f"capacity must be at least 0 and distance in [0, 2]. Got {capacity!r} and {distance!r}.")
    if distance == 0:
        return 0.0
    return math.exp(capacity) * distance * (1.0 if as_printed else 0.5) * _UP


def sensitivity_bound(
    epsilon: object = None, beta: object = 0, *, lift: object = None, least_probability: object = None
) -> float:
    """What the leakage can rise by within l1 distance ``beta`` ([ED] Theorem 4, one form for every privacy region).

    -log(1 - (β/2) min(e^ε, (e^ε-1)/π_min)); without ``least_probability`` the second term is left out; infinite where
    the argument is not positive. Both ε and π_min are over every declared letter: with a letter of mass zero there is
    no ``least_probability``, and ε is ``lw.epsilon(mechanism, prior, every_letter=True)``.

    >>> print(f"{sensitivity_bound(lift=2, beta='0.2'):.4f}")
    0.2231
    """
    asked, radius = _at_the_estimate(epsilon, lift), checked_radius(beta)
    slope = asked.above
    if least_probability is not None:
        least = exact_fraction(least_probability, "least_probability")
        if not 0 < least <= 1:
            raise InvalidInput(f"least_probability must be above 0 and at most 1. Got {least_probability!r} instead.")
        slope = min(slope, (asked.above - 1) / least)
    left = 1 - radius / 2 * slope
    return math.inf if left <= 0 else log_upper(1 / left)


def capacity_bound(epsilon: object = None, beta: object = 0, *, lift: object = None) -> float:
    """Return the leakage for every prior within l1 distance ``beta`` of one where it is ε ([ED] Corollary 2).

    ε + log 1/(1 - e^ε β/2), infinite from β = 2e^{-ε} on. ε counts every declared letter.

    >>> print(f"{capacity_bound(lift=2, beta='0.2'):.4f}")
    0.9163
    """
    asked, radius = _at_the_estimate(epsilon, lift), checked_radius(beta)
    left = 1 / asked.above - radius / 2
    return math.inf if left <= 0 else log_upper(1 / left)


def _at_the_estimate(epsilon: object, lift: object) -> Level:
    _every_letter(epsilon, "epsilon")
    return level(epsilon, lift)


def _every_letter(value: object, name: str) -> None:
    if isinstance(value, SupportLeakage):
        raise InvalidInput(
            f"{name} must count every declared letter. Got {value!r}, which was taken without "
            f"{some_of(value.left_out)}: the prior gives them no mass, and another prior may. Use "
            "lw.epsilon(mechanism, prior, every_letter=True)."
        )


# -------------------------------------------------------------------------------------------------- from a sample


def estimation_bound(
    epsilon: object = None,
    *,
    lift: object = None,
    letters: int,
    samples: int,
    failure: object,
    method: str = "layer-cake",
) -> float:
    """Return the ε' for the true prior of every mechanism with leakage ε at the estimate, except with ``failure``.

    ``method="weissman"`` is [ED] (8), infinite when the sample is small. ``method="layer-cake"`` is never larger and
    always finite: Chernoff's bound on every set of letters at once, kl(P̂(A)‖P(A)) ≤ L/m with L = log(2^N-2) - log δ.
    The lower end of that interval is convex in P̂(A), so stacked level sets give q_j ≥ max_i p_ij · kl⁻¹(e^{-ε}; L/m),
    and ε' is minus the logarithm of the latter. The largest p_ij is over every declared letter, seen or not: so is ε
    (``lw.epsilon(mechanism, estimate, every_letter=True)``), and ``letters`` counts them all.

    >>> for method in ("weissman", "layer-cake"):
    ...     print(f"{estimation_bound(lift=5, letters=20, samples=10_000, failure=1e-5, method=method):.4f}")
    1.8056
    1.7571
    """
    asked, size, drawn = _at_the_estimate(epsilon, lift), _whole(letters, "letters"), _whole(samples, "samples")
    chance = checked_failure(failure)
    if size == 1 or asked.above == 1:
        return 0.0
    if _method(method) == "weissman":
        return capacity_bound(beta=weissman_radius(size, drawn, chance), lift=asked.above)
    share = 1 / asked.above
    least = _kl_lower(float(share) * (1 - 2.0**-52), log_union(size, chance) / drawn)
    return math.inf if least <= 0 else -math.log(least) * _UP + 2.0**-46


def estimation_failure(
    epsilon: object = None,
    target: object = None,
    *,
    lift: object = None,
    target_lift: object = None,
    letters: int,
    samples: int,
    method: str = "layer-cake",
) -> float:
    """The probability, at most, that a mechanism with ε at the estimate leaks more than ``target`` for the true prior.

    ``method="weissman"`` is [ED] Corollary 3, (2^N-2) exp(-2m(e^{-ε} - e^{-ε'})²); ``"layer-cake"`` puts the
    divergence kl(e^{-ε}‖e^{-ε'}) in place of twice the squared difference and is never larger. ε counts every declared
    letter, seen or not, and so does ``letters``.
    """
    size, drawn = _whole(letters, "letters"), _whole(samples, "samples")
    rate = _rate(_at_the_estimate(epsilon, lift), level(target, target_lift, name="target"), method)
    if size == 1:
        return 0.0
    return min(1.0, math.exp(min(log_subsets_upper(size) - drawn * rate, 1.0)) * _UP)


def _rate(asked: Level, wanted: Level, method: str) -> float:
    """The exponent per sample, rounded down."""
    if wanted.below <= asked.above:
        raise InvalidInput(
            f"target must be above the leakage at the estimate: an estimate is never exact. Got {wanted.words} for the "
            f"target and {asked.words} for the estimate."
        )
    share, least = 1 / asked.above, 1 / wanted.below
    if _method(method) == "weissman":
        return float(2 * (share - least) ** 2) * (1 - 2.0**-50)
    return kl(float(share), float(least)) * (1 - 2.0**-40)


def _kl_lower(x: float, radius: float) -> float:
    """The least y ≤ x with kl(x‖y) ≤ radius, rounded down."""
    return last_that_holds(lambda y: kl(x, y) > radius, 0.0, x) * (1 - 2.0**-44)


def _whole(value: Any, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise InvalidInput(f"{name} must be a whole number of at least 1. Got {value!r} instead.")
    return value


def _method(method: str) -> str:
    if method not in METHODS:
        raise InvalidInput(f"method must be 'layer-cake' or 'weissman'. Got {method!r} instead.")
    return method
