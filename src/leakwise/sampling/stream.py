"""The secure random stream: AES-256 in counter mode, keyed by the operating system."""

from __future__ import annotations

import hashlib
import os
import threading
import warnings
from typing import Any, NoReturn

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from leakwise.errors import InvalidInput, LeakwiseError, UnsafeSeedWarning
from leakwise.types import Array

__all__ = ["SecureStream", "stream_for_this_thread", "word_dtype"]

# The key stream is the encryption of zeros. A chunk of this size stays in the second-level cache.
_ZEROS = memoryview(bytes(1 << 17))

# 2**32 cipher blocks under one key: that they never collide tells them from uniform words with advantage at
# most 2**-65 (the switching lemma, q**2 / 2**129), and the 128-bit counter is nowhere near a wrap.
_BYTES_PER_KEY = 16 << 32

_forks = 0


def _note_fork() -> None:
    global _forks
    _forks += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_note_fork)


def word_dtype(bits: int) -> np.dtype[Any]:
    """Return the smallest unsigned dtype that holds a word of so many bits.

    >>> word_dtype(12)
    dtype('uint16')
    """
    if not 0 <= bits <= 64:
        raise InvalidInput(f"bits must be from 0 to 64. Got {bits!r} instead.")
    return np.dtype(f"u{next(size for size in (1, 2, 4, 8) if bits <= 8 * size)}")


class SecureStream:
    """Uniform random words from AES-256 in counter mode under a key from the operating system.

    The 32-byte key and the 16-byte start of the counter come from ``os.urandom``; both are replaced after 64 GiB, and
    in a child process before its first word, so that no two processes share any of a key stream. Use one stream per
    thread (`stream_for_this_thread`). A stream cannot be copied or pickled: two copies would hand out the same words
    twice.

    Parameters
    ----------
    unsafe_seed
        For tests only: a non-negative integer from which everything is derived. Whoever knows or guesses the seed
        undoes a release made with it. Such a stream repeats itself, also across a fork.

    Examples
    --------
    >>> stream = SecureStream(unsafe_seed=1)
    >>> stream.words(6, bits=4)
    array([15,  0,  7,  4,  1,  7], dtype=uint8)
    """

    __slots__ = ("__weakref__", "_born", "_cipher", "_left", "_seed", "_turn")

    def __init__(self, *, unsafe_seed: int | None = None) -> None:
        if unsafe_seed is not None and (type(unsafe_seed) is not int or unsafe_seed < 0):
            raise InvalidInput(
                f"unsafe_seed must be a non-negative int, or left out for a secure stream. Got {unsafe_seed!r} instead."
            )
        if unsafe_seed is not None:
            warnings.warn(
                "unsafe_seed makes the draws repeatable: anyone who knows or guesses the seed can undo the release. It "
                "is for tests; leave it out to release data.",
                UnsafeSeedWarning,
                stacklevel=3,
            )
        self._seed = unsafe_seed
        self._turn = 0
        self._rekey()

    def _rekey(self) -> None:
        """Take a new key and a new counter."""
        if self._seed is None:
            material = os.urandom(48)
        else:
            material = hashlib.sha512(b"leakwise unsafe seed %d turn %d" % (self._seed, self._turn)).digest()
        self._turn += 1
        self._cipher = Cipher(algorithms.AES(material[:32]), modes.CTR(material[32:48])).encryptor()
        self._left = _BYTES_PER_KEY
        # The process id sees forks made behind Python's back, the count those that end up with a reused id.
        self._born = (os.getpid(), _forks)

    @property
    def seeded(self) -> bool:
        """Whether the stream can be repeated by anyone who knows its seed."""
        return self._seed is not None

    def fill(self, buffer: Any) -> None:
        """Overwrite a contiguous writable buffer (an array, a bytearray) with uniform random bytes."""
        view = memoryview(buffer)
        if view.readonly or not view.c_contiguous:
            raise InvalidInput(
                "buffer must be writable and C-contiguous. Pass a new array, or a contiguous copy of it."
            )
        if view.nbytes == 0:
            return
        view = view.cast("B")
        for start in range(0, view.nbytes, _ZEROS.nbytes):
            part = view[start : start + _ZEROS.nbytes]
            forked = self._seed is None and self._born != (os.getpid(), _forks)
            if forked or self._left < part.nbytes:
                self._rekey()
            self._left -= part.nbytes
            self._cipher.update_into(_ZEROS[: part.nbytes], part)

    def words(self, count: int, bits: int, out: Array | None = None) -> Array:
        """Return ``count`` independent uniform integers in ``[0, 2**bits)``, in the smallest unsigned dtype.

        Parameters
        ----------
        count
            How many words.
        bits
            Their width, from 0 to 64.
        out
            A contiguous array of ``count`` words of that dtype to write to, instead of a new one.
        """
        dtype = word_dtype(bits)
        if out is None:
            out = np.empty(count, dtype)
        elif out.dtype != dtype or out.size != count:
            raise InvalidInput(
                f"out must be an array of {count} words of {dtype}. "
                f"Got {out.size} of {out.dtype} instead; leave it out for a new array."
            )
        if bits == 0:
            out.fill(0)
            return out
        self.fill(out)
        spare = 8 * dtype.itemsize - bits
        if spare:
            np.right_shift(out, spare, out=out)
        return out

    def __repr__(self) -> str:
        return "SecureStream()" if self._seed is None else "SecureStream(unsafe_seed=...)"

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise LeakwiseError(
            "A SecureStream cannot be copied or pickled: both copies would hand out the same random words. "
            "Make a new SecureStream() in the other process or thread."
        )


_of_thread = threading.local()


def stream_for_this_thread() -> SecureStream:
    """Return the secure stream of the calling thread, made at its first call."""
    stream: SecureStream | None = getattr(_of_thread, "stream", None)
    if stream is None:
        stream = _of_thread.stream = SecureStream()
    return stream
