"""What a search leaves for the next one over the same prior: the sorted tables of subset masses.

They depend on the masses alone, not on ε, and take longer to make than to use: a curve makes them once.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np

from leakwise.optimize.pricing.subset_sums import HalfTables
from leakwise.types import Counts, Floats

__all__ = ["shared_tables", "tables_of"]

_KEPT: ContextVar[list[HalfTables] | None] = ContextVar("kept", default=None)


@contextmanager
def shared_tables() -> Iterator[None]:
    """Within this block the tables of the last prior are kept and used again; after it they are forgotten."""
    token = _KEPT.set([])
    try:
        yield
    finally:
        _KEPT.reset(token)


def tables_of(masses: Floats, sizes: Counts) -> HalfTables:
    """Return the tables of these groups: those kept by :func:`shared_tables` if they are the same, else new ones."""
    kept = _KEPT.get()
    if kept and np.array_equal(kept[0].masses, masses) and np.array_equal(kept[0].sizes, sizes):
        return kept[0]
    tables = HalfTables(masses, sizes)
    if kept is not None:
        kept[:] = [tables]
    return tables
