"""e^{ε_c(δ)}: the largest t with V(t) ≥ δ, by a few solutions at fixed t and the vertices that connect them.

V falls with t, continuously but for jumps at the largest lifts T_x. First a guess is followed: the vertex found there
has a root, and where the vertex is still optimal at its root, that is the answer. Otherwise the jumps are bisected,
and the root is looked for between two of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from leakwise.leakage.envelopes.problem import Columns
from leakwise.leakage.envelopes.program import CLOSE, Solved
from leakwise.leakage.envelopes.shares import Shares
from leakwise.leakage.envelopes.vertices import Vertex
from leakwise.types import Bools, Floats, Indices

__all__ = ["SAME", "Found", "Solver", "search", "tidy"]

SAME = 1e-13
"""Lifts that differ by less than this, relatively, are one jump."""
_FOLLOWED = 12
_MOST = 80


class Solver(Protocol):
    """What solves V(t) at a fixed t, in units of δ."""

    columns: Columns
    delta: float
    solves: int

    def solve(self, t: float, active: Bools) -> Solved:
        """Return V(t)/δ over the active letters."""
        ...

    def column_of(self, kept: Indices) -> Indices:
        """Return the columns of the problem for columns of the solver."""
        ...


@dataclass(frozen=True, eq=False)
class Found:
    """The root t, a dual vector that proves (up to its exact evaluation) that it is one, and shares that reach it."""

    t: float
    dual: Floats
    shares: Shares
    vertex: Vertex | None = None


def search(solver: Solver, low: float, high: float, guess: float | None = None) -> Found:
    """Return the largest t with V(t) ≥ δ, which lies in [low, high]."""
    largest = solver.columns.largest
    followed = _follow(solver, low, high, np.sqrt(low) * np.sqrt(high) if guess is None else guess)
    if followed is not None:
        return followed
    jumps = _distinct(np.sort(largest[(largest >= low * (1 - SAME)) & (largest <= high * (1 + SAME))]))
    # V(jump) ≥ δ holds for the jumps up to `left` and fails from `first` on.
    left, first = -1, len(jumps)
    at: dict[int, Solved] = {}
    while first - left > 1:
        middle = (left + first) // 2
        at[middle] = solver.solve(jumps[middle], largest >= jumps[middle] * (1 - SAME))
        if at[middle].value >= 1.0:
            left = middle
        else:
            first = middle
    start = at.get(first)
    if left >= 0:
        low = jumps[left]
        after = solver.solve(low, largest > low * (1 + SAME))
        if after.value <= 1.0:
            return Found(low, after.polished_dual, _flow(solver, at[left]))
        start = after
    if first < len(jumps):
        high = min(high, jumps[first])
    return _root(solver, largest > low * (1 + SAME), low, high, start)


def _distinct(values: Floats) -> list[float]:
    jumps: list[float] = []
    for value in values.tolist():
        if jumps and value <= jumps[-1] * (1 + SAME):
            jumps[-1] = value
        else:
            jumps.append(value)
    return jumps


def _follow(solver: Solver, low: float, high: float, t: float) -> Found | None:
    """From vertex to root to vertex, between two jumps; None where that leads nowhere."""
    largest = solver.columns.largest
    for _ in range(_FOLLOWED):
        active = largest >= t * (1 - SAME)
        if not active.any():
            return None
        state = solver.solve(t, active)
        floor = max(low, float(largest[~active].max(initial=1.0)))
        ceiling = min(high, float(largest[active].min()))
        root = None if state.vertex is None else state.vertex.root(1.0, t, floor, ceiling)
        if root is None or state.vertex is None:
            return None
        if root >= ceiling * (1 - SAME) or abs(root - t) <= 1e-15 * t:
            return None  # at a jump the proof needs the letters beyond it only
        if state.vertex.violation(root) <= CLOSE:
            return _at_vertex(solver, state.vertex, root)
        t = root
    return None


def _root(solver: Solver, active: Bools, low: float, high: float, start: Solved | None) -> Found:
    """The root between two jumps, bracketed."""
    state = solver.solve(np.sqrt(low) * np.sqrt(high), active) if start is None else start
    below: Solved | None = None
    above: Solved | None = None
    for _ in range(_MOST):
        if state.value >= 1.0:
            below, low = state, max(low, state.t)
        else:
            above, high = state, min(high, state.t)
        guess = None if state.vertex is None else state.vertex.root(1.0, state.t, low, high)
        if guess is not None and state.vertex is not None:
            if state.vertex.violation(guess) <= CLOSE:
                return _at_vertex(solver, state.vertex, guess)
        elif state.slope > 0:
            guess = state.t + (state.value - 1.0) / state.slope
        if guess is None or not low < guess < high or abs(guess - state.t) <= 1e-15 * guess:
            guess = float(np.sqrt(low) * np.sqrt(high))
        if high - low <= 4e-16 * high:
            break
        state = solver.solve(guess, active)
    # The tolerances of the solver were reached first: exact evaluation of both ends says how close this is.
    last = above or state
    return Found(last.t, last.polished_dual, _flow(solver, below or last))


def _at_vertex(solver: Solver, vertex: Vertex, t: float) -> Found:
    return Found(t, vertex.dual(t), _moved(solver, vertex.shares(t)), vertex)


def _moved(solver: Solver, shares: Shares) -> Shares:
    return Shares(shares.letter, solver.column_of(shares.column), shares.share)


def _flow(solver: Solver, state: Solved) -> Shares:
    if state.sound is not None:
        return _moved(solver, state.sound.shares(state.t))
    share = state.flow * solver.delta / solver.columns.mass[state.column]
    return _moved(solver, Shares(state.letter, state.column, np.minimum(share, 1.0)))


def tidy(columns: Columns, shares: Shares, t: float) -> Shares:
    """The shares with every group at the lift t: what a solver's tolerance put too much into a small one is taken
    out.
    """
    lift = columns.lift[shares.letter, shares.column]
    mass = columns.mass[shares.column] * shares.share
    size = len(columns.lift)
    group = np.bincount(shares.letter, weights=mass, minlength=size)
    reach = np.bincount(shares.letter, weights=mass * (lift - t), minlength=size)
    short = np.flatnonzero(reach < -1e-13 * t * group)
    if not len(short):
        return shares
    share = shares.share.copy()
    for letter in short.tolist():
        mine = np.flatnonzero(shares.letter == letter)
        mine = mine[np.argsort(lift[mine], kind="stable")]
        debt = -float(reach[letter])
        for place in mine[lift[mine] < t].tolist():
            here = float(mass[place] * (t - lift[place]))
            if here >= debt:
                share[place] *= 1.0 - debt / here
                break
            share[place], debt = 0.0, debt - here
        if not (share[mine] * (lift[mine] >= t)).any():
            share[mine] = 0.0  # nothing in the group reaches the lift: dust
    return Shares(shares.letter, shares.column, share)
