"""The odometer: what each release added, what is left, and entries that are not settled."""

from __future__ import annotations

import math

import pytest

import leakwise as lw
from tables.ledger.test_reservation import of_a, of_b, pair

RESPONSE = lw.certify(lw.randomized_response(["no", "yes"], lift=3), lw.Prior.uniform(["no", "yes"]))  # lift 1.5


@pytest.fixture
def ledger(tmp_path):
    return lw.Ledger(tmp_path / "ledger.db")


def test_the_account_says_what_each_release_added(ledger):
    ledger.confirm(ledger.reserve_all("d", pair()))
    ledger.cancel(ledger.reserve("d", "c", RESPONSE))
    ledger.confirm(ledger.reserve("d", "c", RESPONSE))
    account = ledger.account("d")
    grown = [one.epsilon for one in account.added]
    assert grown[:3] == pytest.approx([of_a().epsilon_upper, of_b().epsilon_upper, 0.0])
    assert sum(grown) == pytest.approx(account.row.epsilon)
    assert sum(grown) >= account.row.epsilon
    assert [one.after for one in account.added][-1] == account.row.epsilon
    assert [one.title for one in account.totals] == ["a", "b", "c", "the whole row"]
    assert [one["added"] for one in account.to_dict()["releases"]] == grown
    assert "cancelled" in repr(account)


def test_what_is_left_is_rounded_down_and_said_in_words(ledger):
    ledger.set_budget("d", "a", lift=4)
    assert ledger.total("d", "a").left == pytest.approx(math.log(4))
    ledger.confirm(ledger.reserve("d", "a", RESPONSE))
    total = ledger.total("d", "a")
    assert total.left <= math.log(4) - total.epsilon
    assert "a lift of 2.6666 is left" in total.remaining
    ledger.set_budget("d", "a", epsilon=total.epsilon)
    assert "Nothing is left" in ledger.total("d", "a").remaining
    ledger.set_budget("d", "a", lift=1.2)
    assert "is exceeded" in ledger.total("d", "a").remaining
    assert ledger.total("d", "a").left == 0
    assert ledger.total("e", "a").left is None
    assert "no budget" in ledger.total("e", "a").remaining


def test_a_lift_that_is_left_can_be_spent(ledger):
    """Beside all that went out, a release of the lift that is left is taken, and one of more is refused."""
    ledger.set_budget("d", epsilon=of_a().epsilon_upper + of_b().epsilon_upper + 1e-9)
    first = ledger.reserve("d", "a", of_a())
    assert ledger.total("d").left == pytest.approx(of_b().epsilon_upper)
    with pytest.raises(lw.Infeasible):
        ledger.reserve("d", "b", RESPONSE)
    assert ledger.reserve("d", "b", of_b(), outcomes={"a": first})


def test_entries_that_are_not_settled_are_explained_and_settled_together(ledger):
    first, second = ledger.reserve_all("d", pair())
    shown = repr(ledger.account("d"))
    assert f"Entry {second} (b of d, entered" in shown
    assert "--not-released means: nothing was written, or it was deleted before anyone saw any of it" in shown
    ledger.settle(second, released=True)
    assert [one.state for one in ledger.entries()] == ["released", "released"]
    assert ledger.account("d").reserved == []
    third = ledger.reserve("d", "c", RESPONSE)
    ledger.settle(third, released=False)
    assert ledger.entries()[-1].state == "cancelled"
    with pytest.raises(lw.InvalidInput, match="is released already"):
        ledger.settle(first, released=True)
    with pytest.raises(lw.InvalidInput, match="does not exist"):
        ledger.settle(99, released=True)


def test_a_dataset_that_is_not_in_the_ledger(ledger):
    with pytest.raises(lw.InvalidInput, match="there is none yet"):
        ledger.account("d")
    ledger.set_budget("survey", lift=2)
    with pytest.raises(lw.InvalidInput, match="Did you mean 'survey'"):
        ledger.account("survei")
    assert ledger.account("survey").added == ()
    assert "nothing was released yet" in repr(lw.Ledger(ledger.path.with_name("new.db")))


def test_the_account_of_daily_releases_reads_each_prior_once(ledger, monkeypatch):
    proof = lw.certify(lw.randomized_response(["a", "b", "c"], lift=1.1), lw.Prior({"a": 0.5, "b": 0.3, "c": 0.2}))
    for _ in range(30):
        ledger.confirm(ledger.reserve("d", "report", proof))
    written, to_body = [], lw.Prior.to_body
    monkeypatch.setattr(lw.Prior, "to_body", lambda self: written.append(self) or to_body(self))
    account = ledger.account("d")
    assert len(written) <= 30  # and not one for each entry of each of the totals
    totals = [lw.epsilon(proof.mechanism.repeat(n), proof.prior) for n in (1, 2, 30)]
    assert [account.added[n - 1].after for n in (1, 2, 30)] == pytest.approx(totals, abs=1e-9)
