"""Entries of the ledger, as its database holds them."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from leakwise.errors import InvalidInput, LeakwiseError
from leakwise.mechanism import Mechanism
from leakwise.mechanism.files import MechanismBody, mechanism_from_body, mechanism_to_body
from leakwise.priors import Prior, PriorSet
from leakwise.priors.prior import PriorBody
from leakwise.priors.sets.around_estimate import Around
from leakwise.priors.sets.files import STORED_SETS, SetBody, set_from_body, set_to_body

__all__ = ["COLUMNS", "LedgerEntry", "entry_of", "known_to_text", "row_of"]

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
    "columns",
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
        Where the prior comes from, and that the outcomes were drawn from ``unsafe_seed`` where they were.
    epsilon, failure
        The certified leakage of this release alone, and with what probability the prior is wrong.
    source_digest, released_digest
        Keyed digests of the column before and after.
    columns
        The columns of ``secret`` in the order in which the values of a joint secret name them; None for a joint
        secret that a ledger of version 1 entered, where that order was not kept.
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
    columns: tuple[str, ...] | None = None

    @property
    def counts(self) -> bool:
        """Whether it adds to the total: everything but what was cancelled."""
        return self.state != "cancelled"

    def summary(self) -> dict[str, Any]:
        """Return the entry without its mechanism and its prior."""
        return {
            "id": self.id,
            "time": self.time,
            "state": self.state,
            "dataset": self.dataset,
            "secret": ", ".join(self.secret),
            "epsilon": self.epsilon,
            "lift": math.exp(self.epsilon) if self.epsilon < 700 else math.inf,
            "failure": self.failure,
            "origin": self.origin,
            "rows": self.rows,
            "source_digest": self.source_digest,
            "released_digest": self.released_digest,
        }

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, with the exact mechanism and prior."""
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


def known_to_text(prior: PriorSet | None) -> str:
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
    """Return the entry as the database holds it."""
    return (
        entry.time,
        entry.state,
        entry.dataset,
        json.dumps(list(entry.secret), ensure_ascii=False),
        msgspec.json.encode(mechanism_to_body(entry.mechanism)).decode(),
        known_to_text(entry.prior),
        entry.origin,
        entry.epsilon,
        entry.failure,
        entry.rows,
        entry.source_digest,
        entry.released_digest,
        None if entry.columns is None else json.dumps(list(entry.columns), ensure_ascii=False),
    )


def entry_of(row: Sequence[Any], name: str) -> LedgerEntry:
    """Return the entry that a row of the database holds."""
    number_, time, state, dataset, secret, mechanism, prior, *rest = row
    columns = rest.pop()
    try:
        names = tuple(json.loads(secret))
        order = tuple(json.loads(columns)) if columns is not None else names if len(names) == 1 else None
        known = _known_from_text(prior, name)
        body = msgspec.json.decode(mechanism, type=MechanismBody)
        values = (number_, time, state, dataset, names, mechanism_from_body(body, name), known, *rest, order)
        return LedgerEntry(*values)
    except (msgspec.MsgspecError, TypeError, ValueError, LeakwiseError) as error:
        raise InvalidInput(f"Entry {number_} of the ledger {name!r} is damaged: {error}") from error
