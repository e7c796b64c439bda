"""Thousands of letters: solve blocks of letters by themselves, and run them on one clock.

Within a block of mass M the columns are those of the block's own conditional prior: lifts within the same box, adding
up to one on the block. A clock u in [0, 1) picks a column in every block at once; put together they average to lift 1
over all letters, so they are columns of the whole, and each letter is covered as its block says. At most as many
outcomes as letters. The chord bound of the whole is the sum of those of the blocks: what a block loses counts with its
mass only.
"""

from __future__ import annotations

import numpy as np

from leakwise.optimize.bounds.chord import Function, chord_duals, chord_maximum
from leakwise.optimize.problem.cones import LiftBox
from leakwise.optimize.search.limits import Found, Limits
from leakwise.optimize.search.near_perfect import search_near_perfect
from leakwise.types import Floats, Indices

__all__ = ["search_blocks"]


_BLOCK = 80


def search_blocks(cone: LiftBox, f: Function, limits: Limits) -> Found:
    """Return near-optimal columns for a large alphabet, with the chord bound."""
    prior, p = cone.prior, cone.prior.probabilities
    parts = _dealt(p)
    solved = []
    stopped = False
    for number, letters in enumerate(parts):
        block = LiftBox(prior.reordered(letters), cone.low, cone.high)
        found = search_near_perfect(block, f, Limits(limits.tolerance, limits.seconds, None, limits.started))
        stopped = stopped or found.stopped
        solved.append((letters, found.lifts, np.concatenate([[0.0], np.cumsum(found.weights / found.weights.sum())])))
        limits.tell(f"block {number + 1} of {len(parts)}", float("nan"), float("nan"))
    ticks = np.unique(np.concatenate([clock for _, _, clock in solved]))
    ticks = ticks[np.concatenate([[True], np.diff(ticks) > 1e-13])]
    ticks[-1] = 1.0
    weights = np.diff(ticks)
    middles = (ticks[:-1] + ticks[1:]) / 2
    lifts = np.empty((len(p), len(weights)))
    for letters, columns, clock in solved:
        place = np.clip(np.searchsorted(clock, middles, side="right") - 1, 0, columns.shape[1] - 1)
        lifts[letters] = columns[:, place]
    low, high = cone.entry_box()
    duals = chord_duals(f, p, low, high)
    largest = chord_maximum(f, p, low, high, duals)
    return Found(lifts, weights, duals, largest, "chord", stopped=stopped)


def _dealt(p: Floats) -> list[Indices]:
    """Blocks of letters of about equal mass: dealt in order of mass, there and back, like cards."""
    count = max(1, round(len(p) / _BLOCK))
    order = np.argsort(-p, kind="stable")
    lap = np.arange(len(p)) // count
    seat = np.arange(len(p)) % count
    seat = np.where(lap % 2 == 1, count - 1 - seat, seat)
    return [order[seat == block] for block in range(count)]
