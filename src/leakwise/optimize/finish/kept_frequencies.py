"""Integers over 2^60 with πP = π, exactly where the weights of the prior and the zeros of the mechanism allow it.

Σ_i w_i P_ij = w_j 2^60 asks for whole numbers. A column is put right by moving units between it and others within
rows where both are possible: rows stay exact, zeros stay zeros, and the last column is right when all others are.
Moving x_i units changes the sum by Σ w_i x_i, and small x with any such sum are found by lattice reduction. Where the
weights are too large for that (two values with 50-bit weights: the moves are then too large), or zeros leave too few
rows, πP misses π by less than 2^-59. Both are returned: ``kept_design`` takes the exact ones where they cost nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from leakwise.exact import small_solution
from leakwise.mechanism.catalog import BITS
from leakwise.optimize.finish.integers import Integers
from leakwise.priors import Prior
from leakwise.types import Floats

__all__ = ["kept_integers", "miss"]

_UNIT = 1 << BITS
_ROWS = 10  # more rows than that make the moves hardly smaller


def miss(matrix: Integers, prior: Prior) -> Fraction:
    """Return the largest |(πP)_j - π_j|, exact."""
    sums = prior.weights.astype(np.object_) @ matrix
    most = max(
        abs(int(found) - int(weight) * _UNIT) for found, weight in zip(sums, prior.weights.tolist(), strict=True)
    )
    return Fraction(most, prior.denominator * _UNIT)


def kept_integers(lifts: Floats, prior: Prior, inside: Callable[[Integers], bool]) -> list[Integers]:
    """Return integers close to the lifts that are inside: with πP = π exactly, or else as nearly as units allow."""
    p = prior.probabilities
    # What is far below the least probability that a limit gives is a zero of the solver.
    floats = np.where(lifts < 2.0**-40, 0.0, lifts) * p
    matrix = np.rint(np.ldexp(floats, BITS)).astype(np.int64).astype(np.object_)
    for row in matrix:
        row[int(np.argmax(row))] += _UNIT - int(row.sum())
    near = _moved(matrix, prior, exact=False)
    found = [matrix] if near is None else [_moved(near, prior, exact=True), near, matrix]
    return [one for one in found if one is not None and one.min() >= 0 and inside(one)]


def _moved(start: Integers, prior: Prior, *, exact: bool) -> Integers | None:
    """Columns put right one after the other, those with most zeros first; None where no move does it.

    In each row a column exchanges units with the largest of those that come after it.
    """
    matrix = start.copy()
    weights = [int(weight) for weight in prior.weights.tolist()]
    filled = (matrix > 0).sum(axis=0).tolist()
    order = sorted(range(len(weights)), key=lambda place: (filled[place], weights[place], place))
    for number, column in enumerate(order[:-1]):
        needed = weights[column] * _UNIT - sum(w * int(v) for w, v in zip(weights, matrix[:, column], strict=True))
        if not needed:
            continue
        later = np.array(order[number + 1 :])
        partners = later[matrix[:, later].argmax(axis=1)]
        room = np.minimum(matrix[:, column], matrix[np.arange(len(weights)), partners])
        rows = sorted((row for row in range(len(weights)) if room[row] > 0), key=lambda row: -int(room[row]))
        moves = _exactly(weights, rows, needed) if exact else _nearly(weights, rows, needed)
        if moves is None:
            return None
        for row, units in moves.items():
            matrix[row, column] += units
            matrix[row, partners[row]] -= units
    return matrix


def _exactly(weights: list[int], rows: list[int], needed: int) -> dict[int, int] | None:
    taken, divisor = rows[:_ROWS], math.gcd(*(weights[row] for row in rows[:_ROWS]))
    for row in rows[_ROWS:]:
        if divisor and needed % divisor == 0:
            break
        if math.gcd(divisor, weights[row]) < divisor:
            taken, divisor = [*taken, row], math.gcd(divisor, weights[row])
    found = small_solution([weights[row] for row in taken], needed)
    return None if found is None else dict(zip(taken, found, strict=True))


def _nearly(weights: list[int], rows: list[int], needed: int) -> dict[int, int]:
    """The same number of units in every row, then single ones where they bring the sum nearer."""
    base = round(Fraction(needed, sum(weights[row] for row in rows))) if rows else 0
    needed -= base * sum(weights[row] for row in rows)
    moves = {}
    for row in sorted(rows, key=lambda row: -weights[row]):
        unit = max(-1, min(1, round(Fraction(needed, weights[row]))))
        moves[row] = base + unit
        needed -= unit * weights[row]
    return moves
