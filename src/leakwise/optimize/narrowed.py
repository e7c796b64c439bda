"""Designs for sets whose least mass is only bounded: that of the estimate at the widest limits that the set bears."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np

from leakwise.exact import log_lower
from leakwise.mechanism import constant
from leakwise.optimize.design_result import Design
from leakwise.optimize.finish.finished import Allowed, Solution, finished
from leakwise.optimize.problem.utility import Utility
from leakwise.optimize.search.limits import Limits
from leakwise.priors import PriorSet
from leakwise.proof import AskedLimits, Certificate, certify

__all__ = ["narrowed"]

_STEPS, _FEW_STEPS = 10, 3
_ATTEMPT = 0.25  # of the time that is left, for one design of the estimate
_CLOSE = 2e-3  # of ε that may be left: less than half a percent of a variance
_SUBSETS = 512
_HOW = "the design of the estimate at the widest limits that the set bears"


def narrowed(priors: PriorSet, asked: AskedLimits, goal: Utility, allowed: Allowed, limits: Limits) -> Design:
    """Return the design of the nominal prior whose integers keep every limit for the whole set, limits narrowed."""
    from leakwise.optimize.design import designed

    nominal = priors.nominal

    def attempt(share: Fraction, *, rough: bool = True) -> tuple[Design, Certificate]:
        part = replace(limits.part(_ATTEMPT), rough=rough)
        found = designed(nominal, asked.narrowed(share, nominal), goal, "auto", part)
        limits.stopped |= part.stopped
        return found, certify(found.mechanism, priors, asked)

    bound, low, high = math.inf, Fraction(0), Fraction(1)
    best, (share, steps) = constant(priors.alphabet), _foreseen(priors, asked)
    if priors.holds_nominal or share == 1:
        known, proof = attempt(Fraction(1), rough=not priors.holds_nominal)
        bound = known.bound if priors.holds_nominal else bound
        if proof.holds:
            best, low = known.mechanism, Fraction(1)
    for step in range(0 if low == 1 else steps):
        if limits.exhausted:
            limits.stopped = True
            break
        found, proof = attempt(share)
        low, high = (share, high) if proof.holds else (low, share)
        best = found.mechanism if proof.holds else best
        ahead, enough = _next(share, proof, asked, _CLOSE * max(1, step - 1))
        if enough:
            break
        share = ahead if low < ahead < high else (low + high) / 2
    return finished(Solution(best.kernel, bound, _HOW, mechanism=best), priors, goal, allowed, limits)


def _next(share: Fraction, proof: Certificate, asked: AskedLimits, close: float) -> tuple[Fraction, bool]:
    """The share to try next, and whether this one is as good as any.

    What is proven grows with what is spent at the estimate, at e^{proven - spent} where a fixed mass is lost to doubt.
    """
    first = asked.level
    if first is None or proof.ratio is None or (first.allows(proof.ratio) and not proof.holds):
        return Fraction(-1), False  # in the middle
    target, room = log_lower(first.below), float(first.below) - 1
    spent, proven = math.log1p(room * float(share)), proof.epsilon_upper
    left = target - proven
    # A little below the target, so that steps from above end there and not ever closer above it.
    step = left * math.exp(spent - proven) - (_CLOSE / 3) * target
    ahead = Fraction(math.expm1(max(spent + step, 0.0)) / room) if room else Fraction(-1)
    return ahead, proof.holds and left <= close * target


def _foreseen(priors: PriorSet, asked: AskedLimits) -> tuple[Fraction, int]:
    """The share that a column of zeros and one other number leaves, seen on sets of letters with about its mass.

    And how often to try: where no set is known to have that mass, hardly anything is to be found.
    """
    if asked.level is None or asked.level.below == 1:
        return Fraction(1), _STEPS
    most, size = 1 / float(asked.level.below), len(priors.nominal)
    if size <= _SUBSETS.bit_length() - 1:
        sets = ((np.arange(1, 2**size - 1)[None, :] >> np.arange(size)[:, None]) & 1).astype(np.float64)
    else:
        sets = (np.random.default_rng(size).random((size, _SUBSETS)) < most).astype(np.float64)
    masses, least = priors.nominal.probabilities @ sets, priors.least_mass(sets)
    if not (least >= most).any():
        return Fraction(1, 64), _FEW_STEPS
    # A set is an outcome's letters: its lift is one over its mass at the estimate, one over its least mass as proven.
    lost = float(np.median((masses - least)[np.argsort(np.abs(least - most))[:32]]))
    spent = 1 / (most + max(lost, 0.0))
    return Fraction(min(max((spent - 1) / (1 / most - 1), 2.0**-6), 1.0)), _STEPS
