"""A column of any kind as codes in a declared alphabet.

Each kind of column gives its distinct values and where they stand; the distinct values are then looked up once.
What is not in the alphabet is an error that names the first few and counts the rows: nothing is dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from leakwise.alphabet.bins import Bins
from leakwise.alphabet.dates import DateBins, days_in
from leakwise.alphabet.labels import Alphabet, code_dtype, is_missing, plain_value
from leakwise.errors import InvalidInput, counted, did_you_mean, some_of
from leakwise.types import Array, Codes, Floats, Words

__all__ = ["encode_column", "encode_distinct", "found_domain", "outside_domain", "way_out_of_missing"]


# Whole numbers that span at most this much are looked up in a table instead of being sorted.
_TABLE_SPAN = 1 << 20

# Rows of texts hashed at once, so that they stay in the cache; fewer than a few are looked up one by one.
_BLOCK = 1 << 14
_FEW_ROWS = 256


def encode_column(column: Any, alphabet: Alphabet, *, name: str = "column", outside: bool = False) -> Codes:
    """Return the code of every value, in the smallest unsigned type.

    A value that is not declared is an error; with ``outside`` it has the code -1, in the smallest signed type.

    Takes lists, NumPy arrays, pandas and polars Series (categoricals included), pyarrow arrays and chunked arrays
    (dictionaries included). NaN and NaT are missing values, as None is. For bins the column may hold numbers (for bins
    of dates: dates, times, or texts of them), or the names of the bins.
    """
    library = type(column).__module__.partition(".")[0]
    found = _Found(alphabet)
    if isinstance(alphabet, DateBins) and (days := days_in(column, library)) is not None:
        codes = _encode_days(days, alphabet, found)
    elif type(alphabet) is Bins and (values := _numbers(column, library, name)) is not None:
        codes = _encode_numbers(values, alphabet, found)
    else:
        codes = _ENCODERS.get(library, _encode_values)(column, found, name)
    return found.finished(codes, name, outside=outside)


def encode_distinct(
    distinct: Sequence[Any], places: Array, alphabet: Alphabet, *, name: str, outside: bool = False
) -> Codes:
    """Return the codes of a column that is known by its distinct values and the place of every row among them."""
    found = _Found(alphabet)
    return found.finished(_from_distinct(distinct, places, found), name, outside=outside)


def found_domain(column: Any, *, name: str = "column") -> Alphabet:
    """Return the values that occur in a column that is no secret, in their natural order; missing ones as None, last.

    >>> found_domain(["m", "f", "m"]).labels
    ('f', 'm')
    """
    if isinstance(column, np.ndarray) and column.dtype.kind not in "O":
        values: Iterable[Any] = list(np.unique(column))
    elif hasattr(column, "unique"):
        seen = column.unique()
        values = seen.to_pylist() if hasattr(seen, "to_pylist") else list(seen)
    else:
        values = _listed(column)
    plain = (plain_value(value) for value in values)
    try:
        distinct = dict.fromkeys(None if is_missing(value) else value for value in plain)
    except TypeError as error:
        raise InvalidInput(f"{name} must contain plain values: {error}.") from error
    known: list[Any] = [value for value in distinct if value is not None]
    with suppress(TypeError):
        known.sort()
    return Alphabet([*known, *([None] if None in distinct else [])], name=f"the values of {name}")


@dataclass
class _Found:
    """The declared alphabet, and what was met that is not in it."""

    alphabet: Alphabet
    rows: int = 0
    outside: dict[str, Any] = field(default_factory=dict)

    def add_outside(self, values: Iterable[Any], rows: int) -> None:
        self.outside.update((repr(plain), plain) for plain in map(plain_value, values))
        self.rows += rows

    def finished(self, codes: Codes, name: str, *, outside: bool) -> Codes:
        size = len(self.alphabet)
        if outside:
            return codes.astype(np.min_scalar_type(-size), copy=False)
        self.refuse_outside(len(codes), name)
        return codes.astype(code_dtype(size), copy=False)

    def refuse_outside(self, total: int, name: str) -> None:
        if not self.rows:
            return
        bad = list(self.outside.values())
        if all(is_missing(value) for value in bad):
            raise InvalidInput(
                f"{name} has {counted(self.rows, 'missing value')} among {total} rows, and the declared domain "
                f"has no place for {'it' if self.rows == 1 else 'them'}. {way_out_of_missing(self.alphabet)}"
            )
        raise InvalidInput(
            f"{name} has {self.rows} of {total} rows with values outside the declared domain: "
            + outside_domain(bad, self.alphabet)
        )


def _from_distinct(distinct: Sequence[Any], places: Array, found: _Found, *, may_be_null: bool = True) -> Codes:
    """Codes from distinct values and, for each row, the place of its value in them (-1 for a missing one)."""
    known = [_lookup(found.alphabet, value) for value in distinct]
    missing = found.alphabet.index.get(None, -1)
    surely_inside = min(known, default=0) >= 0 and (missing >= 0 or not may_be_null)
    # Place -1 takes the last entry of the table, which is the code of a missing value.
    table = np.array([*known, max(missing, 0) if surely_inside else missing])
    size = len(found.alphabet)
    codes: Codes = table.astype(code_dtype(size) if surely_inside else np.min_scalar_type(-size))[places]
    if not surely_inside and (outside := codes < 0).any():
        bad = np.unique(places[outside])
        found.add_outside([None if place == -1 else distinct[int(place)] for place in bad], int(outside.sum()))
    return codes


def _lookup(alphabet: Alphabet, value: Any) -> int:
    value = plain_value(value)
    if is_missing(value):
        return alphabet.index.get(None, -1)
    try:
        code = alphabet.index.get(value, -1)
    except TypeError:  # a list or the like: certainly no label
        return -1
    return alphabet.codes_of_values([value])[0] if code < 0 and isinstance(alphabet, DateBins) else code


def _encode_values(column: Any, found: _Found, name: str) -> Codes:
    if isinstance(column, np.ma.MaskedArray):
        column = column.tolist()  # what the mask hides becomes None
    if not isinstance(column, np.ndarray):
        if isinstance(column, (str, bytes, dict)) or not isinstance(column, Iterable):
            raise InvalidInput(f"{name} must be a column of values. Got {type(column).__name__} instead.")
        return _encode_objects(list(column), found)
    if column.ndim != 1:
        raise InvalidInput(f"{name} must have one dimension. Got an array of shape {column.shape} instead.")
    if column.dtype.kind in "iu" and column.size:
        low, high = min(int(column.min()), 0), int(column.max())
        if high - low < min(_TABLE_SPAN, 1024 + 4 * column.size):
            places = column if low == 0 else column.astype(np.int64) - low
            return _from_distinct(range(low, high + 1), places, found, may_be_null=False)
    if column.dtype.kind in "biufmM":
        distinct, places = np.unique(column, return_inverse=True)
        # Dates go as NumPy scalars: tolist would make bare counts of nanoseconds of them.
        values = list(distinct) if column.dtype.kind in "mM" else distinct.tolist()
        return _from_distinct(values, places, found, may_be_null=False)
    if column.dtype.kind in "US" and column.itemsize and column.size > _FEW_ROWS:
        return _encode_texts(column, found)
    return _encode_objects(column.tolist(), found)


def _encode_texts(column: Array, found: _Found) -> Codes:
    """Texts of fixed width as rows of numbers: found by a hash, then compared whole, so that no text is made."""
    kind = str if column.dtype.kind == "U" else bytes
    # NumPy cuts zeros off the end of a text: a label that ends in one never comes back from a column.
    end: Any = "\0" if kind is str else b"\0"
    known = [(c, label) for label, c in found.alphabet.index.items() if type(label) is kind and label[-1:] != end]
    wanted: Array = np.array([label for _, label in known] or [kind()], dtype=kind)
    # A label longer than the column is wide cannot occur in it; a shorter one is filled up as NumPy fills it.
    fits = np.array([len(label) * (4 if kind is str else 1) <= column.itemsize for _, label in known], dtype=np.bool_)
    codes = np.full(column.size, -1, dtype=np.int64)
    if fits.any():
        letters = np.array([code for code, _ in known], dtype=np.int64)[fits]
        table = _words(wanted[fits].astype(column.dtype))
        factors: Words = np.random.default_rng(0).integers(1, 1 << 63, table.shape[1], np.uint64)
        factors |= np.uint64(1)
        hashes = _hash(table, factors)
        order = np.argsort(hashes)
        sorted_hashes, sorted_table = hashes[order], table[order]
        for start in range(0, column.size, _BLOCK):
            rows = _words(np.ascontiguousarray(column[start : start + _BLOCK]))
            place = np.minimum(np.searchsorted(sorted_hashes, _hash(rows, factors)), order.size - 1)
            same = np.ones(len(rows), dtype=np.bool_)
            for word in range(table.shape[1]):
                same &= rows[:, word] == sorted_table[place, word]
            codes[start : start + _BLOCK] = np.where(same, letters[order[place]], -1)
    # What was not found this way (labels of another kind, equal hashes) is looked up one by one, or refused.
    rest = np.flatnonzero(codes < 0)
    if rest.size:
        codes[rest] = _encode_objects(column[rest].tolist(), found)
    return codes


def _words(texts: Array) -> Array:
    """Each text of an array as a row of numbers, as wide as its width allows."""
    size = next(size for size in (8, 4, 2, 1) if texts.itemsize % size == 0)
    return texts.view(f"u{size}").reshape(texts.size, -1)


def _hash(rows: Array, factors: Words) -> Words:
    total = np.zeros(len(rows), dtype=np.uint64)
    for word, factor in enumerate(factors):
        total += rows[:, word] * factor
        total ^= total >> np.uint64(29)
    return total


def _encode_objects(values: list[Any], found: _Found) -> Codes:
    index = found.alphabet.index
    try:
        codes = np.fromiter((index.get(value, -1) for value in values), dtype=np.int64, count=len(values))
    except TypeError:
        codes = np.array([_lookup(found.alphabet, value) for value in values], dtype=np.int64)
    for row in np.flatnonzero(codes < 0):
        codes[row] = _lookup(found.alphabet, values[row])  # NaN as a missing value, NumPy scalars
    outside = np.flatnonzero(codes < 0)
    found.add_outside((values[row] for row in outside), len(outside))
    return codes


def _encode_pandas(column: Any, found: _Found, name: str) -> Codes:
    import pandas as pd

    if not isinstance(column, (pd.Series, pd.Index, pd.api.extensions.ExtensionArray)):
        raise InvalidInput(f"{name} must be one column. Got a pandas {type(column).__name__} instead.")
    values = column if isinstance(column, pd.api.extensions.ExtensionArray) else column.array
    if isinstance(values, pd.Categorical):
        return _from_distinct(values.categories.tolist(), np.asarray(values.codes), found)
    try:
        places, distinct = pd.factorize(values)
    except (TypeError, NotImplementedError):  # values that cannot be hashed, such as lists: named one by one
        return _encode_objects(list(values), found)
    return _from_distinct(list(distinct), places, found)


def _encode_polars(column: Any, found: _Found, name: str) -> Codes:
    import polars as pl

    if not isinstance(column, pl.Series):
        raise InvalidInput(f"{name} must be one column. Got a polars {type(column).__name__} instead.")
    if column.dtype in (pl.Categorical, pl.Enum):
        return _encode_polars_categories(column, found)
    if column.dtype.is_nested() or column.dtype in (pl.Object, pl.Null):
        return _encode_objects(column.to_list(), found)
    distinct = column.unique().drop_nulls()
    places = column.replace_strict(
        distinct, pl.Series(range(len(distinct)), dtype=pl.Int64), default=-1, return_dtype=pl.Int64
    )
    return _from_distinct(distinct.to_list(), places.fill_null(-1).to_numpy(), found)


def _encode_polars_categories(column: Any, found: _Found) -> Codes:
    """The stored numbers of the categories, looked up in a table: no text is made for a row."""
    import polars as pl

    distinct = column.unique().drop_nulls()
    numbers = distinct.to_physical().to_numpy()
    # Categories are numbered for the whole process, so that those of this column may have gaps between them.
    size = int(numbers.max()) + 1 if len(distinct) else 0
    places = np.full(size + 1, -1, dtype=np.min_scalar_type(-max(len(distinct), 1)))
    places[numbers.astype(np.int64)] = np.arange(len(distinct))
    rows = column.to_physical()
    nulls = column.null_count() > 0
    if nulls:
        rows = rows.cast(pl.UInt32).fill_null(size)
    return _from_distinct(distinct.cast(pl.String).to_list(), places[rows.to_numpy()], found, may_be_null=nulls)


def _encode_arrow(column: Any, found: _Found, name: str) -> Codes:
    import pyarrow as pa

    if not isinstance(column, (pa.Array, pa.ChunkedArray)):
        raise InvalidInput(f"{name} must be one column. Got a pyarrow {type(column).__name__} instead.")
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    # The empty array keeps a column without chunks from being nothing at all.
    empty = np.empty(0, dtype=code_dtype(len(found.alphabet)))
    return np.concatenate([empty, *(_encode_arrow_chunk(chunk, found) for chunk in chunks)])


def _encode_arrow_chunk(chunk: Any, found: _Found) -> Codes:
    import pyarrow as pa

    if not isinstance(chunk, pa.DictionaryArray):
        try:
            chunk = chunk.dictionary_encode()
        except pa.ArrowNotImplementedError:  # lists, structures and the like: named one by one
            return _encode_objects(chunk.to_pylist(), found)
    indices, nulls = chunk.indices, chunk.indices.null_count > 0
    if nulls:
        indices = indices.cast(pa.int64()).fill_null(-1)
    places = indices.to_numpy(zero_copy_only=False)
    try:
        if places.size and places.min() < (-1 if nulls else 0):
            raise IndexError("a place before the first value")
        return _from_distinct(chunk.dictionary.to_pylist(), places, found, may_be_null=nulls)
    except (UnicodeDecodeError, IndexError) as error:  # Arrow hands on what a damaged file holds
        raise InvalidInput(f"The column is damaged ({error}). Put back a copy of the file.") from error


_ENCODERS: dict[str, Callable[[Any, _Found, str], Codes]] = {
    "pandas": _encode_pandas,
    "polars": _encode_polars,
    "pyarrow": _encode_arrow,
}


def _numbers(column: Any, library: str, name: str) -> Floats | None:
    """A column of numbers as floats, what is missing as NaN; None when it holds something else."""
    if library == "pandas" and getattr(column, "dtype", None) is not None and column.dtype.kind in "iufb":
        values = column.to_numpy(dtype=np.float64, na_value=np.nan)
    elif library == "pyarrow" and hasattr(column, "to_numpy"):
        values = column.to_numpy(zero_copy_only=False)
    elif library == "polars" and hasattr(column, "to_numpy"):
        values = column.to_numpy()
    elif isinstance(column, np.ma.MaskedArray):
        values = np.array(column.tolist(), dtype=np.object_)
    else:
        try:
            values = np.asarray(column if isinstance(column, np.ndarray) else _listed(column))
        except ValueError:  # lists of several lengths
            return None
    if values.ndim != 1:
        raise InvalidInput(f"{name} must be a column of values, of one dimension. Got shape {values.shape} instead.")
    if values.dtype.kind == "O":
        plain: list[Any] = [np.nan if is_missing(value) else plain_value(value) for value in values]
        if not all(hasattr(value, "__float__") and not isinstance(value, np.ndarray) for value in plain):
            return None
        return np.array([float(value) for value in plain])
    return values.astype(np.float64) if values.dtype.kind in "iufb" else None


def _listed(column: Any) -> Any:
    return list(column) if isinstance(column, Iterable) and not isinstance(column, (str, bytes)) else column


def _encode_numbers(values: Floats, alphabet: Bins, found: _Found) -> Codes:
    codes = alphabet.codes_of_numbers(values)
    outside = codes < 0
    found.add_outside(np.unique(values[outside]).tolist(), int(outside.sum()))
    return codes


def _encode_days(days: Array, alphabet: DateBins, found: _Found) -> Codes:
    codes = alphabet.codes_of_numbers(np.where(np.isnat(days), np.nan, days.astype(np.int64).astype(np.float64)))
    outside = codes < 0
    found.add_outside(list(np.unique(days[outside])), int(outside.sum()))
    return codes


def outside_domain(values: Sequence[Any], alphabet: Alphabet) -> str:
    """Return which values are outside of a domain, what the domain is, and what to do: the end of a message."""
    meant = next(filter(None, (did_you_mean(value, alphabet.labels) for value in values[:5] if value is not None)), "")
    return (
        f"{some_of(values)}. The domain is {some_of(alphabet.labels)}.{meant} Declare every value that can occur, or "
        "clean the column."
    )


def way_out_of_missing(alphabet: Alphabet) -> str:
    """Return what to do about missing values that have no place in a domain."""
    way = "Add None to the domain (--missing)"
    if isinstance(alphabet, Bins):
        way = "Give them a place: lw.bins(…).with_missing() (--missing)"
    return f"{way} to treat missing as a value of its own, or remove those rows."
