"""The largest reduced cost over lift vectors in a box: by chords, and by listing the vertices that chords leave open.

A vertex has every lift at ``low`` or ``high`` but for one free letter, and loses against the chords what f lies below
its chord there. So only free lifts close to an end of their range matter: they are listed letter by letter, with sorted
halves of the checker's own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from leakwise.exact import last_that_holds
from leakwise.proof.optimality.functions import Function, Late, chords, fill, largest_nearby, never, sum_up
from leakwise.types import Counts, Floats

__all__ = ["chord_bound", "largest_in_box", "widest_box"]

_MOST_LISTED = 4_000_000
_LONGEST_HALF = 1 << 21


def widest_box(p: Floats, low: float, high: float) -> tuple[Floats, Floats]:
    """Return the range of each lift when all are in [low, high] and average to 1, rounded outwards."""
    others, heaviest = 1 - p, int(p.argmax())
    others[heaviest] = math.fsum(np.delete(p, heaviest))  # beside nearly all of the mass 1 - p has few digits
    spare = len(p) * 2.0**-52
    floor = np.maximum(low, (1 - high * others - (1 + high * others) * spare) / p)
    ceiling = np.minimum(high, (1 - low * others + (1 + low * others) * spare) / p)
    return floor, np.maximum(floor, ceiling)


def chord_bound(f: Function, p: Floats, y: Floats, floor: Floats, ceiling: Floats) -> float:
    """Return a number above Σ_i π_i f(λ_i) - y·λ on a box with π·λ = 1: every f below its chord, then a knapsack."""
    slope, start = chords(f, floor, ceiling)
    return sum_up(p * start) + fill(p * slope - y, p, floor, ceiling)


def largest_in_box(
    f: Function,
    weights: Sequence[int],
    p: Floats,
    y: Floats,
    low: float,
    high: float,
    room: float,
    late: Late = never,
) -> float:
    """Return a number above μ(λ) - y·λ for all lift vectors in [low, high]; at most ``room`` where that can be shown.

    ``weights`` are exact integers in proportion to p: they decide which letters are alike.
    """
    if high - low <= 0:
        return chord_bound(f, p, y, np.full(len(p), low), np.full(len(p), high))
    box = widest_box(p, low, high)
    chord = chord_bound(f, p, y, *box)
    if not math.isfinite(chord):
        return math.inf
    if chord <= room or _all_listed_below(f, weights, p, y, (low, high), box, chord, room, late):
        return min(chord, room)
    return chord


def _all_listed_below(
    f: Function,
    weights: Sequence[int],
    p: Floats,
    y: Floats,
    ends: tuple[float, float],
    box: tuple[Floats, Floats],
    chord: float,
    room: float,
    late: Late,
) -> bool:
    """Look at every vertex that could exceed the room, free letter by free letter; False where they are too many."""
    low, high = ends
    kinds: dict[tuple[int, float], list[int]] = {}
    for letter, weight in enumerate(weights):
        kinds.setdefault((weight, float(y[letter])), []).append(letter)
    groups = list(kinds.values())
    mass = np.array([p[group[0]] for group in groups])
    dual = np.array([y[group[0]] for group in groups])
    count = np.array([len(group) for group in groups])
    at_low, at_high = (float(f(np.array([end]))[0]) for end in ends)
    # A letter that can be at neither end is always the free one: what it is worth is counted from its own floor.
    starts = np.where((box[0] > low) & (box[1] < high), box[0], low)
    begin = starts[[group[0] for group in groups]]
    at_begin = f(begin)
    gain = mass * (at_high - at_begin) - dual * (high - begin)
    base = float(count @ (mass * at_begin - dual * begin))
    listed = 0
    units = (len(p) + 32) * 2.0**-50
    # A raised letter has a mass of at most 1/high, so that its terms are bounded by those at the ends of its own range.
    terms = float(np.abs(y) @ box[1]) + float(p @ (np.abs(f(box[0])) + np.abs(f(box[1])) + np.abs(f(starts))))
    # The masses of the others are known to units of 1: so is what is left for the free letter.
    errors = (terms + 4 * np.abs(y) / p) * units
    ends_of_f = _close_ends(f, p, *box, chord - room + errors)
    for free, group in enumerate(groups):
        if late():
            return False
        sizes = count.copy()
        sizes[free] -= 1
        halves = [_choices(mass[part], gain[part], sizes[part]) for part in (slice(0, None, 2), slice(1, None, 2))]
        first, second = halves
        if first is None or second is None:
            return False
        letter = group[0]
        parts = [(box[0][letter], ends_of_f[0, letter]), (ends_of_f[1, letter], box[1][letter])]
        for start, stop in parts[:1] if parts[0][1] >= parts[1][1] else parts:
            # The free lift in [start, stop] leaves this much mass to be raised by the others.
            most = (1 - low - p[letter] * (start - low)) / (high - low) + 1e-13
            least = (1 - low - p[letter] * (stop - low)) / (high - low) - 1e-13
            left = np.searchsorted(second[0], least - first[0])
            right = np.searchsorted(second[0], most - first[0], side="right")
            number = np.maximum(right - left, 0)
            total = int(number.sum())
            listed += total
            if listed > _MOST_LISTED:
                return False
            one = np.repeat(np.arange(len(number)), number)
            other = np.arange(total) - np.repeat(np.cumsum(number) - number, number) + np.repeat(left, number)
            raised = first[0][one] + second[0][other]
            lift = np.clip(low + (1 - low - (high - low) * raised) / p[letter], low, high)
            most_of_f = np.minimum(largest_nearby(f, lift, high * units / p[letter]), max(at_low, at_high, 0.0))
            own = p[letter] * (most_of_f - at_begin[free]) - y[letter] * (lift - begin[free])
            cost = base + first[1][one] + second[1][other] + own
            if total and not float(cost.max()) + float(errors[letter]) <= room:
                return False
    return True


def _choices(mass: Floats, gain: Floats, sizes: Counts) -> tuple[Floats, Floats] | None:
    """Masses and gains of all choices within a half, sorted by mass; None when there are too many."""
    if float(np.log2(sizes + 1.0).sum()) > math.log2(_LONGEST_HALF):
        return None
    masses, gains = np.zeros(1), np.zeros(1)
    for one_mass, one_gain, size in zip(mass, gain, sizes, strict=True):
        steps = np.arange(size + 1)
        masses = np.add.outer(steps * one_mass, masses).ravel()
        gains = np.add.outer(steps * one_gain, gains).ravel()
    order = np.argsort(masses)
    return masses[order], gains[order]


def _close_ends(f: Function, p: Floats, start: Floats, stop: Floats, limit: Floats) -> Floats:
    """How far from each end π(chord - f) stays within ``limit``, rounded outwards: (end of the first part, start of the
    second) for each letter; the whole range where it never exceeds the limit."""
    at_start, at_stop = f(start), f(stop)
    width = stop - start

    def loss(x: Floats) -> Floats:
        share = np.divide(x - start, width, out=np.zeros_like(x), where=width > 0)
        value: Floats = p * (at_start + share * (at_stop - at_start) - f(x))
        return value

    grid = start + np.linspace(0, 1, 129)[:, None] * width
    losses = loss(grid)
    highest = losses.argmax(axis=0)
    each = np.arange(len(p))
    # Bisection between an end, where nothing is lost, and the peak; both ends of all letters at once.
    ends, peaks = np.stack([start, stop]), np.tile(grid[highest, each], (2, 1))
    beyond = last_that_holds(lambda x: ~(loss(x) <= limit), peaks, ends, 56)
    whole = losses[highest, each] <= limit
    return np.where(whole, np.stack([stop, start]), beyond)
