"""The utility of a mechanism, between two floats that hold the truth."""

from __future__ import annotations

import math

import numpy as np

from leakwise.exact import ratio_array
from leakwise.mechanism import CommonLawKernel, Kernel
from leakwise.optimize.problem.utilities import FInformation, Frequencies, Utility, _Guessing
from leakwise.priors import Prior
from leakwise.types import Floats

__all__ = ["utility_interval"]


def utility_interval(kernel: Kernel, prior: Prior, utility: Utility) -> tuple[float, float]:
    """Return U(P) = Σ_j q_j μ(λ_j), rounded down and rounded up."""
    mass = kernel.output_law_floats(prior.weights, prior.denominator)
    if isinstance(kernel, CommonLawKernel) and isinstance(utility, (FInformation, _Guessing)):
        return _structured(kernel, prior, utility)
    here = mass > 0
    lifts = kernel.matrix[:, here] / mass[here]
    value = utility.value(lifts, mass[here], prior)
    if isinstance(utility, Frequencies):
        lower = _to_eleven_digits(value - _lost_by_inverting(lifts, mass[here], prior.probabilities))
        return lower, 2 * value - lower if math.isfinite(lower) else value
    # Lifts and masses are accurate to N units. A gain moves with them, a convex f at most as far as at the ends of the
    # error; f itself is accurate to units of 1 + λ and of its value, of which the lifts average to 1.
    units = (kernel.shape[0] + 24) * 2.0**-52
    p = prior.probabilities[:, None]
    if isinstance(utility, FInformation):
        f, at = utility.f, utility.f(lifts)
        swing = np.maximum(f(lifts * (1 + units)), f(lifts * (1 - units))) - at
        size = float(mass[here] @ (p * (np.abs(at) * units + np.maximum(swing, 0.0))).sum(axis=0)) + 2 * units
    else:
        gains = np.eye(len(prior)) if isinstance(utility, _Guessing) else utility.gains(prior)  # type: ignore[attr-defined]
        size = float(mass[here] @ ((np.abs(gains) * p).T @ lifts).max(axis=0)) * units
    slack = 2 * size + abs(value) * units
    return _never_negative(value - slack, utility), value + slack


def _lost_by_inverting(lifts: Floats, law: Floats, p: Floats) -> float:
    """How far trace J⁻¹ may be above what floats find, ∞ where J is not safely invertible.

    J is known to N units of its entries, the inverse to as many of the condition that they have with it: from
    ‖J⁻¹‖·e/(1-e), the bound on a perturbed inverse. The checker measures the same with its own order of sums, so that
    four times the units are counted here.
    """
    root = np.sqrt(p)
    scaled = root[:, None] * ((lifts * law) @ lifts.T) * root
    values, vectors = np.linalg.eigh(scaled)
    if not values[0] > 0:
        return math.inf
    inverse = (vectors / values) @ vectors.T
    units = 4 * (lifts.shape[0] + lifts.shape[1] + 16) * 2.0**-50
    error = float(np.linalg.norm(np.abs(scaled) @ np.abs(inverse))) * units
    error += 4 * float(np.linalg.norm(np.eye(len(p)) - scaled @ inverse))
    if not error < 0.5:
        return math.inf
    trace = float(p @ np.diag(inverse))
    lost: float = float(np.linalg.norm(inverse)) * error / (1 - error) + (1 + trace) * (len(p) + 16) * 2.0**-48
    return lost


def _to_eleven_digits(value: float) -> float:
    """A float rounded down to 36 bits: the digits of an inverse that machines agree on."""
    if not math.isfinite(value) or not value:
        return value
    unit = math.ldexp(1.0, math.frexp(value)[1] - 36)
    return math.floor(value / unit) * unit


def _structured(kernel: CommonLawKernel, prior: Prior, utility: FInformation | _Guessing) -> tuple[float, float]:
    """A column of a common law plus a diagonal has two values only: no matrix at any size."""
    p = prior.probabilities
    mass = kernel.output_law_floats(prior.weights, prior.denominator)
    common = ratio_array(kernel.common, kernel.denominator)
    own = ratio_array(kernel.common + kernel.diagonal, kernel.denominator)
    if isinstance(utility, _Guessing):
        first, second = np.partition(p, -2)[-2:][::-1] if len(p) > 1 else (p[0], 0.0)
        others = np.where(p == first, second if (p == first).sum() == 1 else first, first)
        terms = np.maximum(own * p, common * others)
    else:
        others = ratio_array(prior.denominator - prior.weights, prior.denominator)
        safe = np.where(mass > 0, mass, 1.0)
        terms = np.concatenate([mass * p * utility.f(own / safe), mass * others * utility.f(common / safe)])
    value, magnitude = math.fsum(terms), math.fsum(np.abs(terms))
    slack = (magnitude + 2.0) * 256 * 2.0**-53
    return _never_negative(value - slack, utility), value + slack


def _never_negative(value: float, utility: Utility) -> float:
    """An f-information is at least f(1) = 0: rounding down need not go below that."""
    return max(value, 0.0) if isinstance(utility, (FInformation, _Guessing)) else value
