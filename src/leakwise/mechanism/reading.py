"""A matrix as a user may give it, as exact integers over one denominator."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from leakwise.alphabet import Alphabet, Label
from leakwise.errors import InvalidInput, counted, some_of
from leakwise.exact import exact_fraction, is_exact_kind, over_common_denominator, round_float_rows
from leakwise.types import Array, Bools, Counts, Floats

__all__ = ["MatrixGiven", "read_matrix"]

FLOAT_BITS = 60
_ROW_TOLERANCE = 1e-9


@dataclass(frozen=True)
class MatrixGiven:
    """Exact integers with the labels that came along, if any."""

    weights: Array
    denominator: int
    inputs: Alphabet | None = None
    outputs: Alphabet | None = None


def read_matrix(matrix: Any) -> MatrixGiven:
    """Check a matrix and make it exact."""
    values, inputs, outputs = _entries(matrix)
    if values.dtype.kind == "f":
        weights: Array = _from_floats(values.astype(np.float64))
        return MatrixGiven(weights, 1 << FLOAT_BITS, inputs, outputs)
    if values.dtype.kind == "O" and not all(is_exact_kind(value) for value in values.flat):
        floats = [
            [_as_float(value, row, column) for column, value in enumerate(line)] for row, line in enumerate(values)
        ]
        return MatrixGiven(_from_floats(np.array(floats)), 1 << FLOAT_BITS, inputs, outputs)
    weights, denominator = _from_exact(values)
    return MatrixGiven(weights, denominator, inputs, outputs)


def _entries(matrix: Any) -> tuple[Array, Alphabet | None, Alphabet | None]:
    inputs: Alphabet | None = None
    outputs: Alphabet | None = None
    library = type(matrix).__module__.partition(".")[0]
    if library in ("pandas", "polars", "pyarrow"):
        inputs, outputs, matrix = _from_table(matrix, library)
    elif isinstance(matrix, Mapping):
        inputs, outputs, matrix = _from_mapping(matrix)
    if isinstance(matrix, (str, bytes)) or not isinstance(matrix, Iterable):
        raise InvalidInput(f"matrix must be rows of probabilities. Got {matrix!r} instead.")
    if isinstance(matrix, np.ma.MaskedArray) and np.ma.is_masked(matrix):
        raise InvalidInput("matrix must not have masked entries. Fill them in, or give the rows that are whole.")
    if not isinstance(matrix, np.ndarray):
        matrix = _rectangle([_row(row) for row in matrix])
    matrix = np.asarray(matrix)
    if matrix.ndim != 2 or 0 in matrix.shape:
        raise InvalidInput(
            f"matrix must have two dimensions, at least one row and one column. Got shape {matrix.shape} instead."
        )
    if matrix.dtype.kind not in "fiuOUS":
        raise InvalidInput(f"matrix must hold numbers. Got entries of type {matrix.dtype} instead.")
    return matrix, inputs, outputs


def _from_table(matrix: Any, library: str) -> tuple[Alphabet | None, Alphabet, Array]:
    if type(matrix).__name__ != "DataFrame" or library == "pyarrow":
        raise InvalidInput(
            f"matrix must be a DataFrame, an array or nested lists. Got a {library} {type(matrix).__name__} instead."
        )
    # A polars table has no labels for its rows, and walks by columns: read as nested lists it would be transposed.
    inputs = Alphabet(matrix.index, name="inputs") if library == "pandas" else None
    return inputs, Alphabet(matrix.columns, name="outputs"), matrix.to_numpy()


def _row(row: Any) -> Any:
    """A row as a list; what is no row (a number, a text, a mapping) stays as it is and is refused later."""
    no_row = isinstance(row, (str, bytes, Mapping, set, frozenset)) or not isinstance(row, Iterable)
    return row if no_row else list(row)


def _from_mapping(matrix: Mapping[Any, Any]) -> tuple[Alphabet, Alphabet, list[list[Any]]]:
    if not matrix or not all(isinstance(row, Mapping) for row in matrix.values()):
        raise InvalidInput("A matrix given as a mapping must map every letter to a mapping from outcomes.")
    seen: dict[Label, None] = {}
    for row in matrix.values():
        seen.update(dict.fromkeys(row))
    outputs = Alphabet(seen, name="outputs")
    return (
        Alphabet(matrix, name="inputs"),
        outputs,
        [[row.get(label, 0) for label in seen] for row in matrix.values()],
    )


def _rectangle(rows: list[Any]) -> Array:
    lengths = {len(row) if isinstance(row, list) else -1 for row in rows}
    if len(lengths) != 1 or -1 in lengths:
        raise InvalidInput("matrix must be rows of equal length: a list of lists of probabilities.")
    width = lengths.pop()
    entries = np.empty((len(rows), width), dtype=np.object_)
    for place, row in enumerate(rows):
        for column, value in enumerate(row):
            entries[place, column] = value
    return entries


def _as_float(value: object, row: int, column: int) -> float:
    name = f"matrix entry ({row}, {column})"
    exact = exact_fraction(value, name)
    if not 0 <= exact <= 2 or (nearest := float(exact)) == 0 != exact:
        raise InvalidInput(
            f"{name} must be a probability that a float can hold, because other entries are floats. "
            f"Got {value!r} instead."
        )
    return nearest


def _refuse(values: Bools, matrix: Array, what: str) -> None:
    places = np.argwhere(values)
    if len(places):
        row, column = (int(index) for index in places[0])
        entry = matrix[row, column]
        text = str(entry) if isinstance(entry, Fraction) else repr(entry)
        raise InvalidInput(
            f"matrix must hold {what}. {counted(len(places), 'entry does', 'entries do')} not, the first in row {row}, "
            f"column {column}: {text}."
        )


def _from_floats(matrix: Floats) -> Counts:
    _refuse(~np.isfinite(matrix), matrix, "finite numbers")
    _refuse(matrix < 0, matrix, "probabilities, none negative")
    _refuse(matrix > 1 + _ROW_TOLERANCE, matrix, "probabilities, none above 1")
    sums = np.array([math.fsum(row) for row in matrix])
    off = np.flatnonzero(np.abs(sums - 1) > _ROW_TOLERANCE)
    if len(off):
        _refuse_sum(off, str(sums[off[0]]))
    return round_float_rows(matrix, FLOAT_BITS)


def _refuse_sum(rows: Array, found: str) -> None:
    which = f"Row {rows[0]} does not; it" if len(rows) == 1 else f"Rows {some_of(rows.tolist())} do not; the first"
    raise InvalidInput(
        "Every row of the matrix must sum to 1 (floats within 1e-9, exact numbers exactly). "
        f"{which} sums to {found}. "
        "Divide each row by its sum if that is what you mean."
    )


def _from_exact(values: Array) -> tuple[Array, int]:
    rows, columns = values.shape
    fractions = [
        exact_fraction(value, f"matrix entry {divmod(place, columns)}") for place, value in enumerate(values.flat)
    ]
    exact = np.array(fractions, dtype=np.object_).reshape(rows, columns)
    _refuse(exact < 0, exact, "probabilities, none negative")
    sums = exact.sum(axis=1)
    off = np.flatnonzero(sums != Fraction(1))
    if len(off):
        _refuse_sum(off, str(sums[off[0]]))
    numerators, denominator = over_common_denominator(fractions)
    return np.array(numerators, dtype=np.object_).reshape(rows, columns), denominator
