"""Mixtures of lift vectors in fractions: for a lift that is exactly the least one, where no rounding is allowed.

The columns that a search in floats has found become exact vertices at the exact lift, and the simplex method in
fractions finds the best of their mixtures that is a mechanism.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

import numpy as np

from leakwise.exact.simplex import Column, best_mixture
from leakwise.optimize.worst_case.least_ratio.columns import MaskColumns
from leakwise.optimize.worst_case.least_ratio.packing import Packing
from leakwise.priors import Prior
from leakwise.types import Bools, Floats

__all__ = ["exact_lifts", "exact_matrix", "matrix_of"]

_MOST_LETTERS = 48
_MOST_COLUMNS = 400


def exact_matrix(prior: Prior, allowed: Bools, ratio: Fraction) -> tuple[list[list[Fraction]], list[int]] | None:
    """Return probabilities on a mask with largest lift at most ``ratio``, and the outputs used; None if none was found.

    For a prior of full support.
    """
    size = len(prior)
    if size > _MOST_LETTERS:
        return None
    pool = Packing(MaskColumns(allowed, prior.probabilities))
    # An output may become usable at this very lift: the floats must not be below it.
    covered = pool.cover(float(ratio) * (1 + 2.0**-50))
    if not covered.whole:
        return None
    places = np.concatenate([covered.columns, np.setdiff1d(np.arange(len(pool.outputs)), covered.columns)])
    orders = [[letter for letter in pool.letters[place].tolist() if letter < size] for place in places.tolist()]
    lifts, chosen = _vertices(orders, prior.fractions, ratio)
    weights = best_mixture(lifts, size)
    outputs = pool.outputs[places]
    return None if weights is None else matrix_of(lifts, weights, [int(outputs[k]) for k in chosen], size)


def matrix_of(
    lifts: Sequence[Column], weights: Sequence[Fraction], groups: Sequence[int], size: int
) -> tuple[list[list[Fraction]], list[int]]:
    """Return the weighted columns added up by group, and the groups that have any weight."""
    used = sorted({group for group, weight in zip(groups, weights, strict=True) if weight})
    matrix = [[Fraction(0)] * len(used) for _ in range(size)]
    for column, weight, group in zip(lifts, weights, groups, strict=True):
        if weight:
            for letter, lift in column.items():
                matrix[letter][used.index(group)] += weight * lift
    return matrix, used


def exact_lifts(prior: Prior, lifts: Floats, allowed: Bools, ratio: Fraction) -> tuple[list[Column], list[int]]:
    """Lift vectors in floats (N × R) as exact vertices at ``ratio`` on their allowed letters, with their places.

    The letters are filled in the order of their lifts; an output that cannot be used at this lift is left out.
    """
    if len(prior) > _MOST_LETTERS:
        return [], []
    orders = [
        [letter for letter in np.argsort(-lifts[:, place], kind="stable").tolist() if allowed[letter, place]]
        for place in range(lifts.shape[1])
    ]
    return _vertices(orders, prior.fractions, ratio)


def _vertices(orders: Sequence[list[int]], p: Sequence[Fraction], ratio: Fraction) -> tuple[list[Column], list[int]]:
    """The vertices of these orders, and for each its order.

    Floats do not tell letters that are full from one that is nearly: each vertex brings those with another letter last.
    """
    found: dict[tuple[int, frozenset[tuple[int, Fraction]]], Column] = {}
    later: dict[tuple[int, frozenset[tuple[int, Fraction]]], Column] = {}
    for place, order in enumerate(orders):
        if len(found) + len(later) > _MOST_COLUMNS:
            break
        column = _filled(order, p, ratio)
        if column is None:
            continue
        found[place, frozenset(column.items())] = column
        rest = order[len(column) :]
        for last in column:
            turned = _filled([*(letter for letter in column if letter != last), last, *rest], p, ratio)
            if turned is not None:
                later[place, frozenset(turned.items())] = turned
    every = {**found, **later}
    return list(every.values()), [place for place, _ in every]


def _filled(order: Iterable[int], p: Sequence[Fraction], ratio: Fraction) -> Column | None:
    """The letters filled up to ``ratio`` in this order until π·λ = 1; None where they do not suffice."""
    column: Column = {}
    left = Fraction(1)
    for letter in order:
        column[letter] = min(ratio, left / p[letter])
        left -= column[letter] * p[letter]
        if not left:
            return column
    return None
