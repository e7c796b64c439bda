"""One thread for the matrices of a search: they are small, and threads that wait for each other cost more than they do.

On a machine that others use too, a design of fifteen letters took six times as much processor time with two threads.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["one_blas_thread"]


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Let the libraries of linear algebra use one thread while a search runs, and as many as before afterwards."""
    with _libraries().limit(limits=1, user_api="blas"):
        yield


@functools.cache
def _libraries() -> Any:
    import scipy.linalg  # noqa: F401  (it brings a library of its own, which must be loaded to be found)
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
