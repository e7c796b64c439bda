"""Keyed digests of columns: the same column gives the same text, and without the key nobody can try columns out.

The digest of released outcomes has no key: it tells nothing that the released table does not.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Hashable

import numpy as np

from leakwise.alphabet import Alphabet, code_dtype
from leakwise.types import Array, Counts

__all__ = ["Digester", "digest_of_outcomes"]


class Digester:
    """Codes of a column, batch by batch, as a digest that does not depend on the order of the declared letters."""

    def __init__(self, mac: hmac.HMAC | None, letters: Alphabet) -> None:
        self._mac = mac
        if mac is None:
            return
        words = [repr(label) for label in letters.labels]
        order = sorted(range(len(words)), key=words.__getitem__)
        # Little-endian whatever the machine, so that the digest is the same everywhere.
        self._place = np.empty(len(words), dtype=code_dtype(len(words)).newbyteorder("<"))
        self._place[order] = np.arange(len(words))
        mac.update("\n".join(words[place] for place in order).encode("utf-8", "surrogatepass") + b"\0")

    def add(self, codes: Array, part: Hashable = None) -> None:
        """Put in a batch, whatever part of a file it is."""
        if self._mac is not None:
            self._mac.update(self._place[codes].tobytes())

    @property
    def text(self) -> str | None:
        """The digest in hexadecimal; None where there is no key."""
        return None if self._mac is None else self._mac.hexdigest()


def digest_of_outcomes(counts: Counts) -> str:
    """Return what tells a released table from others: a digest of how often each outcome of its mechanism occurs.

    An estimate depends on these counts alone, so that sorting the rows or adding columns changes nothing.
    """
    return hashlib.sha256(b"leakwise.outcomes:" + ",".join(map(str, counts.tolist())).encode()).hexdigest()
