"""Keyed digests of columns: the same column gives the same text, and without the key nobody can try columns out.

By them it is seen that a table changed between its releases: what two draws tell of one value is more or less than what
they tell of last year's value and this year's, so that only draws of the same values are composed outcome by outcome.

The digest of released outcomes has no key: it tells nothing that the released table does not.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Container, Hashable, Mapping, Sequence

import numpy as np

from leakwise.alphabet import Alphabet, GivenColumns, code_dtype, edges_of
from leakwise.tables.ledger.entries import LedgerEntry
from leakwise.types import Array, Counts

__all__ = ["Digester", "changed_between", "digest_of_outcomes", "digest_of_secret", "same_values"]

# So many characters of the digest of a given column name it; the rest is of its values.
_ABOUT = 16


class Digester:
    """Codes of a column, batch by batch, as a digest that does not depend on the order of the declared letters.

    Parameters
    ----------
    new
        Gives a new keyed digest; None where there is no key.
    letters
        What the codes of the secret stand for.
    given
        The columns that go out beside it: each has a digest of its own, by which it is known again beside any secret.
    unordered
        The secret columns, where rows come in the order of their values and not in one of their own. A given column is
        then known again beside the same secret and the same other columns only.
    """

    def __init__(
        self,
        new: Callable[[], hmac.HMAC] | None,
        letters: Alphabet,
        given: GivenColumns | None = None,
        *,
        unordered: Sequence[Hashable] = (),
    ) -> None:
        self._mac, self._given = None if new is None else new(), dict[Hashable, _Given]()
        if self._mac is None or new is None:
            return
        words = [repr(label) for label in letters.labels]
        order = sorted(range(len(words)), key=words.__getitem__)
        # Little-endian whatever the machine, so that the digest is the same everywhere.
        self._place = np.empty(len(words), dtype=code_dtype(len(words)).newbyteorder("<"))
        self._place[order] = np.arange(len(words))
        self._mac.update("\n".join(words[place] for place in order).encode("utf-8", "surrogatepass") + b"\0")
        if given is not None:
            beside = [*map(str, given.names), *map(str, unordered)] if unordered else []
            self._given = {
                name: _Given(new, name, domain, beside) for name, domain in zip(given.names, given.domains, strict=True)
            }

    def add(self, codes: Array, part: Hashable = None) -> None:
        """Put in a batch, whatever part of a file it is."""
        if self._mac is not None:
            self._mac.update(self._place[codes].tobytes())

    def add_given(self, columns: Mapping[Hashable, Array]) -> None:
        """Put in the codes of the given columns of a batch, -1 for a value that is not declared."""
        for name, column in self._given.items():
            column.add(columns[name])

    def text(self, outcomes: Container[Hashable] = ()) -> str | None:
        """Return the digest in hexadecimal, and after plus signs those of the given columns; None without a key.

        Given columns that hold ``outcomes`` are no columns of the data.
        """
        if self._mac is None:
            return None
        beside = [column.text for name, column in self._given.items() if name not in outcomes]
        return "+".join([self._mac.hexdigest(), *beside])


class _Given:
    """A given column, batch by batch: what names it and its bins, and a digest of its values, whatever is declared."""

    def __init__(self, new: Callable[[], hmac.HMAC], name: Hashable, domain: Alphabet, beside: Sequence[str]) -> None:
        about, self._mac = new(), new()
        edges = edges_of(domain)
        about.update(repr((str(name), edges, beside)).encode("utf-8", "surrogatepass"))
        self._about = about.hexdigest()[:_ABOUT]
        # Codes follow the order of a domain that may be read from the table: a year later every age has its old code.
        words = [hashlib.sha256(str(label).encode("utf-8", "surrogatepass")).digest()[:8] for label in domain.labels]
        self._words = np.frombuffer(b"".join([*words, bytes(8)]), dtype="<u8")

    def add(self, codes: Array) -> None:
        self._mac.update(self._words[codes].tobytes())

    @property
    def text(self) -> str:
        return self._about + self._mac.hexdigest()


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

    Who enters a release without a digest says by the name of the data that it is the same as before. A column that is
    given beside several releases, of whatever secrets, is compared as well: where it changed, what it tells did.
    """
    seen: dict[object, str] = {}
    for one in entries:
        if one.source_digest is None:
            continue
        secret, *given = one.source_digest.split("+")
        found = [(_columns(one), secret), *((text[:_ABOUT], text[_ABOUT:]) for text in given)]
        if any(seen.setdefault(column, text) != text for column, text in found):
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
