"""One record's leakage problem after the class reduction: few variables, whatever the number of records."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from leakwise.exact import exp_upper, log_upper
from leakwise.types import Floats, Indices

__all__ = ["EPS", "Problem", "entropy_of", "information", "joint_law"]

EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class Problem:
    r"""Maximise the information about one record over what an adversary may believe.

    .. math:: \max_u I(a; Y) \quad\text{s.t.}\quad H(u) + \sum_k u_k \log m_k \ge b,\; u \in \Delta

    where k runs over the pairs (value a of the record, class of the other records), sorted by value. Inside a
    class all datasets have the same output law, so that the uniform choice has the largest entropy.

    Attributes
    ----------
    rows
        Output law of each pair, K×M.
    letter
        The value of the record in each pair, 0…A-1, non-decreasing.
    multiplicities
        How many datasets of the other records belong to each pair, exact.
    """

    rows: Floats
    letter: Indices
    multiplicities: tuple[int, ...]

    @cached_property
    def letters(self) -> int:
        """How many values the record has."""
        return int(self.letter[-1]) + 1

    @cached_property
    def blocks(self) -> tuple[slice, ...]:
        """The pairs of each value."""
        ends = np.searchsorted(self.letter, np.arange(self.letters + 1))
        return tuple(slice(int(i), int(j)) for i, j in itertools.pairwise(ends))

    @cached_property
    def total(self) -> int:
        """How many datasets there are."""
        return sum(self.multiplicities)

    @cached_property
    def largest(self) -> int:
        """The largest class; logarithms are taken relative to it, because they are astronomically large."""
        return max(self.multiplicities)

    @cached_property
    def log_sizes(self) -> Floats:
        """log(m_k / max m), rounded up: a larger class only widens what the adversary may do."""
        return np.array([log_upper(Fraction(m, self.largest)) for m in self.multiplicities])

    @cached_property
    def room(self) -> float:
        """The largest entropy, less log max m: log(|X| / max m)."""
        return log_upper(Fraction(self.total, self.largest))

    @cached_property
    def uniform(self) -> Floats:
        """The belief of someone who knows nothing: all datasets alike."""
        return np.array([float(Fraction(m, self.total)) for m in self.multiplicities])

    @cached_property
    def max_entropy(self) -> float:
        """log |X|, rounded up."""
        return log_upper(Fraction(self.total))

    def shifted(self, entropy: float) -> float:
        """Return b - log max m, rounded down; ``room`` and no less where all datasets must be alike."""
        if entropy >= self.max_entropy:
            return self.room
        # log max m may be 700 where the difference is 0.3: -log(m e^-b) has all its digits.
        weight = self.largest * exp_upper(-Fraction(entropy), 128 + self.largest.bit_length())
        return min(-log_upper(weight), math.nextafter(self.room, 0.0))


def joint_law(problem: Problem, u: Floats) -> Floats:
    """Return P(a, y) for each belief of a batch: B×A×M."""
    return np.stack([u[:, block] @ problem.rows[block] for block in problem.blocks], axis=1)


def entropy_of(u: Floats, log_sizes: Floats) -> Floats:
    """Return H(u) + Σ u log m for each belief of a batch."""
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(u > 0, u * (log_sizes - np.log(u)), 0.0)
    return np.asarray(terms.sum(axis=-1))


def information(problem: Problem, u: Floats) -> Floats:
    """Return I(a; Y) for each belief of a batch."""
    joint = joint_law(problem, u)
    letters = joint.sum(axis=2, keepdims=True)
    outputs = joint.sum(axis=1, keepdims=True)
    seen = joint > 1e-290  # what is less adds nothing, and its parts cannot be divided by
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        terms = np.where(seen, joint * np.log(joint / letters / outputs), 0.0)
    return np.asarray(terms.sum(axis=(1, 2)))
