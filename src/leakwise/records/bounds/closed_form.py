"""Parity through a binary symmetric channel: the one case that is known exactly (the mathematics, section 6)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from leakwise.exact import last_that_holds
from leakwise.records.queries.problem import Problem
from leakwise.types import Floats, Indices

__all__ = ["Parity", "binary_entropy", "inverse_binary_entropy", "parity_of"]


def binary_entropy(p: float) -> float:
    """Return h(p) = -p log p - (1-p) log(1-p)."""
    return 0.0 if p <= 0 or p >= 1 else -p * math.log(p) - (1 - p) * math.log1p(-p)


def inverse_binary_entropy(h: float) -> float:
    """Return the α ≤ 1/2 with h(α) = h, rounded up."""
    if h <= 0:
        return 0.0
    if h >= math.log(2):
        return 0.5
    return last_that_holds(lambda p: binary_entropy(p) >= h, 0.5, 0.0)


@dataclass(frozen=True, eq=False)
class Parity:
    """A problem recognised as parity: Y = a ⊕ (parity of the others) ⊕ noise of probability ``flip``."""

    problem: Problem
    flip: float
    same: Indices

    def noise(self, b: float) -> float:
        """Return α: how often the adversary must be wrong about the parity of the others, from b less log max m."""
        return inverse_binary_entropy(b - math.log(2))

    def value(self, b: float) -> float:
        """Return L(b) = log 2 - h(p*α); the upper bound is Mrs. Gerber's lemma."""
        alpha = self.noise(b)
        flipped = self.flip * (1 - alpha) + (1 - self.flip) * alpha
        return math.log(2) - binary_entropy(flipped)

    def belief(self, b: float) -> Floats:
        """Return the adversary who reaches it: the record is a fair coin, the parity of the others is known up to α."""
        alpha = self.noise(b)
        return np.asarray(0.5 * np.where(self.same == self.same[0], 1 - alpha, alpha))


def parity_of(problem: Problem) -> Parity | None:
    """Recognise parity: two values, two equally large classes for each, and two mirrored output laws that they
    exchange.
    """
    rows = problem.rows
    if rows.shape != (4, 2) or problem.letters != 2 or len(set(problem.multiplicities)) != 1:
        return None
    if problem.blocks[0].stop != 2 or not np.array_equal(rows[0], rows[1][::-1]):
        return None
    others = np.array_equal(rows[2], rows[0]) and np.array_equal(rows[3], rows[1])
    swapped = np.array_equal(rows[2], rows[1]) and np.array_equal(rows[3], rows[0])
    if not (others or swapped):
        return None
    # Class k of value 1 is the same set of others as the class of value 0 with the other law.
    answer = np.array([0, 1, 0, 1] if others else [0, 1, 1, 0])
    letter = problem.letter
    return Parity(problem, float(rows.min()), (answer ^ letter).astype(np.intp))
