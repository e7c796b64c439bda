"""What a ledger contains at one moment: its entries and budgets, and every total and account that follows from them."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

from leakwise.errors import Infeasible, InvalidInput, did_you_mean, some_of
from leakwise.tables.ledger.account import Added, LedgerAccount
from leakwise.tables.ledger.budgets import ROW, Budgets
from leakwise.tables.ledger.entries import COLUMNS, LedgerEntry, entry_of
from leakwise.tables.ledger.independence import independence_of
from leakwise.tables.ledger.ledger_file import present, version_of
from leakwise.tables.ledger.people import names_of_data
from leakwise.tables.ledger.reservation import name_of_data
from leakwise.tables.ledger.totals import LedgerTotal, beyond_budget, total_of

__all__ = ["Contents"]


class Contents:
    """The ledger as a transaction sees it.

    Parameters
    ----------
    db
        The open ledger.
    path
        Its name, for messages.
    """

    def __init__(self, db: sqlite3.Connection, path: str) -> None:
        columns = ", ".join(present(COLUMNS, version_of(db)))
        rows = db.execute(f"SELECT id, {columns} FROM releases ORDER BY id").fetchall()
        self._path, self.names, self.budgets = path, names_of_data(db), Budgets(db)
        found = [entry_of(row, path) for row in rows]
        self.independent = [(self.name(dataset), shown) for dataset, shown in independence_of(db)]
        self.entries = [replace(one, dataset=self.name(one.dataset)) for one in found]

    def name(self, dataset: str) -> str:
        """Return the name under which data is counted: its own, or that of the data which it was said to be."""
        return self.names.get(name_of_data(dataset), dataset)

    @cached_property
    def datasets(self) -> list[str]:
        """The data that has an entry or a budget."""
        return list(dict.fromkeys([*(one.dataset for one in self.entries), *self.budgets.datasets]))

    def total(self, dataset: str, secret: tuple[str, ...], entries: Sequence[LedgerEntry] | None = None) -> LedgerTotal:
        """Return the total of some columns, or of the whole row where none is named, of these entries or of all."""
        name = self.name(dataset)
        shown = [one for of, one in self.independent if of == name]
        return total_of(
            self.entries if entries is None else entries, name, secret, self.budgets.of(name, secret), shown
        )

    def totals(self) -> list[LedgerTotal]:
        """Return the total of every secret that has an entry or a budget."""
        known = dict.fromkeys((one.dataset, one.secret) for one in self.entries)
        for dataset in self.datasets:
            known.update(dict.fromkeys((dataset, secret) for secret in self.budgets.sets(dataset, self.entries)))
        return [self.total(*key) for key in known]

    def refuse_beyond_budgets(self, new: Sequence[LedgerEntry]) -> None:
        """Refuse releases that would exceed any budget of the data: they tell about all columns of the row."""
        dataset, after = new[0].dataset, [*self.entries, *new]
        for secret in self.budgets.sets(dataset, after):
            total = self.total(dataset, secret, after)
            if not total.within_budget:
                raise Infeasible(beyond_budget(new, total, self.total(dataset, secret)), witness=total)

    def account(self, dataset: str) -> LedgerAccount:
        """Return the account of a dataset: the odometer of what was spent."""
        name = self.name(dataset)
        if name not in self.datasets:
            raise InvalidInput(
                f"dataset (--dataset) must be one of those in the ledger {self._path!r}: "
                f"{some_of(self.datasets) or 'there is none yet'}. Got {dataset!r}."
                + did_you_mean(dataset, self.datasets)
            )
        here = [one for one in self.entries if one.dataset == name]
        added, before = list[Added](), 0.0
        for place, one in enumerate(here):
            after = self.total(name, ROW, here[: place + 1]).epsilon if one.counts else before
            # A release with a prior of more columns can make the total better known, and lower.
            grown = 0.0 if after <= before else after if not before else (after - before) * (1 + 2.0**-50)
            added.append(Added(one, grown, after))
            before = after
        columns = dict.fromkeys(name for one in here if one.counts for name in one.columns or one.secret)
        budgeted = (one for one in self.budgets.sets(name, self.entries) if one != ROW)
        wanted = dict.fromkeys([*((column,) for column in columns), *budgeted, ROW])
        return LedgerAccount(name, tuple(self.total(name, one) for one in wanted), tuple(added))
