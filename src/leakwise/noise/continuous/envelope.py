"""The (ε, δ) envelope of noise on a density, between two proven bounds.

sup_Z P(ℓ(Z) ≥ log t) over all post-processings Z of the outcome is at most, for every v ≥ 0 on the support,

    V(t) = ∫ max(0, sup_x m(y) + v(x) (f(y-x) - t m(y))) dy,

the dual of the envelope's linear program with an integral for the sum: a merged outcome has its largest lift at some
x, and there the sum of the lifts that it was merged from is at least t times their probability. So every t with
V(t) < δ is above e^ε_c. A guess x that no outcome lifts to t does not count. Below, a post-processing of cells of
outcomes is proven by the lifts of single guesses, of which no event around them has a smaller one in the limit. Both
come from one finite linear program: its dual vector, carried over to all x, and its primal solution. Under little noise
outcomes are better left apart, each taking in others until its lift is t; v = 1/t proves that next to best.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from leakwise.errors import InvalidInput
from leakwise.exact import last_that_holds, log_upper
from leakwise.leakage import envelope
from leakwise.mechanism import Mechanism
from leakwise.noise.continuous.density import Density
from leakwise.noise.continuous.leakage import UP, largest_leakage, maximal_leakage_of
from leakwise.noise.continuous.outcomes import SLACK, Cells, Weighing, crowded
from leakwise.priors import Prior
from leakwise.types import Floats

if TYPE_CHECKING:
    from leakwise.noise.continuous.on_density import OnDensity

__all__ = ["envelope_between"]

# Of the probability δ this share may lie beyond the cells.
_BEYOND = 1e-4
_MORE = 1e-9
# What each guess of the program weighs in its prior: next to nothing, as a point of a density does.
_GRAIN = 2.0**-30
_FINER = 8
_NOTHING = 2.0**-56
# What a few operations on floats can lose.
_DIGITS = 2.0**-50
# The least inverse of the dual vector, as shares of t: the best of them is taken.
_FLOORS = (0.01, 0.1, 0.3, 1.0)
# How often cells are halved whose lifts are next to what is reached, how far apart lifts must be for it, and of which
# share of the cells.
_HALVINGS = 8
_CLOSE = 1e-4
# Of what is rarer, or larger, than floats are nothing is proven by a program.
_LEAST, _LARGEST_LOG = math.ulp(0.0), 700.0
_SHARE = 0.2
# Next to so few places at most where the lift is what is reached, as many scales away, cells are parts of a scale, but
# there are no more than so many more of them.
_PLACES, _NEAR, _PARTS, _MORE_CELLS = 32, 6.0, 4, 600


def envelope_between(noise: OnDensity, density: Density, delta: Fraction, grid: int) -> tuple[float, float]:
    """Return proven bounds of ε_c(δ)."""
    if isinstance(grid, bool) or not isinstance(grid, int) or not 8 <= grid <= 1000:
        raise InvalidInput(f"grid must be a whole number from 8 to 1000. Got {grid!r} instead.")
    chance = max(float(delta), _LEAST)
    simple = maximal_leakage_of(noise, density) + log_upper(1 / delta) + 2.0**-48
    upper = min(simple, largest_leakage(noise, density)[1])
    if chance == 1:
        # Nothing may be given up, and nothing is promised: the outcome that leaks least is merged with others at will.
        return 0.0, upper
    weighing = Weighing(noise, density)
    cells, reach = weighing.everything(grid, max(chance * _BEYOND, _LEAST))
    inner = cells[cells.left < cells.right]
    fine = weighing.split(inner, _FINER)
    tails = cells[cells.left == cells.right]
    guesses = _parts(density, noise.scale, grid, inner[:0])[0]
    law = _law(noise, inner, fine, tails, reach)
    lower, dual = _program(_chances(noise, inner, reach, density, guesses), law, delta)
    fine, untouched = _settled(weighing, fine + tails, chance)
    lower = max(lower, untouched)
    proof = _Proof(noise, density, fine, reach, _parts(density, noise.scale, _FINER * grid, fine), guesses, dual)
    for floor in _FLOORS if float(delta) > 0 and upper < _LARGEST_LOG else ():
        start = last_that_holds(
            lambda t, floor=floor: proof.chance(t, floor) < chance,  # type: ignore[misc]
            math.exp(upper),
            math.exp(min(lower, upper)),
            within=1e-6,
        )
        upper = min(upper, math.log(start) * UP + 2.0**-48)
    return min(lower, upper), upper


def _settled(weighing: Weighing, cells: Cells, delta: float) -> tuple[Cells, float]:
    """Return cells, smaller ones where the lift is next to what is reached, and what single outcomes in them reach."""
    for _ in range(_HALVINGS):
        reached = _reached(cells.lift_least, weighing.noise.peak * cells.width * cells.nearest_least / UP, delta)
        lift = math.exp(reached)
        unsure = (cells.lift_least < lift * (1 - _CLOSE)) & (cells.lift_most > lift * (1 + _CLOSE))
        unsure &= cells.left < cells.right
        if not 0 < unsure.sum() < len(cells) * _SHARE:
            break
        cells = cells[~unsure] + weighing.split(cells[unsure], 2)
    return _around(weighing, cells, math.exp(reached)), reached


def _around(weighing: Weighing, cells: Cells, lift: float) -> Cells:
    """The same in cells of a share of the scale where lifts fall below one: outcomes take in what is next to them."""
    met = (cells.lift_least <= lift) & (cells.lift_most >= lift) & (cells.left < cells.right)
    places, scale = (cells.left + cells.right)[met] / 2, weighing.noise.scale
    most = len(cells) + _MORE_CELLS
    for _ in range(_HALVINGS if 0 < len(places) < _PLACES else 0):
        middle, width = (cells.left + cells.right) / 2, cells.right - cells.left
        apart = np.abs(middle[:, None] - places).min(axis=1) - width / 2
        wide = (apart < _NEAR * scale) & (width > scale / _PARTS)
        if not wide.any() or len(cells) + wide.sum() > most:
            break
        cells = cells[~wide] + weighing.split(cells[wide], 2)
    return cells


def _parts(density: Density, scale: float, count: int, cells: Cells) -> tuple[Floats, Floats, Floats]:
    """About so many cells of the secret: one point of each, the ends of the support among them, and their ends.

    They are as small as the cells of outcomes where these are smaller.
    """
    length = math.fsum(high - low for low, high in density.support)
    edges = np.array(density.edges)
    lefts, rights = [], []
    for low, high in density.support:
        cuts = crowded(low, high, max(1, round(count * (high - low) / length)), edges, scale)
        small = cells[cells.right - cells.left < np.interp((cells.left + cells.right) / 2, cuts[:-1], np.diff(cuts))]
        more = np.concatenate([small.left, small.right])
        cuts = np.unique(np.concatenate([cuts, more[(more > low) & (more < high)]]))
        lefts.append(cuts[:-1])
        rights.append(cuts[1:])
    left, right = np.concatenate(lefts), np.concatenate(rights)
    points = (left + right) / 2
    for low, high in density.support:
        points[left == low] = low
        points[right == high] = high
    return points, left, right


def _law(noise: OnDensity, cells: Cells, fine: Cells, tails: Cells, reach: float) -> tuple[Floats, Floats]:
    """P(cell) from below and from above, by smaller cells inside it; the two tails last."""
    parent = np.searchsorted(cells.left, fine.left, side="right") - 1
    found: list[Floats] = []
    for inside, ends in ((fine.inside_least, tails.inside_least), (fine.inside_most, tails.inside_most)):
        sums = np.bincount(parent, noise.peak * fine.width * inside, len(cells))
        found.append(np.append(sums, noise.peak * tails.width * ends))
    if math.isfinite(reach):
        rest = noise.upper_tail(reach)
        found = [np.append(found[0], [0.0, 0.0]), np.append(found[1], [rest, rest])]
    return found[0], found[1]


def _program(chances: Floats, law: tuple[Floats, Floats], delta: Fraction) -> tuple[float, Floats]:
    """A proven lower bound from a post-processing of the cells, and the dual vector of the finite program."""
    least, most = law
    others = np.maximum((least + most) / 2 - _GRAIN * chances.sum(axis=0), 0.0)
    rows = np.vstack([chances, others])
    rows[rows < _NOTHING] = 0.0
    weights = [_GRAIN] * len(chances) + [1 - len(chances) * _GRAIN]
    finite = Mechanism(rows / rows.sum(axis=1, keepdims=True))
    # A little more than δ, so that what is not known of the probabilities does not take it below.
    more = delta * Fraction(1 + _MORE) + Fraction(float((most - least).sum()))
    found = envelope(finite, Prior(weights), min(more, (1 + delta) / 2))
    merged = found.post_processing.matrix
    above, gains = most @ merged * UP, (chances @ merged).max(axis=0) / UP
    lifts = np.divide(gains, above, out=np.zeros_like(gains), where=above > 0)
    dual = np.array([float(one) for one in found.certificate.dual[:-1]])
    return _reached(lifts, gains, max(float(delta), _LEAST)), dual


def _reached(lifts: Floats, gains: Floats, delta: float) -> float:
    """The largest leakage that outcomes with these lifts are proven to reach with probability δ.

    An outcome with a lift above t takes in others until its lift is t: its probability becomes as many times larger.
    ``gains`` are the products of lifts and probabilities.
    """
    order = np.argsort(-lifts)
    with np.errstate(over="ignore"):
        taken = np.cumsum(gains[order]) / (delta * UP)
    best = float(np.minimum(lifts[order], taken).max(initial=1.0))
    return max(math.log(max(best, 1.0)) / UP - 2.0**-48, 0.0)


def _chances(noise: OnDensity, cells: Cells, reach: float, density: Density, guesses: Floats) -> Floats:
    """P(cell | x) for each guess, the tails beyond the cells last."""
    ends_of = list(zip(cells.left.tolist(), cells.right.tolist(), strict=True))
    inner = np.array([[noise.between(a - x, b - x) for a, b in ends_of] for x in guesses.tolist()])
    found: Floats = inner * (cells.width / (cells.right - cells.left))
    if noise.repeated > 1:
        return found
    far = 0.0 if math.isinf(reach) else reach
    ends = [[noise.upper_tail(x - density.low + far), noise.upper_tail(density.high + far - x)] for x in guesses]
    found = np.hstack([found, np.array(ends)])
    return found


def _beside(density: Density, left: Floats, right: Floats) -> tuple[Floats, Floats, Floats]:
    """P(secret beside each cell of it), left and right, from below: within its interval of the support, and in all.

    The probability of the cells themselves comes last.
    """
    mass = np.array([density.mass(a, b)[0] for a, b in zip(left.tolist(), right.tolist(), strict=True)]) / UP

    def sums(mass: Floats) -> Floats:
        before, after = np.cumsum(mass)[:-1], np.cumsum(mass[:0:-1])[::-1]
        found: Floats = np.stack([np.append(0.0, before), np.append(after, 0.0)], axis=1)
        return found

    own = [sums(mass[(left >= low) & (right <= high)]) for low, high in density.support]
    return np.concatenate(own), sums(mass), mass


def _from_to(mass: Floats, left: Floats, right: Floats, cells: Cells) -> Floats:
    """P(secret between each cell of it and each cell of outcomes), from below; 0 where these sums have no digits."""
    before = np.append(0.0, np.cumsum(mass))
    upwards = before[np.searchsorted(right, cells.left, side="right")] - before[1:, None]
    downwards = before[:-1, None] - before[np.searchsorted(left, cells.right, side="left")]
    between: Floats = np.maximum(np.maximum(upwards, downwards) - len(before) * _DIGITS, 0.0)
    return between


class _Proof:
    """V(t), from above, for a dual vector that is carried over from the guesses of the program to all of the support.

    Its inverse is interpolated, because v grows without bound towards the guesses that no outcome lifts to t.
    """

    def __init__(
        self,
        noise: OnDensity,
        density: Density,
        cells: Cells,
        reach: float,
        parts: tuple[Floats, Floats, Floats],
        guesses: Floats,
        dual: Floats,
    ) -> None:
        _points, left, right = parts
        inverse = np.divide(1.0, dual, out=np.zeros_like(dual), where=dual > 0)
        self.inverse = np.interp((left + right) / 2, guesses, inverse)
        gap = np.maximum(cells.left - right[:, None], left[:, None] - cells.right)
        near = np.maximum(gap * (1 - 1e-12) - 1e-12 * noise.scale, 0.0)
        self.shape = np.minimum(noise.shape(near) * (1 + SLACK), 1.0)
        self.cells, self.peak = cells, noise.peak
        self.beyond = 2 * noise.upper_tail(reach) * UP
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            each = self.shape / cells.least
        # P(X from the guess to the outcome) times the lift is at most 1: k falls with the distance. So much is known
        # of outcomes many scales away in cells of as many, beyond a gap, where floats are 0, and beyond the cells.
        own, in_all, mass = _beside(density, left, right)
        with np.errstate(divide="ignore", over="ignore"):
            each = np.fmin(each, 1 / _from_to(mass, left, right, cells))
            for low, high in density.support:
                here = (left >= low) & (right <= high)
                for side, gone in enumerate((cells.right <= low, cells.left >= high)):
                    where = np.ix_(here, gone)
                    each[where] = np.fmin(each[where], 1 / own[here, side, None])
            lifts = np.where(np.isnan(each), math.inf, each).max(axis=1)
            if noise.worst_ranges(density) is None:
                lifts = np.maximum(lifts, (1 / in_all).max(axis=1))
        self.lifts = lifts * UP

    def chance(self, t: float, floor: float) -> float:
        kept = self.lifts >= t
        if not kept.any():
            return 0.0
        v = 1 / np.maximum(self.inverse[kept], floor * t)
        # Rounded up before the difference: of terms that are next to each other little is left.
        raised, taken = v[:, None] * self.shape[kept] * (1 + _DIGITS), (1 - t * v) + (1 + t * v) * _DIGITS
        cells = self.cells

        def at(m: Floats) -> Floats:
            top: Floats = np.maximum((raised + taken[:, None] * m).max(axis=0) * UP, 0.0)
            return top

        # Convex in m: below its chord, and largest where the mean of m is at one of its bounds.
        low, high = at(cells.least), at(cells.most)
        span = cells.most - cells.least
        share = [
            np.clip(np.divide(mean - cells.least, span, out=np.ones_like(span), where=span > 0), 0.0, 1.0)
            for mean in (cells.inside_least, cells.inside_most)
        ]
        worst = np.maximum(*(low + (high - low) * part for part in share))
        worst = np.where(span > 0, worst, np.maximum(low, high))
        return self.peak * math.fsum((cells.width * worst).tolist()) * UP + self.beyond * (1 + float(v.max()))
