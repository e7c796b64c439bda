"""The files of a release beside its table: they change together with it, or not at all."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from leakwise.mechanism.files import NEXT, save_mechanism

if TYPE_CHECKING:
    from leakwise.proof import Certificate
    from leakwise.report import Protection

__all__ = ["BesideTable", "bind", "waiting"]


class BesideTable:
    """The mechanism and the certificate of a release: saved before its table is written, put in place after it.

    While the table is replaced, the new files wait under names of their own. So at every moment the table that is there
    has its mechanism beside it, and a mechanism file that does not belong to its table is known by that.
    """

    def __init__(self, target: Path, *places: Path | None) -> None:
        self._target = target
        self._places = [place for place in places if place is not None]
        self._mechanism, self._certificate = places
        self._before = _stamp(target)

    def save(self, proof: Certificate) -> None:
        """Save what is known before anything is drawn."""
        if self._mechanism is not None:
            proof.mechanism.save(waiting(self._mechanism))
        if self._certificate is not None:
            proof.save(waiting(self._certificate))

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        for place in self._places:
            if kind is None:
                os.replace(waiting(place), place)
            elif _stamp(self._target) == self._before:
                waiting(place).unlink(missing_ok=True)


def waiting(place: Path) -> Path:
    """Return the name under which a file waits for its table."""
    return place.with_name(f"{place.name}{NEXT}")


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def bind(done: Protection, target: Path, keep: Path) -> None:
    """Write into the mechanism's file which table it belongs to."""
    from leakwise.tables.digest import digest_of_outcomes
    from leakwise.tables.files import check_file
    from leakwise.tables.joint import plain_alphabet

    outcomes = plain_alphabet(done.mechanism.output_alphabet)
    counts = check_file(target, done.facts.columns, outcomes, what="outputs").counts
    save_mechanism(done.mechanism, keep, outcomes_digest=digest_of_outcomes(counts))
