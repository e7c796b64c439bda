"""What is asked of an aggregate: how many records are unknown, how much noise, with what probability."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from leakwise.errors import InvalidInput
from leakwise.exact import exact_fraction, level
from leakwise.mechanism.catalog import BITS

__all__ = ["read_delta", "read_noise", "read_unknown"]

MOST_RECORDS = 10**9


def read_unknown(unknown: object, name: str = "unknown") -> int:
    """Return the number of unknown records, with the one that is asked about."""
    if isinstance(unknown, (bool, np.bool_)) or not isinstance(unknown, (int, np.integer)):
        raise InvalidInput(f"{name} must be a whole number of records. Got {unknown!r} instead.")
    if not 1 <= unknown <= MOST_RECORDS:
        raise InvalidInput(
            f"{name} must be from 1 to {MOST_RECORDS:,}: it counts the record that is asked about, too. "
            f"Got {unknown!r} instead."
        )
    return int(unknown)


def read_noise(noise: object, unit: Fraction = Fraction(1)) -> tuple[float | None, Fraction]:
    """Return the ε of the noise, and its ratio α ≥ e^{-ε} for a step of ``unit``, over 2^60; no noise is 0.

    The ratio is rounded up: never less noise than asked for.

    >>> read_noise(1)[1] > Fraction("0.3678794411714423215"), read_noise(None)
    (True, (None, Fraction(0, 1)))
    """
    if noise is None:
        return None, Fraction(0)
    exponent = exact_fraction(noise, "noise")
    if exponent <= 0:
        raise InvalidInput(
            f"noise must be the ε of two-sided geometric noise, above 0 (less is more noise), or None for no noise. "
            f"Got {noise!r} instead."
        )
    ratio = Fraction(math.ceil((1 << BITS) / level(exponent * unit, name="noise").below), 1 << BITS)
    if ratio >= 1:
        raise InvalidInput(f"noise {noise!r} is so small an ε that its steps are below 2^-{BITS}. Use a larger one.")
    return float(exponent), ratio


def read_delta(delta: object) -> Fraction:
    """Return a probability over outcomes."""
    chance = exact_fraction(delta, "delta")
    if not 0 <= chance < 1:
        raise InvalidInput(f"delta must be a probability below 1, 0 for every outcome. Got {delta!r} instead.")
    return chance
