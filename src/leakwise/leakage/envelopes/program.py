"""The envelope as a linear program [beyond]: V(t), its optimal post-processing and its dual vector.

V(t) = max Σ_xy w_xy  s.t.  Σ_x w_xy ≤ q_y,  Σ_y w_xy (λ_xy - t) ≥ 0 for each x,  w ≥ 0, is the largest probability of a
leakage of at least log t after any post-processing: all post-processed outcomes that speak most for the letter x can
be merged into one, whose lift at x is an average of theirs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from leakwise.leakage.envelopes.problem import Columns
from leakwise.leakage.envelopes.vertices import Vertex, make_vertex
from leakwise.types import Bools, Floats, Indices

if TYPE_CHECKING:
    from leakwise.lp import LinearProgram

__all__ = ["CLOSE", "Program", "Solved", "nothing"]

# A capacity this far below the target is lost in the solver's tolerances; the certificate counts it again.
_NEGLIGIBLE = 1e-13
CLOSE = 1e-11
"""By how much (relatively) a vertex may be off and still count as optimal; the certificate pays for it."""
# HiGHS takes coefficients below this for zeros.
_ZERO = 1e-12
_WIDEST = 1e-9


@dataclass(frozen=True, eq=False)
class Solved:
    """V(t)/δ for one t and one set of letters: dual vector, flow w in units of δ, and the vertex where there is one."""

    t: float
    value: float
    dual: Floats
    letter: Indices
    column: Indices
    flow: Floats
    vertex: Vertex | None

    @property
    def slope(self) -> float:
        """-V'(t)/δ = Σ_x v_x Σ_y w_xy."""
        return float(self.dual[self.letter] @ self.flow)

    @property
    def sound(self) -> Vertex | None:
        """The vertex, where its own linear algebra finds it optimal, too."""
        return self.vertex if self.vertex is not None and self.vertex.violation(self.t) <= CLOSE else None

    @property
    def polished_dual(self) -> Floats:
        """The dual vector of the basis, free of the solver's tolerance where the basis allows."""
        return self.dual if self.sound is None else self.sound.dual(self.t)


def nothing(t: float, letters: int) -> Solved:
    """Return the answer when no letter can reach the lift."""
    none = np.zeros(0, dtype=np.intp)
    return Solved(t, 0.0, np.zeros(letters), none, none, np.zeros(0), None)


class Program:
    """The linear program in units of δ, kept warm while t moves.

    An outcome likelier than δ counts as δ: V(t) ≥ δ holds with or without the cap, and tiny δ do not drown. The
    variables are shares of outcomes, so that the solver's tolerances are relative to each outcome, however rare.
    """

    def __init__(self, columns: Columns, delta: float) -> None:
        # What counts is the probability of an outcome given some letter, which may be much above its own.
        weight = np.maximum(columns.lift.max(axis=0), 1.0)
        kept = np.flatnonzero(np.minimum(columns.mass, delta) / delta * weight > _NEGLIGIBLE)
        self._kept = kept
        self._whole = columns
        self.columns = columns if len(kept) == len(columns.mass) else Columns(columns.lift[:, kept], columns.mass[kept])
        self.capacity: Floats = np.minimum(self.columns.mass, delta) / delta
        self.delta = delta
        self.solves = 0
        self._program: LinearProgram | None = None
        self._closed: Bools = np.zeros(len(columns.lift), dtype=np.bool_)

    def solve(self, t: float, active: Bools) -> Solved:
        """Return V(t)/δ over the active letters."""
        from leakwise.lp import LinearProgram

        self.solves += 1
        letters, outcomes = self.columns.lift.shape
        if not active.any():
            return nothing(t, letters)
        # Rows in units of t, or of what keeps the largest lift within the solver's range.
        scale = np.maximum(t, self.columns.largest * _WIDEST)
        excess = ((self.columns.lift - t) * (self.capacity / scale[:, None])).ravel()
        excess[np.abs(excess) < _ZERO] = 0.0
        pair = np.arange(letters * outcomes)
        letter, outcome = np.divmod(pair, outcomes)
        if self._program is None:
            data = np.ones(2 * len(pair))
            data[1::2] = excess
            rows = np.empty(2 * len(pair), dtype=np.int64)
            rows[0::2], rows[1::2] = outcome, outcomes + letter
            self._program = LinearProgram(
                np.tile(self.capacity, letters),
                (data, rows, np.arange(0, 2 * len(pair) + 1, 2)),
                np.concatenate([np.full(outcomes, -np.inf), np.zeros(letters)]),
                np.concatenate([np.ones(outcomes), np.full(letters, np.inf)]),
                maximize=True,
            )
        else:
            self._program.change_coefficients(outcomes + letter, pair, excess)
        if not np.array_equal(~active, self._closed):
            upper = np.where(np.repeat(active, outcomes), np.inf, 0.0)
            self._program.change_column_bounds(0.0, upper)
            self._closed = ~active
        solution = self._program.solve()
        dual = np.where(active, np.maximum(-solution.duals[outcomes:], 0.0) / scale, 0.0)
        vertex = None
        if solution.basis is not None:
            basic = solution.basis.columns
            slack = solution.basis.rows
            unassigned = np.zeros(outcomes, dtype=np.bool_)
            unassigned[slack[slack < outcomes]] = True
            here = active[letter[basic]]
            vertex = make_vertex(
                self.columns,
                self.capacity,
                self.delta,
                np.flatnonzero(active),
                letter[basic[here]],
                outcome[basic[here]],
                unassigned,
            )
        used = np.flatnonzero(solution.x > 0)
        flow = solution.x[used] * self.capacity[outcome[used]]
        return Solved(t, float(solution.objective), dual, letter[used], outcome[used], flow, vertex)

    def column_of(self, kept: Indices) -> Indices:
        """Return the columns of the problem for columns of this program."""
        return self._kept[kept]
