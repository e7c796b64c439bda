"""The prior of a set that gives a column the least mass, exact: what the linear programs of a set are cut with."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from leakwise.errors import InvalidInput
from leakwise.exact import log_upper
from leakwise.priors import AllPriors, Ball, Box, Hull, KLBall, Prior, PriorSet
from leakwise.types import Floats

__all__ = ["Member", "member_weights", "worst_member"]

Member = tuple[Fraction, ...]
"""A prior of the set: its masses, or for a hull the shares of its corners."""

_KL_BITS = 1 << 70


def worst_member(priors: PriorSet, column: Floats) -> tuple[Member, Floats]:
    """Return a prior of the set that (nearly) attains min_Q Q·v, as exact data and as floats."""
    if isinstance(priors, Hull):
        masses = [float(corner.probabilities @ column) for corner in priors.corners]
        best = int(np.argmin(masses))
        shares = tuple(Fraction(int(place == best)) for place in range(len(masses)))
        return shares, priors.corners[best].probabilities
    if isinstance(priors, Prior):
        exact: Member = priors.fractions
    elif isinstance(priors, AllPriors):
        lowest = int(column.argmin())
        exact = tuple(Fraction(int(place == lowest)) for place in range(len(column)))
    elif isinstance(priors, Ball):
        exact = _moved(priors.nominal.fractions, column, priors.moved)
    elif isinstance(priors, Box):
        exact = priors.least_member(np.argsort(column, kind="stable").tolist())
    elif isinstance(priors, KLBall):
        exact = _in_kl_ball(priors, column)
    else:
        raise InvalidInput(
            f"The least leakage on a mask is found for a prior, an l1 ball, box, hull, KL ball or all priors. Got "
            f"{type(priors).__name__} instead, whose least mass no single prior attains: use prior.ball or "
            'prior.confidence(method="weissman").'
        )
    return exact, np.array([float(mass) for mass in exact])


def member_weights(members: Sequence[Member], shares: Sequence[float]) -> tuple[int, ...]:
    """Return a mixture of members as whole numbers: inside the set exactly, since the set is convex."""
    parts = [Fraction(share).limit_denominator(1 << 40) if share > 0 else Fraction(0) for share in shares]
    if not any(parts):
        parts[0] = Fraction(1)
    total = sum(parts, Fraction(0))
    mixed = [Fraction(0)] * len(members[0])
    for part, member in zip(parts, members, strict=True):
        if part:
            mixed = [m + part / total * mass for m, mass in zip(mixed, member, strict=True)]
    common = math.lcm(*(mass.denominator for mass in mixed))
    return tuple(int(mass * common) for mass in mixed)


def _moved(nominal: Sequence[Fraction], column: Floats, amount: Fraction) -> Member:
    """``amount`` of mass from the largest entries onto the smallest one."""
    masses = list(nominal)
    room = amount
    for place in np.argsort(-column, kind="stable").tolist():
        taken = min(room, masses[place])
        masses[place] -= taken
        room -= taken
    masses[int(column.argmin())] += amount
    return tuple(masses)


def _in_kl_ball(ball: KLBall, column: Floats) -> Member:
    """Q ∝ π/(v - τ) with τ below every entry, at the border of the ball; letters never seen where that helps."""
    p, radius = ball.nominal.probabilities, float(ball.radius)
    low, span = float(column.min()), float(np.ptp(column))
    if not radius or not span:
        return ball.nominal.fractions
    seen = p > 0
    above = (column[seen] - low) / span
    here = p[seen]
    masses = np.zeros(len(p))

    def divergence(gap: float) -> float:
        moved = above + gap
        return float(here @ np.log(moved) + np.log(here @ (1 / moved)))

    if (above > 0).all() and float(here @ np.log(above) + np.log(here @ (1 / above))) < radius:
        # The smallest entry belongs to letters never seen: they take what the others may lose.
        shape = here / above
        scale = math.exp(float(here @ np.log(here / shape)) - radius)
        masses[seen] = scale * shape
        masses[int(np.flatnonzero(~seen & (column == low))[0])] = 1 - masses.sum()
    else:
        left, right = -60.0, 60.0
        for _ in range(200):
            middle = (left + right) / 2
            left, right = (middle, right) if divergence(math.exp(middle)) > radius else (left, middle)
        shape = here / (above + math.exp(right))
        masses[seen] = shape / shape.sum()
    # Towards the middle as far as it takes that rounding does not leave the ball.
    for inward in (1e-13, 1e-11, 1e-9, 1e-7, 1e-5, 1e-3):
        moved = (1 - inward) * masses + inward * p
        units = [int(mass * _KL_BITS) for mass in moved.tolist()]
        units[int(np.argmax(p))] += _KL_BITS - sum(units)
        member = tuple(Fraction(unit, _KL_BITS) for unit in units)
        if _inside(ball, member):
            return member
    return ball.nominal.fractions


def _inside(ball: KLBall, masses: Sequence[Fraction]) -> bool:
    """Whether KL(π‖Q) ≤ radius, every logarithm rounded up: True only when it is certain."""
    pairs = [(p, q) for p, q in zip(ball.nominal.fractions, masses, strict=True) if p]
    if not all(q for _, q in pairs):
        return False
    return sum((p * Fraction(log_upper(p / q)) for p, q in pairs), Fraction(0)) <= ball.radius
