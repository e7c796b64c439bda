"""Given columns whose equal values look different: what a stratum takes for one value a reader could tell apart.

A missing value and a number that is none (NaN), two of these with different bits, a zero with a sign, 1 and 1.0 among
Python objects, a field of a CSV file with quotes and without: a mechanism knows them as one value, and the released row
shows which of them it was.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from leakwise.errors import InvalidInput
from leakwise.types import Array, Bools, Indices

__all__ = ["OneForm"]

# Objects of one of these types look the same where they are equal.
_PLAIN = (str, int, bool)
_FORMS = ("a missing value", "0.0", "-0.0")
_NAN = np.float64("nan").view(np.uint64)


class OneForm:
    """Watch a given column go by, and refuse a value that stands in it in two forms.

    Examples
    --------
    >>> OneForm("dose").add([None, 1.0, float("nan")], np.array([1, 0, 1]))
    Traceback (most recent call last):
    leakwise.errors.InvalidInput: Column 'dose' has one value in two forms, a missing value and nan: ...
    """

    def __init__(self, name: Hashable) -> None:
        self._name = name
        self._known: dict[int, Any] = {}

    def add(self, column: Any, codes: Array) -> None:
        """See the next rows: a column as it goes out, and its codes (-1 where a mechanism does not know the value)."""
        found = _forms(column)
        if found is None:
            return
        forms, rows, places = found
        own = np.full(len(forms), -1, dtype=np.int64)
        own[places] = codes[rows]
        for form, code in zip(forms, own.tolist(), strict=True):
            if code >= 0 and self._known.setdefault(code, form) != form:
                raise InvalidInput(
                    f"Column {self._name!r} has one value in two forms, {_word(self._known[code])} and {_word(form)}: "
                    "they count as one, and a reader of the row can tell them apart. Write it in one form first, or "
                    "drop the column (--drop)."
                )


def _word(form: Any) -> str:
    if isinstance(form, tuple):
        return f"{form[1]} ({form[0].__name__})"
    return form if isinstance(form, str) else repr(form.decode(errors="replace"))


def _forms(column: Any) -> tuple[Sequence[Any], Any, Indices] | None:
    """Return the forms in which values stand in a column, the rows that have them, and which; None where one is all."""
    library = type(column).__module__.partition(".")[0]
    if library == "pyarrow":
        return _of_arrow(column)
    if library == "polars":
        if column.dtype.is_float():
            return _of_numbers(column.fill_null(1.0).to_numpy(), column.is_null().to_numpy())
        return _of_objects(column.to_list()) if column.dtype.is_object() else None
    dtype = getattr(column, "dtype", None)
    if dtype is not None and dtype != np.dtype(object):
        if getattr(dtype, "kind", "") != "f":
            return None
        if isinstance(dtype, np.dtype):
            numbers = np.asarray(column)
            return _of_numbers(numbers, np.zeros(numbers.size, dtype=np.bool_))
        missing = np.asarray(column.isna(), dtype=np.bool_)
        return _of_numbers(column.to_numpy(dtype=np.float64, na_value=1.0), missing)
    return _of_objects(list(column))


def _of_arrow(column: Any) -> tuple[Sequence[Any], Any, Indices] | None:
    import pyarrow as pa

    if pa.types.is_dictionary(column.type) and pa.types.is_floating(column.type.value_type):
        column = column.cast(column.type.value_type)
    if pa.types.is_floating(column.type):
        missing = column.is_null().to_numpy(zero_copy_only=False) if isinstance(column, pa.Array) else None
        missing = column.is_null().to_numpy() if missing is None else missing
        full = column.cast(pa.float64()).fill_null(1.0)
        return _of_numbers(full.to_numpy(), missing)
    if pa.types.is_binary(column.type):  # the fields of a text file, as they stand there
        encoded = column.dictionary_encode()
        encoded = encoded.combine_chunks() if isinstance(encoded, pa.ChunkedArray) else encoded
        known = np.flatnonzero(encoded.is_valid().to_numpy(zero_copy_only=False))
        return encoded.dictionary.to_pylist(), known, encoded.indices.drop_null().to_numpy()
    return None


def _of_numbers(numbers: Array, missing: Bools) -> tuple[Sequence[Any], Any, Indices]:
    none = np.isnan(numbers) & ~missing
    bits, which = np.unique(numbers[none].astype(np.float64).view(np.uint64), return_inverse=True)
    form = np.where(missing, 0, np.where(np.signbit(numbers), 2, 1))
    form[none] = len(_FORMS) + which
    rows = np.flatnonzero(missing | (numbers == 0) | none)
    nans = ["nan" if one == _NAN else f"nan (with the bits {one:x})" for one in bits]
    return [*_FORMS, *nans], rows, form[rows]


def _of_objects(values: Sequence[Any]) -> tuple[Sequence[Any], Any, Indices] | None:
    types = set(map(type, values))
    if len(types - {type(None)}) <= 1 and types <= {type(None), *_PLAIN}:
        return None
    if types <= {float, type(None)}:
        missing = np.array([value is None for value in values], dtype=np.bool_)
        return _of_numbers(np.array([1.0 if value is None else value for value in values]), missing)
    known: dict[Any, int] = {}
    # The raw texts of a file of JSON lines are bytes.
    shown = ((value if type(value) is bytes else (type(value), repr(value))) for value in values)
    places = np.fromiter((known.setdefault(one, len(known)) for one in shown), dtype=np.int64, count=len(values))
    return list(known), np.arange(len(values)), places
