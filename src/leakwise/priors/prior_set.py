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

__all__ = ["PriorSet", "as_prior", "as_prior_set", "member_rows", "over_letters"]

# Columns as integers for slopes: how fine they are, how far equal entries are moved apart, the step of a difference.
_UNIT, _APART, _STEP = 1 << 60, 1 << 40, 1 << 36
_ROUNDED = 2.0**-27  # what numbers that are rounded in their last digits leave of such a difference


class PriorSet(ABC):
    """A closed set of priors over one alphabet.

    PML, certification, designs and masks ask a set for nothing but the least mass it gives to a column, min_Q Q·v ([ED]
    Corollary 1 and the mathematics, section 4), and for a prior of the set that attains it.

    A set of your own needs ``alphabet``, ``nominal``, ``failure``, ``support``, ``least_mass``, ``exact_least_mass``
    and ``reordered``; a ``worst_member`` of its own makes designs faster.
    """

    convex: bool = True
    """Whether some prior of the set (or of its closure) attains the least mass, which then is concave in the column.

    A set that only bounds the least mass from below must say False: designs are then searched for among those of the
    estimate, without a bound of their own.
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

    @property
    def is_everything(self) -> bool:
        """Whether the set holds every prior, so that only local differential privacy protects."""
        return False

    @property
    def holds_nominal(self) -> bool:
        """Whether the nominal prior is known to be in the set: then no design beats that of the known prior."""
        return False

    @property
    def moved(self) -> Fraction | None:
        """How much mass a prior of the set may move from the nominal one, where nothing else limits it (an l1 ball)."""
        return None

    def worst_member(self, column: Floats) -> Floats:
        """Return q with min_Q Q·w ≤ q·w for every column w ≥ 0, and equal (or nearly so) at ``column``.

        That is a prior of the set that gives the column its least mass. By default it comes from differences of
        ``exact_least_mass`` taken backwards, which for a concave function are never below its slopes.
        """
        largest = float(np.max(column)) or 1.0
        apart = np.random.default_rng(len(column)).permutation(len(column))  # equal entries: one prior of several
        units = [
            int(value / largest * _UNIT) + _APART * (2 + int(rank)) for value, rank in zip(column, apart, strict=True)
        ]
        here = self.exact_least_mass(units)
        slopes = []
        for place in range(len(units)):
            units[place] -= _STEP
            slopes.append(float((here - self.exact_least_mass(units)) / _STEP))
            units[place] += _STEP
        worst: Floats = np.maximum(np.array(slopes), 0.0) + _ROUNDED
        return worst

    def exact_worst_member(self, column: Floats) -> tuple[Fraction, ...]:
        """Return a prior that (nearly) attains the least mass: its masses, for a hull the shares of its corners."""
        raise InvalidInput(
            "The least leakage on a mask is found for a prior, an l1 ball, box, hull, KL ball or all priors. Got "
            f"{type(self).__name__} instead, whose worst prior is not known exactly: use prior.ball or "
            'prior.confidence(method="weissman").'
        )

    def scale_rows(self) -> Floats | None:
        """Return rows a·(v, s, x) ≤ 0 that some x ≥ 0 satisfies iff s ≤ min_Q Q·v; None where cuts must do."""
        return None


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


def member_rows(members: Floats) -> Floats:
    """Return rows that bound a scale by the mass that each prior (one a row) gives to the column: s - Q·v ≤ 0."""
    return np.concatenate([-members, np.ones((len(members), 1))], axis=1)


def over_letters(known: PriorSet, letters: Alphabet) -> PriorSet:
    """Return the prior, or the set of priors, over the declared letters and in their order."""
    from leakwise.priors.prior import Prior

    order = letters.positions_in(known.alphabet, mine="domain", theirs="prior")
    places = list(range(len(letters)) if order is None else order)
    if isinstance(known, Prior):
        return Prior.from_integers(letters, [int(known.weights[place]) for place in places], known.sample_size)
    return known if order is None else known.reordered(np.array(places, dtype=np.intp))
