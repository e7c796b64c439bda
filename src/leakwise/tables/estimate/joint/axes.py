"""The released columns of a joint table, one axis each, and what the mechanism of a row says about its value."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from leakwise.alphabet import Alphabet, edges_of
from leakwise.errors import InvalidInput, some_of
from leakwise.mechanism import Mechanism, StratifiedMechanism
from leakwise.tables.estimate.intervals import LinearEstimates
from leakwise.tables.estimate.inversion import most_likely
from leakwise.tables.kinds.joint_columns import encode_columns, plain_alphabet
from leakwise.tables.strata.given_codes import GivenCodes
from leakwise.tables.strata.mechanisms import RowMechanisms
from leakwise.tables.strata.release import warn_of_strange
from leakwise.types import Array, Bools, Floats

__all__ = ["Axis", "Lens", "along"]

# Beyond it a matrix of one column is not made; columns of a joint table have few values.
_MOST_VALUES = 5000


def along(table: Floats, matrices: Sequence[Floats]) -> Floats:
    """Return a table with each of its last axes multiplied by a matrix: the product of them all is never made.

    >>> along(np.eye(2), [np.array([[1.0, 2.0], [3.0, 4.0]]), np.eye(2)]).tolist()
    [[1.0, 3.0], [2.0, 4.0]]
    """
    first = table.ndim - len(matrices)
    for place, matrix in enumerate(matrices, first):
        # The axis that is contracted goes to the end, where the product is one call, and its image comes last.
        table = np.moveaxis(np.moveaxis(table, place, -1) @ matrix, -1, place)
    return np.ascontiguousarray(table)


@dataclass(frozen=True)
class Lens:
    """One mechanism of an axis: what rows that went through it show.

    Attributes
    ----------
    laws
        N×M, the distribution of the outcomes for every value, over the outcomes of all mechanisms of the axis.
    support
        Which values such rows can have.
    """

    laws: Floats
    support: Bools

    def inverse(self, counts: Floats) -> tuple[Floats, Bools]:
        """Return M×N weights b with P b = 1, of least variance at the counts, and which values they identify.

        For values that the outcomes do not tell apart b is the least-squares answer: sums of them may still be known.
        """
        laws = self.laws[self.support]
        possible = np.asarray((laws > 0).any(axis=0))
        inner = laws[:, possible]
        seen = counts[possible]
        n = max(int(seen.sum()), 1)
        square = inner.shape[0] == inner.shape[1]
        if square or not seen.any():
            law = inner.mean(axis=0)
        else:
            distinct = np.unique(inner, axis=0)
            law = most_likely(distinct, seen, n)[0] @ distinct
        linear = LinearEstimates.of(inner, law, n)
        b = linear.b
        if not linear.identified.all():
            weight = np.maximum(law, 1e-3 / n)
            half = inner / np.sqrt(weight)
            b = np.linalg.pinv(half, rcond=1e-12) / np.sqrt(weight)[:, None]
        out = np.zeros((self.laws.shape[1], self.laws.shape[0]))
        out[np.ix_(possible, self.support)] = b
        identified = np.ones(self.laws.shape[0], dtype=np.bool_)  # what cannot occur has the frequency zero
        identified[self.support] = linear.identified
        return out, identified


@dataclass(frozen=True)
class Axis:
    """One released column, or several that were released together, with its mechanism."""

    names: tuple[Hashable, ...]
    mechanism: Mechanism | StratifiedMechanism

    def __post_init__(self) -> None:
        count = max(len(self.mechanism.inputs), len(self.mechanism.outputs))
        if count > _MOST_VALUES:
            raise InvalidInput(
                f"{self.title!r} has {count:,} values or outcomes; a column of a joint table may have {_MOST_VALUES:,}."
                " Estimate its frequencies alone: lw.estimate(released, mechanism, column)."
            )

    @property
    def title(self) -> Hashable:
        """What the axis is called: the column, or the tuple of columns."""
        return self.names[0] if len(self.names) == 1 else self.names

    @property
    def values(self) -> Alphabet:
        """The true values."""
        return plain_alphabet(self.mechanism.input_alphabet)

    @property
    def edges(self) -> list[float | str] | None:
        """The edges of the bins, where the values are bins; infinite ones and dates are texts."""
        return edges_of(self.mechanism.input_alphabet)

    @property
    def outcomes(self) -> Alphabet:
        """What was released."""
        return plain_alphabet(self.mechanism.output_alphabet)

    @property
    def given(self) -> tuple[Hashable, ...]:
        """The columns that say which mechanism a row went through."""
        return self.mechanism.given if isinstance(self.mechanism, StratifiedMechanism) else ()

    def refuse_impossible(self, lens: Lens, counts: Array) -> None:
        """Refuse outcomes that the mechanism of these rows never gives."""
        never = np.flatnonzero((counts > 0) & ~(lens.laws[lens.support] > 0).any(axis=0))
        if never.size:
            raise InvalidInput(
                f"column {self.title!r} has {int(counts[never].sum()):,} rows with outcomes that its mechanism never "
                f"gives: {some_of([self.outcomes.labels[one] for one in never])}. It was released by another one."
            )

    def lenses(self) -> tuple[list[Lens], RowMechanisms | None]:
        """Return the mechanisms of the axis, and what says which of them a row went through (None: there is one)."""
        if isinstance(self.mechanism, Mechanism):
            every = np.ones(len(self.values), dtype=np.bool_)
            return [Lens(np.asarray(self.mechanism.matrix), every)], None
        rows = RowMechanisms(self.mechanism)
        lenses: list[Lens] = []
        for cell in rows.cells:
            laws = np.zeros((len(self.values), len(self.mechanism.outputs)))
            laws[:, rows.outcomes(cell)] = cell.mechanism.matrix
            lenses.append(Lens(laws, cell.support))
        return lenses, rows

    def codes(self, columns: Sequence[Any], encode: Callable[..., Any]) -> Array:
        """Return the outcome of every row."""
        codes: Array = encode_columns(columns, self.names, self.outcomes, "outputs", encode=encode)
        return codes

    def which(self, columns: Sequence[Any], encode: Callable[..., Any], rows: RowMechanisms | None) -> Array | None:
        """Return the lens of every row; None where all rows have the same."""
        if rows is None:
            return None
        given = GivenCodes(rows.mechanism.given_columns, {}, strict=rows.mechanism.otherwise is None, released=True)
        read = given.read(dict(zip(rows.mechanism.given, columns, strict=True)), {}, encode)
        strange = [name for name, own in zip(self.given, read, strict=True) if own.size and not (own >= 0).any()]
        if strange and len(rows.mechanism):
            warn_of_strange(strange, rows.mechanism)
        found = rows.of(read)
        if (found < 0).any():
            raise InvalidInput(
                f"released has {int((found < 0).sum()):,} rows in strata that the mechanism of {self.title!r} does not "
                "know. It was released by another one."
            )
        return found
