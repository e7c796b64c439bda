"""The page for the steward of a table: exact figures, which nobody else may see."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from html import escape
from typing import Any

from leakwise.alphabet import GivenColumns, Label, joined, label_to_plain
from leakwise.charts.page import html_page, paragraph, section
from leakwise.errors import InvalidInput
from leakwise.exact import float_above
from leakwise.guarantee import at_most
from leakwise.mechanism import StratifiedMechanism
from leakwise.mechanism.part_of_row import seen_with
from leakwise.priors import Prior, PriorByStratum
from leakwise.proof import Certificate, StratifiedCertificate, certify
from leakwise.report.facts import Facts
from leakwise.report.row_facts import RowFacts
from leakwise.report.sections import MOST_ROWS, head, html_rows
from leakwise.report.style import STYLE
from leakwise.tables.strata.audit import TableAudit, audit_counts

__all__ = ["STEWARD", "StewardFacts", "steward_page"]

STEWARD = "For the steward only: this page contains exact figures of the table. Do not share it with the release."

# An audit looks at so many strata, the largest.
_MOST_AUDITED = 2000
# What a copy without the given columns tells is computed exactly up to so many.
_MOST_COPIED = 200


@dataclass(frozen=True)
class StewardFacts:
    """A release as the steward of its table may see it.

    Attributes
    ----------
    facts
        What the receiver may see.
    certificate
        The proof on the exact counts.
    counts
        How often each value occurs in each stratum; under ``()`` in the whole table where there are no given columns.
    """

    facts: Facts | RowFacts
    certificate: Certificate | StratifiedCertificate
    counts: Mapping[Label, Sequence[int]]

    @property
    def order(self) -> list[Label]:
        """The strata, the largest first."""
        return sorted(self.counts, key=lambda key: -sum(self.counts[key]))

    @cached_property
    def audit(self) -> TableAudit | str | None:
        """What the given columns say alone, what an outcome adds, and both; or why that cannot be said."""
        if not isinstance(self.facts, RowFacts) or not self.counts:
            return None
        largest = self.order[:_MOST_AUDITED]
        try:
            return audit_counts(
                self._columns(largest),
                {key: self.counts[key] for key in largest},
                self.facts.mechanism.input_alphabet,
                self.facts.secret,
                self.facts.mechanism,
            )
        except InvalidInput as error:
            return str(error)

    def _columns(self, strata: Sequence[Label]) -> GivenColumns:
        """The given columns with the values that occur in these strata."""
        names = self.facts.mechanism.given if isinstance(self.facts, RowFacts) else ()
        parts = [key if len(names) > 1 and isinstance(key, tuple) else (key,) for key in strata]
        return GivenColumns(
            {name: list(dict.fromkeys(part[place] for part in parts)) for place, name in enumerate(names)}
        )

    @cached_property
    def copied(self) -> Fraction | None:
        """The lift of a copy of the released column without its given columns, for the frequencies of the table."""
        if not isinstance(self.facts, RowFacts) or not 0 < len(self.counts) <= _MOST_COPIED:
            return None
        drawn, letters, columns = self.facts.mechanism, self.facts.mechanism.input_alphabet, self._columns(self.order)
        rest = drawn.otherwise
        serving = {key: drawn[key] if rest is None or key in drawn else rest for key in self.counts}
        priors = {key: Prior.from_integers(letters, list(row), sum(row)) for key, row in self.counts.items()}
        sizes = {key: sum(row) for key, row in self.counts.items()}
        known = PriorByStratum(priors, dict(zip(columns.names, columns.domains, strict=True)), sizes)
        return certify(*seen_with(StratifiedMechanism(serving, columns), known, [])).ratio

    def _exact(self) -> list[list[str]]:
        """What is proven, to the last digits that are printed."""
        proven = self.certificate.ratio
        rows = [["largest lift that is proven", "no bound" if proven is None else at_most(proven, 12)]]
        rows.append(["what the receiver is told", at_most(self.facts.promised, 12)])
        if isinstance(self.facts, RowFacts):
            strata, fallen = self.facts.fallback
            rows.append(["strata", f"{len(self.facts.sizes):,}"])
            rows.append(["strata with the mechanism for every prior", f"{strata:,}"])
            rows.append(["rows in them", f"{fallen:,} of {self.facts.rows:,}"])
            if self.copied is not None:
                rows.append([f"lift of a copy without {joined(self.facts.given)}", at_most(self.copied, 6)])
        return rows

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        audit, proven = self.audit, self.certificate.ratio
        told: dict[str, Any] = {
            "format": "leakwise.steward-report",
            "version": 1,
            "for": STEWARD,
            "dataset": self.facts.dataset,
            "columns": list(self.facts.columns),
            "guarantee": self.facts.guarantee,
            "proven_lift": None if proven is None else float_above(proven),
            "values": [label_to_plain(one) for one in self.facts.mechanism.inputs],
            "counts": [
                {"stratum": None if key == () else label_to_plain(key), "counts": list(map(int, self.counts[key]))}
                for key in self.order
            ],
            "audit": audit.to_dict() if isinstance(audit, TableAudit) else audit,
        }
        if isinstance(self.facts, RowFacts):
            strata, rows = self.facts.fallback
            told["for_every_prior"] = {"strata": strata, "rows": rows}
            told["lift_of_a_copy_without_given_columns"] = None if self.copied is None else float_above(self.copied)
        return told


def steward_page(steward: StewardFacts) -> str:
    """Return the whole page."""
    facts = steward.facts
    title = f"Release of {facts.secret}: for the steward"
    body = [
        section("The guarantee", paragraph(facts.guarantee)),
        section("Exact figures", html_rows(["", ""], [[escape(a), escape(b)] for a, b in steward._exact()])),
        _audit(steward),
        _counts(steward),
    ]
    top = f'<p class="promise">{escape(STEWARD)}</p>\n'
    header = f"<header>\n<h1>{escape(title)}</h1>\n{top}{head(facts, facts.mechanism.outputs)}\n</header>\n"
    return html_page(title, f"{header}<main>\n{''.join(body)}\n</main>\n", style=STYLE)


def _audit(steward: StewardFacts) -> str:
    audit = steward.audit
    if audit is None:
        return ""
    title = "What the other columns say, and what the outcome adds"
    if isinstance(audit, str):
        return section(title, paragraph(audit))
    left = len(steward.counts) - len(audit.strata)
    more = paragraph(f"The {len(audit.strata):,} largest strata; {left:,} others were not looked at.") if left else ""
    return section(title, f'<div class="wide">{audit._repr_html_()}</div>\n', more)


def _counts(steward: StewardFacts) -> str:
    if not steward.counts:
        return ""
    values = [str(one) for one in steward.facts.mechanism.inputs][:MOST_ROWS]
    shown = steward.order[:MOST_ROWS]
    rows = [
        [
            escape("all rows" if key == () else ", ".join(map(str, key)) if isinstance(key, tuple) else str(key)),
            *(f"{count:,}" for count in list(steward.counts[key])[:MOST_ROWS]),
        ]
        for key in shown
    ]
    left = len(steward.counts) - len(shown)
    return section(
        "Exact counts",
        html_rows(["stratum", *values], rows),
        paragraph(f"{left:,} smaller strata are not shown.") if left else "",
    )
