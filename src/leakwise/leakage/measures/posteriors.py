"""What each value can become once an outcome is seen: the least and the largest posterior, on the safe side."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from leakwise.leakage.measures.arguments import is_small, wide
from leakwise.mechanism import CodeKernel, CommonLawKernel, Mechanism
from leakwise.priors import Prior

__all__ = ["best_guesses", "posterior_ranges"]

# Up to so many entries the integers themselves are fast enough.
_EXACT = 200_000
# More than the arithmetic of floats can be off.
_SLACK = 1e-12

Number = Fraction | float


def posterior_ranges(mechanism: Mechanism, prior: Prior) -> list[tuple[Number, Number]]:
    """Return for each value the least and the largest posterior over all outcomes that can occur.

    Exact fractions up to 200,000 entries; beyond, floats that are widened by more than their error. 0 and 1 are exactly
    that in both: the value is ruled out, or certain.
    """
    rows, columns = mechanism.shape
    if rows * columns <= _EXACT:
        return _exact(mechanism, prior)
    law = mechanism.kernel.output_law_floats(prior.weights, prior.denominator)
    possible = law > 0
    causes = mechanism.weights[:, possible] > 0
    certain = ((causes & prior.support[:, None]).sum(axis=0) == 1) & causes & prior.support[:, None]
    posterior = prior.probabilities[:, None] * mechanism.matrix[:, possible] / law[possible]
    # Rounding must not make a certainty of what is none, nor the other way round.
    below_one = math.nextafter(1.0, 0.0)
    most = np.where(certain, 1.0, np.minimum(posterior * (1 + _SLACK), below_one)).max(axis=1)
    least = np.where(certain, 1.0, posterior * (1 - _SLACK)).min(axis=1)
    return list(zip(least.tolist(), most.tolist(), strict=True))


def _exact(mechanism: Mechanism, prior: Prior) -> list[tuple[Number, Number]]:
    law = mechanism.kernel.output_law(prior.weights)
    possible = [place for place, mass in enumerate(law) if mass]
    found: list[tuple[Number, Number]] = []
    for weight, row in zip(prior.weights.tolist(), mechanism.weights.tolist(), strict=True):
        posteriors = [Fraction(weight * row[place], law[place]) for place in possible]
        found.append((min(posteriors), max(posteriors)))
    return found


def best_guesses(mechanism: Mechanism, prior: Prior) -> tuple[list[int], list[int]]:
    """Return for each outcome the place of the likeliest value, and max_i π_i p_ij over both denominators multiplied.

    What is returned of a value is exact; beyond 20,000 entries the likeliest one is chosen in floats, so that another
    may be as likely within their rounding.
    """
    kernel = mechanism.kernel
    if isinstance(kernel, CommonLawKernel):
        return _structured_guesses(kernel, prior.weights.tolist())
    if isinstance(kernel, CodeKernel):
        return _code_guesses(kernel, prior.weights.tolist())
    if is_small(mechanism):
        places = (wide(mechanism.weights) * wide(prior.weights)[:, None]).argmax(axis=0).tolist()
    else:
        places = (mechanism.matrix * prior.probabilities[:, None]).argmax(axis=0).tolist()
    masses, weights = prior.weights, mechanism.weights
    return places, [int(masses[place]) * int(weights[place, outcome]) for outcome, place in enumerate(places)]


def _structured_guesses(kernel: CommonLawKernel, masses: list[int]) -> tuple[list[int], list[int]]:
    top = sorted(range(len(masses)), key=masses.__getitem__, reverse=True)[:2]
    places, tops = [], []
    for outcome, (common, mass) in enumerate(zip(kernel.common.tolist(), masses, strict=True)):
        own = (common + kernel.diagonal) * mass
        other = next((place for place in top if place != outcome), outcome)
        rest = common * masses[other] if other != outcome else 0
        places.append(outcome if own >= rest else other)
        tops.append(max(own, rest))
    return places, tops


def _code_guesses(kernel: CodeKernel, masses: list[int]) -> tuple[list[int], list[int]]:
    """The likeliest letter of a window, or the likeliest of all where that is more likely to get it by chance."""
    order = np.array(sorted(range(len(masses)), key=masses.__getitem__, reverse=True))
    first, q = kernel.first_of(order).tolist(), kernel.places.q
    top = int(order[0])
    places, tops = [], []
    for letters, lows, step in zip(first, kernel.low.tolist(), kernel.step.tolist(), strict=True):
        for symbol, low in enumerate(lows):
            inside = [letters[(symbol + turn) % q] for turn in range(kernel.places.raised)]
            candidates = [((low + step) * masses[letter], letter) for letter in inside if letter >= 0]
            most, letter = max([*candidates, (low * masses[top], top)])
            places.append(letter)
            tops.append(most)
    if kernel.rest:
        places.append(top)
        tops.append(kernel.rest * masses[top])
    return places, tops
