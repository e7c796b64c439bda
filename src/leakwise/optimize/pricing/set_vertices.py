r"""Every vertex of lifts in a range, as sets of letters: priced for a quadratic function without a list of columns.

A vertex either has two values, one on a set of letters and one off it, or it is in a box of lifts with a letter between
its ends. There are 2^N sets, 2^20 for twenty letters: a quadratic function of the set is a table, the sum of those of
both halves of the letters and of a product of matrices between them. What a letter between adds is λ_i times a sum of
two rows, and its square.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from leakwise.exact import float_above, float_below
from leakwise.optimize.problem.cones import Cone
from leakwise.types import Floats, Indices

__all__ = ["MOST_LETTERS", "ListedVertices", "SetVertices", "Vertices"]

MOST_LETTERS = 20
_SPARE = 1e-12


class Vertices(Protocol):
    """Vertices of the lift vectors of a cone, looked at for a quadratic function."""

    complete: bool  # whether none is missed

    def best(self, centre: Floats, y: Floats, number: int) -> tuple[Floats, float]:
        """Return the vertices (N × n) of largest λᵀGλ - y·λ, the largest first, and that number."""


@dataclass(frozen=True, eq=False)
class ListedVertices:
    """All vertices, as columns."""

    columns: Floats
    complete = True

    def best(self, centre: Floats, y: Floats, number: int) -> tuple[Floats, float]:
        """Return the vertices of largest λᵀGλ - y·λ."""
        costs = np.einsum("ij,ij->j", self.columns, centre @ self.columns) - y @ self.columns
        places = _largest(costs, number)
        return self.columns[:, places], float(costs[places[0]])


@dataclass(frozen=True, eq=False)
class _Free:
    """The vertices of a box with this letter between: their sets, and how far it is above the lower end."""

    low: float
    high: float
    letter: int
    sets: Indices
    above: Floats


class SetVertices:
    """The vertices of a cone whose lifts are in a range, for at most ``MOST_LETTERS`` letters.

    >>> from fractions import Fraction
    >>> from leakwise.optimize.problem.cones import pml_cone
    >>> from leakwise.priors import Prior
    >>> vertices = SetVertices(pml_cone(Prior([0.5, 0.3, 0.2]), Fraction(2)))
    >>> columns, largest = vertices.best(np.eye(3), np.zeros(3), 2)
    >>> print(columns[:, 0], largest)
    [0. 2. 2.] 8.0
    """

    complete = True

    def __init__(self, cone: Cone) -> None:
        where, p = cone.lift_range(), cone.prior.probabilities
        assert where is not None  # nothing else has such vertices
        assert len(p) <= MOST_LETTERS
        self.size, self.cut = len(p), len(p) // 2
        self._bits = [
            ((np.arange(1 << count)[None, :] >> np.arange(count)[:, None]) & 1).astype(np.float64)
            for count in (self.cut, self.size - self.cut)
        ]
        mass = self._sums(p)
        self.two: tuple[Indices, Floats, Floats] | None = None
        if cone.kind != "box":
            low, high, real = where.levels(
                mass[1:-1], mass[-2:0:-1]
            )  # the set of all other letters is last from the end
            self.two = 1 + np.flatnonzero(real), low[real], high[real]
        boxes = [(float_below(a), float_above(b)) for a, b in where.boxes()]
        self.free = [part for low, high in boxes for part in self._in_box(p, mass, low, high)]

    def _sums(self, of: Floats) -> Floats:
        """The sum over each set of letters, the bits of whose number are its letters."""
        sums: Floats = ((of[self.cut :] @ self._bits[1])[:, None] + of[: self.cut] @ self._bits[0]).ravel()
        return sums

    def _in_box(self, p: Floats, mass: Floats, low: float, high: float) -> Iterator[_Free]:
        """For each letter, the sets that leave it a lift in the box."""
        budget = (1 - low) / (high - low)
        near = np.flatnonzero((mass <= budget + _SPARE) & (mass >= budget - p.max() - _SPARE))
        for letter in range(self.size):
            others = near[(near >> letter) & 1 == 0]
            left = budget - mass[others]
            fits = (left <= p[letter] + _SPARE) & (left >= -_SPARE)
            above = np.clip((high - low) * left[fits] / p[letter], 0.0, high - low)
            yield _Free(low, high, letter, others[fits], above)

    def __len__(self) -> int:
        return sum(len(part.sets) for part in self.free) + (0 if self.two is None else len(self.two[0]))

    def best(self, centre: Floats, y: Floats, number: int) -> tuple[Floats, float]:
        """Return the vertices of largest λᵀGλ - y·λ."""
        cut, (first, second) = self.cut, self._bits
        left, right = centre[:, :cut] @ first, centre[:, cut:] @ second
        inside = np.einsum("ij,ij->j", second, right[cut:])[:, None] + np.einsum("ij,ij->j", first, left[:cut])
        squares = (inside + 2 * second.T @ left[cut:]).ravel()
        across = centre.sum(axis=1)
        along, asked = self._sums(across), self._sums(y)
        constant, total = float(across.sum()), float(y.sum())
        costs, columns = [np.empty(0)], [np.empty((self.size, 0))]
        if self.two is not None and len(self.two[0]):
            sets, low, high = self.two
            span = high - low
            here = low * (low * constant + 2 * span * along[sets] - total) + span * (span * squares[sets] - asked[sets])
            places = _largest(here, number)
            costs.append(here[places])
            columns.append(self._column(sets[places], low[places], high[places]))
        ends, table = None, squares
        for part in self.free:
            if (part.low, part.high) != ends:
                ends, wide = (part.low, part.high), part.high - part.low
                table = part.low * (part.low * constant + 2 * wide * along - total) + wide * (wide * squares - asked)
            sets, letter = part.sets, part.letter
            slope = left[letter][sets & ((1 << cut) - 1)] + right[letter][sets >> cut]
            slope = 2 * (part.low * across[letter] + wide * slope) - y[letter]
            here = table[sets] + part.above * (slope + part.above * centre[letter, letter])
            # Most letters have few vertices among the best, or none.
            places = np.flatnonzero(here > _least_of(costs, number))
            places = places[_largest(here[places], number)]
            found = self._column(sets[places], part.low, part.high)
            found[letter] = part.low + part.above[places]
            costs.append(here[places])
            columns.append(found)
        cost, column = np.concatenate(costs), np.concatenate(columns, axis=1)
        order = np.argsort(-cost, kind="stable")[:number]
        return column[:, order], float(cost[order[0]])

    def _column(self, sets: Indices, low: Floats | float, high: Floats | float) -> Floats:
        raised = (sets[None, :] >> np.arange(self.size)[:, None]) & 1 == 1
        return np.where(raised, high, low)


def _least_of(costs: list[Floats], number: int) -> float:
    """The last one that is among the best so far; -∞ while there are fewer."""
    known = np.concatenate(costs)
    return float(np.partition(known, -number)[-number]) if len(known) >= number else -np.inf


def _largest(costs: Floats, number: int) -> Indices:
    """The places of the largest numbers, the largest first."""
    places = np.argpartition(-costs, number - 1)[:number] if number < len(costs) else np.arange(len(costs))
    return places[np.argsort(-costs[places], kind="stable")]
