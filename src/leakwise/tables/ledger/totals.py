"""What all releases of a secret come to."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from leakwise.alphabet import joined
from leakwise.charts.shown import Parts, Shown, Table
from leakwise.charts.words import Broken, Kept, Notice
from leakwise.errors import some_of
from leakwise.exact import Level, float_above
from leakwise.guarantee import all_releases, at_least, at_most, lift_above, lift_below
from leakwise.tables.ledger.column_digest import changed_between
from leakwise.tables.ledger.entries import Beside, LedgerEntry
from leakwise.tables.ledger.independence import Independence
from leakwise.tables.ledger.joint_total import Together
from leakwise.tables.ledger.repeats import drawn_once
from leakwise.tables.ledger.row_total import covers, for_the_row, given_moved, seen_beside

__all__ = ["TABLE_CHANGED", "LedgerTotal", "beyond_budget", "total_of"]

TABLE_CHANGED = (
    "The table changed between its releases (a column has another digest, or the number of rows is another). The total "
    "is about the values at all times: only releases of the same column with the same digest are composed exactly, and "
    "every other one counts with its limit for anyone; all of them do where columns are given."
)


@dataclass(frozen=True, repr=False)
class LedgerTotal(Shown):
    """What all releases of a secret reveal together.

    Attributes
    ----------
    dataset, secret
        Of what; no column stands for the whole row.
    epsilon, lift
        In nats, rounded up; and e^ε: no guess becomes more than so many times as likely by all outcomes together.
    exact
        Whether the releases were composed outcome by outcome; otherwise it is a bound.
    releases
        How many count.
    failure
        The probability that any of the priors is wrong, at most.
    budget
        What was allowed, if anything was said.
    beside
        The columns that went out as they are, given or assumed to tell nothing: the total compares with what the given
        ones say. None where nothing was said of other columns.
    in_clear
        The releases in which a column of the secret itself went out as it is: nothing is protected any more.
    apart
        Columns whose releases are not counted: they were shown to be independent of the secret.
    changed
        Whether the table changed between its releases, so that draws of other values are not composed exactly.
    """

    dataset: str
    secret: tuple[str, ...]
    epsilon: float
    exact: bool
    releases: int
    failure: float
    budget: Level | None
    beside: Beside | None = None
    in_clear: tuple[int, ...] = ()
    apart: tuple[str, ...] = ()
    changed: bool = False

    @property
    def sentence(self) -> str:
        """The total in words."""
        about = " and ".join(self.secret) or "the row"
        if self.in_clear:
            where = joined("this release" if one < 0 else f"entry {one}" for one in self.in_clear)
            what = "A secret" if not self.secret else about
            return f"{what} of {self.dataset} went out as it is, unprotected, in {where}: no limit holds."
        beside = self.beside or Beside()
        return all_releases(self.lift, self.dataset, about, beside.given, beside.unrelated) + self._not_counted

    @property
    def _not_counted(self) -> str:
        if not self.apart:
            return ""
        about = f"they are independent of {' and '.join(self.secret)}"
        return f" Releases of {joined(self.apart)} are not counted: by a prior that was entered {about}."

    @property
    def lift(self) -> float:
        """e^ε, rounded up."""
        return float_above(Fraction(lift_above(self.epsilon))) if self.epsilon < 700 else math.inf

    @property
    def within_budget(self) -> bool:
        """Whether the total keeps within the budget (true where there is none)."""
        return self.budget is None or self.epsilon <= self.budget.epsilon

    @property
    def left(self) -> float | None:
        """How many nats of the budget are left, rounded down; None where there is no budget."""
        if self.budget is None:
            return None
        if not self.epsilon:
            return self.budget.epsilon
        # One rounding of the difference of two floats: a hair less is on the safe side.
        return max(0.0, (self.budget.epsilon - self.epsilon) * (1 - 2.0**-50))

    @property
    def remaining(self) -> str:
        """What is left of the budget, in words."""
        if self.left is None or self.budget is None:
            return "There is no budget, so that nothing is refused."
        if not self.within_budget:
            return f"The budget, {self.budget.words}, is exceeded: every further release is refused."
        if not self.left:
            return (
                f"Nothing is left of the budget, {self.budget.words}: a further release that tells anything is refused."
            )
        return (
            f"Of the budget, {self.budget.words}, a lift of {at_least(lift_below(self.left))} is left for further "
            "releases."
        )

    @property
    def title(self) -> str:
        """Of what it is the total."""
        return ", ".join(self.secret) or "the whole row"

    def _shown(self) -> Parts:
        rows = [
            ["releases", str(self.releases)],
            ["total ε (nats, rounded up)", at_most(self.epsilon, 6)],
            ["total lift e^ε", at_most(self.lift, 6)],
            ["how", "exact composition" if self.exact else "upper bound"],
            ["failure probability of the priors", at_most(self.failure)],
            ["budget", "none" if self.budget is None else self.budget.words],
        ]
        said: list[str] = (
            [] if self.beside is None and not self.apart else [(Broken if self.in_clear else Kept)(self.sentence)]
        )
        said += [Notice(TABLE_CHANGED)] if self.changed else []
        said += [] if self.budget is None else [self.remaining if self.within_budget else Broken(self.remaining)]
        return [Table(["", "total"], rows, f"{self.title} of {self.dataset}"), *said]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "dataset": self.dataset,
            "secret": list(self.secret),
            "whole_row": not self.secret,
            "epsilon": self.epsilon,
            "lift": self.lift,
            "exact": self.exact,
            "releases": self.releases,
            "failure": self.failure,
            "budget": None if self.budget is None else self.budget.words,
            "within_budget": self.within_budget,
            "left": self.left,
            "remaining": self.remaining,
            "given": [] if self.beside is None else list(self.beside.given),
            "unrelated": [] if self.beside is None else list(self.beside.unrelated),
            "in_clear": list(self.in_clear),
            "apart": list(self.apart),
            "changed": self.changed,
            "sentence": self.sentence,
        }


def total_of(
    entries: Sequence[LedgerEntry],
    dataset: str,
    secret: tuple[str, ...],
    budget: Level | None,
    independent: Sequence[Independence] = (),
) -> LedgerTotal:
    """Return the total for a secret over all releases of the data: a release tells about every column of the row.

    Even one of another column does, where the two are correlated: only those of columns that are shown to be
    independent of it do not. No column stands for the whole row.
    """
    here = counted = [one for one in entries if one.counts and one.dataset == dataset]
    about = secret or tuple(sorted({name for one in here for name in one.secret}))
    seen = seen_beside(entries, dataset)
    moved, drawn = given_moved(here), drawn_once(here, lambda one: covers(one, seen))
    for shown in independent:
        # It was shown of the values of one time: of those of several, nothing is known.
        if shown.given == seen and not moved and not changed_between(drawn):
            counted = min(counted, shown.linked(here, about), key=len)
    kept = {one.id for one in counted}
    apart = tuple(sorted({name for one in here if one.id not in kept for name in one.secret}))
    failure = min(1.0, sum(one.failure for one in counted))
    beside = None
    in_clear = tuple(one.id for one in here if {name for name, _ in one.row.seen}.intersection(about))
    if seen:
        # A column that one release assumed to tell nothing is given where another was certified beside it.
        given = {name for one in here for name in one.row.given}
        beside = Beside(tuple(sorted(given)), tuple(sorted({name for name, _ in seen} - given)))
    drawn = drawn_once(counted, lambda one: covers(one, seen))
    found = Together(math.inf, False, 1) if in_clear else for_the_row(drawn, about, seen, here)
    said = (budget, beside, in_clear, apart, moved or changed_between(drawn))
    return LedgerTotal(dataset, secret, found.epsilon, found.exact, len(counted), failure, *said)


def beyond_budget(new: Sequence[LedgerEntry], total: LedgerTotal, before: LedgerTotal) -> str:
    """Say why a release, or several that are made together, are refused."""
    assert total.budget is not None
    secret = tuple(dict.fromkeys(name for one in new for name in one.secret))
    budgeted = some_of(total.secret) or "the whole row"
    about = "" if total.secret == secret else f" (which the budget of {budgeted} counts, too)"
    words = f"This release of {some_of(secret)} of {total.dataset!r}{about} is refused: "
    if total.in_clear:
        words += f"{total.sentence} The budget is "
    elif math.isinf(total.epsilon):
        words += (
            "no limit is known for all releases together. A prior of all their columns together is needed, or "
            "mechanisms with a limit for every prior (no zeros). The budget is "
        )
    else:
        lift = at_most(total.lift)
        words += f"with it all releases together could make a guess {lift} times as likely, and the budget is "
    return f"{words}{total.budget.words}. Without it they have a lift of {at_most(before.lift)}. Nothing was released."
