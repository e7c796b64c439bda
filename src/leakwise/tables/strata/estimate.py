"""Estimates from a table that was released by strata: over all rows, and by columns that went out as they are."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from leakwise.alphabet import edges_of
from leakwise.errors import InvalidInput, LeakwiseWarning, some_of
from leakwise.mechanism import StratifiedMechanism
from leakwise.tables.estimate.fit import fits
from leakwise.tables.estimate.inversion import invert
from leakwise.tables.estimate.result import Estimate, GroupedEstimate
from leakwise.tables.kinds import frames
from leakwise.tables.kinds.joint_columns import encode_columns, plain_alphabet
from leakwise.tables.kinds.plain import in_order
from leakwise.tables.release.secret_columns import secret_columns
from leakwise.tables.strata.given_codes import GivenCodes
from leakwise.tables.strata.mechanisms import RowMechanisms
from leakwise.tables.strata.pooling import Cell, fitted_law, pooled
from leakwise.tables.strata.release import warn_of_strange
from leakwise.tables.strata.rows import ReadTable, read_table
from leakwise.types import Array, Counts

__all__ = ["estimate_by_stratum"]

Counted = dict[Any, dict[int, Counts]]
"""For each group, and each cell of the mechanism in it, how often each outcome came."""


def estimate_by_stratum(
    released: Any, mechanism: StratifiedMechanism, column: Hashable, by: Any, confidence: float, simultaneous: bool
) -> tuple[Estimate | GroupedEstimate, Counts]:
    """Return the frequencies behind a column that was released by strata, pooled by the known sizes of the strata.

    ``by`` may be any column that was not randomized, or a list of them: strata are cut by it. Also given back is how
    often each outcome came.
    """
    table = read_table(released, "released")
    names = secret_columns(table.names, mechanism.secret if column is None else column)
    frames.check_names(table.names, mechanism.given, table.where)
    if both := [name for name in mechanism.given if name in names]:
        raise InvalidInput(f"The secret must not be a given column: {some_of(both)} is both.")
    groups = [] if by is None else _groups(table, by, names)
    rows = RowMechanisms(mechanism)
    counted = _counted(table, names, rows, groups)
    if not counted:
        raise InvalidInput(f"{table.where} has no rows: there is nothing to estimate from.")
    total: Counts = np.sum([row for cells in counted.values() for row in cells.values()], axis=0)
    share = 1 - (1 - confidence) / len(counted) if simultaneous and by is not None else confidence
    estimates = _estimates(counted, rows, share, simultaneous)
    if by is None:
        return estimates[()], total
    keys = in_order(estimates)
    alone = len(groups) == 1
    found = {key[0] if alone else key: estimates[key] for key in keys}
    return GroupedEstimate(groups[0] if alone else tuple(groups), found, confidence, simultaneous), total


def _groups(table: ReadTable, by: Any, released: Sequence[Hashable]) -> list[Hashable]:
    """The columns whose combinations are the groups."""
    columns = list(by) if isinstance(by, (list, tuple)) and by not in table.names else [by]
    frames.check_names(table.names, columns, table.where)
    if both := [name for name in columns if name in released]:
        raise InvalidInput(
            f"by={by!r} is a released column itself: {some_of(both)}. Its groups are those of outcomes, not of true "
            "values, and estimates within them would be biased. Group by a column that was not randomized."
        )
    return columns


def _counted(table: ReadTable, names: Sequence[Hashable], rows: RowMechanisms, groups: Sequence[Hashable]) -> Counted:
    outcomes = plain_alphabet(rows.mechanism.output_alphabet)
    given = GivenCodes(rows.mechanism.given_columns, {}, strict=rows.mechanism.otherwise is None, released=True)
    needed = list(dict.fromkeys([*names, *rows.mechanism.given, *groups]))
    found: Counted = {}
    strange = list(rows.mechanism.given)  # columns without any value that was declared
    for batch in table.batches(needed):
        columns = [batch[name] for name in names]
        codes = encode_columns(columns, names, outcomes, "outputs", encode=table.encode)
        if not codes.size:
            continue
        read = given.read(batch, {}, table.encode)
        met = [name for name, own in zip(rows.mechanism.given, read, strict=True) if (own >= 0).any()]
        strange = [name for name in strange if name not in met]
        cells = rows.of(read)
        if cells.size != codes.size:
            raise InvalidInput(f"The given columns have {cells.size} rows and the released one has {codes.size}.")
        rows.refuse_unlisted(cells)
        keys, places = _keys(table, batch, groups, codes.size)
        numbers = places * len(rows.cells) + cells
        _count(found, keys, numbers, len(rows.cells), codes, len(outcomes), table.times)
    if found and strange and len(rows.mechanism):
        warn_of_strange(strange, rows.mechanism)
    return found


def _keys(table: ReadTable, batch: Mapping[Any, Any], groups: Sequence[Hashable], size: int) -> tuple[list[Any], Array]:
    """The groups of a batch, and the place of every row among them."""
    keys: list[Any] = [()]
    places: Array = np.zeros(size, dtype=np.int64)
    for name in groups:
        values, own = table.distinct(batch[name])
        if own.size != size:
            raise InvalidInput(f"column {name!r} has {own.size} rows and the released one has {size}.")
        present, places = np.unique(places * len(values) + own, return_inverse=True)
        pairs = (divmod(number, len(values)) for number in present.tolist())
        keys = [(*keys[before], values[place]) for before, place in pairs]
    return keys, places.reshape(-1)


def _count(
    found: Counted, keys: Sequence[Any], numbers: Array, cells: int, codes: Array, size: int, times: Counts | None
) -> None:
    present, places = np.unique(numbers, return_inverse=True)
    flat = np.bincount(places.reshape(-1) * size + codes, weights=times, minlength=present.size * size)
    counts = flat.astype(np.int64).reshape(-1, size)
    for number, row in zip(present.tolist(), counts, strict=True):
        group, cell = divmod(number, cells)
        own = found.setdefault(keys[group], {})
        own[cell] = own[cell] + row if cell in own else row


def _estimates(counted: Counted, rows: RowMechanisms, confidence: float, simultaneous: bool) -> dict[Any, Estimate]:
    estimates = {}
    misfits = 0
    for key, counts in counted.items():
        merged = [_cell(rows, place, row) for place, row in counts.items()]
        misfits += sum(not _fits(cell) for cell in merged)
        if len(merged) == 1 and merged[0].support.all():
            inversion = invert(merged[0].counts, merged[0].matrix, confidence=confidence, simultaneous=simultaneous)
        else:
            inversion = pooled(merged, confidence=confidence, simultaneous=simultaneous)
        known = rows.mechanism.input_alphabet
        cells = [(cell.matrix, cell.support, cell.counts) for cell in merged]
        estimates[key] = Estimate(plain_alphabet(known), inversion, edges_of(known), cells)
    if misfits:
        warnings.warn(
            f"The outcomes do not fit this mechanism in {misfits:,} strata: it gives such counts less than once in 10⁹ "
            "times. They were released by another one, or changed since. Do not use the estimate.",
            LeakwiseWarning,
            stacklevel=4,
        )
    return estimates


def _cell(rows: RowMechanisms, place: int, row: Counts) -> Cell:
    """The rows of a cell, over the outcomes of its mechanism."""
    cell = rows.cells[place]
    counts = row[rows.outcomes(cell)]
    possible = (cell.mechanism.matrix[cell.support] > 0).any(axis=0)
    if counts[possible].sum() < row.sum():
        odd = [label for label, count in zip(rows.mechanism.outputs, row, strict=True) if count]
        never = [label for label in odd if label not in cell.mechanism.output_alphabet.index]
        where = f"Where {rows.mechanism.given_columns.described(cell.stratum)}" if cell.listed else "In other strata"
        raise InvalidInput(
            f"{where}, released has outcomes that the mechanism never gives there: {some_of(never or odd)}. It was "
            "released by another one."
        )
    return Cell(cell.mechanism.matrix, cell.support, counts)


def _fits(cell: Cell) -> bool:
    law, counts = fitted_law(cell)
    return fits(counts, law, law.size)
