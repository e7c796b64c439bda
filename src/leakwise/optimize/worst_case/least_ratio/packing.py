"""How much of the letters the columns of a mask can cover at a given ratio: a linear program by column generation.

max Σ_r ρ_r Σ_i λ_ri  s.t.  Σ_r ρ_r λ_ri ≤ 1 over all lift vectors on the mask with largest lift c. The value is N iff a
mechanism exists. The program holds λ divided by its largest entry, however large c is. A part of a large secret may ask
to cover only some letters, or some of them in part. A column is kept as the order in which it fills its letters, so
that it is a column at every ratio, and the program stays warm when the ratio moves.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from leakwise.errors import NotConverged
from leakwise.lp import LinearProgram, Solution
from leakwise.optimize.worst_case.least_ratio.columns import Greedy, MaskColumns
from leakwise.types import Bools, Floats, Indices

__all__ = ["Covered", "Packing"]


Enough = Callable[[Floats], bool]

_ROUNDS = 2000
_PATIENCE = 2.0  # seconds for a program of a few dozen letters, which takes milliseconds
_HANDED_ON = 6  # columns per letter that one mask hands on to the next
# Covered up to this share counts as covered: what is missing is far below the accuracy of the linear program.
_DUST = 1e-11
_CRUMB = 1e-10
# The tolerances of the solver are absolute: costs multiplied by this give duals that are so much sharper.
_SHARP = 2.0**7
_WORTH = 1e-12  # what a column must be worth to be taken in


@dataclass(frozen=True)
class Covered:
    """The best cover at a ratio: weights of the pool's columns, the duals, and the basis that is optimal."""

    ratio: float
    whole: bool  # every letter is covered: a mechanism exists
    missing: float
    weights: Floats
    y: Floats  # 1 - duals: Σ y = what is missing, y·λ ≤ 0 for every lift vector
    columns: Indices  # of the basis
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
        self._known = set[tuple[int, bytes]]()  # columns that pricing has found
        self._program: LinearProgram | None = None
        self._ratio = np.nan
        self._crumb = _CRUMB

    def add(self, greedy: Greedy, chosen: Indices) -> None:
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

    def orders(self, outputs: Indices, letters: Indices) -> None:
        """Take columns given by the order of their letters (padded with N)."""
        nothing = np.zeros(letters.shape)
        greedy = Greedy(nothing[:, 0], letters, self.columns.earlier(letters), nothing)
        before = len(self.outputs)
        self.add(greedy, np.arange(len(outputs)))
        self.outputs[before:] = outputs

    def restricted(self, columns: MaskColumns) -> Packing | None:
        """Return the latest columns of this pool on a smaller mask over the same letters: letters drop out."""
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

    def shapes(self, chosen: Indices, ratio: float) -> Floats:
        """Pool columns at a ratio, their largest entry one, in the layout of the pool (n×K)."""
        filled = self.columns.filled(self.letters[chosen], self.before[chosen], ratio)
        # The first letter has the most; a column without letters (its last one was forbidden) stays zero.
        return filled / np.where(filled[:, :1] > 0, filled[:, :1], 1.0)

    def dense(self, chosen: Indices, ratio: float) -> Floats:
        """Pool columns at a ratio, their largest entry one, as N×n."""
        matrix = np.zeros((self.columns.size + 1, len(chosen)))
        matrix[self.letters[chosen], np.arange(len(chosen))[:, None]] = self.shapes(chosen, ratio)
        return matrix[:-1]

    def _compressed(self, chosen: Indices, ratio: float) -> tuple[Floats, tuple[Floats, Indices, Indices]]:
        shapes = self._coefficients(chosen, ratio)
        positive = shapes > 0
        starts = np.concatenate([[0], np.cumsum(positive.sum(axis=1))])
        return self._costs(chosen, shapes), (shapes[positive], self.letters[chosen][positive], starts)

    def _coefficients(self, chosen: Indices, ratio: float) -> Floats:
        """The columns for the linear program, without the crumbs that make it run in circles."""
        shapes = self.shapes(chosen, ratio)
        shapes = np.where(shapes > 1 - self._crumb, 1.0, shapes)
        return np.where(shapes > self._crumb, shapes, 0.0)

    def _costs(self, chosen: Indices, shapes: Floats) -> Floats:
        costs: Floats = _SHARP * (shapes * np.concatenate([self.needed, [0.0]])[self.letters[chosen]]).sum(axis=1)
        return costs

    def cover(self, ratio: float, *, strictly: bool = False, enough: Enough | None = None) -> Covered:
        """Return the best cover at a ratio; strictly: by outputs that a smaller ratio could use as well.

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
            y = self.needed - solution.duals / _SHARP
            value = float(solution.objective) / _SHARP
            # Primal and dual value differ by the tolerances of the solver: whole is what is so by either.
            whole = max(value, self.whole - float(self.room @ y)) >= self.whole * (1 - _DUST)
            priced = columns.greedy(columns.per_pair(y), ratio)
            worth = priced.values > _WORTH * priced.lifts[:, 0]
            chosen = self._unknown(priced, np.flatnonzero(usable & worth))
            if whole or not len(chosen) or (enough is not None and enough(y)):
                break
            self.add(priced, chosen)
            self._known.update((output, priced.letters[output].tobytes()) for output in chosen.tolist())
        basis = solution.basis
        assert basis is not None
        tight = np.ones(size, dtype=np.bool_)
        tight[basis.rows] = False
        return Covered(ratio, whole, self.whole - value, solution.x, y, basis.columns, tight)

    def _unknown(self, priced: Greedy, chosen: Indices) -> Indices:
        """Those that are not in the pool: a column of the pool is worth more only within the solver's tolerance."""
        fresh = [output for output in chosen.tolist() if (output, priced.letters[output].tobytes()) not in self._known]
        return np.array(fresh, dtype=np.intp)

    def _solved(self, usable: Bools) -> Solution:
        """The program solved; built again where the warm basis leads round in circles."""
        patience = _PATIENCE * (1 + self.columns.size / 50)
        for crumb in (_CRUMB, 1e2 * _CRUMB, 1e4 * _CRUMB, None):
            try:
                assert self._program is not None  # just built
                solution = self._program.solve(patience)
            except NotConverged:  # numbers of very different size: without the smallest of them, then
                pass
            else:
                if solution.optimal:
                    return solution
            if crumb is None:
                break
            self._program, self._crumb, patience = None, crumb, 20 * _PATIENCE * (1 + self.columns.size / 50)
            self._at(self._ratio)
            self._close(usable)
        raise NotConverged(
            f"The linear program over {len(self.outputs):,} columns was not solved.", lower=0.0, upper=float("inf")
        )

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
        shapes = self._coefficients(every, ratio)
        real = self.letters < self.columns.size
        column = np.broadcast_to(every[:, None], real.shape)[real]
        self._program.change_coefficients(self.letters[real], column, shapes[real])
        self._program.change_costs(self._costs(every, shapes))
