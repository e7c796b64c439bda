"""Sets of positive vectors of which only lower bounds are needed: products, and fewer vectors that lie below all.

A message of a tree is a vector for each choice of outcomes below it. What is asked is the least value of a sum that is
linear in it with positive coefficients: a vector that lies nowhere above another one serves for both. So a set may be
made smaller by replacing several vectors by their minimum, entry by entry, and no bound becomes wrong by that.
"""

from __future__ import annotations

import numpy as np

from leakwise.types import Bools, Floats

__all__ = ["below_all", "possible", "products"]

_LEAST = 1e-300


def below_all(vectors: Floats, most: int, weights: Floats) -> Floats:
    """Return at most so many vectors, such that every one of the set has one that lies nowhere above it.

    Kept first is the one of least weighted sum, then in turn the one that would cost most: by how much another one
    would have to be lowered for it.
    """
    if len(vectors) <= 1:
        return vectors
    kept = [int((vectors @ weights).argmin())]
    cost = _lowered(vectors[kept[0]], vectors, weights)
    served = np.zeros(len(vectors), dtype=np.intp)
    while len(kept) < most:
        place = int(cost.argmax())
        if cost[place] <= 1e-12:
            break
        own = _lowered(vectors[place], vectors, weights)
        better = own < cost
        cost[better], served[better] = own[better], len(kept)
        kept.append(place)
    found = vectors[kept]
    np.minimum.at(found, served, vectors)
    return found


def _lowered(vector: Floats, vectors: Floats, weights: Floats) -> Floats:
    """The logarithm of the share that is lost of a weighted sum when a vector is lowered to each of the others."""
    whole = max(float(vector @ weights), _LEAST)
    lost: Floats = np.log(whole) - np.log(np.maximum(np.minimum(vector, vectors) @ weights, _LEAST))
    return lost


def products(one: Floats, two: Floats) -> Floats:
    """Return all products of a vector of the one and a vector of the other, entry by entry."""
    found: Floats = (one[:, None, :] * two[None, :, :]).reshape(-1, one.shape[1])
    return found


def possible(vectors: Floats, others: Floats | None, most: float) -> Bools:
    """Return which vectors have a scalar product of at most ``most`` with one of the others."""
    if others is None:
        return np.ones(len(vectors), dtype=np.bool_)
    least = np.full(len(vectors), np.inf)
    for other in others:
        np.minimum(least, vectors @ other, out=least)
    found: Bools = least <= most
    return found
