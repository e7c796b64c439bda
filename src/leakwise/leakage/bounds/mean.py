"""Lower confidence bounds on a mean from i.i.d. draws in [0, 1], given as values and how often each occurred.

Each bound is one-sided: with probability at least 1 - level the true mean is not below it.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from leakwise.exact import last_that_holds
from leakwise.priors.binomial import lower_bounds
from leakwise.types import Counts, Floats

__all__ = ["BOUNDS", "best_bet", "betting", "chernoff", "clopper_pearson", "hoeffding", "kl", "maurer_pontil"]


_DOWN = 1 - 2.0**-40


def hoeffding(values: Floats, counts: Counts, log_level: float) -> float:
    """Return Hoeffding's bound: the mean less sqrt(log(1/level) / 2n)."""
    size = int(counts.sum())
    return _below(float(values @ counts) / size - math.sqrt(-log_level / (2 * size)))


def maurer_pontil(values: Floats, counts: Counts, log_level: float) -> float:
    """The empirical Bernstein bound of Maurer and Pontil (2009, Theorem 4): small where the draws hardly vary."""
    size = int(counts.sum())
    if size < 2:
        return 0.0
    mean = float(values @ counts) / size
    variance = float(counts @ (values - mean) ** 2) / (size - 1)
    depth = math.log(2.0) - log_level
    return _below(mean - math.sqrt(2 * variance * depth / size) - 7 * depth / (3 * (size - 1)))


def chernoff(values: Floats, counts: Counts, log_level: float) -> float:
    """Return Hoeffding's bound in its divergence form: the least μ with n·kl(mean‖μ) ≤ log(1/level)."""
    size = int(counts.sum())
    mean = float(values @ counts) / size
    return _below(last_that_holds(lambda m: m <= 0 or size * kl(mean, m) > -log_level, 0.0, mean, 80))


def kl(x: float, y: float) -> float:
    """Return the divergence of two coins, kl(x‖y) in nats, 0 < y < 1."""
    first = x * math.log(x / y) if x > 0 else 0.0
    second = (1 - x) * math.log((1 - x) / (1 - y)) if x < 1 else 0.0
    return max(first + second, 0.0)


def clopper_pearson(
    values: Floats, counts: Counts, log_level: float, generator: np.random.Generator | None = None
) -> float:
    """Clopper and Pearson's bound after Bernoulli rounding: each draw v becomes 1 with probability v.

    Exact in the level, whatever the draws; the rounding costs variance unless the values are 0 and 1. The random bits
    must not depend on the sample: they come from the operating system unless a generator is given.
    """
    size = int(counts.sum())
    between = (values > 0) & (values < 1)
    ones = int(counts[values >= 1].sum())
    if between.any():
        chosen = generator or np.random.default_rng()
        ones += int(chosen.binomial(counts[between], values[between]).sum())
    return float(lower_bounds(ones, size, log_level))


def best_bet(values: Floats, law: Floats, size: int, log_level: float) -> float:
    """The bet that bounds the mean best if ``size`` draws come out as the law says; from other data than the draws."""
    bets = np.geomspace(1e-3, 1e4, 141)
    lows = np.array([_root(values, size * law, -log_level, np.array([bet]), np.zeros(1)) for bet in bets])
    return float(bets[int(lows.argmax())])


def betting(values: Floats, counts: Counts, log_level: float, bet: float | None = None) -> float:
    """The bound of a gambler who bets against every smaller mean (Waudby-Smith and Ramdas 2024), in any order of draws.

    At the true mean μ the capital Σ_b w_b Π (1 + λ_b (v - μ)) has expectation at most 1, so that it reaches 1/level
    with probability at most level. The bets λ_b are fixed before the draws: around ``bet`` where other data chose it
    (see :func:`best_bet`), else spread over all scales.
    """
    if bet is None:
        bets = np.geomspace(0.02, 400.0, 40)
        shares = np.full(len(bets), -math.log(len(bets)))
    else:
        bets = bet * np.array([0.7, 1.0, 1.4])
        shares = np.log(np.array([0.25, 0.5, 0.25]))
    return _below(_root(values, counts.astype(np.float64), -log_level, bets, shares))


def _root(values: Floats, counts: Floats, target: float, bets: Floats, shares: Floats) -> float:
    """The largest μ found at which the logarithm of the capital is at least ``target``; the capital falls with μ."""
    seen = counts > 0
    v, n = values[seen], counts[seen]

    def rejected(mean: float) -> bool:
        # A bet that could lose everything at this mean is not made; no capital at all is the safe reading of that.
        usable = bets * mean < 1 - 1e-12
        if not usable.any():
            return False
        growth = np.log1p(np.multiply.outer(bets[usable], v - mean)) @ n + shares[usable]
        peak = float(growth.max())
        # The sum of n logarithms errs by units of its parts; a little more than the target is asked for.
        return peak + math.log(float(np.exp(growth - peak).sum())) >= target * (1 + 1e-12) + 1e-9

    return last_that_holds(rejected, 0.0, float(v @ n) / float(n.sum()), 60) if rejected(0.0) else 0.0


def _below(bound: float) -> float:
    return max(bound * _DOWN - 2.0**-50, 0.0)


BOUNDS: dict[str, Callable[[Floats, Counts, float], float]] = {
    "betting": betting,
    "clopper-pearson": clopper_pearson,
    "chernoff": chernoff,
    "maurer-pontil": maurer_pontil,
    "hoeffding": hoeffding,
}
