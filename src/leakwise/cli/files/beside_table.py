"""The mechanism and certificate files of a release: they change together with its table, or not at all."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leakwise.errors import LeakwiseError
from leakwise.mechanism import AnyMechanism, StratifiedMechanism
from leakwise.mechanism.files import NEXT, save_mechanism
from leakwise.mechanism.stratified_file import save_stratified
from leakwise.tables.estimate.beside import earlier_release
from leakwise.tables.formats import TableFile, open_table
from leakwise.tables.formats.carried_mechanism import Carried, after_earlier
from leakwise.tables.kinds.joint_columns import plain_alphabet
from leakwise.tables.ledger.column_digest import digest_of_outcomes
from leakwise.tables.release.file import check_file
from leakwise.types import Counts

if TYPE_CHECKING:
    from leakwise.proof import Certificate, SeveralCertificate, StratifiedCertificate
    from leakwise.tables import SqlTable

__all__ = ["BesideTable", "waiting"]


class BesideTable:
    """The mechanisms and the certificate of a release: saved before its table is written, put in place after it.

    While the table is replaced, the new files wait under names of their own. So at every moment the table on disk has
    its mechanisms next to it, and a mechanism file that does not belong to its table can be recognized.

    Parameters
    ----------
    data, target
        The table, and the place of the released one.
    secrets
        The columns of each secret, and where its mechanism is saved, if it is.
    certificate
        Where the certificate is saved, if it is.
    """

    def __init__(
        self,
        data: TableFile | SqlTable,
        target: Path | SqlTable,
        secrets: Sequence[tuple[Sequence[str], Path | None]],
        certificate: Path | None,
    ) -> None:
        self._target, self._secrets = target, [(tuple(names), place) for names, place in secrets]
        self._earlier = [earlier_release(data, names) for names, _ in self._secrets]
        self._places = [place for _, place in (*self._secrets, ((), certificate)) if place is not None]
        self._certificate = certificate
        self._before = _stamp(target)

    def save(self, proof: Certificate | StratifiedCertificate | SeveralCertificate) -> None:
        """Save what is known before anything is drawn."""
        for whole, place in zip(self._whole(proof.mechanism), self._mechanisms, strict=True):
            if place is not None:
                whole.save(waiting(place))
        if self._certificate is not None:
            proof.save(waiting(self._certificate))

    @property
    def _mechanisms(self) -> list[Path | None]:
        return [place for _, place in self._secrets]

    def _whole(self, mechanism: AnyMechanism | Mapping[Any, AnyMechanism]) -> list[AnyMechanism]:
        """Return the mechanisms, composed with that of an earlier release if the table is already one."""
        drawn = list(mechanism.values()) if isinstance(mechanism, Mapping) else [mechanism]
        return [
            after_earlier(Carried(names, one), earlier).mechanism
            for one, (names, _), earlier in zip(drawn, self._secrets, self._earlier, strict=True)
        ]

    def bind(self, mechanism: AnyMechanism | Mapping[Any, AnyMechanism]) -> None:
        """Record in the files of the mechanisms which table they belong to."""
        drawn = list(mechanism.values()) if isinstance(mechanism, Mapping) else [mechanism]
        for one, whole, (names, place) in zip(drawn, self._whole(mechanism), self._secrets, strict=True):
            if place is None:
                continue
            assert isinstance(self._target, Path)
            digest = digest_of_outcomes(_counts(open_table(self._target), names, one))
            if isinstance(whole, StratifiedMechanism):
                save_stratified(whole, place, outcomes_digest=digest)
            else:
                save_mechanism(whole, place, outcomes_digest=digest)

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        for place in self._places:
            if kind is None:
                os.replace(waiting(place), place)
            elif self._untouched():
                waiting(place).unlink(missing_ok=True)

    def _untouched(self) -> bool:
        try:
            return _stamp(self._target) == self._before
        except LeakwiseError:  # a server that is out of reach by now
            return False


def waiting(place: Path) -> Path:
    """Return the name under which a file waits for its table."""
    return place.with_name(f"{place.name}{NEXT}")


def _stamp(target: Path | SqlTable) -> tuple[Any, ...] | None:
    path = target if isinstance(target, Path) else target.path
    if not isinstance(path, Path):
        return target.identity if not isinstance(target, Path) else None
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def _counts(table: TableFile, columns: tuple[str, ...], mechanism: AnyMechanism) -> Counts:
    """Return how often each outcome of a mechanism occurs in a released table."""
    return check_file(table, columns, plain_alphabet(mechanism.output_alphabet), what="outputs").counts
