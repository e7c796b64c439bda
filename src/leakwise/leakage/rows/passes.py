"""All joint outcomes of several mechanisms in turn, by contractions: no array has a cell for each row and outcome.

The joint distribution of the secrets that are still to come, together with the outcomes so far, is multiplied by the
probabilities of the next mechanism and summed over its secret. What is seen of a secret that is asked about stays as an
axis. Outcomes are taken in blocks, so that memory is bounded however many there are.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from leakwise.leakage.rows.joint import Column, Row, Secret
from leakwise.types import Array, Floats, Indices

__all__ = ["Block", "Passes"]

# Numbers of a block.
_BLOCK = 1 << 20
# The largest relative error of one rounding, and a little more for products of such errors.
_UNIT = 2.0**-53 * 1.02


class Block(NamedTuple):
    """Joint outcomes: their codes, an array with a row for each of them, and the mechanisms that they came from."""

    outcomes: Indices
    found: Floats
    top: Floats | None
    columns: tuple[Column, ...]


@dataclass
class _State:
    """Outcomes so far: codes, mechanisms, sums over secrets done (outcome, asked, later secrets reversed)."""

    codes: Indices
    columns: tuple[Column, ...]
    sums: Array
    top: Array | None


class Passes:
    """The passes over one stratum.

    Parameters
    ----------
    secrets, row
        The secrets in turn, and their joint distribution in the stratum.
    """

    def __init__(self, secrets: Sequence[Secret], row: Row) -> None:
        self.secrets, self.row = secrets, row
        self._law = row.probabilities()

    @property
    def error(self) -> float:
        """How far a quotient of two of the numbers may be off, relatively: sums and products of positive numbers."""
        sizes = [len(one.values) for one in self.secrets]
        return (2 * sum(size + 3 for size in sizes) + 8) * _UNIT

    def work(self, asked: Sequence[int] = ()) -> int:
        """How many multiplications a pass takes, or a few more."""
        sizes = [len(one.values) for one in self.secrets]
        outcomes, kept, total = 1, 1, 0
        for place, secret in enumerate(self.secrets):
            outcomes *= secret.most_outcomes
            total += outcomes * kept * math.prod(sizes[place:])
            kept *= sizes[place] if place in asked else 1
        return total

    def blocks(self, asked: Sequence[int] = (), steps: list[float] | None = None) -> Iterator[Block]:
        """All outcomes with their probabilities beside the secrets that are asked about, up to a factor for each.

        Without any: ``found`` is the probability of the outcome, and ``top`` the largest probability that a row gives
        it, by the same factor. ``steps`` then collects the largest lift of each mechanism beside the outcomes before.
        """
        law = self._law.transpose()[None, None]  # outcome, asked, then the last secret first
        top = None if asked else (law > 0).astype(np.float64)
        start = _State(np.zeros((1, 0), dtype=np.int32), (), law, top)
        yield from self._descend(start, 0, frozenset(asked), steps)

    def _descend(self, state: _State, place: int, asked: frozenset[int], steps: list[float] | None) -> Iterator[Block]:
        if place == len(self.secrets):
            count = len(state.codes)
            top = None if state.top is None else state.top.reshape(count, -1)
            yield Block(state.codes, state.sums.reshape(count, -1), top, state.columns)
            return
        for column, rows in self._columns(state, place):
            cells = column.lifts.size * math.prod(state.sums.shape[1:-1])
            size = max(1, _BLOCK // max(1, cells))
            for first in range(0, len(rows), size):
                yield from self._next(state, rows[first : first + size], column, place, asked, steps)

    def _columns(self, state: _State, place: int) -> list[tuple[Column, Indices]]:
        """The mechanisms of the next secret, each with the outcomes so far that it follows."""
        secret, given = self.secrets[place], self.row.given
        everything = np.arange(len(state.codes))
        if not secret.adaptive:
            return [(secret.column(given, ()), everything)]
        groups: dict[int, tuple[Column, list[int]]] = {}
        possible = state.sums.reshape(len(state.codes), -1).max(axis=1) > 0
        for number, codes in enumerate(state.codes.tolist()):
            if possible[number]:
                seen = tuple(one.mechanism.outputs[code] for one, code in zip(state.columns, codes, strict=True))
                column = secret.column(given, seen)
                groups.setdefault(id(column), (column, []))[1].append(number)
        return [(column, np.array(rows)) for column, rows in groups.values()]

    def _next(
        self, state: _State, rows: Indices, column: Column, place: int, asked: frozenset[int], steps: list[float] | None
    ) -> Iterator[Block]:
        """Go on with every outcome of the next mechanism."""
        lifts, sums = column.lifts, state.sums[rows]
        values, outcomes = lifts.shape
        if steps is not None:
            self._conditional(sums, lifts, place, steps)
        count, kept = sums.shape[:2]
        rest = sums.shape[2:-1]
        if place in asked:
            # (outcome, asked, rest, value) times (value, new outcome), the value kept beside what is asked about.
            parts = np.einsum("barv,vy->byavr", sums.reshape(count, kept, -1, values), lifts)
            following = parts.reshape(count * outcomes, kept * values, *rest)
        else:
            parts = np.moveaxis(sums.reshape(count, -1, values) @ lifts, 2, 1)
            following = parts.reshape(count * outcomes, kept, *rest)
        top = None
        if state.top is not None:
            flat = state.top[rows].reshape(count, -1, values)
            best = np.zeros((count, outcomes, flat.shape[1]))
            for value in range(values):
                np.maximum(best, flat[:, None, :, value] * lifts[value][None, :, None], out=best)
            top = best.reshape(count * outcomes, 1, *rest)
        codes = np.column_stack([np.repeat(state.codes[rows], outcomes, axis=0), np.tile(np.arange(outcomes), count)])
        possible = following.reshape(len(codes), -1).max(axis=1) > 0
        if not possible.all():
            codes, following = codes[possible], following[possible]
            top = None if top is None else top[possible]
        if len(codes):
            yield from self._descend(_State(codes, (*state.columns, column), following, top), place + 1, asked, steps)

    def _conditional(self, sums: Floats, lifts: Floats, place: int, steps: list[float]) -> None:
        """Note the largest lift of the next mechanism beside the outcomes so far."""
        known = sums[:, 0]
        while known.ndim > 2:  # one axis after the other: errors grow with the lengths of axes, not with their product
            known = known.sum(axis=1)
        law = known @ lifts / known.sum(axis=1, keepdims=True)
        tops = np.zeros_like(law)
        for value in range(known.shape[1]):
            np.maximum(tops, (known[:, value] > 0)[:, None] * lifts[value][None, :], out=tops)
        ratios = np.divide(tops, law, out=np.zeros_like(law), where=law > 0)
        steps[place] = max(steps[place], float(ratios.max(initial=0.0)))
