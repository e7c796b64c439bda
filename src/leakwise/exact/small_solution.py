"""One linear equation in whole numbers: a solution whose entries are small."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from flint import fmpz_mat

__all__ = ["small_solution"]


def small_solution(weights: Sequence[int], total: int) -> list[int] | None:
    """Return small integers x with Σ w_i x_i = total, or None where there are none.

    A reduced basis of all integer vectors, in which w·x counts so much that all but one of them have w·x = 0; then the
    nearest plane of the others (Babai). Entries are of the order of w^(1/(n-1)).

    >>> small_solution([1009, 2003, 5003], 1)
    [-116, -14, 29]
    >>> print(small_solution([4, 6], 1))
    None
    """
    size, divisor = len(weights), math.gcd(*weights)  # of none it is 0
    if total == 0:
        return [0] * size
    if not divisor or total % divisor:
        return None
    heavy = (max(map(abs, weights)) + size) << size
    rows = [[int(i == k) for k in range(size)] + [weight * heavy] for i, weight in enumerate(weights)]
    reduced = [[int(entry) for entry in row] for row in fmpz_mat(rows).lll().tolist()]
    plain = [row[:size] for row in reduced if row[size] == 0]
    (step,) = [row for row in reduced if row[size]]
    times = total // (step[size] // heavy)
    found = [times * entry for entry in step[:size]]
    return _nearest(found, plain)


def _nearest(point: list[int], basis: list[list[int]]) -> list[int]:
    """The point less the lattice vector that the nearest planes of the basis, from last to first, lead to."""
    orthogonal: list[list[Fraction]] = []
    squares: list[Fraction] = []
    for row in basis:
        direction = [Fraction(entry) for entry in row]
        for other, square in zip(orthogonal, squares, strict=True):
            share = sum((a * b for a, b in zip(row, other, strict=True)), Fraction(0)) / square
            direction = [a - share * b for a, b in zip(direction, other, strict=True)]
        orthogonal.append(direction)
        squares.append(sum((a * a for a in direction), Fraction(0)))
    for row, direction, square in reversed(list(zip(basis, orthogonal, squares, strict=True))):
        times = round(sum((a * b for a, b in zip(point, direction, strict=True)), Fraction(0)) / square)
        point = [a - times * b for a, b in zip(point, row, strict=True)]
    return point
