"""The envelope of kernels with up to millions of outcomes, by the dual: one variable for each letter.

V(t) = min_{v ≥ 0} Σ_y q_y max(0, max_x 1 + v_x (λ_xy - t)) is convex and piecewise linear. Around a point v nearly all
outcomes keep their place (one letter, or nowhere) and add up to a linear function; only those near a tie need a row of
their own. So: a box around v as wide as a few thousand undecided outcomes allow, a linear program in that box, and on
to the box around its solution. A solution inside its box is the minimum of the whole, and its basis one of the whole
program.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from leakwise.leakage.envelopes.problem import Columns
from leakwise.leakage.envelopes.program import Program, Solved, nothing
from leakwise.leakage.envelopes.search import search
from leakwise.leakage.envelopes.vertices import make_vertex
from leakwise.types import Bools, Floats, Indices

if TYPE_CHECKING:
    from leakwise.lp import Solution

__all__ = ["UNDECIDED", "DualProgram"]

UNDECIDED = 10_000
"""How many outcomes near a tie one linear program takes."""
_BOXES = 200
_LEVELS = (3_000, 30_000, 200_000)


@dataclass(frozen=True, eq=False)
class _Box:
    """What is decided for every v in the box, and the pairs that are not."""

    low: Floats
    high: Floats
    place: Indices
    letter: Indices
    column: Indices


class DualProgram:
    """V(t) in units of δ for kernels with many outcomes; the dual vector is kept from one t to the next."""

    def __init__(self, columns: Columns, delta: float, undecided: int = UNDECIDED) -> None:
        self.columns = columns
        self.delta = delta
        self.capacity: Floats = np.minimum(columns.mass, delta) / delta
        self.solves = 0
        # A box must be able to hold the ties of a vertex, and some more to move by.
        self._undecided = max(undecided, 8 * len(columns.lift))
        self._dual: Floats = np.zeros(len(columns.lift))

    def first_guess(self, low: float) -> float | None:
        """Return the root for larger and larger samples of the outcomes; each level's dual vector starts the next."""
        size = len(self.columns.mass)
        guess: float | None = None
        for level in _LEVELS:
            if 4 * level > size:
                break
            sample = self._sample(level, low)
            high = float(sample.largest.max())
            if guess is None:
                found = search(Program(sample, self.delta), 1.0, high)
            else:
                program = DualProgram(sample, self.delta, self._undecided)
                program._dual = self._dual
                found = search(program, 1.0, high, min(guess, high))
            guess, self._dual = found.t, np.where(found.dual > 0, found.dual, self._dual)
        return guess

    def warm(self, t: float) -> None:
        """Start the dual vector at t from larger and larger samples."""
        for level in _LEVELS:
            if 4 * level > len(self.columns.mass):
                return
            sample = self._sample(level, t)
            program = DualProgram(sample, self.delta, self._undecided)
            program._dual = self._dual
            found = program.solve(t, sample.largest > t)
            self._dual = np.where(found.dual > 0, found.dual, self._dual)

    def _sample(self, size: int, low: float) -> Columns:
        """Outcomes evenly spaced in probability, those of one letter side by side; by no chance, so always the same.

        Outcomes far below the lift in question are of little use and taken more seldom, with more weight each.
        """
        lift, mass = self.columns.lift, self.columns.mass
        top = lift.max(axis=0)
        order = np.lexsort((top, lift.argmax(axis=0)))
        use = np.minimum(top / low, 1.0) ** 4
        reach = np.cumsum((mass * use)[order])
        cuts = np.searchsorted(reach, (np.arange(size) + 0.5) * reach[-1] / size)
        chosen = order[np.minimum(cuts, len(order) - 1)]
        return Columns(np.ascontiguousarray(lift[:, chosen]), reach[-1] / size / use[chosen])

    def _alone(self, letter: int, t: float) -> float:
        """The v of a letter that has all outcomes to itself: its largest event with an average lift of t."""
        row = self.columns.lift[letter]
        near = np.flatnonzero(row > 0.5 * t)
        order = near[np.argsort(-row[near], kind="stable")]
        surplus = np.cumsum(self.capacity[order] * (row[order] - t))
        # The surplus rises and falls again: the event ends where it is used up.
        last = int(np.flatnonzero(surplus >= 0).max(initial=0))
        edge = float(row[order[min(last + 1, len(order) - 1)]])
        return 1.0 / max(t - edge, 1e-9 * t)

    def column_of(self, kept: Indices) -> Indices:
        """Return the columns themselves: every column is a column of the problem."""
        return kept

    def solve(self, t: float, active: Bools) -> Solved:
        """Return V(t)/δ over the active letters: the minimum over v, box by box."""
        letters = np.flatnonzero(active)
        if not len(letters):
            return nothing(t, len(active))
        v = np.where(active, self._dual, 0.0)
        for letter in letters[v[letters] <= 0].tolist():
            v[letter] = self._alone(letter, t)
        for _ in range(_BOXES):
            self.solves += 1
            box = self._box(t, letters, v)
            solution, value, dual, inside = self._in_box(t, letters, box)
            v = dual
            if inside:
                break
        self._dual = np.where(v > 0, v, self._dual)
        return self._solved(t, letters, box, solution, value, v, inside)

    def _box(self, t: float, letters: Indices, v: Floats) -> _Box:
        radius = self._radius(t, letters, v)
        low, high = v * (1.0 - radius), v * (1.0 + radius)
        if radius >= 0.9:
            low, high = np.zeros_like(v), np.where(v > 0, np.inf, 0.0)
        size = len(self.capacity)
        sure = np.zeros(size)  # the height that the best place has at least, whatever v in the box
        place = np.full(size, -1)
        for letter in letters.tolist():
            excess = self.columns.lift[letter] - t
            least = 1.0 + np.where(excess < 0, _times(high[letter], excess), low[letter] * excess)
            higher = least > sure
            sure[higher], place[higher] = least[higher], letter
        open_ = np.zeros(size, dtype=np.bool_)
        rivals: list[Indices] = []
        for letter in letters.tolist():
            excess = self.columns.lift[letter] - t
            most = 1.0 + np.where(excess > 0, _times(high[letter], excess), low[letter] * excess)
            rival = np.flatnonzero((most >= sure) & (self.capacity > 0))
            rivals.append(rival)
            open_[rival[place[rival] != letter]] = True
        place[open_] = -2
        rivals = [rival[open_[rival]] for rival in rivals]
        owner = np.repeat(letters, [len(rival) for rival in rivals])
        return _Box(low, high, place, owner, np.concatenate(rivals))

    def _radius(self, t: float, letters: Indices, v: Floats) -> float:
        """The relative width of a box in which about so many outcomes can change their place."""
        size = len(self.capacity)
        if size <= self._undecided:
            return 1.0
        best, second = np.zeros(size), np.full(size, -np.inf)
        width, second_width = np.zeros(size), np.zeros(size)
        for letter in letters.tolist():
            tilt = v[letter] * (self.columns.lift[letter] - t)
            height, reach = 1.0 + tilt, np.abs(tilt)
            first = height > best
            beaten, beaten_width = np.where(first, best, height), np.where(first, width, reach)
            best, width = np.where(first, height, best), np.where(first, reach, width)
            closer = beaten > second
            second = np.where(closer, beaten, second)
            second_width = np.where(closer, beaten_width, second_width)
        margin = (best - second) / np.maximum(width + second_width, 1e-300)
        margin[self.capacity == 0] = np.inf
        return min(1.0, max(float(np.partition(margin, self._undecided)[self._undecided]), 1e-13))

    def _in_box(self, t: float, letters: Indices, box: _Box) -> tuple[Solution, float, Floats, bool]:
        """max Σ w - high·u + low·d  s.t.  w = c·share,  Σ_x share_xy ≤ 1,  Σ_y w_xy (λ_xy - t) + u_x - d_x ≥ -(what is
        decided).
        """
        from leakwise.lp import LinearProgram

        lift, count = self.columns.lift, len(box.letter)
        undecided = np.flatnonzero(box.place == -2)
        row = np.full(len(self.capacity), -1)
        row[undecided] = np.arange(len(undecided))
        letter_row = np.full(len(lift), -1)
        letter_row[letters] = len(undecided) + np.arange(len(letters))
        decided = np.flatnonzero(box.place >= 0)
        home = box.place[decided]
        surplus = self.capacity[decided] * (lift[home, decided] - t)
        gains = np.bincount(home, weights=surplus, minlength=len(lift))
        finite = letters[np.isfinite(box.high[letters])]
        positive = letters[box.low[letters] > 0]
        # Rows in units of t, so that the dual of a row is v t.
        shares = self.capacity[box.column]
        excess = (lift[box.letter, box.column] / t - 1.0) * shares
        excess[np.abs(excess) < 1e-12] = 0.0
        pairs = np.column_stack([np.ones(count), excess]).ravel()
        places = np.column_stack([row[box.column], letter_row[box.letter]]).ravel()
        single = len(finite) + len(positive)
        program = LinearProgram(
            np.concatenate([shares, -box.high[finite] * t, box.low[positive] * t]),
            (
                np.concatenate([pairs, np.ones(len(finite)), -np.ones(len(positive))]),
                np.concatenate([places, letter_row[finite], letter_row[positive]]),
                np.concatenate([np.arange(0, 2 * count, 2), 2 * count + np.arange(single + 1)]),
            ),
            np.concatenate([np.full(len(undecided), -np.inf), -gains[letters] / t]),
            np.concatenate([np.ones(len(undecided)), np.full(len(letters), np.inf)]),
            maximize=True,
        )
        solution = program.solve()
        dual = np.zeros(len(lift))
        dual[letters] = np.maximum(-solution.duals[len(undecided) :], 0.0) / t
        value = float(self.capacity[decided].sum()) + float(solution.objective)
        inside = bool((np.abs(solution.x[count:]) <= 1e-12).all())
        return solution, value, dual, inside

    def _solved(
        self, t: float, letters: Indices, box: _Box, solution: Solution, value: float, dual: Floats, inside: bool
    ) -> Solved:
        count = len(box.letter)
        decided = np.flatnonzero(box.place >= 0)
        flow = solution.x[:count] * self.capacity[box.column]
        used = np.flatnonzero(flow > 0)
        vertex = None
        if inside and solution.basis is not None:
            basic = solution.basis.columns[solution.basis.columns < count]
            undecided = np.flatnonzero(box.place == -2)
            slack = solution.basis.rows[solution.basis.rows < len(undecided)]
            unassigned = box.place == -1
            unassigned[undecided[slack]] = True
            vertex = make_vertex(
                self.columns,
                self.capacity,
                self.delta,
                letters,
                np.concatenate([box.place[decided], box.letter[basic]]),
                np.concatenate([decided, box.column[basic]]),
                unassigned,
            )
        return Solved(
            t,
            value,
            dual,
            np.concatenate([box.place[decided], box.letter[used]]),
            np.concatenate([decided, box.column[used]]),
            np.concatenate([self.capacity[decided], flow[used]]),
            vertex,
        )


def _times(bound: float, excess: Floats) -> Floats:
    """bound · excess, where an infinite bound times zero is zero."""
    if np.isfinite(bound):
        return bound * excess
    return np.where(excess > 0, np.inf, np.where(excess < 0, -np.inf, 0.0))
