"""Several sets of priors as one: what keeps a limit for it keeps the limit for each of them."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from leakwise.alphabet import Alphabet
from leakwise.priors import Prior, PriorSet
from leakwise.proof import least_mass_prover
from leakwise.types import Bools, Floats, Indices

__all__ = ["Together"]


class Together(PriorSet):
    """The union of sets of priors, seen from the estimate of the first.

    >>> one, other = (Prior.from_counts(counts).confidence(0.1, "layer-cake") for counts in ([600, 400], [580, 420]))
    >>> print(f"{Together([one, other]).least_mass([1.0, 0.0]):.3f} {one.least_mass([1.0, 0.0]):.3f}")
    0.554 0.574
    """

    convex = False

    def __init__(self, sets: Sequence[PriorSet]) -> None:
        self.sets, self._provers = list(sets), [least_mass_prover(one) for one in sets]

    @property
    def alphabet(self) -> Alphabet:
        return self.sets[0].alphabet

    @property
    def nominal(self) -> Prior:
        return self.sets[0].nominal

    @property
    def failure(self) -> float:
        return sum(one.failure for one in self.sets)

    @property
    def support(self) -> Bools:
        some: Bools = np.logical_or.reduce([one.support for one in self.sets])
        return some

    def least_mass(self, columns: npt.ArrayLike) -> Floats:
        least: Floats = np.minimum.reduce([one.least_mass(columns) for one in self.sets])
        return least

    def exact_least_mass(self, column: Sequence[int]) -> Fraction:
        values = [int(value) for value in column]
        return min(prove(values) for prove in self._provers)  # the checker's own word, which decides in the end

    def reordered(self, order: Indices) -> Together:
        return Together([one.reordered(order) for one in self.sets])
