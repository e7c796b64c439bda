"""Files that Leakwise writes: versioned JSON with a checksum, written aside and moved into place when whole."""

from leakwise.documents.atomic import created_like, private, write_atomically, write_new, written_aside
from leakwise.documents.store import (
    document_checksum,
    document_format,
    read_document,
    read_fraction,
    read_integer,
    to_plain,
    write_document,
    write_fraction,
    write_integer,
)

__all__ = [
    "created_like",
    "document_checksum",
    "document_format",
    "private",
    "read_document",
    "read_fraction",
    "read_integer",
    "to_plain",
    "write_atomically",
    "write_document",
    "write_fraction",
    "write_integer",
    "write_new",
    "written_aside",
]
