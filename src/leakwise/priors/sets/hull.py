"""The hull of some priors: leakage is convex in the prior, so only the given ones matter ([ED] Corollary 1)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from leakwise.errors import InvalidInput
from leakwise.priors.prior import Prior
from leakwise.priors.prior_set import as_prior, member_rows
from leakwise.priors.sets.around_estimate import Around, as_matrix
from leakwise.types import Bools, Floats, Indices

__all__ = ["Hull"]


class Hull(Around):
    """All mixtures of the given priors.

    Parameters
    ----------
    priors
        The corners, over the same letters.
    nominal
        The prior that utilities are taken at; the average of the corners by default.

    Examples
    --------
    >>> Hull([[0.5, 0.5], [0.25, 0.75]]).exact_least_mass([4, 0])
    Fraction(1, 1)
    """

    kind = "hull"
    corners: tuple[Prior, ...]

    def __init__(
        self, priors: Iterable[Any], nominal: Any = None, failure: object = 0, method: str | None = None
    ) -> None:
        corners = [as_prior(prior, name="each of priors") for prior in priors]
        if not corners:
            raise InvalidInput("priors must hold at least one prior. Got none.")
        centre = _average(corners) if nominal is None else as_prior(nominal, name="nominal")
        super().__init__(centre, failure, method)
        aligned = []
        for corner in corners:
            order = centre.alphabet.positions_in(corner.alphabet, mine="first prior", theirs="other prior")
            aligned.append(corner if order is None else corner.reordered(order))
        self._set(corners=tuple(aligned))

    @property
    def holds_nominal(self) -> bool:
        """Whether the nominal prior is known to be one of the mixtures: the average of the corners, or one of them."""
        return self.nominal.fractions in [prior.fractions for prior in (_average(self.corners), *self.corners)]

    @property
    def support(self) -> Bools:
        """The letters that some corner gives mass to."""
        mask: Bools = np.any([corner.support for corner in self.corners], axis=0)
        return mask

    def least_mass(self, columns: npt.ArrayLike) -> Floats:
        values, single = as_matrix(columns, len(self))
        least: Floats = np.min([corner.least_mass(values) for corner in self.corners], axis=0)
        return least[0] if single else least

    def exact_least_mass(self, column: Sequence[int]) -> Fraction:
        return min(corner.exact_least_mass(column) for corner in self.corners)

    def _worst(self, column: Floats) -> int:
        return int(np.argmin([corner.probabilities @ column for corner in self.corners]))

    def worst_member(self, column: Floats) -> Floats:
        return self.corners[self._worst(column)].probabilities

    def exact_worst_member(self, column: Floats) -> tuple[Fraction, ...]:
        worst = self._worst(column)
        return tuple(Fraction(int(place == worst)) for place in range(len(self.corners)))

    def scale_rows(self) -> Floats:
        return member_rows(np.array([corner.probabilities for corner in self.corners]))

    def reordered(self, order: Indices) -> Hull:
        corners = [corner.reordered(order) for corner in self.corners]
        return Hull(corners, self.nominal.reordered(order), self.exact_failure, self.method)

    def _key(self) -> tuple[object, ...]:
        return self.corners

    def _size(self) -> list[tuple[str, str]]:
        return [("corners", f"{len(self.corners):,}")]


def _average(corners: Sequence[Prior]) -> Prior:
    first = corners[0]
    total = [Fraction(0)] * len(first)
    for corner in corners:
        order = first.alphabet.positions_in(corner.alphabet, mine="first prior", theirs="other prior")
        masses = corner.fractions if order is None else [corner.fractions[place] for place in order]
        total = [sum_ + mass for sum_, mass in zip(total, masses, strict=True)]
    labels = first.labels if first.alphabet.declared else None
    return Prior([mass / len(corners) for mass in total], labels)
