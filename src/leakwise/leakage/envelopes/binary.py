"""Lower and upper bounds of [EN]: Algorithm 1 (binary post-processings), the quantile of the outcome itself, Theorem 3.

A lower bound is what a certain post-processing reaches, so that any post-processing gives one, however it was found:
the events are found in floats and valued in integers.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from leakwise.exact import log_lower, log_upper
from leakwise.leakage.envelopes.problem import Problem
from leakwise.leakage.envelopes.shares import Shares
from leakwise.leakage.envelopes.short_fractions import ratio_below
from leakwise.types import Floats, Indices

__all__ = ["Bounds", "binary_factors", "bounds"]


@dataclass(frozen=True, eq=False)
class Bounds:
    """Factors on both sides of e^{ε_c(δ)}, exact or (long integers) just outside, with the post-processings that reach
    the lower ones.
    """

    quantile: Fraction
    binary: Fraction
    markov: Fraction
    worst: Fraction
    quantile_shares: Shares
    binary_shares: Shares

    @property
    def below(self) -> Fraction:
        """max{upper δ-quantile of ℓ(Y), ε_b}, as a factor ([EN] (14))."""
        return max(self.quantile, self.binary)

    @property
    def above(self) -> Fraction:
        """min{𝓛 + log 1/δ, ε}, as a factor ([EN] Theorem 3)."""
        return min(self.markov, self.worst)

    @property
    def best_shares(self) -> Shares:
        """The post-processing that reaches ``below``."""
        return self.quantile_shares if self.quantile >= self.binary else self.binary_shares

    @property
    def lower(self) -> float:
        """The lower bound in nats, rounded down."""
        return max(0.0, log_lower(self.below))

    @property
    def upper(self) -> float:
        """The upper bound in nats, rounded up."""
        return log_upper(max(self.above, Fraction(1)))


def bounds(problem: Problem, delta: Fraction) -> Bounds:
    """Return the bounds of [EN] at δ in (0, 1)."""
    quantile, quantile_shares = _quantile(problem, delta)
    binary, binary_shares = _binary(problem, delta)
    markov = problem.capacity / delta
    return Bounds(quantile, binary, markov, problem.worst_lift, quantile_shares, binary_shares)


def _quantile(problem: Problem, delta: Fraction) -> tuple[Fraction, Shares]:
    """The largest t with P(ℓ(Y) ≥ log t) ≥ δ: no post-processing but naming the letter."""
    lift = problem.columns.lift
    letter, top = lift.argmax(axis=0), lift.max(axis=0)
    order = np.argsort(-top, kind="stable")
    target = delta * problem.unit
    count, mass = _until(problem, order, target)
    found = order[:count]
    near = found[top[found] <= top[found].min() * (1 + 1e-12)].tolist()
    worst = min(_exact_lift(problem, int(letter[column]), problem.members(column)[0]) for column in near)
    if mass < target:  # outcomes too rare for a float were left out: only the trivial bound is proven
        worst = Fraction(1)
    return max(worst, Fraction(1)), Shares(letter[found], found, np.ones(count))


def _exact_lift(problem: Problem, letter: int, outcome: int) -> Fraction:
    return ratio_below(problem.weight(letter, outcome), problem.law[outcome])


def binary_factors(problem: Problem, delta: float) -> Floats:
    """Return κ(x) of Algorithm 1 for each letter, in floats: the largest P(E|x)/P(E) over events of probability δ."""
    lift, mass = problem.columns.lift, problem.columns.mass
    found = np.empty(len(lift))
    for place, row in enumerate(lift):
        order = np.argsort(-row, kind="stable")
        reach = np.cumsum(mass[order])
        last = min(int(np.searchsorted(reach, delta)), len(order) - 1)
        if not last:  # a part of one outcome: its lift, even where δ is below all floats
            found[place] = row[order[0]]
            continue
        inside = order[:last]
        found[place] = (row[inside] @ mass[inside] + (delta - reach[last - 1]) * row[order[last]]) / delta
    return found


def _binary(problem: Problem, delta: Fraction) -> tuple[Fraction, Shares]:
    """e^{ε_b} of Algorithm 1, exact for the best letter, and the event that reaches it."""
    letter = int(binary_factors(problem, float(delta)).argmax())
    order = np.argsort(-problem.columns.lift[letter], kind="stable")
    target = delta * problem.unit
    count, reach = _until(problem, order, target)
    before, last = order[: count - 1].tolist(), [int(order[count - 1])]
    here, there = problem.mass_of(last), problem.weight_of(letter, last)
    share, value = 1.0, Fraction(1)
    if reach >= target:
        part = target - (reach - here)
        share = part.numerator / (part.denominator * here)
        top = problem.weight_of(letter, before) * here + there * part
        value = ratio_below(top.numerator * target.denominator, top.denominator * here * target.numerator)
    shares = np.ones(count)
    shares[-1] = share
    return max(value, Fraction(1)), Shares(np.full(count, letter), order[:count], shares)


def _until(problem: Problem, order: Indices, target: Fraction) -> tuple[int, int]:
    """How many columns in this order reach the target (all of them if none do), and their exact probability."""
    reach = np.cumsum(problem.columns.mass[order])
    aim = target.numerator / (target.denominator * problem.unit)
    count = min(int(np.searchsorted(reach, aim)) + 1, len(order))
    mass = problem.mass_of(order[:count].tolist())
    # Floats may be off by an outcome or two; the integers decide.
    while count > 1 and mass - (last := problem.mass_of([int(order[count - 1])])) >= target:
        count, mass = count - 1, mass - last
    while count < len(order) and mass < target:
        mass += problem.mass_of([int(order[count])])
        count += 1
    return count, mass
