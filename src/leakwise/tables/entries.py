"""Entries of the ledger, and what several of them come to."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from leakwise.charts.table import html_table, number, text_table
from leakwise.errors import InvalidInput, LeakwiseError
from leakwise.exact import Level
from leakwise.leakage import ldp
from leakwise.mechanism import Mechanism
from leakwise.mechanism.files import MechanismBody, mechanism_from_body, mechanism_to_body
from leakwise.priors import Prior, PriorSet
from leakwise.priors.around import Around
from leakwise.priors.bodies import STORED_SETS, SetBody, set_from_body, set_to_body
from leakwise.priors.prior import PriorBody
from leakwise.tables.together import Together, together

__all__ = ["COLUMNS", "LedgerEntry", "LedgerTotal", "entry_of", "row_of", "total_of"]

COLUMNS = (
    "time",
    "state",
    "dataset",
    "secret",
    "mechanism",
    "prior",
    "origin",
    "epsilon",
    "failure",
    "rows",
    "source_digest",
    "released_digest",
)


@dataclass(frozen=True)
class LedgerEntry:
    """One release.

    Attributes
    ----------
    id, time
        Its number, and when it was entered (UTC).
    state
        ``"reserved"`` (entered, not yet made), ``"released"`` or ``"cancelled"``.
    dataset, secret
        The data and its columns.
    mechanism, prior
        What was drawn from, and for which prior or set of priors its leakage is known; None where that was a set
        of a kind that is not stored.
    origin
        Where the prior comes from.
    epsilon, failure
        The certified leakage of this release alone, and with what probability the prior is wrong.
    source_digest, released_digest
        Keyed digests of the column before and after.
    """

    id: int
    time: str
    state: str
    dataset: str
    secret: tuple[str, ...]
    mechanism: Mechanism
    prior: PriorSet | None
    origin: str
    epsilon: float
    failure: float
    rows: int | None
    source_digest: str | None
    released_digest: str | None

    @property
    def counts(self) -> bool:
        """Whether it adds to the total: everything but what was cancelled."""
        return self.state != "cancelled"

    def summary(self) -> dict[str, Any]:
        """The entry without its mechanism and its prior."""
        return {
            "id": self.id,
            "time": self.time,
            "state": self.state,
            "dataset": self.dataset,
            "secret": ", ".join(self.secret),
            "epsilon": self.epsilon,
            "lift": math.exp(self.epsilon),
            "failure": self.failure,
            "origin": self.origin,
            "rows": self.rows,
            "source_digest": self.source_digest,
            "released_digest": self.released_digest,
        }

    def to_dict(self) -> dict[str, Any]:
        """Plain data, with the exact mechanism and prior."""
        return {
            **self.summary(),
            "secret": list(self.secret),
            "mechanism": self.mechanism.to_dict(),
            "prior": self.prior.to_dict() if isinstance(self.prior, (Prior, Around)) else None,
        }


class KnownBody(msgspec.Struct, forbid_unknown_fields=True):
    """What a release was certified for: a prior, or a set of priors around it."""

    nominal: PriorBody
    around: SetBody | None = None


def _known_to_text(prior: PriorSet | None) -> str:
    """As the database holds it; a set of the user's own kind cannot be kept."""
    body = None
    if isinstance(prior, Prior):
        body = KnownBody(prior.to_body())
    elif isinstance(prior, STORED_SETS):
        body = KnownBody(prior.nominal.to_body(), set_to_body(prior))
    return msgspec.json.encode(body).decode()


def _known_from_text(text: str, name: str) -> PriorSet | None:
    body = msgspec.json.decode(text, type=KnownBody | None)
    if body is None:
        return None
    nominal = Prior.from_body(body.nominal, name)
    return nominal if body.around is None else set_from_body(body.around, nominal, name)


def row_of(entry: LedgerEntry) -> tuple[Any, ...]:
    """The entry as the database holds it."""
    return (
        entry.time,
        entry.state,
        entry.dataset,
        json.dumps(list(entry.secret), ensure_ascii=False),
        msgspec.json.encode(mechanism_to_body(entry.mechanism)).decode(),
        _known_to_text(entry.prior),
        entry.origin,
        entry.epsilon,
        entry.failure,
        entry.rows,
        entry.source_digest,
        entry.released_digest,
    )


def entry_of(row: Sequence[Any], name: str) -> LedgerEntry:
    """The entry that a row of the database holds."""
    number_, time, state, dataset, secret, mechanism, prior, *rest = row
    try:
        return LedgerEntry(
            number_,
            time,
            state,
            dataset,
            tuple(json.loads(secret)),
            mechanism_from_body(msgspec.json.decode(mechanism, type=MechanismBody), name),
            _known_from_text(prior, name),
            *rest,
        )
    except (msgspec.MsgspecError, ValueError, LeakwiseError) as error:
        raise InvalidInput(f"Entry {number_} of the ledger {name!r} is damaged: {error}") from error


@dataclass(frozen=True, repr=False)
class LedgerTotal:
    """What all releases of a secret reveal together.

    Attributes
    ----------
    epsilon, lift
        In nats, rounded up; and e^ε: no guess becomes more times likelier by all outcomes together.
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
        """e^ε."""
        return math.exp(self.epsilon) if self.epsilon < 700 else math.inf

    @property
    def within_budget(self) -> bool:
        """Whether the total keeps within the budget (true where there is none)."""
        return self.budget is None or self.epsilon <= self.budget.epsilon

    def _rows(self) -> list[list[str]]:
        return [
            ["releases", str(self.releases)],
            ["total ε (nats, rounded up)", number(self.epsilon, 6)],
            ["total lift e^ε", number(self.lift, 6)],
            ["how", "exact composition" if self.exact else "upper bound (LDP, ε_max)"],
            ["failure of a prior", number(self.failure)],
            ["budget", "none" if self.budget is None else self.budget.words],
        ]

    def __repr__(self) -> str:
        return text_table(["", "total"], self._rows(), title=f"{', '.join(self.secret)} of {self.dataset}")

    def _repr_html_(self) -> str:
        return html_table(["", "total"], self._rows(), caption=f"{', '.join(self.secret)} of {self.dataset}")

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
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
    """The total for a secret, for the worst of the priors that were entered for it."""
    counted = [one for one in entries if one.counts and one.dataset == dataset and set(one.secret) & set(secret)]
    own = [one for one in counted if one.secret == secret]
    failure = min(1.0, sum(one.failure for one in counted))
    if not own:
        # Of a part of what was released together, or of more: only what holds for every prior can be said.
        epsilon = sum(ldp(one.mechanism) for one in counted)
        return LedgerTotal(dataset, secret, epsilon, not counted, len(counted), failure, budget)
    if len(counted) == 1:
        return LedgerTotal(dataset, secret, own[0].epsilon, True, 1, failure, budget)
    found = [_for_prior_of(one, own, counted) for one in _different_priors(own)]
    epsilon = max(one.epsilon for one in found)
    return LedgerTotal(dataset, secret, epsilon, all(one.exact for one in found), len(counted), failure, budget)


def _different_priors(entries: Sequence[LedgerEntry]) -> list[LedgerEntry]:
    """One entry for each prior or set of priors; every entry whose set was of a kind that is not stored."""
    seen: dict[Any, LedgerEntry] = {}
    for one in entries:
        seen.setdefault(one.id if one.prior is None else _known_to_text(one.prior), one)
    return list(seen.values())


def _for_prior_of(one: LedgerEntry, own: Sequence[LedgerEntry], counted: Sequence[LedgerEntry]) -> Together:
    if one.prior is None:
        # ε(A) + Σ LDP of the others holds for every prior of the set that A was certified for.
        epsilon = one.epsilon + sum(ldp(other.mechanism) for other in counted if other is not one)
        return Together(math.nextafter(epsilon, math.inf), False, 1)
    letters = set(one.prior.labels)
    same = [other.mechanism for other in own if set(other.mechanism.inputs) == letters]
    used = {id(other) for other in own if set(other.mechanism.inputs) == letters}
    rest = [other.mechanism for other in counted if id(other) not in used]
    return together(same, one.prior, rest)
