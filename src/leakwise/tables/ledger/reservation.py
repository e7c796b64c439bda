"""A release that is about to be made, as it is entered in the ledger."""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from leakwise.alphabet import Bins, numbered_edges
from leakwise.errors import InvalidInput, some_of
from leakwise.exact import float_above
from leakwise.mechanism import StratifiedMechanism
from leakwise.priors import AllPriors
from leakwise.proof import Certificate, StratifiedCertificate, prior_cost
from leakwise.tables.ledger.entries import Beside, LedgerEntry, Repeats
from leakwise.tables.ledger.joint_total import rounded_sum
from leakwise.tables.row_columns import RowColumns

__all__ = ["Reservation", "name_of_data", "names_of", "refuse_outcomes", "reserved_entries"]


@dataclass(frozen=True)
class Reservation:
    """What is entered of one release before it is made.

    Attributes
    ----------
    secret
        The name of the column (or the names of the columns) whose values are the secret.
    certificate
        Of the mechanism, for the prior; or by strata.
    origin, failure
        Where the prior comes from, and with what probability it is wrong.
    rows
        The number of rows.
    source_digest
        Of the secret column, by which it is known again under another name.
    row
        What goes out beside the secret. Left out, the given columns of a stratified mechanism, or nothing is known.
    outcomes
        The outcomes of earlier releases that the certificate is beside: from the column in which they are given to the
        number of an entry, or to the secret of an earlier release that is entered in the same call. A column that the
        mechanism has no strata of is one whose outcomes the certificate's sets of priors cover.
    repeats
        The key by which the draws repeat; None for fresh ones.
    """

    secret: Any
    certificate: Certificate | StratifiedCertificate
    origin: str = "given"
    failure: float = 0.0
    rows: int | None = None
    source_digest: str | None = None
    row: RowColumns | None = None
    outcomes: Mapping[Any, Any] = field(default_factory=dict)
    repeats: Repeats | None = None


def reserved_entries(dataset: str, releases: Sequence[Reservation], time: str) -> list[LedgerEntry]:
    """Return the entries of releases that are entered together, with numbers below zero: they have none yet."""
    if not releases:
        raise InvalidInput("releases must name at least one release to enter. Got none.")
    found: list[LedgerEntry] = []
    for place, one in enumerate(releases):
        certificate = one.certificate
        beside, leaked = _beside(one), float(certificate.epsilon_upper)
        if isinstance(certificate, Certificate) and beside is not None and beside.prior_cost:
            leaked = rounded_sum([leaked, float_above(beside.prior_cost)])
        names = tuple(json.loads(names_of(one.secret)))
        found.append(
            LedgerEntry(
                place - len(releases),
                time,
                "reserved",
                dataset,
                names,
                certificate.mechanism,
                certificate.priors if isinstance(certificate, StratifiedCertificate) else certificate.prior,
                one.origin,
                leaked,
                max(one.failure, certificate.failure),
                one.rows,
                one.source_digest,
                None,
                _order(one.secret),
                beside,
                tuple((str(name), _number(which, found)) for name, which in one.outcomes.items()),
                -len(releases) if len(releases) > 1 else None,
                one.repeats,
            )
        )
    return found


def _number(which: Any, earlier: Sequence[LedgerEntry]) -> int:
    """The number of the entry whose outcome is meant: itself, or that of a release before this one in the call."""
    if isinstance(which, int):
        return which
    names = tuple(json.loads(names_of(which)))
    for one in earlier:
        if one.secret == names:
            return one.id
    raise InvalidInput(
        f"outcomes must name an entry by its number, or the secret of a release that comes earlier in the same call. "
        f"Got {which!r}; before it come {some_of([one.secret for one in earlier]) or 'none'}."
    )


def _beside(one: Reservation) -> Beside | None:
    """What is entered of the columns that go out beside the secret, and of what its prior cost; None for neither."""
    certificate, row = one.certificate, one.row
    given: tuple[Hashable, ...] = ()
    if isinstance(certificate, StratifiedCertificate):
        given, cost = certificate.mechanism.given, certificate.cost
    else:
        cost = prior_cost(certificate.prior)
    if row is not None and isinstance(certificate, Certificate) and isinstance(certificate.prior, AllPriors):
        given = row.given  # what holds for every prior holds beside any column
    # Outcomes of earlier releases are no columns of the data.
    given = tuple(name for name in given if name not in one.outcomes)
    if row is not None and row.given and {*row.given} - {*one.outcomes} != {*given}:
        raise InvalidInput(
            f"The certificate must be beside the columns that go out with the secret, {some_of(row.given)}. It is "
            f"beside {some_of(given) or 'none'}."
        )
    unrelated = () if row is None else row.unrelated
    if not (given or unrelated or cost or isinstance(certificate, StratifiedCertificate)):
        return None
    coarse = {} if row is None else dict(row.coarsened)
    if isinstance(certificate, StratifiedCertificate):
        columns = certificate.mechanism.given_columns
        named = zip(columns.names, columns.domains, strict=True)
        coarse |= {name: domain for name, domain in named if isinstance(domain, Bins)}
    bins = {str(name): numbered_edges(some) for name, some in coarse.items() if name in (*given, *unrelated)}
    return Beside(tuple(map(str, given)), tuple(map(str, unrelated)), cost, tuple(sorted(bins.items())))


def _order(secret: Any) -> tuple[str, ...] | None:
    """The columns in the order that the values of a joint secret have; None where one is named twice."""
    names = (secret,) if isinstance(secret, str) else tuple(secret)
    return names if len(set(names)) == len(names) else None


def refuse_outcomes(entry: LedgerEntry, entries: Sequence[LedgerEntry]) -> None:
    """Refuse a release beside an outcome that is none, or that is one of other data or of other values."""
    known = {one.id: one for one in entries}
    for name, number in entry.outcomes:
        one = known.get(number)
        if one is None or not one.counts or one.dataset != entry.dataset or number == entry.id:
            what = "does not exist" if one is None else "was cancelled" if not one.counts else f"is of {one.dataset!r}"
            raise InvalidInput(
                f"outcomes must name entries of {entry.dataset!r} that count. Column {name!r} is said to hold the "
                f"outcomes of entry {number}, which {what}."
            )
        drawn = entry.mechanism
        if isinstance(drawn, StratifiedMechanism) and name in drawn.given:
            domain = drawn.given_columns.domains[drawn.given.index(name)]
            outcomes = _outcomes_in(one, name)
            if domain is not None and not set(domain) <= outcomes:
                raise InvalidInput(
                    f"Column {name!r} is said to hold the outcomes of entry {number}, and has values that are none of "
                    f"them: {some_of(list(set(domain) - outcomes))}."
                )


def _outcomes_in(entry: LedgerEntry, name: str) -> set[Any]:
    """The outcomes of a release as they stand in a column: of a joint one, the part that is in it."""
    labels = entry.mechanism.output_alphabet.labels
    if entry.columns is None or len(entry.columns) == 1 or name not in entry.columns:
        return set(labels)
    place = entry.columns.index(name)
    return {label[place] if isinstance(label, tuple) else label for label in labels}


def name_of_data(dataset: Any) -> str:
    """Return the name of the data, checked."""
    if not isinstance(dataset, str) or not dataset.strip():
        raise InvalidInput(f"dataset must be a name. Got {dataset!r} instead.")
    return dataset


def names_of(secret: Any) -> str:
    """Return the columns of a secret in one fixed order, as the database holds them: they are a set."""
    names = [secret] if isinstance(secret, str) else list(secret) if isinstance(secret, (list, tuple)) else []
    if not names or any(not isinstance(name, str) or not name for name in names):
        raise InvalidInput(f"secret must be the name of a column, or a tuple of names. Got {secret!r} instead.")
    return json.dumps(sorted(set(names)), ensure_ascii=False)
