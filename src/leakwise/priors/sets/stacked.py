"""Sets of priors known by a lower bound on every set of letters, stacked into a lower bound on every column."""

from __future__ import annotations

import itertools
from abc import abstractmethod
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from leakwise.errors import InvalidInput
from leakwise.priors.binomial import lower_bounds
from leakwise.priors.prior import Prior
from leakwise.priors.sample import log_subsets_upper, log_up
from leakwise.priors.sets.around_estimate import Around, as_matrix, descending, lowered
from leakwise.types import Counts, Floats, Indices

__all__ = ["MOST_ROWS", "SetBounds", "Stacked"]

MOST_ROWS = 1 << 52  # more cannot be told apart in floats, and no table has them


class Stacked(Around):
    """All priors that give every set of letters at least a bound of its own.

    A column is a stack of its level sets, v = Σ_k (v_(k) - v_(k+1)) 1_{A_k}, so its mass is bounded below by the same
    stack of bounds. ``least_mass`` is a lower bound on the least mass over the set; it need not be attained.
    """

    convex = False  # its least mass is a bound that need not be attained
    log_level: float

    def __init__(self, nominal: Prior, failure: object, method: str | None) -> None:
        super().__init__(nominal, failure, method)
        if not self.exact_failure:
            raise InvalidInput("failure must be above 0: no sample bounds every set for certain.")
        # Each of the 2^N - 2 proper sets has its share.
        union = log_subsets_upper(len(nominal)) + log_up(1 / self.exact_failure)
        self._set(log_level=-union * (1 + 2.0**-50))

    @abstractmethod
    def bounds_along(self, order: Indices) -> Floats:
        """Return the bound on the first, the first two, … letters of each order (a column); all of them are left out.

        The set of all letters has probability 1; a set that holds every row seen but not every letter has not.
        """

    def least_mass(self, columns: npt.ArrayLike) -> Floats:
        values, single = as_matrix(columns, len(self))
        order = np.argsort(-values, axis=0)
        v = np.take_along_axis(values, order, axis=0)
        total = np.einsum("ij,ij->j", self.bounds_along(order), v[:-1] - v[1:]) + v[-1]
        least = lowered(total, np.zeros_like(total), len(self))
        return least[0] if single else least

    def exact_least_mass(self, column: Sequence[int]) -> Fraction:
        values = [int(value) for value in column]
        order = descending(values)
        bounds = self.bounds_along(np.array(order)[:, None])[:, 0].tolist()
        steps = [values[here] - values[there] for here, there in itertools.pairwise(order)]
        stacked = sum((Fraction(bound) * step for bound, step in zip(bounds, steps, strict=True) if step), Fraction(0))
        return stacked + values[order[-1]]


class SetBounds:
    """Clopper and Pearson's lower bounds on the probability of sets of letters, by how often each was seen."""

    def __init__(self, rows: int, log_level: float) -> None:
        self.rows, self.log_level = rows, log_level
        self._known: dict[int, float] = {0: 0.0}

    def __call__(self, counts: Counts) -> Floats:
        different, place = np.unique(counts, return_inverse=True)
        new = [count for count in different.tolist() if count not in self._known]
        if new:
            found = lower_bounds(np.array(new), self.rows, self.log_level)
            self._known.update(zip(new, found.tolist(), strict=True))
        values: Floats = np.array([self._known[count] for count in different.tolist()])[place].reshape(counts.shape)
        return values
