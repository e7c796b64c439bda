"""The cone of ε-PML for every prior of a set: max v ≤ e^ε min_Q Q·v.

The least mass over a convex set is concave, so this is a convex cone. Its linear programs have the column, a scale
s ≤ min_Q Q·v, and what the set says bounds s; where the set has no such rows, its worst members are added as cuts.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from leakwise.errors import InvalidInput
from leakwise.exact import float_above
from leakwise.optimize.problem.cone import Cone
from leakwise.optimize.problem.lift_range import LiftRange
from leakwise.priors import PriorSet
from leakwise.types import Floats

__all__ = ["RobustCone", "ball_range"]


_PAIRS = 64  # of columns that a set which is cut by its worst members is tried on
_CLOSE = 1e-9


class RobustCone(Cone):
    """ε-PML for every prior of a convex set, over all its letters; those the nominal prior never saw included."""

    def __init__(self, priors: PriorSet, ratio: Fraction) -> None:
        if not priors.convex:
            raise InvalidInput(
                f"A design needs a convex set of priors: a ball, a box, a hull, a KL ball or all priors. Got "
                f"{type(priors).__name__} instead, whose least mass need not be concave."
            )
        self.priors = priors
        self.prior = priors.nominal
        self.ratio = ratio
        self.ratio_float = float_above(ratio)
        self._rows = priors.scale_rows()
        if self._rows is None:
            _refuse_unless_concave(priors)

    def inequalities(self) -> Floats:
        size = len(self.prior)
        rows = self._rows
        if rows is None:
            rows = np.append(-self.priors.worst_member(np.ones(size)), 1.0)[None, :]
        below = np.zeros((size, rows.shape[1]))
        below[:, :size], below[:, size] = np.eye(size), -self.ratio_float
        return np.concatenate([below, rows])

    def cut(self, column: Floats) -> Floats | None:
        if self._rows is not None:
            return None
        member = self.priors.worst_member(column)
        if self.ratio_float * float(member @ column) >= float(column.max()) * (1 - _CLOSE):
            return None
        return np.append(-member, 1.0)[None, :]

    def contains(self, column: Sequence[int]) -> bool:
        # The checker's own bound decides: its last digits may differ from the set's where logarithms are involved.
        return max(column) <= self.ratio * self.priors.exact_least_mass(column)

    def lift_range(self) -> LiftRange | None:
        if self.priors.is_everything or (self.priors.moved or 0) <= min(self.prior.fractions):
            return ball_range(self.priors, self.ratio)
        return None  # only a part of the cone


def ball_range(priors: PriorSet, ratio: Fraction) -> LiftRange | None:
    """Return lifts that serve all priors, or those of an l1 ball ([ED] Proposition 2): all of them while β ≤ 2π_min."""
    if priors.is_everything:
        return LiftRange(Fraction(0), ((Fraction(0), ratio),))
    c = priors.moved
    return None if c is None else LiftRange(Fraction(0), ((ratio / (1 + c * ratio), c * ratio / (1 + c * ratio)),), c)


def _refuse_unless_concave(priors: PriorSet) -> None:
    """Refuse a set whose least mass is not what it must be, min Q·u + min Q·w ≤ min Q·(u + w), at random columns."""
    generator = np.random.default_rng(len(priors.nominal))
    first, second = generator.random((2, len(priors.nominal), _PAIRS)) ** generator.choice([0.2, 1.0, 9.0], _PAIRS)
    apart = priors.least_mass(first) + priors.least_mass(second)
    if (apart > priors.least_mass(first + second) * (1 + _CLOSE) + _CLOSE).any():
        raise InvalidInput(
            f"The least mass of a {type(priors).__name__} is not concave, as that of a set of priors is: correct "
            "least_mass and exact_least_mass, or set convex = False where they only bound it from below."
        )
