"""The least mass of a column over a set of priors, by duality and in code of its own.

The sets find their least mass by moving mass about; here the same number comes from the other side: any dual point
gives a lower bound, and the best one gives the least mass itself. Nothing here calls the sets' own methods.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import partial

import numpy as np
from flint import arb, ctx, fmpq

from leakwise.exact import last_that_holds
from leakwise.priors import AllPriors, Ball, Box, Hull, KLBall, LayerCake, Prior, PriorSet
from leakwise.priors.sets.noisy import NoisyLayerCake
from leakwise.priors.sets.rounded import RoundedLayerCake
from leakwise.proof.noisy_counts import proven_noisy_bound
from leakwise.proof.tails import proven_lower_bound

__all__ = ["is_checked", "is_exact", "least_mass_prover"]

Prover = Callable[[Sequence[int]], Fraction]
PRECISION = 128


def is_exact(priors: PriorSet) -> bool:
    """Return whether the least mass over the set is a rational that is found exactly."""
    return not isinstance(priors, (KLBall, LayerCake, RoundedLayerCake, NoisyLayerCake))


def is_checked(priors: PriorSet) -> bool:
    """Return whether claims of optimality over the set can be checked: a kind whose columns are known here."""
    return isinstance(priors, (Prior, AllPriors, Ball, Box, Hull, KLBall))


def least_mass_prover(priors: PriorSet) -> Prover:
    """A function that bounds min_Q Q·v from below for a column of integers; exact but for KL balls and layer cakes."""
    if isinstance(priors, AllPriors):
        return lambda column: Fraction(min(column))
    if isinstance(priors, Ball):
        ones, zeros = [Fraction(1)] * len(priors), [Fraction(0)] * len(priors)
        return _transport(priors.nominal.fractions, zeros, ones, priors.beta)
    if isinstance(priors, Box):
        return _transport(priors.nominal.fractions, priors.lower, priors.upper, priors.beta)
    if isinstance(priors, Hull):
        corners = priors.corners
        return lambda column: min(_mass(corner, column) for corner in corners)
    if isinstance(priors, KLBall):
        return _kl(priors.nominal, priors.radius)
    if isinstance(priors, LayerCake):
        return _stacked(len(priors), _seen(priors, priors.counts, priors.counts, priors.sample_size))
    if isinstance(priors, RoundedLayerCake):
        return _stacked(len(priors), _seen(priors, *_cell(priors.parts, priors.rows), priors.rows))
    if isinstance(priors, NoisyLayerCake):
        return _stacked(len(priors), _noisy(priors))
    if isinstance(priors, Prior):
        return lambda column: _mass(priors, column)
    return priors.exact_least_mass  # a set of the user's own: its word is taken


def _mass(prior: Prior, column: Sequence[int]) -> Fraction:
    return Fraction(sum(w * v for w, v in zip(prior.weights.tolist(), column, strict=True)), prior.denominator)


# ---------------------------------------------------------------------------------------- polytopes of transport


def _transport(
    nominal: Sequence[Fraction], lower: Sequence[Fraction], upper: Sequence[Fraction], beta: Fraction | None
) -> Prover:
    """min Q·v over lower ≤ Q ≤ upper, ΣQ = 1, ‖Q - π‖₁ ≤ β, from its dual.

    π·v - Σ (upper-π)(a-v)₊ - Σ (π-lower)(v-b)₊ - (β/2)(b-a) is a lower bound for all levels a ≤ b: mass is filled up to
    level a and drained down to level b. With a = b the radius plays no part.
    """
    common = math.lcm(*(x.denominator for side in (nominal, lower, upper) for x in side))
    here, least, most = ([int(x * common) for x in side] for side in (nominal, lower, upper))
    fill = [high - p for high, p in zip(most, here, strict=True)]
    drain = [p - low for p, low in zip(here, least, strict=True)]
    radius = Fraction(2 if beta is None else beta) * common / 2

    def value(column: Sequence[int], filled: int, drained: int) -> Fraction:
        total = sum(
            p * v - up * max(filled - v, 0) - down * max(v - drained, 0)
            for p, v, up, down in zip(here, column, fill, drain, strict=True)
        )
        return total - radius * (drained - filled)

    def prove(column: Sequence[int]) -> Fraction:
        rising = sorted(zip(column, fill, drain, strict=True))
        filled = _level([(v, up) for v, up, _ in rising], radius)
        drained = _level([(v, down) for v, _, down in reversed(rising)], radius)
        if filled is not None and drained is not None and filled <= drained:
            return value(column, filled, drained) / common
        # The two meet before the radius is used up: at the level where what is filled equals what is drained.
        left = sum(drain)
        for v, up, down in rising:
            left -= up + down
            if left <= 0:
                return value(column, v, v) / common
        return value(column, rising[-1][0], rising[-1][0]) / common

    return prove


def _level(amounts: list[tuple[int, int]], wanted: Fraction) -> int | None:
    """The value at which the running amount reaches what is wanted, or None."""
    total = 0
    for v, amount in amounts:
        total += amount
        if total >= wanted:
            return v
    return None


# ------------------------------------------------------------------------------------------------ KL and layer cake


def _kl(nominal: Prior, radius: Fraction) -> Prover:
    """Q·v ≥ τ + e^{-r} Π (v_i - τ)^{π_i} for every τ ≤ min v; τ is searched in floats, the bound computed in balls."""
    weights, total = nominal.weights.tolist(), nominal.denominator
    seen = [place for place, weight in enumerate(weights) if weight]
    p = np.array([weights[place] / total for place in seen])
    log_shrink = fmpq(radius.numerator, radius.denominator)
    # What is left of the two sides of the difference is of the size of the least mass, or of the radius.
    digits = PRECISION + 2 * total.bit_length() + 2 * radius.denominator.bit_length()

    def prove(column: Sequence[int]) -> Fraction:
        least, largest = min(column), max(column)
        if not radius:
            return _mass(nominal, column)
        if least == largest:
            return Fraction(least)
        span = largest - least
        steps = [column[place] - least for place in seen]
        gap = Fraction(_gap(np.array([step / span for step in steps]), p, float(radius))) * span
        scale = 1 << max(40, 64 + gap.denominator.bit_length() - gap.numerator.bit_length())
        units = int(gap * scale)  # the gap as an integer over the scale
        with ctx.workprec(digits):
            logs = arb(0)
            for place, step in zip(seen, steps, strict=True):
                logs += weights[place] * arb(step * scale + units).log()
            power = logs / total - log_shrink
            if not power > arb(units).log():
                return Fraction(least)  # nothing is gained, however long the number would be
            mantissa, exponent = power.exp().lower().man_exp()
        bound = (Fraction(int(mantissa)) * Fraction(2) ** int(exponent) - units) / scale
        return least + max(bound, Fraction(0))

    return prove


def _gap(
    w: np.ndarray[tuple[int], np.dtype[np.float64]], p: np.ndarray[tuple[int], np.dtype[np.float64]], r: float
) -> float:
    """Where e^{-r} G(s) - s, which is concave, is largest, G the weighted geometric mean of w + s: by its slope."""

    def rises(log_gap: float) -> bool:
        x = w / math.exp(log_gap)
        # log G(s)/s, and the logarithm of s times the mean of 1/(w + s): small numbers of their own, not differences.
        fall = min(float(p @ (x / (1 + x))), 1 - 2.0**-53)
        return float(p @ np.log1p(x)) + math.log1p(-fall) > r

    return math.exp(last_that_holds(rises, -320.0, 14.0 + max(0.0, -math.log(r)) if r else 700.0, 70))


def _stacked(size: int, along: Callable[[Sequence[int]], Iterator[Callable[[], Fraction]]]) -> Prover:
    """Bounds on the level sets of a column, from its largest entry down; ``along`` gives those of an order."""

    def prove(column: Sequence[int]) -> Fraction:
        falling = sorted(range(size), key=column.__getitem__, reverse=True)
        mass = Fraction(0)
        for (place, after), bound in zip(itertools.pairwise(falling), along(falling), strict=False):
            step = column[place] - column[after]
            if step:
                mass += step * bound()
        return mass + column[falling[-1]]

    return prove


def _seen(
    priors: LayerCake | RoundedLayerCake, least: Sequence[int], most: Sequence[int], rows: int
) -> Callable[[Sequence[int]], Iterator[Callable[[], Fraction]]]:
    """Each set by how often it was seen at least: all rows of the stratum but those that other letters may have."""
    size, own = len(least), priors.sample_size
    sets, chance = 2**size - 2 if size > 1 else 1, priors.exact_failure

    def along(order: Sequence[int]) -> Iterator[Callable[[], Fraction]]:
        inside, outside = 0, sum(most)
        for place in order:
            inside, outside = inside + least[place], outside - most[place]
            yield partial(proven_lower_bound, max(own - min(outside, rows - inside), 0), own, chance, sets)

    return along


def _noisy(priors: NoisyLayerCake) -> Callable[[Sequence[int]], Iterator[Callable[[], Fraction]]]:
    """Each set by its noisy count, less its share of the noise that the known number of rows shows."""
    size, excess = len(priors), sum(priors.counts) - priors.rows

    def along(order: Sequence[int]) -> Iterator[Callable[[], Fraction]]:
        together = 0
        for letters, place in enumerate(order, 1):
            together += priors.counts[place]
            scaled = size * together - letters * excess
            yield partial(proven_noisy_bound, scaled, letters, size, priors.rows, priors.cost, priors.exact_failure)

    return along


def _cell(parts: Sequence[int], rows: int) -> tuple[list[int], list[int]]:
    """The least and the largest count that is rounded to each number of parts, by trying what is next to the ends."""
    whole = max(2, min(max(math.isqrt(rows), 2 * len(parts)), max(2, rows // 4)))

    def rounded(count: int) -> int:
        return max(1, (2 * count * whole + rows) // (2 * rows))

    ends = []
    for part in parts:
        low, high = rows * (2 * part - 1) // (2 * whole) - 1, rows * (2 * part + 1) // (2 * whole) + 1
        fitting = [count for count in {low, low + 1, low + 2, high - 2, high - 1, high} if 0 <= count <= rows]
        # A count of zero has one part, and the largest that there is has all of them.
        fitting = [count for count in [*fitting, 0, rows] if rounded(count) == part]
        ends.append((min(fitting), max(fitting)))
    return [low for low, _ in ends], [high for _, high in ends]
