"""What all releases about a row reveal together to anyone who sees the rows: beside every column that went out.

Let u be all columns that went out as they are, in any release of the data. For releases y_1, …, y_k, each with fresh
randomness, P(r|u,y_1…y_k)/P(r|u) is a product, in whatever order they are taken, with a factor for each: at most the
lift t_i where the release is certified beside u and exactly the outcomes that come before it in that order, and at most
its limit a_i for anyone otherwise. So every order bounds every guess about the row; the least of the bounds is found as
the best chain of releases, each certified beside all that come before it (the mathematics, section 8).

One condition is easily missed: a release that is certified beside y_j must be beside the outcomes that y_j was drawn
beside as well. P(s|u,y_j) mixes what these may have been, and says nothing for anyone who has seen them.

Where the table changed between its releases the row is all its values over time. A factor is still at most t_i or a_i;
but draws of other values are not composed with one another, and where columns are given, nothing is certified beside
their values of other times, so that every release counts with its limit for anyone.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from leakwise.alphabet import Label
from leakwise.leakage import ldp
from leakwise.mechanism import Mechanism, StratifiedMechanism
from leakwise.priors import AllPriors, PriorByStratum, PriorSet
from leakwise.tables.ledger.column_digest import changed_between
from leakwise.tables.ledger.entries import LedgerEntry, Seen, known_to_text
from leakwise.tables.ledger.joint_total import Together, rounded_sum, together
from leakwise.tables.ledger.overlaps import all_together

__all__ = ["covers", "for_the_row", "given_moved", "seen_beside"]

# Joint outcomes that are looked at over all strata.
_MOST_OUTCOMES = 1_000_000


def seen_beside(entries: Iterable[LedgerEntry], dataset: str) -> frozenset[Seen]:
    """Return every column of the data that went out, as it is or in bins, beside whatever secret."""
    counted = [one for one in entries if one.counts and one.dataset == dataset]
    return frozenset(column for one in counted for column in one.row.seen)


def covers(entry: LedgerEntry, seen: frozenset[Seen]) -> bool:
    """Return whether a release is certified for anyone who sees these columns, or assumed they tell nothing.

    Who sees a column as it is sees its bins as well, and not the other way round. Of the draw of a changed value
    nothing is certified.
    """
    own = entry.row.seen
    return not entry.changed and all(column in own or (column[0], None) in own for column in seen)


def given_moved(entries: Sequence[LedgerEntry]) -> bool:
    """Return whether columns are given and the table changed, so that nothing is certified beside all that went out.

    Draws that repeat are no exception: the columns beside them are those of their year.
    """
    return any(one.row.given for one in entries) and changed_between(entries)


@dataclass(frozen=True)
class _Link:
    """Releases whose leakage together is known beside the columns that are seen and exactly the outcomes of others.

    Attributes
    ----------
    members, after
        The numbers of these releases, and of those whose outcomes they are certified beside.
    found
        What they reveal.
    limits
        Their limits for anyone, which would count otherwise.
    """

    members: frozenset[int]
    after: frozenset[int]
    found: Together
    limits: tuple[float, ...]

    @property
    def saved(self) -> tuple[int, float]:
        """What is saved in comparison with the limits for anyone: infinite ones first."""
        finite = math.fsum(one for one in self.limits if math.isfinite(one))
        return sum(map(math.isinf, self.limits)), finite - self.found.epsilon

    def precedes(self, other: _Link) -> bool:
        """Return whether the other one is certified beside these outcomes and whatever these are certified beside."""
        return self.after | self.members <= other.after


def for_the_row(
    counted: Sequence[LedgerEntry],
    secret: Sequence[str],
    seen: frozenset[Seen],
    known: Sequence[LedgerEntry] | None = None,
) -> Together:
    """Return what releases reveal about a row beside the columns that are seen: the least of the bounds that hold.

    Parameters
    ----------
    counted
        The releases.
    secret
        The columns that are guessed about.
    seen
        Those that went out as they are.
    known
        All releases of the data, where not all of them count.
    """
    known = counted if known is None else known
    after = {one.id: one.after for one in known}
    changed = changed_between(counted)
    moved = given_moved(known)
    limits = {one.id: one.anyone for one in counted}
    certified = [
        one for one in counted if covers(one, seen) and all(k in after and after[k] <= one.after for k in one.after)
    ]
    chain = _best_chain([] if moved else _links(counted, certified, secret, seen, changed=changed))
    if len(chain) == 1 and len(chain[0].members) == len(counted):
        return chain[0].found
    linked = frozenset[int]().union(*(link.members for link in chain))
    rest = [limit for number, limit in limits.items() if number not in linked]
    total = rounded_sum([*(link.found.epsilon for link in chain), *rest])
    return Together(min(total, rounded_sum(limits.values())), not counted, 1)


def _best_chain(links: Sequence[_Link]) -> list[_Link]:
    """The chain of links, each certified beside all before it, that saves most."""
    best: dict[int, tuple[tuple[int, float], list[_Link]]] = {}
    order = sorted(range(len(links)), key=lambda place: len(links[place].after))
    for place in order:
        link, earlier = links[place], [((0, 0.0), list[_Link]())]
        earlier += [best[other] for other in best if links[other].precedes(link)]
        (infinite, finite), chain = max(earlier, key=lambda one: one[0])
        best[place] = (infinite + link.saved[0], finite + link.saved[1]), [*chain, link]
    return max([((0, 0.0), list[_Link]()), *best.values()], key=lambda one: one[0])[1]


def _links(
    counted: Sequence[LedgerEntry],
    certified: Sequence[LedgerEntry],
    secret: Sequence[str],
    seen: frozenset[Seen],
    *,
    changed: bool,
) -> list[_Link]:
    """Whatever is known beside the columns that are seen: releases by themselves, and those that can be composed."""
    numbers = frozenset(one.id for one in counted)
    found = [
        _link([one], Together(one.epsilon, set(one.secret) <= set(secret), 1), one.after & numbers)
        for one in certified
        if not any(_may_contradict(one, other) for other in certified)
    ]
    # All that can be composed, and all of it that some release is certified beside.
    tried = set[frozenset[int]]()
    for among in (numbers, *dict.fromkeys(one.after & numbers for one in certified if one.outcomes)):
        here = [one for one in counted if one.id in among and not one.outcomes]
        for block in _blocks(here, [one for one in here if covers(one, seen)]):
            members = frozenset(one.id for one in block)
            if len(block) < 2 or members in tried:
                continue
            tried.add(members)
            plain = all(isinstance(one.mechanism, Mechanism) for one in block)
            joint = _plain(block, secret, changed=changed) if plain else _by_stratum(block, secret, seen)
            if joint is not None:
                found.append(_link(block, joint, frozenset()))
    return [link for link in found if math.isfinite(link.found.epsilon)]


def _may_contradict(one: LedgerEntry, other: LedgerEntry) -> bool:
    """Whether the priors of two plain releases of common columns may differ: the worst of them counts, in a block."""
    plain = isinstance(one.mechanism, Mechanism) and isinstance(other.mechanism, Mechanism)
    alone = not one.outcomes and not other.outcomes
    return plain and alone and one is not other and bool(set(one.secret).intersection(other.secret))


def _blocks(here: Sequence[LedgerEntry], certified: Sequence[LedgerEntry]) -> Iterator[list[LedgerEntry]]:
    """The plain releases; and for each secret beside the same columns, its releases by strata with the plain ones."""
    yield [one for one in certified if isinstance(one.mechanism, Mechanism)]
    for one in certified:
        if isinstance(one.mechanism, StratifiedMechanism):
            alike = [other for other in certified if (other.columns, other.row.strata) == (one.columns, one.row.strata)]
            yield [other for other in here if other in alike or _fits(other, one)]


def _link(members: Sequence[LedgerEntry], found: Together, after: frozenset[int]) -> _Link:
    return _Link(frozenset(one.id for one in members), after, found, tuple(one.anyone for one in members))


def _fits(other: LedgerEntry, one: LedgerEntry) -> bool:
    """Whether a release of the same columns by one mechanism can be composed with one by strata, stratum by stratum."""
    return other.columns == one.columns and not other.outcomes and not other.row.strata


def _plain(block: Sequence[LedgerEntry], secret: Sequence[str], *, changed: bool) -> Together:
    found, cost = all_together(block, secret, changed=changed), rounded_sum(one.cost for one in block)
    return Together(rounded_sum([found.epsilon, cost]), False, found.outcomes) if cost else found


def _by_stratum(counted: Sequence[LedgerEntry], secret: Sequence[str], seen: frozenset[Seen]) -> Together | None:
    """Compose the releases of one secret stratum by stratum; None where they are of several, or too large."""
    known = [one for one in counted if isinstance(one.prior, PriorByStratum) and covers(one, seen)]
    if not known or any(one.columns is None or one.columns != known[0].columns for one in counted):
        return None
    given = known[0].row.strata
    if any(one.row.strata not in ((), given) for one in counted) or any(one.row.strata != given for one in known):
        return None
    letters = known[0].mechanism.inputs
    listed = _priors(known)
    cost = rounded_sum(one.cost for one in counted)
    capped, left, exact = set(secret) <= set(known[0].secret), _MOST_OUTCOMES, not cost
    worst = _without_prior(counted, listed)
    exact = exact and not worst
    done = set[object]()
    for stratum, priors in listed.items():
        serving = [one for one in (_serving(one, stratum) for one in counted) if one is not None]
        token = (tuple(map(id, serving)), tuple(map(known_to_text, priors)))
        if token in done:
            continue
        done.add(token)
        several = [_over(letters, one) for one in serving]
        if not priors or any(one is None for one in several):
            worst, exact = max(worst, rounded_sum(map(ldp, serving))), False
            continue
        left -= len(priors) * math.prod(one.shape[1] for one in serving)
        if left < 0:
            return None
        for prior in priors:
            here = together([one for one in several if one is not None], prior, capped=capped)
            worst, exact = max(worst, here.epsilon), exact and here.exact
    whole = exact and set(known[0].secret) <= set(secret)
    return Together(rounded_sum([worst, cost]) if cost else worst, whole, _MOST_OUTCOMES - left)


def _priors(known: Sequence[LedgerEntry]) -> dict[Label, list[PriorSet]]:
    """Every stratum that a release has a prior for, with all its priors; those for every prior say nothing."""
    found: dict[Label, list[PriorSet]] = {}
    for one in known:
        assert isinstance(one.prior, PriorByStratum)
        for key in one.prior:
            here, prior = found.setdefault(key, []), one.prior[key]
            if not isinstance(prior, AllPriors):
                here.append(prior)
    return found


def _serving(entry: LedgerEntry, stratum: Label) -> Mechanism | None:
    """The mechanism that draws for a stratum; None where none does, and such a row is refused."""
    mechanism = entry.mechanism
    if not isinstance(mechanism, StratifiedMechanism):
        return mechanism
    own = stratum in mechanism  # a declared combination without one has the other
    return mechanism[stratum] if own else mechanism.otherwise


def _without_prior(counted: Sequence[LedgerEntry], listed: Container[Label]) -> float:
    """What is revealed of rows in strata without a prior, by the limits for anyone; 0 where there can be none."""
    limits, any_rows = list[float](), False
    for one in counted:
        mechanism = one.mechanism
        if isinstance(mechanism, StratifiedMechanism):
            serving = [mechanism[key] for key in mechanism if key not in listed]
            serving += [] if mechanism.otherwise is None else [mechanism.otherwise]
            any_rows = any_rows or bool(serving)
        else:
            serving = [mechanism]
        limits.append(max(map(ldp, serving), default=0.0))
    return rounded_sum(limits) if any_rows else 0.0


def _over(letters: Sequence[Label], mechanism: Mechanism) -> Mechanism | None:
    """The mechanism with its values in this order; None where it has others."""
    if mechanism.inputs == tuple(letters):
        return mechanism
    index = mechanism.input_alphabet.index
    if len(index) != len(letters) or any(one not in index for one in letters):
        return None
    places = np.array([index[one] for one in letters], dtype=np.intp)
    return Mechanism.from_kernel(mechanism.kernel.take_rows(places), letters, mechanism.output_alphabet)
