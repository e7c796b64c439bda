"""polars: DataFrames and LazyFrames; Series as columns.

A LazyFrame is collected when it is released (unless it goes into a file: tables/formats/spool.py), and the result
handed back as a LazyFrame over the finished rows. The draw must not be part of the plan: a plan that is run twice would
draw twice, and two releases of one secret reveal more than one.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import polars as pl

from leakwise.errors import InvalidInput, some_of
from leakwise.tables.kinds.plain import in_order, same_values
from leakwise.types import Array


def is_table(data: Any) -> bool:
    return isinstance(data, (pl.DataFrame, pl.LazyFrame))


def is_column(data: Any) -> bool:
    return isinstance(data, pl.Series)


def names(table: Any) -> list[Hashable]:
    with _run(table):
        return list(table.collect_schema().names())


def hold(table: Any, names: Sequence[Hashable] | None) -> Any:
    if isinstance(table, pl.LazyFrame):
        with _run(table):
            return (table if names is None else table.select([str(name) for name in names])).collect()
    return table


@contextmanager
def _run(table: Any) -> Iterator[None]:
    """What a plan fails with as an error in words; a DataFrame has none."""
    try:
        yield
    except pl.exceptions.PolarsError as error:
        raise InvalidInput(f"The plan of the {type(table).__name__} cannot be run: {error}.") from error


def give_back(held: Any, original: Any) -> Any:
    return held.lazy() if isinstance(original, pl.LazyFrame) else held


def column(table: Any, name: Any) -> Any:
    return table.get_column(name)


def replace(table: Any, columns: Mapping[Any, Any], drop: Sequence[Any]) -> Any:
    kept = table.drop(drop)
    others = [shown for one in kept if one.name not in columns and (shown := _without_hidden(one)) is not one]
    return kept.with_columns([*(series.alias(name) for name, series in columns.items()), *others])


def _without_hidden(series: pl.Series) -> pl.Series:
    """The series with nothing behind its missing values in its buffers; itself where there are none."""
    if series.dtype.is_nested():
        return pl.Series(series.name, series.to_list(), dtype=series.dtype)
    if not series.null_count() or series.dtype in (pl.Null, pl.Object):
        return series
    known = series.drop_nulls().head(1)
    if not len(known):
        return pl.Series(series.name, [None] * len(series), dtype=series.dtype)
    # What stands behind a missing value is one that the column shows elsewhere.
    filled = pl.select(pl.when(series.is_not_null()).then(series).otherwise(known.new_from_index(0, len(series))))
    return pl.select(pl.when(series.is_not_null()).then(filled.to_series())).to_series().alias(series.name)


def take(data: Any, places: Array) -> Any:
    return data[places]


def decode(codes: Array, labels: Sequence[Any], like: Any) -> Any:
    rows: pl.Series = _typed(labels, like.dtype).gather(pl.Series(codes))
    return rows.alias(like.name)


def row_labels(data: Any) -> list[tuple[Hashable, list[Any], Array]]:
    return []


def distinct(column: Any) -> list[Any]:
    values = column.unique()
    if isinstance(column.dtype, pl.Enum):
        seen = set(values.to_list())
        return [*(value for value in column.dtype.categories if value in seen), *([None] if None in seen else [])]
    return in_order(dict.fromkeys(None if value != value else value for value in values.to_list()))


def _typed(labels: Sequence[Any], dtype: Any) -> pl.Series:
    """The labels in the type of the column where they fit it, else in the one polars gives them."""
    known = [label for label in labels if label is not None]
    if isinstance(dtype, pl.Enum) and all(isinstance(label, str) for label in known):
        # An Enum lists what can occur: what can occur now are the outcomes.
        same = set(known) == set(dtype.categories)
        return pl.Series(list(labels), dtype=dtype if same else pl.Enum(known))
    for wanted in (dtype, None):
        try:
            values = pl.Series(list(labels), dtype=wanted, strict=True)
        except (pl.exceptions.PolarsError, TypeError, ValueError, OverflowError):
            continue
        if values.dtype != pl.Object and same_values(values.to_list(), labels):
            return values
    raise InvalidInput(
        f"The outcomes {some_of(labels)} cannot stand in one polars column. Name them by texts or by numbers: "
        "Mechanism(..., outputs=[...])."
    )
