"""The named queries: sums over the records, at any number of records."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from leakwise.errors import InvalidInput
from leakwise.records.queries.query import Query

__all__ = ["count", "modular_sum", "pairs", "parity", "weighted_sum"]


def _size(name: str, value: object, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise InvalidInput(f"{name} is {value!r}; expected a whole number of at least {least}.")
    return int(value)


# Functions of the module, so that queries and their channels can be pickled.


def _sum_itself(total: int) -> int:
    return total


def _pairs_of(total: int) -> int:
    return total * (total - 1) // 2


def modular_sum(n: int, modulus: int, alphabet: int = 2) -> Query:
    """Return Σ x_i mod ``modulus`` of n records with values 0…alphabet-1.

    >>> modular_sum(1000, 3).answers
    (0, 1, 2)
    """
    n, m, size = _size("n", n, 1), _size("modulus", modulus, 2), _size("alphabet", alphabet, 2)
    name = f"sum mod {m} of {n} records"
    weights = [tuple(range(size))] * n
    return Query.from_sum(weights, modulus=m, answer=_sum_itself, alphabets=[size] * n, name=name)


def parity(n: int) -> Query:
    """Return the parity of n bits.

    >>> parity(4).value((1, 0, 1, 1))
    1
    """
    query = modular_sum(n, 2)
    query.name = f"parity of {n} bits"
    return query


def count(n: int) -> Query:
    """Return how many of n bits are one."""
    n = _size("n", n, 1)
    return Query.from_sum([(0, 1)] * n, modulus=None, answer=_sum_itself, alphabets=[2] * n, name=f"count of {n} bits")


def pairs(n: int) -> Query:
    """Return Σ_{i<j} x_i x_j of n bits: how many pairs are both one ([PR] 4.1.1)."""
    n = _size("n", n, 1)
    return Query.from_sum([(0, 1)] * n, modulus=None, answer=_pairs_of, alphabets=[2] * n, name=f"pairs of {n} bits")


def weighted_sum(weights: Sequence[int], modulus: int | None = None, alphabet: int = 2) -> Query:
    """Return Σ w_i x_i of records with values 0…alphabet-1, perhaps modulo ``modulus``.

    >>> weighted_sum([1, 2, 4]).answers
    (0, 1, 2, 3, 4, 5, 6, 7)
    """
    size = _size("alphabet", alphabet, 2)
    m = None if modulus is None else _size("modulus", modulus, 2)
    w = []
    for k, value in enumerate(weights):
        if isinstance(value, bool) or value != int(value):
            raise InvalidInput(f"weights[{k}] is {value!r}; expected a whole number (scale the weights if need be).")
        w.append(int(value))
    if not w:
        raise InvalidInput("weights is empty; expected one weight for each record.")
    text = f" mod {m}" if m else ""
    return Query.from_sum(
        [tuple(v * x for x in range(size)) for v in w],
        modulus=m,
        answer=_sum_itself,
        alphabets=[size] * len(w),
        name=f"weighted sum{text} of {len(w)} records",
    )
