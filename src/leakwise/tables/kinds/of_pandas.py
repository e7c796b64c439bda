"""pandas: DataFrames; Series, Index and extension arrays as columns."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from leakwise.tables.kinds.plain import (
    fitting_array,
    in_order,
    natural_array,
    object_array,
    same_values,
    take_labels,
    without_missing,
)
from leakwise.types import Array


def is_table(data: Any) -> bool:
    return isinstance(data, pd.DataFrame)


def is_column(data: Any) -> bool:
    single = isinstance(data, (pd.Series, pd.Index, pd.api.extensions.ExtensionArray))
    return single and not isinstance(data, pd.MultiIndex)


def names(table: Any) -> list[Hashable]:
    return list(table.columns)


def hold(table: Any, names: Sequence[Hashable] | None) -> Any:
    return table


def give_back(held: Any, original: Any) -> Any:
    return held


def column(table: Any, name: Any) -> Any:
    return table[name]


def replace(table: Any, columns: Mapping[Any, Any], drop: Sequence[Any]) -> Any:
    result = table.copy(deep=False)
    result.attrs = {}  # free notes about the table, which may tell of the true values
    for place, name in enumerate(table.columns):
        if name in columns:
            result.isetitem(place, columns[name])
        elif (
            isinstance(array := table.iloc[:, place].array, pd.api.extensions.ExtensionArray)
            and (shown := _without_hidden(array)) is not array
        ):
            result.isetitem(place, pd.Series(shown, index=table.index, copy=False))
    # Columns of one type share their memory: a copy has nothing of those that are left out.
    return result.drop(columns=list(drop)).copy() if drop else result


def take(data: Any, places: Array) -> Any:
    if isinstance(data, (pd.DataFrame, pd.Series)):
        # Numbered again: the old index would say where each row stood.
        return data.iloc[places].reset_index(drop=True)
    return data.take(places)


def decode(codes: Array, labels: Sequence[Any], like: Any) -> Any:
    if isinstance(like.dtype, pd.CategoricalDtype):
        rows = _categorical(codes, labels, like.dtype)
    else:
        values = _typed(labels, like.dtype)
        rows = take_labels(values, codes) if isinstance(values, np.ndarray) else _taken(values, codes, labels)
    if isinstance(like, pd.Series):
        # The type is named, because pandas would otherwise turn objects into texts of its own accord.
        series = pd.Series(rows, index=like.index, name=like.name, dtype=rows.dtype, copy=False)
        series = series.__finalize__(like)
        series.attrs = {}
        return series
    if isinstance(like, pd.Index):
        return pd.Index(rows, name=like.name, dtype=rows.dtype, tupleize_cols=False)
    return rows if not isinstance(rows, np.ndarray) else pd.array(rows, dtype=rows.dtype)


def _taken(values: Any, codes: Array, labels: Sequence[Any]) -> Any:
    try:
        return values.take(codes)
    except NotImplementedError:  # Arrow cannot take from every type that it can hold
        return pd.array(take_labels(object_array(labels), codes), dtype=values.dtype)


def _without_hidden(array: Any) -> Any:
    """The array with nothing behind its missing values; itself where there are none."""
    if isinstance(array, pd.arrays.ArrowExtensionArray):
        from leakwise.tables.kinds.arrow_buffers import without_hidden

        given = array.__arrow_array__()
        shown = without_hidden(given)
        return type(array)._from_sequence(shown, dtype=array.dtype)
    missing = array.isna()
    if not isinstance(array.dtype, pd.api.extensions.ExtensionDtype) or not missing.any():
        return array
    if not hasattr(array.dtype, "numpy_dtype") or isinstance(array, pd.arrays.NumpyExtensionArray):
        return array  # only numbers with a mask keep what the mask hides
    # What stands behind a missing value is one that the column shows elsewhere.
    known = array[~missing]
    cleaned = array.fillna(known[0]) if len(known) else pd.array([0] * len(array), dtype=array.dtype)
    cleaned[missing] = pd.NA
    return cleaned


def row_labels(data: Any) -> list[tuple[Hashable, list[Any], Array]]:
    if not isinstance(data, (pd.DataFrame, pd.Series)) or isinstance(data.index, pd.RangeIndex):
        return []
    index = data.index
    levels = [index.get_level_values(place) for place in range(index.nlevels)]
    if index.nlevels > 1:
        levels.append(index.rename([None] * index.nlevels))
    found: list[tuple[Hashable, list[Any], Array]] = []
    for level in levels:
        places, labels = level.factorize(use_na_sentinel=False)
        found.append((level.name if level.nlevels == 1 else None, labels.tolist(), places))
    return found


def distinct(column: Any) -> list[Any]:
    if isinstance(column.dtype, pd.CategoricalDtype):
        values = column.array if hasattr(column, "array") else column
        seen = np.unique(values.codes)
        return [*values.categories[seen[seen >= 0]].tolist(), *([None] if (seen < 0).any() else [])]
    values = list(pd.unique(column))
    return in_order(dict.fromkeys(None if _missing(value) else _plain(value) for value in values))


def _categorical(codes: Array, labels: Sequence[Any], dtype: Any) -> Any:
    """Codes become codes: the outcome labels are the categories."""
    known, moved = without_missing(labels)
    categories = dtype.categories
    if dtype.ordered and set(known) == set(categories):
        # The same values as before: their order, which has a meaning, stays as well. (One without could be that of
        # their first rows, or of their counts.)
        places = np.append(categories.get_indexer(pd.Index(_typed(known, categories.dtype), tupleize_cols=False)), -1)
        moved = places if moved is None else places[moved]
        return pd.Categorical.from_codes(take_labels(moved, codes), dtype=dtype)
    index = pd.Index(_typed(known, categories.dtype), tupleize_cols=False)
    rows = codes if moved is None else take_labels(moved, codes)
    return pd.Categorical.from_codes(rows, dtype=pd.CategoricalDtype(index, ordered=False))


def _typed(labels: Sequence[Any], dtype: Any) -> Any:
    """The labels in the type of the column where they fit it, else in the one pandas gives them."""
    if isinstance(dtype, np.dtype):
        values = fitting_array(labels, dtype)
    else:
        try:
            values = pd.array(object_array(labels), dtype=dtype)
        except (TypeError, ValueError, OverflowError, NotImplementedError):
            values = None
        if values is not None and not same_values([None if _missing(v) else v for v in values], labels):
            values = None
    return pd.Series(natural_array(labels)).array if values is None else values


def _missing(value: Any) -> bool:
    return value is None or value is pd.NA or value is pd.NaT or (isinstance(value, float) and value != value)


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
