"""One thread for small matrices: threads that wait for each other cost more than they do.

On a machine that others use too, a design of fifteen letters took six times as much processor time with two threads,
and an estimate for fifty values up to 37 times.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["one_blas_thread"]


# The number of threads is one for the whole process: two searches at once would restore what the other one had set.
_turn = threading.Lock()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Let the libraries of linear algebra use one thread while something runs, and as many as before afterwards.

    What begins while another one runs leaves that to the other.
    """
    if not _turn.acquire(blocking=False):
        yield
        return
    try:
        with _libraries().limit(limits=1, user_api="blas"):
            yield
    finally:
        _turn.release()


@functools.cache
def _libraries() -> Any:
    import scipy.linalg  # noqa: F401  (it brings a library of its own, which must be loaded to be found)
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
