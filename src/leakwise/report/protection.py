"""The result of a release in one call: the table, the guarantee, its proof, and the report."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leakwise.charts.shown import Drawn, Parts, Table
from leakwise.documents import created_like
from leakwise.errors import some_of
from leakwise.guarantee import at_most, no_guess
from leakwise.mechanism import Mechanism
from leakwise.priors import AllPriors, Prior
from leakwise.proof import Certificate
from leakwise.report.facts import SEEDED, Facts
from leakwise.report.write import write_report
from leakwise.tables.release.paths import refuse_same_files

if TYPE_CHECKING:
    from leakwise.optimize import Design
    from leakwise.optimize.from_data import DataDesign

__all__ = ["Protection"]


@dataclass(frozen=True, repr=False)
class Protection(Drawn):
    """A release that was made: the table, the guarantee and its proof.

    Attributes
    ----------
    table
        The released table, of the kind that was given; for a file, the path of the released one.
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
    """

    table: Any
    certificate: Certificate
    design: Design | DataDesign | None
    facts: Facts
    entry: int | None
    files: Mapping[str, Path | None] = field(default_factory=dict)

    @property
    def mechanism(self) -> Mechanism:
        """What the rows were drawn from."""
        return self.certificate.mechanism

    @property
    def prior(self) -> Prior:
        """What the guarantee compares with."""
        return self.facts.prior

    @property
    def epsilon(self) -> float:
        """The proven leakage in nats, rounded up."""
        return self.certificate.epsilon_upper

    @property
    def guarantee(self) -> str:
        """The guarantee in words."""
        return f"{SEEDED} {self._proven}" if self.facts.unsafe_seed else self._proven

    @property
    def _proven(self) -> str:
        if self.facts.origin != "table":
            return self.certificate.sentence
        further = self.certificate.further
        anyone = None if further.anyone is None else self.certificate.anyone
        words = no_guess(self.facts.promised, self.certificate.prior, anyone=anyone)
        words += "".join(f" {one.sentence}".rstrip() for one in self.certificate.kept)
        if not isinstance(self.certificate.prior, AllPriors):
            words += " The true prior is that of people drawn like the rows: the table itself was the sample."
        return words

    def report(
        self,
        path: str | os.PathLike[str],
        *,
        mechanism: str | os.PathLike[str] | None = None,
        certificate: str | os.PathLike[str] | None = None,
    ) -> Path:
        """Write the report: ``.html`` for people, ``.json`` for programs; no more readable than a released file.

        Parameters
        ----------
        path
            The report.
        mechanism, certificate
            The files that you saved with the release, if any: the report names these, and no others, in the lines that
            estimate and verify.
        """
        refuse_same_files(self.files, {"the report": Path(path)})
        facts = replace(self.facts, mechanism_file=_name(mechanism), certificate_file=_name(certificate))
        with created_like(self.table if isinstance(self.table, Path) else getattr(self.table, "database", None)):
            return write_report(facts, path)

    def _shown(self) -> Parts:
        rows = [
            ["column", self.facts.secret],
            ["rows", f"{self.facts.rows:,}"],
            ["order of the rows", self.facts.row_order],
            ["made for", self.facts.use],
            ["outcomes", some_of(self.mechanism.outputs, 6)],
            ["proven ε (nats, rounded up)", at_most(self.facts.certificate.epsilon_upper, 6)],
            ["prior", "given" if self.facts.origin == "given" else "estimated from the table"],
        ]
        if isinstance(self.table, Path):
            rows.append(["released file", str(self.table)])
        if self.entry is not None:
            rows.append(["entry in the ledger", str(self.entry)])
        return [Table(["", "release"], rows, self.guarantee)]

    def chart(self) -> dict[str, Any]:
        """A picture of the mechanism, as a Vega-Lite specification."""
        drawn = self.mechanism if self.design is None else self.design
        return drawn.chart()

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: what the report says."""
        return self.facts.to_dict()


def _name(path: str | os.PathLike[str] | None) -> str | None:
    return None if path is None else Path(path).name
