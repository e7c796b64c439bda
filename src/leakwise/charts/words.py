"""Words with a weight: what a short page shows first, and what it never leaves out."""

from __future__ import annotations

__all__ = ["Broken", "Command", "Kept", "Notice"]


class Kept(str):
    """A guarantee that holds: what is said first."""

    __slots__ = ()


class Broken(str):
    """A limit that is not kept: said next, and never left out."""

    __slots__ = ()


class Notice(str):
    """What has to be known beside the figures: said below them, and never left out."""

    __slots__ = ()


class Command(str):
    """A command to copy: where it does not fit on a line, it goes on in the next as a shell wants it."""

    __slots__ = ()
