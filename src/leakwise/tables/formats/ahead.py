"""The next part of a file is read on another thread while the last one is used."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

__all__ = ["ahead"]

T = TypeVar("T")


def ahead(items: Generator[T, None, None]) -> Iterator[T]:
    """Return the same items in the same order, each made while the one before it is in use.

    One item is made ahead, never more. An error comes where it would come without this: after the items before it.

    >>> list(ahead(n * n for n in range(4)))
    [0, 1, 4, 9]
    """
    with ThreadPoolExecutor(1, thread_name_prefix="leakwise-ahead") as pool:
        try:
            coming = pool.submit(_next, items)
            while (found := coming.result()) is not None:
                coming = pool.submit(_next, items)
                yield found[0]
        finally:
            # Whoever stops early has its file closed. The thread is done with it by then.
            pool.submit(items.close).result()


def _next(items: Iterator[T]) -> tuple[T] | None:
    for item in items:
        return (item,)
    return None
