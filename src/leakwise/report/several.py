"""The result of a release of several secrets in one call: the table, the guarantee, its proof, and the report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from leakwise.alphabet import Label, joined
from leakwise.charts.shown import Parts, Shown, Table
from leakwise.charts.words import Kept
from leakwise.guarantee import at_most
from leakwise.mechanism import Mechanism, StratifiedMechanism
from leakwise.proof import SeveralCertificate
from leakwise.report.dry_run import SeveralDryRun
from leakwise.report.reported import Reported
from leakwise.report.several_facts import SeveralFacts

__all__ = ["SeveralFacts", "SeveralProtection"]


@dataclass(frozen=True, repr=False)
class SeveralProtection(Reported, Shown):
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
        if facts.least_lifts:
            notes.append(facts.least_lifts)
        if self.split is not None:
            notes.append(self.split.words)
        if self.joint_advice is not None:
            notes.append(self.joint_advice.words)
        if isinstance(self.table, Path):
            notes.append(f"Released file: {self.table}.")
        if self.entries:
            notes.append(f"Entries in the ledger: {joined(self.entries)}.")
        headers = ["secret", "lift", "for anyone", "beside", "strata"]
        made: list[Any] = [Table(headers, rows, Kept(self.guarantee)), *notes]
        return made if self.dry_run is None else [*made, *self.dry_run.shown()]
