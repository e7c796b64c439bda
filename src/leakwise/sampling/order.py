"""A random order of rows: every one of the n! orders has the same probability."""

from __future__ import annotations

import numpy as np

from leakwise.sampling.stream import SecureStream, stream_for_this_thread
from leakwise.types import Indices

__all__ = ["random_order"]


def random_order(count: int, stream: SecureStream | None = None) -> Indices:
    """Draw a permutation of ``0, …, count - 1``, uniform among all of them.

    Rows are sorted by random words. Rows that drew the same word are put in order by new words, and so on: by
    symmetry every order is equally likely, exactly.

    Examples
    --------
    >>> sorted(random_order(4).tolist())
    [0, 1, 2, 3]
    """
    return _by_words(count, 64, stream_for_this_thread() if stream is None else stream)


def _by_words(count: int, bits: int, stream: SecureStream) -> Indices:
    words = stream.words(count, bits)
    order = np.argsort(words)
    ranked = words[order]
    same = np.flatnonzero(ranked[1:] == ranked[:-1])
    if not same.size:
        return order
    # Runs of equal words, each put in order by words of its own.
    first = same[np.append(True, np.diff(same) > 1)]
    last = same[np.append(np.diff(same) > 1, True)] + 1
    for start, end in zip(first.tolist(), last.tolist(), strict=True):
        part = order[start : end + 1]
        order[start : end + 1] = part[_by_words(part.size, bits, stream)]
    return order
