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

    _schema: Any

    def holds(self, name: str) -> type | None:
        kind = self._schema.field(name).type
        if pa.types.is_dictionary(kind):
            kind = kind.value_type
        if pa.types.is_boolean(kind):
            return bool
        texts = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
        return str if any(is_text(kind) for is_text in texts) else None

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
            field = _with_enum(field.with_type(kind), labels)
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


def _with_enum(field: Any, labels: Sequence[Any]) -> Any:
    """Where polars noted the values of an Enum, the values that it has now; others would be read as missing."""
    notes = dict(field.metadata or {})
    known = [label for label in labels if label is not None]
    for key in [key for key in notes if key.startswith(b"_PL_ENUM_VALUES")]:
        del notes[key]
        if key == b"_PL_ENUM_VALUES2" and all(isinstance(label, str) for label in known):
            texts = [label.encode() for label in known]
            notes[key] = b"".join(b"%d;%b" % (len(text), text) for text in texts)
    return field if notes == (field.metadata or {}) else field.with_metadata(notes or None)


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
