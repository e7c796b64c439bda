"""What all sets of priors around an estimate share: the estimate, the probability of being wrong, and their looks."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from leakwise.alphabet import Alphabet
from leakwise.charts.shown import Parts, Shown, Table
from leakwise.charts.table import number
from leakwise.errors import InvalidInput, some_of
from leakwise.exact import exact_fraction, float_above
from leakwise.priors.prior import Prior
from leakwise.priors.prior_set import PriorSet
from leakwise.types import Bools, Floats

__all__ = ["Around", "checked_failure", "checked_radius", "lowered", "unseen_letters"]


class Around(Shown, PriorSet):
    """A closed set of priors that holds ``nominal``, the estimate.

    ``failure`` is the probability, over the sample, that the set misses the true prior: zero for a set that is taken as
    given. ``method`` names the inequality that the set comes from, or None.
    """

    kind: str
    _nominal: Prior
    exact_failure: Fraction
    method: str | None

    def __init__(self, nominal: Prior, failure: object = 0, method: str | None = None) -> None:
        if not isinstance(nominal, Prior):
            raise InvalidInput(f"nominal must be a lw.Prior. Got {type(nominal).__name__} instead.")
        chance = exact_fraction(failure, "failure")
        if not 0 <= chance < 1:
            raise InvalidInput(f"failure must be a probability below 1. Got {failure!r} instead.")
        self._set(_nominal=nominal, exact_failure=chance, method=method)

    def _set(self, **values: object) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"A set of priors cannot be changed ({name!r}); make a new one.")

    @property
    def nominal(self) -> Prior:
        return self._nominal

    @property
    def alphabet(self) -> Alphabet:
        return self._nominal.alphabet

    @property
    def failure(self) -> float:
        return float_above(self.exact_failure)

    @property
    def holds_nominal(self) -> bool:
        return True

    def worst_member(self, column: Floats) -> Floats:
        return np.array([float(mass) for mass in self.exact_worst_member(column)])

    @property
    def support(self) -> Bools:
        """Every letter: one that the sample never showed may still have mass."""
        mask = np.ones(len(self.alphabet), dtype=np.bool_)
        mask.flags.writeable = False
        return mask

    def __len__(self) -> int:
        return len(self.alphabet)

    # -- equality and looks -------------------------------------------------------------------------------------

    def _key(self) -> tuple[object, ...]:
        """What tells two sets of one kind apart, beside the nominal prior."""
        return ()

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        assert isinstance(other, Around)
        mine = (self._nominal, self.exact_failure, self.method, self._nominal.sample_size, *self._key())
        theirs = (other._nominal, other.exact_failure, other.method, other._nominal.sample_size, *other._key())
        return mine == theirs

    def __hash__(self) -> int:
        return hash((type(self), self._nominal, self.exact_failure))

    def _size(self) -> list[tuple[str, str]]:
        """How large the set is, in rows of a table."""
        return []

    def _shown(self) -> Parts:
        rows = [["letters", f"{len(self):,}"], *([name, value] for name, value in self._size())]
        if self._nominal.sample_size is not None:
            rows.append(["samples", f"{self._nominal.sample_size:,}"])
        if self.exact_failure:
            rows.append(["failure (the true prior is outside)", number(self.failure)])
        if self.method is not None:
            rows.append(["method", self.method])
        if self.is_everything:
            rows.append(["note", "every prior is inside: ε-PML here is ε-LDP, the estimate does not help"])
        if unseen := unseen_letters(self._nominal):
            rows.append(["never seen", f"{some_of(unseen)}: kept, and counted as causes of every outcome"])
        return [Table(["", self.kind], rows, self._title(), align="ll")]

    def _title(self) -> str:
        return f"Set of priors: {self.kind}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: the kind, the size and the estimate."""
        return {
            "kind": self.kind,
            "size": dict(self._size()),
            "failure": self.failure,
            "method": self.method,
            "is_everything": self.is_everything,
            "nominal": self._nominal.to_dict(),
        }


def unseen_letters(prior: Prior) -> list[object]:
    """Return the letters of mass zero."""
    return [label for label, here in zip(prior.labels, prior.support, strict=True) if not here]


def checked_radius(beta: object) -> Fraction:
    """Return an l1 distance, exact; one below zero is an error."""
    radius = exact_fraction(beta, "beta")
    if radius < 0:
        raise InvalidInput(f"beta must be a radius of at least 0. Got {beta!r} instead.")
    return radius


def checked_failure(failure: object) -> Fraction:
    """Return a probability of failure: more than none, less than certain."""
    chance = exact_fraction(failure, "failure")
    if not 0 < chance < 1:
        raise InvalidInput(
            f"failure must be a probability above 0 and below 1: how often the sample may mislead. Got {failure!r}."
        )
    return chance


def as_matrix(columns: npt.ArrayLike, size: int) -> tuple[Floats, bool]:
    """Return one column or a matrix of columns as a matrix, and whether it was one column."""
    values = np.asarray(columns, dtype=np.float64)
    if values.ndim not in (1, 2) or values.shape[0] != size:
        raise InvalidInput(f"columns must have one row per letter ({size}). Got an array of shape {values.shape}.")
    single = values.ndim == 1
    return (values[:, None] if single else values), single


def lowered(total: Floats, loose: Floats, size: int) -> Floats:
    """Return a sum of ``size`` non-negative float terms, lowered by more than its error.

    Adding N terms errs by less than N units of 2^-53 relatively; a running sum of masses by as much absolutely, which
    moves at most that mass between neighbouring letters of value up to ``loose``.
    """
    error = (size + 16) * 2.0**-52 * (total + loose) + size * 2.0**-1070
    safe: Floats = np.maximum(total - error, 0.0)
    return safe


def transport_rows(p: Floats, low: Floats, high: Floats, moved: float) -> Floats:
    """Return rows in (v, s, a, b, fill, drain) for the priors in [low, high] that move at most so much mass from p.

    s ≤ p·v - Σ (high-p)(a-v)₊ - Σ (p-low)(v-b)₊ - moved·(b-a) for some levels a ≤ b.
    """
    size = len(p)
    a, b, fill, drain = size + 1, size + 2, size + 3, 2 * size + 3
    rows = np.zeros((2 + 2 * size, 3 * size + 3))
    rows[0, :size], rows[0, size] = -p, 1.0
    rows[0, a], rows[0, b] = -moved, moved
    rows[0, fill:drain], rows[0, drain:] = high - p, p - low
    rows[1, a], rows[1, b] = 1.0, -1.0
    each = np.arange(size)
    filled, drained = rows[2 : 2 + size], rows[2 + size :]
    filled[each, a], filled[each, each], filled[each, fill + each] = 1.0, -1.0, -1.0
    drained[each, each], drained[each, b], drained[each, drain + each] = 1.0, -1.0, -1.0
    return rows


def descending(column: Sequence[int]) -> list[int]:
    """Return the places of a column from its largest entry down."""
    return sorted(range(len(column)), key=lambda place: -column[place])
