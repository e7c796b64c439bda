"""The result of a release in one call: the table, the guarantee, its proof, and the report."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leakwise.alphabet import Label
from leakwise.charts.shown import Drawn, Parts, Table
from leakwise.charts.words import Kept
from leakwise.documents import private
from leakwise.errors import some_of
from leakwise.guarantee import at_most
from leakwise.mechanism import Mechanism, StratifiedMechanism
from leakwise.optimize.design_result import lift_chart
from leakwise.priors import AllPriors, Prior, PriorByStratum
from leakwise.proof import Certificate, StratifiedCertificate
from leakwise.report.dry_run import DryRun
from leakwise.report.facts import Facts
from leakwise.report.reported import Reported
from leakwise.report.row_facts import RowFacts
from leakwise.report.steward import StewardFacts
from leakwise.report.write import write_report
from leakwise.tables.release.paths import refuse_same_files

if TYPE_CHECKING:
    from leakwise.optimize import Design, StratifiedDesign
    from leakwise.optimize.from_data import DataDesign

__all__ = ["Protection"]


@dataclass(frozen=True, repr=False)
class Protection(Reported, Drawn):
    """A release that was made, or tried in a dry run: the table, the guarantee and its proof.

    Attributes
    ----------
    table
        The released table, of the kind that was given; for a file, the path of the released one. None in a dry run.
    mechanism
        What the rows were drawn from.
    certificate
        The proof of the guarantee on exact integers.
    design
        How the mechanism was found; None where it was given.
    prior
        What the guarantee compares with.
    entry
        The number of the entry in the ledger, if there is one.
    files
        The files of this release, which a report must not replace.
    counts
        How often each value occurs in each stratum (``()`` without given columns), exactly: for the steward's page.
    dry_run
        What the release would do, where it was only tried.
    """

    table: Any
    certificate: Certificate | StratifiedCertificate
    design: Design | DataDesign | StratifiedDesign | None
    facts: Facts | RowFacts
    entry: int | None
    files: Mapping[str, Path | None] = field(default_factory=dict)
    counts: Mapping[Label, Sequence[int]] = field(default_factory=dict)
    dry_run: DryRun | None = None

    @property
    def mechanism(self) -> Mechanism | StratifiedMechanism:
        """What the rows were drawn from."""
        return self.certificate.mechanism

    @property
    def prior(self) -> Prior | PriorByStratum:
        """What the guarantee compares with: as the receiver may see it, by stratum where there are given columns."""
        return self.facts.prior if isinstance(self.facts, Facts) else self.facts.certificate.priors

    def steward_report(self, path: str | os.PathLike[str]) -> Path:
        """Write the page for the steward of the table, ``.html`` or ``.json``: it contains exact figures of the table.

        It shows what the other columns of a row say by themselves, the exact counts, what is proven to the last digit,
        and how many rows fell back to the mechanism for every prior. It is as private as the table, and only its owner
        can read the file.
        """
        refuse_same_files(self.files, {"the steward's report": Path(path)})
        with private():
            return write_report(StewardFacts(self.facts, self.certificate, self.counts), path)

    @property
    def _from_where(self) -> str:
        found = self.certificate
        priors = [found.prior] if isinstance(found, Certificate) else [found.priors[key] for key in found.priors]
        if all(isinstance(prior, AllPriors) for prior in priors):
            return "none: it holds for every prior"
        return "given" if self.facts.origin == "given" else "estimated from the table"

    def _shown(self) -> Parts:
        rows = [
            ["column", self.facts.secret],
            ["rows", f"{self.facts.rows:,}"],
            ["order of the rows", self.facts.row_order],
            ["made for", self.facts.use],
            ["outcomes", some_of(self.mechanism.outputs, 6)],
            ["proven ε (nats, rounded up)", at_most(self.facts.certificate.epsilon_upper, 6)],
            ["prior", self._from_where],
        ]
        if self.facts.memo is not None:
            rows.append(["draws repeat for each", self.facts.memo["person"]])
            rows.append(["by the key", self.facts.memo["key"]])
        if isinstance(self.table, Path):
            rows.append(["released file", str(self.table)])
        if self.entry is not None:
            rows.append(["entry in the ledger", str(self.entry)])
        made = Table(["", "release"], rows, Kept(self.guarantee))
        return [made] if self.dry_run is None else [made, *self.dry_run.shown()]

    def chart(self) -> dict[str, Any]:
        """A picture of the mechanism, as a Vega-Lite specification.

        It rests on the prior that the receiver may see, as a notebook shows it without being asked: that of a design
        from the table would give the exact counts away.
        """
        if isinstance(self.facts, Facts):
            return lift_chart(self.facts.mechanism, self.facts.prior)
        # By strata: the mechanism of most rows.
        shown = self.facts.strata[0].mechanism if self.facts.strata else self.facts.mechanism.mechanisms[0]
        return shown.chart()
