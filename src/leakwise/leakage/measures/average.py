"""Leakage on average over the outcomes: maximal, min-entropy and g-leakage.

All three compare the adversary's expected success after the outcome with that before it; maximal leakage is the largest
over all gains, the multiplicative Bayes capacity.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from leakwise.errors import InvalidInput
from leakwise.exact import integer_product, log_upper, over_common_denominator
from leakwise.leakage.measures.arguments import ULP, checked, is_small, law, single_prior, wide
from leakwise.leakage.measures.posteriors import best_guesses
from leakwise.leakage.sets_of_values import is_of_sets, sets_maximal
from leakwise.mechanism import CommonLawKernel, Composition, Mechanism
from leakwise.mechanism.mechanism import align_prior
from leakwise.priors import Prior
from leakwise.types import Array, Floats

__all__ = [
    "Vulnerability",
    "attaining_gain",
    "g_leakage",
    "g_vulnerability",
    "maximal_leakage",
    "min_entropy_leakage",
    "pointwise_g_leakage",
]

# Sums of larger ones could be beyond the largest float.
_LARGEST_GAIN = 1e300


def maximal_leakage(mechanism: Mechanism, prior: Any = None) -> float:
    """Return the maximal leakage log Σ_j max_i p_ij in nats, never below the truth.

    The logarithm of E[e^ℓ(Y)], the multiplicative Bayes capacity; the same for all priors with the same support.
    Without a prior every letter counts. It cannot grow under post-processing. Of releases with too many joint outcomes
    to list, an upper bound: what they have one by one, and never more than the logarithm of the number of letters.

    >>> from leakwise import identity
    >>> print(f"{maximal_leakage(identity(4)):.6f}")
    1.386294
    """
    support = None if prior is None else align_prior(prior, checked(mechanism)).support
    if isinstance(mechanism, Composition) and not mechanism.enumerable:
        each = [n * maximal_leakage(part, prior) for part, n in zip(mechanism.parts, mechanism.counts, strict=True)]
        values = mechanism.shape[0] if support is None else int(support.sum())
        return min(math.fsum(each) * (1 + 2.0**-50), log_upper(Fraction(values)))
    checked(mechanism)
    if is_of_sets(mechanism):
        return sets_maximal(mechanism, support)
    largest = mechanism.kernel.column_max(support)
    return log_upper(Fraction(sum(largest.tolist()), mechanism.denominator))


def _log_above(value: float, units: float) -> float:
    """An upper bound on the logarithm of a number at least 1 that ``value`` misses by at most ``units`` roundings."""
    return math.log(max(value, 1.0)) * (1 + 2 * ULP) + (units + 4) * ULP


def min_entropy_leakage(mechanism: Mechanism, prior: Any) -> float:
    """By how much the chance of guessing the secret at one try grows, in nats, never below the truth.

    log (Σ_j max_i π_i p_ij / max_i π_i). At most the maximal leakage, which it reaches for the uniform prior.

    >>> from leakwise import Prior, identity
    >>> print(f"{min_entropy_leakage(identity(2), Prior([0.75, 0.25])):.6f}")
    0.287682
    """
    known = single_prior(prior, checked(mechanism))
    kernel = mechanism.kernel
    before = int(max(known.weights))
    if isinstance(kernel, CommonLawKernel) or is_small(mechanism):
        after = sum(best_guesses(mechanism, known)[1])
    else:
        ratio = known.probabilities * (known.denominator / before) if before else known.probabilities
        best = (mechanism.matrix * ratio[:, None]).max(axis=0)
        return _log_above(math.fsum(best.tolist()), 8)
    return log_upper(max(Fraction(1), Fraction(after, before * kernel.denominator)))


class Vulnerability(NamedTuple):
    """The adversary's expected gain with the best guess, before and after the outcome."""

    prior: float
    posterior: float


def _checked_gain(gain: Any, mechanism: Mechanism) -> Floats:
    try:
        matrix = np.array(gain, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"gain must be a matrix of numbers, one row per letter. Got {gain!r} instead.") from error
    letters = mechanism.shape[0]
    if matrix.ndim != 2 or matrix.shape[0] != letters or matrix.shape[1] == 0:
        raise InvalidInput(
            f"gain must have one row for each of the {letters} letters and a column for each guess. "
            f"Got shape {matrix.shape} instead."
        )
    bad = np.argwhere(~np.isfinite(matrix) | (matrix < 0))
    if len(bad):
        row, column = (int(place) for place in bad[0])
        raise InvalidInput(
            f"gain must hold finite numbers, none negative. {len(bad)} entries are not, the first for letter "
            f"{mechanism.inputs[row]!r}, guess {column}: {matrix[row, column]}. Add a constant to all entries if "
            "that is what you mean; the leakage then changes."
        )
    if matrix.max() > _LARGEST_GAIN:
        raise InvalidInput(
            f"gain must be at most {_LARGEST_GAIN:g}. Divide it by a constant: the leakage stays the same."
        )
    return matrix


def _exact_scores(gain: Floats, mechanism: Mechanism, prior: Prior) -> tuple[Array, list[int], int]:
    """Σ_i π_i g_iw p_ij for each guess and outcome, Σ_i π_i g_iw for each guess, and what the first are over."""
    numerators, over = over_common_denominator([Fraction(value) for value in gain.ravel().tolist()])
    gains = np.array(numerators, dtype=np.object_).reshape(gain.shape)
    weighted = (gains * wide(prior.weights)[:, None]).T
    scores = integer_product(weighted, wide(mechanism.weights))
    return scores, [int(total) for total in weighted.sum(axis=1)], over


def g_vulnerability(mechanism: Mechanism, prior: Any, gain: Any) -> Vulnerability:
    """Return the expected gain of the best guess before and after the outcome, in floats.

    ``gain[i, w]`` is what guess w wins when the letter is i; none negative.

    >>> from leakwise import Prior, identity
    >>> g_vulnerability(identity(2), Prior([0.75, 0.25]), [[1, 0], [0, 1]])
    Vulnerability(prior=0.75, posterior=1.0)
    """
    known = single_prior(prior, checked(mechanism))
    weighted = (_checked_gain(gain, mechanism) * known.probabilities[:, None]).T
    return Vulnerability(
        float(weighted.sum(axis=1).max()), math.fsum((weighted @ mechanism.matrix).max(axis=0).tolist())
    )


def g_leakage(mechanism: Mechanism, prior: Any, gain: Any) -> float:
    """By how much the expected gain of the best guess grows, log V(after)/V(before), in nats, never below the truth.

    ``gain[i, w]`` is what guess w wins when the letter is i. At most the maximal leakage, whatever the gain; it cannot
    grow under post-processing. The identity matrix gives the min-entropy leakage.

    >>> from leakwise import Prior, identity
    >>> print(f"{g_leakage(identity(2), Prior([0.75, 0.25]), [[1, 0], [0, 1]]):.6f}")
    0.287682
    """
    known = single_prior(prior, checked(mechanism))
    gains = _checked_gain(gain, mechanism)
    before = _refuse_worthless(gains, known)
    if is_small(mechanism) and gains.size * mechanism.shape[1] <= 1_000_000:
        scores, totals, _ = _exact_scores(gains, mechanism, known)
        best = sum(int(score) for score in scores.max(axis=0))
        return log_upper(max(Fraction(1), Fraction(best, max(totals) * mechanism.denominator)))
    # Scaled by the gain before, so that nothing under- or overflows; only non-negative numbers are added.
    scores = (gains * (known.probabilities / before)[:, None]).T @ mechanism.matrix
    return _log_above(math.fsum(scores.max(axis=0).tolist()), 2 * (mechanism.shape[0] + 8))


def pointwise_g_leakage(mechanism: Mechanism, prior: Any, gain: Any) -> Floats:
    """Return the growth of the best expected gain for each outcome, log max_w E[g(X,w)|y] / max_w E[g(X,w)], in nats.

    At most ``lw.pml`` for every gain ([EN] Definition 4), with equality for :func:`attaining_gain`; negative where the
    outcome makes guessing harder. An outcome that cannot occur counts 0. Never below the truth.
    """
    known = single_prior(prior, checked(mechanism))
    gains = _checked_gain(gain, mechanism)
    before = _refuse_worthless(gains, known)
    if is_small(mechanism) and gains.size * mechanism.shape[1] <= 1_000_000:
        scores, totals, _ = _exact_scores(gains, mechanism, known)
        ratios = [
            Fraction(int(best) * known.denominator, int(mass) * max(totals)) if mass else Fraction(1)
            for best, mass in zip(scores.max(axis=0), law(mechanism, known), strict=True)
        ]
        return np.array([log_upper(ratio) if ratio else -math.inf for ratio in ratios])
    scores = ((gains * (known.probabilities / before)[:, None]).T @ mechanism.matrix).max(axis=0)
    mass = mechanism.kernel.output_law_floats(known.weights, known.denominator)
    slack = 4 * (mechanism.shape[0] + 16) * ULP
    with np.errstate(divide="ignore"):
        leakage: Floats = np.log(np.divide(scores, mass, out=np.ones_like(mass), where=mass > 0))
    above: Floats = leakage + np.where(np.isfinite(leakage), np.abs(leakage) * 2 * ULP + slack, 0.0)
    return above


def _refuse_worthless(gains: Floats, prior: Prior) -> float:
    before = float((gains * prior.probabilities[:, None]).sum(axis=0).max())
    if not before > 0:
        raise InvalidInput(
            "gain must be positive somewhere on the letters that can occur: no guess wins anything, so nothing "
            "can grow."
        )
    return before


def attaining_gain(prior: Any) -> Floats:
    """Return the gain whose leakage is the PML of every outcome at once: g(x, w) = 1/π_x where w = x, else 0.

    Before the outcome every guess is worth 1; after y the best one is worth max_x λ_xy = e^ℓ(y). Letters without mass
    win nothing.

    >>> from leakwise import Prior
    >>> attaining_gain(Prior([0.75, 0.25])).round(4).tolist()
    [[1.3333, 0.0], [0.0, 4.0]]
    """
    from leakwise.priors import as_prior

    known = as_prior(prior)
    inverse = [0.0 if mass == 0 else float(1 / mass) for mass in known.fractions]
    return np.diag(np.array(inverse))
