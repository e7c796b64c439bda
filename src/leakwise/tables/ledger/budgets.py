"""Budgets: of a set of columns, of each column or of the whole row, of one dataset or of every one in the ledger."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

from leakwise.errors import InvalidInput, some_of
from leakwise.exact import Level, level
from leakwise.tables.ledger.entries import LedgerEntry
from leakwise.tables.ledger.ledger_file import ACCOUNTS, migrate
from leakwise.tables.ledger.people import names_of_data
from leakwise.tables.ledger.reservation import name_of_data, names_of

__all__ = ["ROW", "Budgets", "store_budget"]

ROW: tuple[str, ...] = ()
"""The whole row, as a set of columns: every column there is."""
# As the database holds them: the budget of each column, and the name of the dataset of budgets for every dataset.
_EACH, _ANY = "*", ""


def store_budget(db: sqlite3.Connection, dataset: str | None, secret: Any, each_column: bool, asked: Level) -> None:
    """Keep a budget. A dataset or a secret that is None stands for every dataset, and for the whole row."""
    if each_column and secret is not None:
        raise InvalidInput(
            f"secret (--column) must be left out where the budget is for each column. Got {secret!r}. Name one of them."
        )
    names = _EACH if each_column else json.dumps(ROW) if secret is None else names_of(secret)
    if secret is None or dataset is None:
        migrate(db, ACCOUNTS)  # an older program would not keep such a budget
    kind, value = asked.stored
    row = (_ANY if dataset is None else name_of_data(dataset), names, kind, str(value))
    db.execute("INSERT OR REPLACE INTO budgets VALUES (?, ?, ?, ?)", row)


class Budgets:
    """All budgets of a ledger, read at one moment."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._all: dict[tuple[str, str], Level] = {}
        same = names_of_data(db)
        for dataset, names, kind, value in db.execute("SELECT dataset, secret, kind, value FROM budgets").fetchall():
            exact = Fraction(value)
            one, key = level(lift=exact) if kind == "lift" else level(exact), (same.get(dataset, dataset), names)
            # Data that is known under two names keeps both of its budgets.
            self._all[key] = min(one, self._all.get(key, one), key=lambda found: found.epsilon)

    @property
    def datasets(self) -> list[str]:
        """The datasets that have a budget of their own."""
        return list(dict.fromkeys(dataset for dataset, _ in self._all if dataset != _ANY))

    @property
    def defaults(self) -> list[tuple[str, Level]]:
        """What every dataset has unless it has a budget of its own: for which columns, in words, and how much."""
        return [(_words(names), one) for (dataset, names), one in self._all.items() if dataset == _ANY]

    def of(self, dataset: str, secret: Sequence[str]) -> Level | None:
        """Return the budget of a set of columns, or of the whole row where it is empty: its own before any default."""
        names = json.dumps(sorted(set(secret)), ensure_ascii=False)
        keys = [names, _EACH] if len(set(secret)) == 1 else [names]
        for name in (dataset, _ANY):
            for key in keys:
                if (found := self._all.get((name, key))) is not None:
                    return found
        return None

    def sets(self, dataset: str, entries: Iterable[LedgerEntry]) -> list[tuple[str, ...]]:
        """Return every set of columns of the data that has a budget, once releases with these entries are made."""
        own = [names for name, names in self._all if name == dataset]
        named = dict.fromkeys([*own, *(names for name, names in self._all if name == _ANY)])
        found = dict.fromkeys(tuple(json.loads(names)) for names in named if names != _EACH)
        if _EACH in named:
            counted = (one for one in entries if one.counts and one.dataset == dataset)
            found.update(dict.fromkeys((name,) for one in counted for name in one.secret))
        return list(found)


def _words(names: str) -> str:
    if names == _EACH:
        return "each column"
    return some_of(json.loads(names)) or "the whole row"
