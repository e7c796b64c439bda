"""What a release of one secret and one of several have in common: the guarantee, and the report."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from leakwise.documents import created_like
from leakwise.errors import InvalidInput
from leakwise.report.release_facts import SEEDED
from leakwise.report.write import write_report
from leakwise.tables.release.paths import file_of, refuse_same_files

__all__ = ["Reported"]


class Reported:
    """A release with a guarantee, and a report that says it."""

    __slots__ = ()

    table: Any
    certificate: Any
    facts: Any
    files: Mapping[str, Path | None]
    dry_run: Any

    @property
    def epsilon(self) -> float:
        """The proven leakage in nats, of several secrets all outcomes together, rounded up."""
        return float(self.certificate.epsilon_upper)

    @property
    def guarantee(self) -> str:
        """The guarantee in words."""
        return f"{SEEDED} {self.facts.guarantee}" if self.facts.unsafe_seed else str(self.facts.guarantee)

    def report(
        self,
        path: str | os.PathLike[str],
        *,
        mechanism: str | os.PathLike[str] | None = None,
        certificate: str | os.PathLike[str] | None = None,
        settings: str | os.PathLike[str] | None = None,
    ) -> Path:
        """Write the report: ``.html`` for people, ``.json`` for programs; no more readable than a released file.

        Parameters
        ----------
        path
            The report.
        mechanism, certificate
            The files that you saved with the release, if any: the report names these, and no others, in the lines that
            estimate and verify.
        settings
            The file of settings that the release was made with, or that was saved for the next one.
        """
        if self.dry_run is not None:
            raise InvalidInput(
                f"{self.dry_run.heading} A report is about a release that was made; print the dry run itself."
            )
        refuse_same_files(self.files, {"the report": Path(path)})
        facts = replace(
            self.facts,
            mechanism_file=_name(mechanism),
            certificate_file=_name(certificate),
            settings_file=_name(settings),
        )
        with created_like(file_of(self.table)):
            return write_report(facts, path)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: what the report says, and in a dry run what the release would do."""
        told: dict[str, Any] = self.facts.to_dict()
        return told if self.dry_run is None else {**told, "dry_run": self.dry_run.to_dict()}


def _name(path: str | os.PathLike[str] | None) -> str | None:
    return None if path is None else Path(path).name
