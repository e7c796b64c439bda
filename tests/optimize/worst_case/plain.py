"""Least leakage on a mask the plain way, with nothing of the code under test: linear program (10) and bisection.

In fractions: the tolerances of a solver in floats move the least ratio by more than what is tested here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from flint import fmpq


def feasible(allowed: np.ndarray, p: Sequence[Fraction], ratio: Fraction) -> bool:
    """[WC] (10): is there a mechanism on the mask whose largest lift is at most ``ratio``?

    Asked as how much probability fits into the rows, so that nothing is a feasible start for the simplex method:
    max Σ v_ij  s.t.  v_ij ≤ m_j,  m_j ≤ c Σ_i π_i v_ij,  Σ_j v_ij ≤ 1.
    """
    size, count = allowed.shape
    pairs = [(int(i), int(j)) for i, j in np.argwhere(allowed)]
    width = len(pairs) + count
    rows: list[dict[int, fmpq]] = []
    for k, (_, j) in enumerate(pairs):
        rows.append({k: fmpq(1), len(pairs) + j: fmpq(-1)})
    for output in range(count):
        row = {k: fmpq(-p[i].numerator, p[i].denominator) for k, (i, j) in enumerate(pairs) if j == output}
        rows.append({**row, len(pairs) + output: fmpq(ratio.denominator, ratio.numerator)})
    right = [fmpq(0)] * len(rows) + [fmpq(1)] * size
    for letter in range(size):
        rows.append({k: fmpq(1) for k, (i, _) in enumerate(pairs) if i == letter})
    return _largest(rows, right, {k: fmpq(1) for k in range(len(pairs))}, width) == size


def _largest(rows: list[dict[int, fmpq]], right: list[fmpq], costs: dict[int, fmpq], width: int) -> fmpq:
    """max costs·x  s.t.  rows·x ≤ right, x ≥ 0, for right ≥ 0: the simplex method with Bland's rule, which ends."""
    basis = list(range(width, width + len(rows)))
    rows = [{**row, width + k: fmpq(1)} for k, row in enumerate(rows)]
    costs, value = dict(costs), fmpq(0)
    while True:
        enters = min((column for column, cost in costs.items() if cost > 0), default=None)
        if enters is None:
            return value
        ratios = [(right[k] / row[enters], basis[k], k) for k, row in enumerate(rows) if row.get(enters, 0) > 0]
        leaves = min(ratios)[2]
        lead = rows[leaves][enters]
        pivot = {column: entry / lead for column, entry in rows[leaves].items()}
        rows[leaves], right[leaves], basis[leaves] = pivot, right[leaves] / lead, enters
        for k, row in enumerate(rows):
            if k != leaves and enters in row:
                factor = row[enters]
                _less(row, factor, pivot)
                right[k] -= factor * right[leaves]
        value += costs[enters] * right[leaves]
        _less(costs, costs[enters], pivot)


def _less(row: dict[int, fmpq], factor: fmpq, pivot: dict[int, fmpq]) -> None:
    for column, entry in pivot.items():
        changed = row.get(column, 0) - factor * entry
        if changed:
            row[column] = changed
        else:
            row.pop(column, None)


def bisected(allowed: np.ndarray, p: Sequence[Fraction], accuracy: float = 2e-10) -> float:
    """The least ε by bisection on the ratio: at most ``accuracy`` too high."""
    low, high = Fraction(1), Fraction(2) ** math.ceil(-math.log2(min(p)))
    if feasible(allowed, p, low):
        return 0.0
    while high - low > accuracy * low:
        middle = (low + high) / 2
        low, high = (low, middle) if feasible(allowed, p, middle) else (middle, high)
    return math.log(high)
