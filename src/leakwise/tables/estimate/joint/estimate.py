"""The joint estimate of several released columns, from tables, files and counts."""

from __future__ import annotations

import math
import warnings
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from leakwise.errors import InvalidInput, LeakwiseWarning, some_of
from leakwise.mechanism import AnyMechanism, Mechanism, StratifiedMechanism
from leakwise.tables.databases.sql_table import SqlTable
from leakwise.tables.estimate.beside import mechanism_beside, released_beside
from leakwise.tables.estimate.estimate import compare_digest
from leakwise.tables.estimate.joint.axes import Axis
from leakwise.tables.estimate.joint.fit import fitted
from leakwise.tables.estimate.joint.grouped import GroupedJointEstimate
from leakwise.tables.estimate.joint.reading import Reading, read_counts, read_rows
from leakwise.tables.estimate.joint.result import JointEstimate
from leakwise.tables.estimate.joint.survey import Survey
from leakwise.tables.formats import is_path, open_table
from leakwise.tables.formats.carried_mechanism import carried_secrets, choose_carried, metadata_of
from leakwise.tables.kinds import frames
from leakwise.tables.kinds.plain import in_order

__all__ = ["joint_estimate"]


def joint_estimate(
    released: Any, mechanisms: Mapping[Any, Any], by: Any, survey: Survey, confidence: float, simultaneous: bool
) -> JointEstimate | GroupedJointEstimate:
    """Return the joint table of the columns that ``mechanisms`` names, for each group of the ``by`` columns if any."""
    axes = _axes(released, mechanisms)
    columns = _by_columns(by, [*_told(released), *(name for axis in axes for name in axis.names)])
    if _are_counts(released):
        if columns or survey:
            raise InvalidInput("by, weights, strata and clusters need the released table. Got counts of cells.")
        reading = read_counts(released, axes)
    else:
        reading = read_rows(released, axes, columns, survey)
    first = next(iter(reading.groups.values()))
    first.refuse_few_units()
    if first.design is not None:
        first.design.warn_of_heavy()
    if is_path(released) or isinstance(released, SqlTable):
        _compare_digests(reading, axes, repr(str(released)))
    cells = math.prod(len(axis.values) for axis in axes)
    claims = cells * len(reading.groups) if simultaneous else 1
    released_names = {name for axis in axes for name in axis.names}
    by_outcome = any(name in released_names for axis in axes for name in axis.given)
    found = {}
    for group in in_order(reading.groups):
        evidence = reading.groups[group]
        fit = fitted(evidence, reading.masks, confidence, claims, by_outcome=by_outcome)
        found[group] = JointEstimate(tuple(axes), evidence, fit, confidence, simultaneous)
    if few := [group for group, one in found.items() if one.sample_size < cells]:
        where = "released has" if not columns else f"{len(few):,} groups ({some_of(few, 3)}) have"
        warnings.warn(
            f"{where} fewer rows than the {cells:,} cells of the joint table: most cells say nothing. Read margins "
            "(e.table(column)), or name fewer columns.",
            LeakwiseWarning,
            stacklevel=4,
        )
    return GroupedJointEstimate(tuple(columns), found) if columns else found[None]


def _axes(released: Any, mechanisms: Mapping[Any, Any]) -> list[Axis]:
    axes = []
    for key, given in mechanisms.items():
        names = key if isinstance(key, tuple) else (key,)
        one = _carried(released, key) if given is None else given
        if not isinstance(one, (Mechanism, StratifiedMechanism)):
            inside = isinstance(getattr(one, "mechanism", None), (Mechanism, StratifiedMechanism))
            raise InvalidInput(
                f"The mechanism of {key!r} must be a lw.Mechanism or a lw.StratifiedMechanism. Got "
                f"{type(one).__name__} instead." + (" Pass its .mechanism." if inside else "")
            )
        axes.append(Axis(names, one))
    if not axes:
        raise InvalidInput("mechanism must name at least one released column. Got an empty mapping.")
    named = [name for axis in axes for name in axis.names]
    if twice := {name for name in named if named.count(name) > 1}:
        raise InvalidInput(f"A column can be released once only. Named twice or more: {some_of(twice)}.")
    return axes


def _carried(released: Any, key: Any) -> AnyMechanism:
    """The mechanism that the released file or table carries for a column, or that is next to the file."""
    if isinstance(released, SqlTable):
        return choose_carried(released.metadata, key, repr(str(released))).mechanism
    if not is_path(released):
        return choose_carried(metadata_of(released), key, "the table").mechanism
    table = open_table(released, "released")
    beside = None if carried_secrets(table.metadata, repr(str(released))) else mechanism_beside(table, key)
    return (beside or choose_carried(table.metadata, key, repr(str(released)))).mechanism


def _compare_digests(reading: Reading, axes: Sequence[Axis], name: str) -> None:
    """Refuse a file that is not the one that the files of the mechanisms belong to."""
    shape = tuple(len(axis.outcomes) for axis in axes)
    for place, axis in enumerate(axes):
        counts = np.zeros(shape[place], dtype=np.int64)
        for evidence in reading.groups.values():
            codes = np.unravel_index(evidence.entries.cell, shape)[place]
            np.add.at(counts, codes, evidence.entries.rows)
        compare_digest(counts, axis.mechanism, name)


def _told(released: Any) -> list[Hashable]:
    """The columns that a file or table says were released."""
    if is_path(released):
        table = open_table(released, "released")
        told = carried_secrets(table.metadata, "released") or released_beside(table)
    else:
        metadata = released.metadata if isinstance(released, SqlTable) else metadata_of(released)
        told = carried_secrets(metadata, "released")
    return [name for one in told for name in one.names]


def _by_columns(by: Any, released: Sequence[Hashable]) -> list[Hashable]:
    columns: list[Hashable] = [] if by is None else list(by) if isinstance(by, (list, tuple)) else [by]
    if both := [name for name in columns if name in released]:
        raise InvalidInput(
            f"by={by!r} names released columns: {some_of(both)}. Their groups are those of outcomes, not of true "
            "values. Group by columns that were not randomized; a released one belongs into the mapping."
        )
    return columns


def _are_counts(released: Any) -> bool:
    """Whether released is a mapping from tuples of outcomes to counts."""
    return (
        isinstance(released, Mapping)
        and bool(released)
        and all(isinstance(key, tuple) for key in released)
        and not any(map(frames.is_column, released.values()))
    )
