"""Which mechanism every row goes through: rows of strata that share one are drawn together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from leakwise.alphabet import Label, ListedStrata, code_dtype
from leakwise.errors import InvalidInput, some_of
from leakwise.mechanism import Mechanism, StratifiedMechanism
from leakwise.types import Array, Bools, Indices

if TYPE_CHECKING:
    from leakwise.sampling import SecureStream

__all__ = ["MechanismCell", "RowMechanisms"]

# Weights of all mechanisms, one below the other, up to which they are drawn from as one.
_STACKED = 1 << 22


@dataclass(frozen=True)
class MechanismCell:
    """Strata with one mechanism and the same values that can occur; ``stratum`` is the first of them.

    The cell of rows that are in no listed stratum has none.
    """

    mechanism: Mechanism
    support: Bools
    stratum: Label | None
    listed: bool = True


class RowMechanisms:
    """The cells of a stratified mechanism, the cell of every row, and what draws for rows of all of them.

    A row and its value are drawn for by one number: the place of its cell times the number of values, plus its code.
    """

    def __init__(self, mechanism: StratifiedMechanism) -> None:
        self.mechanism = mechanism
        self._listed = ListedStrata(mechanism.given_columns, mechanism.strata)
        self.cells: list[MechanismCell] = []
        known: dict[tuple[int, tuple[Label, ...]], int] = {}
        places = []
        for key, own, impossible in mechanism.cells():
            token = (id(own), impossible)
            if token not in known:
                known[token] = len(self.cells)
                self.cells.append(MechanismCell(own, mechanism.support(key), key))
            places.append(known[token])
        if mechanism.otherwise is not None:
            every = np.ones(len(mechanism.inputs), dtype=np.bool_)
            places.append(len(self.cells))
            self.cells.append(MechanismCell(mechanism.otherwise, every, None, listed=False))
        else:
            places.append(-1)  # a row that is in no listed stratum
        self._cell = np.array(places, dtype=np.min_scalar_type(-len(self.cells)))
        self.strata = np.bincount(places[:-1], minlength=len(self.cells)).tolist()
        """How many listed strata each cell has."""
        self._possible: Bools = np.concatenate([cell.support for cell in self.cells])

    def listed(self, given: list[Array]) -> Indices:
        """Return the place of the stratum of each row among those listed, by the codes of its given columns, or -1."""
        return self._listed.find(given)

    def of(self, given: list[Array]) -> Array:
        """Return the place of the cell of each row, by the codes of its given columns; -1 where there is none."""
        # Place -1 takes the last entry, that of rows which are in no listed stratum.
        return self._cell[self.listed(given)]

    def refuse_unlisted(self, cells: Array) -> None:
        """Refuse rows for which there is no mechanism."""
        missing = int((cells < 0).sum())
        if missing:
            raise InvalidInput(
                f"{missing:,} of {cells.size:,} rows are in strata by {self.mechanism.given_columns.quoted} that were "
                "not declared when the mechanism was made. Design with every combination that can occur declared "
                "(given={'sex': ['f', 'm'], …}), or leave these rows out."
            )

    def combined(self, cells: Array, codes: Array) -> Array:
        """Return the number of each row's cell and value together, where the value can occur."""
        self.refuse_unlisted(cells)
        size = len(self.mechanism.inputs)
        rows = cells.astype(code_dtype(len(self.cells) * size + 1))
        rows *= rows.dtype.type(size)
        rows += codes.astype(rows.dtype, copy=False)
        if not self._possible.all() and (wrong := ~self._possible[rows]).any():
            place = int(np.flatnonzero(wrong)[0])
            cell = self.cells[int(cells[place])]
            where = self.mechanism.given_columns.described(cell.stratum)
            never = [label for label, can in zip(self.mechanism.inputs, cell.support, strict=True) if not can]
            raise InvalidInput(
                f"{int(wrong.sum()):,} rows have values that cannot occur in their stratum, such as where {where}: "
                f"{some_of(never)} cannot occur there by the prior. No guarantee covers them. Design from a prior that "
                "gives them a probability, or from a set (cp.confidence)."
            )
        return rows

    def sampler(self) -> Any:
        """Return what draws places among the outcomes of all strata for numbers of cells and values."""
        rows, outcomes = len(self.cells) * len(self.mechanism.inputs), len(self.mechanism.outputs)
        return _CellSampler(self) if rows * outcomes > _STACKED else self._stacked()

    def outcomes(self, cell: MechanismCell) -> Indices:
        """Return where the outcomes of a cell stand among those of all strata."""
        index = self.mechanism.output_alphabet.index
        return np.array([index[label] for label in cell.mechanism.outputs], dtype=np.intp)

    def _stacked(self) -> Any:
        from leakwise.sampling import RowSampler  # the cipher is loaded when someone draws

        kernels = [cell.mechanism.kernel for cell in self.cells]
        bits = max(1, *(kernel.bits() for kernel in kernels))
        wide = np.object_ if bits > 62 else np.int64
        size, outcomes = len(self.mechanism.inputs), len(self.mechanism.outputs)
        weights = np.zeros((len(kernels) * size, outcomes), dtype=wide)
        for place, (cell, kernel) in enumerate(zip(self.cells, kernels, strict=True)):
            own = kernel.weights.astype(wide) * (1 << (bits - kernel.bits()))
            weights[place * size : (place + 1) * size, self.outcomes(cell)] = own
        return RowSampler(weights, bits)


class _CellSampler:
    """Draws for the rows of one cell after the other, each with the sampler of its mechanism."""

    def __init__(self, rows: RowMechanisms) -> None:
        self._size = len(rows.mechanism.inputs)
        self.dtype = code_dtype(len(rows.mechanism.outputs))
        shared: dict[int, Any] = {}
        self._cells = [
            (shared.setdefault(id(cell.mechanism), cell.mechanism.sampler), rows.outcomes(cell).astype(self.dtype))
            for cell in rows.cells
        ]

    def draw(self, codes: Array, stream: SecureStream | None = None, out: Array | None = None) -> Array:
        drawn = np.empty(codes.size, self.dtype) if out is None else out
        cells, values = np.divmod(codes, codes.dtype.type(self._size))
        cells = cells.astype(code_dtype(len(self._cells)), copy=False)
        order = np.argsort(cells, kind="stable")
        ends = np.cumsum(np.bincount(cells, minlength=len(self._cells)))
        start = 0
        for place in np.flatnonzero(np.diff(ends, prepend=0)).tolist():
            sampler, outcomes = self._cells[place]
            rows = order[start : ends[place]]
            drawn[rows] = outcomes[sampler.draw(values[rows], stream)]
            start = int(ends[place])
        return drawn
