"""The schema of a released Arrow table: what its source said about the rows stays behind.

Notes at a table or at a column are free text, and may tell of the true values ("yes=1503"). Kept is what a reader needs
to find the types again, and nothing else: of pandas' note the types, of polars' notes the categories of other columns,
the names of extension types, the numbers of Parquet fields.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

__all__ = ["released_schema"]

_KEPT = (b"ARROW:extension:name", b"ARROW:extension:metadata", b"PARQUET:field_id")
_KEPT_OF_POLARS = (b"_PL_ENUM_VALUES", b"_PL_CATEGORICAL", b"_PL_EMPTY_CATEGORICAL")
_PANDAS = ("index_columns", "column_indexes", "columns", "creator", "pandas_version")
_PANDAS_COLUMN = ("name", "field_name", "pandas_type", "numpy_type")
_PANDAS_TYPE = ("timezone", "precision", "scale", "encoding", "num_categories", "ordered")


def released_schema(
    schema: Any, new: Mapping[str, tuple[Any, Sequence[Any]]], carried: Mapping[bytes, bytes], drop: Sequence[str] = ()
) -> Any:
    """Return the schema with new types for some columns.

    Parameters
    ----------
    schema
        That of the source.
    new
        For each exchanged column its type, and the labels that it can hold, as far as they are known.
    carried
        What the released table says about itself.
    drop
        Columns that are left out, with all that is said of them.
    """
    fields = []
    for field in schema:
        if field.name in drop:
            continue
        if field.name not in new:
            fields.append(_bare(field, (*_KEPT, *_KEPT_OF_POLARS)))
            continue
        kind, labels = new[field.name]
        fields.append(_with_enum(field, kind, labels))
    metadata = dict(carried)
    if note := _pandas_note((schema.metadata or {}).get(b"pandas"), schema, new, drop):
        metadata[b"pandas"] = note
    return pa.schema(fields, metadata=metadata or None)


def _bare(field: Any, kept: tuple[bytes, ...]) -> Any:
    """The field, and the fields inside it, with no other notes than those that are kept."""
    notes = {key: value for key, value in (field.metadata or {}).items() if key.startswith(kept)}
    kind = field.type
    if pa.types.is_struct(kind):
        kind = pa.struct([_bare(part, kept) for part in kind])
    elif pa.types.is_list(kind):
        kind = pa.list_(_bare(kind.value_field, kept))
    elif pa.types.is_large_list(kind):
        kind = pa.large_list(_bare(kind.value_field, kept))
    return field.with_type(kind).with_metadata(notes or None)


def _with_enum(field: Any, kind: Any, labels: Sequence[Any]) -> Any:
    """A released field. Where polars noted the values of an Enum, those it has now: others would be read as missing."""
    notes = {key: value for key, value in (field.metadata or {}).items() if key == b"PARQUET:field_id"}
    known = [label for label in labels if label is not None]
    if b"_PL_ENUM_VALUES2" in (field.metadata or {}) and labels and all(isinstance(label, str) for label in known):
        texts = [label.encode() for label in known]
        notes[b"_PL_ENUM_VALUES2"] = b"".join(b"%d;%b" % (len(text), text) for text in texts)
    return pa.field(field.name, kind, field.nullable or None in labels, notes or None)


def _pandas_note(note: bytes | None, schema: Any, new: Mapping[str, Any], drop: Sequence[str]) -> bytes | None:
    """The note by which pandas finds its types again: no attrs, no number of the categories that there were."""
    if note is None:
        return None
    try:
        given = json.loads(note)
        plain = {key: given[key] for key in _PANDAS if key in given}
        entries = [entry for entry in given["columns"] if entry["field_name"] not in drop]
        plain["columns"] = [_pandas_column(entry, schema, new) for entry in entries]
        if "index_columns" in plain:
            plain["index_columns"] = [one for one in plain["index_columns"] if one not in drop]
    except (ValueError, KeyError, TypeError):
        return None  # not of the form that pandas writes: nobody could read it as such
    return json.dumps(plain).encode()


def _pandas_column(entry: Mapping[str, Any], schema: Any, new: Mapping[str, Any]) -> dict[str, Any]:
    told = {key: entry.get(key) for key in _PANDAS_COLUMN}
    known = entry.get("metadata") or {}
    told["metadata"] = {key: known[key] for key in _PANDAS_TYPE if key in known} or None
    if (name := entry["field_name"]) not in new:
        return told
    kind, labels = new[name]
    if pa.types.is_dictionary(kind):
        shown = {"num_categories": sum(label is not None for label in labels), "ordered": kind.ordered}
        told |= {"pandas_type": "categorical", "numpy_type": str(kind.index_type), "metadata": shown}
    elif kind != schema.field(name).type or "num_categories" in known:
        text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
        told |= {"pandas_type": "unicode" if text else str(kind), "numpy_type": "object", "metadata": None}
    return told
