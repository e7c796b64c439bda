"""Releases of several columns of a row, overlapping or not, by one mechanism each: what all of them reveal together.

A release of (A, B) tells about A, and one of A about (A, B); after a release of (A, B) even one of B alone tells about
A. And where A and B are correlated, a release of B tells about A by itself: all releases count together.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from leakwise.leakage import ldp
from leakwise.mechanism import Mechanism
from leakwise.priors import Prior, PriorByStratum, PriorSet
from leakwise.tables.ledger.column_digest import same_values
from leakwise.tables.ledger.entries import LedgerEntry, known_to_text
from leakwise.tables.ledger.joint_total import MOST_OF_ONE, Together, rounded_sum, together

__all__ = ["all_together"]


def all_together(counted: Sequence[LedgerEntry], secret: Collection[str], *, changed: bool = False) -> Together:
    """Return what releases reveal about the columns of a secret.

    With a prior of the columns C, every release of C or of a part of it is composed exactly; any other multiplies a
    lift by at most its limit for every prior (LDP). That bounds the lift of every guess about the row, for every joint
    prior that gives C this one. Priors of other columns are carried over to C (:func:`_carried_over`), and the worst
    of all priors counts; the least of the bounds over the sets C holds. The sum of all limits for every prior always
    does. Where the table changed, a release of other values of C is one of another column.
    """
    # Daily releases by one mechanism are one object: its limit is worked out once.
    each = {id(one.mechanism): _plain(one) for one in counted}
    known = {key: ldp(mechanism) for key, mechanism in each.items()}
    limits = {one.id: known[id(one.mechanism)] for one in counted}
    best = Together(rounded_sum(limits.values()), not counted, 1)
    for columns in dict.fromkeys(one.secret for one in counted):
        priors = _worst_priors(columns, counted)
        if priors is None:
            continue
        # Of values that changed there is more to guess about than the secret at one time.
        capped = not changed and set(secret) <= set(columns)
        found = [
            min(
                (_for_prior(one, counted, limits, capped=capped, changed=changed) for one in _held(prior, counted)),
                key=lambda one: one.epsilon,
            )
            for prior in priors
        ]
        worst = max(found, key=lambda one: one.epsilon)
        # The lift of a part of C may be less than that of C itself.
        exact = all(one.exact for one in found) and set(columns) <= set(secret)
        if worst.epsilon < best.epsilon or (worst.epsilon == best.epsilon and exact):
            best = Together(worst.epsilon, exact, worst.outcomes)
    return best


@dataclass(frozen=True)
class _Known:
    """A prior or a set of priors that an entry was certified for, or another prior over the same letters."""

    entry: LedgerEntry
    prior: PriorSet | None

    @property
    def labels(self) -> Sequence[Any]:
        """The letters by name; a prior that only numbers them takes the names of the mechanism."""
        assert self.prior is not None
        return self.prior.labels if self.prior.alphabet.declared else self.entry.mechanism.inputs

    @property
    def sampled(self) -> bool:
        """Whether it holds the true prior except with a failure probability, so that it contradicts no other."""
        return self.prior is not None and self.prior.failure > 0

    def key(self) -> Any:
        """Return what is equal for equal priors; a set of a kind that is not stored equals nothing."""
        if self.prior is None:
            return self.entry.id
        return self.entry.known if self.prior is self.entry.prior else known_to_text(self.prior)


def _worst_priors(columns: tuple[str, ...], counted: Sequence[LedgerEntry]) -> list[_Known] | None:
    """Every prior of these columns that any entry stands for; None where one of them cannot be told."""
    known = [_Known(one, _plain_prior(one)) for one in counted]
    own = _different(one for one in known if one.entry.secret == columns)
    others = _different(
        one for one in known if one.entry.secret != columns and set(columns).intersection(one.entry.secret)
    )
    found = list(own)
    for one in own:
        for other in others:
            if one.sampled and other.sampled:
                continue
            moved = _carried_over(other, one)
            if moved is None:
                return None
            found.append(moved)
    return _different(found)


def _different(known: Iterable[_Known]) -> list[_Known]:
    seen: dict[Any, _Known] = {}
    for one in known:
        seen.setdefault((one.entry.secret, one.entry.columns, one.key()), one)
    return list(seen.values())


def _held(known: _Known, counted: Sequence[LedgerEntry]) -> Iterator[_Known]:
    """The prior as the release that it is from holds it, and as those of other values do: each is a bound."""
    yield known
    seen = {known.entry.source_digest}
    for one in counted:
        own = (one.secret, one.columns) == (known.entry.secret, known.entry.columns) and one.source_digest not in seen
        if own and known.prior is not None and _Known(one, _plain_prior(one)).key() == known.key():
            seen.add(one.source_digest)
            yield _Known(one, known.prior)


def _carried_over(other: _Known, one: _Known) -> _Known | None:
    """Return what someone who holds the other prior takes for the first one's columns.

    The columns that both name follow the other prior, the rest given them the first one. Only single priors can be
    carried over, and only where the first gives mass to whatever the other does.
    """
    if not isinstance(one.prior, Prior) or not isinstance(other.prior, Prior):
        return None
    mine, theirs = _values(one.labels, one.entry.columns), _values(other.labels, other.entry.columns)
    if mine is None or theirs is None:
        return None
    assert one.entry.columns is not None
    assert other.entry.columns is not None
    shared = [name for name in one.entry.columns if name in other.entry.columns]
    keys = [_part(value, one.entry.columns, shared) for value in mine]
    base, wanted = dict[Any, int](), dict[Any, int]()
    for key, weight in zip(keys, one.prior.weights.tolist(), strict=True):
        base[key] = base.get(key, 0) + int(weight)
    for value, weight in zip(theirs, other.prior.weights.tolist(), strict=True):
        key = _part(value, other.entry.columns, shared)
        wanted[key] = wanted.get(key, 0) + int(weight)
    if any(weight and not base.get(key) for key, weight in wanted.items()):
        return None
    scale = math.lcm(*(weight for weight in base.values() if weight))
    weights = [
        int(weight) * wanted.get(key, 0) * (scale // base[key]) if weight else 0
        for key, weight in zip(keys, one.prior.weights.tolist(), strict=True)
    ]
    return _Known(one.entry, Prior.from_integers(one.prior.alphabet, weights))


def _for_prior(
    known: _Known, counted: Sequence[LedgerEntry], limits: dict[int, float], *, capped: bool, changed: bool
) -> Together:
    """Compose what is over the letters of the prior; the rest counts with its limits for every prior."""
    one = known.entry
    if known.prior is None:
        return Together(
            rounded_sum([one.epsilon, *(limits[e.id] for e in counted if e is not one)]), len(counted) == 1, 1
        )
    composed, rest = list[Mechanism](), list[Mechanism]()
    reordered: dict[object, Mechanism | None] = {}
    for other in counted:
        mechanism = None
        if same_values(one, other, changed=changed):
            token = (id(other.mechanism), other.columns, other is one)
            if token not in reordered:
                reordered[token] = _over_letters(other, known)
            mechanism = reordered[token]
        if mechanism is None:
            rest.append(_plain(other))
        else:
            composed.append(mechanism)
    return together(composed, known.prior, rest, capped=capped)


def _over_letters(entry: LedgerEntry, known: _Known) -> Mechanism | None:
    """Return the mechanism of a release of these columns, or of a part of them, as one over the letters of a prior."""
    mechanism, letters = _plain(entry), known.prior.alphabet if known.prior is not None else None
    assert letters is not None
    if entry is known.entry:
        order = letters.positions_in(mechanism.input_alphabet, mine="prior", theirs="mechanism")
        kernel = mechanism.kernel if order is None else mechanism.kernel.take_rows(order)
        return Mechanism.from_kernel(kernel, letters, mechanism.output_alphabet)
    inputs, wanted = _values(mechanism.inputs, entry.columns), _values(known.labels, known.entry.columns)
    if inputs is None or wanted is None or mechanism.shape[1] > MOST_OF_ONE:
        return None
    assert entry.columns is not None
    assert known.entry.columns is not None
    if not set(entry.columns) <= set(known.entry.columns):
        return None
    index = {value: place for place, value in enumerate(inputs)}
    places = [index.get(_part(value, known.entry.columns, entry.columns)) for value in wanted]
    if any(place is None for place in places):
        return None
    return Mechanism.from_kernel(
        mechanism.kernel.take_rows(np.array(places, dtype=np.intp)), letters, mechanism.output_alphabet
    )


def _values(labels: Sequence[Any], columns: tuple[str, ...] | None) -> list[tuple[Any, ...]] | None:
    """The letters with one part for each column; None where they do not say which part is which column's."""
    if columns is None:
        return None
    if len(columns) == 1:
        return [(label,) for label in labels]
    if any(not isinstance(label, tuple) or len(label) != len(columns) for label in labels):
        return None
    return list(labels)


def _part(value: tuple[Any, ...], columns: tuple[str, ...], wanted: Sequence[str]) -> tuple[Any, ...]:
    return tuple(value[columns.index(name)] for name in wanted)


def _plain(entry: LedgerEntry) -> Mechanism:
    """The one mechanism of a release; those by strata are counted beside their given columns (``row_total``)."""
    assert isinstance(entry.mechanism, Mechanism)
    return entry.mechanism


def _plain_prior(entry: LedgerEntry) -> PriorSet | None:
    assert not isinstance(entry.prior, PriorByStratum)
    return entry.prior
