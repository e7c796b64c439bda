"""Random secrets that are hard on arithmetic: tiny masses, equal masses, borders of regions, sparse mechanisms."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

import leakwise as lw

__all__ = ["letters", "random_level", "random_mechanism", "random_prior"]

Generator = np.random.Generator


def letters(generator: Generator, most: int = 50) -> int:
    """How many: log-uniform from 2."""
    return int(2 * (most / 2 + 0.5) ** generator.random())


def random_prior(generator: Generator, size: int) -> lw.Prior:
    """Even, smooth, spiky, from counts, or with masses over 300 orders of magnitude."""
    kind = generator.integers(6)
    if kind == 0:
        return lw.Prior.uniform(size)
    if kind == 1:
        return lw.Prior.from_counts(generator.integers(0, 6, size) + (np.arange(size) == 0))
    if kind == 2:
        weights = 10.0 ** -generator.uniform(0, 300, size)
        return lw.Prior(weights / weights.sum())
    if kind == 3:
        weights = 10.0 ** -generator.uniform(0, 9, size)
        return lw.Prior(weights / weights.sum())
    weights = np.maximum(generator.dirichlet(np.full(size, generator.choice([0.3, 1.0, 10.0]))), 1e-15)
    return lw.Prior(weights / weights.sum())


def random_mechanism(generator: Generator, rows: int, columns: int) -> lw.Mechanism:
    """Dense or sparse floats, small fractions, rows that are equal or nearly so."""
    kind = generator.integers(5)
    if kind == 0:
        weights = generator.integers(0, 4, (rows, columns))
        weights[np.arange(rows), generator.integers(0, columns, rows)] += 1
        return lw.Mechanism([[Fraction(int(w), int(row.sum())) for w in row] for row in weights])
    matrix = generator.dirichlet(np.full(columns, generator.choice([0.05, 0.5, 1.0, 20.0])), rows)
    if kind == 1:
        matrix[:] = matrix[0] * (1 + 1e-13 * generator.standard_normal((rows, columns)))
    elif kind == 2:
        matrix = np.where(generator.random((rows, columns)) < 0.5, matrix, 0.0)
        matrix[np.arange(rows), generator.integers(0, columns, rows)] += 0.1
    elif kind == 3:
        matrix[generator.integers(rows)] = matrix[generator.integers(rows)]
    matrix = np.where(matrix < 2.0**-50, 0.0, matrix)
    return lw.Mechanism(matrix / matrix.sum(axis=1, keepdims=True))


def random_level(generator: Generator, prior: lw.Prior) -> dict[str, object]:
    """ε or a lift: anywhere, tiny, or at the border of a privacy region, exactly or off by a hair."""
    kind = generator.integers(5)
    largest = min(prior.epsilon_max, 30.0)
    if kind == 0:
        return {"epsilon": float(10.0 ** -generator.uniform(3, 12))}
    if kind in (1, 2):
        order = sorted(prior.fractions, reverse=True)
        mass = sum(order[: int(generator.integers(1, len(order) + 1))])
        border = 1 / mass
        if kind == 2:
            border *= 1 + Fraction(int(generator.integers(-3, 4)), 2**52)
        if 1 < border < Fraction(math.exp(30)):
            return {"lift": border}
    return {"epsilon": float(generator.uniform(0.01, max(0.02, largest * 1.05)))}
