"""A histogram of records: a count for each value, each with noise of its own."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from leakwise.aggregate.aggregate import Aggregate
from leakwise.aggregate.arguments import read_delta, read_noise, read_unknown
from leakwise.aggregate.envelope import AggregateEnvelope, Piece, by_thresholds, of_program, result
from leakwise.aggregate.exact_mechanism import fits, refuse_long
from leakwise.aggregate.side import TOO_RARE, Side, attained_lift, proven_lift
from leakwise.charts.table import number
from leakwise.errors import InvalidInput
from leakwise.exact import clamped_noisy_law, float_below
from leakwise.guarantee import misleads, taken_as_exact
from leakwise.leakage import envelope as envelope_of
from leakwise.mechanism import DenseKernel, Mechanism
from leakwise.priors import Prior, PriorSet, as_prior_set
from leakwise.proof import AggregateCertificate, least_mass_prover
from leakwise.types import Counts

__all__ = ["Histogram", "histogram"]

# The linear program of an envelope stays quick up to here.
_MOST_OUTCOMES = 2_000


@dataclass(frozen=True, repr=False, eq=False)
class Histogram(Aggregate):
    """A noisy count for each value, as a mechanism on one record.

    Attributes
    ----------
    prior
        The prior of a record, or the set that it is in.
    """

    prior: PriorSet

    kind: ClassVar[str] = "histogram"

    @property
    def steps(self) -> int:
        return 2  # a changed record leaves one cell and enters another

    @property
    def known(self) -> str:
        return (misleads(self.prior) if self.prior.failure else taken_as_exact(self.prior)) or ""

    @property
    def prior_words(self) -> str:
        known = f"{len(self.prior.labels)} values"
        return f"{known}, the rarest with probability {number(float(min(self._least)))}"

    @cached_property
    def _least(self) -> Piece:
        """The least probability of each value."""
        prove, size = least_mass_prover(self.prior), len(self.prior.labels)
        return tuple(prove([int(i == j) for j in range(size)]) for i in range(size))

    @property
    def _single(self) -> bool:
        return isinstance(self.prior, Prior)

    @property
    def largest(self) -> Fraction | None:
        """The largest lift, 1/(π + (1-π)α²) for the rarest value: all its records here, none in the other cells."""
        chances = [chance for chance in self._least if chance or not self._single]
        if self._single and len(chances) == 1:
            return Fraction(1)
        bottom = min(chances) + (1 - min(chances)) * self.ratio**2
        return 1 / bottom if bottom else None

    @property
    def certificate(self) -> AggregateCertificate | None:
        if self.largest is None:
            return None
        nothing = tuple((Fraction(0), 0) for _ in self._least)
        return AggregateCertificate(
            self.kind, self.unknown, self.ratio, (self._least,), (nothing,), self.largest, Fraction(0)
        ).verify()

    def envelope(self, delta: object) -> AggregateEnvelope:
        """Return what the histogram tells about a record, except with probability delta, after any post-processing.

        Exact by a linear program while the outcomes can be written out. Beyond, it is bounded by the histogram without
        noise, where a threshold on its own cell is the best event for each value, and from below by one noisy cell.
        """
        rare = read_delta(delta)
        if rare == 0:
            least = self.largest or Fraction(1)
            return result(self, rare, self.largest, least, self.certificate, "the tail, in closed form")
        if self._single and rare >= TOO_RARE and self._outcomes <= _MOST_OUTCOMES and fits(*self._size):
            found = envelope_of(self.mechanism, self.prior, rare)
            return of_program(self, rare, found)
        lift, proof, _ = by_thresholds(self, [self._least], rare, Fraction(0))
        reached = max(self._cell(chance, rare) for chance in self._least if chance) if self._single else Fraction(1)
        return result(self, rare, lift, reached, proof, "thresholds on the cells")

    def _cell(self, chance: Fraction, delta: Fraction) -> Fraction:
        """A lift that a threshold on one noisy cell reaches."""
        side = Side(self.unknown, chance, self.ratio, self.ratio)
        return attained_lift(proven_lift([side], delta)[1], delta)

    # -- written out --------------------------------------------------------------------------------------------

    @property
    def _outcomes(self) -> int:
        cells = len(self.prior.labels)
        return (self.unknown + 1) ** cells if self.ratio else math.comb(self.unknown + cells - 1, cells - 1)

    @property
    def _size(self) -> tuple[int, int]:
        """How many entries the mechanism has, and of how many bits."""
        noise = self.ratio.denominator.bit_length() * len(self.prior.labels)
        return self._outcomes * len(self.prior.labels), self.unknown * (
            self.prior.nominal.denominator.bit_length() + noise
        )

    @cached_property
    def mechanism(self) -> Mechanism:
        """The mechanism on one record in exact integers: an outcome is the tuple of the cells, each from 0 to m."""
        if not isinstance(self.prior, Prior):
            raise InvalidInput("mechanism needs one prior: what the other records add depends on it.")
        refuse_long(self, *self._size)
        weights, cells = [int(weight) for weight in self.prior.weights], len(self.prior.labels)
        truths = list(_counts(self.unknown, cells))
        matrix = np.array(
            [[_others(truth, cell, weights) for truth in truths] for cell in range(cells)], dtype=np.object_
        )
        labels, unit = truths, 1
        if self.ratio:  # without noise there are far fewer outcomes than cells of a table
            side = self.unknown + 1
            kernel, unit = clamped_noisy_law([1], 1, self.ratio, list(range(side)), self.unknown)
            noise = np.array(kernel, dtype=np.object_)
            tables = np.zeros([cells, *[side] * cells], dtype=np.object_)
            tables[(slice(None), *np.array(truths).T)] = matrix
            for _ in range(cells):
                tables = np.tensordot(tables, noise, axes=([1], [0]))  # the axes go round once
            matrix, labels = tables.reshape(cells, -1), list(np.ndindex(*[side] * cells))
        possible = np.flatnonzero((matrix != 0).any(axis=0))
        return Mechanism.from_kernel(
            DenseKernel(matrix[:, possible], self.prior.denominator ** (self.unknown - 1) * unit**cells),
            self.prior.alphabet,
            [labels[place] for place in possible.tolist()],
        )

    def sample(self, answer: Any, **options: Any) -> Any:
        """Draw the release of true counts, in the order of the prior's values or by their names: as they were given.

        See :meth:`Aggregate.sample` for the options.
        """
        if not isinstance(answer, Mapping):
            return super().sample(answer, **options)
        labels = self.prior.labels
        if set(answer) != set(labels):
            raise InvalidInput(f"answer must have a count for each of {list(labels)!r}, and no other. Got {answer!r}.")
        return dict(zip(labels, super().sample([answer[label] for label in labels], **options), strict=True))

    def _in_steps(self, answer: Any) -> Counts:
        cells = answer.tolist() if isinstance(answer, np.ndarray) else answer
        whole = isinstance(cells, (list, tuple)) and all(
            isinstance(cell, (int, np.integer)) and not isinstance(cell, bool) and cell >= 0 for cell in cells
        )
        # In Python's integers, which do not wrap around.
        if not whole or len(cells) != len(self.prior.labels) or sum(map(int, cells)) != self.unknown:
            raise InvalidInput(
                f"answer must be {len(self.prior.labels)} whole numbers, of {list(self.prior.labels)!r} in this order, "
                f"that sum to the {self.unknown:,} records (records= says how many). Got {answer!r} instead."
            )
        return np.array(cells, dtype=np.int64)

    def _from_steps(self, steps: Counts) -> Any:
        return steps.tolist()

    def to_dict(self) -> dict[str, Any]:
        least = {str(label): float_below(chance) for label, chance in zip(self.prior.labels, self._least, strict=True)}
        return {**super().to_dict(), "prior": least}


def _counts(records: int, cells: int) -> Iterator[tuple[int, ...]]:
    """Every way to put so many records into the cells, in order."""
    for bars in itertools.combinations(range(records + cells - 1), cells - 1):
        ends = (-1, *bars, records + cells - 1)
        yield tuple(right - left - 1 for left, right in itertools.pairwise(ends))


def _others(counts: tuple[int, ...], cell: int, weights: list[int]) -> int:
    """The weight of these counts for a record in the cell: that of the other, independent records being the rest."""
    if not counts[cell]:
        return 0
    rest = [count - (place == cell) for place, count in enumerate(counts)]
    ways: int = math.factorial(sum(rest)) // math.prod(map(math.factorial, rest))
    chance: int = math.prod(weight**count for weight, count in zip(weights, rest, strict=True))
    return ways * chance


def histogram(*, unknown: int, prior: Any, noise: object = None) -> Histogram:
    """Return a histogram of independent records, as a mechanism on one of them.

    Each cell has noise of its own. A changed record moves two cells by one, so that the lift for every prior is e^{2ε},
    and the largest lift is e^{2ε}/(1-π+πe^{2ε}) with π the probability of the rarest value, for every m.

    Parameters
    ----------
    unknown
        m, the records that the adversary does not know, with the one that it is after.
    prior
        The prior of a record: a :class:`Prior`, what one is made of, or a set of priors.
    noise
        ε of the two-sided geometric noise on each cell; None is no noise.

    Examples
    --------
    >>> h = histogram(unknown=10_000, prior={"a": 0.5, "b": 0.3, "c": 0.2})
    >>> print(f"{h.lift:.0f} {h.envelope(1e-6).lift:.3f}")
    5 1.100
    """
    records = read_unknown(unknown)
    known = as_prior_set(prior)
    if len(known.labels) < 2:
        raise InvalidInput("prior must have at least two values: a record with one value is no secret.")
    return Histogram(records, *read_noise(noise), known)
