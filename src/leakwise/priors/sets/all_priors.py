"""Every prior: pointwise maximal leakage then is local differential privacy ([ED] Remark 1)."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from leakwise.errors import InvalidInput
from leakwise.priors.prior import Prior
from leakwise.priors.prior_set import PriorSet, member_rows
from leakwise.priors.sets.around_estimate import Around, as_matrix
from leakwise.types import Floats, Indices

__all__ = ["AllPriors"]


class AllPriors(Around):
    """Every prior over the letters: nothing is known of the secret beforehand.

    ε-PML for this set is ε-LDP: min_Q Q·v = min v.

    Parameters
    ----------
    letters
        The prior that utilities are taken at, or a number of letters, or labels (then the uniform prior is).

    Examples
    --------
    >>> from leakwise import epsilon, randomized_response
    >>> print(f"{epsilon(randomized_response(3, lift=2), AllPriors(3)):.4f}")
    0.6931
    """

    kind = "all priors"

    def __init__(self, letters: Any) -> None:
        if isinstance(letters, PriorSet) and not isinstance(letters, Prior):
            raise InvalidInput(
                "letters must be a lw.Prior, a number of letters or labels. Got a set of priors instead."
            )
        super().__init__(letters if isinstance(letters, Prior) else Prior.uniform(letters))

    @property
    def is_everything(self) -> bool:
        return True

    def least_mass(self, columns: npt.ArrayLike) -> Floats:
        values, single = as_matrix(columns, len(self))
        least: Floats = values.min(axis=0)
        return least[0] if single else least

    def exact_worst_member(self, column: Floats) -> tuple[Fraction, ...]:
        lowest = int(column.argmin())
        return tuple(Fraction(int(place == lowest)) for place in range(len(column)))

    def scale_rows(self) -> Floats:
        return member_rows(np.eye(len(self)))

    def exact_least_mass(self, column: Sequence[int]) -> Fraction:
        return Fraction(min(int(value) for value in column))

    def reordered(self, order: Indices) -> AllPriors:
        return AllPriors(self.nominal.reordered(order))
