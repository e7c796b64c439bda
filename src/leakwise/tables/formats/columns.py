"""What Parquet and Arrow files share: their columns are Arrow arrays, and their schema carries metadata."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy.typing as npt
import pyarrow as pa

from leakwise.alphabet import Alphabet, encode_column
from leakwise.tables import frames
from leakwise.tables.kinds.of_arrow import maker

__all__ = ["ArrowColumns", "Replacement"]


class ArrowColumns:
    """Columns of a batch as Arrow arrays."""

    def encode(self, column: Any, alphabet: Alphabet, *, name: str) -> npt.NDArray[Any]:
        return encode_column(column, alphabet, name=name)

    def distinct(self, column: Any) -> tuple[list[Any], npt.NDArray[Any]]:
        return frames.groups_of(column)


class Replacement:
    """The schema of the released table, and what makes its new columns: one type for all batches of a file."""

    def __init__(self, schema: Any, outputs: Mapping[str, Sequence[Any]], carried: Mapping[bytes, bytes]) -> None:
        self.make: dict[str, Callable[[npt.NDArray[Any]], Any]] = {}
        changed: dict[str, Any] = {}
        for name, labels in outputs.items():
            place = schema.get_field_index(name)
            field = schema.field(place)
            self.make[name], kind = maker(labels, field.type)
            if kind != field.type:
                changed[name] = kind
            field = field.with_type(kind)
            if None in labels:
                field = field.with_nullable(True)
            schema = schema.set(place, field)
        metadata = {**(schema.metadata or {}), **carried}
        if changed and b"pandas" in metadata:
            metadata[b"pandas"] = _pandas_note(metadata[b"pandas"], changed)
        self.schema = schema.with_metadata(metadata or None)

    def batch(self, batch: Any, new: Mapping[str, tuple[npt.NDArray[Any], Sequence[Any]]]) -> Any:
        """The record batch (or table) with its new columns."""
        arrays = [
            self.make[name](new[name][0]) if name in new else batch.column(place)
            for place, name in enumerate(self.schema.names)
        ]
        return type(batch).from_arrays(arrays, schema=self.schema)


def _pandas_note(note: bytes, changed: Mapping[str, Any]) -> bytes:
    """The note by which pandas finds its types again, without a wrong word about a column whose type is new."""
    try:
        plain = json.loads(note)
        for entry in plain["columns"]:
            if entry["field_name"] in changed:
                kind = changed[entry["field_name"]]
                text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
                entry.update(pandas_type="unicode" if text else str(kind), numpy_type="object", metadata=None)
    except (ValueError, KeyError, TypeError):
        return note  # not of the form that pandas writes: nobody will read it as such
    return json.dumps(plain).encode()
