"""How likely a large leakage is: tails, quantiles, and the two approximate PML of [EN] section III.

Tails, quantiles and ψ1 can grow when the outcome is processed further ([EN] Example 1, Theorem 1); ψ2 cannot. What
survives any processing is the envelope.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from leakwise.exact import Level, float_above, level, log_lower, log_upper
from leakwise.leakage.measures.arguments import ULP, checked, checked_delta, is_small, law, single_prior, wide
from leakwise.leakage.measures.pointwise import pml
from leakwise.mechanism import CommonLawKernel, Mechanism
from leakwise.priors import Prior
from leakwise.types import Floats

__all__ = ["Quantiles", "pml_quantiles", "psi1", "psi2", "tail_probability"]


class Quantiles(NamedTuple):
    """Both δ-quantiles of the leakage, in nats; they differ where its distribution is flat at 1-δ."""

    lower: float
    upper: float


def _exact_outcomes(mechanism: Mechanism, prior: Prior) -> list[tuple[Fraction, Fraction]]:
    """For each possible outcome its largest lift and its probability."""
    over = mechanism.denominator * prior.denominator
    largest = mechanism.kernel.column_max(prior.support).tolist()
    return [
        (Fraction(weight * prior.denominator, mass), Fraction(mass, over))
        for weight, mass in zip(largest, mechanism.kernel.output_law(prior.weights), strict=True)
        if mass
    ]


def _mass_above(mechanism: Mechanism, prior: Prior) -> Floats:
    """The probability of each outcome in floats, never below the truth."""
    masses = mechanism.kernel.output_law_floats(prior.weights, prior.denominator)
    return masses * (1 + (mechanism.shape[0] + 8) * ULP)


def _sum_above(values: Floats) -> float:
    total = math.fsum(values.tolist())
    return total if total == 0 else math.nextafter(total, math.inf)


def tail_probability(mechanism: Mechanism, prior: Any, epsilon: object = None, *, lift: object = None) -> float:
    """Return the probability of an outcome that leaks more than ε, P(ℓ(Y) > ε), never below the truth.

    (ε, δ)-probabilistic PML ([EN] Definition 5) holds iff this is at most δ. It can grow under post-processing.

    >>> from leakwise import Prior, randomized_response
    >>> tail_probability(randomized_response(2, lift=3), Prior([0.75, 0.25]), lift="3/2")
    0.375
    """
    known = single_prior(prior, checked(mechanism))
    asked = level(epsilon, lift)
    if is_small(mechanism):
        outcomes = _exact_outcomes(mechanism, known)
        return float_above(sum((mass for ratio, mass in outcomes if not asked.allows(ratio)), Fraction(0)))
    # pml is never below the truth, the level never above it: what exceeds is never missed.
    exceeds = pml(mechanism, known) > _exponent_below(asked)
    return min(1.0, _sum_above(_mass_above(mechanism, known)[exceeds]))


def _exponent_below(asked: Level) -> float:
    if asked.exponent is None:
        return log_lower(asked.below)
    nearest = float(asked.exponent)
    return nearest if Fraction(nearest) <= asked.exponent else math.nextafter(nearest, -math.inf)


def pml_quantiles(mechanism: Mechanism, prior: Any, delta: object) -> Quantiles:
    """Return both δ-quantiles of the leakage ([EN] (9)–(10) and section IV), in nats, never below the truth.

    ``lower`` is the least t with P(ℓ(Y) ≤ t) ≥ 1-δ; ``upper`` the largest t with P(ℓ(Y) ≥ t) ≥ δ, a lower bound on the
    envelope. At δ = 0 both are ε.

    >>> from leakwise import Prior, randomized_response
    >>> found = pml_quantiles(randomized_response(2, lift=3), Prior([0.75, 0.25]), "3/8")
    >>> print(f"{found.lower:.4f} {found.upper:.4f}")
    0.1823 0.6931
    """
    known = single_prior(prior, checked(mechanism))
    allowed = checked_delta(delta)
    if is_small(mechanism):
        outcomes = sorted(_exact_outcomes(mechanism, known), reverse=True)
        places = _quantile_places([mass for _, mass in outcomes], allowed)
        found = [0.0 if place is None else log_upper(outcomes[place][0]) for place in places]
        return Quantiles(found[0], found[1])
    leakage, mass = pml(mechanism, known), _mass_above(mechanism, known)
    possible = np.flatnonzero(mass > 0)
    order = possible[np.argsort(-leakage[possible], kind="stable")]
    # Masses rounded up make every set of bad outcomes look likelier: both quantiles err upwards.
    masses = [Fraction(value) for value in mass[order].tolist()]
    floats = [0.0 if place is None else float(leakage[order[place]]) for place in _quantile_places(masses, allowed)]
    return Quantiles(floats[0], floats[1])


def _quantile_places(masses: list[Fraction], delta: Fraction) -> tuple[int | None, int]:
    """Where the quantiles stand among outcomes in descending order of leakage; None is a leakage of 0."""
    if delta == 0:
        return 0, 0
    lower: int | None = None
    upper: int | None = None
    above = Fraction(0)
    for place, mass in enumerate(masses):
        above += mass
        if lower is None and above > delta and delta < 1:
            lower = place
        if upper is None and above >= delta:
            upper = place
        if lower is not None and upper is not None:
            break
    return lower, len(masses) - 1 if upper is None else upper


def psi1(mechanism: Mechanism, prior: Any, epsilon: object = None, *, lift: object = None) -> float:
    """Return the first approximate PML, E[max(0, 1 - e^{ε-ℓ(Y)})] ([EN] section III), never below the truth.

    At most the tail probability at ε. It can grow under post-processing (Theorem 1 (i)).

    >>> from leakwise import Prior, identity
    >>> psi1(identity(2), Prior([0.5, 0.5]), lift="3/2")
    0.25
    """
    known = single_prior(prior, checked(mechanism))
    factor = level(epsilon, lift).below
    if factor * known.least_probability >= 1:
        return 0.0  # no lift is above 1/π_min
    if is_small(mechanism):
        outcomes = _exact_outcomes(mechanism, known)
        terms = (mass * (1 - factor / ratio) for ratio, mass in outcomes if ratio > factor)
        return float_above(sum(terms, Fraction(0)))
    # pml and the mass are never below the truth, log t never above it; three roundings per term are left.
    share = -np.expm1(np.minimum(0.0, log_lower(factor) - pml(mechanism, known)))
    return min(1.0, _sum_above(_mass_above(mechanism, known) * share) + 8 * ULP)


def psi2(mechanism: Mechanism, prior: Any, epsilon: object = None, *, lift: object = None) -> float:
    """Return the second approximate PML, max over letters x and events E of P(E|x) - e^ε P(E), never below the truth.

    [EN] section III. It cannot grow under post-processing (Theorem 1 (ii)), but neither bounds the tail nor is
    bounded by it.

    >>> from leakwise import Prior, identity
    >>> psi2(identity(2), Prior([0.5, 0.5]), lift="3/2")
    0.25
    """
    known = single_prior(prior, checked(mechanism))
    factor = level(epsilon, lift).below
    if factor * known.least_probability >= 1:
        return 0.0  # no lift is above 1/π_min
    kernel = mechanism.kernel
    if isinstance(kernel, CommonLawKernel):
        return _structured_psi2(kernel, known, factor)
    if is_small(mechanism) or factor > 1 << 900:
        # p > t q in integers over one denominator: w·Dπ·b > a·law.
        scaled = wide(mechanism.weights)[known.support] * (known.denominator * factor.denominator)
        excess = np.maximum(scaled - factor.numerator * law(mechanism, known), 0).sum(axis=1)
        over = mechanism.denominator * known.denominator * factor.denominator
        return float_above(Fraction(int(excess.max()), over))
    rows, columns = mechanism.shape
    mass = kernel.output_law_floats(known.weights, known.denominator) * float(factor)
    matrix = mechanism.matrix
    worst = max(float(np.maximum(matrix[row] - mass, 0.0).sum()) for row in np.flatnonzero(known.support))
    # Where a term is positive t·q ≤ p: its error is at most N+12 units of p, and a row of p sums to 1.
    return min(1.0, worst + (rows + columns + 32) * ULP)


def _structured_psi2(kernel: CommonLawKernel, prior: Prior, factor: Fraction) -> float:
    """All letters share the common part; only the own outcome differs."""
    scale = prior.denominator * factor.denominator
    common = wide(kernel.common)
    mass = factor.numerator * (common * prior.denominator + wide(prior.weights) * kernel.diagonal)
    shared = np.maximum(common * scale - mass, 0)
    own = np.maximum((common + kernel.diagonal) * scale - mass, 0)
    worst = shared.sum() + (own - shared)[prior.support].max()
    return float_above(Fraction(int(worst), kernel.denominator * scale))
