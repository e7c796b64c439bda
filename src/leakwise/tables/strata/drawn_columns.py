"""Outcomes that were drawn already: the later secrets of the same rows are counted, and drawn for, beside them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from leakwise.alphabet import Alphabet, encode_distinct
from leakwise.errors import InvalidInput
from leakwise.tables.kinds.joint_columns import decode_parts
from leakwise.types import Array

__all__ = ["DrawnColumn", "DrawnColumns", "encoder", "outcome_columns"]

Encode = Callable[..., Any]


@dataclass(frozen=True)
class DrawnColumn:
    """A column of outcomes: the values it can have, and the place of every row among them."""

    values: Sequence[Any]
    places: Array

    def __len__(self) -> int:
        return self.places.size


@dataclass(frozen=True)
class _Secret:
    """The codes of a secret as they were, the outcomes that were drawn for them, and the columns these make."""

    codes: Array
    drawn: Array
    columns: dict[Hashable, DrawnColumn]


class DrawnColumns:
    """The outcomes of the secrets of a table that were drawn for so far, whole, in the order of its rows."""

    def __init__(self) -> None:
        self._secrets: dict[tuple[Hashable, ...], _Secret] = {}

    def add(self, names: Sequence[Hashable], outcomes: Alphabet, codes: Array, drawn: Array) -> None:
        """Keep what was drawn for a secret, and the codes that it was drawn for."""
        self._secrets[tuple(names)] = _Secret(codes, drawn, outcome_columns(names, outcomes, drawn))

    def __len__(self) -> int:
        return len(self._secrets)

    @property
    def names(self) -> list[Hashable]:
        """The columns that contain outcomes."""
        return [name for one in self._secrets.values() for name in one.columns]

    def rows(self, start: int, size: int) -> dict[Hashable, DrawnColumn]:
        """Return the outcome columns of some rows."""
        part = slice(start, start + size)
        return {
            name: DrawnColumn(column.values, column.places[part])
            for one in self._secrets.values()
            for name, column in one.columns.items()
        }

    def of(self, names: Sequence[Hashable], codes: Array, start: int) -> Array | None:
        """Return the outcomes of rows of a secret, from ``start`` on; None where it was not drawn for.

        The rows must come as they came before, or outcomes would go to other rows than they were drawn for.
        """
        found = self._secrets.get(tuple(names))
        if found is None:
            return None
        part = slice(start, start + codes.size)
        if not np.array_equal(found.codes[part], codes):
            raise InvalidInput(
                "The table was changed, or its rows came in another order, while it was released. Nothing was written; "
                "try again."
            )
        return found.drawn[part]


def outcome_columns(names: Sequence[Hashable], outcomes: Alphabet, drawn: Array) -> dict[Hashable, DrawnColumn]:
    """Return the columns that the outcomes of a secret make: one for each of its own."""
    if len(names) == 1:
        return {names[0]: DrawnColumn(outcomes.labels, drawn)}
    parts = decode_parts(drawn, outcomes, names)
    return {name: DrawnColumn(labels, part) for name, (labels, part) in zip(names, parts, strict=True)}


def encoder(encode: Encode) -> Encode:
    """Return what makes codes of columns as ``encode`` does, and of outcome columns as well."""

    def encoded(column: Any, alphabet: Alphabet, *, name: str, outside: bool = False) -> Array:
        if isinstance(column, DrawnColumn):
            return encode_distinct(column.values, column.places, alphabet, name=name, outside=outside)
        found: Array = encode(column, alphabet, name=name, outside=outside)
        return found

    return encoded
