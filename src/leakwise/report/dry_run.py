"""A release that was not made: what it would guarantee, tell the analyst, cost in the ledger, and write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from leakwise.alphabet import Label, joined, label_to_plain
from leakwise.charts.shown import Parts, Table
from leakwise.charts.words import Notice
from leakwise.errors import label_text
from leakwise.guarantee import percent
from leakwise.mechanism import AnyMechanism, StratifiedMechanism
from leakwise.report.better_choices import Advice
from leakwise.report.expected import Group, Guesses, expected_errors, expected_guesses, groups_of, leaning
from leakwise.report.steward import STEWARD

__all__ = ["DryRun", "ExpectedOfSecret", "SeveralDryRun"]

_NOTHING = "Dry run: nothing was drawn, written or entered in a ledger."
_THROWN_AWAY = (
    "Dry run: nothing was written or entered in a ledger. What was drawn to design for later secrets beside the "
    "outcomes of earlier ones was thrown away: the release draws again, and its figures may differ a little."
)
_MORE = (
    "Where secrets go with one another, all outcomes together tell more about each of them than this, within the limit "
    "for the whole row."
)

# Groups whose accuracy is shown.
_GROUPS = 12


@dataclass(frozen=True)
class ExpectedOfSecret:
    """What a release would tell about one secret; it contains exact figures of the table.

    Attributes
    ----------
    mechanism, counts
        What would draw, and how often each value occurs in each stratum.
    """

    mechanism: AnyMechanism
    counts: Mapping[Label, Sequence[int]]

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
                label_text(label),
                percent(share),
                "not determined" if errors is None else f"± {percent(1.96 * errors[label])}",
                "-" if np.isnan(before) else percent(before),
                "-" if np.isnan(after) else percent(after),
            ]
            for label, share, before, after in zip(
                self.mechanism.inputs, shares, found.before_by_value, found.after_by_value, strict=True
            )
        ]

    def tables(self, about: str, best: str = "The best guess", without: str = "without the outcomes") -> list[Any]:
        """Return what it tells about each value, how often guesses are right, and what holds within groups."""
        headers = ["value", "in the table", "analyst (95%)", "guessed before", "guessed after"]
        found = self.guesses
        parts: list[Any] = [
            Table(headers, self._rows(), f"What the release would tell about {about}", align="lrrrr"),
            f"{best} about a row would be right for {percent(found.after)} of the rows; {without} "
            f"it is right for {percent(found.before)}.",
            "guessed before, guessed after: how many of the rows with that value the best guess gets right. Where a "
            "limited change makes another value the best guess, that share can move much further than the limit.",
        ]
        if self.by_group:
            names = joined(getattr(self.mechanism, "given", ()))
            rows = [
                [
                    label_text(one.stratum),
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
        return parts

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        errors, found = self.standard_errors, self.guesses
        labels = [label_to_plain(one) for one in self.mechanism.inputs]
        return {
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
        }


@dataclass(frozen=True)
class _Cost:
    """What a release would cost and write.

    Attributes
    ----------
    ledger
        What the ledger would say, as the rest of a sentence about it; None without one.
    files
        What would be written, by what it is.
    seconds, memory
        What reading and design took: seconds, and the largest memory of this process in bytes. Drawing reads the table
        once more, and writes it.
    """

    ledger: str | None
    files: Mapping[str, str]
    seconds: float
    memory: int

    def _rest(self) -> list[Any]:
        rest = [["time for reading and design", f"{self.seconds:.1f} s"], ["memory", f"{self.memory / 1e6:,.0f} MB"]]
        rest += [[f"would write the {what}", place] for what, place in self.files.items()]
        said = [] if self.ledger is None else [Notice(f"The ledger {self.ledger}.")]
        return [*said, Table(["", "dry run"], rest), Notice(STEWARD)]

    def _plain(self) -> dict[str, Any]:
        return {"ledger": self.ledger, "files": dict(self.files), "seconds": self.seconds, "memory": self.memory}


@dataclass(frozen=True)
class DryRun(_Cost, ExpectedOfSecret):
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

    heading: ClassVar[str] = _NOTHING

    advice: Advice | None = None

    def shown(self) -> Parts:
        """Return tables for a terminal or a notebook."""
        return [self.heading, *self.tables("each value"), *self._rest()]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {"for": STEWARD, **super().to_dict(), **self._plain()}


@dataclass(frozen=True)
class SeveralDryRun(_Cost):
    """What is known of a release of several secrets before it is made; it contains exact figures of the table.

    Attributes
    ----------
    ledger
        What the ledger would say, as the rest of a sentence about it; None without one.
    files
        What would be written, by what it is.
    seconds, memory
        What reading and design took: seconds, and the largest memory of this process in bytes.
    secrets
        What its own outcome would tell about each secret, beside the outcomes of earlier ones where its mechanism is by
        them. From all outcomes together more may be learned, within the limit for the whole row.
    """

    heading: ClassVar[str] = _THROWN_AWAY

    secrets: Mapping[Any, ExpectedOfSecret]

    def shown(self) -> Parts:
        """Return tables for a terminal or a notebook."""
        parts: list[Any] = [self.heading]
        columns: list[Any] = []
        for key, one in self.secrets.items():
            names = key if isinstance(key, tuple) else (key,)
            about = f"each value of {joined(names)}"
            # Where combinations are too many, or nothing is known of them, the mechanism is not by earlier outcomes.
            if before := [name for name in columns if name in getattr(one.mechanism, "given", ())]:
                seen = f"{joined(names)} and those of {joined(before)}"
                parts += one.tables(about, f"By the outcomes of {seen} the best guess", "by the latter alone")
            else:
                parts += one.tables(about, f"By the outcomes of {joined(names)} alone the best guess")
            columns += names
        return [*parts, _MORE, *self._rest()]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        told = [
            {"secret": list(map(str, key if isinstance(key, tuple) else (key,))), **one.to_dict()}
            for key, one in self.secrets.items()
        ]
        return {"for": STEWARD, "secrets": told, **self._plain()}
