"""The last step of every design: its names, its value, its certificate and what it claims of its optimality."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from leakwise.exact import Level
from leakwise.mechanism import Kernel, Mechanism
from leakwise.optimize.design_result import Design
from leakwise.optimize.finish.integers import assemble
from leakwise.optimize.finish.optimality_claim import bound_of, close_to, optimality_claim
from leakwise.optimize.finish.outcome_names import named
from leakwise.optimize.problem.cones import Cone
from leakwise.optimize.problem.utility import Utility, with_mass
from leakwise.optimize.search.limits import Found, Limits
from leakwise.priors import Prior, PriorSet
from leakwise.proof import AskedLimits, OptimalityClaim, asked_limits, certify, value_box
from leakwise.types import Floats, Indices

__all__ = ["Allowed", "Solution", "finished", "integers_of"]


@dataclass(frozen=True)
class Allowed:
    """What was asked for, and the lifts and ratios within a column of the mechanisms that a claim compares with."""

    asked: AskedLimits | Level
    words: str
    low: Fraction = Fraction(0)
    high: Fraction | None = None
    ldp: Fraction | None = None
    total: Fraction | None = None  # of the maxima of all outcomes, where that is limited
    unchecked: str | None = None  # why no checker knows these limits, where none does


@dataclass(frozen=True)
class Solution:
    """A mechanism in integers, what bounds all others, and how both were found.

    ``mechanism`` and ``value`` are given where they are known already; else the outcomes are named by what they say or
    raise, and the value is what the integers are surely worth.
    """

    kernel: Kernel
    bound: float
    how: str
    duals: Floats = field(default_factory=lambda: np.empty(0))
    root: Floats | None = None
    says: Indices | None = None
    mechanism: Mechanism | None = None
    value: float | None = None
    multipliers: Floats | None = None
    dual: tuple[Fraction, ...] = ()  # of the letters with mass, where a lift is to survive post-processing


def integers_of(cone: Cone, found: Found, how: str) -> Solution:
    """Return the solution that a search has found, in integers inside the cone."""
    kernel, says = assemble(cone, found)
    return Solution(kernel, bound_of(cone, found), how, found.duals, found.root, says, multipliers=found.multipliers)


def finished(solution: Solution, priors: PriorSet, utility: Utility, allowed: Allowed, limits: Limits) -> Design:
    """Return the design: names, value, bound, and a certificate that is verified on the way."""
    nominal, value, mechanism = priors.nominal, solution.value, solution.mechanism
    if value is None:
        whole = solution.kernel.shape[0] == len(nominal)
        goal, prior = (utility, nominal) if whole else (utility.on_support(nominal), with_mass(nominal))
        value = goal.interval(solution.kernel, prior)[0]
    if mechanism is None:
        mechanism = named(solution.kernel, nominal, utility, solution.says)
    bound = max(solution.bound, value)
    certificate = certify(mechanism, priors, allowed.asked)
    if solution.dual:
        certificate = replace(certificate, dual=_on_all(solution.dual, nominal))
    certificate.verify_for_the_set()
    low, high, ldp = allowed.low, allowed.high, allowed.ldp
    draft = OptimalityClaim("", low, high, value, bound, solution.duals, None, ldp, solution.root, total=allowed.total)
    box = value_box(asked_limits(allowed.asked), priors, priors.alphabet)
    unchecked = "a step on the way to a design" if limits.rough else allowed.unchecked
    claim, remark = optimality_claim(draft, utility, priors, limits, unchecked, box)
    if claim is None and unchecked is None and solution.multipliers is not None:
        # A checker that does not list the vertices of this set knows a looser bound.
        looser = replace(draft, duals=solution.multipliers, root=None)
        claim, remark = optimality_claim(looser, utility, priors, limits, unchecked, box)
    bound = close_to(claim, priors, bound)
    if box is not None and claim is not None and claim.bound > bound:
        # Where the checker knows these limits only in part, its bound would contradict the printed one.
        claim, remark = None, "no checker for lift_of, ceiling, floor"
    certificate = replace(certificate, optimality=claim, remark=remark)
    return Design(mechanism, value, bound, solution.how, certificate, utility.name, priors, allowed.words)


def _on_all(dual: tuple[Fraction, ...], prior: Prior) -> tuple[Fraction, ...]:
    """The dual vector with zeros for the letters without mass, which no lift is limited for."""
    left = iter(dual)
    return tuple(next(left) if here else Fraction(0) for here in prior.support)
