"""A privacy constraint as a convex cone of columns: what every cone answers, and intersections of cones.

A mechanism satisfies a constraint iff each of its columns lies in the cone. A cone is seen through its slice of *lift
vectors*, the columns λ with π·λ = 1, and answers: exact membership of an integer column, the largest linear functional
(with the vertex that attains it), also inside a box of the entries, that box itself, and an integer column close to a
given one. All but membership and the inequalities has a default by linear programs.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from leakwise.errors import InvalidInput, NotConverged
from leakwise.mechanism import Kernel, randomized_response
from leakwise.optimize.problem.lift_range import LiftRange
from leakwise.optimize.search.limits import Limits
from leakwise.priors import Prior
from leakwise.types import Floats

__all__ = ["Band", "Cone", "Intersection", "Lifts"]

Answer = TypeVar("Answer")

_CUTS = 200  # rows that one linear program of a cone may ask for
_CLOSE = 1e-9  # what linear programs are trusted with
_LISTED = 6  # letters: more have too many vertices at nearly the same place
_ROUNDS = 12


@dataclass(frozen=True)
class Band:
    """Columns with low·s ≤ v ≤ high·s for a scale s, which is π·v if ``tied`` and any number otherwise."""

    low: float
    high: float
    tied: bool


@dataclass(frozen=True)
class Lifts:
    """A cone seen through its lift vectors: bands, a range for each value, and sums a·λ that have a largest value."""

    bands: list[Band]
    low: Floats
    high: Floats
    sums: list[tuple[Floats, float]]


class Cone(ABC):
    """A closed convex cone of non-negative columns over the letters of a prior, which holds the constant column.

    A cone of your own needs ``prior``, :meth:`contains` and :meth:`inequalities`.
    """

    prior: Prior
    _whole: bool = True  # whether its program is without bounds on the entries
    limits: Limits = Limits()  # those of whoever searches in it: linear programs of a cone end with them

    @abstractmethod
    def contains(self, column: Sequence[int]) -> bool:
        """Return whether a column of integers is in the cone, decided exactly."""

    @abstractmethod
    def inequalities(self) -> Floats:
        """Return rows a with a·(v, x) ≤ 0 for some x ≥ 0 iff the column v ≥ 0 is in the cone.

        The first N entries of a row are for the column, the others (there may be none) for further variables x.
        """

    def cut(self, column: Floats) -> Floats | None:
        """Return one more row for a column that satisfies the others and is not inside; None for one that is."""
        return None

    def facets(self) -> Floats | None:
        """Return rows in the column alone that describe the cone, where there are such: to list vertices."""
        return self._facets

    @cached_property
    def _facets(self) -> Floats | None:
        rows = self.inequalities()
        return rows if rows.shape[1] == len(self.prior) and type(self).cut is Cone.cut else None

    def _cut_out(self, rows: Floats, cut: Callable[[Floats], Floats | None]) -> Floats | None:
        """Rows in the column alone, with those that cut off vertices of the others till none is left to cut off.

        They end where a cone has finitely many; None where they do not soon, or there are many letters.
        """
        from leakwise.optimize.pricing.vertex_list import polytope_vertices

        if len(self.prior) > _LISTED or not self.prior.support.all():
            return None
        for _ in range(_ROUNDS):
            vertices = polytope_vertices(self.prior.probabilities, rows)
            if vertices is None:
                return None
            cuts = [row for row in map(cut, vertices.T) if row is not None]
            if not cuts:
                return rows
            rows = np.concatenate([rows, *cuts])
            rows = rows[np.unique(rows.round(12), axis=0, return_index=True)[1]]
        return None

    @property
    def kind(self) -> str:
        """What the table of searches knows it by: ``"range"`` where :meth:`lift_range` says all, else ``"any"``."""
        return "any" if self._range is None else "range"

    def lift_range(self) -> LiftRange | None:
        """Return the range that describes the lift vectors of the cone, where one does."""
        return None

    def bands(self) -> list[Band] | None:
        """Return the cone as bands, all of which a column must be in, where it is: for sparse linear programs."""
        return None

    def lifts(self) -> Lifts | None:
        """Return what is linear in columns of known mass, where that is all: for programs whose outcomes have one."""
        bands, size = self.bands(), len(self.prior)
        return None if bands is None else Lifts(bands, np.zeros(size), np.full(size, np.inf), [])

    @cached_property
    def _range(self) -> LiftRange | None:
        return self.lift_range()

    @cached_property
    def _program(self) -> Any:
        from leakwise.lp import LinearProgram  # the solver loads when it is first needed

        rows = np.asarray(self.inequalities(), dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] < len(self.prior):
            raise InvalidInput(
                f"inequalities of {type(self).__name__} must be rows over the {len(self.prior)} values (and further "
                f"variables after them). Got an array of shape {rows.shape} instead."
            )
        p = np.zeros((1, rows.shape[1]))
        p[0, : len(self.prior)] = self.prior.probabilities
        lower = np.concatenate([[1.0], np.full(len(rows), -np.inf)])
        upper = np.concatenate([[1.0], np.zeros(len(rows))])
        return LinearProgram(np.zeros(rows.shape[1]), np.concatenate([p, rows]), lower, upper, maximize=True)

    def relaxed(
        self, costs: Floats, low: Floats | float = 0.0, high: Floats | float = np.inf
    ) -> tuple[float, Floats] | None:
        """Return max c·λ over the lift vectors with low ≤ λ ≤ high, and a λ that attains it; None where there is none.

        The number is never below the truth by more than the tolerances of linear programs.
        """
        program, letters = self._program, np.arange(len(self.prior))
        program.change_costs(costs, letters)
        whole = isinstance(low, float) and isinstance(high, float) and (low, high) == (0.0, np.inf)
        if not (whole and self._whole):  # bounds that stay need not be set again
            program.change_column_bounds(low, high, letters)
        self._whole = whole
        for _ in range(_CUTS):
            solution = program.solve()
            if not solution.optimal:
                return None
            row = self.cut(solution.x[: len(letters)])
            if row is None:
                break
            program.add_rows(row, -np.inf, 0.0)
        return solution.objective, np.clip(solution.x[: len(letters)], low, high)

    def linear_max(self, objectives: Floats) -> tuple[Floats, Floats]:
        """max c·λ over the lift vectors, for each column c of an N×W matrix: the values and the vertices (N×W)."""
        if self._range is not None:
            return self._range.linear_max(objectives, self.prior.probabilities)
        values, vertices = [], []
        for objective in objectives.T:
            self.limits.check()
            answer = self.relaxed(objective)
            if answer is None:  # the constant column is in every cone
                raise NotConverged(
                    "a linear program over a cone of columns was not solved.", lower=-np.inf, upper=np.inf
                )
            values.append(answer[0])
            vertices.append(answer[1])
        return np.array(values), np.stack(vertices, axis=1)

    def entry_box(self) -> tuple[Floats, Floats]:
        """Return the least and the largest value of each entry over the lift vectors of the cone (outer bounds)."""
        return self._box

    @cached_property
    def _box(self) -> tuple[Floats, Floats]:
        eye = np.eye(len(self.prior))
        high, low = self.linear_max(eye)[0], -self.linear_max(-eye)[0]
        return np.maximum(low - _CLOSE, 0.0), high * (1 + _CLOSE) + _CLOSE

    def slightly_smaller(self) -> Cone | None:
        """Return a cone whose columns, rounded to integers, lie in this one; None where there is none to speak of."""
        return None

    def slightly_inside(self, lifts: Floats) -> Floats | None:
        """The same vertices for a slightly smaller cone: rounded to integers they are inside this one, zeros kept.

        None where the cone does not know them, or a vertex has no counterpart.
        """
        return None

    def plain(self) -> Kernel | None:
        """Return a well-known mechanism inside the cone, where there is one, for numbers that no search can take."""
        return None

    def snap(self, lifts: Floats, mass: int) -> list[int]:
        """Return integers in the cone, exactly, close to ``mass`` · λ: mixed with the constant column till they fit."""
        share = 2.0**-44
        while share < 1:
            mixed = (1 - share) * lifts + share
            column = [int(value * mass) for value in mixed]
            if self.contains(column):
                return column
            share *= 4
        return [mass] * len(lifts)


class Intersection(Cone):
    """Columns that are in every one of several cones over the same prior."""

    def __init__(self, cones: Sequence[Cone]) -> None:
        self.prior = cones[0].prior
        self.cones = tuple(cones)

    def contains(self, column: Sequence[int]) -> bool:
        return all(cone.contains(column) for cone in self.cones)

    @cached_property
    def _blocks(self) -> list[Floats]:
        return [cone.inequalities() for cone in self.cones]

    def _placed(self, number: int, rows: Floats) -> Floats:
        """Rows of one of the cones among the variables of all: the column is common, the others are its own."""
        size = len(self.prior)
        further = [block.shape[1] - size for block in self._blocks]
        start = size + sum(further[:number])
        placed = np.zeros((len(rows), size + sum(further)))
        placed[:, :size], placed[:, start : start + further[number]] = rows[:, :size], rows[:, size:]
        return placed

    def inequalities(self) -> Floats:
        return np.concatenate([self._placed(number, block) for number, block in enumerate(self._blocks)])

    def cut(self, column: Floats) -> Floats | None:
        cuts = [(number, cone.cut(column)) for number, cone in enumerate(self.cones)]
        rows = [self._placed(number, row) for number, row in cuts if row is not None]
        return np.concatenate(rows) if rows else None

    def entry_box(self) -> tuple[Floats, Floats]:
        boxes = [cone.entry_box() for cone in self.cones]
        return np.max([low for low, _ in boxes], axis=0), np.min([high for _, high in boxes], axis=0)

    def plain(self) -> Kernel | None:
        """Return randomized response whose ratio is the least of all limits, where every part allows it."""
        ratio = min(float(cone.entry_box()[1].max()) for cone in self.cones)
        kernel = randomized_response(len(self.prior), lift=max(ratio, 1.0)).kernel
        return kernel if all(self.contains(column) for column in kernel.weights.T.tolist()) else None

    def facets(self) -> Floats | None:
        facets = _all_known(cone.facets() for cone in self.cones)
        return None if facets is None else np.concatenate(facets)

    def bands(self) -> list[Band] | None:
        bands = _all_known(cone.bands() for cone in self.cones)
        return None if bands is None else list(itertools.chain(*bands))

    def lifts(self) -> Lifts | None:
        known = [one for one in (cone.lifts() for cone in self.cones) if one is not None]
        if len(known) < len(self.cones):
            return None
        low, high = np.max([one.low for one in known], axis=0), np.min([one.high for one in known], axis=0)
        return Lifts(
            [band for one in known for band in one.bands], low, high, [each for one in known for each in one.sums]
        )

    def lift_range(self) -> LiftRange | None:
        ranges = _all_known(cone.lift_range() for cone in self.cones)
        if ranges is None:
            return None
        pieces = tuple(piece for where in ranges for piece in where.pieces)
        return LiftRange(max(where.low for where in ranges), pieces, max(where.least for where in ranges))

    def slightly_smaller(self) -> Cone | None:
        smaller = _all_known(cone.slightly_smaller() for cone in self.cones)
        return None if smaller is None else Intersection(smaller)


def _all_known(answers: Iterable[Answer | None]) -> list[Answer] | None:
    every = list(answers)
    known = [answer for answer in every if answer is not None]
    return known if len(known) == len(every) else None
