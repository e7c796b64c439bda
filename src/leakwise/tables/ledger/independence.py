"""Columns that are shown to be independent: releases of the ones tell nothing about the others, and are not counted.

Let groups of columns be independent given all columns u that went out as they are. As long as no release is of columns
of two groups, or of a column of none, P(a|u,y) is what the releases of a's own group make of P(a|u), whatever the
others were chosen after. A release of columns of two groups joins them: after it, one tells about the other.
"""

from __future__ import annotations

import itertools
import math
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import msgspec

from leakwise.alphabet import Bins, numbered_edges
from leakwise.errors import InvalidInput, some_of
from leakwise.guarantee import percent
from leakwise.priors import Prior, PriorByStratum
from leakwise.tables.ledger.entries import LedgerEntry, Seen
from leakwise.tables.ledger.ledger_file import ACCOUNTS, migrate, version_of

__all__ = ["Independence", "independence_of", "shown_independent", "store_independence"]


@dataclass(frozen=True)
class Independence:
    """Groups of columns that are independent of one another, given the columns that went out as they are.

    Attributes
    ----------
    groups
        The columns of each.
    given
        The columns, with the edges of their bins, beside which that was shown.
    """

    groups: tuple[frozenset[str], ...]
    given: frozenset[Seen]

    def linked(self, releases: Sequence[LedgerEntry], secret: Sequence[str]) -> list[LedgerEntry]:
        """Return the releases that tell about the columns of a secret: all of them where that cannot be ruled out."""
        known = frozenset[str]().union(*self.groups)
        if not known.issuperset(secret) or any(not known.issuperset(one.secret) for one in releases):
            return list(releases)
        reached = [set(group) for group in self.groups if group.intersection(secret)]
        columns = set[str]().union(*reached)
        while True:
            told = [one for one in releases if columns.intersection(one.secret)]
            spanned = {name for one in told for name in one.secret}
            more = columns.union(*(group for group in self.groups if group & spanned))
            if more == columns:
                return told
            columns = more


def shown_independent(groups: Sequence[Any], prior: Prior | PriorByStratum) -> Independence:
    """Return that groups of columns are independent under a prior of all of them; refuse where they are not.

    Parameters
    ----------
    groups
        Columns, or tuples of columns: at least two groups, without a column in common.
    prior
        Of all these columns, in the order in which they are named; by stratum where other columns go out.
    """
    parts = [(one,) if isinstance(one, str) else tuple(one) for one in groups]
    names = [name for part in parts for name in part]
    if len(parts) < 2 or not all(parts) or len(set(names)) < len(names) or not all(isinstance(n, str) for n in names):
        raise InvalidInput(
            f"groups must be two or more columns, or tuples of columns, each column named once. Got {groups!r}."
        )
    by: dict[Any, Any] = {None: prior}
    given: frozenset[Seen] = frozenset()
    if isinstance(prior, PriorByStratum):
        by = {key: prior[key] for key in prior}
        columns = prior.given_columns
        edges = (numbered_edges(one) if isinstance(one, Bins) else None for one in columns.domains)
        given = frozenset(
            (str(name), None if one is None else tuple(one)) for name, one in zip(columns.names, edges, strict=True)
        )
    for stratum, one in by.items():
        if not isinstance(one, Prior):
            raise InvalidInput(f"prior must be a single prior, not a set of them, to show independence. Got {one!r}.")
        _check(one, parts, names, "" if stratum is None else f" where the given columns are {stratum!r}")
    return Independence(tuple(frozenset(part) for part in parts), given)


def _check(prior: Prior, parts: Sequence[tuple[str, ...]], names: Sequence[str], where: str) -> None:
    """Refuse a prior that is not the product of its parts, exactly."""
    masses: dict[tuple[Any, ...], int] = {}
    for label, weight in zip(prior.labels, prior.weights.tolist(), strict=True):
        if not isinstance(label, tuple) or len(label) != len(names):
            raise InvalidInput(
                f"prior must be of all columns together, with values such as a tuple of {len(names)} for "
                f"{some_of(list(names))}. Got the value {label!r}."
            )
        masses[label] = int(weight)
    ends = list(itertools.accumulate(map(len, parts)))
    cuts = [slice(end - len(part), end) for part, end in zip(parts, ends, strict=True)]
    sums: list[dict[tuple[Any, ...], int]] = [{} for _ in parts]
    for label, weight in masses.items():
        for cut, here in zip(cuts, sums, strict=True):
            here[label[cut]] = here.get(label[cut], 0) + weight
    total = sum(masses.values())
    for combination in itertools.product(*(here.items() for here in sums)):
        label = tuple(value for part, _ in combination for value in part)
        product, mass = math.prod(weight for _, weight in combination), masses.get(label, 0)
        if product != mass * total ** (len(parts) - 1):
            apart = Fraction(product, total ** len(parts))
            raise InvalidInput(
                f"By the prior the columns are not independent{where}: {label!r} has {percent(mass / total)}, and the "
                f"product of its parts is {percent(float(apart))}. Releases of one tell about the other, and count."
            )


class _Stored(msgspec.Struct, forbid_unknown_fields=True):
    groups: list[list[str]]
    given: list[tuple[str, list[float] | None]]


def store_independence(db: sqlite3.Connection, dataset: str, shown: Independence) -> None:
    """Keep what was shown of a dataset."""
    migrate(db, ACCOUNTS)
    given = [(name, None if edges is None else list(edges)) for name, edges in sorted(shown.given, key=repr)]
    body = _Stored([sorted(group) for group in shown.groups], given)
    db.execute("INSERT INTO independence VALUES (?, ?)", (dataset, msgspec.json.encode(body).decode()))


def independence_of(db: sqlite3.Connection) -> list[tuple[str, Independence]]:
    """Return what was shown, with the names of the data."""
    if version_of(db) < ACCOUNTS:
        return []
    found = []
    for dataset, text in db.execute("SELECT dataset, shown FROM independence").fetchall():
        body = msgspec.json.decode(text, type=_Stored)
        given = frozenset((name, None if edges is None else tuple(edges)) for name, edges in body.given)
        found.append((dataset, Independence(tuple(map(frozenset, body.groups)), given)))
    return found
