"""What all releases of a secret come to."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from leakwise.charts.shown import Parts, Shown, Table
from leakwise.errors import some_of
from leakwise.exact import Level, float_above
from leakwise.guarantee import at_most, lift_above
from leakwise.tables.ledger.entries import LedgerEntry
from leakwise.tables.ledger.overlaps import all_together, connected

__all__ = ["LedgerTotal", "beyond_budget", "total_of"]


@dataclass(frozen=True, repr=False)
class LedgerTotal(Shown):
    """What all releases of a secret reveal together.

    Attributes
    ----------
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
    """

    dataset: str
    secret: tuple[str, ...]
    epsilon: float
    exact: bool
    releases: int
    failure: float
    budget: Level | None

    @property
    def lift(self) -> float:
        """e^ε, rounded up."""
        return float_above(Fraction(lift_above(self.epsilon))) if self.epsilon < 700 else math.inf

    @property
    def within_budget(self) -> bool:
        """Whether the total keeps within the budget (true where there is none)."""
        return self.budget is None or self.epsilon <= self.budget.epsilon

    def _shown(self) -> Parts:
        rows = [
            ["releases", str(self.releases)],
            ["total ε (nats, rounded up)", at_most(self.epsilon, 6)],
            ["total lift e^ε", at_most(self.lift, 6)],
            ["how", "exact composition" if self.exact else "upper bound (LDP, ε_max)"],
            ["failure probability of the priors", at_most(self.failure)],
            ["budget", "none" if self.budget is None else self.budget.words],
        ]
        return [Table(["", "total"], rows, f"{', '.join(self.secret)} of {self.dataset}")]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "dataset": self.dataset,
            "secret": list(self.secret),
            "epsilon": self.epsilon,
            "lift": self.lift,
            "exact": self.exact,
            "releases": self.releases,
            "failure": self.failure,
            "budget": None if self.budget is None else self.budget.words,
            "within_budget": self.within_budget,
        }


def total_of(
    entries: Sequence[LedgerEntry], dataset: str, secret: tuple[str, ...], budget: Level | None
) -> LedgerTotal:
    """Return the total for a secret over all releases of its columns, of parts of them and of more."""
    counted = connected(entries, dataset, secret)
    failure = min(1.0, sum(one.failure for one in counted))
    if len(counted) == 1:
        # A single release tells about the whole row what it tells about its own secret.
        epsilon, exact = counted[0].epsilon, set(counted[0].secret) <= set(secret)
    else:
        found = all_together(counted, secret)
        epsilon, exact = found.epsilon, found.exact
    return LedgerTotal(dataset, secret, epsilon, exact, len(counted), failure, budget)


def beyond_budget(entry: LedgerEntry, total: LedgerTotal, before: LedgerTotal) -> str:
    """Say why a release is refused."""
    assert total.budget is not None
    about = "" if total.secret == entry.secret else f" (which the budget of {some_of(total.secret)} counts, too)"
    words = f"This release of {some_of(entry.secret)} of {entry.dataset!r}{about} is refused: "
    if math.isinf(total.epsilon):
        words += (
            "no limit is known for all releases together. A prior of all their columns together is needed, or "
            "mechanisms with a limit for every prior (no zeros). The budget is "
        )
    else:
        lift = at_most(total.lift)
        words += f"with it all releases together could make a guess {lift} times as likely, and the budget is "
    return f"{words}{total.budget.words}. Without it they have a lift of {at_most(before.lift)}. Nothing was released."
