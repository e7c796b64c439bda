"""The largest lift of any outcome, as one rational number, by code of its own.

This is the number behind every promise: max over outcomes j of max_i p_ij / min_Q Q·p_j. It is found by comparing
integers; no float takes part, and nothing is shared with the measures it checks. A set of priors may leave an outcome
without any mass although a letter can cause it: then the lift has no bound, and the ratio is None.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from flint import fmpz_mat

from leakwise.mechanism import CodeKernel, CommonLawKernel, Kernel
from leakwise.priors import Prior, PriorSet
from leakwise.proof.codes import code_column, code_columns
from leakwise.proof.sets import least_mass_prover
from leakwise.types import Bools

__all__ = ["WorstOutcome", "every_prior_ratio", "lift_at", "total_of_maxima", "worst_outcome"]


@dataclass(frozen=True)
class WorstOutcome:
    """The largest lift (None: without bound), where it is reached, and by which letter."""

    ratio: Fraction | None
    outcome: int
    letter: int


def worst_outcome(kernel: Kernel, priors: PriorSet) -> WorstOutcome:
    """Return the outcome with the largest lift; an outcome of probability zero has none."""
    support = [bool(here) for here in priors.support]
    if isinstance(kernel, CommonLawKernel) and isinstance(priors, Prior):
        columns = _structured_columns(kernel, priors, support)
    elif isinstance(kernel, CodeKernel) and isinstance(priors, Prior):
        columns = code_columns(kernel, priors, support)
    else:
        columns = _dense_columns(kernel, priors, support)
    best: WorstOutcome | None = None
    numerator, denominator = 0, 1
    for outcome, (largest, letter, mass_numerator, mass_denominator) in enumerate(columns):
        if mass_numerator == 0:
            if largest == 0:
                continue
            return WorstOutcome(None, outcome, letter)
        # largest / (mass_numerator / mass_denominator) > numerator / denominator, in integers
        if largest * mass_denominator * denominator > numerator * mass_numerator:
            numerator, denominator = largest * mass_denominator, mass_numerator
            best = WorstOutcome(Fraction(numerator, denominator), outcome, letter)
    assert best is not None  # rows add up to 1: some outcome has mass
    return best


def lift_at(kernel: Kernel, priors: PriorSet, outcome: int, letter: int) -> Fraction | None:
    """Return the largest lift of one letter at one outcome; None where it has none, or no bound."""
    if not priors.support[letter]:
        return None
    if isinstance(kernel, CommonLawKernel):
        common = int(kernel.common[outcome])
        column = [common] * kernel.shape[0]
        column[outcome] += kernel.diagonal
    elif isinstance(kernel, CodeKernel):
        column = code_column(kernel, outcome)
    else:
        column = [int(weight) for weight in kernel.weights[:, outcome].tolist()]
    mass = least_mass_prover(priors)(column)
    return Fraction(column[letter]) / mass if mass else None


# One column: its largest weight over the support, the letter that has it, and its least mass as a ratio.
Column = tuple[int, int, int, int]


def _dense_columns(kernel: Kernel, priors: PriorSet, support: list[bool]) -> Iterator[Column]:
    rows, columns = kernel.shape
    weights = kernel.weights.tolist()
    letters = [letter for letter in range(rows) if support[letter]]
    if isinstance(priors, Prior):
        law = fmpz_mat(1, rows, priors.weights.tolist()) * fmpz_mat(weights)
        pairs = [(int(entry), priors.denominator) for entry in law.entries()]
    else:
        prove = least_mass_prover(priors)
        masses = [prove([row[column] for row in weights]) for column in range(columns)]
        pairs = [(mass.numerator, mass.denominator) for mass in masses]
    for column, (mass_numerator, mass_denominator) in enumerate(pairs):
        largest, letter = max((weights[letter][column], -letter) for letter in letters)
        yield largest, -letter, mass_numerator, mass_denominator


def _structured_columns(kernel: CommonLawKernel, prior: Prior, support: list[bool]) -> Iterator[Column]:
    diagonal, total = kernel.diagonal, prior.denominator
    present = [letter for letter, here in enumerate(support) if here][:2]
    for column, (common, weight) in enumerate(zip(kernel.common.tolist(), prior.weights.tolist(), strict=True)):
        candidates = [(common, letter) for letter in present if letter != column][:1]
        if support[column]:
            candidates.append((common + diagonal, column))
        largest, letter = max(candidates)
        yield largest, letter, total * common + weight * diagonal, total


def every_prior_ratio(kernel: Kernel) -> tuple[Fraction | None, int]:
    """Return max v / min v over the columns, the lift that no prior whatever exceeds, and where it is reached.

    None where an outcome is possible for one value and not for another. Letters without mass count: someone's prior
    has them.
    """
    best, place = Fraction(1), 0
    ends = zip(kernel.column_max().tolist(), kernel.column_min().tolist(), strict=True)
    for outcome, (most, least) in enumerate(ends):
        if most and not least:
            return None, outcome
        if most and most * best.denominator > best.numerator * least:
            best, place = Fraction(int(most), int(least)), outcome
    return best, place


def total_of_maxima(kernel: Kernel, support: Bools) -> Fraction:
    """Return Σ_y max_x p(y|x) over the values that can occur, exact: e to the maximal leakage."""
    return Fraction(sum(int(most) for most in kernel.column_max(support).tolist()), kernel.denominator)
