"""The extreme columns of ε-PML, exact: [EX] Algorithm 1 on fractions."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np

from leakwise.errors import InvalidInput
from leakwise.exact import level
from leakwise.optimize.pricing.vertex_list import vertex_count_bound
from leakwise.priors import as_prior
from leakwise.types import Array

__all__ = ["extreme_columns"]

_MOST = 100_000


def extreme_columns(prior: Any, epsilon: object = None, *, lift: object = None) -> Array:
    """Return the extreme columns of ε-PML at a prior: the lifts of which every allowed outcome's are a mixture.

    They are the vertices of {0 ≤ v ≤ e^ε, π·v = 1}: all entries 0 or e^ε, but for at most one in between ([EX] Lemma
    1). Some best mechanism for a convex utility has only outcomes that are multiples of them.

    Parameters
    ----------
    prior
        A single prior, every value of which can occur.
    epsilon, lift
        The limit: ε in nats, for which e^ε is replaced by a fraction a hair below it, or the factor e^ε itself, exact.

    Returns
    -------
    Array of Fractions, a row for each value and a column for each extreme column, in lexicographic order.

    >>> for row in extreme_columns(["1/2", "1/4", "1/4"], lift="3/2"):
    ...     print(*row)
    1/2 5/4 5/4 3/2 3/2
    3/2 0 3/2 0 1
    3/2 3/2 0 1 0
    """
    known, asked = as_prior(prior), level(epsilon, lift)
    if not known.support.all():
        raise InvalidInput("prior must give every value a positive probability. Leave out the values that never occur.")
    size, region, top = len(known), known.region(lift=asked.below), asked.below
    if (count := vertex_count_bound(size, region)) > _MOST:
        raise InvalidInput(
            f"extreme_columns would list up to {count:,} columns for {size} values at {asked.words}, more than "
            f"{_MOST:,}. lw.design finds the best mechanism without the list."
        )
    p, found = known.fractions, set()
    for zeros in range(region):
        for support in itertools.combinations(range(size), size - zeros):
            mass = sum(p[i] for i in support)
            for free in support:
                rest = (1 - top * (mass - p[free])) / p[free]
                if 0 <= rest <= top:
                    column = [Fraction(0)] * size
                    for i in support:
                        column[i] = top
                    column[free] = rest
                    found.add(tuple(column))
    return np.array(sorted(found), dtype=np.object_).T
