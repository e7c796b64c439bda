"""The exponential mechanism, whose integers satisfy the level that was asked for."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from leakwise.alphabet import Alphabet
from leakwise.errors import InvalidInput
from leakwise.exact import Level, exact_fraction, last_that_holds, level, round_float_rows
from leakwise.mechanism.catalog.simple import BITS, Letters
from leakwise.mechanism.kernel import DenseKernel
from leakwise.mechanism.mechanism import Mechanism
from leakwise.types import Floats

__all__ = ["exponential"]


def exponential(
    utility: npt.ArrayLike,
    epsilon: object = None,
    *,
    lift: object = None,
    sensitivity: float | None = None,
    tight: bool = False,
    inputs: Letters | None = None,
    outputs: Letters | None = None,
) -> Mechanism:
    """Return the exponential mechanism: outcome j for letter i with probability proportional to exp(s·u_ij).

    ``epsilon`` (or ``lift`` = e^ε) is the local differential privacy that the integers satisfy. The plain version takes
    s = ε/(2Δ) with the sensitivity Δ = max_j max_{i,i'} abs(u_ij - u_i'j), computed unless given; ``tight=True`` takes
    the largest s (up to 64 times that) before ε is passed, which is never less useful. Outcomes too unlikely for the
    denominator 2^60 keep the least positive probability.

    >>> exponential([[1, 0], [0, 1]], lift=4).matrix.round(4).tolist()
    [[0.6667, 0.3333], [0.3333, 0.6667]]
    """
    scores = _scores(utility)
    asked = level(epsilon, lift)
    spread = float(np.ptp(scores, axis=0).max())
    if sensitivity is not None and not exact_fraction(sensitivity, "sensitivity") >= Fraction(spread):
        raise InvalidInput(
            f"sensitivity must be at least {spread:g}, the largest difference within a column of the utility. "
            f"Got {sensitivity!r} instead; leave it out to have it computed."
        )
    bound = math.log(asked.below) if asked.below < 2**1000 else asked.epsilon
    scale = bound / (2 * float(sensitivity or spread)) if spread else 0.0
    if not math.isfinite(64 * scale):
        raise InvalidInput(f"utility differs within its columns by too little for a float: {spread:g}. Rescale it.")
    kernel = _kernel(scores, _private_scale(scores, scale, bound, asked, search=tight))
    rows = Alphabet.numbered(scores.shape[0]) if inputs is None else inputs
    columns = Alphabet.numbered(scores.shape[1]) if outputs is None else outputs
    return Mechanism.from_kernel(kernel, rows, columns)


def _scores(utility: npt.ArrayLike) -> Floats:
    try:
        scores = np.array(utility, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"utility must be a matrix of numbers: {error}.") from error
    if scores.ndim != 2 or 0 in scores.shape or not np.isfinite(scores).all():
        raise InvalidInput("utility must be a matrix of finite numbers, one row per letter, one column per outcome.")
    with np.errstate(over="ignore"):
        if not np.isfinite(np.ptp(scores)):
            raise InvalidInput("utility must not differ by more than a float can hold. Rescale it.")
    return scores


def _log_probabilities(scores: Floats, scale: float) -> Floats:
    with np.errstate(over="ignore"):  # an exponent of -inf is a probability of zero
        exponents = scale * (scores - scores.max(axis=1, keepdims=True))
    logs: Floats = exponents - np.log(np.exp(exponents).sum(axis=1, keepdims=True))
    return logs


def _kernel(scores: Floats, scale: float) -> DenseKernel:
    rows = np.exp(_log_probabilities(scores, scale))
    return DenseKernel(round_float_rows(np.maximum(rows, 2.0**-BITS), BITS), 1 << BITS)


def _private_scale(scores: Floats, scale: float, bound: float, asked: Level, *, search: bool) -> float:
    """``scale``, or with ``search`` the largest scale before the level is passed, such that the integers satisfy it."""

    def holds(candidate: float) -> bool:
        # Where outcomes sink to the least positive integer their ratio falls again: the mechanism itself, before
        # rounding, must satisfy the level too, or the search would climb until every row says the same.
        logs = _log_probabilities(scores, candidate)
        with np.errstate(invalid="ignore"):
            ideal = float(np.ptp(logs, axis=0).max())
        return ideal <= bound + 1e-9 and asked.allows(_worst_ratio(_kernel(scores, candidate)))

    # At scale 0 all rows are the same. Where rounding to integers pushes ``scale`` over the edge, halve towards it.
    low, high = (scale, 2 * scale) if holds(scale) else (0.0, scale)
    if not scale or (low and not search):
        return low
    while low and high <= 64 * scale and holds(high):
        low, high = high, 2 * high
    return last_that_holds(holds, low, high, 60)


def _worst_ratio(kernel: DenseKernel) -> Fraction:
    largest, smallest = kernel.column_max(), kernel.column_min()
    return max(Fraction(int(high), int(low)) for high, low in zip(largest, smallest, strict=True))
