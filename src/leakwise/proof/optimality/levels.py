r"""The largest reduced cost over the lifts of a box of priors or a KL ball, by the few numbers that couple the letters.

What a set says of a column is a sum over its letters, once its largest lift M and one level are known:

    box:      Σ_i e_i (τ - λ_i)₊ + d_i (λ_i - τ)₊ ≤ 1 - M/t   for some τ, with e = upper - π, d = π - lower,
    KL ball:  Σ_i π_i log(1 + κ(λ_i - M/t)) ≥ radius           for some κ ≥ 0.

So for any price μ of mass and ν ≥ 0 of this constraint the reduced cost is at most a sum of maxima over single letters,
each over a few choices (:mod:`leakwise.proof.optimality.level_choices`). On a rectangle of the two numbers each of them
is convex along both sides, but for the mass that M (or τ) takes at a price that differs from corner to corner, which is
allowed for; a sum of maxima of such functions is largest at a corner. Prices let a letter be a mixture of two choices,
and few letters make much of that: so a cell is cut along one of its sides, or into the columns whose letter is low and
those where it is high, whichever bounds its parts best. That goes on until no cell exceeds what is to be shown. The
prices come from a search and need not be the best.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from leakwise.priors import Box, KLBall, PriorSet
from leakwise.proof.optimality.functions import Function, Late, never
from leakwise.proof.optimality.level_choices import BoxShape, Choices, KLShape, Shape
from leakwise.types import Array, Floats, Indices

__all__ = ["largest_by_levels"]

_ROUNDS, _AT_ONCE = 100, 64
_PATIENCE, _SLOW = 12, 0.02  # rounds that must bring this share of what is missing
_APART = (0.0, 0.1, 0.4, 1.6, 6.4, math.inf)
_IDLE = 1e-2  # a price of cost below which it may have been found where the cost did not count
_DEAREST = 2e6  # of the prices of cost that are tried
_LITTLE = 1e-3  # of what is missing: gains below this count as this
_REGRET = 8.0  # how much a letter that prefers one choice counts against cutting there


def largest_by_levels(
    f: Function, p: Floats, y: Floats, priors: PriorSet, ratio: float, room: float, late: Late = never
) -> float:
    """Return a number above Σ_i π_i f(λ_i) - y·λ for all lift vectors of a set; at most ``room`` where that is shown.

    ∞ for sets whose letters are not coupled by one level. The letters are those that the set may give mass.
    """
    shape: Shape
    if isinstance(priors, Box) and priors.beta is None:
        shape = BoxShape(f, p, y, priors, ratio)
    elif isinstance(priors, KLBall) and priors.radius:
        shape = KLShape(f, p, y, priors, ratio)
    else:
        return math.inf
    low, high = shape.start()
    none, ranges = np.zeros(low.shape[1]), np.ones((shape.letters, low.shape[1]))
    whole = _Cells(none + math.inf, low, high, shape.whole[0] * ranges, shape.whole[1] * ranges, none, none, none, none)
    cells = _looked_at(shape, whole, room, wide=True).above(room)
    tops: list[float] = []
    for _ in range(_ROUNDS):
        if not len(cells.bound) or late():
            break
        tops.append(float(cells.bound[0]))
        if len(tops) > _PATIENCE and tops[-_PATIENCE - 1] - tops[-1] < _SLOW * (tops[-1] - room):
            break
        cut, others = cells.taken(slice(_AT_ONCE)), cells.taken(slice(_AT_ONCE, None))
        ways = cut.halves(0), cut.halves(1), cut.by_letter(shape)
        parts = [_looked_at(shape, halves, room, wide=False) for halves in ways]
        cells = others.joined(_best(cut, parts, room).above(room))
    return float(cells.bound[0]) if len(cells.bound) else room


@dataclass(frozen=True)
class _Cells:
    """Rectangles and ranges of letters with their bounds, the largest first, prices, and a letter to part next."""

    bound: Floats
    low: Floats
    high: Floats
    least: Floats
    most: Floats
    mu: Floats
    nu: Floats
    letter: Floats
    choices: Floats  # the two of that letter which are to be told apart: first + second / 1024

    def taken(self, places: Indices | slice) -> _Cells:
        return _Cells(*(each[..., places] for each in vars(self).values()))

    def beside(self, other: _Cells) -> _Cells:
        pairs = zip(vars(self).values(), vars(other).values(), strict=True)
        return _Cells(*(np.concatenate(pair, axis=-1) for pair in pairs))

    def joined(self, other: _Cells) -> _Cells:
        both = self.beside(other)
        return both.taken(np.argsort(-both.bound, kind="stable"))

    def above(self, room: float) -> _Cells:
        order = np.argsort(-self.bound, kind="stable")
        return self.taken(order[~(self.bound[order] <= room)])

    def halves(self, side: int) -> _Cells:
        """Return the lower halves along a side, then the upper ones."""
        first, last = self.low[side], self.high[side]
        middle = np.where(np.isinf(last), 4 * first, (first + np.where(np.isinf(last), 0.0, last)) / 2)
        left, right = self.high.copy(), self.low.copy()
        left[side] = right[side] = middle
        return replace(self, high=left).beside(replace(self, low=right))

    def by_letter(self, shape: Shape) -> _Cells:
        """Return the cells with one letter in the lower part of its range, then those with it in the upper one."""
        each, letter = np.arange(len(self.bound)), self.letter.astype(np.intp)
        first = self.choices.astype(np.intp)
        second = np.rint((self.choices - first) * 1024).astype(np.intp)
        least, most = self.least.copy(), self.most.copy()
        end, begin = shape.parted(first, second, least[letter, each], most[letter, each])
        least[letter, each], most[letter, each] = begin, end
        return replace(self, most=most).beside(replace(self, least=least))


def _best(cells: _Cells, parts: list[_Cells], room: float) -> _Cells:
    """Return the cells cut in the way that brings both parts most, as a product."""
    missing = cells.bound - room
    gains = [np.clip(cells.bound - part.bound.reshape(2, -1), _LITTLE * missing, missing) for part in parts]
    chosen = np.array([gain.prod(axis=0) for gain in gains]).argmax(axis=0)
    best = [part.taken(np.flatnonzero(np.tile(chosen == number, 2))) for number, part in enumerate(parts)]
    return best[0].beside(best[1]).beside(best[2])


def _looked_at(shape: Shape, cells: _Cells, room: float, *, wide: bool) -> _Cells:
    """The cells with bounds of their own, where these are better than those of the cells they were cut from.

    Choices with which no column exceeds ``room`` are taken out of the ranges of their letters.
    """
    choices = shape.choices(cells.low, cells.high, cells.least, cells.most)
    found, nu = _prices(choices, cells.mu, cells.nu, wide)
    # Prices of mass that differ much cost more than they bring: all are tried at several distances from the highest.
    tries = np.array([np.maximum(found, found.max(axis=0) - apart) for apart in _APART])
    totals = np.array([choices.total(tried, nu)[0].max(axis=0) for tried in tries])
    totals = np.where(np.isnan(totals), math.inf, totals)
    mu = tries[totals.argmin(axis=0), :, np.arange(len(nu))].T
    total, left = choices.total(mu, nu)
    with_it = (total[..., None, None] - (left.max(axis=3, keepdims=True) - left)).max(axis=0)
    kept = ~(with_it <= room)
    kept |= ~kept.any(axis=2, keepdims=True)
    least, most = shape.narrowed(cells.low, cells.high, choices, kept)
    letter, first, second = _undecided(choices, mu, nu)
    return replace(
        cells,
        bound=np.minimum(totals.min(axis=0), cells.bound),
        least=np.maximum(cells.least, least),
        most=np.minimum(cells.most, most),
        mu=mu.mean(axis=0),
        nu=nu,
        letter=letter,
        choices=first + second / 1024,
    )


def _undecided(choices: Choices, mu: Floats, nu: Floats) -> tuple[Floats, Indices, Indices]:
    """For each cell the letter that is most torn between two choices, which differ much, and these choices."""
    worth, mass, cost = (part.mean(axis=0) for part in (choices.worth, choices.mass, choices.cost))
    mu, nu = mu.mean(axis=0)[:, None, None], nu[:, None, None]
    left = worth - mu * mass - nu * cost
    best = left.argmax(axis=2)[..., None]
    regret, moved, dearer = (
        part - np.take_along_axis(part, best, axis=2) for part in (left, np.abs(mu) * mass, nu * cost)
    )
    torn = np.abs(moved) + np.abs(dearer) + _REGRET * regret
    torn[(moved == 0) & (dearer == 0)] = -math.inf  # one choice, however often it is listed
    second = torn.argmax(axis=2)
    each = np.arange(len(torn))
    letter = np.take_along_axis(torn, second[..., None], axis=2)[..., 0].argmax(axis=1)
    return letter.astype(np.float64), best[each, letter, 0], second[each, letter]


def _prices(choices: Choices, mu: Floats, nu: Floats, wide: bool) -> tuple[Floats, Floats]:
    """Good prices of mass for each corner and of cost for each cell, begun at those given."""
    mass = np.broadcast_to(mu, choices.most.shape)

    def tried(price: Floats) -> tuple[Floats, Floats, Floats]:
        nonlocal mass
        base = choices.worth - price[:, None, None] * choices.cost
        mass, value, best = _price_of_mass(choices, base, mass, wide)
        value = value + price * choices.most
        worst = value.argmax(axis=0)[None]
        taken = np.moveaxis(best, 0, -1)[..., None]
        spent = np.take_along_axis(choices.cost, taken, axis=3)[..., 0].sum(axis=2)
        slope = np.take_along_axis(choices.most - spent, worst, axis=0)[0]
        return np.take_along_axis(value, worst, axis=0)[0], slope, mass

    start = np.where(wide | (nu < _IDLE), 1.0, nu)
    price, _, mass = _least_of_convex(
        tried, start, lambda x, step: np.minimum(x * 8.0**step, _DEAREST), 24 if wide else 12
    )
    return mass, price


def _price_of_mass(choices: Choices, base: Floats, mu: Floats, wide: bool) -> tuple[Floats, Floats, Array]:
    """For each corner the price at which a mass of one is taken, what it proves, and what each letter takes."""
    reach = 0.05 * (1 + np.abs(mu))

    def tried(price: Floats) -> tuple[Floats, Floats, Array]:
        left = base - price[..., None, None] * choices.mass
        best = left.argmax(axis=3)
        taken = best[..., None]
        value = np.take_along_axis(left, taken, axis=3)[..., 0].sum(axis=2) + price
        spare = 1 - np.take_along_axis(choices.mass, taken, axis=3)[..., 0].sum(axis=2)
        return value, spare, np.moveaxis(best, -1, 0)

    def further(price: Floats, step: Floats) -> Floats:
        there: Floats = np.clip(price + step * reach * 8.0 ** np.abs(step), -_DEAREST, _DEAREST)
        return there

    return _least_of_convex(tried, mu, further, 18 if wide else 9)


def _least_of_convex(
    tried: Callable[[Floats], tuple[Floats, Floats, Array]],
    start: Floats,
    further: Callable[[Floats, Floats], Floats],
    steps: int,
) -> tuple[Floats, Floats, Array]:
    """Minimise convex functions of one number each, by where the tangents on both sides of the minimum meet.

    ``tried`` returns values, slopes and something to keep of the best, whose last axes are those of the functions;
    ``further`` goes up or down while one side is unknown.
    """
    below = [np.full(start.shape, -math.inf), np.zeros(start.shape), np.zeros(start.shape)]  # where, value and slope
    above = [np.full(start.shape, math.inf), np.zeros(start.shape), np.zeros(start.shape)]
    x, step = start, np.ones(start.shape)
    best, least, kept = x, np.full(start.shape, math.inf), None
    for _ in range(steps):
        value, slope, mark = tried(x)
        better, down = value < least, slope < 0
        kept = mark if kept is None else np.where(better, mark, kept)
        best, least = np.where(better, x, best), np.where(better, value, least)
        here = (x, value, slope)
        below = [np.where(down, new, old) for new, old in zip(here, below, strict=True)]
        above = [np.where(down, old, new) for new, old in zip(here, above, strict=True)]
        known = np.isfinite(below[0]) & np.isfinite(above[0])
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            turn = above[1] - below[1] + below[2] * below[0] - above[2] * above[0]
            meet = turn / (below[2] - above[2])
            middle = np.where((meet > below[0]) & (meet < above[0]), meet, (below[0] + above[0]) / 2)
            margin = 0.02 * (above[0] - below[0])
            middle = np.clip(middle, below[0] + margin, above[0] - margin)
        x = np.where(known, middle, further(x, np.where(down, step, -step)))
        step = np.where(known, step, step + 0.5)
    assert kept is not None
    return best, least, kept
