"""Whose data it is: a keyed sketch of the key column, by which the same people are known again in another table.

The sketch is the smallest 64-bit digests of the keys (bottom-k): the same whatever the order of the rows, nearly the
same where a few of them changed, and without the ledger's own key nobody can try keys out. Two tables that share any of
these digests share people. A small overlap of large tables may go unseen: m people that two tables of n share are
missed with probability about exp(-4096 m / n).
"""

from __future__ import annotations

import hashlib
import re
import sqlite3
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from leakwise.errors import InvalidInput, did_you_mean, some_of
from leakwise.guarantee import percent
from leakwise.tables.ledger.ledger_file import ACCOUNTS, migrate, version_of
from leakwise.types import Array

__all__ = ["People", "Sketch", "Sketcher", "known_as", "names_of_data"]

_SIZE = 4096
_ALL = 2**64
_WHOLE_NUMBER = re.compile(r"[+-]?0*(\d+)(\.0*)?")


@dataclass(frozen=True)
class Sketch:
    """The smallest digests of the keys of a table, in order."""

    smallest: Array

    def __len__(self) -> int:
        return int(self.smallest.size)

    @property
    def reach(self) -> int:
        """Up to where every digest of the table is in the sketch."""
        return int(self.smallest[-1]) if len(self) >= _SIZE else _ALL

    @property
    def people(self) -> int:
        """How many people there are: exact where all of them are in the sketch, an estimate otherwise."""
        return len(self) if len(self) < _SIZE else round((_SIZE - 1) / (self.reach / _ALL))

    def shared(self, other: Sketch) -> float:
        """Return what share of the people of the smaller table is in both, as far as the sketches tell."""
        reach = np.uint64(min(self.reach, other.reach, _ALL - 1))
        mine, theirs = (one.smallest[one.smallest <= reach] for one in (self, other))
        both = np.intersect1d(mine, theirs, assume_unique=True).size
        return float(both / max(1, min(mine.size, theirs.size)))

    def joined(self, other: Sketch) -> Sketch:
        """Return the sketch of the people of both."""
        return Sketch(np.union1d(self.smallest, other.smallest)[:_SIZE])

    def to_bytes(self) -> bytes:
        """Return it as the database holds it."""
        return self.smallest.astype("<u8").tobytes()

    @classmethod
    def from_bytes(cls, stored: bytes) -> Sketch:
        """Return what the database holds."""
        return cls(np.frombuffer(stored, dtype="<u8").astype(np.uint64))


class Sketcher:
    """Keys, batch by batch, as a sketch; ``key`` is the ledger's own."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._smallest = np.zeros(0, dtype=np.uint64)

    def add(self, values: Iterable[Any]) -> None:
        """Put in a batch; a missing key tells nobody apart and is left out."""
        texts = {text for text in map(_text, values) if text}
        encoded = (text.encode("utf-8", "surrogatepass") for text in texts)
        digests = b"".join(
            hashlib.blake2b(one, digest_size=8, key=self._key, person=b"people").digest() for one in encoded
        )
        new = np.frombuffer(digests, dtype="<u8").astype(np.uint64)
        self._smallest = np.union1d(self._smallest, new)[:_SIZE]

    @property
    def sketch(self) -> Sketch:
        """What was put in."""
        return Sketch(self._smallest)


def _text(value: Any) -> str:
    """A key as one text, however the table writes it: 7, 7.0, "7" and " 007 " are one."""
    if value is None or value != value:
        return ""
    if isinstance(value, bytes):
        value = value.decode("utf-8", "surrogateescape")
    text = unicodedata.normalize("NFKC", str(value)).strip().casefold()
    number = _WHOLE_NUMBER.fullmatch(text)
    return text if number is None else f"{'-' if text.startswith('-') else ''}{number[1]}"


@dataclass(frozen=True)
class People:
    """Whose data is released, and what the user says of it.

    Attributes
    ----------
    column
        The key column, by name; None where none was named.
    sketch
        Of its values; None where no column was named.
    same_as
        The dataset of the ledger that it is, under whatever name.
    new_people
        Whether the people are others than those of any dataset with the same keys.
    """

    column: object = None
    sketch: Sketch | None = None
    same_as: str | None = None
    new_people: bool = False

    def __post_init__(self) -> None:
        if self.same_as is not None and self.new_people:
            raise InvalidInput(
                f"same_as and new_people (--same-as, --new-people) exclude each other. Got same_as={self.same_as!r} "
                "and new_people=True."
            )
        if self.sketch is not None and not len(self.sketch):
            raise InvalidInput(f"key (--key) must name a column with values. {self.column!r} has none.")


def names_of_data(db: sqlite3.Connection) -> dict[str, str]:
    """Return the names under which data is known by another name, and that name."""
    if version_of(db) < ACCOUNTS:
        return {}
    return dict(db.execute("SELECT name, dataset FROM same_data").fetchall())


def known_as(db: sqlite3.Connection, dataset: str, people: People | None, known: Iterable[str], *, keep: bool) -> str:
    """Return the name under which data is in the ledger, and refuse data whose people may be those of another.

    Parameters
    ----------
    db
        The ledger, within a transaction.
    dataset
        The name that the user gives.
    people
        Whose data it is.
    known
        The names in the ledger.
    keep
        Whether to write down what was said and seen; otherwise the ledger is only asked.
    """
    names = names_of_data(db)
    name = names.get(dataset, dataset)
    if people is None:
        return name
    if people.same_as is not None:
        same = names.get(people.same_as, people.same_as)
        if same not in set(known):
            raise InvalidInput(
                f"same_as (--same-as) must be a dataset of the ledger: {some_of(sorted(known)) or 'it has none'}. Got "
                f"{people.same_as!r}.{did_you_mean(people.same_as, known)}"
            )
        if name not in (dataset, same):
            raise InvalidInput(
                f"same_as (--same-as) must be {name!r}: that is what {dataset!r} was said to be before. Got "
                f"{people.same_as!r}."
            )
        if dataset != same and keep:
            migrate(db, ACCOUNTS)
            db.execute("UPDATE same_data SET dataset = ? WHERE dataset = ?", (same, dataset))
            db.execute("INSERT OR REPLACE INTO same_data VALUES (?, ?)", (dataset, same))
        name = same
    if people.sketch is not None:
        _compare(db, name, people, keep)
    return name


def _compare(db: sqlite3.Connection, name: str, people: People, keep: bool) -> None:
    """Refuse people that are known under another name, unless the user has said that they are others."""
    assert people.sketch is not None
    names = names_of_data(db)
    stored: dict[str, Sketch] = {}
    apart = set[tuple[str, str]]()
    if version_of(db) >= ACCOUNTS:
        for dataset, sketch in db.execute("SELECT dataset, sketch FROM people").fetchall():
            one, at = Sketch.from_bytes(sketch), names.get(dataset, dataset)
            stored[at] = one if at not in stored else stored[at].joined(one)
        apart = set(db.execute("SELECT dataset, other FROM other_people").fetchall())
    shares = {other: people.sketch.shared(one) for other, one in stored.items() if other != name}
    alike = {one: share for one, share in shares.items() if share and not {(name, one), (one, name)} & apart}
    if alike and not people.new_people:
        other = max(alike, key=alike.__getitem__)
        raise InvalidInput(
            f"By column {people.column!r}, about {percent(alike[other])} of the people of the smaller of {name!r} and "
            f"{other!r} are in both. Releases about the same people count together: say same_as={other!r} (--same-as "
            f"{other}); or, where they are other people with the same keys, new_people=True (--new-people). Nothing "
            "was released."
        )
    if keep:
        migrate(db, ACCOUNTS)
        db.executemany("INSERT OR IGNORE INTO other_people VALUES (?, ?)", [(name, one) for one in alike])
        sketch = people.sketch if name not in stored else stored[name].joined(people.sketch)
        db.execute("INSERT OR REPLACE INTO people VALUES (?, ?)", (name, sketch.to_bytes()))
