"""A set of priors, seen through the one question that leakage asks of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from leakwise.alphabet import Alphabet, Label
from leakwise.errors import InvalidInput
from leakwise.types import Bools, Floats, Indices

if TYPE_CHECKING:
    from leakwise.priors.prior import Prior

__all__ = ["PriorSet", "as_prior", "as_prior_set"]


class PriorSet(ABC):
    """A closed set of priors over one alphabet.

    PML, certification, robust design and masks ask a set for nothing but the least mass it gives to a column,
    min_Q Q·v ([ED] Corollary 1 and the mathematics, section 4).
    """

    @property
    @abstractmethod
    def alphabet(self) -> Alphabet:
        """The letters of the secret."""

    @property
    def labels(self) -> tuple[Label, ...]:
        """The labels of the letters, in order."""
        return self.alphabet.labels

    @property
    @abstractmethod
    def nominal(self) -> Prior:
        """The prior in the middle: the estimate that utilities are taken at."""

    @property
    @abstractmethod
    def failure(self) -> float:
        """The probability, over the sample, that the true prior is not in the set."""

    @property
    @abstractmethod
    def support(self) -> Bools:
        """Which letters have mass under some prior of the set; leakage is taken over these."""

    @abstractmethod
    def least_mass(self, columns: npt.ArrayLike) -> Floats:
        """Return min_Q Q·v for a column v ≥ 0, or for every column of an N×M matrix, never above the truth."""

    @abstractmethod
    def exact_least_mass(self, column: Sequence[int]) -> Fraction:
        """Return min_Q Q·v of a column of integers, exact or safely below."""

    @abstractmethod
    def reordered(self, order: Indices) -> PriorSet:
        """Return the same set with letter ``order[i]`` at place i."""


def as_prior_set(prior: Any, *, name: str = "prior") -> PriorSet:
    """Return a prior or a set of priors from what a user may give."""
    return prior if isinstance(prior, PriorSet) else as_prior(prior, name=name)


def as_prior(prior: Any, *, name: str = "prior") -> Prior:
    """Return a single prior from a Prior, a list of probabilities, or a mapping from labels to probabilities."""
    from leakwise.priors.prior import Prior

    if isinstance(prior, Prior):
        return prior
    if isinstance(prior, PriorSet):
        raise InvalidInput(
            f"{name} must be a single prior here. Got a set of priors: pass its .nominal to ask about the estimate."
        )
    if isinstance(prior, (Sequence, np.ndarray)) or (hasattr(prior, "keys") and hasattr(prior, "items")):
        return Prior(prior)
    raise InvalidInput(f"{name} must be a lw.Prior, a list of probabilities or a dict. Got {prior!r} instead.")
