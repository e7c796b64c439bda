"""A limit on all outcomes together as a cone: columns get one more entry, what they use of a total.

Σ_j c(v_j) ≤ B for a sublinear cost c is the same as numbers s_j ≥ c(v_j)/B that add up to one: the row of a value of
probability 0, whose entries pay for the columns. Then (v, s) is in a convex cone, a mechanism is a set of such columns
that add up to the all-ones vector, and the one loop of all designs serves. The row is dropped in the end.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from leakwise.exact import float_above
from leakwise.mechanism import DenseKernel
from leakwise.optimize.finish.finished import Solution
from leakwise.optimize.problem.cone import Cone
from leakwise.optimize.problem.cones import LiftBox
from leakwise.priors import Prior
from leakwise.types import Floats

__all__ = ["LeakageTotal", "TotalCone", "without_payment"]

# How much smaller a limit must be for rounded columns to keep it: much more than 2^-60, much less than matters.
MARGIN = Fraction(1, 1 << 40)


class TotalCone(Cone):
    """Columns of a cone with their payment: the last entry, that of a value of probability 0."""

    def __init__(self, inner: Cone) -> None:
        self.inner, self.letters = inner, inner.prior
        self.prior = Prior.from_integers(len(self.letters) + 1, [*self.letters.weights.tolist(), 0])

    @abstractmethod
    def paid(self, column: Sequence[int]) -> bool:
        """Return whether the last entry of a column pays for the others, decided exactly."""

    @abstractmethod
    def payments(self) -> Floats:
        """Return rows a with a·(v, s) ≤ 0 iff s pays for v, and one that keeps s bounded where v is."""

    def contains(self, column: Sequence[int]) -> bool:
        return self.inner.contains(column[:-1]) and self.paid(column)

    def inequalities(self) -> Floats:
        rows, own = self._beside(self.inner.inequalities()), self.payments()
        return np.concatenate([rows, np.pad(own, ((0, 0), (0, rows.shape[1] - own.shape[1])))])

    def cut(self, column: Floats) -> Floats | None:
        row = self.inner.cut(column[:-1])
        return None if row is None else self._beside(np.atleast_2d(row))

    def facets(self) -> Floats | None:
        rows = self.inner.facets()
        return None if rows is None else np.concatenate([self._beside(rows), self.payments()])

    def _beside(self, rows: Floats) -> Floats:
        """Rows of the cone itself, with nothing in the place of the payment."""
        return np.insert(rows, len(self.letters), 0.0, axis=1)


class LeakageTotal(TotalCone):
    """Maximal leakage: Σ_j max v_j ≤ B. Its extreme rays pay exactly max v.

    Within lifts of at most t they are those of the cone of lifts, and the indicators of sets of letters of a mass above
    1/t (docs/explanation/mathematics.md, section 2).
    """

    def __init__(self, inner: Cone, total: Fraction) -> None:
        super().__init__(inner)
        self.total = total
        self.total_float = float_above(total)
        # No lift is above this one, so that no payment needs to be either.
        self.most = float(inner.entry_box()[1].max()) * (1 + 2.0**-40)

    def paid(self, column: Sequence[int]) -> bool:
        return max(column[:-1]) <= self.total * column[-1]

    def payments(self) -> Floats:
        size = len(self.letters)
        rows = np.concatenate([np.eye(size), np.full((size, 1), -self.total_float)], axis=1)
        highest = np.append(-self.most * self.letters.probabilities, self.total_float)
        return np.concatenate([rows, highest[None, :]])

    def entry_box(self) -> tuple[Floats, Floats]:
        low, high = self.inner.entry_box()
        return np.append(low, 1 / self.total_float * (1 - 2.0**-40)), np.append(high, self.most / self.total_float)

    @property
    def boxed(self) -> LiftBox | None:
        """The cone of lifts up to a largest one, where no other limit is asked for."""
        return self.inner if isinstance(self.inner, LiftBox) and not self.inner.low else None

    @property
    def unlimited(self) -> bool:
        """Whether nothing but the maximal leakage is limited: no value is so rare that a limit on lifts counts."""
        box = self.boxed
        return box is not None and all(box.high * mass >= 1 for mass in self.letters.fractions)

    def linear_max(self, objectives: Floats) -> tuple[Floats, Floats]:
        box = self.boxed
        if box is None:
            return super().linear_max(objectives)
        # In the order of gain per mass: the first letters alone, or as many as the largest lift leaves room for.
        p, gains, price = self.letters.probabilities, objectives[:-1], objectives[-1]
        order = np.argsort(-gains / p[:, None], axis=0, kind="stable")
        mass = np.cumsum(p[order], axis=0)
        levels = 1 / mass
        values = np.cumsum(np.take_along_axis(gains, order, axis=0), axis=0) * levels
        values = np.where(levels <= self.most, values + np.minimum(price, 0.0) * levels / self.total_float, -np.inf)
        best, each = values.argmax(axis=0), np.arange(objectives.shape[1])
        _, filled = box.linear_max(gains)
        tops = filled.max(axis=0)
        last = np.sum(gains * filled, axis=0) + np.minimum(price, 0.0) * tops / self.total_float
        first = np.zeros_like(gains)
        np.put_along_axis(first, order, np.where(np.arange(len(p))[:, None] <= best, levels[best, each], 0.0), axis=0)
        chosen = last >= values[best, each]
        lifts = np.where(chosen, filled, first)
        pays = np.where(price > 0, self.most, lifts.max(axis=0)) / self.total_float
        reached = np.where(chosen, last, values[best, each]) + np.maximum(price, 0.0) * pays
        return reached, np.concatenate([lifts, pays[None, :]])

    def slightly_smaller(self) -> LeakageTotal | None:
        smaller = self.inner.slightly_smaller()
        if self.unlimited:
            smaller = self.inner
        if smaller is None or self.total - 1 < 4 * MARGIN:
            return None
        return LeakageTotal(smaller, self.total * (1 - MARGIN))

    def slightly_inside(self, lifts: Floats) -> Floats | None:
        if not self.unlimited:
            return None
        return np.concatenate([lifts[:-1], lifts[-1:] * (1 + float(MARGIN))])


def without_payment(solution: Solution) -> Solution:
    """Return the mechanism that a search has found over columns with their payments, without the row of these."""
    kernel = DenseKernel(solution.kernel.weights[:-1], solution.kernel.denominator)
    return replace(solution, kernel=kernel)
