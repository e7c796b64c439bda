"""Releases whose draws repeat one another by a key: an unchanged value is told once, however often it is released.

Of releases by one key, column and mechanism, a person whose value changed k times has at most k + 1 draws
(:mod:`leakwise.tables.memo.draws`). So one of them counts, as it is certified; k more, each with its limit for anyone,
because nothing is known of what is believed about a value that changed; and no others.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from leakwise.errors import InvalidInput, LeakwiseWarning
from leakwise.tables.ledger.entries import LedgerEntry, known_to_text

__all__ = ["drawn_once", "refuse_unsaid_changes"]


def drawn_once(counted: Sequence[LedgerEntry], covers: Callable[[LedgerEntry], bool]) -> list[LedgerEntry]:
    """Return the releases that add a draw about some person, those of changed values marked as such.

    A release beside whose outcome another was drawn, or whose prior was paid for, counts in full; so does, where there
    are releases of other draws, one for another prior or beside other columns.

    Parameters
    ----------
    counted
        The releases of the data.
    covers
        Whether a release is certified beside all columns that went out.
    """
    cited = frozenset[int]().union(*(one.after for one in counted))
    groups: dict[object, list[LedgerEntry]] = {}
    for one in counted:
        if one.repeats is not None and not one.outcomes and not one.cost and one.id not in cited:
            groups.setdefault(_draws(one), []).append(one)
    if any(len(group) < len(counted) for group in groups.values()):
        # How other releases go together with a draw is known for the priors of those entries that count.
        several = [one for group in groups.values() for one in group]
        groups = {}
        for one in several:
            groups.setdefault((_draws(one), _known(one), one.beside), []).append(one)
    kept = {one.id: one for one in counted}
    for group in groups.values():
        # All are one draw: what is proven beside most columns counts, for the worst of the priors.
        first = max(group, key=lambda one: (covers(one), one.epsilon))
        others = [one for one in group if one is not first]
        for place, one in enumerate(others):
            if place < _changes(group):
                kept[one.id] = replace(one, changed=True)
            else:
                del kept[one.id]
    return list(kept.values())


def _draws(one: LedgerEntry) -> str | None:
    return None if one.repeats is None else one.repeats.draws


def _known(one: LedgerEntry) -> object:
    """What is equal for equal priors; one that is not stored equals none."""
    return one.id if one.known == known_to_text(None) else one.known


def _changes(group: Iterable[LedgerEntry]) -> int:
    return max(one.repeats.changes or 0 for one in group if one.repeats is not None)


def refuse_unsaid_changes(new: LedgerEntry, entries: Sequence[LedgerEntry]) -> None:
    """Refuse draws that repeat earlier ones where nobody said how often values may have changed.

    Warn of draws by a key that was used before, which repeat nothing because the mechanism is another.
    """
    if new.repeats is None:
        return
    before = [
        one
        for one in entries
        if one.counts
        and (one.dataset, one.columns) == (new.dataset, new.columns)
        and one.repeats is not None
        and one.repeats.key == new.repeats.key
    ]
    same = [one for one in before if one.repeats is not None and one.repeats.draws == new.repeats.draws]
    if before and not same:
        warnings.warn(
            f"{' and '.join(new.secret)} of {new.dataset!r} was released by this key before, with another mechanism "
            f"(entry {before[-1].id}): every value is drawn again, which adds to what is known. To repeat those draws "
            "give that mechanism (mechanism=, --mechanism).",
            LeakwiseWarning,
            stacklevel=6,
        )
    for one in same:
        if new.repeats.changes is None:
            raise InvalidInput(
                f"changes (--changes) must say how often at most the value of a person changed since the first release "
                f"by this key and mechanism (entry {one.id} is one): 0 where values cannot change. An unchanged value "
                "tells nothing new, and a changed one is a further draw. Nothing was released."
            )
