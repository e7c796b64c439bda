"""One envelope for every file: format, version, checksum, body.

The body is a typed msgspec structure; what does not fit it is reported with the name of the field. No pickle, ever.
"""

from __future__ import annotations

import hashlib
import os
import re
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from leakwise.documents.atomic import write_atomically
from leakwise.errors import InvalidInput

__all__ = [
    "document_checksum",
    "document_format",
    "read_document",
    "read_fraction",
    "read_integer",
    "to_plain",
    "write_document",
    "write_fraction",
    "write_integer",
]

Body = TypeVar("Body", bound=msgspec.Struct)


# Deep nesting ends in a RecursionError, half a character in a UnicodeDecodeError.
_UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class _Envelope(msgspec.Struct, forbid_unknown_fields=True):
    format: str
    version: int
    sha256: str
    body: msgspec.Raw


def to_plain(body: msgspec.Struct) -> dict[str, Any]:
    """Return a structure as plain dictionaries and lists."""
    plain: dict[str, Any] = msgspec.to_builtins(body)
    return plain


def write_integer(number: int) -> str:
    """A whole number ≥ 0 as hexadecimal text: JSON readers lose digits beyond 2^53, and Python limits long decimals.

    >>> write_integer(2**60)
    '0x1000000000000000'
    """
    if number < 0:
        raise InvalidInput(f"A whole number of at least 0 is expected. Got {number} instead.")
    return hex(number)


_WHOLE = re.compile(r"0x[0-9a-f]+", re.ASCII)


def read_integer(text: str, name: str) -> int:
    """Return the whole number that :func:`write_integer` wrote."""
    if not _WHOLE.fullmatch(text):
        raise InvalidInput(f"{name!r} is damaged: {text[:40]!r} is not a whole number such as '0x1f'.")
    return int(text, 16)


def write_fraction(value: Fraction) -> list[str]:
    """Return a fraction of at least 0 as the texts of its two whole numbers."""
    return [write_integer(value.numerator), write_integer(value.denominator)]


def read_fraction(pair: list[str], name: str) -> Fraction:
    """Return the fraction that :func:`write_fraction` wrote."""
    numbers = [read_integer(text, name) for text in pair]
    if len(numbers) != 2 or not numbers[1]:
        raise InvalidInput(f"{name!r} is damaged: a number in it is not a fraction.")
    return Fraction(numbers[0], numbers[1])


def _checksum(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()


def _encoded(body: msgspec.Struct, failed: str) -> bytes:
    try:
        return msgspec.json.encode(body, order="deterministic")
    except UnicodeEncodeError as error:
        raise InvalidInput(f"{failed}: a text in it is not valid Unicode ({error}).") from error


def document_checksum(body: msgspec.Struct) -> str:
    """Return the SHA-256 that a file with this body has in it."""
    return _checksum(_encoded(body, "Cannot compute a checksum"))


def write_document(path: str | os.PathLike[str], format: str, version: int, body: msgspec.Struct) -> None:
    """Write a body in its envelope."""
    encoded = _encoded(body, f"Cannot write {str(path)!r}")
    envelope = _Envelope(format, version, _checksum(encoded), msgspec.Raw(encoded))
    write_atomically(path, msgspec.json.encode(envelope) + b"\n")


def _envelope_of(path: str | os.PathLike[str]) -> _Envelope:
    name = str(path)
    try:
        content = Path(path).read_bytes()
    except (OSError, ValueError) as error:  # a ValueError is a path with a zero byte
        raise InvalidInput(f"Cannot read {name!r}: {getattr(error, 'strerror', None) or error}.") from error
    try:
        return msgspec.json.decode(content, type=_Envelope)
    except _UNREADABLE as error:
        raise InvalidInput(f"{name!r} is not a Leakwise file, or it is damaged: {error}.") from error


def document_format(path: str | os.PathLike[str]) -> str:
    """Return what a file says it holds."""
    return _envelope_of(path).format


def read_document(path: str | os.PathLike[str], format: str, version: int, body: type[Body]) -> Body:
    """Read a body back; a damaged, foreign or newer file is an error that says which."""
    name = str(path)
    envelope = _envelope_of(path)
    if envelope.format != format:
        raise InvalidInput(f"{name!r} holds a {envelope.format!r}. Expected a {format!r}.")
    if envelope.version > version:
        raise InvalidInput(
            f"{name!r} was written by a newer Leakwise (format version {envelope.version}, this one reads up to "
            f"{version}). Update with: pip install -U leakwise"
        )
    if envelope.version < 1:
        raise InvalidInput(f"{name!r} is damaged: {envelope.version} is not a format version.")
    raw = bytes(envelope.body)
    if _checksum(raw) != envelope.sha256:
        raise InvalidInput(
            f"{name!r} is damaged: its content does not match its checksum. Take a fresh copy; do not repair by hand."
        )
    try:
        return msgspec.json.decode(raw, type=body)
    except _UNREADABLE as error:
        raise InvalidInput(f"{name!r} is not a valid {format!r}: {error}.") from error
