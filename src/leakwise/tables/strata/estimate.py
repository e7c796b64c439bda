"""Estimates from a table that was released by strata: over all rows, and by columns that went out as they are."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from leakwise.alphabet import Label
from leakwise.errors import InvalidInput, LeakwiseWarning, some_of
from leakwise.mechanism import StratifiedMechanism
from leakwise.tables.estimate.fit import fits
from leakwise.tables.estimate.inversion import invert
from leakwise.tables.estimate.result import Estimate, GroupedEstimate
from leakwise.tables.kinds import frames
from leakwise.tables.kinds.joint_columns import plain_alphabet
from leakwise.tables.kinds.plain import in_order
from leakwise.tables.strata.pooling import Cell, fitted_law, pooled
from leakwise.tables.strata.rows import StratifiedRows, rows_by_stratum
from leakwise.types import Counts, Indices

__all__ = ["estimate_by_stratum"]


def estimate_by_stratum(
    released: Any,
    mechanism: StratifiedMechanism,
    column: Hashable,
    by: Any,
    confidence: float,
    simultaneous: bool,
) -> Estimate | GroupedEstimate:
    """Return the frequencies behind a column that was released by strata, pooled by the known sizes of the strata.

    ``by`` may be any column that was not randomized, or a list of them: strata are cut by it.
    """
    found = rows_by_stratum(released, column, mechanism, plain_alphabet(mechanism.output_alphabet), "outputs")
    if by is None:
        every = np.zeros(found.rows, dtype=np.intp)
        return _estimates(found, mechanism, [None], every, confidence, simultaneous)[None]
    keys, places, name = _groups(found, by)
    share = 1 - (1 - confidence) / len(keys) if simultaneous else confidence
    estimates = _estimates(found, mechanism, keys, places, share, simultaneous)
    return GroupedEstimate(name, {key: estimates[key] for key in in_order(keys)}, confidence, simultaneous)


def _groups(found: StratifiedRows, by: Any) -> tuple[list[Any], Indices, Hashable]:
    """The groups that the named columns make, the group of every row, and what to call them."""
    names = frames.column_names(found.held)
    columns = list(by) if isinstance(by, (list, tuple)) and by not in names else [by]
    frames.check_columns(found.held, columns)
    if both := [name for name in columns if name in found.names]:
        raise InvalidInput(
            f"by={by!r} is a released column itself: {some_of(both)}. Its groups are those of outcomes, not of true "
            "values, and estimates within them would be biased. Group by a column that was not randomized."
        )
    parts = [frames.groups_of(frames.column_of(found.held, name), name=f"column {name!r}") for name in columns]
    numbers = np.zeros(found.rows, dtype=np.int64)
    for values, places in parts:
        numbers = numbers * len(values) + places
    distinct, group = np.unique(numbers, return_inverse=True)
    keys: list[Any] = []
    for number in distinct.tolist():
        key: list[Any] = []
        for values, _ in reversed(parts):
            number, place = divmod(number, len(values))
            key.append(values[place])
        keys.append(key[0] if len(columns) == 1 else tuple(reversed(key)))
    return keys, group.reshape(-1), columns[0] if len(columns) == 1 else tuple(columns)


def _estimates(
    found: StratifiedRows,
    mechanism: StratifiedMechanism,
    keys: Sequence[Any],
    groups: Indices,
    confidence: float,
    simultaneous: bool,
) -> dict[Any, Estimate]:
    size, strata = len(mechanism.outputs), len(found.strata)
    table: dict[tuple[int, int], Counts] = {}
    cells = groups.astype(np.int64) * strata + found.places
    present, places = np.unique(cells, return_inverse=True)
    counts = np.bincount(places.reshape(-1) * size + found.codes, minlength=present.size * size)
    for cell, row in zip(present.tolist(), counts.reshape(present.size, size), strict=True):
        table[divmod(cell, strata)] = row
    by_group: dict[int, list[tuple[Label, Counts]]] = {}
    for (group, stratum), row in table.items():
        by_group.setdefault(group, []).append((found.strata[stratum], row))
    estimates = {}
    misfits = 0
    for group, key in enumerate(keys):
        merged = _cells(by_group[group], mechanism)
        misfits += sum(not _fits(cell) for cell in merged)
        if len(merged) == 1 and merged[0].support.all():
            inversion = invert(merged[0].counts, merged[0].matrix, confidence=confidence, simultaneous=simultaneous)
        else:
            inversion = pooled(merged, confidence=confidence, simultaneous=simultaneous)
        estimates[key] = Estimate(plain_alphabet(mechanism.input_alphabet), inversion)
    if misfits:
        warnings.warn(
            f"The outcomes do not fit this mechanism in {misfits:,} strata: it gives such counts less than once in 10⁹ "
            "times. They were released by another one, or changed since. Do not use the estimate.",
            LeakwiseWarning,
            stacklevel=4,
        )
    return estimates


def _cells(rows: Sequence[tuple[Label, Counts]], mechanism: StratifiedMechanism) -> list[Cell]:
    """The rows of a group by the mechanism they went through and the values they can have."""
    index = mechanism.output_alphabet.index
    found: dict[tuple[int, bytes], Cell] = {}
    for key, row in rows:
        own = mechanism[key]
        places = [index[label] for label in own.outputs]
        counts, support = row[places], mechanism.support(key)
        possible = (own.matrix[support] > 0).any(axis=0)
        if counts[possible].sum() < row.sum():
            odd = [label for label, count in zip(mechanism.outputs, row, strict=True) if count]
            raise InvalidInput(
                f"Where {mechanism.given_columns.described(key)}, released has outcomes that the mechanism never gives "
                f"there: {some_of(label for label in odd if label not in own.output_alphabet.index) or some_of(odd)}. "
                "It was released by another one."
            )
        token = (id(own), support.tobytes())
        before = found.get(token)
        found[token] = Cell(own.matrix, support, counts if before is None else before.counts + counts)
    return list(found.values())


def _fits(cell: Cell) -> bool:
    law, counts = fitted_law(cell)
    return fits(counts, law, law.size)
