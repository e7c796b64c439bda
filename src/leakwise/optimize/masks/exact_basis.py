"""A cover solved in fractions: for a lift that is exactly the least one, where no rounding is allowed."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from leakwise.optimize.masks.columns import MaskColumns
from leakwise.optimize.masks.mask import Mask
from leakwise.optimize.masks.packing import Packing
from leakwise.priors import Prior

__all__ = ["exact_lifts", "exact_matrix", "mixture"]

_MOST_LETTERS = 48


def exact_matrix(prior: Prior, mask: Mask, ratio: Fraction) -> tuple[list[list[Fraction]], list[int]] | None:
    """Probabilities on the mask with largest lift at most ``ratio``, and the outputs used; None if none was found."""
    size = len(prior)
    if size > _MOST_LETTERS or not prior.support.all():
        return None
    columns = MaskColumns(mask.allowed, prior.probabilities)
    pool = Packing(columns)
    covered = pool.cover(float(ratio))
    if not covered.whole:
        return None
    p = prior.fractions
    lifts: list[dict[int, Fraction]] = []
    for place in covered.columns.tolist():
        left = Fraction(1)
        column: dict[int, Fraction] = {}
        for letter in pool.letters[place].tolist():
            if letter == size or left <= 0:
                break
            column[letter] = min(ratio, left / p[letter])
            left -= column[letter] * p[letter]
        if left > 0:
            return None  # the output cannot be used at this lift
        lifts.append(column)
    weights = mixture(lifts, size)
    if weights is None:
        return None
    outputs = sorted({int(pool.outputs[place]) for place, w in zip(covered.columns, weights, strict=True) if w})
    matrix = [[Fraction(0)] * len(outputs) for _ in range(size)]
    for place, weight, column in zip(covered.columns.tolist(), weights, lifts, strict=True):
        for letter, lift in column.items():
            if weight and lift:
                matrix[letter][outputs.index(int(pool.outputs[place]))] += weight * lift
    return matrix, outputs


def exact_lifts(prior: Prior, lifts: npt.NDArray[np.float64], ratio: Fraction) -> list[dict[int, Fraction]] | None:
    """Vertices in floats (N × R) as exact ones at ``ratio``: zero, the ratio itself, and one letter that fills up."""
    size = len(prior)
    if size > _MOST_LETTERS:
        return None
    found: list[dict[int, Fraction]] = []
    for column in lifts.T.tolist():
        entries = {letter: ratio for letter, lift in enumerate(column) if lift > float(ratio) * (1 - 1e-9)}
        between = [
            letter for letter, lift in enumerate(column) if 1e-9 * float(ratio) < lift <= float(ratio) * (1 - 1e-9)
        ]
        left = 1 - sum((lift * prior.fractions[letter] for letter, lift in entries.items()), Fraction(0))
        if len(between) > 1 or left < 0 or (left > 0 and not between):
            return None
        if left > 0:
            entries[between[0]] = left / prior.fractions[between[0]]
        found.append(entries)
    return found


def mixture(lifts: list[dict[int, Fraction]], size: int) -> list[Fraction] | None:
    """Weights ≥ 0 with Σ ρ λ = 1 in every letter, exactly; None where there are none for these columns."""
    weights = _solved([[column.get(row, Fraction(0)) for column in lifts] for row in range(size)], len(lifts))
    return None if weights is None or min(weights, default=Fraction(0)) < 0 else weights


def _solved(rows: list[list[Fraction]], unknowns: int) -> list[Fraction] | None:
    """x with rows·x = 1, free unknowns zero, by elimination; None where it has no solution."""
    table = [[*row, Fraction(1)] for row in rows]
    found: list[tuple[int, int]] = []
    for unknown in range(unknowns):
        start = len(found)
        best = min(
            (row for row in range(start, len(table)) if table[row][unknown]),
            key=lambda row: table[row][unknown].denominator,
            default=None,
        )
        if best is None:
            continue
        table[start], table[best] = table[best], table[start]
        lead = table[start][unknown]
        table[start] = [value / lead for value in table[start]]
        for row in range(len(table)):
            factor = table[row][unknown]
            if row != start and factor:
                table[row] = [a - factor * b if b else a for a, b in zip(table[row], table[start], strict=True)]
        found.append((start, unknown))
    if any(row[-1] for row in table[len(found) :]):
        return None
    x = [Fraction(0)] * unknowns
    for row, unknown in found:
        x[unknown] = table[row][-1]
    return x
