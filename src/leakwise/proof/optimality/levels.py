r"""The largest reduced cost over the lifts of a box of priors or a KL ball, by the few numbers that couple the letters.

What a set says of a column is a sum over its letters, once its largest lift M and one level are known:

    box:      Σ_i e_i (τ - λ_i)₊ + d_i (λ_i - τ)₊ ≤ 1 - M/t   for some τ, with e = upper - π, d = π - lower,
    KL ball:  Σ_i π_i log(1 + κ(λ_i - M/t)) ≥ radius           for some κ ≥ 0.

So for any price μ of mass and ν ≥ 0 of this constraint the reduced cost is at most a sum of maxima over single letters.
A letter of a box is best at 0, τ or M, because f is convex between them; one of a ball is compared at a list of lifts,
between which f lies below its chords and the logarithm below tangents. On a rectangle of the two numbers each of these
choices is convex along both sides, but for the mass that M (or τ) takes at a price that differs from corner to corner,
which is allowed for; a sum of maxima of such functions is largest at a corner. Rectangles are cut until none of them
exceeds what is to be shown. The prices come from bisections and need not be the best.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from leakwise.exact import float_below
from leakwise.priors import Box, KLBall, PriorSet
from leakwise.proof.optimality.functions import Function, Late, never
from leakwise.types import Floats, Indices

__all__ = ["largest_by_levels"]

_ROUNDS, _AT_ONCE = 60, 48
_PATIENCE, _SLOW = 6, 0.05  # rounds that must bring this share of what is missing
_APART = (0.0, 0.1, 0.4, 1.6, 6.4, math.inf)
_GOLDEN = (math.sqrt(5) - 1) / 2
_LARGEST_LEVEL = 40.0  # of κ: beyond it only the least lift that it allows counts
_STEEP = 1e-2  # tangents of the logarithm are taken no closer to zero
_STEPS = 25  # lifts of a letter that are tried in a KL ball


@dataclass(frozen=True)
class _Choices:
    """What each letter may be at the four corners of each cell (4 × cells × letters × choices)."""

    worth: Floats
    mass: Floats
    cost: Floats
    most: Floats  # what the costs may add up to (4 × cells)
    moves: tuple[Floats, Floats]  # the mass that a choice gains along each side of its cell

    def left(self, mu: Floats, nu: Floats) -> Floats:
        """Return what a choice is worth when its mass and cost are paid for."""
        return self.worth - mu[..., None, None] * self.mass - nu[:, None, None] * self.cost

    def paid(self, left: Floats, mu: Floats, nu: Floats) -> Floats:
        """Return what the prices prove, but for roundings and for prices that differ."""
        paid: Floats = left.max(axis=3).sum(axis=2) + mu + nu * self.most
        return paid

    def total(self, mu: Floats, nu: Floats) -> Floats:
        """Return the bound that the prices prove of each corner, rounded up."""
        # The price of mass may rise along a side by as much: mass that rises with it pays at least this much less.
        first = np.maximum(0.0, np.maximum(mu[2] - mu[0], mu[3] - mu[1]))[:, None, None] / 4
        second = np.maximum(0.0, np.maximum(mu[1] - mu[0], mu[3] - mu[2]))[:, None, None] / 4
        left = self.left(mu, nu) + first * self.moves[0] + second * self.moves[1]
        size = np.abs(self.worth).max(axis=3).sum(axis=2) + nu * np.abs(self.cost).max(axis=3).sum(axis=2)
        size += np.abs(mu) * (1 + self.mass.max(axis=3).sum(axis=2)) + nu * np.abs(self.most)
        total: Floats = self.paid(left, mu, nu) + size * (self.worth.shape[2] + 64) * 2.0**-50
        return total


class _Shape(Protocol):
    same_units: bool  # whether both numbers are lifts

    def start(self) -> tuple[Floats, Floats]:
        """Return the first cells: the least and the largest of both numbers (2 × cells)."""

    def choices(self, low: Floats, high: Floats) -> _Choices:
        """Return the choices at the corners of cells: the second number differs from the first to the second one."""


class _BoxShape:
    """A box of priors: levels τ, and how far M is above them."""

    same_units = True

    def __init__(self, f: Function, p: Floats, y: Floats, priors: Box, ratio: float) -> None:
        self.f, self.p, self.y, self.ratio = f, p, y, ratio
        here, places = priors.nominal.fractions, np.flatnonzero(priors.support)
        self.up = np.array([float_below(priors.upper[i] - here[i]) for i in places])
        self.down = np.array([float_below(here[i] - priors.lower[i]) for i in places])
        self.cap = _caps(p)

    def start(self) -> tuple[Floats, Floats]:
        low, high = _grid(*2 * [np.linspace(0, self.ratio, 9)])
        kept = (low.sum(axis=0) <= self.ratio) & (high.sum(axis=0) >= 1)
        return low[:, kept], high[:, kept]

    def choices(self, low: Floats, high: Floats) -> _Choices:
        tau, rise = _corners(low, high)
        tau, rise = tau[:, :, None], rise[:, :, None]
        # No lift exceeds 1/π_i: where that is below M, or below τ, on the whole cell it takes their place.
        capped, below = self.cap <= low.sum(axis=0)[:, None], self.cap <= low[0][:, None]
        top = np.where(capped, self.cap, tau + rise)
        floor = _floors(self.p, high.sum(axis=0))
        lifted = floor >= high[0][:, None]  # above τ, which then is no choice
        level = np.where(below, self.cap, np.where(lifted, floor, tau))
        lifts = np.stack([np.broadcast_to(floor, top.shape), level, top], axis=3)
        over = self.up * (tau - self.cap)
        least = np.where(floor <= low[0][:, None], self.up * (tau - floor), 0.0)
        least = np.where(lifted, self.down * (floor - tau), least)
        costs = [least, np.where(below, over, np.where(lifted, least, 0.0))]
        costs.append(np.where(below, over, self.down * np.where(capped, self.cap - tau, rise)))
        width = (high - low)[:, :, None]
        moving = [np.zeros(capped.shape), np.where(below | lifted, 0.0, self.p), np.where(capped, 0.0, self.p)]
        along = np.stack(moving, axis=2) * width[0][:, :, None], np.stack([0 * moving[0], 0 * moving[0], moving[2]], 2)
        return _Choices(
            self.p[:, None] * self.f(lifts) - self.y[:, None] * lifts,
            self.p[:, None] * lifts,
            np.stack(costs, axis=3),
            1 - (tau + rise)[:, :, 0] / self.ratio,
            (along[0], along[1] * width[1][:, :, None]),
        )


class _KLShape:
    """A KL ball: levels κ and largest lifts M."""

    same_units = False

    def __init__(self, f: Function, p: Floats, y: Floats, priors: KLBall, ratio: float) -> None:
        self.f, self.ratio, self.radius = f, ratio, float_below(priors.radius)
        # Letters that ask the same price for their mass, and may take as much, are one.
        asked = np.divide(y, p, out=np.where(y == 0, 0.0, np.arange(len(p)) + 1e300), where=p > 0)
        kinds = np.stack([asked, np.minimum(_caps(p), ratio), _floors(p, np.ones(1) * ratio)[0]])
        _, first, inverse = np.unique(kinds, axis=1, return_index=True, return_inverse=True)
        self.p, self.y = (np.bincount(inverse.ravel(), each) for each in (p, y))
        self.cap, self.lightest = np.minimum(_caps(p), ratio)[first], np.full(len(first), math.inf)
        np.minimum.at(self.lightest, inverse.ravel(), p)
        self.parts = (1 - np.cos(np.linspace(0, math.pi, _STEPS))) / 2

    def start(self) -> tuple[Floats, Floats]:
        levels = np.concatenate([[0.0], np.geomspace(_LARGEST_LEVEL / 4**8, _LARGEST_LEVEL, 9), [math.inf]])
        return _grid(levels, np.linspace(1, self.ratio, 9))

    def choices(self, low: Floats, high: Floats) -> _Choices:
        last = np.isinf(high[0])
        level, top = _corners(low, np.where(np.isinf(high), low, high))
        first, further = low[0][:, None, None], (level - low[0])[:, :, None, None]
        # 1 + κ(λ - M/t) is positive for the κ and M of the column, hence for the least ones of its cell.
        with np.errstate(divide="ignore"):
            floor = np.maximum(0.0, low[1] / self.ratio - 1 / low[0])[:, None] * (1 - 2.0**-50)
        floor = np.maximum(floor, _floors(self.lightest, high[1]))
        end = np.minimum(self.cap, low[1][:, None])
        steps = floor[:, :, None] + np.maximum(end - floor, 0.0)[:, :, None] * self.parts
        # The last choice is M itself, which differs between the corners, or 1/π_i.
        moving = np.minimum(self.cap, top[:, :, None])[..., None]
        lifts = np.concatenate([np.broadcast_to(steps, (4, *steps.shape)), moving], axis=3)
        beyond = np.concatenate([steps[:, :, 1:], np.minimum(self.cap, high[1][:, None])[:, :, None]], axis=2)
        middle = (steps + beyond) / 2 - ((low[1] + high[1]) / 2 / self.ratio)[:, None, None]
        # Tangents: in κ at the least κ of the cell, and of that in λ - M/t at the middle of each step.
        z = np.maximum(1 + first * middle, _STEEP)
        middle = np.where(first > 0, (z - 1) / np.where(first > 0, first, 1.0), middle)
        here, slope = np.log(z) + further * middle / z, first / z + further / z**2
        distance = lifts - (top / self.ratio)[..., None, None]
        before, after = (here + slope * (part - middle) for part in (distance[..., :-1], distance[..., 1:]))
        log = np.concatenate([before, after[..., -1:]], axis=3)
        log[..., 1:-1] = np.maximum(log[..., 1:-1], after[..., :-1])
        log += ((np.abs(here) + np.abs(slope) * (self.ratio + np.abs(middle))) * 2.0**-48).max(axis=3, keepdims=True)
        cost = np.where(last[:, None, None], 0.0, -self.p[:, None] * log)
        gained = np.zeros((*steps.shape[:2], _STEPS + 1))
        gained[:, :, -1] = self.p * np.where(self.cap <= low[1][:, None], 0.0, (high - low)[1][:, None])
        most = np.broadcast_to(np.where(last, 0.0, -self.radius), top.shape)
        worth = self.p[:, None] * self.f(lifts) - self.y[:, None] * lifts
        return _Choices(worth, self.p[:, None] * lifts, cost, most, (np.zeros_like(gained), gained))


def _caps(p: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        caps: Floats = 1 / p * (1 + 2.0**-50)
    return caps


def _floors(p: Floats, tops: Floats) -> Floats:
    """The least lift of each letter where no other exceeds a top (tops × letters): the mean is one."""
    rest = (1 - tops[:, None] * (1 - p)) * (1 - 2.0**-40)
    floors: Floats = np.where((rest > 2.0**-30) & (p > 0), rest / np.where(p > 0, p, 1.0), 0.0)
    return floors


def _grid(first: Floats, second: Floats) -> tuple[Floats, Floats]:
    low, high = (np.stack([each.ravel() for each in np.meshgrid(first[part], second[part])]) for part in _ENDS)
    return low, high


_ENDS = (slice(None, -1), slice(1, None))


def _corners(low: Floats, high: Floats) -> Floats:
    """Both numbers at the four corners of cells (2 × 4 × cells), the second one differing first."""
    return np.stack([np.stack([low[0], low[0], high[0], high[0]]), np.stack([low[1], high[1], low[1], high[1]])])


def largest_by_levels(
    f: Function, p: Floats, y: Floats, priors: PriorSet, ratio: float, room: float, late: Late = never
) -> float:
    """Return a number above Σ_i π_i f(λ_i) - y·λ for all lift vectors of a set; at most ``room`` where that is shown.

    ∞ for sets whose letters are not coupled by one level. The letters are those that the set may give mass.
    """
    shape: _Shape
    if isinstance(priors, Box) and priors.beta is None:
        shape = _BoxShape(f, p, y, priors, ratio)
    elif isinstance(priors, KLBall) and priors.radius:
        shape = _KLShape(f, p, y, priors, ratio)
    else:
        return math.inf
    low, high = shape.start()
    none = np.zeros(low.shape[1])
    cells = _looked_at(shape, _Cells(none + math.inf, low, high, none, none + 1, none), wide=True).above(room)
    tops: list[float] = []
    for _ in range(_ROUNDS):
        if not len(cells.bound) or late():
            break
        tops.append(float(cells.bound[0]))
        if len(tops) > _PATIENCE and tops[-_PATIENCE - 1] - tops[-1] < _SLOW * (tops[-1] - room):
            break
        cut, others = cells.parted(_AT_ONCE)
        cells = others.joined(_looked_at(shape, cut.halves(), wide=False).above(room))
    return float(cells.bound[0]) if len(cells.bound) else room


@dataclass(frozen=True)
class _Cells:
    """Rectangles with their bounds, the largest first, prices that show them and the side to cut."""

    bound: Floats
    low: Floats
    high: Floats
    mu: Floats
    nu: Floats
    side: Floats

    def _taken(self, places: Indices | slice) -> _Cells:
        return _Cells(*(each[..., places] for each in vars(self).values()))

    def joined(self, other: _Cells) -> _Cells:
        both = self._beside(other)
        return both._taken(np.argsort(-both.bound, kind="stable"))

    def _beside(self, other: _Cells) -> _Cells:
        pairs = zip(vars(self).values(), vars(other).values(), strict=True)
        return _Cells(*(np.concatenate(pair, axis=-1) for pair in pairs))

    def above(self, room: float) -> _Cells:
        order = np.argsort(-self.bound, kind="stable")
        return self._taken(order[~(self.bound[order] <= room)])

    def parted(self, number: int) -> tuple[_Cells, _Cells]:
        return self._taken(slice(number)), self._taken(slice(number, None))

    def halves(self) -> _Cells:
        each, side = np.arange(len(self.bound)), self.side.astype(np.intp)
        first, last = self.low[side, each], self.high[side, each]
        middle = np.where(np.isinf(last), 4 * first, (first + np.where(np.isinf(last), 0.0, last)) / 2)
        left, right = self.high.copy(), self.low.copy()
        left[side, each] = right[side, each] = middle
        lower = _Cells(self.bound, self.low, left, self.mu, self.nu, self.side)
        return lower._beside(_Cells(self.bound, right, self.high, self.mu, self.nu, self.side))


def _looked_at(shape: _Shape, cells: _Cells, *, wide: bool) -> _Cells:
    """The cells with bounds of their own, where these are better than those of the cells they were cut from."""
    low, high = cells.low, cells.high
    choices = shape.choices(low, high)
    found, nu = _prices(choices, cells.mu, cells.nu, wide)
    # Prices of mass that differ much cost more than they bring: all are tried at several distances from the highest.
    tries = [np.maximum(found, found.max(axis=0) - apart) for apart in _APART]
    totals = np.array([choices.total(tried, nu).max(axis=0) for tried in tries])
    totals = np.where(np.isnan(totals), math.inf, totals)
    shown, mu = totals.min(axis=0), np.array(tries)[totals.argmin(axis=0), :, np.arange(len(nu))].T
    # Across the side along which the prices of mass differ more.
    side = np.abs(found[1::2] - found[::2]).max(axis=0) > np.abs(found[2:] - found[:2]).max(axis=0)
    if shape.same_units:  # and neither side becomes much shorter than the other
        lengths = high - low
        side = np.where(lengths[1] > 4 * lengths[0], True, np.where(lengths[0] > 4 * lengths[1], False, side))
    return _Cells(np.minimum(shown, cells.bound), low, high, mu.mean(axis=0), nu, side.astype(np.float64))


def _prices(choices: _Choices, mu: Floats, nu: Floats, wide: bool) -> tuple[Floats, Floats]:
    """Good prices of mass for each corner and of cost for each cell, near those given unless the search is ``wide``."""
    reach = 12.0 if wide else 2.5
    low, high = np.log(nu) - reach, np.log(nu) + reach

    def tried(log: Floats) -> tuple[Floats, Floats]:
        price = np.exp(log)
        mass = _price_of_mass(choices, mu, price, wide)
        return mass, choices.paid(choices.left(mass, price), mass, price).max(axis=0)

    first, second = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    (mu_first, at_first), (mu_second, at_second) = tried(first), tried(second)
    for _ in range(26 if wide else 10):
        left = at_first < at_second
        low, high = np.where(left, low, first), np.where(left, second, high)
        new = np.where(left, high - _GOLDEN * (high - low), low + _GOLDEN * (high - low))
        mass, value = tried(new)
        first, second = np.where(left, new, second), np.where(left, first, new)
        mu_first, mu_second = np.where(left, mass, mu_second), np.where(left, mu_first, mass)
        at_first, at_second = np.where(left, value, at_second), np.where(left, at_first, value)
    better = at_first < at_second
    return np.where(better, mu_first, mu_second), np.exp(np.where(better, first, second))


def _price_of_mass(choices: _Choices, mu: Floats, nu: Floats, wide: bool) -> Floats:
    """For each corner the price at which a mass of one is taken."""
    reach = (1 + np.abs(mu) + nu) * (60.0 if wide else 1.0)
    low, high = np.broadcast_to(mu - reach, choices.most.shape), np.broadcast_to(mu + reach, choices.most.shape)
    for _ in range(34 if wide else 15):
        middle = (low + high) / 2
        best = choices.left(middle, nu).argmax(axis=3)[..., None]
        heavy = np.take_along_axis(choices.mass, best, axis=3)[..., 0].sum(axis=2) > 1
        low, high = np.where(heavy, middle, low), np.where(heavy, high, middle)
    # Where even the largest lifts have less mass no price is low enough: that of another corner does.
    enough = choices.mass.max(axis=3).sum(axis=2) >= 1
    found = np.where(enough, (low + high) / 2, math.inf)
    return np.where(enough, found, np.where(enough.any(axis=0), found.min(axis=0), mu))
