"""From a float dual vector to a proven factor: the dual function in integers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from leakwise.exact import over_common_denominator
from leakwise.leakage.envelopes.problem import Problem
from leakwise.leakage.envelopes.short_fractions import ratio_above
from leakwise.types import Floats

__all__ = ["dual_floats", "exact_dual", "proven_factor", "proven_failure"]

_BLOCK = 1 << 16
_BITS = 80


def exact_dual(problem: Problem, dual: Floats, t: Fraction) -> tuple[Fraction, Fraction]:
    """Return Σ_y max(0, max_x q_y + v_x (p_xy - t q_y)) over the letters with a v, and its slope in t; exact, or just
    above.
    """
    used = np.flatnonzero(dual > 0)
    if not len(used):
        return Fraction(0), Fraction(0)
    numerators, over = over_common_denominator([Fraction(value) for value in dual[used].tolist()])
    law = np.empty(len(problem.law), dtype=np.object_)
    law[:] = problem.law
    top, bottom, wide = t.numerator, t.denominator, problem.prior.denominator * t.denominator
    total = steep = 0
    rows = [problem.row(int(letter)) for letter in used]
    for start in range(0, len(law), _BLOCK):
        mass = law[start : start + _BLOCK]
        if not mass.any():
            continue
        reach = mass * top
        best = np.zeros(len(mass), dtype=np.object_)
        owner = np.full(len(mass), -1)
        base = mass * (bottom * over)
        for place, (row, v) in enumerate(zip(rows, numerators, strict=True)):
            height = base + (row[start : start + _BLOCK].astype(np.object_) * wide - reach) * v
            higher = height > best
            best[higher] = height[higher]
            owner[higher] = place
        total += int(best.sum())
        for place, v in enumerate(numerators):
            mine = mass[owner == place]
            if len(mine):
                steep += v * int(mine.sum())
    scale = over * bottom * problem.unit
    return ratio_above(total, scale), -ratio_above(steep, over * problem.unit)


def dual_floats(problem: Problem, dual: Floats, t: float) -> tuple[float, float]:
    """Return the same in floats over the columns of the search, with its fall per relative step of t."""
    used = np.flatnonzero(dual > 0)
    mass = problem.columns.mass
    best = np.zeros(len(mass))
    slope = np.zeros(len(mass))
    for letter in used.tolist():
        height = 1.0 + dual[letter] * (problem.columns.lift[letter] - t)
        higher = height > best
        best[higher] = height[higher]
        slope[higher] = dual[letter] * t
    return float(best @ mass), float(slope @ mass)


def proven_factor(problem: Problem, dual: Floats, t: float, delta: Fraction) -> Fraction | None:
    """Return a t' close to t for which the dual vector proves δ_c(log t') ≤ δ; None where it proves nothing.

    A letter without a v must not reach beyond t'. For a fixed v the dual value falls with t and is convex: a step along
    the tangent never goes too far, so that exact steps from the left end at the root.
    """
    floor = max((problem.largest_lift(letter) for letter in np.flatnonzero(~(dual > 0)).tolist()), default=Fraction(1))
    if not (dual > 0).any():
        return floor
    guess = t
    for _ in range(60):
        value, fall = dual_floats(problem, dual, guess)
        if fall == 0.0 or not np.isfinite(guess):
            break
        step = (value - float(delta)) / fall
        guess += guess * step
        if abs(step) <= 1e-15:
            break
    if not np.isfinite(guess):
        return None
    factor = max(floor, _above(Fraction(guess) * (1 + Fraction(1, 1 << 51))))
    for attempt in range(40):
        exact, slope = exact_dual(problem, dual, factor)
        if exact <= delta:
            return factor
        if slope == 0:
            return None
        factor = _above(factor + (exact - delta) / -slope * (1 + Fraction(1 << attempt, 1 << 40)))
    return None


def proven_failure(problem: Problem, dual: Floats, t: Fraction) -> Fraction:
    """Return a probability that the dual vector proves to be at least δ_c(log t)."""
    return min(Fraction(1), exact_dual(problem, dual, t)[0])


def _above(value: Fraction) -> Fraction:
    """The least multiple of 2^-80 that is not below."""
    return Fraction(-((-value.numerator << _BITS) // value.denominator), 1 << _BITS)
