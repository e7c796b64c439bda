"""A mechanism and a prior as the envelope sees them: lifts and masses in floats to search with, integers to prove
with.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from leakwise.leakage.envelopes.short_fractions import ratio_above
from leakwise.leakage.measures.arguments import checked, single_prior
from leakwise.mechanism import Mechanism
from leakwise.priors import Prior
from leakwise.types import Array, Floats, Indices

__all__ = ["Columns", "Problem", "as_problem"]

# Up to so many entries every lift is one correctly rounded quotient of integers, and equal columns are merged.
_EXACT_ENTRIES = 400_000


@dataclass(frozen=True, eq=False)
class Columns:
    """Lifts (letters × outcomes) and probabilities of outcomes, in floats: what the search works on."""

    lift: Floats
    mass: Floats

    @cached_property
    def largest(self) -> Floats:
        """T_x: the largest lift that each letter has; V jumps there and nowhere else."""
        top: Floats = self.lift.max(axis=1)
        return top


@dataclass(frozen=True, eq=False)
class Problem:
    """The letters that can occur, the outcomes that can occur, and their exact integers.

    ``place`` says which column of ``columns`` each possible outcome went into: outcomes that are proportional to each
    other share one, because no post-processing gains by telling them apart.
    """

    mechanism: Mechanism
    prior: Prior
    letters: Indices
    outcomes: Indices
    columns: Columns
    place: Indices

    @cached_property
    def law(self) -> list[int]:
        """The exact output law over ``unit``, one integer for each outcome of the mechanism."""
        return self.mechanism.kernel.output_law(self.prior.weights)

    @cached_property
    def unit(self) -> int:
        """What the integers of ``law`` are over."""
        return self.mechanism.denominator * self.prior.denominator

    def weight(self, letter: int, outcome: int) -> int:
        """Return P(y|x) over ``unit``, for the position of a letter in ``letters`` and an outcome of the mechanism."""
        return int(self.mechanism.kernel.row(int(self.letters[letter]))[outcome]) * self.prior.denominator

    @cached_property
    def members(self) -> Callable[[int], list[int]]:
        """The outcomes of the mechanism that went into a column."""
        if len(self.columns.mass) == len(self.outcomes):
            return lambda column: [int(self.outcomes[column])]
        order = np.argsort(self.place, kind="stable")
        cuts = np.searchsorted(self.place[order], np.arange(len(self.columns.mass) + 1))
        parts = [self.outcomes[order[a:b]].tolist() for a, b in pairwise(cuts)]
        return lambda column: parts[column]

    def mass_of(self, columns: Sequence[int]) -> int:
        """Return the probability of some columns over ``unit``, exact."""
        law = self.law
        if len(self.columns.mass) == len(self.outcomes):
            return sum(law[outcome] for outcome in self.outcomes[np.asarray(columns, dtype=np.intp)].tolist())
        return sum(law[outcome] for column in columns for outcome in self.members(column))

    def weight_of(self, letter: int, columns: Sequence[int]) -> int:
        """Return the probability of some columns given a letter over ``unit``, exact."""
        row, scale = self.row(letter), self.prior.denominator
        if len(self.columns.mass) == len(self.outcomes):
            return int(sum(row[self.outcomes[np.asarray(columns, dtype=np.intp)]].tolist())) * scale
        return sum(int(row[outcome]) for column in columns for outcome in self.members(column)) * scale

    def row(self, letter: int) -> Array:
        """Return the integers of one letter over the mechanism's denominator."""
        return self.mechanism.kernel.row(int(self.letters[letter]))

    @cached_property
    def _rare(self) -> list[int]:
        """Possible outcomes of a probability that no float holds: outside the columns, looked at one by one."""
        seen = np.zeros(len(self.law), dtype=np.bool_)
        seen[self.outcomes] = True
        return [outcome for outcome in np.flatnonzero(~seen).tolist() if self.law[outcome]]

    @cached_property
    def worst_lift(self) -> Fraction:
        """The largest lift of all, e^ε of ε-PML; exact, or just above where its integers are very long."""
        largest = self.mechanism.kernel.column_max(self.prior.support)
        return self._largest(largest, self.columns.lift.max(axis=0))

    def largest_lift(self, letter: int) -> Fraction:
        """Return T_x; exact, or just above."""
        return self._largest(self.row(letter), self.columns.lift[letter])

    def _largest(self, weights: Array, lift: Floats) -> Fraction:
        nearly = lift[self.place]
        close = self.outcomes[nearly >= nearly.max() * (1 - 1e-12)]
        scale = self.prior.denominator
        return max(
            ratio_above(int(weights[outcome]) * scale, self.law[outcome]) for outcome in (*close.tolist(), *self._rare)
        )

    @cached_property
    def capacity(self) -> Fraction:
        """e^𝓛 = Σ_y max_x P(y|x); exact, or just above."""
        largest = self.mechanism.kernel.column_max(self.prior.support)
        return ratio_above(sum(largest.tolist()), self.mechanism.denominator)


def as_problem(mechanism: Any, prior: Any) -> Problem:
    """The envelope problem of a mechanism and a single prior; impossible outcomes dropped, proportional ones merged."""
    known = single_prior(prior, checked(mechanism))
    letters = np.flatnonzero(known.support)
    rows, width = mechanism.shape
    if rows * width <= _EXACT_ENTRIES:
        lift, mass, outcomes = _exact_floats(mechanism, known, letters)
        distinct, place = np.unique(lift, axis=1, return_inverse=True)
        place = place.ravel()
        if distinct.shape[1] < lift.shape[1]:
            mass = np.asarray(np.bincount(place, weights=mass, minlength=distinct.shape[1]), dtype=np.float64)
            lift = np.ascontiguousarray(distinct)
        else:
            place = np.arange(len(outcomes))
    else:
        mass = mechanism.kernel.output_law_floats(known.weights, known.denominator)
        outcomes = np.flatnonzero(mass > 0)
        mass = mass[outcomes]
        matrix = mechanism.matrix
        part = matrix if len(letters) == rows and len(outcomes) == width else matrix[np.ix_(letters, outcomes)]
        lift = part / mass
        place = np.arange(len(outcomes))
    return Problem(mechanism, known, letters, outcomes, Columns(lift, mass), place)


def _exact_floats(mechanism: Mechanism, prior: Prior, letters: Indices) -> tuple[Floats, Floats, Indices]:
    """Lifts and masses, each the float nearest to the truth; masses that no float holds count as impossible."""
    law = mechanism.kernel.output_law(prior.weights)
    unit = mechanism.denominator * prior.denominator
    mass = np.array([_quotient(weight, unit) for weight in law])
    outcomes = np.flatnonzero(mass > 0)
    weights = mechanism.weights
    scale = prior.denominator
    over = [law[outcome] for outcome in outcomes]
    lift = np.array(
        [
            [
                _quotient(weight * scale, mass)
                for weight, mass in zip(weights[letter][outcomes].tolist(), over, strict=True)
            ]
            for letter in letters
        ]
    )
    return lift, mass[outcomes], outcomes


def _quotient(numerator: int, denominator: int) -> float:
    # Python divides integers of any length with one rounding.
    return numerator / denominator
