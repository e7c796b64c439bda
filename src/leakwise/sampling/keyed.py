"""Words that repeat: a pseudo-random function of a secret key, a context, a code and a text, a block of rows at a time.

The function is the CBC-MAC of AES-256 over a message whose first block has its length, so that no message is the
beginning of another; on such messages it cannot be told from a random function [BKR]_.

.. [BKR] M. Bellare, J. Kilian, P. Rogaway. The security of the cipher block chaining message authentication code.
   Journal of Computer and System Sciences 61 (2000).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from leakwise.errors import InvalidInput
from leakwise.sampling._arrays import blocks
from leakwise.types import Array, Counts, Words

__all__ = ["ByteTexts", "KeyedWords"]

_WIDTH = 16
# The bytes of a last block that belong to a text of so many bytes: those after them are zero.
_KEPT = np.array([[0xFF] * kept + [0] * (_WIDTH - kept) for kept in range(_WIDTH + 1)], dtype=np.uint8).view("<u8")


@dataclass(frozen=True)
class ByteTexts:
    """A text of bytes for each row: where it starts in the data, and how long it is.

    >>> texts = ByteTexts.of([b"ada", b"bo"])
    >>> texts.lengths.tolist(), bytes(texts.data)
    ([3, 2], b'adabo')
    """

    data: Array
    starts: Counts
    lengths: Counts

    @classmethod
    def of(cls, texts: list[bytes]) -> ByteTexts:
        """Return texts that lie one behind the other."""
        lengths = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))
        return cls(np.frombuffer(b"".join(texts), dtype=np.uint8), np.cumsum(lengths) - lengths, lengths)

    def take(self, places: Array) -> ByteTexts:
        """Return the texts in the given places."""
        return ByteTexts(self.data, self.starts[places], self.lengths[places])

    def __len__(self) -> int:
        return self.lengths.size


class KeyedWords:
    """64-bit words from AES-256 under a secret key: the same word for the same context, code and text, for ever.

    For any two different (context, code, text) the words are, to anyone without the key, independent and uniform.
    What is encrypted is fixed: a change of it would change every word.

    Parameters
    ----------
    key
        32 secret bytes.

    Examples
    --------
    >>> keyed = KeyedWords(bytes(32))
    >>> people, context = ByteTexts.of([b"ada", b"bo", b"ada"]), bytes(16)
    >>> words = keyed.words(people, [context], np.zeros(3, int), np.array([4, 4, 4]))
    >>> words[0] == words[2], words[0] == words[1]
    (np.True_, np.False_)
    """

    __slots__ = ("_cipher",)

    def __init__(self, key: bytes) -> None:
        if not isinstance(key, bytes) or len(key) != 32:
            raise InvalidInput("key must be 32 bytes.")
        # Block by block: the chaining is done here, for many rows at once.
        self._cipher = Cipher(algorithms.AES(key), modes.ECB())

    def words(self, texts: ByteTexts, contexts: list[bytes], places: Array, codes: Array) -> Words:
        """Return a word for each row.

        Parameters
        ----------
        texts
            A text for each row.
        contexts
            16 bytes each.
        places
            For each row the place of its context.
        codes
            For each row an integer from 0 to 2**64 - 1.
        """
        table = np.frombuffer(b"".join(contexts), dtype="<u8").reshape(-1, 2)
        # Whole blocks can be read anywhere: behind the last text there is one of zeros.
        data = np.concatenate([texts.data, np.zeros(_WIDTH, dtype=np.uint8)])
        windows = np.ndarray((data.size - _WIDTH + 1,), dtype=f"V{_WIDTH}", buffer=data, strides=(1,))
        result = np.empty(len(texts), dtype=np.uint64)
        for part in blocks(len(texts)):
            starts, lengths = texts.starts[part], texts.lengths[part]
            state = np.empty((starts.size, 2), dtype="<u8")
            state[:, 0], state[:, 1] = lengths, codes[part]
            state = self._encrypted(self._encrypted(state) ^ (table if len(table) == 1 else table[places[part]]))
            for done in range(0, int(lengths.max(initial=0)), _WIDTH):
                left = lengths - done
                rows: Any = slice(None) if int(left.min()) > 0 else np.flatnonzero(left > 0)
                kept = _KEPT.take(np.minimum(left[rows], _WIDTH), axis=0)
                block = windows[starts[rows] + done].view("<u8").reshape(-1, 2) & kept
                state[rows] = self._encrypted(state[rows] ^ block)
            result[part] = state[:, 0]
        return result

    def _encrypted(self, state: Array) -> Array:
        """Return every block encrypted."""
        out = np.empty(state.nbytes + _WIDTH, dtype=np.uint8)  # the library asks for room to spare
        count = self._cipher.encryptor().update_into(np.ascontiguousarray(state).data.cast("B"), out.data)
        encrypted: Array = out[:count].view("<u8").reshape(-1, 2)
        return encrypted

    def __repr__(self) -> str:
        return "KeyedWords(...)"
