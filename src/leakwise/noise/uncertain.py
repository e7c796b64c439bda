"""Additive noise for a set of priors: suprema over outcomes and priors, proven from above by boxes.

On a piece [y₁, y₂] each ratio f(y-x_i)/f(y-x_k) is monotone, so the smaller of its ends is below it: the least mass of
those is a lower bound on the mixture for every prior of the set and every outcome of the piece.
"""

from __future__ import annotations

import heapq
import math
from typing import TYPE_CHECKING

import numpy as np

from leakwise.exact import Level
from leakwise.priors import Prior, PriorSet
from leakwise.types import Floats

if TYPE_CHECKING:
    from leakwise.noise.additive import AdditiveNoise

__all__ = ["largest_lift", "largest_tail"]


_SPLIT = 16
_ROUNDS = 24
_MOST_PIECES = 40_000
_REACH = 38.0  # beyond so many standard deviations a normal tail is below every positive float
_PIECES = 4096


def _ends(noise: AdditiveNoise, place: int, left: float, right: float) -> tuple[float, float]:
    """Finite ends for a cell; what is beyond is handled by its limit."""
    reach = _REACH * noise.scale + 2 * noise.span
    return (
        left if math.isfinite(left) else noise.values[place] - reach,
        right if math.isfinite(right) else noise.values[place] + reach,
    )


def _least_on(noise: AdditiveNoise, priors: PriorSet, place: int, start: Floats, stop: Floats) -> Floats:
    ratios = np.minimum(noise.ratios(start, place), noise.ratios(stop, place))
    least: Floats = priors.least_mass(ratios * (1 - 2.0**-44))
    return least


def largest_lift(noise: AdditiveNoise, priors: PriorSet, place: int, left: float, right: float) -> float:
    """Return the supremum of the lift of a value over its cell and the set, from above (relative error 1e-9)."""
    start, stop = _ends(noise, place, left, right)
    own = np.zeros(len(noise.values))
    own[place] = 1.0
    # Towards infinity only the own value is left, and an outermost one approaches that from above.
    best = math.inf
    if math.isinf(left) or math.isinf(right):
        best = float(priors.least_mass(own))
        if best == 0:
            return math.inf
    edges = np.linspace(start, stop, _SPLIT + 1)
    lows, highs = edges[:-1], edges[1:]
    bound = math.inf
    for _ in range(_ROUNDS):
        best = min(best, float(priors.least_mass(noise.ratios((lows + highs) / 2, place)).min()))
        least = _least_on(noise, priors, place, lows, highs)
        bound = float(least.min())
        open_pieces = least < best * (1 - 1e-9)
        if not open_pieces.any() or open_pieces.sum() * _SPLIT > _MOST_PIECES:
            break
        cuts = np.linspace(lows[open_pieces], highs[open_pieces], _SPLIT + 1)
        lows, highs = cuts[:-1].ravel(), cuts[1:].ravel()
    lowest = min(best * (1 - 1e-9), bound) if bound < best else best * (1 - 1e-9)
    return math.inf if lowest <= 0 else 1 / lowest


def largest_tail(noise: AdditiveNoise, priors: PriorSet, asked: Level) -> tuple[float, float]:
    """Return sup_Q P_Q(leakage for Q above ε): the largest value found, and a bound from above."""
    if isinstance(priors, Prior):
        value = noise.tail(priors, lift=asked.above)
        return value, value
    if len(noise.values) == 2:
        return _two_values(noise, priors, asked)
    found = noise.tail(priors.nominal, lift=asked.above)
    return found, max(found, _each_outcome_its_worst(noise, priors, asked))


def _each_outcome_its_worst(noise: AdditiveNoise, priors: PriorSet, asked: Level) -> float:
    limit = float(1 / asked.above)
    intervals: list[tuple[float, float]] = []
    for place, left, right in noise._cells(priors.support):
        start, stop = _ends(noise, place, left, right)
        edges = np.linspace(start, stop, _PIECES + 1)
        bad = _least_on(noise, priors, place, edges[:-1], edges[1:]) < limit
        intervals += [(float(a), float(b)) for a, b in zip(edges[:-1][bad], edges[1:][bad], strict=True)]
        # What lies beyond the ends is counted as a violation: its probability is nothing.
        intervals += [(a, b) for a, b in ((left, start), (stop, right)) if a < b]
    mass = noise.mass(intervals)
    return min(1.0, (1 - float(priors.least_mass(np.maximum(1 - mass * (1 + 2.0**-40), 0.0)))) * (1 + 2.0**-40))


def _two_values(noise: AdditiveNoise, priors: PriorSet, asked: Level) -> tuple[float, float]:
    """Branch over the mass q of the first value: on [a, b] its own violations are largest at a, the other's at b."""
    low = float(priors.least_mass(np.array([1.0, 0.0])))
    high = 1 - float(priors.least_mass(np.array([0.0, 1.0])))

    def found(q: float) -> float:
        if not 0 < q < 1:
            return 0.0  # one value alone: nothing to tell
        return float(np.array([q, 1 - q]) @ noise.mass(_violations(noise, q, q, asked)))

    def bound(a: float, b: float) -> float:
        mass = noise.mass(_violations(noise, a, b, asked))
        first, second = mass.tolist()
        return max(float(q * first + (1 - q) * second) for q in (a, b))

    best = max(found(low), found(high), found((low + high) / 2))
    heap = [(-bound(low, high), low, high)]
    for _ in range(3000):
        top, a, b = heap[0]
        if -top <= best * (1 + 1e-6) + 1e-15 or b - a < 1e-15:
            break
        heapq.heappop(heap)
        middle = (a + b) / 2
        best = max(best, found(middle))
        heapq.heappush(heap, (-bound(a, middle), a, middle))
        heapq.heappush(heap, (-bound(middle, b), middle, b))
    return best, min(1.0, max(best, -heap[0][0]) * (1 + 2.0**-40))


def _violations(noise: AdditiveNoise, a: float, b: float, asked: Level) -> list[tuple[float, float]]:
    """The outcomes that leak more than ε for some mass of the first value in [a, b].

    For the first value itself the mixture a + (1-a) r with r < 1 rises with its mass: a is the worst; for the other, b.
    """
    limit = float(1 / asked.above)
    found = []
    for place, _, right in noise._cells(np.ones(2, dtype=np.bool_)):
        own = a if place == 0 else 1 - b
        if own >= limit:
            continue
        # own + (1-own) r(y) < limit: r is monotone, from its least beyond the value to 1 at the border of the cells.
        root = noise.ratio_root(place, 1 - place, math.log((limit - own) / (1 - own)))
        if root is not None:
            found.append((root, math.inf) if math.isinf(right) else (-math.inf, root))
    return found
