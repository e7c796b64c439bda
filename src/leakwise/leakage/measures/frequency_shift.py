"""How far the frequencies of released values are from those of the true ones, on average."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from leakwise.exact import float_above
from leakwise.leakage.measures.arguments import checked
from leakwise.mechanism import Mechanism
from leakwise.mechanism.mechanism import align_prior

__all__ = ["frequency_shift"]


def frequency_shift(mechanism: Mechanism, prior: Any) -> float:
    """Return how far, at most, the expected share of an outcome (πP)_j is from that of its value π_j.

    0 for a mechanism that keeps the frequencies (invariant PRAM), rounded up otherwise; infinite where an outcome is
    not a value. Computed on the exact integers, at the nominal prior of a set.

    Examples
    --------
    >>> from leakwise import Prior, randomized_response
    >>> frequency_shift(randomized_response(["no", "yes"], lift=3), Prior({"no": "3/4", "yes": "1/4"}))
    0.125
    """
    known = align_prior(prior, checked(mechanism)).nominal
    law = dict(zip(mechanism.outputs, mechanism.kernel.output_law(known.weights), strict=True))
    weights = dict(zip(mechanism.inputs, known.weights.tolist(), strict=True))
    if not law.keys() <= weights.keys():
        return math.inf
    unit = mechanism.denominator
    most = max(abs(int(law.get(label, 0)) - int(weight) * unit) for label, weight in weights.items())
    return float_above(Fraction(most, known.denominator * unit))
