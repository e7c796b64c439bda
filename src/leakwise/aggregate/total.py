"""A total of numbers, one from each record: exact while it can be written out, and bounded by fewer records beyond."""

from __future__ import annotations

import bisect
import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, reduce
from typing import Any

import numpy as np

from leakwise.aggregate.aggregate import Aggregate
from leakwise.aggregate.arguments import read_delta, read_noise, read_unknown
from leakwise.aggregate.envelope import AggregateEnvelope, of_program, result
from leakwise.aggregate.exact_mechanism import fits, refuse_long
from leakwise.aggregate.histogram import histogram
from leakwise.aggregate.side import TOO_RARE
from leakwise.charts.table import number
from leakwise.errors import InvalidInput
from leakwise.exact import clamped_noisy_law, exact_fraction, float_above, law_of_sum
from leakwise.guarantee import misleads, taken_as_exact
from leakwise.leakage import envelope as envelope_of
from leakwise.mechanism import DenseKernel, Mechanism
from leakwise.priors import Prior, as_prior
from leakwise.proof import Certificate, certify
from leakwise.types import Counts

__all__ = ["Total", "total"]

_MOST_BITS = 1 << 26  # of a mechanism that is not asked for, but measured
_COARSER = (
    "Give values on a coarser lattice, and decimals as text: a float such as 0.1 is a fraction of fifty-five binary "
    "digits. Its sample() needs no matrix."
)


@dataclass(frozen=True, repr=False, eq=False)
class Total(Aggregate):
    """A noisy total of numbers, as a mechanism on one record.

    Attributes
    ----------
    prior
        The prior of a record over the numbers that it can be.
    values
        Those numbers, exact, in the order of the prior.
    """

    prior: Prior
    values: tuple[Fraction, ...]

    kind = "total"

    @property
    def unit(self) -> Fraction:
        """The step of the lattice of the values, on which the total and its noise lie."""
        return _common_step(self.values)

    @cached_property
    def _shifts(self) -> list[int]:
        least = min(self.values)
        return [int((value - least) / self.unit) for value in self.values]

    @property
    def steps(self) -> int:
        return max(self._shifts)

    @property
    def known(self) -> str:
        return (misleads(self.prior) if self.prior.failure else taken_as_exact(self.prior)) or ""

    @property
    def prior_words(self) -> str:
        low, high = (number(float(end)) for end in (min(self.values), max(self.values)))
        return f"{len(self.values)} numbers from {low} to {high}"

    # -- written out, for so many records as can be ---------------------------------------------------------------

    def _size(self, records: int) -> tuple[int, int]:
        """How many entries the mechanism has, and of how many bits."""
        outcomes = records * self.steps + 1
        noise = self.ratio.denominator.bit_length() if self.ratio else 0
        return len(self.values) * outcomes, records * self.prior.denominator.bit_length() + outcomes * noise

    @cached_property
    def _records(self) -> int:
        """The most records, up to m, for which the mechanism is written out: fewer records never tell less."""
        too_many = bisect.bisect_left(
            range(1, self.unknown + 1), True, key=lambda m: not fits(*self._size(m), _MOST_BITS)
        )
        if not too_many:
            refuse_long(self, *self._size(1), _COARSER)
        return too_many

    def _written_out(self, records: int) -> Mechanism:
        refuse_long(self, *self._size(records), _COARSER)
        law = [0] * (self.steps + 1)
        for shift, weight in zip(self._shifts, self.prior.weights.tolist(), strict=True):
            law[shift] += weight
        others, last = law_of_sum(law, records - 1), records * self.steps
        rows, unit = clamped_noisy_law(others, self.prior.denominator ** (records - 1), self.ratio, self._shifts, last)
        first = records * min(self.values)
        labels = [_label(first + step * self.unit) for step in range(last + 1)]
        matrix = np.array(rows, dtype=np.object_)
        possible = np.flatnonzero((matrix != 0).any(axis=0)).tolist()
        kernel = DenseKernel(matrix[:, possible], unit)
        return Mechanism.from_kernel(kernel, self.prior.alphabet, [labels[place] for place in possible])

    @cached_property
    def mechanism(self) -> Mechanism:
        return self._written_out(self.unknown)

    @cached_property
    def _certified(self) -> tuple[Mechanism, Certificate]:
        mechanism = self._written_out(self._records)
        return mechanism, certify(mechanism, self.prior)

    @property
    def exact(self) -> bool:
        return self._records == self.unknown

    @property
    def largest(self) -> Fraction | None:
        return self._certified[1].ratio

    @property
    def certificate(self) -> Certificate:
        """The proof of ``lift``, for as many of the unknown records as it is written out for: more tell no more."""
        return self._certified[1]

    @property
    def tail(self) -> float:
        """The lift of an outcome far in a tail, rounded up: the largest lift is never below it, for any m."""
        refuse_long(self, *self._size(1), _COARSER)
        return float_above(self._tail())

    def _tail(self) -> Fraction:
        pairs = list(zip(self._shifts, self.prior.fractions, strict=True))
        masses = [sum(p * self.ratio ** abs(end - shift) for shift, p in pairs) for end in (0, self.steps)]
        return 1 / min(Fraction(mass) for mass in masses)

    def envelope(self, delta: object) -> AggregateEnvelope:
        """Return what the total tells about a record, except with probability delta, after any post-processing.

        By the linear program of :func:`leakwise.envelope`. For more records than are written out it is an upper bound:
        that of fewer records, or that of the histogram of all of them, which tells the total.
        """
        rare = read_delta(delta)
        mechanism, proof = self._certified
        if rare == 0:
            attained = proof.ratio if self.exact else self._tail()
            assert attained is not None
            method = "every outcome" if self.exact else f"an upper bound, from {self._records:,} unknown records"
            return result(self, rare, proof.ratio, attained, proof, method)
        if rare < TOO_RARE:  # for floats; it changes next to nothing
            return result(self, rare, proof.ratio, Fraction(1), proof, "an upper bound, that of every outcome")
        found = envelope_of(mechanism, self.prior, rare)
        if self.exact:
            return of_program(self, rare, found)
        cells = histogram(unknown=self.unknown, prior=self.prior).envelope(rare)
        if cells.epsilon < found.epsilon:
            return replace(cells, aggregate=self, attained=0.0, method="an upper bound, from the histogram")
        return of_program(self, rare, found, f"an upper bound, from {self._records:,} unknown records")

    # -- drawing and looks --------------------------------------------------------------------------------------

    @property
    def _last(self) -> int:
        return self.unknown * self.steps

    def _in_steps(self, answer: Any) -> Counts:
        true = exact_fraction(answer, "answer")
        return self._whole((true - self.unknown * min(self.values)) / self.unit, answer)

    def _from_steps(self, steps: Counts) -> Any:
        return _label(self.unknown * min(self.values) + int(steps) * self.unit)

    @property
    def sentence(self) -> str:
        few = "" if self.exact else f" Proven for {self._records:,} unknown records; {self.unknown:,} tell no more."
        return f"{super().sentence}{few}"

    def to_dict(self) -> dict[str, Any]:
        return {**super().to_dict(), "prior": {str(label): p for label, p in self._pairs()}, "tail": self.tail}

    def _pairs(self) -> list[tuple[Any, float]]:
        return list(zip(self.prior.labels, self.prior.probabilities.tolist(), strict=True))


def _label(value: Fraction) -> int | float:
    return value.numerator if value.denominator == 1 else float(value)


def _common_step(values: tuple[Fraction, ...]) -> Fraction:
    """The largest step of a lattice that holds all values."""
    least = min(values)
    scale = math.lcm(*(value.denominator for value in values))
    return Fraction(reduce(math.gcd, (int((value - least) * scale) for value in values)), scale)


def total(*, unknown: int, prior: Any, noise: object = None) -> Total:
    """Return a total of numbers, one from each of the independent records, as a mechanism on one of them.

    The total and its noise lie on the lattice of the values. A single record is only an upper bound: what it tells
    falls with the number of unknown records, down to what the tails tell.

    Parameters
    ----------
    unknown
        m, the records that the adversary does not know, with the one that it is after.
    prior
        The prior of a record over numbers: a :class:`Prior` whose labels are numbers, or a mapping from them.
    noise
        ε of two-sided geometric noise, P(Z = z) proportional to e^{-ε|z|} for z on the lattice; None is no noise. The
        lift for every prior is e^ε to the power of the range of the values.

    Examples
    --------
    >>> prior = {0: "0.45", 1: "0.1", 2: "0.45"}
    >>> for m in (1, 4, 12):
    ...     print(m, f"{total(unknown=m, prior=prior, noise=2).lift:.3f}")
    1 4.509
    4 2.120
    12 2.120
    """
    records = read_unknown(unknown)
    known = as_prior(prior)
    possible = [label for label, here in zip(known.labels, known.support, strict=True) if here]
    if len(possible) < 2:
        raise InvalidInput("prior must have at least two numbers of positive probability: one alone is no secret.")
    numbers = tuple(exact_fraction(label, "a label of prior") for label in possible)
    if len(set(numbers)) < len(numbers):
        raise InvalidInput(f"prior names a number twice. Give each number once. Got {possible!r}.")
    unit = _common_step(numbers)
    if not Fraction(1, 10**300) < unit < 10**300 or max(map(abs, numbers)) > 10**300:
        raise InvalidInput("The numbers of prior must be within 1e300, and not closer to each other than 1e-300.")
    return Total(records, *read_noise(noise, unit), _over(known, possible), numbers)


def _over(prior: Prior, labels: list[Any]) -> Prior:
    """The same prior without the values that cannot occur."""
    shares = {label: p for label, p in zip(prior.labels, prior.fractions, strict=True) if label in labels}
    if prior.sample_size is None:
        return Prior(shares)
    return Prior.from_counts({label: int(p * prior.sample_size) for label, p in shares.items()})
