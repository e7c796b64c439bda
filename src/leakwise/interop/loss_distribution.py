"""A mechanism as a privacy loss distribution of dp_accounting, never below its privacy profile.

The profile of a mechanism, h(t) = max over ordered pairs of values of Σ_j (p_xj - t p_x'j)₊, is a maximum of convex
functions, and with h(t) = 1 - t + t h(1/t) for t < 1 it is convex, decreasing and at least (1 - t)₊ on all t > 0. So it
is itself the profile of one pair of distributions P, Q (Zhu, Dong, Wang 2022, Proposition 15): the slope of h at t is
-Q(P/Q > t). That pair dominates all pairs of values at once, in both directions, and its compositions dominate
compositions (Theorem 10 there), also adaptive ones.

dp_accounting wants losses on a grid. An atom between two points of it is split between them so that its probability
under P and under Q stays what it was, which only spreads the ratio: the profile is never below ("connect the dots",
Doroshenko et al. 2022). It is equal on the grid.
"""

from __future__ import annotations

import math
from collections import defaultdict
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from leakwise.errors import InvalidInput, require
from leakwise.exact import float_above, log_upper
from leakwise.leakage import PrivacyProfile
from leakwise.mechanism import Mechanism

__all__ = ["to_pld"]

Point = tuple[Fraction, Fraction]
# At so many factors the profile is asked for where its corners are too many to be worked out.
_SAMPLED = 65
# A float of dp_accounting may miss by so much of it, for each term that is added up and for each unit of the loss.
_ROUNDING = 2.0**-50


def to_pld(mechanism: Mechanism, interval: float = 1e-4) -> Any:
    """Return the privacy loss distribution that dominates every pair of values, on a grid of losses."""
    module = require(
        "dp_accounting.pld.privacy_loss_distribution", extra="interop", purpose="A privacy loss distribution"
    )
    if not isinstance(interval, (int, float)) or isinstance(interval, bool) or not 1e-9 <= interval <= 100:
        raise InvalidInput(
            f"interval must be a number of nats between 1e-9 and 100, such as 1e-4, the default of dp_accounting. "
            f"Got {interval!r} instead."
        )
    profile = PrivacyProfile(mechanism)
    atoms, infinite = _dominating(_points(profile))
    # What their sums and products may lose is made up for: by a little more probability, and a little more loss.
    spare = (2 * len(atoms) + 8) * _ROUNDING if atoms else 0.0
    masses = _on_grid([(log_upper(ratio), float_above(mass)) for ratio, mass in atoms], float(interval), spare)
    return module.PrivacyLossDistribution.create_from_rounded_probability(
        masses, float_above(infinite) * (1 + spare), float(interval), pessimistic_estimate=True
    )


def _points(profile: PrivacyProfile) -> list[Point]:
    """Factors from 1 on, and δ at each, between which lines are nowhere below the profile; constant after the last."""
    if profile.exact:
        return list(profile.corners())
    matrix = profile.mechanism.matrix
    least = np.where(matrix > 0, matrix, np.inf).min(axis=0)
    last = float((matrix.max(axis=0) / least).max()) * (1 + 1e-12)
    factors = np.geomspace(1.0, last, _SAMPLED)[:-1].tolist()
    found = [(Fraction(factor), Fraction(profile.delta(lift=Fraction(factor)))) for factor in factors]
    return _lower_hull([*found, (Fraction(last), Fraction(profile.limit))])


def _lower_hull(points: list[Point]) -> list[Point]:
    """The corners of the largest convex function below points: chords of a convex one are not below that."""
    kept: list[Point] = []
    for point in points:
        while len(kept) > 1 and _slope(kept[-2], kept[-1]) >= _slope(kept[-1], point):
            kept.pop()
        kept.append(point)
    return kept


def _slope(one: Point, other: Point) -> Fraction:
    return (other[1] - one[1]) / (other[0] - one[0])


def _dominating(points: list[Point]) -> tuple[list[Point], Fraction]:
    """The ratios P/Q of the dominating pair, each with its probability under P, and that of an infinite ratio.

    The probability under Q of a ratio is how much the slope changes there. P and Q change places at the inverse ratio.
    """
    slopes = [*(max(Fraction(0), -_slope(*ends)) for ends in pairwise(points)), Fraction(0)]
    atoms = [(Fraction(1), max(Fraction(0), 1 - 2 * slopes[0] - points[0][1]))]
    for (ratio, _), before, after in zip(points[1:], slopes[:-1], slopes[1:], strict=True):
        atoms += [(ratio, ratio * (before - after)), (1 / ratio, before - after)]
    return [(ratio, mass) for ratio, mass in atoms if mass], points[-1][1]


def _on_grid(atoms: list[tuple[float, float]], interval: float, spare: float) -> dict[int, float]:
    """Probabilities under P of whole multiples of the interval; losses and probabilities are rounded up."""
    masses: defaultdict[int, float] = defaultdict(float)
    for loss, mass in atoms:
        loss += spare * (1 + abs(loss)) if loss else 0.0  # no loss is on the grid
        mass *= 1 + spare
        place = math.floor(loss / interval)
        above = math.expm1(place * interval - loss) / math.expm1(-interval)
        above = min(1.0, max(0.0, above) * (1 + spare))
        masses[place + 1] += mass * above
        masses[place] += mass * (1 - above)
    return {place: mass for place, mass in sorted(masses.items()) if mass}
