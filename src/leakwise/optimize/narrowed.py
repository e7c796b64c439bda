"""Designs for sets whose least mass is only bounded: that of the estimate at the widest limits that the set bears."""

from __future__ import annotations

import math
from fractions import Fraction

from leakwise.mechanism import constant
from leakwise.optimize.design_result import Design
from leakwise.optimize.finish.finished import Allowed, Solution, finished
from leakwise.optimize.problem.utility import Utility
from leakwise.optimize.search.limits import Limits
from leakwise.priors import PriorSet
from leakwise.proof import AskedLimits, certify

__all__ = ["narrowed"]

_STEPS = 10
_ATTEMPT = 0.25  # of the time that is left, for one design of the estimate
_HOW = "the design of the estimate at the widest limits that the set bears"


def narrowed(priors: PriorSet, asked: AskedLimits, goal: Utility, allowed: Allowed, limits: Limits) -> Design:
    """Return the design of the nominal prior whose integers keep every limit for the whole set, limits narrowed."""
    from leakwise.optimize.design import designed

    nominal = priors.nominal

    def attempt(share: Fraction) -> tuple[Design, bool]:
        found = designed(nominal, asked.narrowed(share, nominal), goal, "auto", limits.part(_ATTEMPT))
        return found, certify(found.mechanism, priors, asked).holds

    known, holds = attempt(Fraction(1))
    best, low, high = (known.mechanism if holds else constant(priors.alphabet)), Fraction(int(holds)), Fraction(1)
    for _ in range(0 if holds else _STEPS):
        if limits.exhausted:
            limits.stopped = True
            break
        middle = (low + high) / 2
        found, holds = attempt(middle)
        low, high = (middle, high) if holds else (low, middle)
        best = found.mechanism if holds else best
    bound = known.bound if priors.holds_nominal else math.inf
    return finished(Solution(best.kernel, bound, _HOW, mechanism=best), priors, goal, allowed, limits)
