"""Draws of sets of letters in which the own one is more often than any other, row by row and without a list of them."""

from __future__ import annotations

import numpy as np

from leakwise.sampling.stream import SecureStream, stream_for_this_thread
from leakwise.types import Array, Bools, Indices

__all__ = ["draw_each_letter", "draw_so_many"]

_BITS = 60


def draw_each_letter(codes: Array, letters: int, own: int, other: int, stream: SecureStream | None = None) -> Bools:
    """Draw for each code a set that has its own letter with probability own/2^60, each other one with other/2^60.

    All of them independent: a row of truth values for each code.

    >>> draw_each_letter(np.array([0, 2]), 3, 1 << 60, 0).astype(int).tolist()
    [[1, 0, 0], [0, 0, 1]]
    """
    source = stream_for_this_thread() if stream is None else stream
    words = source.words(codes.size * letters, _BITS).astype(np.uint64).reshape(codes.size, letters)
    below = np.full(words.shape, np.uint64(other))
    below[np.arange(codes.size), codes.astype(np.intp)] = own
    drawn: Bools = words < below
    return drawn


def draw_so_many(codes: Array, letters: int, size: int, own: int | None, stream: SecureStream | None = None) -> Bools:
    """Draw for each code a set of ``size`` letters: with probability own/2^60 its own one and others, else only others.

    All sets of others of that size are equally likely; without ``own`` all sets are, whatever the code.

    >>> draw_so_many(np.array([0, 2]), 3, 1, 1 << 60).astype(int).tolist()
    [[1, 0, 0], [0, 0, 1]]
    """
    source = stream_for_this_thread() if stream is None else stream
    drawn = np.zeros((codes.size, letters), dtype=np.bool_)
    if own is None:
        np.put_along_axis(drawn, _orders(codes.size, letters, source)[:, :size], True, axis=1)
        return drawn
    inside = source.words(codes.size, _BITS).astype(np.uint64) < np.uint64(own)
    order = _orders(codes.size, letters - 1, source)
    # The first of the others in a random order; those from the own letter on are one further.
    others = order + (order >= codes.astype(np.intp)[:, None])
    chosen = np.arange(letters - 1)[None, :] < (size - inside)[:, None]
    rows = np.arange(codes.size)
    drawn[np.repeat(rows, letters - 1).reshape(chosen.shape)[chosen], others[chosen]] = True
    drawn[rows, codes.astype(np.intp)] = inside
    return drawn


def _orders(rows: int, count: int, stream: SecureStream) -> Indices:
    """A random order of ``count`` things for each row: sorted by words, and again where two words are the same.

    Given that its words are different, all orders of a row are equally likely, exactly.
    """
    orders = np.empty((rows, count), dtype=np.intp)
    left = np.arange(rows)
    while left.size:
        words = stream.words(left.size * count, 64).reshape(left.size, count)
        found = np.argsort(words, axis=1)
        ranked = np.take_along_axis(words, found, axis=1)
        different = (ranked[:, 1:] != ranked[:, :-1]).all(axis=1)
        orders[left[different]] = found[different]
        left = left[~different]
    return orders
