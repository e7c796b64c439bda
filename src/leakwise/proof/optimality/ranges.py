"""The largest reduced cost where lifts are in [a, top(a)] for some a: local differential privacy and what is like it.

With top(a) = min_j α_j + β_j a this is LDP (top = Ra), LDP with a bound on lifts (min(t, Ra)), and a small l1 ball of
priors (top = t(1+ca)/(1+ct)). A vertex either has two values, a and top(a), on a set S and off it; or a is at its least
or at a kink of top, and it is a vertex of that box. Two values with average 1 are λ = 1 + k(1_S - π(S)) with
k = min_j (α_j + β_j - 1)/(1 - s + β_j s), s = π(S).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from leakwise.proof.optimality.boxes import largest_in_box
from leakwise.proof.optimality.functions import Function, chords, highest, largest_nearby
from leakwise.types import Floats

__all__ = ["Range", "largest_in_range"]

_MOST_SETS = 1 << 21
_CHUNK = 1 << 16
_MOST_INTERVALS = 200_000


@dataclass(frozen=True)
class Range:
    """Lifts in [a, top(a)] with a ≥ low; (α, β) are the pieces of top, rounded up."""

    low: float
    pieces: tuple[tuple[float, float], ...]

    def top(self, a: Floats) -> Floats:
        """Return the largest lift beside a least one of a."""
        value: Floats = np.min([alpha + beta * a for alpha, beta in self.pieces], axis=0)
        return value

    def levels(self, s: Floats, rest: Floats) -> tuple[Floats, Floats]:
        """The two lifts of a column that raises a set of mass s and no other; ``rest`` is the mass of the others."""
        k = np.full(s.shape, np.inf)
        for alpha, beta in self.pieces:
            scale = rest + beta * s
            k = np.minimum(k, np.divide(alpha + beta - 1, scale, out=np.full(s.shape, np.inf), where=scale > 0))
        k = np.where(np.isfinite(k), k, 0.0)
        return 1 - k * s, 1 + k * rest

    def kinks(self) -> list[float]:
        """Return the a at which a vertex may have a free letter: the least a, and where the pieces meet."""
        crossings = [self.low]
        for (alpha, beta), (other, slope) in itertools.combinations(self.pieces, 2):
            if beta != slope and self.low < (cross := (other - alpha) / (beta - slope)) < 1:
                crossings.append(cross)
        return crossings


def largest_in_range(f: Function, weights: Sequence[int], p: Floats, y: Floats, where: Range, room: float) -> float:
    """Return a number above μ(λ) - y·λ for all lift vectors of the range; at most ``room`` where that can be shown."""
    found = _largest_set(f, weights, p, y, where)
    for a in where.kinks():
        if found <= room or math.isfinite(found):
            found = highest([found, _largest_at_kink(f, weights, p, y, where, a, max(room, found))])
    if found <= room:
        return room
    return min(found, _over_intervals(f, p, y, where, room))


def _largest_at_kink(
    f: Function, weights: Sequence[int], p: Floats, y: Floats, where: Range, a: float, room: float
) -> float:
    low = max(a * (1 - 2.0**-50), 0.0)
    high = float(where.top(np.array([a * (1 + 2.0**-50)]))[0]) * (1 + 2.0**-50)
    if high < 1:
        return -math.inf  # no column at all has its least lift here
    return largest_in_box(f, weights, p, y, low, high, room) if (p > 0).all() else math.inf


def _largest_set(f: Function, weights: Sequence[int], p: Floats, y: Floats, where: Range) -> float:
    """A number above the reduced costs of all two-valued columns; ∞ where there are too many sets of letters.

    Letters of equal mass and dual are alike.
    """
    kinds: dict[tuple[int, float], list[int]] = {}
    for letter, weight in enumerate(weights):
        kinds.setdefault((weight, float(y[letter])), []).append(letter)
    sizes = [len(group) for group in kinds.values()]
    if np.log2(np.array(sizes) + 1.0).sum() > np.log2(_MOST_SETS):
        return math.inf
    masses, duals, rests, rest_duals = (np.zeros(1) for _ in range(4))
    for letters in kinds.values():
        letter, steps = letters[0], np.arange(len(letters) + 1)
        masses = np.add.outer(steps * p[letter], masses).ravel()
        duals = np.add.outer(steps * y[letter], duals).ravel()
        rests = np.add.outer(steps[::-1] * p[letter], rests).ravel()
        rest_duals = np.add.outer(steps[::-1] * y[letter], rest_duals).ravel()
    units = (len(p) + 32) * 2.0**-50
    largest = -math.inf
    for start in range(0, len(masses), _CHUNK):
        part = slice(start, start + _CHUNK)
        s, rest = masses[part], rests[part]
        below, above = where.levels(s, rest)
        possible = (below >= where.low - units) & (below >= -units)
        below = np.maximum(below, 0.0)
        error = units * (1 + above)
        raised, others = s * largest_nearby(f, above, error), rest * largest_nearby(f, below, error)
        value = raised + others - duals[part] * above - rest_duals[part] * below
        value += units * ((1 + above) * 2 * float(np.abs(y).sum()) + np.abs(raised) + np.abs(others))
        largest = highest([largest, float(np.where(possible, value, -np.inf).max())])
    return largest


def _over_intervals(f: Function, p: Floats, y: Floats, where: Range, room: float) -> float:
    """The chord bound on intervals [a₁, a₂] of the least lift: all lifts are in [a₁, top(a₂)]."""
    left, right = np.linspace(where.low, 1.0, 65)[:-1], np.linspace(where.low, 1.0, 65)[1:]
    settled = room
    spent = 0
    while len(left):
        values = np.concatenate(
            [
                _batch_chords(f, p, y, where, left[start : start + 512], right[start : start + 512])
                for start in range(0, len(left), 512)
            ]
        )
        spent += len(left)
        if np.isnan(values).any():
            return math.inf
        best = float(values.max())
        # What an interval may still gain by being cut is at most what it has above its own middle.
        middle = (left + right) / 2
        narrow = right - left < 1e-13
        settled = max(settled, float(values[narrow].max(initial=-np.inf)))
        open_ = ~(values <= settled) & ~narrow
        if spent > _MOST_INTERVALS or not open_.any():
            return max(settled, best) if open_.any() else settled
        centre = _batch_chords(f, p, y, where, middle[open_], middle[open_])
        settled = max(settled, float(centre.max(initial=-np.inf)) + 1e-12 * (1 + abs(float(centre.max(initial=0.0)))))
        keep = np.flatnonzero(open_)[values[open_] > settled]
        left, right = np.concatenate([left[keep], middle[keep]]), np.concatenate([middle[keep], right[keep]])
    return settled


def _batch_chords(f: Function, p: Floats, y: Floats, where: Range, left: Floats, right: Floats) -> Floats:
    """For each interval of the least lift: Σ_i π_i chord_i(λ_i) - y·λ at most, -∞ where no column is."""
    floor = np.maximum(left * (1 - 2.0**-50), 0.0)[:, None]
    ceiling = (where.top(right) * (1 + 2.0**-50))[:, None]
    possible = ceiling[:, 0] >= 1
    ceiling = np.maximum(ceiling, floor)
    slope, start = chords(f, floor, ceiling)
    width = ceiling - floor
    gains = slope * p - y
    seen = p > 0
    density = np.where(seen, gains / np.where(seen, p, 1.0), -np.inf)
    order = np.argsort(-density, axis=1)
    reached = np.cumsum(p[order], axis=1) * width
    place = np.minimum((reached < 1 - floor).sum(axis=1), int(seen.sum()) - 1)
    price = np.take_along_axis(density, np.take_along_axis(order, place[:, None], axis=1), axis=1)
    remaining = gains - price * p
    total = np.maximum(remaining * floor, remaining * ceiling).sum(axis=1) + price[:, 0]
    total += start[:, 0]
    size = np.abs(price[:, 0]) * (1 + ceiling[:, 0]) + (np.abs(gains).sum(axis=1) + 1) * ceiling[:, 0]
    size += np.abs(start)[:, 0]
    bounded: Floats = np.where(possible, total + size * (len(p) + 16) * 2.0**-50, -np.inf)
    return bounded
