"""Sets of priors that hold the true one with a stated probability, from the counts of an i.i.d. sample."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from leakwise.errors import InvalidInput, did_you_mean
from leakwise.exact import last_that_holds
from leakwise.priors.binomial import lower_bounds, upper_bounds
from leakwise.priors.prior import Prior
from leakwise.priors.sample import counts_of, half_of_counts, log_subsets_upper, log_up
from leakwise.priors.sets.around_estimate import Around, checked_failure
from leakwise.priors.sets.ball import Ball
from leakwise.priors.sets.box import Box
from leakwise.priors.sets.kl import KLBall
from leakwise.priors.sets.layer_cake import LayerCake
from leakwise.priors.sets.rounded import RoundedLayerCake

__all__ = ["confidence", "kl_radius", "log_union", "phi", "weissman_phi_radius", "weissman_radius"]

# Every radius is raised by this relative amount: some hundred times what its few float operations can lose.
_UP = 1 + 2.0**-44
_ITERATIONS = 200


def confidence(prior: Prior, failure: object, method: str = "weissman") -> Around:
    """Return the set of priors that holds the true one with probability at least 1 - ``failure``."""
    make = _METHODS.get(method)
    if make is None:
        raise InvalidInput(
            f"method must be one of {', '.join(_METHODS)}. Got {method!r} instead.{did_you_mean(method, _METHODS)}"
        )
    return make(prior, checked_failure(failure))


# ------------------------------------------------------------------------------------------------------ Weissman


def weissman_radius(letters: int, samples: int, failure: object) -> Fraction:
    """Return the radius β with P(‖estimate - truth‖₁ > β) ≤ failure for every prior ([ED] (7)), rounded up.

    β = sqrt(2 (log(2^N - 2) - log δ) / m). Two or more says nothing: every prior is that near.

    >>> print(f"{float(weissman_radius(20, 10_000, 1e-5)):.5f}")
    0.07124
    """
    if letters < 2:
        return Fraction(0)
    total = log_union(letters, checked_failure(failure))
    return Fraction(math.sqrt(2 * total / samples) * _UP)


def log_union(letters: int, failure: Fraction) -> float:
    """Return log(2^N - 2) - log δ, rounded up."""
    return (log_subsets_upper(letters) + log_up(1 / failure)) * (1 + 2.0**-50)


def phi(p: float) -> float:
    """Return φ(p) = log((1-p)/p) / (1-2p), 2 at one half ([ED] section II-B), rounded down."""
    x = 1 - 2 * p
    if x <= 1e-6:
        return 2.0
    return max(2.0, 2 * math.atanh(min(x, 1 - 2.0**-53)) / x * (1 - 2.0**-44))


def weissman_phi_radius(counts: tuple[int, ...], failure: object) -> Fraction:
    """Return Weissman's sharper radius with φ, made safe for an estimate, rounded up.

    φ(κ) belongs to the true prior; with the estimate's κ̂ in its place the promise fails (36% of the time at a nominal
    5%). But the true κ is within half the true distance b of κ̂, so that b ≤ 2 sqrt(L / (m φ(min(½, κ̂ + b/2)))) where
    Weissman's bound holds: iterated down from the plain radius, every step is a valid one (the mathematics, section 4).
    """
    letters, samples = len(counts), sum(counts)
    radius = weissman_radius(letters, samples, failure)
    if letters < 2:
        return radius
    total = log_union(letters, checked_failure(failure))
    middle = float(half_of_counts(counts))
    beta = float(radius)
    for _ in range(_ITERATIONS):
        kappa = min(0.5, (middle + beta / 2) * (1 + 2.0**-50))
        smaller = 2 * math.sqrt(total / (samples * phi(kappa))) * _UP
        if smaller >= beta * (1 - 2.0**-40):
            break
        beta = smaller
    return Fraction(beta)


def _weissman(prior: Prior, failure: Fraction) -> Ball:
    beta = weissman_radius(len(prior), sum(counts_of(prior)), failure)
    return Ball(prior, beta, failure, "weissman")


def _weissman_phi(prior: Prior, failure: Fraction) -> Ball:
    return Ball(prior, weissman_phi_radius(counts_of(prior), failure), failure, "weissman-phi")


# ------------------------------------------------------------------------------------------------------ the others


def _bounds(prior: Prior, failure: Fraction) -> tuple[list[float], list[float]]:
    counts = counts_of(prior)
    size, samples = len(counts), sum(counts)
    if size == 1:
        return [1.0], [1.0]
    # Two sides for each letter; with two letters one side of the one is the other side of the other.
    sides = 2 if size == 2 else 2 * size
    log_level = -log_up(sides / failure) * (1 + 2.0**-50)
    seen = np.array(counts)
    lower, upper = lower_bounds(seen, samples, log_level), upper_bounds(seen, samples, log_level)
    return np.maximum(lower, 0.0).tolist(), upper.tolist()


def _clopper_pearson(prior: Prior, failure: Fraction) -> Box:
    lower, upper = _bounds(prior, failure)
    return Box(prior, lower, upper, None, failure, "clopper-pearson")


def kl_radius(letters: int, samples: int, failure: object) -> Fraction:
    """Return the radius r with P(KL(estimate‖truth) > r) ≤ failure for every prior, rounded up.

    For two letters Chernoff's bound on both sides, 2e^{-mr}; for more, e^{-mr} (e m r/(N-1))^{N-1} (Agrawal 2020), or
    where it is smaller the number of types times e^{-mr}.
    """
    chance = checked_failure(failure)
    if letters < 2:
        return Fraction(0)
    log_chance = log_up(1 / chance) * (1 + 2.0**-50)
    if letters == 2:
        return Fraction((log_chance + math.log(2.0)) / samples * _UP)
    dimension = letters - 1

    def exponent(x: float) -> float:  # x = m r ≥ N - 1: minus the logarithm of the bound, rising in x
        return x - dimension * (1 + math.log(x / dimension))

    high = 2.0 * (dimension + log_chance) + 16.0
    while exponent(high) < log_chance:
        high *= 2
    high = last_that_holds(lambda x: exponent(x) >= log_chance, high, float(dimension))
    types = log_chance + math.lgamma(samples + letters) - math.lgamma(letters) - math.lgamma(samples + 1)
    return Fraction(min(high, types * (1 + 1e-9) + 1e-6) / samples * _UP)


def _kl(prior: Prior, failure: Fraction) -> KLBall:
    radius = kl_radius(len(prior), sum(counts_of(prior)), failure)
    return KLBall(prior, radius, failure, "kl")


def _best(prior: Prior, failure: Fraction) -> Box:
    """Ball and box at once, each at half the failure: the choice between them is paid for, and both are used."""
    beta = weissman_phi_radius(counts_of(prior), failure / 2)
    lower, upper = _bounds(prior, failure / 2)
    return Box(prior, lower, upper, beta, failure, "best")


_METHODS: dict[str, Callable[[Prior, Fraction], Around]] = {
    "weissman": _weissman,
    "weissman-phi": _weissman_phi,
    "clopper-pearson": _clopper_pearson,
    "kl": _kl,
    "layer-cake": LayerCake,
    "rounded-layer-cake": RoundedLayerCake,
    "best": _best,
}
