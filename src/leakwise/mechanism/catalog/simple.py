"""Named mechanisms, each exact over 2^60 and on the safe side of the irrational e^ε."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np

from leakwise.alphabet import Alphabet, Label, as_alphabet
from leakwise.errors import InvalidInput
from leakwise.exact import IntegerArray, Level, exact_fraction, level, round_float_rows
from leakwise.mechanism.kernel import CommonLawKernel, DenseKernel, refuse_large
from leakwise.mechanism.mechanism import Mechanism
from leakwise.priors import PriorSet, as_prior
from leakwise.types import Counts

__all__ = [
    "constant",
    "identity",
    "k_singular",
    "randomized_response",
    "same_pml_randomized_response",
    "symmetric_channel",
    "truncated_geometric",
]

BITS = 60
_UNIT = 1 << BITS

Letters = int | Iterable[Label]


def identity(letters: Letters) -> Mechanism:
    """Return the release of the secret itself.

    >>> identity(["no", "yes"]).matrix.tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    alphabet = as_alphabet(letters, name="letters")
    kernel = CommonLawKernel(np.zeros(len(alphabet), dtype=np.int64), _UNIT)
    return Mechanism.from_kernel(kernel, alphabet, alphabet)


def constant(letters: Letters, law: Any = None) -> Mechanism:
    """Return a release that does not look at the secret: one outcome, or an outcome drawn from ``law``.

    >>> constant(3).matrix.tolist()
    [[1.0], [1.0], [1.0]]
    """
    alphabet = as_alphabet(letters, name="letters")
    if law is None:
        return Mechanism.from_kernel(DenseKernel(np.full((len(alphabet), 1), _UNIT), _UNIT), alphabet, ["*"])
    outcomes = as_prior(law, name="law")
    weights = np.tile(outcomes.weights, (len(alphabet), 1))
    kernel = DenseKernel(weights, outcomes.denominator).dyadic(BITS)
    return Mechanism.from_kernel(kernel, alphabet, outcomes.alphabet)


def randomized_response(
    letters: Letters,
    epsilon: object = None,
    *,
    lift: object = None,
    flip: object = None,
    pml: object = None,
    prior: Any = None,
) -> Mechanism:
    """Tell the truth with a certain probability, else any other letter, evenly.

    Give one of: ``epsilon`` (or ``lift`` = e^ε), the local differential privacy it must satisfy ([EX] (6)); ``flip``,
    the probability of not telling the truth; or ``pml`` together with ``prior``, the pointwise maximal leakage it must
    satisfy for that prior ([EX] (9)).

    >>> randomized_response(["no", "yes"], lift=3).matrix.tolist()
    [[0.75, 0.25], [0.25, 0.75]]
    """
    alphabet = as_alphabet(letters, name="letters")
    ways = [
        name
        for name, value in (("epsilon", epsilon), ("lift", lift), ("flip", flip), ("pml", pml))
        if value is not None
    ]
    if len(ways) != 1:
        raise InvalidInput(f"Give exactly one of epsilon=, lift=, flip= or pml=. Got {', '.join(ways) or 'none'}.")
    if (pml is None) != (prior is None):
        raise InvalidInput("pml= and prior= go together: the leakage of an outcome depends on the prior.")
    if flip is not None:
        return symmetric_channel(alphabet, flip)
    if pml is not None:
        return same_pml_randomized_response(as_prior(prior), level(pml, name="pml"), alphabet)
    return _with_ratio(alphabet, level(epsilon, lift).below)


def same_pml_randomized_response(prior: PriorSet, asked: Level, letters: Alphabet | None = None) -> Mechanism:
    """Randomized response whose PML for the prior is as large as ``asked`` allows ([EX] (9)).

    e^{ε_r} = t (1-π_min) / (1 - t π_min) for t = e^ε < 1/π_min; beyond, the identity.
    """
    alphabet = letters or prior.alphabet
    single = as_prior(prior)
    alphabet.positions_in(single.alphabet, mine="mechanism", theirs="prior")
    least, t = single.least_probability, asked.below
    if len(alphabet) == 1 or t * least >= 1:
        return identity(alphabet)
    return _with_ratio(alphabet, t * (1 - least) / (1 - t * least))


def _with_ratio(alphabet: Alphabet, ratio: Fraction) -> Mechanism:
    """Randomized response in integers with P(truth) / P(another letter) at most ``ratio``."""
    size = len(alphabet)
    if size == 1:
        return identity(alphabet)
    # Rounding the even part up rounds the ratio down: the promise is kept by construction.
    other = math.ceil(_UNIT / (size - 1 + ratio))
    if other * size > _UNIT:
        # The ratio is closer to 1 than equal integers can be: one law for all letters keeps the promise.
        return Mechanism.from_kernel(CommonLawKernel(_even_law(size), _UNIT), alphabet, alphabet)
    kernel = CommonLawKernel(np.full(size, other, dtype=np.int64), _UNIT)
    return Mechanism.from_kernel(kernel, alphabet, alphabet)


def _even_law(size: int) -> Counts:
    """2^60 dealt out to ``size`` letters as evenly as integers can."""
    law = np.full(size, _UNIT // size, dtype=np.int64)
    law[: _UNIT % size] += 1
    return law


def symmetric_channel(letters: Letters, flip: object) -> Mechanism:
    """Change the letter with probability ``flip``, to each other letter evenly (rounded to even parts of 2^-60).

    >>> symmetric_channel(3, flip="1/2").matrix.tolist()
    [[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.25, 0.25, 0.5]]
    """
    alphabet = as_alphabet(letters, name="letters")
    chance = exact_fraction(flip, "flip")
    if not 0 <= chance <= 1:
        raise InvalidInput(f"flip must be a probability between 0 and 1. Got {flip!r} instead.")
    if len(alphabet) == 1:
        if chance:
            raise InvalidInput(f"flip must be 0 with a single letter: there is no other one. Got {flip!r} instead.")
        return identity(alphabet)
    other = round(chance * _UNIT / (len(alphabet) - 1))
    if chance and not other:
        raise InvalidInput(f"flip {flip!r} is too small for the denominator 2^{BITS}. Use 0 or a larger one.")
    other = min(other, _UNIT // (len(alphabet) - 1))
    if chance < 1 and other * (len(alphabet) - 1) == _UNIT:
        raise InvalidInput(f"flip {flip!r} is too close to 1 for the denominator 2^{BITS}. Use 1 or a smaller one.")
    kernel = CommonLawKernel(np.full(len(alphabet), other, dtype=np.int64), _UNIT)
    return Mechanism.from_kernel(kernel, alphabet, alphabet)


def k_singular(letters: Letters, k: int) -> Mechanism:
    """Send each letter to one of ``k`` neighbouring outcomes evenly, around a circle ([ED] Example 2).

    Doubly stochastic with entries 0 and 1/k: the optimum of a uniform prior at ε = log(N/k) ([EX] Theorem 4). Its
    denominator is k; a release needs ``.dyadic(60)`` unless k is a power of two.

    >>> k_singular(3, 2).matrix.tolist()
    [[0.5, 0.5, 0.0], [0.0, 0.5, 0.5], [0.5, 0.0, 0.5]]
    """
    alphabet = as_alphabet(letters, name="letters")
    size = len(alphabet)
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or not 1 <= k <= size:
        raise InvalidInput(f"k must be a whole number from 1 to the number of letters ({size}). Got {k!r} instead.")
    refuse_large(size, size, "Use randomized_response, which needs no matrix, or fewer letters.")
    weights = np.zeros((size, size), dtype=np.int64)
    for step in range(int(k)):
        weights[np.arange(size), (np.arange(size) + step) % size] = 1
    return Mechanism.from_kernel(DenseKernel(weights, int(k)), alphabet, alphabet)


def truncated_geometric(letters: Letters, epsilon: object = None, *, lift: object = None) -> Mechanism:
    """Return two-sided geometric noise on ordered letters, what falls outside put on the ends.

    ``epsilon`` (or ``lift`` = e^ε) is for neighbouring letters: each step away is e^ε times less likely, and no outcome
    is more than e^ε times as likely for a letter as for its neighbour, exactly. Outcomes too far away for the
    denominator 2^60 keep a least positive probability, so that nothing becomes impossible.

    >>> truncated_geometric(3, lift=2).matrix.round(4).tolist()
    [[0.6667, 0.1667, 0.1667], [0.3333, 0.3333, 0.3333], [0.1667, 0.1667, 0.6667]]
    """
    alphabet = as_alphabet(letters, name="letters")
    size = len(alphabet)
    if size == 1:
        return identity(alphabet)
    refuse_large(size, size, "Use randomized_response, which needs no matrix, or fewer letters.")
    asked = level(epsilon, lift)
    for step in range(_ROUNDINGS):
        # Rounding to integers may push neighbours apart: then a little less of a slope, and a little of the even law
        # beneath the smallest entries, until the integers themselves keep the promise. A slope of 1 always does.
        alpha = min(1.0, float(1 / asked.below) * (1 + 2.0 ** (step - 50)))
        even = size * 2.0 ** (step - BITS) if step else 0.0
        kernel = _geometric(size, alpha if step < _ROUNDINGS - 1 else 1.0, min(even, 1.0))
        if _neighbours_hold(kernel.weights, asked):
            break
    return Mechanism.from_kernel(kernel, alphabet, alphabet)


_ROUNDINGS = 40


def _geometric(size: int, alpha: float, even: float) -> DenseKernel:
    """Two-sided geometric noise of ratio ``alpha`` with a share ``even`` of the even law."""
    matrix = np.zeros((size, size))
    if alpha == 1.0:
        matrix[:, [0, -1]] = 0.5  # the limit: so much noise that everything falls outside
        return DenseKernel(round_float_rows(matrix, BITS), _UNIT)
    places = np.arange(size)
    matrix = alpha ** np.abs(places[:, None] - places[None, :]) / (1 + alpha)
    matrix[:, 1:-1] *= 1 - alpha
    matrix = np.maximum((1 - even) * matrix + even / size, 2.0**-BITS)
    return DenseKernel(round_float_rows(matrix, BITS), _UNIT)


def _neighbours_hold(weights: IntegerArray, asked: Level) -> bool:
    """Whether no outcome is more than e^ε times as likely for a letter as for its neighbour."""
    upper, lower = weights[:-1], weights[1:]
    return within(np.maximum(upper, lower), np.minimum(upper, lower), asked)


def within(high: IntegerArray, low: IntegerArray, asked: Level) -> bool:
    """Return whether no weight is more than e^ε times the other, entry by entry; two that are zero do not count."""
    possible = high > 0
    high, low = high[possible], low[possible]
    if not low.all():
        return False
    # Floats choose the pairs that may be the worst; integers decide about those.
    ratio = high / low
    close = ratio >= ratio.max() * (1 - 2.0**-50)
    most, unit = asked.below.numerator, asked.below.denominator
    pairs = zip(high[close].tolist(), low[close].tolist(), strict=True)
    return all(likelier * unit <= other * most for likelier, other in pairs)
