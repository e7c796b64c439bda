"""From released tables and files to entries: outcomes, mechanisms, groups and the survey design of every row."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from leakwise.alphabet import encode_column
from leakwise.alphabet.labels import is_missing
from leakwise.errors import InvalidInput, some_of
from leakwise.tables.databases.sql_table import SqlTable
from leakwise.tables.estimate.joint.axes import Axis, Lens
from leakwise.tables.estimate.joint.evidence import Entries, Evidence, SurveyDesign, effective_units
from leakwise.tables.estimate.joint.survey import Survey, check_weights, missing_units
from leakwise.tables.formats import is_path, open_table
from leakwise.tables.kinds import frames
from leakwise.tables.kinds.streams import rows_at_hand
from leakwise.tables.strata.mechanisms import RowMechanisms
from leakwise.tables.strata.rows import CountedRows
from leakwise.types import Array, Bools, Counts, Floats, Indices

__all__ = ["Reading", "read_counts", "read_rows"]

_CHUNK = 1 << 20
_MOST_CELLS = 1 << 24


@dataclass(frozen=True)
class Reading:
    """The evidence of every group, and which values each axis and mechanism identifies."""

    groups: dict[Any, Evidence]
    masks: Sequence[Sequence[Bools]]


@dataclass
class _Batch:
    """Columns of some rows, and how to read them."""

    column: Callable[[Hashable], Any]
    encode: Callable[..., Any]
    distinct: Callable[[Any, Hashable], tuple[list[Any], Array]]
    numbers: Callable[[Any], Floats]
    times: Counts | None = None


def read_rows(released: Any, axes: Sequence[Axis], by: Sequence[Hashable], survey: Survey) -> Reading:
    """Return the evidence of the released rows, for every group of the ``by`` columns (None where there are none)."""
    if np.prod([float(len(axis.outcomes)) for axis in axes]) > _MOST_CELLS:
        raise InvalidInput(
            f"The joint table of {some_of([axis.title for axis in axes])} has more than {_MOST_CELLS:,} cells. Name "
            "fewer columns."
        )
    lenses, places = zip(*(axis.lenses() for axis in axes), strict=True)
    counter = _Counter(axes, places, by, survey)
    names = counter.names()
    for batch in _batches(released, names):
        counter.add(batch)
    return counter.reading(lenses)


def read_counts(counts: Mapping[Any, Any], axes: Sequence[Axis]) -> Reading:
    """Return the evidence of cells that were counted elsewhere: a mapping from tuples of outcomes to counts."""
    if any(axis.given for axis in axes):
        raise InvalidInput("With a stratified mechanism the table itself is needed, not counts of outcomes.")
    lenses, places = zip(*(axis.lenses() for axis in axes), strict=True)
    counter = _Counter(axes, places, [], Survey())
    counter.groups[None] = 0
    counter.blocks[(0,) * len(axes)] = 0
    part = np.zeros((8, len(counts)))
    for column, (key, count) in enumerate(counts.items()):
        if not isinstance(key, tuple) or len(key) != len(axes):
            raise InvalidInput(f"Counts must be keyed by tuples of {len(axes)} outcomes. Got {key!r} instead.")
        if isinstance(count, bool) or not isinstance(count, (int, np.integer)) or not 0 <= count <= 1 << 53:
            raise InvalidInput(f"The count of {key!r} must be a whole number, not negative. Got {count!r} instead.")
        cell = 0
        for axis, outcome in zip(axes, key, strict=True):
            cell = cell * len(axis.outcomes) + axis.outcomes.code(outcome, name=f"outcome of {axis.title!r}")
        part[4, column] = cell
        part[5:, column] = int(count)
    counter.parts.append(part[:, part[5] > 0])
    return counter.reading(lenses)


def _batches(released: Any, names: Sequence[Hashable]) -> Iterator[_Batch]:
    if is_path(released) or isinstance(released, SqlTable):
        table = released if isinstance(released, SqlTable) else open_table(released, "released")
        frames.check_names(table.names, names, repr(str(released)))
        texts = [str(name) for name in names]
        for part in table.batches(texts):
            yield _Batch(
                partial(_of_part, part),
                table.encode,
                lambda column, name: table.distinct(column),
                lambda column: _spread(*table.distinct(column)),
            )
        return
    times = None
    if isinstance(released, CountedRows):
        released, times = released.columns, released.times
    data = rows_at_hand(released)
    if frames.is_column(data) or not frames.is_table(data):
        raise InvalidInput(
            f"released must be a table with the released columns, or the path of one. Got {type(data).__name__} "
            "instead."
        )
    frames.check_columns(data, names)
    held = frames.hold(data, list(names))
    yield _Batch(
        lambda name: frames.column_of(held, name),
        encode_column,
        lambda column, name: frames.groups_of(column, name=f"column {name!r}"),
        _numbers,
        times,
    )


def _of_part(part: Mapping[str, Any], name: Hashable) -> Any:
    return part[str(name)]


class _Counter:
    """Adds up entries batch by batch."""

    def __init__(
        self, axes: Sequence[Axis], places: Sequence[RowMechanisms | None], by: Sequence[Hashable], survey: Survey
    ) -> None:
        self.axes, self.places, self.by, self.survey = axes, places, by, survey
        self.groups: dict[Any, int] = {}
        self.strata: dict[Any, int] = {}
        self.units: dict[Any, int] = {}
        self.blocks: dict[tuple[int, ...], int] = {}
        self.size = int(np.prod([len(axis.outcomes) for axis in axes]))
        self.parts: list[Floats] = []
        self.powers = np.zeros(2)  # sums of the second and fourth powers of the weights

    def names(self) -> list[Hashable]:
        """Return every column that is read."""
        found = [name for axis in self.axes for name in (*axis.names, *axis.given)]
        found += [*self.by]
        found += [one for one in (self.survey.weights, self.survey.strata, self.survey.clusters) if _is_name(one)]
        return list(dict.fromkeys(found))

    def add(self, batch: _Batch) -> None:
        """Count the rows of a batch."""
        cell: Array | None = None
        for axis in self.axes:
            codes = axis.codes([batch.column(name) for name in axis.names], batch.encode)
            if cell is None:
                cell = codes.astype(np.int32)
            elif codes.size != cell.size:
                raise InvalidInput(f"column {axis.title!r} has {codes.size} rows and others have {cell.size}.")
            else:
                cell *= len(axis.outcomes)
                cell += codes
        assert cell is not None
        rows = cell.size
        block = self._block(batch, rows)
        group = self._numbered(batch, self.by, self.groups, rows)
        stratum = self._numbered(batch, _named(self.survey.strata), self.strata, rows, "strata")
        columns = _named(self.survey.strata) + _named(self.survey.clusters)
        unit = self._numbered(batch, columns, self.units, rows, "clusters")
        if self.survey.clusters is None:
            unit = np.zeros(rows, dtype=np.int32)
        weight = self._weights(batch, rows)
        for start in range(0, rows, _CHUNK):
            part = slice(start, start + _CHUNK)
            self.parts.append(
                self._counted(
                    [one[part] for one in (group, stratum, unit, block, cell)],
                    None if weight is None else weight[part],
                    None if batch.times is None else batch.times[part],
                )
            )

    def _counted(self, fields: list[Array], weight: Floats | None, times: Counts | None) -> Floats:
        """Distinct combinations of the fields, with rows, weights and squares of weights, as columns of one array."""
        sizes = [int(one.max(initial=0)) + 1 for one in fields]
        key = fields[0].astype(np.int64)
        for one, size in zip(fields[1:], sizes[1:], strict=True):
            key = key * size + one
        total = int(np.prod([float(size) for size in sizes]))
        if total <= 4 * _CHUNK:
            counts = np.bincount(key, weights=times, minlength=total)
            present = np.flatnonzero(counts)
            place: Any = key
            size, kept = total, present
        else:
            present, place = np.unique(key, return_inverse=True)
            place = place.reshape(-1)
            size, kept = present.size, np.arange(present.size)
            counts = np.bincount(place, weights=times, minlength=size)
        out = np.empty((8, kept.size))
        rest = present.copy()
        for at in range(4, 0, -1):
            rest, out[at] = np.divmod(rest, sizes[at])
        out[0] = rest
        out[5] = counts[kept]
        if weight is None:
            out[6] = out[7] = out[5]
        else:
            out[6] = np.bincount(place, weights=weight, minlength=size)[kept]
            out[7] = np.bincount(place, weights=weight * weight, minlength=size)[kept]
        return out

    def _block(self, batch: _Batch, rows: int) -> Array:
        which = [
            axis.which([batch.column(name) for name in axis.given], batch.encode, places)
            for axis, places in zip(self.axes, self.places, strict=True)
        ]
        if all(one is None for one in which):
            self.blocks.setdefault((0,) * len(self.axes), 0)
            return np.zeros(rows, dtype=np.int32)
        table = np.stack([np.zeros(rows, dtype=np.int64) if one is None else one for one in which])
        distinct, places = np.unique(table, axis=1, return_inverse=True)
        numbers = [self.blocks.setdefault(tuple(column), len(self.blocks)) for column in distinct.T.tolist()]
        return np.array(numbers, dtype=np.int32)[places.reshape(-1)]

    def _numbered(
        self, batch: _Batch, names: Sequence[Any], known: dict[Any, int], rows: int, survey: str | None = None
    ) -> Array:
        """The number of the combination of some columns in every row; values are numbered as they are met.

        ``survey`` is what the columns are in a survey, where they must not be missing.
        """
        if not names:
            known.setdefault(None, 0)
            return np.zeros(rows, dtype=np.int32)
        values: list[list[Any]] = []
        key: Array = np.zeros(rows, dtype=np.int64)
        for name in names:
            column = batch.column(name) if _is_name(name) else name
            found, places = batch.distinct(column, name) if _is_name(name) else frames.groups_of(column)
            if places.size != rows:
                raise InvalidInput(f"column {_title(name)} has {places.size} rows and others have {rows}.")
            missing = [place for place, one in enumerate(found) if is_missing(one)]
            if survey is not None and missing:
                raise InvalidInput(missing_units(int(np.isin(places, missing).sum()), survey))
            if len(values) and key.max(initial=0) > (1 << 62) // max(len(found), 1):
                raise InvalidInput(f"{some_of(names)} have too many combinations of values. Name fewer columns.")
            key = key * len(found) + places
            values.append(found)
        distinct, places = np.unique(key, return_inverse=True)
        numbers = []
        for number in distinct.tolist():
            parts: list[Any] = []
            for found in reversed(values):
                number, place = divmod(number, len(found))
                parts.append(found[place])
            value = parts[0] if len(parts) == 1 else tuple(reversed(parts))
            numbers.append(known.setdefault(value, len(known)))
        return np.array(numbers, dtype=np.int32)[places.reshape(-1)]

    def _weights(self, batch: _Batch, rows: int) -> Floats | None:
        given = self.survey.weights
        if given is None:
            return None
        name = _title(given)
        try:
            weight = batch.numbers(batch.column(given)) if _is_name(given) else _numbers(given)
        except (TypeError, ValueError) as error:
            raise InvalidInput(f"weights={name} must be a column of numbers: {error}.") from error
        checked = check_weights(weight, rows, name)
        self.powers += [float((checked**2).sum()), float((checked**4).sum())]
        return checked

    def reading(self, lenses: Sequence[Sequence[Lens]]) -> Reading:
        """Return the evidence of all groups."""
        if not self.parts or not any(part.shape[1] for part in self.parts):
            raise InvalidInput("released must hold at least one row. Got none, and nothing can be estimated from it.")
        group, entries = _merged(self.parts)
        inverses, masks = _inverses(self.axes, lenses, list(self.blocks), entries)
        design = self._design(entries)
        blocks = list(self.blocks)
        found = {}
        for value, number in self.groups.items():
            mine = entries.take(group == number)
            if not mine.weight.sum() > 0:
                raise InvalidInput(
                    f"The weights of {'released' if value is None else f'the group {value!r}'} are all zero: nothing "
                    "can be estimated from such rows."
                )
            found[value] = Evidence(lenses, inverses, blocks, mine, design)
        return Reading(found, masks)

    def _design(self, entries: Entries) -> SurveyDesign | None:
        if not self.survey:
            return None
        strata = max(len(self.strata), 1)
        if self.survey.clusters is None:
            units = np.bincount(entries.stratum, weights=entries.rows, minlength=strata).astype(np.int64)
            second, fourth = self.powers
            return SurveyDesign(units, None, second**2 / fourth if fourth > 0 else math.inf)
        of = np.zeros(len(self.units), dtype=np.intp)
        of[entries.unit] = entries.stratum
        weights = np.bincount(entries.unit, weights=entries.weight, minlength=of.size).astype(np.float64)
        return SurveyDesign(np.bincount(of, minlength=strata).astype(np.int64), of, effective_units(weights))


def _merged(parts: Sequence[Floats]) -> tuple[Indices, Entries]:
    """Entries of all batches, those with equal fields added up."""
    table = np.concatenate(parts, axis=1)
    fields = table[:5].astype(np.int64)
    sizes = fields.max(axis=1) + 1
    if np.prod(sizes.astype(np.float64)) > float(1 << 62):
        raise InvalidInput("There are too many combinations of groups, clusters and outcomes to count.")
    key = fields[0]
    for one, size in zip(fields[1:], sizes[1:], strict=True):
        key = key * size + one
    _, first, place = np.unique(key, return_index=True, return_inverse=True)
    place = place.reshape(-1)
    rows, weight, square = (
        np.bincount(place, weights=one, minlength=first.size).astype(np.float64) for one in table[5:]
    )
    group, stratum, unit, block, cell = fields[:, first].astype(np.intp)
    return group, Entries(block, cell, rows.astype(np.int64), weight, square, stratum, unit)


def _inverses(
    axes: Sequence[Axis], lenses: Sequence[Sequence[Lens]], blocks: Sequence[tuple[int, ...]], entries: Entries
) -> tuple[list[list[Floats]], list[list[Bools]]]:
    """What undoes every mechanism, from the outcomes it gave; outcomes that it never gives are refused."""
    shape = tuple(len(axis.outcomes) for axis in axes)
    codes = np.unravel_index(entries.cell, shape)
    which = np.array(blocks)[entries.block]
    inverses: list[list[Floats]] = []
    masks: list[list[Bools]] = []
    for place, (axis, own) in enumerate(zip(axes, lenses, strict=True)):
        pairs = which[:, place] * shape[place] + codes[place]
        flat = np.bincount(pairs, weights=entries.rows, minlength=len(own) * shape[place])
        rows = flat.astype(np.float64).reshape(-1, shape[place])
        found, known = [], []
        for lens, seen in zip(own, rows, strict=True):
            axis.refuse_impossible(lens, seen)
            inverse, identified = lens.inverse(seen)
            found.append(inverse)
            known.append(identified)
        inverses.append(found)
        masks.append(known)
    return inverses, masks


def _spread(values: Sequence[Any], places: Array) -> Floats:
    """The numbers of a column of a file, from its distinct values."""
    return np.array([np.nan if one is None else float(one) for one in values])[places]


def _numbers(column: Any) -> Floats:
    """The numbers of a column in memory; missing ones as NaN."""
    array = np.asarray(column)
    if array.dtype.kind not in "iufb":
        array = np.array([np.nan if one is None else float(one) for one in array.tolist()])
    return np.asarray(array, dtype=np.float64)


def _is_name(given: Any) -> bool:
    """Whether a survey column is meant by its name, not given itself."""
    return given is not None and not frames.is_column(given)


def _named(given: Any) -> list[Any]:
    return [] if given is None else [given]


def _title(given: Any) -> str:
    return repr(given) if _is_name(given) else "(the column given)"
