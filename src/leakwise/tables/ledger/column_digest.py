"""Keyed digests of columns: the same column gives the same text, and without the key nobody can try columns out.

By them it is seen that a table changed between its releases: what two draws tell of one value is more or less than what
they tell of last year's value and this year's, so that only draws of the same values are composed outcome by outcome.

The digest of released outcomes has no key: it tells nothing that the released table does not.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Hashable, Sequence

import numpy as np

from leakwise.alphabet import Alphabet, code_dtype
from leakwise.tables.ledger.entries import LedgerEntry
from leakwise.types import Array, Counts

__all__ = ["Digester", "changed_between", "digest_of_outcomes", "digest_of_secret", "same_values"]


class Digester:
    """Codes of a column, batch by batch, as a digest that does not depend on the order of the declared letters.

    Beside it, with a second ``given`` digest, those of the columns that go out with it.
    """

    def __init__(self, mac: hmac.HMAC | None, letters: Alphabet, given: hmac.HMAC | None = None) -> None:
        self._mac, self._given, self._beside = mac, given, False
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

    def add_given(self, columns: Sequence[Array]) -> None:
        """Put in the codes of the given columns of a batch."""
        if self._given is not None:
            self._beside = True
            for codes in columns:
                self._given.update(codes.astype("<i8").tobytes())

    @property
    def text(self) -> str | None:
        """The digest in hexadecimal, that of the given columns after a plus sign; None where there is no key."""
        if self._mac is None:
            return None
        beside = f"+{self._given.hexdigest()}" if self._given is not None and self._beside else ""
        return f"{self._mac.hexdigest()}{beside}"


def digest_of_secret(text: str | None) -> str | None:
    """Return the digest of the secret alone, by which it is known again whatever goes out beside it."""
    return None if text is None else text.partition("+")[0]


def digest_of_outcomes(counts: Counts) -> str:
    """Return what tells a released table from others: a digest of how often each outcome of its mechanism occurs.

    An estimate depends on these counts alone, so that sorting the rows or adding columns changes nothing.
    """
    return hashlib.sha256(b"leakwise.outcomes:" + ",".join(map(str, counts.tolist())).encode()).hexdigest()


def changed_between(entries: Sequence[LedgerEntry]) -> bool:
    """Return whether a table changed between its releases: another digest of the same columns, or number of rows.

    Who enters a release without a digest says by the name of the data that it is the same as before. Beside the same
    given columns the digest is of them, too: where they changed, what they tell about the secret did.
    """
    secrets: dict[object, str] = {}
    rows: dict[object, str] = {}
    for one in entries:
        if (text := one.source_digest) is None:
            continue
        alone, columns = text.partition("+")[0], _columns(one)
        if secrets.setdefault(columns, alone) != alone:
            return True
        if one.row.given and rows.setdefault((columns, one.row.strata), text) != text:
            return True
    return len({one.rows for one in entries if one.rows is not None}) > 1


def same_values(one: LedgerEntry, other: LedgerEntry, *, changed: bool) -> bool:
    """Return whether two releases are draws of the same values.

    Parameters
    ----------
    one, other
        The releases.
    changed
        Whether the table changed at all. Then only equal digests show that two releases were of the same values.
    """
    alike = one.source_digest is not None and _columns(one) == _columns(other)
    return not changed or one is other or (alike and one.source_digest == other.source_digest)


def _columns(entry: LedgerEntry) -> tuple[str, ...]:
    return entry.secret if entry.columns is None else entry.columns
