r"""What the letters of a column may be, where its largest lift M and one level of a box or a KL ball are known.

A letter of a box is at 0, at the level τ or at M, or between two of them where f is below its chord. One of a KL ball
is compared at a list of lifts, between which f lies below its chords and the logarithm below tangents. A cell is a
rectangle of the two numbers with a range for each letter: places from 0 by τ to M in a box, shares of M in a ball.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from leakwise.exact import float_below
from leakwise.priors import Box, KLBall
from leakwise.proof.optimality.functions import Function
from leakwise.types import Bools, Floats, Indices

__all__ = ["ANY", "BoxShape", "Choices", "KLShape", "Region", "Shape"]

ANY = -1.0  # which letter may be between two choices, where that is not known

_LARGEST_LEVEL = 40.0  # of κ: beyond it only the least lift that it allows counts
_STEEP = 1e-2  # tangents of the logarithm are taken no closer to zero
_STEPS = 9  # lifts of a letter that are tried in a KL ball
_ABOVE = 1 + 2.0**-50
_NONE = -1e30  # what a letter without a choice is worth
_ENDS = (slice(None, -1), slice(1, None))


@dataclass(frozen=True)
class Choices:
    """What each letter may be at the four corners of each cell (4 × cells × letters × choices)."""

    worth: Floats
    mass: Floats
    cost: Floats
    most: Floats  # what the costs may add up to (4 × cells)
    moves: tuple[Floats, Floats]  # the mass that a choice gains along each side of its cell

    def taken(self, cells: Indices) -> Choices:
        """Return the choices of some cells."""
        worth, mass, cost, most = (each[:, cells] for each in (self.worth, self.mass, self.cost, self.most))
        return Choices(worth, mass, cost, most, (self.moves[0][cells], self.moves[1][cells]))

    def total(self, mu: Floats, nu: Floats) -> tuple[Floats, Floats]:
        """Return the bounds that prices of mass, one for each corner, and of cost prove of the corners, rounded up.

        Also what each choice is worth at these prices, which says what the bounds are without the others of its letter.
        """
        # The price of mass may rise along a side by as much: mass that rises with it pays at least this much less.
        first = np.maximum(0.0, np.maximum(mu[2] - mu[0], mu[3] - mu[1]))[:, None, None] / 4
        second = np.maximum(0.0, np.maximum(mu[1] - mu[0], mu[3] - mu[2]))[:, None, None] / 4
        left = self.worth - mu[..., None, None] * self.mass - nu[:, None, None] * self.cost
        left += first * self.moves[0] + second * self.moves[1]
        size = np.abs(self.worth).max(axis=3).sum(axis=2) + nu * np.abs(self.cost).max(axis=3).sum(axis=2)
        size += np.abs(mu) * (1 + self.mass.max(axis=3).sum(axis=2)) + nu * np.abs(self.most)
        paid = left.max(axis=3).sum(axis=2) + mu + nu * self.most
        return paid + size * (self.worth.shape[2] + 64) * 2.0**-50, left


@dataclass(frozen=True)
class Region:
    """Cells, one for each last index: rectangles of the two numbers with a range for each letter."""

    low: Floats
    high: Floats
    least: Floats
    most: Floats
    free: Floats  # the one letter that may be between two choices, or ANY of them


class Shape(Protocol):
    letters: int
    each: int  # how many choices a letter has
    cap: Floats  # what no lift exceeds, whatever the mechanism
    whole: tuple[float, float]  # the range of a letter of which nothing is known

    def start(self) -> tuple[Floats, Floats]:
        """Return the first cells: the least and the largest of both numbers (2 × cells)."""

    def choices(self, cells: Region) -> Choices:
        """Return the choices at the corners of cells, the second number differing from the first to the second one."""

    def narrowed(self, cells: Region, choices: Choices, kept: Bools) -> tuple[Floats, Floats]:
        """Return what is left of the ranges of letters of which only some choices are to be kept."""

    def parted(self, cells: Region, letter: Indices, first: Indices, second: Indices) -> tuple[Indices, Region]:
        """Return cells with a letter of each in parts of its range that tell two choices apart, and whose parts."""


class BoxShape:
    """A box of priors: levels τ, and how far M is above them.

    A letter is at s, from 0 (a lift of 0) by 1 (τ) to 2 (M); between two of these its cost is linear and f convex. The
    best column is a vertex of the polyhedron of lifts, τ and M. Where 0 < τ < M each of its letters is at a whole s, as
    each is one of the equations that fix it; where τ is at an end of its range one letter may be in between.
    """

    each, whole = 3, (0.0, 2.0)

    def __init__(self, f: Function, p: Floats, y: Floats, priors: Box, ratio: float) -> None:
        self.f, self.p, self.y, self.ratio, self.letters = f, p, y, ratio, len(p)
        here, places = priors.nominal.fractions, np.flatnonzero(priors.support)
        self.up = np.array([float_below(priors.upper[i] - here[i]) for i in places])
        self.down = np.array([float_below(here[i] - priors.lower[i]) for i in places])
        self.cap = _caps(p)

    def start(self) -> tuple[Floats, Floats]:
        low, high = _grid(*2 * [np.linspace(0, self.ratio, 9)])
        kept = (low.sum(axis=0) <= self.ratio) & (high.sum(axis=0) >= 1)
        return low[:, kept], high[:, kept]

    def choices(self, cells: Region) -> Choices:
        low, high = cells.low, cells.high
        least, most = self._ranges(cells)
        at = np.clip(np.arange(3.0), least.T[..., None], np.maximum(least, most).T[..., None])
        below, above = np.minimum(at, 1.0), np.maximum(at - 1, 0.0)

        def lifts_at(ends: Floats) -> Floats:
            found: Floats = below * ends[0][..., None, None] + above * ends[1][..., None, None]
            return found

        # No letter costs more than all of them may: that is how far from τ it can be. And no lift exceeds 1/π_i.
        budget = np.maximum(0.0, 1 - low.sum(axis=0)[:, None] / self.ratio) + 2.0**-50
        with np.errstate(divide="ignore"):
            cap = np.minimum(self.cap, (high[0][:, None] + budget / self.down) * _ABOVE)[..., None]
            floor = (low[0][:, None] - budget / self.up) / _ABOVE
        floor = np.maximum(_floors(self.p, high.sum(axis=0)), floor)[..., None]
        # What is out of this range on the whole cell is moved to its end, which does not change from corner to corner.
        lifted, capped = lifts_at(high) <= floor, lifts_at(low) >= cap
        fixed = np.where(lifted, floor, np.where(capped, cap, 0.0))
        corners = _corners(low, high)
        tau, rise = (part[..., None, None] for part in corners)
        up, down = self.up[:, None], self.down[:, None]
        lifts = np.where(lifted | capped, fixed, below * tau + above * rise)
        # The cost is convex in τ where a lift stays: one of its two sides is below it, or zero.
        first, last = low[0][:, None, None], high[0][:, None, None]
        stays = np.where(fixed <= first, up * (tau - fixed), np.where(fixed >= last, down * (fixed - tau), 0.0))
        costs = np.where(lifted | capped, stays, up * (1 - below) * tau + down * above * rise)
        width = (high - low)[..., None, None]
        moving = np.where(lifted | capped, 0.0, self.p[:, None])
        worth = self.p[:, None] * self.f(lifts) - self.y[:, None] * lifts
        return Choices(
            np.where((least > most).T[..., None], _NONE, worth),
            self.p[:, None] * lifts,
            costs,
            1 - corners.sum(axis=0) / self.ratio,
            (moving * below * width[0], moving * above * width[1]),
        )

    def narrowed(self, cells: Region, choices: Choices, kept: Bools) -> tuple[Floats, Floats]:
        first, last = kept.argmax(axis=2).T.astype(np.float64), 2.0 - kept[:, :, ::-1].argmax(axis=2).T
        # What is between two choices is out where both are.
        both = (cells.least <= 1) & (cells.most >= 1) & ~kept[:, :, 1].T
        between = self._may_be_between(cells)
        first = np.where(between, np.where(both & ~kept[:, :, 0].T, 1.0, 0.0), first)
        last = np.where(between, np.where(both & ~kept[:, :, 2].T, 1.0, 2.0), last)
        return np.maximum(cells.least, first), np.minimum(cells.most, last)

    def parted(self, cells: Region, letter: Indices, first: Indices, second: Indices) -> tuple[Indices, Region]:
        each = np.arange(len(letter))
        least, most = cells.least[letter, each], cells.most[letter, each]
        start, stop = (end[letter, each] for end in self._ranges(cells))
        at_zero, at_top = cells.low[0] <= 0, cells.low[1] <= 0
        # Of 0 and M, τ is taken with the one that it is closer to.
        with_top = (np.abs(first - second) < 2) | (cells.high[1] < cells.high[0])
        end = np.minimum(first, second) + np.where(with_top, 0, 1)
        end = np.clip(end, start, np.maximum(stop - 1, start))
        # With the level at its end, 0 or M, the letter may be between 0 and M; the others are not then.
        between = self._may_be_between(cells)[letter, each]
        alone = between & (at_zero != at_top) & (cells.free == ANY)
        turn = np.where(at_top, 0.0, 1.0)
        alone &= (least <= turn) & (most >= turn + 1)
        end = np.where(alone, turn, end)
        middle = np.where((least < 1) & (most > 1), 1.0, (least + most) / 2)
        halved = between & ~alone
        lower = least, np.where(halved, middle, end), cells.free
        upper = np.where(halved, middle, np.minimum(end + 1, stop)), most, cells.free
        only = np.flatnonzero(alone)
        places = np.concatenate([each, each, only])
        ranges = np.concatenate([lower, upper, np.stack([turn, turn + 1, letter])[:, only]], axis=1)
        return places, _with_ranges(cells, places, letter[places], ranges)

    def _may_be_between(self, cells: Region) -> Bools:
        """Whether each letter of each cell may be between two choices that differ, for some column in it."""
        above_zero = (cells.low[0] <= 0) & (cells.most > 1)
        below_top = (cells.low[1] <= 0) & (cells.least < 1)
        letters = np.arange(self.letters)[:, None]
        may: Bools = (above_zero | below_top) & ((cells.free == ANY) | (cells.free == letters))
        return may

    def _ranges(self, cells: Region) -> tuple[Floats, Floats]:
        """The ranges of letters, where these are at whole choices from such to such."""
        between = self._may_be_between(cells)
        return np.where(between, cells.least, np.ceil(cells.least)), np.where(between, cells.most, np.floor(cells.most))


class KLShape:
    """A KL ball: levels κ and largest lifts M. The range of a letter is one of shares of M."""

    each, whole = _STEPS + 1, (0.0, 1.0)

    def __init__(self, f: Function, p: Floats, y: Floats, priors: KLBall, ratio: float) -> None:
        self.f, self.p, self.y, self.ratio, self.letters = f, p, y, ratio, len(p)
        self.radius, self.cap = float_below(priors.radius), _caps(p)
        self.parts = (1 - np.cos(np.linspace(0, math.pi, _STEPS))) / 2

    def start(self) -> tuple[Floats, Floats]:
        levels = np.concatenate([[0.0], np.geomspace(_LARGEST_LEVEL / 4**8, _LARGEST_LEVEL, 9), [math.inf]])
        return _grid(levels, np.linspace(1, self.ratio, 9))

    def choices(self, cells: Region) -> Choices:
        low, high, least, most = cells.low, cells.high, cells.least, cells.most
        last = np.isinf(high[0])
        level, top = _corners(low, np.where(np.isinf(high), low, high))
        first, further = low[0][:, None, None], (level - low[0])[:, :, None, None]
        # 1 + κ(λ - M/t) is positive for the κ and M of the column, hence for the least ones of its cell.
        with np.errstate(divide="ignore"):
            floor = np.maximum(0.0, low[1] / self.ratio - 1 / low[0])[:, None] * (1 - 2.0**-50)
        floor = np.maximum(np.maximum(floor, _floors(self.p, high[1])), least.T * low[1][:, None] / _ABOVE)
        cap = np.minimum(self.cap, np.where(most.T < 1, most.T * high[1][:, None] * _ABOVE, math.inf))
        capped = cap <= low[1][:, None]
        end = np.where(capped, cap, low[1][:, None])
        steps = floor[:, :, None] + np.maximum(end - floor, 0.0)[:, :, None] * self.parts
        # The last choice is M itself, which differs between the corners, or what no lift of the letter exceeds.
        moving = np.where(capped, cap, top[:, :, None])[..., None]
        lifts = np.concatenate([np.broadcast_to(steps, (4, *steps.shape)), moving], axis=3)
        highest = np.where(capped, cap, high[1][:, None])
        beyond = np.concatenate([steps[:, :, 1:], highest[:, :, None]], axis=2)
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
        gained[:, :, -1] = np.where(capped, 0.0, self.p * (high - low)[1][:, None])
        room = np.broadcast_to(np.where(last, 0.0, -self.radius), top.shape)
        worth = self.p[:, None] * self.f(lifts) - self.y[:, None] * lifts
        return Choices(worth, self.p[:, None] * lifts, cost, room, (np.zeros_like(gained), gained))

    def narrowed(self, cells: Region, choices: Choices, kept: Bools) -> tuple[Floats, Floats]:
        # Lifts between two choices that are out are out as well; next to one that is in they are in.
        lifts = np.divide(choices.mass, self.p[:, None], out=np.zeros_like(choices.mass), where=self.p[:, None] > 0)
        last = kept.shape[2] - 1
        first, final = (
            np.maximum(kept.argmax(axis=2) - 1, 0),
            np.minimum(last - kept[:, :, ::-1].argmax(axis=2) + 1, last),
        )
        lightest = np.take_along_axis(lifts.min(axis=0), first[..., None], axis=2)[..., 0]
        heaviest = np.take_along_axis(lifts.max(axis=0), final[..., None], axis=2)[..., 0]
        low, high = cells.low[1][:, None], cells.high[1][:, None]
        from_least, to_most = lightest / high / _ABOVE, heaviest / low * _ABOVE
        from_least = np.where(self.p > 0, from_least, 0.0)
        to_most = np.where((self.p > 0) & (final < last), to_most, 1.0)
        return np.maximum(cells.least, from_least.T), np.minimum(cells.most, to_most.T)

    def parted(self, cells: Region, letter: Indices, first: Indices, second: Indices) -> tuple[Indices, Region]:
        each, shares = np.arange(len(letter)), np.append(self.parts, 1.0)
        least, most = cells.least[letter, each], cells.most[letter, each]
        middle = least + (most - least) * (shares[first] + shares[second]) / 2
        places = np.concatenate([each, each])
        ranges = np.concatenate([(least, middle, cells.free), (middle, most, cells.free)], axis=1)
        return places, _with_ranges(cells, places, letter[places], ranges)


def _with_ranges(cells: Region, places: Indices, letter: Indices, ranges: Floats) -> Region:
    """Some of the cells, each with another range of one letter; and the letter that may be between two choices."""
    each, least, most = np.arange(len(places)), cells.least[:, places], cells.most[:, places]
    least[letter, each], most[letter, each] = ranges[:2]
    return Region(cells.low[:, places], cells.high[:, places], least, most, ranges[2])


def _caps(p: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        caps: Floats = 1 / p * _ABOVE
    return caps


def _floors(p: Floats, tops: Floats) -> Floats:
    """The least lift of each letter where no other exceeds a top (tops × letters): the mean is one."""
    rest = (1 - tops[:, None] * (1 - p)) * (1 - 2.0**-40)
    floors: Floats = np.where((rest > 2.0**-30) & (p > 0), rest / np.where(p > 0, p, 1.0), 0.0)
    return floors


def _grid(first: Floats, second: Floats) -> tuple[Floats, Floats]:
    low, high = (np.stack([each.ravel() for each in np.meshgrid(first[part], second[part])]) for part in _ENDS)
    return low, high


def _corners(low: Floats, high: Floats) -> Floats:
    """Both numbers at the four corners of cells (2 × 4 × cells), the second one differing first."""
    return np.stack([np.stack([low[0], low[0], high[0], high[0]]), np.stack([low[1], high[1], low[1], high[1]])])
