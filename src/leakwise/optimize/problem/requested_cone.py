"""The cone of a request: a largest lift, for the prior and for anyone, and limits of single values, all at once."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from leakwise.errors import InvalidInput
from leakwise.optimize.problem.cones import Cone, Intersection, LDPCone, LiftBox, pml_cone
from leakwise.optimize.problem.prior_set_cone import RobustCone
from leakwise.optimize.problem.value_limits import RobustValueLimits, ValueLimits
from leakwise.priors import Prior, PriorSet
from leakwise.proof import AskedLimits, is_exact

__all__ = ["constraint_cone", "provable_ratio"]

_GIVE = (
    "Give a limit: epsilon= (nats) or lift= for leakage, or anyone=, ldp=, lip=, lift_of=, ceiling=, floor=, "
    "maximal_leakage=, within=."
)

_TRIALS = 24  # columns that a cone of the user's own is tried at
_ROOM = 1e-4  # how far inside, which is far beyond the tolerances of linear programs
_UNIT = 1 << 24


def constraint_cone(priors: PriorSet, asked: AskedLimits, within: Cone | None = None) -> Cone:
    """Return the cone of columns that keep every limit asked for, on the safe side of e^ε, and are ``within``."""
    cones = _for_one(priors.nominal, asked) if priors is priors.nominal else _for_all(priors, asked)
    if within is not None:
        _refuse_unless_cone(within, priors.nominal)
    cones += [] if within is None else [within]
    if not cones and asked.in_total is not None:
        cones = [pml_cone(priors.nominal, 1 / min(priors.nominal.fractions))]  # every column there is
    if not cones:
        raise InvalidInput(_GIVE)
    return cones[0] if len(cones) == 1 else Intersection(cones)


def _refuse_unless_cone(within: Cone, prior: Prior) -> None:
    """Refuse a user's cone that is over other values, or whose answers contradict each other, by an example."""
    if not isinstance(getattr(within, "prior", None), Prior):
        raise InvalidInput(
            "within must be a leakwise.optimize.Cone with the prior that its columns are seen at (self.prior = prior). "
            f"Got {within!r} instead."
        )
    name, size = type(within).__name__, len(within.prior)
    if within.prior.fractions != prior.fractions:
        raise InvalidInput(
            f"within must be a cone over the {len(prior)} values of the prior that have mass, and at that prior. Got "
            f"one over {size} values, at another."
        )
    if not within.contains([1] * size):
        raise InvalidInput(
            f"within must contain the constant column, which tells nothing. The {name} does not: correct its contains."
        )
    generator = np.random.default_rng(size)
    # Columns that the inequalities allow must be contained: a mechanism is made of them.
    for vertex in within.linear_max(generator.standard_normal((size, _TRIALS)))[1].T:
        column = np.rint(((1 - _ROOM) * vertex + _ROOM) * _UNIT).astype(np.int64).tolist()
        if not within.contains(column):
            raise InvalidInput(
                f"within must have the same columns by its inequalities as by contains. The {name} does not contain "
                f"{np.round(vertex, 4)}, which satisfies its inequalities: make them stricter (cut(column) gives those "
                "that are too many to list), or correct its contains."
            )
    # And what is contained must be allowed: an upper bound is one on all of it.
    for column in (generator.random((_TRIALS, size)) * generator.random((_TRIALS, 1)) * _UNIT).astype(np.int64):
        lifts = (column + _UNIT) / (within.prior.probabilities @ (column + _UNIT))
        inside = within.contains((column + _UNIT).tolist())
        if inside and within.relaxed(np.zeros(size), lifts * (1 - _ROOM), lifts * (1 + _ROOM)) is None:
            raise InvalidInput(
                f"within must have the same columns by its inequalities as by contains. The {name} contains "
                f"{np.round(lifts, 4)}, which breaks its inequalities: upper bounds would not hold. Make them wider, "
                "or correct its contains."
            )


def _for_all(priors: PriorSet, asked: AskedLimits) -> list[Cone]:
    """Every limit for every prior of a set."""
    if asked.lip is not None:
        raise InvalidInput(
            "lip= goes with a single prior. For a set of priors give epsilon= or lift=, and anyone= or floor=."
        )
    cones: list[Cone] = []
    level, anyone = asked.level, asked.anyone
    if priors.is_everything:
        # For every prior both are the same limit, of which the smaller is left.
        level, anyone = None, min((one for one in (level, anyone) if one), key=lambda one: one.below, default=None)
    if level is not None:
        cones.append(RobustCone(priors, provable_ratio(priors, level.below)))
    if anyone is not None:
        cones.append(LDPCone(priors.nominal, anyone.below))
    if asked.by_value:
        cones.append(RobustValueLimits(priors, asked))
    return cones


def provable_ratio(priors: PriorSet, ratio: Fraction) -> Fraction:
    """Return the ratio to design for: a certificate that rests on logarithms rounds its last digits up."""
    return ratio if is_exact(priors) else max(ratio * (1 - Fraction(1, 1 << 26)), Fraction(1))


def _for_one(prior: Prior, asked: AskedLimits) -> list[Cone]:
    boxes, cones = list[LiftBox](), list[Cone]()
    bound = Fraction(0) if asked.lip is None else asked.lip.below
    ratio = None if asked.anyone is None else asked.anyone.below
    if 1 in (bound, ratio) or (asked.level is not None and asked.level.below == 1):
        return [pml_cone(prior, Fraction(1))]  # only constant columns, which keep every other limit as well
    if asked.lip is not None:
        high = bound if asked.level is None else min(bound, asked.level.below)
        boxes.append(LiftBox(prior, 1 / bound, high))
    elif asked.level is not None:
        boxes.append(pml_cone(prior, asked.level.below))
    if ratio is not None:
        # Rows within a factor of t have lifts within 1/t and t: a bound on lifts that is wider says nothing.
        boxes = [box for box in boxes if box.high < ratio or box.low * ratio > 1]
        cones.append(LDPCone(prior, ratio))
    if asked.by_value:
        cones.append(ValueLimits(prior, asked))
    return [*boxes, *cones]
