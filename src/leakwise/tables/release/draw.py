"""Outcome codes from letter codes on all cores, each thread with a secure stream of its own."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from leakwise.errors import InvalidInput

if TYPE_CHECKING:
    from leakwise.sampling import SecureStream

__all__ = ["draw_codes", "seeded_stream"]

# Rows a thread takes at a time: large enough that handing them out costs nothing, small enough to share evenly.
_CHUNK = 1 << 20


def seeded_stream(unsafe_seed: int | None) -> SecureStream | None:
    """Return the repeatable stream of a seed, for tests; None where the draws are to be secure."""
    if unsafe_seed is None:
        return None
    from leakwise.sampling import SecureStream  # the cipher is loaded when someone draws

    return SecureStream(unsafe_seed=unsafe_seed)


def draw_codes(
    codes: npt.ArrayLike, sampler: Any, stream: SecureStream | None = None
) -> npt.NDArray[np.unsignedinteger[Any]]:
    """Draw one independent outcome code for each letter code, in their order, exactly as the mechanism of the sampler.

    A given stream is used alone, in order, on this thread.

    >>> from leakwise.mechanism import identity
    >>> draw_codes([0, 2, 1], identity(3).sampler).tolist()
    [0, 2, 1]
    """
    letters = np.asarray(codes)
    if letters.ndim != 1:
        raise InvalidInput(f"codes must have one dimension. Got an array of shape {letters.shape} instead.")
    starts = range(0, letters.size, _CHUNK)
    workers = min(_cores(), len(starts))
    if stream is not None or workers < 2:
        drawn: npt.NDArray[np.unsignedinteger[Any]] = sampler.draw(codes, stream)
        return drawn
    from leakwise.sampling import stream_for_this_thread

    outcomes = np.empty(letters.size, sampler.dtype)

    def work(start: int) -> None:
        part = slice(start, start + _CHUNK)
        sampler.draw(letters[part], stream_for_this_thread(), out=outcomes[part])

    with ThreadPoolExecutor(workers, thread_name_prefix="leakwise-release") as pool:
        for _ in pool.map(work, starts):  # the loop brings an error of a thread up here
            pass
    return outcomes


def _cores() -> int:
    """The cores this process may use, which in a container are fewer than the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
