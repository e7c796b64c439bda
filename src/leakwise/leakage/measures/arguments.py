"""What the measures share: checked arguments, exact columns, and how far floats can be off.

A measure has two ways to its number. Up to SMALL entries it works on the integers and rounds once, outwards. Beyond, it
works in floats and adds a proven bound on their error. Both give a number on the safe side of the truth.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from leakwise.errors import InvalidInput
from leakwise.exact import IntegerArray, exact_fraction
from leakwise.mechanism import Mechanism, StratifiedMechanism
from leakwise.mechanism.mechanism import align_prior
from leakwise.priors import Prior, as_prior
from leakwise.types import Array

__all__ = ["SMALL", "TINY", "ULP", "checked", "checked_delta", "is_small", "law", "single_prior", "wide"]


SMALL = 20_000
"""Up to so many entries the integers themselves are fast enough."""
TINY = 1e-280
"""Below this, products of a prior and a kernel may be subnormal and lose digits."""
ULP = 2.0**-52
"""Twice the largest relative error of one rounding: bounds counted in it have room to spare."""


def checked(mechanism: Any, name: str = "mechanism") -> Mechanism:
    """Return the mechanism, or an error that says what came instead."""
    if not isinstance(mechanism, Mechanism):
        way_out = (
            "the mechanism of one stratum is m[stratum], and lw.audit and lw.certify take all of them."
            if isinstance(mechanism, StratifiedMechanism)
            else "lw.Mechanism(matrix) makes one and checks that its rows are probabilities."
        )
        raise InvalidInput(f"{name} must be a lw.Mechanism. Got {type(mechanism).__name__} instead; {way_out}")
    return mechanism


def single_prior(prior: Any, mechanism: Mechanism) -> Prior:
    """Return one prior in the order of the mechanism's letters; a set of priors is an error that says so."""
    return as_prior(align_prior(as_prior(prior), mechanism))


def checked_delta(delta: Any) -> Fraction:
    """Return a probability, exact."""
    value = exact_fraction(delta, "delta")
    if not 0 <= value <= 1:
        raise InvalidInput(f"delta must be a probability between 0 and 1. Got {delta!r} instead.")
    return value


def is_small(mechanism: Mechanism) -> bool:
    """Return whether to work on the integers."""
    rows, columns = mechanism.shape
    return rows * columns <= SMALL


def wide(weights: IntegerArray) -> Array:
    """Return integers that no product overflows."""
    return weights.astype(np.object_)


def law(mechanism: Mechanism, prior: Prior) -> Array:
    """Return the output law as integers over both denominators multiplied."""
    masses = mechanism.kernel.output_law(prior.weights)
    exact = np.empty(len(masses), dtype=np.object_)
    exact[:] = masses
    return exact
