"""A utility as a matrix, one row per letter and one column per output, from what a user may give."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from leakwise.alphabet import Alphabet, Label, as_alphabet
from leakwise.errors import InvalidInput
from leakwise.types import Floats

__all__ = ["column_labels", "utility_matrix"]


def column_labels(matrix: Any) -> Alphabet | None:
    """Return the labels of the columns of a data frame; None for anything else."""
    if type(matrix).__module__.partition(".")[0] == "pandas":
        return as_alphabet(list(matrix.columns), name="outputs")
    return None


def utility_matrix(
    utility: Any, outputs: int | Iterable[Label] | None, *, name: str = "utility"
) -> tuple[Floats, Alphabet | None]:
    """Return a utility as floats with the labels of its outputs; -inf stands for "never", NaN and inf are refused."""
    try:
        values = np.array(utility, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInput(f"{name} must be a matrix of numbers: {error}.") from error
    if values.ndim != 2 or 0 in values.shape:
        raise InvalidInput(
            f"{name} must have one row per letter and one column per output. Got shape {values.shape} instead."
        )
    bad = np.argwhere(np.isnan(values) | (values == np.inf))
    if len(bad):
        row, column = (int(place) for place in bad[0])
        raise InvalidInput(
            f"{name} must hold numbers (or -inf for an output that must never be given). Got "
            f"{values[row, column]} in row {row}, column {column} ({len(bad)} such entries)."
        )
    names = column_labels(utility) if outputs is None else as_alphabet(outputs, name="outputs")
    if names is not None and len(names) != values.shape[1]:
        raise InvalidInput(f"outputs must be as many as the columns. Got {len(names)} for {values.shape[1]}.")
    values.flags.writeable = False
    return values, names
