"""Outcome codes from letter codes on all cores, each thread with a secure stream of its own."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from leakwise.errors import InvalidInput
from leakwise.mechanism import Mechanism

if TYPE_CHECKING:
    from leakwise.sampling import SecureStream

__all__ = ["draw_codes", "randomize_codes", "seeded_stream"]

# Rows a thread takes at a time: large enough that handing them out costs nothing, small enough to share evenly.
_CHUNK = 1 << 20


def randomize_codes(
    codes: npt.ArrayLike, mechanism: Mechanism, *, unsafe_seed: int | None = None
) -> npt.NDArray[np.unsignedinteger[Any]]:
    """Return one independent outcome code for each letter code, in their order, drawn exactly as the mechanism says.

    Parameters
    ----------
    codes
        Places of the letters in ``mechanism.inputs``, one dimension.
    mechanism
        Exact over a power of two; ``mechanism.dyadic(60)`` makes it so.
    unsafe_seed
        Makes the draws repeatable, for tests only (and on one thread): who knows the seed can undo the release.

    Examples
    --------
    >>> from leakwise.mechanism import identity
    >>> randomize_codes([0, 2, 1], identity(3)).tolist()
    [0, 2, 1]
    """
    return draw_codes(codes, mechanism.sampler, seeded_stream(unsafe_seed))


def seeded_stream(unsafe_seed: int | None) -> SecureStream | None:
    """Return the repeatable stream of a seed, for tests; None where the draws are to be secure."""
    if unsafe_seed is None:
        return None
    from leakwise.sampling import SecureStream  # the cipher is loaded when someone draws

    return SecureStream(unsafe_seed=unsafe_seed)


def draw_codes(
    codes: npt.ArrayLike, sampler: Any, stream: SecureStream | None = None
) -> npt.NDArray[np.unsignedinteger[Any]]:
    """As :func:`randomize_codes` from a sampler; a given stream is used alone, in order, on this thread."""
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
