"""Entries of the ledger, as its database holds them."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import msgspec

from leakwise.errors import InvalidInput, LeakwiseError
from leakwise.exact import float_above
from leakwise.leakage import ldp
from leakwise.mechanism import Mechanism, StratifiedMechanism
from leakwise.mechanism.files import MechanismBody, mechanism_from_body, mechanism_to_body
from leakwise.mechanism.stratified_file import StratifiedBody, stratified_from_body, stratified_to_body
from leakwise.priors import Prior, PriorByStratum, PriorSet
from leakwise.priors.by_stratum_file import PriorByStratumBody, priors_from_body, priors_to_body
from leakwise.priors.prior import PriorBody
from leakwise.priors.sets.around_estimate import Around
from leakwise.priors.sets.files import STORED_SETS, SetBody, set_from_body, set_to_body

__all__ = ["COLUMNS", "Beside", "LedgerEntry", "Repeats", "Seen", "entry_of", "known_to_text", "row_of"]

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
    "beside",
    "outcomes",
    "together",
    "repeats",
)
# A column that went out, and the edges of its bins, or None.
Seen = tuple[str, tuple[float, ...] | None]


@dataclass(frozen=True)
class Beside:
    """What went out in a row beside the outcome, and what its prior cost.

    Attributes
    ----------
    given
        The columns that the release is certified beside.
    unrelated
        Columns that went out too and were assumed to tell nothing about the secret.
    prior_cost
        What a prior counted with noise costs, in nats, exact.
    bins
        The edges of the bins in which some of these columns went out.
    """

    given: tuple[str, ...] = ()
    unrelated: tuple[str, ...] = ()
    prior_cost: Fraction = Fraction(0)
    bins: tuple[tuple[str, tuple[float, ...]], ...] = ()

    @cached_property
    def seen(self) -> frozenset[Seen]:
        """Every column that went out, with the edges of its bins; None where it went out as it is."""
        edges = dict(self.bins)
        return frozenset((name, edges.get(name)) for name in (*self.given, *self.unrelated))

    @property
    def strata(self) -> tuple[object, ...]:
        """The given columns as strata name them: equal where strata of two releases are the same rows."""
        edges = dict(self.bins)
        return tuple((name, edges.get(name)) for name in self.given)


NOTHING_SAID = Beside()


class Repeats(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Draws that repeat by a key.

    Attributes
    ----------
    key
        The fingerprint of the key.
    draws
        A keyed digest of columns and mechanism, equal for releases whose draws repeat one another.
    changes
        How often at most the value of a person changed since the first of them; None where that was not said.
    """

    key: str
    draws: str
    changes: int | None = None


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
    beside
        What went out beside the secret; None where the release did not say.
    outcomes
        The outcomes of earlier releases that this one is certified beside: the column in which they are given, and the
        number of the entry. A release that is about to be entered has a negative number.
    together
        The number of the first entry of those that were entered together, all or none; None for one alone.
    repeats
        The key by which its draws repeat; None for fresh draws.
    changed
        Whether it counts as the draw of a changed value, of which nothing is known but the limit for anyone.
    """

    id: int
    time: str
    state: str
    dataset: str
    secret: tuple[str, ...]
    mechanism: Mechanism | StratifiedMechanism
    prior: PriorSet | PriorByStratum | None
    origin: str
    epsilon: float
    failure: float
    rows: int | None
    source_digest: str | None
    released_digest: str | None
    columns: tuple[str, ...] | None = None
    beside: Beside | None = None
    outcomes: tuple[tuple[str, int], ...] = ()
    together: int | None = None
    repeats: Repeats | None = None
    changed: bool = False

    @cached_property
    def after(self) -> frozenset[int]:
        """The entries whose outcomes this release is certified beside."""
        return frozenset(number for _, number in self.outcomes)

    @property
    def counts(self) -> bool:
        """Whether it adds to the total: everything but what was cancelled."""
        return self.state != "cancelled"

    @property
    def row(self) -> Beside:
        """What is known to have gone out beside the secret."""
        return NOTHING_SAID if self.beside is None else self.beside

    @cached_property
    def known(self) -> str:
        """What is equal for equal priors, as the database holds it."""
        return known_to_text(self.prior)

    @cached_property
    def cost(self) -> float:
        """What the prior cost, in nats, rounded up."""
        return float_above(self.row.prior_cost)

    @cached_property
    def anyone(self) -> float:
        """The leakage for any prior whatever in nats, over all strata, with what the prior cost; may be infinite."""
        several = self.mechanism.mechanisms if isinstance(self.mechanism, StratifiedMechanism) else [self.mechanism]
        largest = max(float(ldp(one)) for one in several)
        return largest if not self.cost else (largest + self.cost) * (1 + 2.0**-50)

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
            "given": ", ".join(self.row.given),
            "unrelated": ", ".join(self.row.unrelated),
            "outcomes": ", ".join(f"{name} (entry {number})" for name, number in self.outcomes),
            "together": self.together,
            "memo": None if self.repeats is None else self.repeats.key,
            "changes": None if self.repeats is None else self.repeats.changes,
        }

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, with the exact mechanism and prior."""
        return {
            **self.summary(),
            "secret": list(self.secret),
            "mechanism": self.mechanism.to_dict(),
            "prior": self.prior.to_dict() if isinstance(self.prior, (Prior, Around, PriorByStratum)) else None,
            "given": list(self.row.given),
            "unrelated": list(self.row.unrelated),
            "outcomes": dict(self.outcomes),
            "prior_cost": self.cost,
        }


class KnownBody(msgspec.Struct, forbid_unknown_fields=True):
    """What a release was certified for: a prior, or a set of priors around it."""

    nominal: PriorBody
    around: SetBody | None = None


class BesideBody(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """What went out beside the secret; ``by_stratum`` says how the mechanism and the prior are stored."""

    given: list[str]
    unrelated: list[str] = []
    prior_cost: str = "0"
    by_stratum: bool = False
    bins: dict[str, tuple[float, ...]] = {}


def known_to_text(prior: PriorSet | PriorByStratum | None) -> str:
    """As the database holds it; a set of the user's own kind cannot be kept."""
    body: Any = None
    if isinstance(prior, PriorByStratum):
        if all(isinstance(prior[key], (Prior, *STORED_SETS)) for key in prior):
            body = priors_to_body(prior)
    elif isinstance(prior, Prior):
        body = KnownBody(prior.to_body())
    elif isinstance(prior, STORED_SETS):
        body = KnownBody(prior.nominal.to_body(), set_to_body(prior))
    return msgspec.json.encode(body).decode()


@lru_cache(maxsize=256)
def _known_from_text(text: str, name: str) -> PriorSet | None:
    body = msgspec.json.decode(text, type=KnownBody | None)
    if body is None:
        return None
    nominal = Prior.from_body(body.nominal, name)
    return nominal if body.around is None else set_from_body(body.around, nominal, name)


def _strata_from_text(text: str, name: str) -> PriorByStratum | None:
    body = msgspec.json.decode(text, type=PriorByStratumBody | None)
    return None if body is None else priors_from_body(body, name)


def row_of(entry: LedgerEntry) -> tuple[Any, ...]:
    """Return the entry as the database holds it, without its number: one value for each of ``COLUMNS``."""
    drawn, beside, one = entry.mechanism, None, entry.beside
    by_stratum = isinstance(drawn, StratifiedMechanism)
    body = stratified_to_body(drawn) if isinstance(drawn, StratifiedMechanism) else mechanism_to_body(drawn)
    if one is not None:
        told = BesideBody(list(one.given), list(one.unrelated), str(one.prior_cost), by_stratum, dict(one.bins))
        beside = msgspec.json.encode(told).decode()
    return (
        entry.time,
        entry.state,
        entry.dataset,
        json.dumps(list(entry.secret), ensure_ascii=False),
        msgspec.json.encode(body).decode(),
        known_to_text(entry.prior),
        entry.origin,
        entry.epsilon,
        entry.failure,
        entry.rows,
        entry.source_digest,
        entry.released_digest,
        None if entry.columns is None else json.dumps(list(entry.columns), ensure_ascii=False),
        beside,
        json.dumps(dict(entry.outcomes), ensure_ascii=False) if entry.outcomes else None,
        entry.together,
        None if entry.repeats is None else msgspec.json.encode(entry.repeats).decode(),
    )


@lru_cache(maxsize=256)
def _mechanism(text: str, name: str) -> Mechanism:
    """The mechanism of an entry; daily releases by one mechanism are read, and composed, as one object."""
    return mechanism_from_body(msgspec.json.decode(text, type=MechanismBody), name)


def entry_of(row: Sequence[Any], name: str) -> LedgerEntry:
    """Return the entry that a row of the database holds."""
    number_, time, state, dataset, secret, mechanism, prior, *rest, columns, beside, after, group, memo = row
    try:
        names = tuple(json.loads(secret))
        order = tuple(json.loads(columns)) if columns is not None else names if len(names) == 1 else None
        told = None if beside is None else msgspec.json.decode(beside, type=BesideBody)
        drawn: Mechanism | StratifiedMechanism
        known: PriorSet | PriorByStratum | None
        if told is not None and told.by_stratum:
            drawn = stratified_from_body(msgspec.json.decode(mechanism, type=StratifiedBody), name)
            known = _strata_from_text(prior, name)
        else:
            drawn = _mechanism(mechanism, name)
            known = _known_from_text(prior, name)
        went_out = None
        if told is not None:
            bins = tuple(sorted(told.bins.items()))
            went_out = Beside(tuple(told.given), tuple(told.unrelated), Fraction(told.prior_cost), bins)
        outcomes = () if after is None else tuple((str(key), int(one)) for key, one in json.loads(after).items())
        repeats = None if memo is None else msgspec.json.decode(memo, type=Repeats)
        values = (number_, time, state, dataset, names, drawn, known, *rest, order, went_out, outcomes, group, repeats)
        return LedgerEntry(*values)
    except (msgspec.MsgspecError, AttributeError, TypeError, ValueError, LeakwiseError) as error:
        raise InvalidInput(f"Entry {number_} of the ledger {name!r} is damaged: {error}") from error
