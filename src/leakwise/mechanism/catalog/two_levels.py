"""A mechanism that gives the outcomes of a value's own set more often, and all others alike, in integers."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from leakwise.mechanism.catalog.simple import BITS
from leakwise.mechanism.kernel import DenseKernel
from leakwise.types import Bools

__all__ = ["two_levels"]

_UNIT = 1 << BITS


def two_levels(own: Bools, ratio: Fraction) -> DenseKernel:
    """Return P(y|x) = t·c for y in the set of x and c otherwise, t at most ``ratio`` in the integers themselves.

    ``own`` is N×M and has equally many outcomes in each row. What integers leave of 2^60 is added to the first columns,
    for every value alike, which can only lower a ratio.
    """
    outcomes = own.shape[1]
    inside = int(own[0].sum())
    outside = outcomes - inside
    # Rounding the rare outcomes up rounds the ratio down: (2^60 - outside·low) / inside ≤ ratio·low.
    low = math.ceil(_UNIT / (inside * ratio + outside))
    high = (_UNIT - outside * low) // inside
    if high < low:  # the ratio is closer to 1 than different integers can be
        low = high = _UNIT // outcomes
    weights = np.where(own, np.int64(high), np.int64(low))
    left = _UNIT - inside * high - outside * low
    weights[:, : left % outcomes] += 1
    weights += left // outcomes
    return DenseKernel(weights, _UNIT)
