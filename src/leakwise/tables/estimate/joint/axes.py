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
    def edges(self) -> list[float] | None:
        """The edges of the bins, where the values are bins of numbers."""
        return edges_of(self.mechanism.input_alphabet)

    @property
    def outcomes(self) -> Alphabet:
        """What was released."""
        return plain_alphabet(self.mechanism.output_alphabet)

    @property
    def given(self) -> tuple[Hashable, ...]:
        """The columns that say which mechanism a row went through."""
        return self.mechanism.given if isinstance(self.mechanism, StratifiedMechanism) else ()

    def lenses(self) -> tuple[list[Lens], dict[Any, int]]:
        """Return the different mechanisms of the axis, and which of them each stratum has (None: all rows)."""
        if isinstance(self.mechanism, Mechanism):
            every = np.ones(len(self.values), dtype=np.bool_)
            return [Lens(np.asarray(self.mechanism.matrix), every)], {None: 0}
        lenses: list[Lens] = []
        known: dict[tuple[int, bytes], int] = {}
        places: dict[Any, int] = {}
        index = self.mechanism.output_alphabet.index
        for stratum in self.mechanism.given_columns.all() if self.mechanism.otherwise else self.mechanism.strata:
            own, support = self.mechanism[stratum], self.mechanism.support(stratum)
            token = (id(own), support.tobytes())
            if token not in known:
                known[token] = len(lenses)
                laws = np.zeros((len(self.values), len(index)))
                laws[:, [index[label] for label in own.outputs]] = own.matrix
                lenses.append(Lens(laws, support))
            places[stratum] = known[token]
        return lenses, places

    def codes(self, columns: Sequence[Any], encode: Callable[..., Any]) -> Array:
        """Return the outcome of every row."""
        codes: Array = encode_columns(columns, self.names, self.outcomes, "outputs", encode=encode)
        return codes

    def which(self, columns: Sequence[Any], encode: Callable[..., Any], places: dict[Any, int]) -> Array | None:
        """Return the lens of every row; None where all rows have the same."""
        if not isinstance(self.mechanism, StratifiedMechanism):
            return None
        given = self.mechanism.given_columns
        numbers, rows = np.unique(given.encode(columns, encode), return_inverse=True)
        strata = [given.numbered(number) for number in numbers]
        if unknown := [stratum for stratum in strata if stratum not in places]:
            raise InvalidInput(
                f"released has strata that the mechanism of {self.title!r} does not know: "
                f"{some_of(map(given.described, unknown), 3)}. It was released by another one."
            )
        found: Array = np.array([places[stratum] for stratum in strata])[rows.reshape(-1)]
        return found
