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
from leakwise.proof.optimality.level_choices import ANY, BoxShape, Choices, KLShape, Region, Shape
from leakwise.types import Floats, Indices

__all__ = ["largest_by_levels"]

_ROUNDS, _PATIENCE = 120, 25  # at most, and so many that bring next to nothing
_AT_ONCE = 1 << 14  # choices of letters in all cells that are cut in a round
_APART = (0.0, 0.1, 0.4, 1.6, 6.4, math.inf)
_IDLE = 1e-2  # a price of cost below which it may have been found where the cost did not count
_DEAREST = 2e6  # of the prices of cost that are tried
_FAR = 100.0  # a price of mass above which it may have been found where no column has a mass of one
_BETTER = 0.999  # of its bound: what a cell must at least be brought to
_SCALE, _LITTLE = 0.05, 1e-3  # of what utility there can be: gains above and below these count as these
_FINITE = 1e6  # no reduced cost that matters is above it
_THIN = 0.05  # of M: sides of a cell that are hardly worth cutting
_WEAK = 0.0003  # a product of gains that another way to cut may exceed
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
    least, most = (end * ranges for end in shape.whole)
    nobody = np.zeros(low.shape, dtype=np.intp)
    whole = _Cells(low, high, least, most, none + ANY, none + math.inf, none, none, nobody[0], nobody)
    cells = _looked_at(shape, whole, room, wide=True).above(room)
    number = min(max(_AT_ONCE // (shape.letters * shape.each), 16), 256)
    # How a cell is cut must not depend on what is to be shown, or the checker would go another way than the search.
    most = np.minimum(shape.cap, ratio)
    scale, tops = _SCALE * float(p @ (f(0 * most) + (f(most) - f(0 * most)) / most)), list[float]()
    for _ in range(_ROUNDS):
        if not len(cells.bound) or late():
            break
        tops.append(float(cells.bound[0]))
        if len(tops) > _PATIENCE and tops[-_PATIENCE] - tops[-1] < _LITTLE * scale:
            break
        cut, others = cells.taken(slice(number)), cells.taken(slice(number, None))
        cells = others.joined(*_parts(shape, cut, room, scale)).above(room)
    return float(cells.bound[0]) if len(cells.bound) else room


@dataclass(frozen=True)
class _Cells(Region):
    """Cells with their bounds, the largest first, prices, and a letter to part next."""

    bound: Floats
    mu: Floats
    nu: Floats
    letter: Indices
    pair: Indices  # the two choices of that letter which are to be told apart (2 × cells)

    def taken(self, places: Indices | slice) -> _Cells:
        return _Cells(*(each[..., places] for each in vars(self).values()))

    def joined(self, *others: _Cells) -> _Cells:
        parts = zip(*(vars(each).values() for each in (self, *others)), strict=True)
        return _Cells(*(np.concatenate(part, axis=-1) for part in parts))

    def above(self, room: float) -> _Cells:
        order = np.argsort(-self.bound, kind="stable")
        return self.taken(order[~(self.bound[order] <= room)])

    def halves(self, side: int) -> _Cells:
        """Return the lower halves along a side, then the upper ones."""
        first, last = self.low[side], self.high[side]
        middle = np.where(np.isinf(last), 4 * first, (first + np.where(np.isinf(last), 0.0, last)) / 2)
        left, right = self.high.copy(), self.low.copy()
        left[side] = right[side] = middle
        return replace(self, high=left).joined(replace(self, low=right))


def _parts(shape: Shape, cells: _Cells, room: float, scale: float) -> list[_Cells]:
    """Return the cells cut by a letter, or along a side where that brings the first two parts more, as a product."""

    def gained(cells: _Cells, parts: _Cells) -> Floats:
        first_two = parts.bound[: 2 * len(cells.bound)].reshape(2, -1)
        gains = np.minimum(cells.bound, _FINITE) - np.minimum(first_two, _FINITE)
        product: Floats = np.clip(gains / scale, _LITTLE, 1.0).prod(axis=0)
        return product

    places, parts = shape.parted(cells, cells.letter, *cells.pair)
    by_letter = _looked_at(shape, replace(cells.taken(places), **vars(parts)), room, wide=False)
    gain = gained(cells, by_letter)
    wide = ~((cells.high - cells.low).max(axis=0) <= _THIN * cells.high.sum(axis=0))
    weak = np.flatnonzero(wide | (gain < _WEAK))
    some, way = cells.taken(weak), np.zeros(len(gain), dtype=np.intp)
    if not len(weak):
        return [by_letter]
    sides = [_looked_at(shape, some.halves(side), room, wide=False) for side in (0, 1)]
    way[weak] = np.array([gain[weak], *(gained(some, halves) for halves in sides)]).argmax(axis=0)
    chosen = np.tile(way[weak], 2)
    halves = [halves.taken(np.flatnonzero(chosen == side + 1)) for side, halves in enumerate(sides)]
    return [by_letter.taken(np.flatnonzero(way[places] == 0)), *halves]


def _looked_at(shape: Shape, cells: _Cells, room: float, *, wide: bool) -> _Cells:
    """The cells with bounds of their own, where these are better than those of the cells they were cut from.

    Choices with which no column exceeds ``room`` are taken out of the ranges of their letters.
    """
    choices = shape.choices(cells)
    found, nu = _prices(choices, cells.mu, cells.nu, wide, shared=False)
    # Prices of mass that differ much cost more than they bring: all are tried at several distances from the highest.
    tries = np.array([np.maximum(found, found.max(axis=0) - apart) for apart in _APART])
    mu, bound = _best_of(choices, tries, nu)
    # Where no distance helps one price for the whole cell does: its corners may be short of mass and have too much.
    stuck = np.flatnonzero(~(bound <= _BETTER * cells.bound))
    if len(stuck):
        some = choices.taken(stuck)
        one, price = _prices(some, cells.mu[stuck], cells.nu[stuck], wide, shared=True)
        one, lower = _best_of(some, np.broadcast_to(one, (1, *some.most.shape)), price)
        better = lower < bound[stuck]
        places = stuck[better]
        bound[places], nu[places], mu[:, places] = lower[better], price[better], one[:, better]
    total, left = choices.total(mu, nu)
    with_it = (total[..., None, None] - (left.max(axis=3, keepdims=True) - left)).max(axis=0)
    kept = ~(with_it <= room)
    kept |= ~kept.any(axis=2, keepdims=True)
    least, most = shape.narrowed(cells, choices, kept)
    letter, first, second = _undecided(choices, mu, nu)
    return replace(
        cells,
        bound=np.minimum(bound, cells.bound),
        least=least,
        most=most,
        mu=mu.mean(axis=0),
        nu=nu,
        letter=letter,
        pair=np.stack([first, second]),
    )


def _best_of(choices: Choices, tries: Floats, nu: Floats) -> tuple[Floats, Floats]:
    """Return for each cell the prices of mass that prove the least of those that are tried, and what they prove."""
    totals = np.array([choices.total(tried, nu)[0].max(axis=0) for tried in tries])
    totals = np.where(np.isnan(totals), math.inf, totals)
    return tries[totals.argmin(axis=0), :, np.arange(len(nu))].T.copy(), totals.min(axis=0)


def _undecided(choices: Choices, mu: Floats, nu: Floats) -> tuple[Indices, Indices, Indices]:
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
    return letter, best[each, letter, 0], second[each, letter]


def _prices(choices: Choices, mu: Floats, nu: Floats, wide: bool, *, shared: bool) -> tuple[Floats, Floats]:
    """Good prices of mass and of cost, begun at those given: of mass one for each corner, or one that all share."""
    shape = choices.mass.shape
    places = np.arange(math.prod(shape[:3])).reshape(shape[:3]) * shape[3]
    mass, cost = choices.mass.ravel(), choices.cost.ravel()
    found = np.where(np.abs(mu) > _FAR, 0.0, mu)[None] if shared else np.broadcast_to(mu, choices.most.shape)

    def with_cost(price: Floats) -> Floats:
        nonlocal found
        base = choices.worth - price[:, None, None] * choices.cost

        def with_mass(prices: Floats) -> Floats:
            left = base - prices[..., None, None] * choices.mass
            taken = places + left.argmax(axis=3)
            values = left.ravel()[taken].sum(axis=2) + prices + price * choices.most
            each = np.stack([values, 1 - mass[taken].sum(axis=2), choices.most - cost[taken].sum(axis=2)])
            return _worst(each) if shared else each

        reach = 0.05 * (1 + np.abs(found))

        def further(prices: Floats, step: Floats) -> Floats:
            there: Floats = np.clip(prices + step * reach * 8.0 ** np.abs(step), -_DEAREST, _DEAREST)
            return there

        found, least, spare = _least_of_convex(with_mass, found, further, 18 if wide else 9)
        value, slope = _worst(np.stack([least, spare]))[:, 0]
        return np.stack([value, slope, slope])

    def dearer(price: Floats, step: Floats) -> Floats:
        there: Floats = np.minimum(price * 8.0**step, _DEAREST)
        return there

    price = _least_of_convex(with_cost, np.where(wide | (nu < _IDLE), 1.0, nu), dearer, 24 if wide else 12)[0]
    with_cost(price)
    return found, price


def _worst(each: Floats) -> Floats:
    """Each number at the corner at which the first of them is the largest."""
    worst: Floats = np.take_along_axis(each, each[:1].argmax(axis=1, keepdims=True), axis=1)
    return worst


def _least_of_convex(
    tried: Callable[[Floats], Floats], start: Floats, further: Callable[[Floats, Floats], Floats], steps: int
) -> tuple[Floats, Floats, Floats]:
    """Minimise convex functions of one number each, by where the tangents on both sides of the minimum meet.

    ``tried`` returns values, slopes, and the slopes in another number, which at the minimum are the mixture of those on
    both sides that makes the first slope zero; ``further`` goes up or down while one side is unknown.
    """
    below, above = (np.stack([np.full(start.shape, side), *np.zeros((3, *start.shape))]) for side in (-np.inf, np.inf))
    x, step = start, np.ones(start.shape)
    best = np.stack([start, np.full(start.shape, math.inf), np.zeros(start.shape), np.zeros(start.shape)])
    for _ in range(steps):
        here = np.stack([x, *tried(x)])
        down = here[2] < 0
        best = np.where(here[1] < best[1], here, best)
        below, above = np.where(down, here, below), np.where(down, above, here)
        known = np.isfinite(below[0]) & np.isfinite(above[0])
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            turn = above[1] - below[1] + below[2] * below[0] - above[2] * above[0]
            meet = turn / (below[2] - above[2])
            middle = np.where((meet > below[0]) & (meet < above[0]), meet, (below[0] + above[0]) / 2)
            margin = 0.02 * (above[0] - below[0])
            middle = np.clip(middle, below[0] + margin, above[0] - margin)
        x = np.where(known, middle, further(x, np.where(down, step, -step)))
        step = np.where(known, step, step + 0.5)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = above[2] / (above[2] - below[2])
    other = np.where(known, share * below[3] + (1 - share) * above[3], best[3])
    return best[0], best[1], other
