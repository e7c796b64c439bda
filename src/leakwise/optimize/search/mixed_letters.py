r"""Duals for a bound over a box of priors: those of the problem in which a letter may be a mixture of levels.

At a level τ and a largest lift M a column of mixtures, each letter at 0, τ or M with some probability, is a small
linear program, and what it is worth bounds every column of that τ and M. The best mechanism made of such columns has
the duals that make the bound by levels the least; and as hardly any letter is mixed, to round them finds good columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np

from leakwise.lp import LinearProgram
from leakwise.optimize.bounds.chord import Function
from leakwise.optimize.problem.prior_set_cone import RobustCone
from leakwise.optimize.search.limits import Limits
from leakwise.optimize.search.master import Master
from leakwise.priors import Box
from leakwise.types import Floats, Indices

__all__ = ["Mixtures", "mixed_duals"]

_ROUNDS = 25
_PLACES = 10  # of a level, and as many of a largest lift
_NEARBY = 16
_ENOUGH = 2e-4  # relative
_WHOLE = 1e-9  # of a letter: no share of it
_MOST_ROUNDED = 16
_EDGES = 0.3  # of the places that are tried: those with the level at the top


@dataclass(frozen=True)
class _Mixture:
    """A column of mixtures: its worth without its price, its lifts, and how much of each letter is in which state."""

    worth: float
    lifts: Floats
    shares: Floats

    def rounded(self) -> Iterator[Indices]:
        """Yield the states of the letters with each mixed one in any of its own."""
        there = [np.flatnonzero(share > _WHOLE) for share in self.shares.T]
        mixed = [letter for letter, states in enumerate(there) if len(states) > 1]
        state = np.array([states[0] for states in there])
        ways = product(*(there[letter] for letter in mixed))
        for _, way in zip(range(_MOST_ROUNDED), ways, strict=False):
            state[mixed] = way
            yield state.copy()


class Mixtures:
    """The columns of mixtures of a box of priors."""

    def __init__(self, cone: RobustCone, f: Function) -> None:
        box = cone.priors
        assert isinstance(box, Box)
        self.f, self.p, self.ratio = f, cone.prior.probabilities, cone.ratio_float
        self.down = self.p - np.array([float(end) for end in box.lower])
        self.up = np.array([float(end) for end in box.upper]) - self.p
        with np.errstate(divide="ignore"):
            self.cap = 1 / self.p

    def best(self, y: Floats, level: float, top: float) -> _Mixture | None:
        """Return the best column of mixtures at a place, if there is any."""
        p, size = self.p, len(self.p)
        # No lift is below what the mean of one leaves for the letter when all others are at the top.
        floor = np.maximum(0.0, np.divide(1 - top * (1 - p), p, out=np.zeros(size), where=p > 0))
        lifts = np.maximum(np.minimum(np.array([[0.0], [level], [top]]), self.cap), floor)
        cost = self.up * np.maximum(level - lifts, 0.0) + self.down * np.maximum(lifts - level, 0.0)
        worth = p * self.f(lifts)
        rows = np.zeros((size + 2, 3 * size))
        rows[np.tile(np.arange(size), 3), np.arange(3 * size)] = 1.0
        rows[size], rows[size + 1] = (p * lifts).ravel(), cost.ravel()
        lower = np.concatenate([np.ones(size + 1), [-np.inf]])
        upper = np.concatenate([np.ones(size + 1), [1 - top / self.ratio]])
        solution = LinearProgram((worth - y * lifts).ravel(), rows, lower, upper, maximize=True).solve()
        if not solution.optimal:
            return None
        shares = solution.x.reshape(3, size)
        return _Mixture(float((worth * shares).sum()), (lifts * shares).sum(axis=0), shares)

    def states(self, y: Floats, generator: np.random.Generator, number: int) -> list[Indices]:
        """Return states of the letters to begin a search at: the mixtures at some places, rounded."""
        tops = generator.uniform(1, self.ratio, number)
        levels = tops * np.where(generator.random(number) < _EDGES, 1.0, generator.uniform(0, 1, number))
        found = (self.best(y, float(level), float(top)) for level, top in zip(levels, tops, strict=True))
        return [state for mixture in found if mixture is not None for state in mixture.rounded()]


def mixed_duals(cone: RobustCone, f: Function, limits: Limits) -> Floats:
    """Return the duals of the best mechanism of mixtures that was found."""
    mixtures, size = Mixtures(cone, f), len(cone.prior)
    generator = np.random.default_rng(size)  # not for privacy: the same every time
    tops = 1 + (cone.ratio_float - 1) * np.linspace(0, 1, _PLACES + 2)[1:-1]
    places = [(share * top, top) for top in tops for share in np.linspace(0, 1, _PLACES)]
    master = Master(f(np.ones(1)), np.ones((size, 1)))
    y = np.zeros(size)
    for _ in range(_ROUNDS):
        found = []
        for level, top in places:
            if limits.exhausted:
                return y
            answer = mixtures.best(y, level, top)
            if answer is not None:
                found.append((answer.worth - float(y @ answer.lifts), level, top, answer))
        found.sort(key=lambda one: -one[0])
        master.add(np.array([one[3].worth for one in found]), np.stack([one[3].lifts for one in found], axis=1))
        solution = master.solve(limits.remaining)
        if found[0][0] + float(y.sum()) - solution.value <= _ENOUGH * abs(solution.value) and y.any():
            break
        y = solution.duals
        width = np.array([tops[1] - tops[0], tops[1] - tops[0]]) * generator.uniform(0.05, 1.0, (_NEARBY, 1))
        near = np.array([found[place % 6][1:3] for place in range(_NEARBY)])
        moved = near + width * generator.uniform(-1, 1, (_NEARBY, 2))
        new = [(float(np.clip(a, 0, m)), float(m)) for a, m in moved if 1 <= m <= cone.ratio_float]
        places = [one[1:3] for one in found[:24]] + new + places[:: max(1, len(places) // 20)][:20]
    return y
