"""What a release gives to expect, from the exact counts of its table: for its steward alone.

An analyst gets frequencies with standard errors, of the whole table and of each group; someone who guesses single
values gets some of them right, with the outcomes and without.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from leakwise.alphabet import Label
from leakwise.mechanism import AnyMechanism, Mechanism, StratifiedMechanism
from leakwise.priors import Prior
from leakwise.report.comparison import Part, pooled_worth
from leakwise.types import Bools, Counts, Floats

# A group of so many rows shows its own frequencies.
_LARGE = 1000

__all__ = ["Group", "Guesses", "expected_errors", "expected_guesses", "groups_of", "leaning"]


@dataclass(frozen=True)
class Group:
    """Rows with the same given columns, the mechanism that draws for them, and how often each value occurs.

    That may be an expected number of rows.
    """

    stratum: Label
    mechanism: Mechanism
    counts: Counts | Floats

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return int(self.counts.sum() + 0.5)

    @property
    def part(self) -> Part:
        """The same for what it is worth. Values that do not occur count as half a row: they are estimated, too."""
        weights = [int(2 * count + 1) for count in self.counts]
        return Part(self.mechanism, Prior.from_integers(self.mechanism.input_alphabet, weights), self.rows)


def groups_of(mechanism: AnyMechanism, counts: Mapping[Label, Sequence[int]]) -> list[Group]:
    """Return the rows by stratum, the largest first; one group, of the stratum ``()``, where there are no strata."""
    found = []
    for stratum, row in counts.items():
        if not isinstance(mechanism, StratifiedMechanism):
            serving: Mechanism = mechanism
        elif stratum in mechanism or mechanism.otherwise is None:
            serving = mechanism[stratum]
        else:
            serving = mechanism.otherwise
        found.append(Group(stratum, serving, np.asarray(row, dtype=np.int64)))
    return sorted((one for one in found if one.rows), key=lambda one: -one.rows)


def expected_errors(groups: Sequence[Group]) -> list[float] | None:
    """Return the standard error of each estimated frequency, over all groups; None where outcomes do not determine it.

    >>> from leakwise import randomized_response
    >>> groups = groups_of(randomized_response(["no", "yes"], lift=3), {(): [900, 100]})
    >>> [f"{error:.3f}" for error in expected_errors(groups)]
    ['0.029', '0.029']
    """
    return pooled_worth([one.part for one in groups], sum(one.rows for one in groups)).standard_error


@dataclass(frozen=True)
class Guesses:
    """How often the best guess about a row is right: expected shares of rows.

    Attributes
    ----------
    before, after
        Without the outcome of the row, and with it.
    before_by_value, after_by_value
        The same for the rows that have each value; NaN for a value that does not occur.
    """

    before: float
    after: float
    before_by_value: Floats
    after_by_value: Floats


def expected_guesses(groups: Sequence[Group]) -> Guesses:
    r"""Return how often the best guess is right that knows the frequencies in a row's group.

    That is :math:`\sum_y \max_s n_s P(y|s)` of :math:`n` rows.

    >>> from leakwise import randomized_response
    >>> found = expected_guesses(groups_of(randomized_response(["no", "yes"], lift=3), {(): [600, 400]}))
    >>> found.before, found.after, found.after_by_value
    (0.6, 0.75, array([0.75, 0.75]))
    """
    rows = np.sum([one.counts for one in groups], axis=0)
    before, after = np.zeros(rows.size), np.zeros(rows.size)
    for one in groups:
        joint = one.counts[:, None] * one.mechanism.matrix
        guess = joint.argmax(axis=0)
        before[one.counts.argmax()] += one.counts.max()
        np.add.at(after, guess, joint[guess, np.arange(joint.shape[1])])
    with np.errstate(invalid="ignore"):
        return Guesses(float(before.sum() / rows.sum()), float(after.sum() / rows.sum()), before / rows, after / rows)


def leaning(groups: Sequence[Group], supports: Sequence[Bools] | None = None) -> list[Group]:
    """Let the frequencies of small groups lean on those of all rows: people like a few rows are not copies of them.

    In a group of one row, the row itself would be all that is known of it, and every guess right. Values that cannot
    occur in a group, which ``supports`` says, stay out of it.
    """
    if len(groups) == 1:
        return list(groups)
    whole, found = np.sum([one.counts for one in groups], axis=0), []
    for place, one in enumerate(groups):
        lean = np.asarray(whole if supports is None else np.where(supports[place], whole, 0), dtype=np.float64)
        if one.rows < _LARGE and lean.sum() > 0:
            size = np.count_nonzero(lean)
            counts = (one.counts + size * lean / lean.sum()) * (one.rows / (one.rows + size))
            one = replace(one, counts=counts)
        found.append(one)
    return found
