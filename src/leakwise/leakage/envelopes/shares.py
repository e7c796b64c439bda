"""Post-processings as shares: which part of each outcome goes to the outcome that speaks for a letter."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain

import numpy as np

from leakwise.errors import InvalidInput
from leakwise.leakage.envelopes.problem import Problem
from leakwise.leakage.envelopes.short_fractions import ratio_below
from leakwise.mechanism import DenseKernel, Mechanism
from leakwise.mechanism.kernel import refuse_large
from leakwise.types import Floats, Indices

__all__ = ["ExactShares", "Shares", "exact_shares"]


_BITS = 60


@dataclass(frozen=True, eq=False)
class Shares:
    """Share ``share[k]`` of column ``column[k]`` goes to the group of letter ``letter[k]``; the rest to nobody."""

    letter: Indices
    column: Indices
    share: Floats


@dataclass(frozen=True, eq=False)
class ExactShares:
    """The same in integers over 2^bits, and what they reach: P(ℓ(Z) ≥ log lift) ≥ δ, proven."""

    problem: Problem
    letter: Indices
    column: Indices
    numerator: list[int]
    bits: int
    lift: Fraction

    def mechanism(self) -> Mechanism:
        """The post-processing over the outcomes of the mechanism: one outcome for each letter raised, and the rest."""
        problem = self.problem
        used, group = np.unique(self.letter, return_inverse=True)
        names = [problem.mechanism.inputs[problem.letters[letter]] for letter in used]
        labels: list[str] = [f"raises {name}" for name in names]
        if len(set(labels)) < len(labels):  # 1 and "1" are two letters of one text
            labels = [f"raises {name!r}" for name in names]
        height = problem.mechanism.shape[1]
        refuse_large(height, len(used) + 1, "The value and its certificate need no matrix: use those.")
        dtype = np.int64 if self.bits <= _BITS else np.object_
        weights = np.zeros((height, len(used) + 1), dtype=dtype)
        weights[:, -1] = 1 << self.bits
        for place, column, numerator in zip(group.tolist(), self.column.tolist(), self.numerator, strict=True):
            for outcome in problem.members(column):
                weights[outcome, place] += numerator
                weights[outcome, -1] -= numerator
        kernel = DenseKernel(weights, 1 << self.bits)
        return Mechanism.from_kernel(kernel, problem.mechanism.output_alphabet, [*labels, "rest"])


def exact_shares(problem: Problem, shares: Shares, delta: Fraction) -> ExactShares:
    """Shares in integers that send at least δ to the groups, exactly, and the least lift of a group.

    Floats may miss δ by a rounding; the missing part is taken from what is left of the outcomes, best ones first.
    """
    used = shares.share > 0
    letter, column, share = shares.letter[used], shares.column[used], shares.share[used]
    masses = problem.columns.mass
    groups = np.bincount(letter, weights=share * masses[column], minlength=len(problem.letters))
    rarest = groups[groups > 0].min()
    # A small group must not feel the rounding of a likely outcome.
    bits = _BITS + max(0, math.ceil(math.log2(masses.max() / rarest)))
    if bits > 4096:
        raise InvalidInput(f"delta must be larger: a group of probability {rarest:g} cannot be written out.")
    whole = 1 << bits
    numerator = [whole if part >= 1 else int(Fraction(part) * whole) for part in share.tolist()]
    left = dict.fromkeys(column.tolist(), whole)
    for place, number in zip(column.tolist(), numerator, strict=True):
        left[place] -= number
    for place, number in enumerate(numerator):
        over = left[int(column[place])]
        if over < 0:
            numerator[place], left[int(column[place])] = number + over, 0
    law = {place: sum(problem.law[outcome] for outcome in problem.members(place)) for place in left}
    have = sum(number * law[place] for number, place in zip(numerator, column.tolist(), strict=True))
    missing = delta * problem.unit * whole - have
    if missing > 0:
        letter, column, numerator = _top_up(problem, letter, column, numerator, left, whole, missing)
    return _valued(problem, letter, column, numerator, bits)


def _top_up(
    problem: Problem,
    letter: Indices,
    column: Indices,
    numerator: list[int],
    left: dict[int, int],
    whole: int,
    missing: Fraction,
) -> tuple[Indices, Indices, list[int]]:
    letters, columns, numbers = letter.tolist(), column.tolist(), list(numerator)
    present, group = np.unique(letter, return_inverse=True)
    lift, mass = problem.columns.lift, problem.columns.mass
    amount = np.array([number / whole for number in numerator]) * mass[column]
    held = np.bincount(group, weights=amount)
    raised = np.bincount(group, weights=amount * lift[letter, column])
    top = lift[present].max(axis=0)
    begun = sorted((place for place, room in left.items() if room > 0), key=lambda place: -top[place])
    untouched = (place for place in np.argsort(-top, kind="stable").tolist() if place not in left)
    for place in chain(begun, untouched):
        law = sum(problem.law[outcome] for outcome in problem.members(place))
        take = min(left.get(place, whole), -((-missing.numerator) // (missing.denominator * law)))
        if take > 0:
            # To the group that feels it least.
            more = take / whole * mass[place]
            chosen = int(((raised + more * lift[present, place]) / (held + more)).argmax())
            held[chosen], raised[chosen] = held[chosen] + more, raised[chosen] + more * lift[present[chosen], place]
            letters.append(int(present[chosen]))
            columns.append(place)
            numbers.append(take)
            missing -= take * law
        if missing <= 0:
            break
    return np.array(letters), np.array(columns), numbers


def _valued(problem: Problem, letter: Indices, column: Indices, numerator: list[int], bits: int) -> ExactShares:
    mass: dict[int, int] = {}
    weight: dict[int, int] = {}
    rows = {place: problem.row(place) for place in np.unique(letter).tolist()}
    for x, place, number in zip(letter.tolist(), column.tolist(), numerator, strict=True):
        row = rows[x]
        for outcome in problem.members(place):
            mass[x] = mass.get(x, 0) + number * problem.law[outcome]
            weight[x] = weight.get(x, 0) + number * int(row[outcome])
    scale = problem.prior.denominator
    lift = min(ratio_below(weight[x] * scale, mass[x]) for x in mass if mass[x])
    return ExactShares(problem, letter, column, numerator, bits, max(lift, Fraction(1)))
