"""The result of a release of several secrets in one call: the table, the guarantee, its proof, and the report."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from leakwise.alphabet import Label, joined
from leakwise.charts.shown import Parts, Shown, Table
from leakwise.documents import created_like
from leakwise.errors import InvalidInput
from leakwise.guarantee import at_most
from leakwise.mechanism import Mechanism, StratifiedMechanism
from leakwise.proof import SeveralCertificate
from leakwise.report.dry_run import THROWN_AWAY, SeveralDryRun
from leakwise.report.release_facts import SEEDED
from leakwise.report.several_facts import SeveralFacts
from leakwise.report.write import write_report
from leakwise.tables.release.paths import refuse_same_files

__all__ = ["SeveralFacts", "SeveralProtection"]


@dataclass(frozen=True, repr=False)
class SeveralProtection(Shown):
    """A release of several secrets that was made: the table, the guarantee and its proof.

    Attributes
    ----------
    table
        The released table, of the kind that was given; for a file, the path of the released one.
    certificate
        The proof of the guarantee on exact integers: one for each secret, and how they are linked.
    designs
        How the mechanism of each secret was found.
    entries
        The numbers of the entries in the ledger, one for each secret, if there are any.
    files
        The files of this release, which a report must not replace.
    counts
        How often each value of each secret occurs in each stratum, exactly.
    split
        How a total was shared out among the secrets, where one was given.
    joint_advice
        What one mechanism for all secrets together would do, where what goes with what is known. It may rest on exact
        counts of the table, and is for its owner.
    dry_run
        In a dry run what the release would tell, cost and write; there is no table then.
    """

    table: Any
    certificate: SeveralCertificate
    designs: Mapping[Any, Any]
    facts: SeveralFacts
    entries: tuple[int, ...] = ()
    files: Mapping[str, Path | None] = field(default_factory=dict)
    counts: Mapping[Any, Mapping[Label, Sequence[int]]] = field(default_factory=dict)
    split: Any = None
    joint_advice: Any = None
    dry_run: SeveralDryRun | None = None

    @property
    def mechanism(self) -> dict[Any, Mechanism | StratifiedMechanism]:
        """The mechanism of each secret, as :func:`leakwise.estimate` takes them."""
        return self.certificate.mechanism

    @property
    def epsilon(self) -> float:
        """The proven leakage of all outcomes together in nats, rounded up."""
        return self.certificate.epsilon_upper

    @property
    def guarantee(self) -> str:
        """The guarantee in words."""
        return f"{SEEDED} {self.facts.guarantee}" if self.facts.unsafe_seed else self.facts.guarantee

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
        mechanism, certificate, settings
            The files that you saved with the release, if any: the report names these, and no others.
        """
        if self.dry_run is not None:
            raise InvalidInput(f"{THROWN_AWAY} A report is about a release that was made; print the dry run itself.")
        refuse_same_files(self.files, {"the report": Path(path)})
        names = [None if one is None else Path(one).name for one in (mechanism, certificate, settings)]
        facts = replace(self.facts, mechanism_file=names[0], certificate_file=names[1], settings_file=names[2])
        with created_like(self.table if isinstance(self.table, Path) else getattr(self.table, "database", None)):
            return write_report(facts, path)

    def _shown(self) -> Parts:
        facts = self.facts
        rows: list[list[object]] = []
        for part in facts.parts:
            given = joined(part.given) if part.given else "nothing"
            mechanism = part.mechanism
            strata = len(mechanism) if isinstance(mechanism, StratifiedMechanism) else 1
            anyone = "—" if part.anyone is None else at_most(part.anyone)
            rows.append([part.secret, at_most(part.promised), anyone, given, strata])
        whole = "the whole row" if facts.exact is None else "the whole row (product " + at_most(facts.product) + ")"
        anyone = "—" if facts.anyone is None else at_most(facts.anyone)
        rows.append([whole, at_most(facts.promised), anyone, joined(facts.given) if facts.given else "nothing", ""])
        notes = [f"{facts.rows:,} rows; order {facts.row_order}; made for {facts.use}."]
        if self.split is not None:
            notes.append(self.split.words)
        if self.joint_advice is not None:
            notes.append(self.joint_advice.words)
        if isinstance(self.table, Path):
            notes.append(f"Released file: {self.table}.")
        if self.entries:
            notes.append(f"Entries in the ledger: {joined(self.entries)}.")
        headers = ["secret", "lift", "for anyone", "beside", "strata"]
        made: list[Any] = [Table(headers, rows, self.guarantee), *notes]
        return made if self.dry_run is None else [*made, *self.dry_run.shown()]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: what the report says, and in a dry run what the release would do."""
        told = self.facts.to_dict()
        return told if self.dry_run is None else {**told, "dry_run": self.dry_run.to_dict()}
