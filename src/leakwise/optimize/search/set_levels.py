r"""Columns of a box of priors or a KL ball, made of few levels: what they are worth depends on a few sums over letters.

A vertex of a box's cone has the values 0, x and M on three sets of letters: π·λ = 1 and the least mass M/t are two
linear equations in x and M once it is known whether the level of the box is 0, x or M. For a KL ball columns of two
values are taken, the higher one on a set S: the least mass of S depends on π(S) alone. So moving a letter, or two, from
one set to another is priced by adding to sums, and the sets are improved move by move from random ones.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Protocol

import numpy as np

from leakwise.exact import float_above
from leakwise.optimize.bounds.chord import Function
from leakwise.optimize.problem.prior_set_cone import RobustCone
from leakwise.optimize.search.generate import Priced, generate
from leakwise.optimize.search.limits import Found, Limits
from leakwise.optimize.search.master import Master, MasterSolution
from leakwise.optimize.search.mixed_letters import Mixtures, mixed_duals
from leakwise.priors import Box, KLBall
from leakwise.proof import largest_by_levels
from leakwise.types import Bools, Floats, Indices

__all__ = ["has_levels", "search_levels"]

_MIX, _BEGIN, _SEARCH = 0.15, 0.35, 0.6  # of the time, where that is limited
_ROUNDS, _PATIENCE = 300, 5
_SLOW = 3e-5  # of the value, what a round must bring
_STARTS = 2000  # divided by the letters: sets that one round begins with
_MIXED = 16  # mixtures that it begins with
_PAIRED = 64  # moves that are tried two at a time: those that lose least alone
_TABLE = 20_001
_STEEPNESS = 32
_NOISES = (0.003, 0.01, 0.03, 0.1, 1.0)  # of what letters ask for their mass, in the order in which they are raised
_NONE = 1e-13  # of the mass: no letter
_ABOVE = 1 + 2.0**-50  # from t₋ to t₊, and more
_CLOSE, _FEW = 1e-4, 12  # the relative gap that is aimed at, and for how many rounds
_ENOUGH, _MANY = 3e-3, 90  # what else is enough, and for how many: some less than the checker takes
_EASE = 0.05  # of a gap: by as much more the checker proves it in a fraction of the time


def has_levels(cone: RobustCone) -> bool:
    """Return whether the columns of a set are known by levels."""
    priors = cone.priors
    known = isinstance(priors, KLBall) or (isinstance(priors, Box) and priors.beta is None)
    return known and bool(priors.support.all())


class _Levels(Protocol):
    states: int

    def parts(self) -> Floats:
        """What each letter adds to sums of the set's own, in each state (states × letters × sums)."""

    def least(self, order: Indices) -> Floats:
        """The least mass that a prior of the set gives to the first letters of an order, for each number of them."""

    def values(self, mass: Floats, own: Floats) -> tuple[Floats, Bools]:
        """The lifts of the states from the masses in them and the set's own sums, and whether they are any.

        There may be several ways to choose them (ways × … × states).
        """


class _BoxLevels:
    states = 3

    def __init__(self, cone: RobustCone) -> None:
        box = cone.priors
        assert isinstance(box, Box)
        p = cone.prior.probabilities
        self.share = 1 / cone.ratio_float
        self.low = np.array([float(end) for end in box.lower])
        self.down = p - self.low
        self.up = np.array([float(end) for end in box.upper]) - p

    def parts(self) -> Floats:
        parts = np.zeros((3, len(self.up), 4))
        parts[0, :, 0], parts[2, :, 1] = self.up, self.down
        parts[1, :, 2], parts[1, :, 3] = self.up, self.down
        return parts

    def least(self, order: Indices) -> Floats:
        low, high = self.low[order], self.low[order] + (self.up + self.down)[order]
        least: Floats = np.maximum(np.cumsum(low), 1 - (high.sum() - np.cumsum(high)))
        return least

    def values(self, mass: Floats, own: Floats) -> tuple[Floats, Bools]:
        between, raised = mass[..., 1], mass[..., 2]
        up, down, from_x, to_x = np.moveaxis(own, -1, 0)
        # Costs of x and M at a level of x, M and 0: with M/t they are one.
        costs = np.stack([up - down, -from_x, to_x]), np.stack([down, up + from_x, down]) + self.share
        with np.errstate(divide="ignore", invalid="ignore"):
            turn = raised * costs[0] - between * costs[1]
            top, level = (costs[0] - between) / turn, (raised - costs[1]) / turn
            real = np.isfinite(top) & (level >= 0) & (top >= level)
            # Without letters between, the level may be where it costs least.
            two = (between + from_x + to_x < _NONE) & (raised > _NONE)
            top = np.where(two, 1 / raised, top)
        level = np.where(two, 0.0, level)
        real = np.where(two, np.minimum(up, down) + self.share <= raised, real)
        top, level = np.where(real, top, 1.0), np.where(real, level, 1.0)
        return np.stack([np.zeros(top.shape), level, top], axis=-1), real


class _KLLevels:
    states = 3

    def __init__(self, cone: RobustCone) -> None:
        ball = cone.priors
        assert isinstance(ball, KLBall)
        self.p, self.share, self.radius = cone.prior.probabilities, 1 / cone.ratio_float, float_above(ball.radius)
        self.masses = np.linspace(0, 1, _TABLE)
        inner = self.masses[1:-1]
        low, high = np.zeros(len(inner)), inner.copy()
        for _ in range(60):
            middle = (low + high) / 2
            with np.errstate(divide="ignore"):
                far = inner * np.log(inner / middle) + (1 - inner) * np.log((1 - inner) / (1 - middle)) > self.radius
            low, high = np.where(far, middle, low), np.where(far, high, middle)
        self.least_masses = np.concatenate([[0.0], high, [np.exp(-self.radius)]])
        self.steepness = np.geomspace(1e-3, 1 - 1e-4, _STEEPNESS) * cone.ratio_float

    def parts(self) -> Floats:
        return np.zeros((3, len(self.p), 0))

    def least(self, order: Indices) -> Floats:
        return self._least(np.cumsum(self.p[order]))

    def _least(self, mass: Floats) -> Floats:
        least: Floats = np.interp(mass, self.masses, self.least_masses)
        return least

    def values(self, mass: Floats, own: Floats) -> tuple[Floats, Bools]:
        between, raised = mass[..., 1], mass[..., 2]
        real = (raised > 1e-12) & (raised < 1 - 1e-12)
        level = np.where(between > 1e-12, self._between(between, raised), 0.0)
        # M ≤ t(a + (M - a) q): the ratio a/M that is left to the others where all of these are at the top.
        least = self._least(raised + np.where(level >= 1, between, 0.0))
        low = np.clip((self.share - least) / (1 - least), 0.0, 1.0)
        low = np.where((between > 1e-12) & (level < 1), 0.0, low)
        level = np.clip(level, low, 1.0)
        mean = np.where(real, raised + level * between + low * (1 - raised - between), 1.0)
        return (np.stack([low, level, np.ones(low.shape)], axis=-1) / mean[..., None])[None], real[None]

    def _between(self, between: Floats, raised: Floats) -> Floats:
        """The least level, as a part of the top, at which letters of a mass leave the others zero; none from one on."""
        best = np.full(between.shape, np.inf)
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            for kappa in self.steepness:
                others = (1 - between - raised) * np.log1p(-kappa * self.share) + raised * np.log1p(
                    kappa * (1 - self.share)
                )
                best = np.fmin(best, self.share + np.expm1((self.radius - others) / between) / kappa)
        return best


class _Sets:
    """Sets of letters, one for each level, improved by moving letters between them."""

    def __init__(self, levels: _Levels, f: Function, p: Floats) -> None:
        self.levels, self.f, self.p = levels, f, p
        self.own = levels.parts()
        self.states, self.size = levels.states, len(p)

    def _parts(self, y: Floats) -> Floats:
        """What each letter adds to mass, price and the set's own sums in each state."""
        kinds = np.eye(self.states)[:, None, :]
        return np.concatenate([kinds * self.p[:, None], kinds * y[:, None], self.own], axis=2)

    def _worth(self, sums: Floats) -> Floats:
        worth: Floats = self._ways(sums)[0].max(axis=0)
        return worth

    def _ways(self, sums: Floats) -> tuple[Floats, Floats]:
        """What each way to choose the lifts is worth, and the lifts."""
        mass, price = sums[..., : self.states], sums[..., self.states : 2 * self.states]
        lifts, real = self.levels.values(mass, sums[..., 2 * self.states :])
        return np.where(real, (mass * self.f(lifts) - price * lifts).sum(axis=-1), -np.inf), lifts

    def improved(self, y: Floats, state: Indices) -> tuple[Indices, float]:
        """Return the sets that no move of one letter or two betters, and the reduced cost of their column."""
        parts, letters = self._parts(y), np.arange(self.size)
        sums = parts[state, letters].sum(axis=0)
        best = float(self._worth(sums))
        others = np.concatenate([(state + step) % self.states for step in range(1, self.states)])
        moved = np.tile(letters, self.states - 1)
        while True:
            others = np.concatenate([(state + step) % self.states for step in range(1, self.states)])
            change = parts[others, moved] - parts[state, letters][moved]
            single = self._worth(sums + change)
            chosen, value = [int(single.argmax())], float(single.max())
            if not value > best + 1e-12:
                near = np.argsort(-single, kind="stable")[:_PAIRED]
                pairs = self._worth(sums + change[near][:, None] + change[near])
                pairs[moved[near][:, None] == moved[near]] = -np.inf
                chosen, value = [int(near[one]) for one in divmod(int(pairs.argmax()), len(near))], float(pairs.max())
            if not value > best + 1e-12:
                return state, best
            state = state.copy()
            state[moved[chosen]] = others[chosen]
            sums, best = parts[state, letters].sum(axis=0), value

    def column(self, y: Floats, state: Indices) -> Floats:
        """Return the best lifts of some sets."""
        worth, lifts = self._ways(self._parts(y)[state, np.arange(self.size)].sum(axis=0))
        best: Floats = lifts[worth.argmax(), state]
        return best


def search_levels(cone: RobustCone, f: Function, limits: Limits) -> Found:
    """Return the best columns of few levels that were found, with a bound on all columns of the set."""
    p, size = cone.prior.probabilities, len(cone.prior)
    levels: _Levels = _BoxLevels(cone) if isinstance(cone.priors, Box) else _KLLevels(cone)
    sets, generator = _Sets(levels, f, p), np.random.default_rng(size)  # not for privacy: the same every time
    starts = max(8, _STARTS // size)
    # Of the time, each stage leaves some for the next: first columns, better ones, a proof.
    beginning, searching = limits.until(_BEGIN), limits.until(_SEARCH)
    mixtures = Mixtures(cone, f) if isinstance(cone.priors, Box) else None
    waited = 0

    def begun(y: Floats, number: int, mixed: int) -> Iterator[Indices]:
        """Yield sets to begin with: of the letters that ask least for their mass, and mixtures that are rounded."""
        rate = np.divide(y, p, out=np.zeros(size), where=p > 0)
        for _ in range(number):
            order = np.argsort(rate + generator.choice(_NOISES) * generator.standard_normal(size))
            state = np.zeros(size, dtype=np.intp)
            taken = levels.least(order) <= generator.uniform(0.8, 1.1) / cone.ratio_float
            state[order[taken]] = levels.states - 1
            state[order[min(int(taken.sum()), size - 1)]] = 1
            yield state
        if mixtures is not None and mixed:
            yield from mixtures.states(y, generator, mixed)

    def found_at(y: Floats, number: int, above: float, mixed: int = 0, within: Limits = searching) -> Floats:
        """Columns whose reduced cost is above a number, from as many starts."""
        found = {}
        for begin in begun(y, number, mixed):
            if within.exhausted:
                break
            state, worth = sets.improved(y, begin)
            if worth > above:
                found[state.tobytes()] = sets.column(y, state)
        return np.stack(list(found.values()), axis=1) if found else np.empty((size, 0))

    outer = mixed_duals(cone, f, limits.part(_MIX)) if isinstance(cone.priors, Box) else np.zeros(size)
    # Columns whose values are within a factor of t of each other serve every set: with them there is a mechanism.
    raised = np.where(np.concatenate([np.eye(size), 1 - np.eye(size)], axis=1) > 0, cone.ratio_float, 1.0)
    wild = raised / (p @ raised)
    if isinstance(cone.priors, Box):  # whose linear programs are short
        noise = p[:, None] * generator.standard_normal((size, 2 * size))
        wild = np.concatenate(
            [wild, cone.linear_max(np.concatenate([np.eye(size), -np.eye(size), noise], axis=1))[1]], axis=1
        )
    first = [found_at(sign * 0.3 * p * unit, 1, -np.inf, within=beginning) for unit in np.eye(size) for sign in (-1, 1)]
    columns = np.concatenate(
        [np.ones((size, 1)), wild, *first, found_at(outer, 4 * size, -np.inf, within=beginning)], axis=1
    )
    master = Master(p @ f(columns), columns)

    def price(solution: MasterSolution) -> Priced:
        more = found_at(solution.duals, starts, 0.25 * limits.tolerance, _MIXED)
        between = found_at((solution.duals + outer) / 2, starts // 2, -np.inf)
        more = np.concatenate([more, between], axis=1)
        return Priced(p @ f(more), more)

    def slow(before: float, value: float, bound: float, priced: Priced) -> bool:
        nonlocal waited
        waited = waited + 1 if value - before <= _SLOW * abs(value) else 0
        return waited == _PATIENCE

    done = generate(master, price, searching, rounds=_ROUNDS, ended=slow)
    limits.stopped |= searching.stopped
    used, value = done.solution.weights > 0, done.solution.value
    candidates = [y for y in (done.solution.duals, outer) if y.any()] + [np.zeros(size)]
    duals, largest = _proven(cone, f, value, candidates, limits)
    return Found(master.columns[:, used], done.solution.weights[used], duals, largest, "levels", stopped=done.stopped)


def _proven(
    cone: RobustCone, f: Function, value: float, candidates: list[Floats], limits: Limits
) -> tuple[Floats, float]:
    """Return the duals that prove the least bound, with the largest reduced cost that is proven of them."""
    p, ratio = cone.prior.probabilities, cone.ratio_float * _ABOVE

    def bound(y: Floats, goal: float, rounds: int) -> float:
        start, left = float(y.sum()), iter(range(rounds))

        def late() -> bool:
            limits.tell("upper bound", value, known)
            return limits.exhausted or next(left, None) is None

        return start + largest_by_levels(f, p, y, cone.priors, ratio, value + goal * abs(value) - start, late)

    # The duals of the mechanism prove most, given time; others less at once.
    known = math.inf
    y, best = candidates[0], bound(candidates[0], _CLOSE, _FEW)
    known = best
    if best > value + _ENOUGH * abs(value):
        best = min(best, bound(y, _ENOUGH, _MANY))
    for other in candidates[1:]:
        if best > value + _ENOUGH * abs(value) and (here := bound(other, _ENOUGH, _FEW)) < best:
            y, best = other, here
    return y, best + _EASE * max(best - value, 0.0) - float(y.sum())
