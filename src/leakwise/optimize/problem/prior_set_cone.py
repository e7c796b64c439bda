"""The cone of ε-PML for every prior of a set: max v ≤ e^ε min_Q Q·v.

The least mass over a convex set is concave, so this is a convex cone. Its linear programs have the column, a scale
s ≤ min_Q Q·v, and what the set says bounds s; where the set has no such rows, its worst members are added as cuts.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property

import numpy as np

from leakwise.errors import InvalidInput
from leakwise.exact import float_above
from leakwise.mechanism import Kernel, randomized_response
from leakwise.optimize.problem.cone import Cone
from leakwise.optimize.problem.lift_range import LiftRange
from leakwise.priors import PriorSet
from leakwise.proof import least_mass_prover
from leakwise.types import Floats

__all__ = ["RobustCone", "ball_range", "conservative_lift"]


_PAIRS = 64  # of columns that a set which is cut by its worst members is tried on
_CLOSE = 1e-9
_FEW = 7  # letters
_NARROW = 1e-6  # a cone that is hardly more than the constant column


class RobustCone(Cone):
    """ε-PML for every prior of a convex set, over all its letters; those the nominal prior never saw included."""

    def __init__(self, priors: PriorSet, ratio: Fraction) -> None:
        self.priors = priors
        self.prior = priors.nominal
        self.ratio = ratio
        self.ratio_float = float_above(ratio)
        self._rows = priors.scale_rows()
        # The checker's own bound decides where no prior attains the set's.
        self._least_mass = priors.exact_least_mass if priors.convex else least_mass_prover(priors)
        if self._rows is None and priors.convex:
            _refuse_unless_concave(priors)

    @property
    def kind(self) -> str:
        """``"set"``, or ``"bounded"`` where the set need not be convex and only membership is known."""
        return "set" if self.priors.convex else "bounded"

    def inequalities(self) -> Floats:
        if not self.priors.convex:
            raise InvalidInput(
                "Further limits, and searches by linear programs, need a convex set of priors: a ball, a box, a hull, "
                f"a KL ball or all priors. Got {type(self.priors).__name__}, whose least mass need not be concave."
            )
        size, rows = len(self.prior), self._rows
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

    @cached_property
    def _facets(self) -> Floats | None:
        # v_i ≤ e^ε Q·v for the members Q that are worst for some vertex: these end for sets with corners.
        if self._rows is None or self.ratio_float - 1 < _NARROW:
            return None
        return self._cut_out(self._below(np.ones(len(self.prior))), self._broken)

    def _below(self, column: Floats) -> Floats:
        return np.eye(len(column)) - self.ratio_float * self.priors.worst_member(column)

    def _broken(self, column: Floats) -> Floats | None:
        rows = self._below(column)
        return rows if (rows @ column).max() > _CLOSE * column.max() else None

    def contains(self, column: Sequence[int]) -> bool:
        return max(column) <= self.ratio * self._least_mass(column)

    def entry_box(self) -> tuple[Floats, Floats]:
        # Without rows each end is many programs with cuts: for many letters the plain ends of the nominal prior do.
        plain = self._rows is None and self.priors.holds_nominal and len(self.prior) > _FEW
        if self.priors.convex and not plain:
            return super().entry_box()
        with np.errstate(divide="ignore"):
            high = np.minimum(self.ratio_float if self.priors.holds_nominal else np.inf, 1 / self.prior.probabilities)
        return np.zeros(len(high)), high

    def plain(self) -> Kernel:
        return randomized_response(len(self.prior), lift=self.ratio).kernel  # ε-LDP serves every set

    def lift_range(self) -> LiftRange | None:
        if (self.priors.moved or 0) <= min(self.prior.fractions):
            return ball_range(self.priors, self.ratio)
        return None  # only a part of the cone


def ball_range(priors: PriorSet, ratio: Fraction) -> LiftRange | None:
    """Return lifts that serve an l1 ball ([ED] Proposition 2): all that do while β ≤ 2π_min; None for other sets."""
    c = priors.moved
    return None if c is None else LiftRange(Fraction(0), ((ratio / (1 + c * ratio), c * ratio / (1 + c * ratio)),), c)


def conservative_lift(ball: PriorSet, lift: Fraction) -> Fraction:
    """The e^{ε''} at the estimate that serves e^ε = ``lift`` on the whole l1 ball; 1 when none does.

    e^ε/(1 + ce^ε) always; e^ε(1 + c/π_min)/(1 + ce^ε/π_min) where it is larger, as in the first privacy region.
    """
    c = ball.moved
    assert c is not None
    serves = [Fraction(1), lift / (1 + c * lift)]
    if ball.nominal.support.all():
        share = c / ball.nominal.least_probability
        serves.append(lift * (1 + share) / (1 + share * lift))
    return max(serves)


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
