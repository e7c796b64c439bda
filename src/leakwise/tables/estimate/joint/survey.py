"""The columns that say how the rows of a survey were drawn, and what they must not be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from leakwise.errors import InvalidInput
from leakwise.types import Floats

__all__ = ["Survey", "check_weights", "missing_units"]


@dataclass(frozen=True)
class Survey:
    """The columns (or arrays with one entry per row) that say how the rows were drawn."""

    weights: Any = None
    strata: Any = None
    clusters: Any = None

    def __bool__(self) -> bool:
        return any(one is not None for one in (self.weights, self.strata, self.clusters))


def check_weights(weight: Floats, rows: int, name: str) -> Floats:
    """Return weights that are finite, not negative, and as many as the rows; others are refused."""
    if weight.size != rows:
        raise InvalidInput(f"weights has {weight.size} entries and released has {rows} rows.")
    bad = ~(np.isfinite(weight) & (weight >= 0))
    if bad.any():
        raise InvalidInput(
            f"weights={name} must be finite and not negative in every row. {int(bad.sum()):,} rows are negative or "
            f"missing, such as row {int(bad.argmax())}: {float(weight[bad.argmax()])!r}. Leave these rows out, or "
            "weigh them by 0."
        )
    return np.asarray(weight)


def missing_units(count: int, name: str) -> str:
    """Say that rows do not say where they belong in the survey."""
    return (
        f"{count:,} rows have no value in {name}: it is not known which of them were drawn together. Remove these "
        "rows, or give each a value of its own."
    )
