"""Randomized response of many people, shuffled: what the histogram of all reports tells about one of them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from leakwise.alphabet import as_alphabet
from leakwise.errors import InvalidInput
from leakwise.exact import exact_fraction, level
from leakwise.mechanism.catalog.simple import Letters, randomized_response
from leakwise.mechanism.composition import count_vectors, type_weights
from leakwise.mechanism.kernel import DenseKernel
from leakwise.mechanism.mechanism import Mechanism
from leakwise.priors import Prior, as_prior

__all__ = ["shuffle_amplification", "shuffled_randomized_response"]

_MOST_BYTES = 1 << 27  # of all integers together


def shuffled_randomized_response(
    letters: Letters, epsilon: object = None, *, lift: object = None, people: int, prior: Any = None
) -> Mechanism:
    """Return what the histogram of n shuffled reports by randomized response tells about one person's value.

    The other n-1 values are independent draws from ``prior`` (uniform if left out), randomized alike at ε (or ``lift``
    = e^ε) of local differential privacy. An outcome is the tuple of counts of the reported values:
    P(h|x) = Σ_j RR(j|x)·Multinomial(h - e_j; n-1, πRR), exact. As a mechanism on one record it satisfies ε of LDP and,
    with more people, far less at a small δ (``lw.measures.privacy_profile``). :func:`shuffle_amplification` is the
    bound of [FMT] for whatever values the others have. It is to be measured, not released by: the shuffler sees all.

    >>> shuffled_randomized_response(2, lift=3, people=2).matrix.tolist()
    [[0.375, 0.5, 0.125], [0.125, 0.5, 0.375]]
    """
    alphabet = as_alphabet(letters, name="letters")
    count = _whole(people)
    local = randomized_response(alphabet, level(epsilon, lift))
    known = Prior.uniform(alphabet) if prior is None else as_prior(prior)
    order = alphabet.positions_in(known.alphabet, mine="mechanism", theirs="prior")
    known = known if order is None else as_prior(known.reordered(order))
    size = len(alphabet)
    others = local.kernel.output_law(known.weights)
    total = known.denominator * local.denominator
    divisor = math.gcd(total, *others)
    others, total = [mass // divisor for mass in others], total // divisor
    outcomes = math.comb(count + size - 1, size - 1)
    bits = count * total.bit_length()
    if outcomes * size * (bits // 8 + 40) > _MOST_BYTES:
        raise InvalidInput(
            f"The histograms of {count:,} reports of {size:,} values are {outcomes:,}: too many to list exactly. Use "
            "fewer people or values, or shuffle_amplification, a bound that lists none."
        )
    rest = dict(zip(count_vectors(size, count - 1), type_weights(others, count - 1), strict=True))
    labels = list(count_vectors(size, count))
    weights = np.zeros((size, len(labels)), dtype=np.object_)
    rows = [[int(weight) for weight in local.kernel.row(code)] for code in range(size)]
    for place, counts in enumerate(labels):
        for report in range(size):
            if counts[report]:
                fewer = (*counts[:report], counts[report] - 1, *counts[report + 1 :])
                for code in range(size):
                    weights[code, place] += rows[code][report] * rest[fewer]
    kernel = DenseKernel(weights, local.denominator * total ** (count - 1))
    return Mechanism.from_kernel(kernel, alphabet, labels)


def _whole(people: object) -> int:
    if isinstance(people, bool) or not isinstance(people, (int, np.integer)) or people < 1:
        raise InvalidInput(f"people must be how many there are, at least 1. Got {people!r} instead.")
    return int(people)


def shuffle_amplification(epsilon: object = None, *, lift: object = None, people: int, delta: object) -> float:
    """Return the ε of (ε, δ)-differential privacy that shuffling n reports of ε₀-LDP has, whatever the other values.

    log(1 + (e^ε₀-1)/(e^ε₀+1)·(8·√(e^ε₀·log(4/δ)/n) + 8e^ε₀/n)) where ε₀ ≤ log(n / (16·log(2/δ))) ([FMT] Theorem 3.1),
    and never more than ε₀ itself. ``epsilon`` (or ``lift`` = e^ε₀) is that of each report. Rounded up.

    >>> print(f"{shuffle_amplification(1.0, people=100_000, delta=1e-6):.4f}")
    0.0726
    """
    asked, count = level(epsilon, lift), _whole(people)
    chance = exact_fraction(delta, "delta")
    if not 0 < chance < 1:
        raise InvalidInput(f"delta must be a probability strictly between 0 and 1. Got {delta!r} instead.")
    small = -math.log(chance.denominator) + math.log(chance.numerator)  # of any size
    if asked.epsilon > math.log(count) - math.log(16 * (math.log(2) - small)) - 1e-12:
        return asked.epsilon
    t = float(asked.above)
    more = 8 * math.sqrt(t * (math.log(4) - small) / count) + 8 * t / count
    found = math.log1p((t - 1) / (t + 1) * more) * (1 + 1e-13) + 1e-15
    return min(asked.epsilon, found)
