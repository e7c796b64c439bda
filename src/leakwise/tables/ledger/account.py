"""The account of one dataset: its totals and what is left, what each release added, and what is not settled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from leakwise.charts.shown import Parts, Shown, Table
from leakwise.charts.words import Broken, Kept, Notice
from leakwise.guarantee import at_least, at_most, lift_above, lift_below
from leakwise.tables.ledger.entries import LedgerEntry
from leakwise.tables.ledger.totals import TABLE_CHANGED, LedgerTotal

__all__ = ["Added", "LedgerAccount", "Unsettled"]


@dataclass(frozen=True)
class Added:
    """One release, and what it added to what all of them reveal about the row.

    Attributes
    ----------
    entry
        The release.
    epsilon
        By how many nats the total of the whole row grew, rounded up.
    after
        The total of the whole row with it, in nats, rounded up.
    """

    entry: LedgerEntry
    epsilon: float
    after: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {**self.entry.summary(), "added": self.epsilon, "row_after": self.after}


@dataclass(frozen=True, repr=False)
class Unsettled(Shown):
    """Entries whose releases were begun, and of which it is not known whether they were made."""

    entries: Sequence[LedgerEntry]

    @property
    def sentences(self) -> list[str]:
        """What these entries are, and what can be done about them."""
        told = [
            f"Entry {one.id} ({', '.join(one.columns or one.secret)} of {one.dataset}, entered {one.time}) is "
            "reserved: its release was begun, and it is not known whether it was finished: the process was stopped, or "
            "still runs. Until it is settled it counts as released."
            for one in self.entries
        ]
        if told:
            told += [
                "Look for the released table. leakwise ledger settle LEDGER ENTRY --released means: it is somewhere, "
                "or someone may have seen any of it; the entry counts for good.",
                "leakwise ledger settle LEDGER ENTRY --not-released means: nothing was written, or it was deleted "
                "before anyone saw any of it; the entry counts no more.",
            ]
        return told

    def _shown(self) -> Parts:
        return [self.sentences or "Every entry is settled."]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {"reserved": [one.summary() for one in self.entries], "sentences": self.sentences}


@dataclass(frozen=True, repr=False)
class LedgerAccount(Shown):
    """What all releases of one dataset reveal together, and how it came about.

    Attributes
    ----------
    dataset
        Its name.
    totals
        Of each column that was released, of each set of columns with a budget, and of the whole row (the last).
    added
        What each release added to the whole row, in the order in which they were entered.
    """

    dataset: str
    totals: tuple[LedgerTotal, ...]
    added: tuple[Added, ...]

    @property
    def row(self) -> LedgerTotal:
        """The total of the whole row."""
        return self.totals[-1]

    @property
    def reserved(self) -> list[LedgerEntry]:
        """Entries whose releases were begun, and of which it is not known whether they were made."""
        return [one.entry for one in self.added if one.entry.state == "reserved"]

    def _shown(self) -> Parts:
        sums = [
            [
                one.title,
                at_most(one.lift),
                at_most(one.epsilon),
                "exact" if one.exact else "bound",
                "" if one.budget is None else one.budget.words,
                "" if one.left is None else at_least(lift_below(one.left)),
            ]
            for one in self.totals
        ]
        made = [
            [
                one.entry.id,
                one.entry.time[:10],
                ", ".join(one.entry.columns or one.entry.secret),
                _beside(one.entry),
                "cancelled" if not one.entry.counts else f"× {at_most(lift_above(one.epsilon))}",
                at_most(lift_above(one.after)),
                "" if one.entry.state == "released" else one.entry.state,
            ]
            for one in self.added
        ]
        heads = ["about", "lift", "ε", "how", "budget", "lift left"]
        parts: list[Any] = [Table(heads, sums, f"{self.dataset}: what all releases together reveal")]
        if made:
            heads = ["entry", "date", "secret", "beside", "added", "row after", ""]
            parts += [
                "",
                Table(heads, made, f"{self.dataset}: what each release added to the whole row", max_rows=1000),
            ]
        # The row first: it is what a budget is mostly set for.
        said: list[str] = [
            (str if one.within_budget else Broken)(f"{one.title}: {one.remaining}")
            for one in reversed(self.totals)
            if one.budget is not None
        ]
        if made:
            said += [
                Broken(one.sentence) if one.in_clear else Kept(one.sentence) if one is self.row else one.sentence
                for one in self.totals
                if one.beside is not None or one.in_clear or one.apart
            ]
        said += [Notice(TABLE_CHANGED)] if self.row.changed else []
        if any(one.left for one in self.totals):
            said.append(
                "A further release spends its lift where it is certified beside all that went out, earlier outcomes "
                "included; any other one spends its limit for anyone."
            )
        if self.reserved:
            said += map(Notice, Unsettled(self.reserved).sentences)
        return [*parts, *(["", said] if said else [])]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "dataset": self.dataset,
            "totals": [one.to_dict() for one in self.totals],
            "releases": [one.to_dict() for one in self.added],
            "reserved": [one.id for one in self.reserved],
        }


def _beside(entry: LedgerEntry) -> str:
    outcomes = [f"entry {number}" for _, number in entry.outcomes]
    return ", ".join([*entry.row.given, *outcomes])
