"""A histogram of records: a count for each value, each with noise of its own."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from leakwise.aggregate.aggregate import Aggregate
from leakwise.aggregate.arguments import read_delta, read_noise, read_unknown
from leakwise.aggregate.envelope import AggregateEnvelope, Piece, by_thresholds, of_program, result
from leakwise.aggregate.exact_mechanism import fits, refuse_long
from leakwise.aggregate.side import Side, attained_lift, proven_lift
from leakwise.charts.table import number
from leakwise.errors import InvalidInput
from leakwise.exact import clamped_noisy_law, float_below
from leakwise.guarantee import misleads, taken_as_exact
from leakwise.leakage import envelope as envelope_of
from leakwise.mechanism import DenseKernel, Mechanism
from leakwise.priors import Prior, PriorSet, as_prior_set
from leakwise.proof import AggregateCertificate, least_mass_prover
from leakwise.types import Array, Counts

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
        if self._single and self._outcomes <= _MOST_OUTCOMES and fits(*self._size):
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
        side = self.unknown + 1
        others = _multinomial(weights, self.unknown - 1, side)
        kernel, unit = clamped_noisy_law([1], 1, self.ratio, list(range(side)), self.unknown)
        noise = np.array(kernel, dtype=np.object_)
        rows = []
        for cell in range(cells):
            table = np.roll(others, 1, axis=cell)  # one record more in its cell; none is at the far end
            for _ in range(cells):
                table = np.tensordot(table, noise, axes=([0], [0]))  # the axes go round once
            rows.append(table.ravel())
        matrix = np.array(rows, dtype=np.object_)
        labels = list(np.ndindex(*[side] * cells))
        possible = np.flatnonzero((matrix != 0).any(axis=0))
        return Mechanism.from_kernel(
            DenseKernel(matrix[:, possible], self.prior.denominator ** (self.unknown - 1) * unit**cells),
            self.prior.alphabet,
            [labels[place] for place in possible.tolist()],
        )

    def _in_steps(self, answer: Any) -> Counts:
        cells: Counts = np.asarray(answer)
        whole = cells.dtype.kind in "iu" and cells.shape == (len(self.prior.labels),)
        if not whole or cells.min() < 0 or int(cells.sum()) != self.unknown:
            raise InvalidInput(
                f"answer must be {len(self.prior.labels)} whole numbers that sum to the {self.unknown:,} records "
                f"(records= says how many). Got {answer!r} instead."
            )
        return cells.astype(np.int64)

    def _from_steps(self, steps: Counts) -> Any:
        return steps.tolist()

    def to_dict(self) -> dict[str, Any]:
        least = {str(label): float_below(chance) for label, chance in zip(self.prior.labels, self._least, strict=True)}
        return {**super().to_dict(), "prior": least}


def _multinomial(weights: list[int], records: int, side: int) -> Array:
    """The counts of independent records, as integers over the sum of the weights to the power of the records."""
    table = np.zeros([side] * len(weights), dtype=np.object_)
    table[(0,) * len(weights)] = 1
    for _ in range(records):
        table = sum(weight * np.roll(table, 1, axis=cell) for cell, weight in enumerate(weights))
    return table


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
