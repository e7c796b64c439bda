"""A release that was not made: what it would guarantee, tell the analyst, cost in the ledger, and write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from leakwise.alphabet import Label, joined, label_to_plain
from leakwise.charts.shown import Parts, Table
from leakwise.guarantee import percent
from leakwise.mechanism import AnyMechanism, StratifiedMechanism
from leakwise.report.better_choices import Advice
from leakwise.report.expected import Group, Guesses, expected_errors, expected_guesses, groups_of, leaning
from leakwise.report.steward import STEWARD

__all__ = ["NOTHING", "DryRun"]

NOTHING = "Dry run: nothing was drawn, written or entered in a ledger."

# Groups whose accuracy is shown.
_GROUPS = 12


@dataclass(frozen=True)
class DryRun:
    """What is known of a release before it is made; it contains exact figures of the table.

    Attributes
    ----------
    mechanism, counts
        What would draw, and how often each value occurs in each stratum.
    ledger
        What the ledger would say, as the rest of a sentence about it; None without one.
    files
        What would be written, by what it is.
    seconds, memory
        What reading and design took: seconds, and the largest memory of this process in bytes. Drawing reads the table
        once more, and writes it.
    advice
        How many rows are too rare to learn from, and choices of columns that would do better; None where none are.
    """

    mechanism: AnyMechanism
    counts: Mapping[Label, Sequence[int]]
    ledger: str | None
    files: Mapping[str, str]
    seconds: float
    memory: int
    advice: Advice | None = None

    @cached_property
    def groups(self) -> list[Group]:
        """The rows by stratum, the largest first."""
        return groups_of(self.mechanism, self.counts)

    @cached_property
    def standard_errors(self) -> dict[Label, float] | None:
        """The expected standard error of each estimated frequency; None where the outcomes do not determine them."""
        errors = expected_errors(self.groups)
        return None if errors is None else dict(zip(self.mechanism.inputs, errors, strict=True))

    @cached_property
    def by_group(self) -> dict[Label, dict[Label, float] | None]:
        """The same within each of the largest groups: with given columns, within each stratum."""
        if not isinstance(self.mechanism, StratifiedMechanism):
            return {}
        errors = {one.stratum: expected_errors([one]) for one in self.groups[:_GROUPS]}
        return {
            stratum: None if row is None else dict(zip(self.mechanism.inputs, row, strict=True))
            for stratum, row in errors.items()
        }

    @cached_property
    def guesses(self) -> Guesses:
        """How often someone who knows the frequencies in a row's group guesses its value, with the outcome and without.

        Those of small groups lean on the whole table.
        """
        return expected_guesses(leaning(self.groups))

    def _rows(self) -> list[list[object]]:
        whole = np.sum([one.counts for one in self.groups], axis=0)
        shares = whole / whole.sum()
        found, errors = self.guesses, self.standard_errors
        return [
            [
                label,
                percent(share),
                "not determined" if errors is None else f"± {percent(1.96 * errors[label])}",
                "-" if np.isnan(before) else percent(before),
                "-" if np.isnan(after) else percent(after),
            ]
            for label, share, before, after in zip(
                self.mechanism.inputs, shares, found.before_by_value, found.after_by_value, strict=True
            )
        ]

    def shown(self) -> Parts:
        """Return tables for a terminal or a notebook."""
        headers = ["value", "in the table", "analyst (95%)", "guessed before", "guessed after"]
        found = self.guesses
        parts: list[Any] = [
            NOTHING,
            Table(headers, self._rows(), "What the release would tell about each value", align="lrrrr"),
            f"The best guess about a row would be right for {percent(found.after)} of the rows; without the outcomes "
            f"it is right for {percent(found.before)}.",
        ]
        if self.by_group:
            names = joined(getattr(self.mechanism, "given", ()))
            rows = [
                [
                    one.stratum,
                    f"{one.rows:,}",
                    "not determined" if row is None else f"± {percent(1.96 * max(row.values()))}",
                ]
                for one in self.groups[:_GROUPS]
                for row in [self.by_group[one.stratum]]
            ]
            parts.append(
                Table([names, "rows", "widest interval (95%)"], rows, "Frequencies within groups", align="lrr")
            )
            if len(self.groups) > _GROUPS:
                parts.append(f"{len(self.groups) - _GROUPS:,} smaller groups are not shown.")
        rest = [["time for reading and design", f"{self.seconds:.1f} s"], ["memory", f"{self.memory / 1e6:,.0f} MB"]]
        parts += [] if self.ledger is None else [f"The ledger {self.ledger}."]
        rest += [[f"would write the {what}", place] for what, place in self.files.items()]
        return [*parts, Table(["", "dry run"], rest), STEWARD]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        errors, found = self.standard_errors, self.guesses
        labels = [label_to_plain(one) for one in self.mechanism.inputs]
        return {
            "for": STEWARD,
            "values": labels,
            "standard_errors": None if errors is None else list(errors.values()),
            "groups": [
                {
                    "stratum": label_to_plain(one.stratum),
                    "rows": one.rows,
                    "standard_errors": None if row is None else list(row.values()),
                }
                for one in self.groups[:_GROUPS]
                if self.by_group
                for row in [self.by_group[one.stratum]]
            ],
            "right_guesses": {"before": found.before, "after": found.after},
            "ledger": self.ledger,
            "files": dict(self.files),
            "seconds": self.seconds,
            "memory": self.memory,
        }
