"""A set of priors that is seen from another prior than its estimate: one that has seen every letter."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy.typing as npt

from leakwise.alphabet import Alphabet
from leakwise.priors import Prior, PriorSet
from leakwise.proof import least_mass_prover
from leakwise.types import Bools, Floats, Indices

__all__ = ["Recentred"]


class Recentred(PriorSet):
    """The same priors, with the utility taken at another one; what is proven for it is proven for the set itself.

    >>> cake = Prior.from_counts({"a": 60, "b": 40, "c": 0}).confidence(0.1, "layer-cake")
    >>> seen = Recentred(cake, Prior({"a": 0.6, "b": 0.39, "c": 0.01}))
    >>> print(f"{seen.least_mass([1.0, 0.0, 0.0]):.3f} {seen.nominal.probabilities[2]:.3f}")
    0.489 0.010
    """

    def __init__(self, inner: PriorSet, nominal: Prior) -> None:
        self.inner, self.convex = inner, inner.convex
        self._nominal, self._prover = nominal, least_mass_prover(inner)

    @property
    def alphabet(self) -> Alphabet:
        return self.inner.alphabet

    @property
    def nominal(self) -> Prior:
        return self._nominal

    @property
    def failure(self) -> float:
        return self.inner.failure

    @property
    def support(self) -> Bools:
        return self.inner.support

    def least_mass(self, columns: npt.ArrayLike) -> Floats:
        return self.inner.least_mass(columns)

    def exact_least_mass(self, column: Sequence[int]) -> Fraction:
        return self._prover([int(value) for value in column])  # the checker's own word, which decides in the end

    def reordered(self, order: Indices) -> Recentred:
        return Recentred(self.inner.reordered(order), self.nominal.reordered(order))
