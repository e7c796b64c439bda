"""How much of the letters the columns of a mask can cover at a given ratio: a linear program by column generation.

max Σ_r ρ_r Σ_i λ_ri  s.t.  Σ_r ρ_r λ_ri ≤ 1 over all lift vectors on the mask with largest lift c. The value is N iff a
mechanism exists (MATH section 3). A part of a large secret may ask to cover only some letters,
or some of them in part. A column is kept as the order in which it fills its letters, so that it is a column
at every ratio, and the program stays warm when the ratio moves.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from leakwise.errors import NotConverged
from leakwise.lp import LinearProgram, Solution
from leakwise.optimize.masks.columns import Greedy, MaskColumns

__all__ = ["Covered", "Packing"]

Floats = npt.NDArray[np.float64]
Places = npt.NDArray[np.intp]
Bools = npt.NDArray[np.bool_]

Enough = Callable[[Floats], bool]

_ROUNDS = 2000
_PATIENCE = 2.0  # seconds for a program of a few dozen letters, which takes milliseconds
_HANDED_ON = 6  # columns per letter that one mask hands on to the next
# Covered up to this share counts as covered: what is missing is far below the accuracy of the linear program.
_DUST = 1e-11
_CRUMB = 1e-10


@dataclass(frozen=True)
class Covered:
    """The best cover at a ratio: weights of the pool's columns, the duals, and the basis that is optimal."""

    ratio: float
    whole: bool  # every letter is covered: a mechanism exists
    missing: float
    weights: Floats
    y: Floats  # 1 - duals: Σ y = what is missing, y·λ ≤ 0 for every lift vector
    columns: Places  # of the basis
    tight: Bools  # the rows whose slack is not in the basis


class Packing:
    """The pool of columns of a mask, and the linear program over it."""

    def __init__(self, columns: MaskColumns, needed: Floats | None = None, room: Floats | None = None) -> None:
        """``needed``: 1 for the letters that must be covered, 0 for those that may; ``room``: how much of each."""
        self.columns = columns
        self.needed = np.ones(columns.size) if needed is None else needed
        self.room = np.ones(columns.size) if room is None else room
        self.whole = float(self.needed @ self.room)
        width = columns.letters.shape[1]
        self.outputs = np.empty(0, dtype=np.intp)
        self.letters = np.empty((0, width), dtype=np.intp)
        self.before = np.empty((0, width))
        self.solved = 0  # linear programs so far
        self._program: LinearProgram | None = None
        self._ratio = np.nan

    def add(self, greedy: Greedy, chosen: Places) -> None:
        """Take columns into the pool (and into the program, if there is one)."""
        if not len(chosen):
            return
        start = len(self.outputs)
        self.outputs = np.concatenate([self.outputs, chosen])
        self.letters = np.concatenate([self.letters, greedy.letters[chosen]])
        self.before = np.concatenate([self.before, greedy.before[chosen]])
        if self._program is not None:
            costs, matrix = self._compressed(np.arange(start, len(self.outputs)), self._ratio)
            self._program.add_columns(costs, matrix)

    def orders(self, outputs: Places, letters: Places) -> None:
        """Take columns given by the order of their letters (padded with N)."""
        mass = np.concatenate([self.columns.p, [0.0]])[letters]
        nothing = np.zeros(letters.shape)
        greedy = Greedy(nothing[:, 0], letters, np.cumsum(mass, axis=1) - mass, nothing)
        before = len(self.outputs)
        self.add(greedy, np.arange(len(outputs)))
        self.outputs[before:] = outputs

    def restricted(self, columns: MaskColumns) -> Packing | None:
        """The latest columns of this pool on a smaller mask over the same letters: letters drop out."""
        latest = np.arange(max(0, len(self.outputs) - _HANDED_ON * columns.size), len(self.outputs))
        if not len(latest):
            return None
        outputs, letters = self.outputs[latest], self.letters[latest]
        padded = np.concatenate([columns.allowed, np.zeros((1, columns.count), dtype=np.bool_)])
        letters = np.where(padded[letters, outputs[:, None]], letters, columns.size)
        letters = np.take_along_axis(letters, np.argsort(letters == columns.size, axis=1, kind="stable"), axis=1)
        pool = Packing(columns)
        width = columns.letters.shape[1]
        different = np.unique(np.column_stack([outputs, letters[:, :width]]), axis=0)
        pool.orders(different[:, 0], different[:, 1:])
        return pool

    def lifts(self, chosen: Places, ratio: float) -> Floats:
        """The lifts of pool columns at a ratio, in the layout of the pool (n×K)."""
        return self.columns.lifts(self.letters[chosen], self.before[chosen], ratio)

    def dense(self, chosen: Places, ratio: float) -> Floats:
        """The lifts of pool columns as N×n."""
        matrix = np.zeros((self.columns.size + 1, len(chosen)))
        matrix[self.letters[chosen], np.arange(len(chosen))[:, None]] = self.lifts(chosen, ratio)
        return matrix[:-1]

    def _compressed(self, chosen: Places, ratio: float) -> tuple[Floats, tuple[Floats, Places, Places]]:
        lifts = self._coefficients(chosen, ratio)
        positive = lifts > 0
        starts = np.concatenate([[0], np.cumsum(positive.sum(axis=1))])
        return self._costs(chosen, lifts), (lifts[positive], self.letters[chosen][positive], starts)

    def _coefficients(self, chosen: Places, ratio: float) -> Floats:
        """The lifts for the linear program, without the crumbs that make it run in circles."""
        lifts = self.lifts(chosen, ratio)
        return np.where(lifts > _CRUMB * ratio, lifts, 0.0)

    def _costs(self, chosen: Places, lifts: Floats) -> Floats:
        costs: Floats = (lifts * np.concatenate([self.needed, [0.0]])[self.letters[chosen]]).sum(axis=1)
        return costs

    def cover(self, ratio: float, *, strictly: bool = False, enough: Enough | None = None) -> Covered:
        """The best cover at a ratio; strictly: by outputs that a smaller ratio could use as well.

        ``enough`` is asked after each round whether its duals prove what was to be proven: then the search ends early.
        """
        columns, size = self.columns, self.columns.size
        usable = columns.usable(ratio, strictly=strictly)
        if not len(self.outputs):
            first = columns.greedy(columns.per_pair(self.needed), ratio)
            self.add(first, np.arange(columns.count))
        self._at(ratio)
        self._close(usable)
        for _ in range(_ROUNDS):
            solution = self._solved(usable)
            y = self.needed - solution.duals
            whole = solution.objective >= self.whole * (1 - _DUST)
            priced = columns.greedy(columns.per_pair(y), ratio)
            chosen = np.flatnonzero(usable & (priced.values > 1e-10))
            if whole or not len(chosen) or (enough is not None and enough(y)):
                break
            self.add(priced, chosen)
        basis = solution.basis
        assert basis is not None
        tight = np.ones(size, dtype=np.bool_)
        tight[basis.rows] = False
        return Covered(ratio, whole, self.whole - solution.objective, solution.x, y, basis.columns, tight)

    def _fresh(self) -> LinearProgram:
        assert self._program is not None  # just built
        return self._program

    def _solved(self, usable: Bools) -> Solution:
        """The program solved; built anew where the warm basis leads round in circles."""
        assert self._program is not None
        self.solved += 1
        patience = _PATIENCE * (1 + self.columns.size / 50)
        solution = self._program.solve(patience)
        if not solution.optimal:
            self._program = None
            self._at(self._ratio)
            self._close(usable)
            solution = self._fresh().solve(20 * patience)
        if not solution.optimal:
            raise NotConverged(
                f"The linear program over {len(self.outputs):,} columns was not solved ({solution.status}).",
                lower=0.0,
                upper=float("inf"),
            )
        return solution

    def _close(self, usable: Bools) -> None:
        """Keep the outputs out that cannot be used."""
        assert self._program is not None
        self._program.change_column_bounds(0.0, np.where(usable[self.outputs], np.inf, 0.0))

    def _at(self, ratio: float) -> None:
        """The program at another ratio, its basis kept."""
        if self._program is not None and ratio == self._ratio:
            return
        every = np.arange(len(self.outputs))
        self._ratio = ratio
        if self._program is None:
            costs, matrix = self._compressed(every, ratio)
            nothing = np.full(self.columns.size, -np.inf)
            self._program = LinearProgram(costs, matrix, nothing, self.room, maximize=True)
            return
        lifts = self._coefficients(every, ratio)
        real = self.letters < self.columns.size
        column = np.broadcast_to(every[:, None], real.shape)[real]
        self._program.change_coefficients(self.letters[real], column, lifts[real])
        self._program.change_costs(self._costs(every, lifts))
