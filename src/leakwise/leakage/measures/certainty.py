"""Whether a release can be read: outcomes that make a value certain, and a best guess that is nearly always right."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from leakwise.leakage.measures.arguments import wide
from leakwise.leakage.measures.posteriors import best_guesses
from leakwise.leakage.sets_of_values import is_of_sets, sets_ldp_ratio
from leakwise.mechanism import CommonLawKernel, Mechanism
from leakwise.mechanism.mechanism import align_prior
from leakwise.priors import Prior, PriorSet

__all__ = ["Certainty", "certainty", "has_cover"]

# An outcome makes a value certain that leaves no more than this of the doubt there was: less is rounding, no cover.
_DOUBT = Fraction(1, 1_000_000)
# A best guess that was right less often than the first, and is right more often than the second, reads the column.
_BEFORE, _AFTER = Fraction(19, 20), Fraction(99, 100)
_CLOSE = 1e-6  # where floats decide no more
_MOST = 200  # values for which the prior of least error is looked for
_UNIT = 1 << 60


@dataclass(frozen=True)
class Certainty:
    """What an adversary who knows the law can read from a release.

    Attributes
    ----------
    certain
        For the place of each value that becomes certain, the places of the outcomes that make it so.
    read
        For each value, the probability that its row gets such an outcome.
    before, after
        How often the best guess is right without the release and with it.
    law
        What the adversary knows: the prior; of a set of priors the one in the middle (or the one that makes the best
        guess right most often, where it is that one who reads the column), or where that one rules out a value of the
        set the uniform one; without a prior the uniform one.
    of_some
        Whether it takes another prior of the set than that in the middle to make one of the values certain.
    """

    certain: dict[int, tuple[int, ...]]
    read: tuple[Fraction, ...]
    before: Fraction
    after: Fraction
    law: Prior
    of_some: bool = False

    @property
    def guessed(self) -> bool:
        """Whether the best guess is right for more than 99% of the rows, and was not for 95% before."""
        return self.before < _BEFORE and self.after > _AFTER

    @property
    def readable(self) -> bool:
        """Whether the release can be read in either way."""
        return bool(self.certain) or self.guessed

    @property
    def share(self) -> Fraction:
        """The share of rows that can be read for certain, as the law expects it."""
        return sum((mass * part for mass, part in zip(self.law.fractions, self.read, strict=True)), Fraction(0))


def certainty(mechanism: Mechanism, priors: PriorSet | None = None) -> Certainty:
    """Return which outcomes make which value certain, and how often the best guess is right, on exact integers.

    A value is certain whose posterior is 1 where its prior was below 1, or leaves a millionth of the doubt at most. Of
    a set of priors any one may say so, which the set answers by least masses, on the safe side. That an outcome can
    come from one value only does not depend on the prior, so that it is told without one as well.

    Parameters
    ----------
    mechanism
        What the rows are drawn from.
    priors
        The prior, or the set of priors; None where none is known.

    Examples
    --------
    >>> from leakwise import identity, randomized_response
    >>> found = certainty(identity(["no", "yes"]), Prior([0.75, 0.25]))
    >>> found.certain, found.share, found.before, found.after
    ({0: (0,), 1: (1,)}, Fraction(1, 1), Fraction(3, 4), Fraction(1, 1))
    >>> certainty(randomized_response(2, lift=3)).readable
    False
    """
    known = None if priors is None else align_prior(priors, mechanism)
    found = _known(mechanism, _law(mechanism, known))
    return found if known is None or known is known.nominal else _of_some(mechanism, known, found)


def _known(mechanism: Mechanism, law: Prior) -> Certainty:
    """What someone can read who knows this prior."""
    kernel, total = mechanism.kernel, law.denominator
    masses = law.weights.tolist()
    places, tops = best_guesses(mechanism, law)
    found: dict[int, list[int]] = {}
    read = [0] * len(masses)
    for outcome, (place, top, mass) in enumerate(zip(places, tops, kernel.output_law(law.weights), strict=True)):
        doubt = total - masses[place]
        if not mass or not doubt or (mass - top) * total * _DOUBT.denominator > mass * doubt * _DOUBT.numerator:
            continue
        found.setdefault(place, []).append(outcome)
        read[place] += top // masses[place]  # the weight of the outcome in the row of the value
    return Certainty(
        {place: tuple(outcomes) for place, outcomes in sorted(found.items())},
        tuple(Fraction(weight, kernel.denominator) for weight in read),
        Fraction(max(masses), total),
        Fraction(sum(tops), total * kernel.denominator),
        law,
    )


def _of_some(mechanism: Mechanism, priors: PriorSet, found: Certainty) -> Certainty:
    """What someone can read whose prior is any one of the set."""
    pairs = {(place, outcome) for place, several in found.certain.items() for outcome in several}
    kernel = mechanism.kernel
    structured = isinstance(kernel, CommonLawKernel)
    more = set(_own(kernel) if isinstance(kernel, CommonLawKernel) else _pairs(mechanism, priors))
    certain, read = dict[int, list[int]](), [Fraction(0)] * len(found.read)
    for place, outcome in sorted(pairs | more):
        certain.setdefault(place, []).append(outcome)
        read[place] += Fraction(int(kernel.row(place)[outcome]), kernel.denominator)
    told = {place: tuple(outcomes) for place, outcomes in certain.items()}
    found = replace(found, certain=told, read=tuple(read), of_some=not more <= pairs)
    if found.guessed or len(read) > _MOST or structured or not priors.convex:
        return found
    # The error of one way to guess is linear in the prior: the way of the prior in the middle, where it errs least.
    places, _ = best_guesses(mechanism, found.law)
    missed = np.where(np.arange(len(read))[:, None] == np.array(places), 0.0, mechanism.matrix).sum(axis=1)
    masses = [int(mass * _UNIT) for mass in priors.worst_member(missed).tolist()]
    there = _known(mechanism, Prior.from_integers(found.law.alphabet, masses))
    return replace(found, before=there.before, after=there.after, law=there.law) if there.guessed else found


def _own(kernel: CommonLawKernel) -> Iterator[tuple[int, int]]:
    """Outcomes that leave next to nothing of the doubt about their own value, whatever the prior of the others."""
    for outcome, common in enumerate(kernel.common.tolist()):
        if common * _DOUBT.denominator <= (common + kernel.diagonal) * _DOUBT.numerator:
            yield outcome, outcome


def _pairs(mechanism: Mechanism, priors: PriorSet) -> Iterator[tuple[int, int]]:
    """The values and outcomes for which some prior of the set leaves next to nothing of the doubt there was."""
    everyone = np.flatnonzero(priors.support)
    each = priors.least_mass(np.eye(len(priors.support)))  # what every prior gives a value at least
    for outcome, column in enumerate(wide(mechanism.weights).T.tolist()):
        here = [column[place] for place in everyone.tolist()]
        if min(here) * _DOUBT.denominator >= max(here):
            continue  # every value is cover enough
        shares = np.array(column, dtype=np.float64) / max(here)
        covered = (shares @ each - shares * each) * (_DOUBT.denominator - 1) > shares * (1 + _CLOSE)
        support = everyone[~covered[everyone]].tolist()
        if not support:
            continue  # others who cause it are never rare enough
        most = max(column) - priors.exact_least_mass([max(column) - value for value in column])
        asked = [_questions(column, place, math.ceil(most)) for place in support]
        # Floats are never above the truth, so that most are ruled out by them.
        close = np.ones(len(support), dtype=bool)
        for kind in range(2):
            floats = np.array([one[kind][0] for one in asked], dtype=np.float64).T / max(here) / _DOUBT.denominator
            ends = np.array([one[kind][1] for one in asked], dtype=np.float64) / max(here) / _DOUBT.denominator
            close &= priors.least_mass(floats) < ends * (1 + _CLOSE)
        for place, questions in itertools.compress(zip(support, asked, strict=True), close.tolist()):
            if all(priors.exact_least_mass(entries) < end for entries, end in questions):
                yield place, outcome


def _questions(column: list[int], place: int, most: int) -> list[tuple[list[int], int]]:
    """Columns v and numbers c: a prior with Q·v < c for both is nearly sure of the value after the outcome, and was not
    before.

    Σ_{k≠i} Q_k p_kj < δ/(1-δ) Q_i p_ij says the first, and Σ_{k≠i} Q_k p_kj < δ m_j (1 - Q_i) with m_j ≥ Q·p_j the
    second: one over the other is what is left of the doubt.
    """
    units, own = _DOUBT.denominator, column[place]
    after = [value * (units - 1) + own for value in column]
    before = [value * units for value in column]
    after[place], before[place] = 0, most
    return [(after, own), (before, most)]


def has_cover(mechanism: Mechanism) -> bool:
    """Return whether no outcome can make a value certain, whatever the prior: all values cause it nearly as often.

    Where rows of a column differ by a factor of at most a, at least 1/a of the doubt is left.
    """
    if is_of_sets(mechanism):
        ratio = sets_ldp_ratio(mechanism)
        return ratio is not None and ratio < _DOUBT.denominator
    kernel = mechanism.kernel
    return bool((kernel.column_max() // _DOUBT.denominator < kernel.column_min()).all())


def _law(mechanism: Mechanism, priors: PriorSet | None) -> Prior:
    """The law that stands for what is known."""
    if priors is None:
        return Prior.uniform(mechanism.input_alphabet)
    nominal = priors.nominal
    if np.array_equal(nominal.support, priors.support):
        return nominal
    possible = priors.support.astype(np.int64)
    return Prior.from_integers(nominal.alphabet, possible.tolist())
