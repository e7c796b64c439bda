"""Priors of a set, exact and proven to be inside: the checker's own, one for each column that it must cut off."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb, ctx, fmpq

from leakwise.exact import last_that_holds
from leakwise.priors import Ball, Box, Hull, KLBall, PriorSet
from leakwise.types import Floats

__all__ = ["first_members", "member_near", "nominal_inside", "worst_member"]

PRECISION = 128
_SHARES = (1e-13, 1e-11, 1e-9, 1e-6, 1e-3)


def nominal_inside(priors: PriorSet) -> bool:
    """Whether the nominal prior is one of the set: always, but for a hull whose nominal prior was given beside it."""
    if not isinstance(priors, Hull):
        return True
    count = len(priors.corners)
    middle = [sum(masses, Fraction(0)) / count for masses in zip(*(c.fractions for c in priors.corners), strict=True)]
    known = priors.nominal.fractions
    return list(known) == middle or any(list(known) == list(corner.fractions) for corner in priors.corners)


def first_members(priors: PriorSet) -> Floats:
    """Members to begin with: the corners of a hull, which are all that matter; else the nominal prior."""
    if isinstance(priors, Hull):
        return np.array([corner.probabilities for corner in priors.corners])
    return priors.nominal.probabilities[None, :].copy()


def worst_member(priors: PriorSet, column: Floats, mass: float) -> Floats | None:
    """A prior of the set under which a column has (almost) the least mass; None where that is not below ``mass``.

    Found in floats first; only one that is needed is made exact.
    """
    if isinstance(priors, (Ball, Box)):
        lower: Sequence[Any] = priors.lower if isinstance(priors, Box) else [0] * len(priors)
        upper: Sequence[Any] = priors.upper if isinstance(priors, Box) else [1] * len(priors)
        nominal, beta = priors.nominal, priors.beta
        low, high = [float(end) for end in lower], [float(end) for end in upper]
        rough = _moved(nominal.probabilities.tolist(), low, high, None if beta is None else float(beta), column)
        if float(np.array(rough) @ column) >= mass:
            return None
        return _floats(_moved(nominal.fractions, lower, upper, beta, column))
    if isinstance(priors, KLBall):
        return _tilted(priors, column, mass)
    return None


def member_near(priors: PriorSet, masses: Floats) -> Floats | None:
    """A prior that is surely inside a ball or a box, near some masses: pulled towards the nominal one until it is."""
    if not isinstance(priors, (Ball, Box)) or not np.isfinite(masses).all() or not masses.max() > 0:
        return None
    p = priors.nominal.probabilities
    for share in _SHARES:
        member = _normalised((1 - share) * np.maximum(masses, 0.0) + share * p)
        if _inside(priors, member):
            return _floats(member)
    return None


def _inside(priors: Ball | Box, masses: Sequence[Fraction]) -> bool:
    if isinstance(priors, Box) and not all(
        low <= mass <= high for low, mass, high in zip(priors.lower, masses, priors.upper, strict=True)
    ):
        return False
    moved = sum((abs(a - b) for a, b in zip(masses, priors.nominal.fractions, strict=True)), Fraction(0))
    return priors.beta is None or moved <= priors.beta


def _normalised(values: Floats) -> list[Fraction]:
    weights = [Fraction(float(value)) for value in values]
    total = sum(weights, Fraction(0))
    return [weight / total for weight in weights]


def _floats(masses: Sequence[Fraction]) -> Floats:
    return np.array([float(mass) for mass in masses])


def _moved(nominal: Sequence[Any], lower: Sequence[Any], upper: Sequence[Any], beta: Any, column: Floats) -> list[Any]:
    """Mass moved from the largest entries to the smallest ones, while bounds and radius allow it: inside by doing.

    Exact for fractions, rough for floats.
    """
    masses = list(nominal)
    left = 1 if beta is None else beta / 2
    rising = np.argsort(column, kind="stable").tolist()
    to, away = 0, len(rising) - 1
    while left > 0 and to < away:
        taker, giver = rising[to], rising[away]
        step = min(left, upper[taker] - masses[taker], masses[giver] - lower[giver])
        masses[taker] += step
        masses[giver] -= step
        left -= step
        # One of the two is used up, or the radius is; floats may miss that by a rounding.
        if upper[taker] - masses[taker] <= masses[giver] - lower[giver]:
            to += 1
        else:
            away -= 1
    return masses


def _tilted(priors: KLBall, column: Floats, mass: float) -> Floats | None:
    """Q_i in proportion to π_i/(v_i - τ), τ as low as the radius demands; pulled towards π until surely inside."""
    p = priors.nominal.probabilities
    seen = p > 0
    radius = float(priors.radius)
    least, span = float(column.min()), float(np.ptp(column))
    if span == 0 or radius == 0:
        return None

    def at(gap: float) -> tuple[Floats, float]:
        q = np.where(seen, p / np.where(seen, column - least + gap, 1.0), 0.0)
        q = q / q.sum()
        return q, float(np.sum(p[seen] * np.log(p[seen] / q[seen])))

    chosen: Floats | None = None
    if not seen[column == least].any():
        q, divergence = at(0.0)
        if divergence < radius:
            chosen = q * np.exp(divergence - radius)
            chosen[int(column.argmin())] += 1 - float(chosen.sum())
    if chosen is None:
        low, high = math.log(1e-15 * span), math.log(1e9 * span)
        chosen = at(math.exp(last_that_holds(lambda gap: at(math.exp(gap))[1] <= radius, high, low, 90)))[0]
    if float(chosen @ column) >= mass:
        return None
    for share in _SHARES:
        member = _normalised((1 - share) * chosen + share * p)
        if _divergence_within(priors.nominal.fractions, member, priors.radius):
            return _floats(member)
    return None


def _divergence_within(nominal: Sequence[Fraction], masses: Sequence[Fraction], radius: Fraction) -> bool:
    """Whether KL(π‖Q) ≤ radius, in balls: True only when it is certain."""
    with ctx.workprec(PRECISION):
        total = arb(0)
        for p, q in zip(nominal, masses, strict=True):
            if p:
                if not q:
                    return False
                ratio = p / q
                total += arb(fmpq(p.numerator, p.denominator)) * arb(fmpq(ratio.numerator, ratio.denominator)).log()
        return bool(total <= arb(fmpq(radius.numerator, radius.denominator)))
