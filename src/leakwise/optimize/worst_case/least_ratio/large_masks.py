"""The least ratio on a mask of any size; thousands of letters where the mask is local.

With the letters in an order in which every output serves letters close to each other (a band), what is hard is hard
somewhere. Windows of letters, their neighbours covered as far as it suits, give lower bounds with proofs that hold for
the whole. At the largest of them a sweep covers the letters from one end to the other: a window with a view ahead is
solved, the columns that touch its first letters are kept, and the next window starts from what they left. If the sweep
comes through, both sides have met. If it does not, the program over all letters decides.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from leakwise.optimize.worst_case.least_ratio.basis import at_ratio
from leakwise.optimize.worst_case.least_ratio.columns import MaskColumns
from leakwise.optimize.worst_case.least_ratio.packing import Packing
from leakwise.optimize.worst_case.least_ratio.search import (
    LeastRatio,
    centred,
    least_ratio,
    safe_matrix,
    safe_ratio,
    spread_letters,
)
from leakwise.types import Floats, Indices

__all__ = ["least_ratio_of"]


_LARGE = 400
_NOTHING = 1e-11  # room below this is none
_FARTHEST = 5  # doublings of the view ahead


def least_ratio_of(
    columns: MaskColumns, *, before: LeastRatio | None = None, target: float | None = None
) -> LeastRatio:
    """Return the least ratio; ``before`` is the answer on a wider mask over the same prior, whose work is taken over.

    With a ``target`` it is enough to know on which side of it the least ratio is.
    """
    if columns.size > _LARGE and not (columns.breakpoints == 1.0).any():
        order = _order(columns)
        if order is not None:
            found = _Local(columns, order).run()
            if found is not None:
                return found
    if before is None:
        return least_ratio(columns, target=target)
    pool = None if before.packing is None else before.packing.restricted(columns)
    return least_ratio(columns, known=before.y, packing=pool, target=target)


def _order(columns: MaskColumns) -> Indices | None:
    """An order of the letters in which every output is a short stretch: the given one, or one of least bandwidth."""
    natural = np.arange(columns.size)
    if _widest(columns, natural) * 10 <= columns.size:
        return natural
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    if columns.allowed.mean() > 0.1:
        return None
    incidence = csr_matrix(columns.allowed.astype(np.float32))
    order = np.asarray(reverse_cuthill_mckee((incidence @ incidence.T).tocsr(), symmetric_mode=True), dtype=np.intp)
    return order if _widest(columns, order) * 10 <= columns.size else None


def _widest(columns: MaskColumns, order: Indices) -> int:
    first, last = _ends(columns, order)
    return int((last - first).max()) + 1


def _ends(columns: MaskColumns, order: Indices) -> tuple[Indices, Indices]:
    """The first and the last place of the letters of every output."""
    place = np.empty(columns.size + 1, dtype=np.intp)
    place[order] = np.arange(columns.size)
    real = columns.letters < columns.size
    places = place[np.where(real, columns.letters, 0)]
    return np.where(real, places, columns.size).min(axis=1), np.where(real, places, -1).max(axis=1)


@dataclass(frozen=True)
class _Window:
    """Some outputs and the letters they serve, as places in the order."""

    places: Indices
    outputs: Indices
    packing: Packing


@dataclass(frozen=True)
class _Block:
    """A stretch of letters covered for good: by which columns, and the room before and after."""

    start: int
    stop: int
    room_before: Floats
    room_after: Floats
    kept: list[tuple[Indices, Indices, Floats]]  # places, outputs, columns


class _Local:
    def __init__(self, columns: MaskColumns, order: Indices) -> None:
        self.columns, self.order = columns, order
        self.first, self.last = _ends(columns, order)
        self.span = int((self.last - self.first).max()) + 1
        self.allowed, self.p = columns.allowed[order], columns.p[order]
        self.lower, letter = columns.bottleneck()
        self.y = np.full(columns.size, -1.0 / (2 * columns.size))
        self.y[letter] = 1.0

    def run(self) -> LeastRatio | None:
        safe = safe_matrix(self.columns.allowed)
        upper = safe_ratio(safe, self.columns.p)
        if upper <= self.lower * (1 + 1e-14):
            how = "the utility-safe mechanism, which meets a lower bound"
            return LeastRatio(self.lower, upper, self.y, safe, how)
        self._prove(spread_letters(self.columns))
        length = max(48, 3 * self.span)
        for start in range(0, self.columns.size, length // 2):
            self._raise(start, start + length)
        matrix, stuck = self._sweep(self.lower)
        for width in (8, 32):
            if matrix is not None:
                break
            # Where it got stuck a wider window may prove more, and the sweep is tried again there.
            before = self.lower
            self._raise(stuck - width * self.span // 2, stuck + width * self.span // 2)
            if self.lower > before:
                matrix, stuck = self._sweep(self.lower)
        if matrix is None:
            return None
        upper = safe_ratio(matrix, self.columns.p)
        return LeastRatio(self.lower, upper, self.y, matrix, "columns, window by window")

    def _window(self, start: int, stop: int, room: Floats | None = None) -> _Window | None:
        """The outputs that touch places start..stop, and all letters they serve that have room."""
        outputs = np.flatnonzero((self.first < stop) & (self.last >= start))
        left, right = int(self.first[outputs].min()), int(self.last[outputs].max()) + 1
        open_ = np.ones(right - left, dtype=np.bool_) if room is None else room[left:right] > _NOTHING
        part = self.allowed[left:right][:, outputs] & open_[:, None]
        needed = (np.arange(left, right) >= start) & (np.arange(left, right) < stop) & open_
        kept = part.any(axis=1)
        if not needed.any() or (needed & ~kept).any():
            return None
        places = np.flatnonzero(kept) + left
        used = np.flatnonzero(part[kept].any(axis=0))
        columns = MaskColumns(part[kept][:, used], self.p[places], part=True)
        space = None if room is None else room[places]
        packing = Packing(columns, needed[kept].astype(np.float64), space)
        return _Window(places, outputs[used], packing)

    def _raise(self, start: int, stop: int) -> None:
        """The lower bound of a window, if it is larger than what is known."""
        window = self._window(max(start, 0), min(stop, self.columns.size))
        if window is None:
            return
        covered = window.packing.cover(self.lower)
        if not covered.whole:
            found = least_ratio(window.packing.columns, packing=window.packing)
            y = np.zeros(self.columns.size)
            y[self.order[window.places]] = found.y
            self._prove(y)

    def _prove(self, y: Floats) -> None:
        candidate = centred(y)
        bound = self.columns.proven(candidate)
        if bound > self.lower:
            self.lower, self.y = bound, candidate

    def _sweep(self, ratio: float) -> tuple[Floats | None, int]:
        """Cover all letters at a ratio from one end to the other; None with the place where it does not go on.

        Stuck, it goes back some blocks and looks twice as far ahead until it is past the place.
        """
        size, block = self.columns.size, max(32, self.span)
        room, start, done = np.ones(size), 0, list[_Block]()
        farther, until = 0, 0
        while start < size:
            ahead = max(48, 2 * self.span) << farther
            found = self._block(ratio, room, start, min(start + block, size), ahead)
            if found is not None:
                done.append(found)
                room, start = found.room_after, found.stop
                farther = 0 if start > until else farther
                continue
            farther += 1
            if farther > _FARTHEST:
                return None, start
            until = max(until, start)
            back = min(len(done), 1 << farther)
            if back:
                start, room = done[-back].start, done[-back].room_before
                done = done[:-back]
        matrix = np.zeros((size, self.columns.count))
        for part in done:
            for places, outputs, parts in part.kept:
                target = matrix[places]
                np.add.at(target.T, outputs, parts.T)
                matrix[places] = target
        rows = matrix.sum(axis=1, keepdims=True)
        if np.abs(rows - 1).max() > 1e-8:
            return None, int(np.abs(rows - 1).argmax())
        result = np.zeros(matrix.shape)
        result[self.order] = matrix / rows
        return result, size

    def _block(self, ratio: float, room: Floats, start: int, end: int, ahead: int) -> _Block | None:
        """Cover places start..end for good, seeing ``ahead`` of them; None when that is not possible."""
        size = self.columns.size
        horizon = size if size - end < ahead + (end - start) else end + ahead
        window = self._window(start, horizon, room)
        if window is None:
            left = (room[start:horizon] > _NOTHING).any()
            return None if left else _Block(start, horizon, room, room, [])
        packing = window.packing
        covered = packing.cover(ratio, enough=lambda y: self._hopeless(packing, y, ratio))
        if not covered.whole:
            return None
        chosen, weights = covered.columns, covered.weights[covered.columns]
        sharp = at_ratio(packing, covered, ratio, duals=False)
        if sharp is not None and sharp.least > -1e-11 and abs(sharp.missing) < 1e-10:
            weights = sharp.weights
        # Kept is what touches the first letters; the rest was there to see that it goes on.
        parts = packing.dense(chosen, ratio) * np.maximum(weights, 0.0)
        touches = (parts[window.places < end] > 0).any(axis=0) | (horizon == size)
        usable = packing.columns.usable(ratio)[packing.outputs[chosen]]
        keep = np.flatnonzero((weights > 1e-13) & touches & usable)
        after = room.copy()
        after[window.places] = np.maximum(after[window.places] - parts[:, keep].sum(axis=1), 0.0)
        kept = (window.places, window.outputs[packing.outputs[chosen[keep]]], parts[:, keep])
        return _Block(start, size if horizon == size else end, room, after, [kept])

    @staticmethod
    def _hopeless(packing: Packing, y: Floats, ratio: float) -> bool:
        """Whether the duals prove that the window cannot be covered at this ratio."""
        columns = packing.columns
        usable = columns.usable(ratio)
        if not usable.any():
            return True
        largest = float(columns.greedy(columns.per_pair(y), ratio).values[usable].max())
        # Σ ρ ≤ Σ π·room, so that the cover is at most room·z plus that times the largest reduced cost.
        bound = float(packing.room @ (packing.needed - y)) + max(largest, 0.0) * float(columns.p @ packing.room)
        return bound < packing.whole * (1 - 1e-9)
