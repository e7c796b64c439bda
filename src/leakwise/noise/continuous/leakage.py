"""What noise on a density leaks: at an outcome, at the worst one, and with what probability more than a limit.

ℓ(y) = log sup_x f(y-x) / ∫ π(x) f(y-x) dx, the supremum over the support: f falls with the distance, so the nearest
value has it. Suprema over outcomes are closed in on by splitting cells; what is reported is the side that is proven.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from leakwise.exact import Level, log_upper
from leakwise.noise.continuous.density import Density
from leakwise.noise.continuous.outcomes import Cells, Weighing
from leakwise.types import Floats

if TYPE_CHECKING:
    from leakwise.noise.continuous.on_density import OnDensity

__all__ = ["information_between", "largest_leakage", "leakage_at", "maximal_leakage_of", "tail_between"]

UP = 1 + 2.0**-40
_FIRST_CELLS = 64
_PARTS = 4
_MOST_CELLS = 10_000
_CLOSE = 1e-9
_ALL_CELLS = 1_024
_SURE = 1e-9
# Cells are halved until the information is known to so many nats.
_KNOWN = 1e-6


def leakage_at(noise: OnDensity, density: Density, y: float) -> float:
    """Return ℓ(y), rounded up to a float; no underflow, however far out y is."""
    nearest = min((min(max(y, low), high) for low, high in density.support), key=lambda x: abs(x - y))
    at, top = Fraction(nearest), Fraction(0)
    factors = noise.likelihood(Fraction(y), Fraction(density.low), Fraction(density.high))
    for start, stop, (e0, e1, e2) in factors:
        # Next to the nearest value, on the side where the density is: what counts is a supremum, not one point.
        if (start < at <= stop) if nearest < y else (start <= at < stop):
            top = e0 + (e1 + e2 * at) * at
            break
    own = Fraction(0) if nearest == y else top
    relative = [(start, stop, (e0 - own, e1, e2)) for start, stop, (e0, e1, e2) in factors]
    least, _ = density.weights.against(relative)
    if least == 0:
        return math.inf
    return log_upper(max(1 / Fraction(least), Fraction(1)))


def largest_leakage(noise: OnDensity, density: Density) -> tuple[float, float]:
    """Return bounds of sup_y ℓ(y): what some outcomes were seen to leak, and what none exceeds."""
    ranges = noise.worst_ranges(density)
    if ranges is None:
        return math.inf, math.inf
    weighing = Weighing(noise, density)
    share = _FIRST_CELLS // len(ranges) + 1
    cells = _joined([weighing.cells(weighing.nodes(low, high, share)) for low, high in ranges])
    best, limit, done = 0.0, noise.every_prior(density), 1.0
    while True:
        ends = np.minimum(weighing.values(cells.left)[1], weighing.values(cells.right)[1])
        with np.errstate(over="ignore", invalid="ignore"):
            best = max(best, float(np.nanmax(cells.nearest_least / ends, initial=1.0)))
        open_cells = cells.lift_most > best * (1 + _CLOSE)
        done = max(done, float(cells.lift_most[~open_cells].max(initial=1.0)))
        if not open_cells.any() or len(weighing.known) + open_cells.sum() * _PARTS > _MOST_CELLS:
            break
        before = len(weighing.known)
        cells = weighing.split(cells[open_cells], _PARTS)
        if len(weighing.known) == before:
            break  # no float lies between their ends
    worst = max(done, float(cells.lift_most.max()))
    upper = min(math.log(worst) * UP + 2.0**-48, limit) if math.isfinite(worst) else limit
    return min(max(math.log(best) / UP - 2.0**-48, 0.0), upper), upper


def _joined(parts: list[Cells]) -> Cells:
    whole = parts[0]
    for part in parts[1:]:
        whole = whole + part
    return whole


def _probability(noise: OnDensity, cells: Cells, mean: Floats) -> float:
    return math.fsum((cells.width * mean).tolist()) * noise.peak


def tail_between(noise: OnDensity, density: Density, asked: Level) -> tuple[float, float]:
    """Return bounds of P(ℓ(Y) > ε)."""
    weighing = Weighing(noise, density)
    cells, reach = weighing.everything(noise.fineness * _ALL_CELLS, 1e-18)
    under, over = float(asked.below) * (1 - 2.0**-50), float(asked.above) * (1 + 2.0**-50)
    least = most = 0.0
    while True:
        can, must = cells.lift_most > under, cells.lift_least > over
        unsure = can & ~must & (cells.left < cells.right)
        settled = ~unsure
        least += _probability(noise, cells[must & settled], cells.inside_least[must & settled])
        most += _probability(noise, cells[can & settled], cells.inside_most[can & settled])
        open_chance = _probability(noise, cells[unsure], cells.inside_most[unsure])
        before = len(weighing.known)
        if open_chance <= _SURE or before + unsure.sum() * _PARTS > _MOST_CELLS:
            break
        smaller = weighing.split(cells[unsure], _PARTS)
        if len(weighing.known) == before:
            break  # no float lies between their ends
        cells = smaller
    return min(least / UP, 1.0), min((most + open_chance + 2 * noise.upper_tail(reach)) * UP, 1.0)


def maximal_leakage_of(noise: OnDensity, density: Density) -> float:
    """Return log ∫ sup_x f(y-x) dy in nats, rounded up: 1 for the tails, f(0) on the support, twice a half in gaps."""
    long = math.fsum(high - low for low, high in density.support)
    ends = density.support
    gaps = [right[0] - left[1] for left, right in itertools.pairwise(ends)]
    filled = math.fsum(2 * noise.within(gap / 2) for gap in gaps)
    return math.log1p(long * noise.peak + filled) * UP


def _surprise(noise: OnDensity, cells: Cells) -> tuple[Floats, Floats]:
    """Bounds of the integral of -m log m on each cell, in units of the scale."""
    peak, width = noise.peak * noise.scale, cells.width / noise.scale

    def part(m: Floats) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            value: Floats = np.where(m > 0, -m * np.log(m), 0.0)
        return value

    low, high = peak * cells.inside_least, peak * cells.inside_most
    # -m log m rises up to 1/e and falls after it: the largest of both ends, or its top between them.
    above = np.where((low < 1 / math.e) & (high > 1 / math.e), 1 / math.e, np.maximum(part(low), part(high)))
    start, stop = peak * cells.least, peak * cells.most
    mean = np.clip((low + high) / 2, start, stop)
    chord = part(start) + (part(stop) - part(start)) * np.divide(
        mean - start, stop - start, out=np.zeros_like(mean), where=stop > start
    )
    slope = np.abs(np.divide(part(stop) - part(start), stop - start, out=np.zeros_like(mean), where=stop > start))
    return width * (chord - slope * (high - low) / 2), width * above


def information_between(noise: OnDensity, density: Density) -> tuple[float, float]:
    """Return bounds of the mutual information I(X;Y) = h(Y) - h(noise) in nats.

    On a cell -m log m is concave in m: above by its value at the mean of m (Jensen), below by the chord.
    """
    weighing = Weighing(noise, density)
    cells, reach = weighing.everything(2 * noise.fineness * _ALL_CELLS, 1e-20)
    while True:
        below, above = _surprise(noise, cells)
        unsure = np.where(cells.left < cells.right, above - below, 0.0)
        coarse = unsure > unsure.sum() / len(cells)
        more = len(weighing.known) + np.count_nonzero(coarse)
        if not unsure.sum() > _KNOWN or more > _MOST_CELLS:
            break
        before = len(weighing.known)
        cells = cells[~coarse] + weighing.split(cells[coarse], 2)
        if len(weighing.known) == before:
            break  # no float lies between their ends
    total_low, total_high = math.fsum(below.tolist()), math.fsum(above.tolist())
    # In units of the scale: mutual information has none.
    peak, width = noise.peak * noise.scale, cells.width / noise.scale
    if math.isinf(reach):
        # Along the tails m falls as e^{-s/b}: the integral of -m log m there is b·(-m log m) + b·m; and likewise for
        # steps, with Σ n ε e^{-nε} over Σ e^{-nε} for the 1.
        tail = weighing.beyond(cells.left, cells.right)
        extra = width[tail] * peak * noise.falling
        total_high += float((extra * cells.inside_most[tail]).sum())
        total_low += float((extra * cells.inside_least[tail]).sum())
    else:
        # Beyond the cells m < 1/e, and -m log m is at most the noise's own there, which is next to nothing.
        total_high += noise.entropy_beyond(reach)
    entropy = noise.entropy() - math.log(noise.scale)
    slack = 1e-12 * (1 + abs(total_high) + abs(entropy))
    least = max(total_low - entropy - slack, 0.0)
    return least, max(total_high - entropy + slack, least)
