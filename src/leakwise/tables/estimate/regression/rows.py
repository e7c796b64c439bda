"""The rows of a regression: outcomes and mechanisms of released columns, survey units, equal rows put together."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from leakwise.alphabet import encode_column
from leakwise.errors import InvalidInput, some_of
from leakwise.tables.estimate.joint.axes import Axis, Lens
from leakwise.tables.estimate.joint.evidence import Entries, SurveyDesign, effective_units
from leakwise.tables.estimate.joint.survey import Survey, check_weights, missing_units
from leakwise.tables.kinds import frames
from leakwise.types import Array, Floats, Indices

__all__ = ["Rows", "Seen", "gathered"]

# Rows that are looked at to see whether many are equal.
_LOOKED_AT = 20_000


@dataclass(frozen=True)
class Seen:
    """A released column: for each row which outcome it shows, and through which mechanism."""

    axis: Axis
    lenses: Sequence[Lens]
    pair: Indices  # lens * outcomes + outcome

    def table(self) -> Floats:
        """Return the probability of each pair of mechanism and outcome for every value, pairs by values.

        It is zero for values that rows of the mechanism cannot have.
        """
        return np.concatenate([np.where(lens.support, lens.laws.T, 0.0) for lens in self.lenses])

    def undone(self, weight: Floats) -> Floats:
        """Return what undoes the mechanisms, pairs by values, of least variance at the outcomes that were seen.

        Of values that a mechanism does not tell apart only sums are undone: see :meth:`given_back`.
        """
        size = len(self.axis.outcomes)
        counts = np.bincount(self.pair, weights=weight, minlength=size * len(self.lenses)).astype(np.float64)
        parts = [lens.inverse(seen) for lens, seen in zip(self.lenses, counts.reshape(-1, size), strict=True)]
        return np.concatenate([inverse for inverse, _ in parts])

    def given_back(self, weight: Floats) -> list[Floats]:
        """Return what each mechanism and its undoing make of functions of the value: the identity if it hides none."""
        undone = self.undone(weight).reshape(len(self.lenses), len(self.axis.outcomes), -1)
        found = []
        for lens, b in zip(self.lenses, undone, strict=True):
            # What cannot occur is not asked for.
            found.append(np.where(lens.support[:, None], lens.laws @ b, np.eye(lens.support.size)))
        return found

    @property
    def exact(self) -> bool:
        """Whether every outcome says the value."""
        return all(bool(((lens.laws == 0) | (lens.laws == 1)).all()) and _one_to_one(lens.laws) for lens in self.lenses)


def _one_to_one(laws: Floats) -> bool:
    return bool(((laws > 0).sum(axis=0) <= 1).all())


@dataclass(frozen=True)
class Rows:
    """Distinct rows with their weights.

    Attributes
    ----------
    frame
        The columns that were not randomized.
    released
        The released columns, each with the pairs of its mechanism and outcome.
    entries
        Rows, weights and survey units of every distinct row.
    """

    frame: Any
    released: dict[Hashable, Seen]
    entries: Entries
    design: SurveyDesign | None
    total: int

    @property
    def weight(self) -> Floats:
        """The weight of every distinct row."""
        return self.entries.weight


def gathered(frame: Any, axes: Sequence[Axis], plain: Sequence[str], survey: Survey, *, apart: bool) -> Rows:
    """Return the rows of a frame; equal ones as one, unless ``apart`` (for terms that are computed from all rows)."""
    rows = len(frame)
    if not rows:
        raise InvalidInput("released must hold at least one row. Got none.")
    if missing := [name for name in plain if frame[name].isna().any()]:
        count = int(frame[missing].isna().any(axis=1).sum())
        raise InvalidInput(
            f"{count:,} rows have missing values in {some_of(missing)}. Remove those rows first: what is missing for a "
            "reason would bias the model."
        )
    pairs, lenses = [], []
    for axis in axes:
        mine, places = axis.lenses()
        codes = axis.codes([frame[name] for name in axis.names], encode_column).astype(np.int64)
        which = axis.which([frame[name] for name in axis.given], encode_column, places)
        pair = codes if which is None else which.astype(np.int64) * len(axis.outcomes) + codes
        shown = np.bincount(pair, minlength=len(axis.outcomes) * len(mine)).reshape(len(mine), -1)
        for lens, of_lens in zip(mine, shown, strict=True):
            axis.refuse_impossible(lens, of_lens)
        pairs.append(pair)
        lenses.append(mine)
    weight = _weights(frame, survey.weights, rows)
    stratum = _numbers(frame, survey.strata, rows, "strata")
    cluster = _numbers(frame, survey.clusters, rows, "clusters")
    unit = None if cluster is None else _combined([cluster] if stratum is None else [stratum, cluster])
    fields = [*pairs, *(one for one in (stratum, unit) if one is not None)]
    columns = [frame[name] for name in plain]
    place, first = (None, None) if apart else _equal_rows(columns, fields, rows)
    kept: Any = slice(None) if first is None else first
    if place is None or first is None:
        size = rows
        counts = np.ones(rows, dtype=np.int64)
        weights = np.ones(rows) if weight is None else weight
        squares = weights if weight is None else weights * weights
    else:
        size = first.size
        counts = np.bincount(place, minlength=size)
        weights = counts.astype(np.float64) if weight is None else _added(place, weight, size)
        squares = weights if weight is None else _added(place, weight * weight, size)
    none = np.zeros(size, dtype=np.intp)
    entries = Entries(
        none,
        none,
        counts.astype(np.int64),
        weights,
        squares,
        none if stratum is None else stratum[kept].astype(np.intp),
        none if unit is None else unit[kept].astype(np.intp),
    )
    seen = {
        axis.title: Seen(axis, mine, pair[kept].astype(np.intp))
        for axis, mine, pair in zip(axes, lenses, pairs, strict=True)
    }
    inner = frame[list(plain)] if first is None else frame[list(plain)].iloc[first].reset_index(drop=True)
    return Rows(inner, seen, entries, _design(survey, entries, stratum, unit, weight), rows)


def _added(place: Array, values: Floats, size: int) -> Floats:
    return np.bincount(place, weights=values, minlength=size).astype(np.float64)


def _equal_rows(columns: Sequence[Any], fields: Sequence[Array], rows: int) -> tuple[Array | None, Array | None]:
    """For each row the place of its equals, and one row of each; None where few rows are equal."""
    import pandas

    head = min(rows, _LOOKED_AT)
    sample = [pandas.factorize(column.iloc[:head])[0] for column in columns] + [one[:head] for one in fields]
    if sample and rows > 1000 and np.unique(_combined(sample)).size > head // 2:
        return None, None
    parts = [pandas.factorize(column)[0] for column in columns] + list(fields)
    key = _combined(parts) if parts else np.zeros(rows, dtype=np.int64)
    place, distinct = pandas.factorize(key)
    first = np.empty(len(distinct), dtype=np.int64)
    first[place[::-1]] = np.arange(rows - 1, -1, -1)
    return place, first


def _combined(parts: Sequence[Array]) -> Array:
    """One number for each combination of codes, numbered again where the numbers would grow too large."""
    import pandas

    key: Array = np.asarray(parts[0], dtype=np.int64)
    top = int(key.max(initial=0)) + 1
    for one in parts[1:]:
        size = int(one.max(initial=0)) + 1
        if top * size > 1 << 62:
            key, distinct = pandas.factorize(key)
            top = len(distinct)
        key = key * size + one
        top *= size
    return key


def _numbers(frame: Any, given: Any, rows: int, name: str) -> Array | None:
    """Survey strata or clusters as numbers, from a column of the frame or a column by itself."""
    import pandas

    if given is None:
        return None
    column = given if frames.is_column(given) else frame[given]
    codes: Array = np.asarray(pandas.factorize(np.asarray(column))[0], dtype=np.int64)
    if (codes < 0).any():
        raise InvalidInput(missing_units(int((codes < 0).sum()), name))
    if codes.size != rows:
        raise InvalidInput(f"{name} has {codes.size} entries and released has {rows} rows.")
    return codes


def _weights(frame: Any, given: Any, rows: int) -> Floats | None:
    if given is None:
        return None
    column = given if frames.is_column(given) else frame[given]
    try:
        weight = np.asarray(column, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"weights must be a column of numbers: {error}.") from error
    checked = check_weights(weight, rows, "(the column given)" if frames.is_column(given) else repr(given))
    if not checked.any():
        raise InvalidInput("weights are all zero: nothing can be fitted to such rows.")
    return checked


def _design(
    survey: Survey, entries: Entries, stratum: Array | None, unit: Array | None, weight: Floats | None
) -> SurveyDesign | None:
    if not survey:
        return None
    strata = 1 if stratum is None else int(stratum.max()) + 1
    if unit is None:
        counts = np.bincount(entries.stratum, weights=entries.rows, minlength=strata).astype(np.int64)
        return _checked(SurveyDesign(counts, None, math.inf if weight is None else effective_units(weight)))
    distinct, places = np.unique(unit, return_inverse=True)
    of = np.zeros(distinct.size, dtype=np.intp)
    if stratum is not None:
        of[places.reshape(-1)] = stratum
    # Units are numbered without gaps from here on.
    entries.unit[:] = np.searchsorted(distinct, entries.unit)
    weights = np.bincount(entries.unit, weights=entries.weight, minlength=of.size).astype(np.float64)
    return _checked(SurveyDesign(np.bincount(of, minlength=strata).astype(np.int64), of, effective_units(weights)))


def _checked(design: SurveyDesign) -> SurveyDesign:
    if (design.units < 2).any():
        raise InvalidInput(
            "A stratum of the survey has a single unit, whose variance cannot be estimated. Put such strata together "
            "with others."
        )
    return design
