"""Budgets of sets of columns, of each column, of the whole row and of every dataset: kept before anything is drawn."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

import leakwise as lw
from leakwise.tables.ledger.budgets import Budgets

RESPONSE = lw.certify(lw.randomized_response(["no", "yes"], lift=3), lw.Prior.uniform(["no", "yes"]))  # lift 1.5


@pytest.fixture
def ledger(tmp_path):
    return lw.Ledger(tmp_path / "ledger.db")


def version(ledger):
    with closing(sqlite3.connect(ledger.path)) as db:
        return db.execute("PRAGMA user_version").fetchone()[0]


def test_a_budget_of_the_whole_row_is_spent_by_releases_of_every_column(ledger):
    ledger.set_budget("d", lift=5)
    ledger.confirm(ledger.reserve("d", "a", RESPONSE))
    ledger.confirm(ledger.reserve("d", "b", RESPONSE))  # 1.5 for one, 3 for anyone for the other
    assert ledger.total("d").lift == pytest.approx(4.5)
    assert ledger.total("d").secret == ()
    with pytest.raises(lw.Infeasible, match="which the budget of the whole row counts, too"):
        ledger.reserve("d", "c", RESPONSE)
    assert "about the row more than 4.5" in ledger.total("d").sentence
    assert version(ledger) == 4  # an older program would not keep that budget


def test_a_default_budget_is_kept_for_every_dataset_that_has_none_of_its_own(ledger):
    ledger.set_budget(None, lift=2)
    ledger.set_budget("free", lift=100)
    for dataset in ("d", "e"):
        ledger.confirm(ledger.reserve(dataset, "a", RESPONSE))
        with pytest.raises(lw.Infeasible, match="the budget of the whole row"):
            ledger.reserve(dataset, "b", RESPONSE)
    for secret in ("a", "b", "c"):
        ledger.confirm(ledger.reserve("free", secret, RESPONSE))
    assert ledger.account("d").row.budget.words == "lift = 2"
    assert ledger.account("free").row.budget.words == "lift = 100"


def test_a_budget_for_each_column_is_kept_for_columns_that_come_later(ledger):
    ledger.set_budget(None, lift="1.8", each_column=True)
    ledger.set_budget("d", "b", lift=10)
    ledger.confirm(ledger.reserve("d", "b", RESPONSE))
    # b has a budget of its own; a, whose guess is made more likely by a release of b as well, has the default.
    with pytest.raises(lw.Infeasible, match="and the budget is lift = 9/5"):
        ledger.reserve("d", "a", RESPONSE)
    assert [one.title for one in ledger.account("d").totals] == ["b", "the whole row"]
    assert ledger.account("d").totals[0].budget.words == "lift = 10"
    with pytest.raises(lw.InvalidInput, match="must be left out where the budget is for each column"):
        ledger.set_budget("d", "b", lift=2, each_column=True)


def test_its_own_budget_comes_before_a_default(ledger):
    ledger.set_budget(None, "a", lift=2)
    ledger.set_budget(None, lift=3, each_column=True)
    ledger.set_budget("d", lift=4, each_column=True)
    with ledger._file.reading() as db:
        found = Budgets(db)
    assert [found.of(*key).words for key in (("d", ("a",)), ("e", ("a",)), ("e", ("b",)))] == [
        "lift = 4",
        "lift = 2",
        "lift = 3",
    ]
    assert found.of("e", ("a", "b")) is None
    assert found.of("e", ()) is None
    assert [words for words, _ in found.defaults] == ["'a'", "each column"]
    assert version(ledger) == 4


def test_a_joint_release_spends_the_budget_of_each_column(ledger):
    pairs = [(a, b) for a in ("no", "yes") for b in "fm"]
    certificate = lw.certify(lw.randomized_response(pairs, lift=10), lw.Prior.uniform(pairs))
    ledger.set_budget("d", lift=2, each_column=True)
    with pytest.raises(lw.Infeasible, match="the budget of 'a' counts, too"):
        ledger.reserve("d", ("a", "b"), certificate)
