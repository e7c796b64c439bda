"""How large an aggregate may be to be written out as a mechanism in exact integers."""

from __future__ import annotations

from leakwise.aggregate.aggregate import Aggregate
from leakwise.errors import InvalidInput

__all__ = ["fits", "refuse_long"]

_MOST_BITS = 1 << 29  # 64 MiB of digits
_MOST_ENTRIES = 20_000


def fits(entries: int, bits: int, most: int = _MOST_BITS) -> bool:
    """Return whether a matrix of so many entries of so many bits is written out."""
    return entries <= _MOST_ENTRIES and entries * bits <= most


_NEEDLESS = "Its lift, envelope(delta) and sample() need no matrix."


def refuse_long(aggregate: Aggregate, entries: int, bits: int, hint: str = _NEEDLESS) -> None:
    """Refuse to write out a mechanism that would fill the memory; the hint says what to do instead."""
    if not fits(entries, bits):
        raise InvalidInput(
            f"A {aggregate.kind} of {aggregate.unknown:,} records is too large to write out as exact integers "
            f"({entries:,} of up to {bits:,} bits). {hint}"
        )
