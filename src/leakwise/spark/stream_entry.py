"""The entry of a stream in the ledger: one for all its batches, found again after a restart."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from leakwise.errors import InvalidInput
from leakwise.spark.places import Place

if TYPE_CHECKING:
    from leakwise.proof import Certificate, StratifiedCertificate
    from leakwise.tables.ledger.ledger import Ledger

__all__ = ["StreamEntry"]

_MARK = "/_leakwise-stream-"


class StreamEntry:
    """What is entered of a stream.

    The folder of the batches is marked with a random name before anything is entered, and the entry has a keyed digest
    of it in the place of the digest of a column: a restart finds it again, a new folder is a new stream, and the same
    folder under another name of the data is refused.

    Parameters
    ----------
    ledger, dataset
        The ledger, and the name of the data in it.
    certificates
        From secrets to the certificates of their mechanisms.
    """

    def __init__(
        self,
        ledger: Ledger | str | os.PathLike[str],
        dataset: str | None,
        certificates: Mapping[Any, Certificate | StratifiedCertificate],
    ) -> None:
        from leakwise.tables.ledger.ledger import Ledger as LedgerBook

        if dataset is None:
            raise InvalidInput(
                "dataset must name the data for the ledger: releases of one secret add up under one name."
            )
        self._book = ledger if isinstance(ledger, LedgerBook) else LedgerBook(ledger)
        self._dataset = dataset
        self._certificates = {
            one.mechanism.secret if key is None and hasattr(one.mechanism, "secret") else key: one
            for key, one in certificates.items()
        }
        self._numbers: list[int] | None = None

    def reserve(self, place: Place) -> None:
        """Enter the stream, unless it was entered before; an error where it is beyond the budget."""
        from leakwise.tables.ledger.reservation import Reservation

        if self._numbers is not None:
            return
        if place.folders is None:
            raise InvalidInput(
                f"ledger must be left out: the files at {place.path!r} are out of reach of a Spark Connect client, "
                "which cannot mark them as entered. Start the stream in a session on the cluster."
            )
        marks = sorted(place.folders.beginning_with(place.path + _MARK))
        if not marks:
            place.folders.make(place.path + _MARK + secrets.token_hex(16))
            marks = sorted(place.folders.beginning_with(place.path + _MARK))
        mark = marks[0].rpartition("/")[2]
        wanted = [
            Reservation(key, one, source_digest=self._digest(mark, key)) for key, one in self._certificates.items()
        ]
        known = {
            entry.source_digest: entry.id
            for entry in self._book.entries(self._dataset)
            if entry.counts and any(entry.mechanism == one.mechanism for one in self._certificates.values())
        }
        found = [known[one.source_digest] for one in wanted if one.source_digest in known]
        self._numbers = found if len(found) == len(wanted) else self._book.reserve_all(self._dataset, wanted)

    def confirm(self) -> None:
        """Note that rows of the stream were released."""
        reserved = {entry.id for entry in self._book.entries(self._dataset) if entry.state == "reserved"}
        if numbers := [one for one in self._numbers or () if one in reserved]:
            self._book.confirm(numbers)

    def _digest(self, mark: str, secret: Any) -> str:
        mac = self._book.digest()
        mac.update(repr((mark, secret)).encode("utf-8", "surrogatepass"))
        return mac.hexdigest()
