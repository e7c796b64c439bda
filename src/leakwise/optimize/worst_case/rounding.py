"""Probabilities as integers that leak no more than they did, however unlikely an output is."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from leakwise.types import Floats

__all__ = ["DUST", "round_columns"]

# An output that no letter gives with more than this is dust of the linear program, and left out.
DUST = 2.0**-40


def round_columns(matrix: Floats, bits: int) -> npt.NDArray[np.int64]:
    """Return rows of floats as integers over 2^bits, zeros kept: the largest entries of a column down, all others up.

    So the largest lift of a column does not grow, even where its integers are small. What a row then misses goes to its
    largest entry, where it matters least.
    """
    full = matrix / matrix.sum(axis=1, keepdims=True)
    scaled = np.ldexp(full, bits)
    top = np.floor(scaled.max(axis=0))
    at_top = scaled >= scaled.max(axis=0) * (1 - 1e-11)
    rounded = np.where(at_top & (full > 0), top, np.minimum(np.ceil(scaled), top))
    weights: npt.NDArray[np.int64] = np.asarray(rounded, dtype=np.int64)
    rows = np.arange(len(weights))
    weights[rows, weights.argmax(axis=1)] += (1 << bits) - weights.sum(axis=1)
    return weights
