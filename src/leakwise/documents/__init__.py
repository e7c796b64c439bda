"""Files that Leakwise writes: versioned JSON with a checksum, written aside and moved into place when whole."""

from leakwise.documents.store import (
    created_like,
    creation_mode,
    document_format,
    read_document,
    read_integer,
    to_plain,
    write_atomically,
    write_document,
    write_integer,
)

__all__ = [
    "created_like",
    "creation_mode",
    "document_format",
    "read_document",
    "read_integer",
    "to_plain",
    "write_atomically",
    "write_document",
    "write_integer",
]
