"""One module for each kind of data. The module of a library is loaded when the first object of it is seen."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Protocol

from leakwise.types import Array

__all__ = ["Kind"]


class Kind(Protocol):
    """What a module of this package answers about tables and columns of its library."""

    def is_table(self, data: Any, /) -> bool:
        """Return whether the object is a table."""

    def is_column(self, data: Any, /) -> bool:
        """Return whether the object is one column."""

    def names(self, table: Any, /) -> list[Hashable]:
        """Return the names of the columns, in order, repetitions included."""

    def hold(self, table: Any, names: Sequence[Hashable] | None, /) -> Any:
        """Return the table with its rows at hand (at least the named columns)."""

    def give_back(self, held: Any, original: Any, /) -> Any:
        """Return a held table as what the user gave."""

    def column(self, table: Any, name: Any, /) -> Any:
        """Return one column of a held table that has it once."""

    def replace(self, table: Any, columns: Mapping[Any, Any], drop: Sequence[Any], /) -> Any:
        """Return the held table with columns exchanged and others dropped; all else, and the source, as it was."""

    def take(self, data: Any, places: Array, /) -> Any:
        """Return the rows of a held table, or of a column, in the given places; nothing of the old order stays."""

    def decode(self, codes: Array, labels: Sequence[Any], like: Any, /) -> Any:
        """Return the labels of codes as a column of the kind of ``like``."""

    def row_labels(self, data: Any, /) -> list[tuple[Hashable, list[Any], Array]]:
        """What names the rows of a table or column beside its values: name, distinct labels, place of each row."""

    def distinct(self, column: Any, /) -> list[Any]:
        """Return the values of a column, each once, missing ones as None, in their natural order."""
