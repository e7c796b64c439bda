"""One thin layer over every kind of data: lists, NumPy, pandas, polars, pyarrow; columns and tables of them.

A bare column is a list, a tuple, a one-dimensional NumPy array, a pandas Series or Index, a polars Series, or a
pyarrow Array or ChunkedArray. A table is a pandas or polars DataFrame, a polars LazyFrame, a pyarrow Table or
RecordBatch, or a mapping from names to columns.

Leakwise loads none of these libraries by itself: an object of a library shows that it is there.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from leakwise.alphabet import Alphabet, encode_column
from leakwise.errors import InvalidInput, did_you_mean, some_of
from leakwise.tables.kinds import Kind, plain
from leakwise.tables.kinds.row_labels import RowLabels
from leakwise.types import Array

__all__ = [
    "check_columns",
    "check_names",
    "check_row_labels",
    "column_names",
    "column_of",
    "decode",
    "give_back",
    "groups_of",
    "hold",
    "index_columns",
    "is_column",
    "is_table",
    "refuse_index_of",
    "take",
    "with_columns",
]


def _kind(data: Any) -> Kind:
    """The module for the library of the object, or of the class it was derived from."""
    for base in type(data).__mro__:
        library = base.__module__.partition(".")[0]
        if library == "pandas":
            from leakwise.tables.kinds import of_pandas

            return of_pandas
        if library == "polars":
            from leakwise.tables.kinds import of_polars

            return of_polars
        if library == "pyarrow":
            from leakwise.tables.kinds import of_arrow

            return of_arrow
    return plain


def is_table(data: Any) -> bool:
    """Return whether the data has named columns."""
    return _kind(data).is_table(data)


def is_column(data: Any) -> bool:
    """Return whether the data is one bare column."""
    return _kind(data).is_column(data)


def column_names(table: Any) -> list[Hashable]:
    """Return the names of a table's columns, in their order."""
    return _kind(table).names(table)


def check_columns(table: Any, names: Sequence[Hashable]) -> None:
    """Refuse names that the table does not have, or has more than once."""
    check_names(column_names(table), names)


def check_names(known: Sequence[Hashable], names: Sequence[Any], where: str = "the table") -> None:
    """Refuse names that are not among the known ones, or are there more than once."""
    for name in names:
        if not isinstance(name, Hashable):
            meant = repr(name[0]) if len(name) == 1 else f"the tuple {tuple(name)!r}"
            raise InvalidInput(
                "A secret must be the name of a column, or a tuple of names for columns that are one secret. Got the "
                f"list {name!r} instead: write {meant}."
            )
        times = known.count(name)
        if times == 0:
            raise InvalidInput(
                f"column {name!r} is not in {where}, whose columns are {some_of(known, 12)}."
                + did_you_mean(name, known)
            )
        if times > 1:
            raise InvalidInput(f"column {name!r} is in {where} {times} times. Rename its columns apart first.")


def hold(table: Any, names: Sequence[Hashable] | None = None) -> Any:
    """Return the table with its rows at hand: a LazyFrame is collected (only the named columns of it, if given)."""
    return _kind(table).hold(table, names)


def give_back(held: Any, original: Any) -> Any:
    """Return a held table as the kind it was given as: lazy if it was lazy."""
    return _kind(original).give_back(held, original)


def column_of(table: Any, name: Hashable) -> Any:
    """Return one column of a table; a missing one is an error that offers the nearest.

    >>> column_of({"sex": ["f", "m"], "age": [30, 40]}, "age")
    [30, 40]
    """
    check_columns(table, [name])
    return _kind(table).column(hold(table, [name]), name)


def with_columns(table: Any, columns: Mapping[Hashable, Any], drop: Sequence[Hashable] = ()) -> Any:
    """Return the table with columns exchanged, in their places; everything else as it was, and the source untouched.

    Columns in ``drop`` are left out.

    >>> with_columns({"sex": ["f", "m"], "age": [30, 40]}, {"sex": ["m", "m"]})
    {'sex': ['m', 'm'], 'age': [30, 40]}
    """
    check_columns(table, [*columns, *drop])
    return give_back(_kind(table).replace(hold(table), columns, drop), table)


def check_row_labels(data: Any, names: Sequence[Hashable], codes: Array, alphabet: Alphabet) -> None:
    """Refuse a table or column whose rows are labelled (a pandas index) by what tells the secret."""
    for name, labels, places in _kind(data).row_labels(data):
        seen = RowLabels(name, names, alphabet)
        seen.add(labels, places, codes)
        seen.refuse()


def index_columns(data: Any) -> list[str]:
    """Return the names of row labels (a pandas index) that are columns like any other: all but numbers of rows.

    Numbers of rows have no name, are whole, and each stands once.
    """
    found = []
    for level, labels, places in _kind(data).row_labels(data):
        whole = all(isinstance(label, int) and not isinstance(label, bool) for label in labels)
        if level is not None or not whole or len(labels) < places.size:
            found.append("the index" if level is None else f"the index {str(level)!r}")
    return found


def refuse_index_of(table: Any, names: Sequence[Hashable]) -> None:
    """Refuse a table whose rows are labelled (a pandas index) by a column that is not to go out as it is."""
    for level, labels, places in _kind(table).row_labels(table):
        for name in names:
            values = _kind(table).column(table, name)
            if level == name or (len(labels) > 1 and [labels[place] for place in places.tolist()] == list(values)):
                what = "name" if level == name else "values"
                raise InvalidInput(
                    f"The index has the {what} of column {name!r}, and it would go out with the released rows. Drop "
                    "it: reset_index(drop=True)."
                )


def take(data: Any, places: Array) -> Any:
    """Return the rows of a held table, or of a column, in the given places. A pandas index is numbered again.

    >>> import numpy as np
    >>> take({"sex": ["f", "m"], "age": [30, 40]}, np.array([1, 0]))
    {'sex': ['m', 'f'], 'age': [40, 30]}
    """
    if not isinstance(data, Mapping):
        return _kind(data).take(data, places)
    for name, column in data.items():
        if len(column) != places.size:
            raise InvalidInput(f"column {name!r} has {len(column)} rows, others have {places.size}.")
    return {name: take(column, places) for name, column in data.items()}


def decode(codes: Array, labels: Sequence[Hashable], like: Any) -> Any:
    """Return the labels of codes as a column of the same kind as ``like``, of the same type where the labels fit it.

    Index and name are kept. A pandas Categorical, a polars Enum or Categorical and an Arrow dictionary stay what they
    are, with the labels as their categories. Labels that do not fit the type (texts for a column of numbers) get the
    type that the library gives to such values.

    >>> import numpy as np
    >>> decode(np.array([1, 0, 1]), [10, 20], like=np.array([10, 10, 20], dtype=np.int16))
    array([20, 10, 20], dtype=int16)
    """
    return _kind(like).decode(codes, labels, like)


def groups_of(column: Any, *, name: str = "by") -> tuple[list[Any], Array]:
    """Return the distinct values of a column in their natural order (missing ones as None, last) and each row's place.

    >>> groups_of(["m", "f", "m"])
    (['f', 'm'], array([1, 0, 1], dtype=uint8))
    """
    try:
        values = _kind(column).distinct(column)
    except TypeError as error:  # lists and the like
        raise InvalidInput(f"{name} must contain plain values: {error}.") from error
    if not values:
        raise InvalidInput(f"{name} has no rows, so there are no groups.")
    alphabet = Alphabet(values, name=f"the values of {name}")
    return values, encode_column(column, alphabet, name=name)
