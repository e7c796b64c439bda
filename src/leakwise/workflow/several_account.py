"""The ledger of a release of several secrets: all are entered in one transaction, confirmed together, or none."""

from __future__ import annotations

import contextlib
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from leakwise.alphabet import Alphabet, GivenColumns
from leakwise.errors import InvalidInput
from leakwise.proof import SeveralCertificate
from leakwise.tables.ledger.column_digest import Digester
from leakwise.tables.ledger.ledger import Ledger
from leakwise.tables.ledger.people import People
from leakwise.tables.ledger.reservation import Reservation
from leakwise.tables.release.exchange import Watch
from leakwise.tables.release.paths import ledger_files, refuse_same_files
from leakwise.tables.release.sources import Source
from leakwise.tables.row_columns import RowColumns

__all__ = ["Account"]


@dataclass
class Account:
    """The ledger that a release is entered in; without one nothing is entered.

    In a dry run one that does not exist is not made: there is no book, but there are its ``files``.
    """

    book: Ledger | None
    files: dict[str, Path | None]
    dataset: str | None = None
    entries: tuple[int, ...] = ()
    _before: list[Digester] = field(default_factory=list)

    @classmethod
    def of(cls, ledger: Any, files: Mapping[str, Path | None], *, dry_run: bool = False) -> Account:
        """Return the account of a ledger, or of its path; files that it would be written over by are refused."""
        path = ledger.path if isinstance(ledger, Ledger) else None if ledger is None else Path(ledger)
        own = ledger_files(path, "ledger")
        refuse_same_files(dict(files), own)
        if ledger is None or isinstance(ledger, Ledger):
            return cls(ledger, own)
        return cls(None if dry_run and path is not None and not path.exists() else Ledger(ledger), own)

    def name(self, dataset: str | None, source: str | None) -> None:
        """Name the data."""
        self.dataset = source if dataset is None else dataset
        if self.files and self.dataset is None:
            raise InvalidInput("dataset must name the data for the ledger: releases of one row add up under one name.")

    def before(self, letters: Alphabet, given: GivenColumns | None, unordered: Sequence[Hashable]) -> Digester:
        """Return what sees the values of the next secret, and of the given columns, as they are."""
        new = None if self.book is None else self.book.digest
        self._before.append(Digester(new, letters, given, unordered=unordered))
        return self._before[-1]

    def releases(
        self,
        certificate: SeveralCertificate,
        origin: str,
        unsafe_seed: int | None,
        rows: Sequence[RowColumns | None],
        size: int,
    ) -> list[Reservation]:
        """Return what would be entered, one for each secret. ``rows`` are what goes out beside each."""
        seeded = "" if unsafe_seed is None else "; drawn from unsafe_seed, for tests only"
        releases, outcomes = list[Reservation](), dict[Any, Any]()
        for place, part in enumerate(certificate.parts):
            secret = tuple(map(str, part.names))
            releases.append(
                Reservation(
                    secret,
                    part.certificate,
                    f"{origin}{seeded}",
                    float(certificate.failures[place]),
                    size,
                    self._before[place].text(),
                    rows[place],
                    dict(outcomes),
                )
            )
            outcomes |= dict.fromkeys(secret, secret)
        return releases

    def reserve(self, releases: Sequence[Reservation], people: People | None = None) -> None:
        """Enter all secrets, or none; refuse what is beyond a budget. ``people`` says whose data it is."""
        if self.book is not None:
            assert self.dataset is not None
            self.entries = tuple(self.book.reserve_all(self.dataset, releases, people))

    @contextlib.contextmanager
    def made(self, certificate: SeveralCertificate, source: Source) -> Iterator[list[Watch]]:
        """Make the release inside: what was entered is confirmed after it, or cancelled where nothing was written."""
        if self.book is None:
            yield []
            return
        after = [Digester(self.book.digest, part.mechanism.output_alphabet) for part in certificate.parts]
        try:
            yield [one.add for one in after]
        except Exception:
            # Nobody has seen anything: what was drawn is gone with the call. (Of an interrupt that is not known, and a
            # table that was written may have been seen: the entries then stay, and count.)
            if not source.written:
                self.book.cancel(self.entries)
            raise
        self.book.confirm(self.entries, released_digest=[one.text() for one in after])
