"""What Parquet and Arrow files share: their columns are Arrow arrays, and their schema carries metadata."""

from __future__ import annotations

import datetime
import decimal
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from leakwise.alphabet import Alphabet, encode_column
from leakwise.errors import InvalidInput
from leakwise.tables.formats import Columns, TableFile
from leakwise.tables.kinds import frames
from leakwise.tables.kinds.arrow_buffers import without_hidden
from leakwise.tables.kinds.arrow_schema import released_schema
from leakwise.tables.kinds.of_arrow import maker
from leakwise.types import Array

__all__ = ["ArrowColumns", "Replacement", "held_type"]


class ArrowColumns(TableFile):
    """Columns of a batch as Arrow arrays.

    A new source gives ``names``, ``_schema`` and :meth:`arrow_batches`; it is then released into any kind of file.
    """

    _schema: Any

    def _names(self) -> list[str]:
        """The names of the schema, as texts."""
        try:
            return list(self._schema.names)
        except UnicodeDecodeError as error:
            raise InvalidInput(
                f"{str(self.path)!r} is damaged: the name of a column is not a text ({error})."
            ) from error

    @abstractmethod
    def arrow_batches(self, names: Sequence[str] | None = None) -> Iterator[Any]:
        """Return record batches of the named columns in this order, each once; of all columns when left out.

        Their types are those of the schema.
        """

    def batches(self, names: Sequence[str]) -> Iterator[Columns]:
        for batch in self.arrow_batches(list(dict.fromkeys(names))):
            yield {name: batch.column(name) for name in names}

    def arrow_schema(self, names: Sequence[str], drawn: Sequence[str] = ()) -> Any:
        return pa.schema([self._schema.field(name) for name in names], metadata=self._schema.metadata)

    def pieces(self, reads: Sequence[str], schema: Any) -> Iterator[tuple[Columns, Any]]:
        for batch in self.arrow_batches(list(dict.fromkeys([*reads, *schema.names]))):
            yield {name: batch.column(name) for name in reads}, batch.select(schema.names)

    def holds(self, name: str) -> type | None:
        return held_type(self._schema.field(name).type)

    def encode(self, column: Any, alphabet: Alphabet, *, name: str, outside: bool = False) -> Array:
        return encode_column(column, alphabet, name=name, outside=outside)

    def distinct(self, column: Any) -> tuple[list[Any], Array]:
        return frames.groups_of(column)


def held_type(kind: Any) -> type | None:
    """The type of the values of a column of this Arrow type, where it is not that of whole numbers."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    kinds: dict[Callable[[Any], bool], type] = {
        pa.types.is_boolean: bool,
        pa.types.is_string: str,
        pa.types.is_large_string: str,
        pa.types.is_string_view: str,
        pa.types.is_floating: float,
        pa.types.is_decimal: decimal.Decimal,
        pa.types.is_timestamp: datetime.datetime,
        pa.types.is_date: datetime.date,
    }
    return next((found for is_one, found in kinds.items() if is_one(kind)), None)


class Replacement:
    """The schema of the released table, and what makes its new columns: one type for all batches of a file.

    ``hidden`` says whether the place that the batches go to leaves out what their buffers hold beside the rows, as
    Parquet does. Columns in ``drop`` are left out.
    """

    def __init__(
        self,
        schema: Any,
        outputs: Mapping[str, Sequence[Any]],
        carried: Mapping[bytes, bytes],
        *,
        hidden: bool = False,
        drop: Sequence[str] = (),
    ) -> None:
        self.make: dict[str, Callable[[Array], Any]] = {}
        new: dict[str, tuple[Any, Sequence[Any]]] = {}
        for name, labels in outputs.items():
            self.make[name], kind = maker(labels, schema.field(name).type)
            new[name] = (kind, labels)
        self.schema = released_schema(schema, new, carried, drop)
        self._kept = [(place, name) for place, name in enumerate(schema.names) if name not in drop]
        self._shown: Callable[[Any], Any] = _as_it_is if hidden else without_hidden

    def batch(self, batch: Any, new: Mapping[str, tuple[Array, Sequence[Any]]]) -> Any:
        """Return the record batch (or table) with its new columns."""
        arrays = [
            self.make[name](new[name][0]) if name in new else self._shown(batch.column(place))
            for place, name in self._kept
        ]
        return type(batch).from_arrays(arrays, schema=self.schema)


def _as_it_is(column: Any) -> Any:
    return column
