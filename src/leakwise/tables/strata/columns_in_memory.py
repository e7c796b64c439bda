"""The columns beside a secret in memory, each looked at once: by its distinct values, or as it is to be binned."""

from __future__ import annotations

from collections.abc import Collection, Container, Hashable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from leakwise.alphabet import Alphabet, Bins, encode_column, encode_distinct, label_to_plain
from leakwise.errors import InvalidInput
from leakwise.tables.kinds import frames
from leakwise.tables.kinds.plain import in_order
from leakwise.types import Array

__all__ = ["ColumnsInMemory", "encode_held", "labels_of", "listed", "shown_held"]


@dataclass(frozen=True)
class _Distinct:
    """A column as its distinct values and the place of every row among them."""

    values: list[Any]
    places: Array
    column: Any


@dataclass(frozen=True)
class _Raw:
    """A column as it is, with its codes once they were asked for: to check, and again to draw."""

    column: Any
    codes: dict[Any, Array] = field(default_factory=dict)


class ColumnsInMemory:
    """The columns of a held table."""

    def __init__(self, held: Any) -> None:
        self._held = held
        self._raw: dict[Hashable, _Raw] = {}
        self._distinct: dict[Hashable, _Raw | _Distinct] = {}

    def raw(self, name: Hashable) -> _Raw:
        """Return a column as it is."""
        if name not in self._raw:
            self._raw[name] = _Raw(frames.column_of(self._held, name))
        return self._raw[name]

    def _read(self, name: Hashable) -> _Raw | _Distinct:
        if name not in self._distinct:
            try:
                found = frames.groups_of(self.raw(name).column, name=f"column {name!r}")
                self._distinct[name] = _Distinct(*found, self.raw(name).column)
            except InvalidInput:  # it contains lists or the like, or nothing
                self._distinct[name] = self.raw(name)
        return self._distinct[name]

    def values(self, name: Hashable) -> list[Any] | None:
        """Return the distinct values of a column; None where they are not plain."""
        column = self._read(name)
        return column.values if isinstance(column, _Distinct) else None

    def beside(self, names: Iterable[Hashable], bins: Container[Hashable]) -> dict[Hashable, Any]:
        """Return columns for :func:`encode_held`, as they are where they are to be binned."""
        return {name: self.raw(name) if name in bins else self._read(name) for name in names}


def encode_held(column: Any, alphabet: Alphabet, *, name: str, outside: bool = False) -> Array:
    """Return the codes of a column; with ``outside``, -1 for a value that is not declared."""
    if isinstance(column, _Distinct):
        return encode_distinct(column.values, column.places, alphabet, name=name, outside=outside)
    token = (type(alphabet), alphabet, outside)
    if token not in column.codes:
        column.codes[token] = encode_column(column.column, alphabet, name=name, outside=outside)
    codes: Array = column.codes[token]
    return codes


def shown_held(column: Any) -> Any:
    """Return a column as it goes out."""
    return column.column


def listed(values: Collection[Any], most: int) -> list[Any] | None:
    """Return values in their natural order; None where they are too many, or cannot be named in a file."""
    if len(values) > most:
        return None
    try:
        for value in values:
            label_to_plain(value)
    except InvalidInput:
        return None
    return in_order(values)


def labels_of(bins: Bins, batches: Iterable[Array]) -> list[Any]:
    """Return the names of the bins that occur."""
    seen = np.zeros(len(bins), dtype=np.bool_)
    for codes in batches:
        seen[codes] = True
    return [label for label, there in zip(bins.labels, seen.tolist(), strict=True) if there]
