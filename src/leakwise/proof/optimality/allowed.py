"""The lifts that the mechanisms of a claim may have, rounded outwards: ends, boxes, ranges, and largest squares."""

from __future__ import annotations

import math

import numpy as np

from leakwise.exact import float_above, float_below
from leakwise.priors import AllPriors, Ball, Prior, PriorSet
from leakwise.proof.optimality.boxes import widest_box
from leakwise.proof.optimality.branching import Region
from leakwise.proof.optimality.claim import OptimalityClaim
from leakwise.proof.optimality.frequencies import largest_square, largest_square_in_range
from leakwise.proof.optimality.members import nominal_inside
from leakwise.proof.optimality.ranges import Range
from leakwise.proof.optimality.value_boxes import ValueBox
from leakwise.types import Floats

__all__ = ["largest_allowed_square", "lift_box", "lift_ends", "lift_region", "shared_range"]

_STEEPEST = 1e14  # larger coefficients are too much for linear programs


def lift_ends(claim: OptimalityClaim) -> tuple[float, float]:
    """Return the least and the largest lift, rounded outwards; rows within a factor of t have no lift above t."""
    low = float_below(claim.low) * (1 - 2.0**-52)
    high = min(end for end in (claim.high, claim.ldp) if end is not None)
    return low, float_above(high) * (1 + 2.0**-52)


def shared_range(claim: OptimalityClaim, priors: PriorSet) -> Range | None:
    """Return the range of lifts, where the constraint is one: LDP, alone or with others; all priors; an l1 ball."""
    low, high = lift_ends(claim)
    if claim.ldp is not None:
        pieces = [(0.0, float_above(claim.ldp))]
        return Range(low, tuple(pieces if claim.high is None else [*pieces, (high, 0.0)]))
    assert claim.high is not None
    if isinstance(priors, AllPriors):
        return Range(0.0, ((0.0, high),))
    if isinstance(priors, Ball) and priors.beta:
        c, least = priors.moved, min(priors.nominal.fractions)
        t = claim.high
        if c <= least:
            alpha, beta = t / (1 + c * t), c * t / (1 + c * t)
        elif least == 1:
            return None
        else:
            # An outer range: the top mass c holds the largest lift with mass π_min at least, the rest at least average.
            below = 1 + t * least * (1 - c) / (1 - least)
            alpha, beta = t * (1 - c) / (1 - least) / below, c * t / below
        return Range(0.0, ((float_above(alpha), float_above(beta)),))
    return None


def lift_region(claim: OptimalityClaim, priors: PriorSet, p: Floats, box: ValueBox | None = None) -> Region | None:
    """Return the lift vectors of an intersection, or of a set of priors, for linear programs."""
    low, high = lift_ends(claim)
    size = len(p)

    def within(ceiling: Floats, ratio: float, around: PriorSet | None) -> Region:
        floor = np.full(size, low)
        if box is None:
            return Region(p, floor, ceiling, ratio, around)
        floor, ceiling = box.narrowed(floor, ceiling)
        return Region(p, floor, ceiling, ratio, around, box.sums)

    if isinstance(priors, Prior):
        ceiling = np.minimum(high, 1 / p * (1 + 2.0**-50))
        if claim.ldp is None:  # only the prior itself bounds a lift
            return (
                within(ceiling, high, priors.reordered(np.flatnonzero(priors.support))) if high <= _STEEPEST else None
            )
        return within(ceiling, float_above(claim.ldp), None) if float_above(claim.ldp) <= _STEEPEST else None
    if not priors.support.all() or not high <= _STEEPEST:
        return None
    if nominal_inside(priors):
        ceiling = np.full(size, high)
    elif p.all():
        ceiling = 1 / p * (1 + 2.0**-50)
    else:
        return None
    return within(ceiling, high, None if isinstance(priors, AllPriors) else priors)


def lift_box(claim: OptimalityClaim, priors: PriorSet, p: Floats, box: ValueBox | None) -> tuple[Floats, Floats] | None:
    """Return the least and the largest lift of each letter, rounded outwards."""
    wide = widest_box(p, *lift_ends(claim))
    if isinstance(priors, Prior) and claim.ldp is None and box is None:
        return wide
    region = lift_region(claim, priors, p, box)
    if region is None:
        return None
    floor, ceiling = region.tightened()
    if isinstance(priors, Prior) and claim.high is not None:
        floor, ceiling = np.maximum(floor, wide[0]), np.minimum(ceiling, wide[1])
    return floor, ceiling


def largest_allowed_square(
    root: Floats, y: Floats, claim: OptimalityClaim, priors: PriorSet, p: Floats, box: ValueBox | None
) -> float:
    """Return a number above |Hᵀλ|² - y·λ at every column that a claim allows; ∞ where they are not known."""
    low, high = lift_ends(claim)
    # Of more than two values the limits are left out: what holds for more mechanisms holds for these.
    if isinstance(priors, Prior) and claim.ldp is None and (box is None or len(p) > 2):
        return largest_square_in_range(root, y, p, Range(low, ((high, 0.0),)), box=True)
    if len(p) == 2:
        region = lift_region(claim, priors, p, box)
        if region is None:
            return math.inf
        floor, ceiling = region.tightened()
        first = np.array([floor[0], ceiling[0]])
        return largest_square(root, y, p, np.stack([first, np.maximum((1 - p[0] * first) / p[1], 0.0)]))
    if isinstance(priors, Ball) and priors.moved > min(priors.nominal.fractions):
        return math.inf  # its range is only an outer one
    where = shared_range(claim, priors)
    return math.inf if where is None else largest_square_in_range(root, y, p, where)
