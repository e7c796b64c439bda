"""Whether a release can be read: outcomes that make a value certain, and a best guess that is nearly always right."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from leakwise.leakage.measures.posteriors import best_guesses
from leakwise.mechanism import Mechanism
from leakwise.mechanism.mechanism import align_prior
from leakwise.priors import Prior, PriorSet

__all__ = ["Certainty", "certainty", "has_cover"]

# An outcome makes a value certain that leaves no more than this of the doubt there was: less is rounding, no cover.
_DOUBT = Fraction(1, 1_000_000)
# A best guess that was right less often than the first, and is right more often than the second, reads the column.
_BEFORE, _AFTER = Fraction(19, 20), Fraction(99, 100)


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
        What the adversary knows: the prior; of a set of priors the one in the middle, or where that one rules out a
        value of the set the uniform one; without a prior the uniform one.
    """

    certain: dict[int, tuple[int, ...]]
    read: tuple[Fraction, ...]
    before: Fraction
    after: Fraction
    law: Prior

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

    A value is certain whose posterior is 1 where its prior was below 1, or leaves a millionth of the doubt at most.
    That an outcome can come from one value only does not depend on the prior, so that it is told for a set of priors,
    or without one, as well.

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
    law = _law(mechanism, None if priors is None else align_prior(priors, mechanism))
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


def has_cover(mechanism: Mechanism) -> bool:
    """Return whether no outcome can make a value certain, whatever the prior: all values cause it nearly as often.

    Where rows of a column differ by a factor of at most a, at least 1/a of the doubt is left.
    """
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
