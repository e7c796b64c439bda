"""Several secrets are entered in the ledger as one: all or none, at what they add beside each other."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import leakwise as lw
from leakwise.errors import Infeasible, InvalidInput
from leakwise.tables.release import sources

DOMAIN = {"a": ["x", "y"], "b": ["no", "yes"], "c": ["low", "high"]}


def table(rows: int = 4000) -> dict[str, Any]:
    generator = np.random.default_rng(0)
    a = generator.choice(2, rows)
    b = a ^ (generator.random(rows) < 0.2)
    c = b ^ (generator.random(rows) < 0.3)
    return {
        name: np.array(DOMAIN[name])[codes] for name, codes in (("a", a), ("b", b.astype(int)), ("c", c.astype(int)))
    }


def release(ledger: Any, lifts: Any = None, **options: Any) -> Any:
    lifts = {"a": 1.5, "b": 1.25} if lifts is None else lifts
    named = [name for key in lifts for name in (key if isinstance(key, tuple) else (key,))]
    domain = {name: DOMAIN[name] for name in named}
    options = {"prior": "table", "failure": 1e-6, "domain": domain, "dataset": "survey", **options}
    return lw.protect({name: table()[name] for name in named}, lifts, ledger=ledger, **options)


def test_all_secrets_are_entered_and_their_lifts_multiply(tmp_path: Path) -> None:
    ledger = lw.Ledger(tmp_path / "ledger.db")
    done = release(ledger)
    assert done.entries == (1, 2)
    entries = ledger.entries()
    assert [one.state for one in entries] == ["released", "released"]
    assert [one.together for one in entries] == [1, 1]
    assert dict(entries[1].outcomes) == {"a": 1}
    assert all(one.rows == 4000 and one.source_digest and one.released_digest for one in entries)
    assert sum(one.failure for one in entries) <= 1e-6
    # Not 1.5 times the limit for anyone: the second is certified beside the outcome of the first.
    assert math.exp(ledger.total("survey", "b").epsilon) <= 1.875 + 1e-9
    assert "Entries in the ledger: 1 and 2" in str(done)
    assert done.to_dict()["ledger"] == {"entry": [1, 2]}


def test_a_budget_that_all_of_them_exceed_refuses_all(tmp_path: Path) -> None:
    ledger = lw.Ledger(tmp_path / "ledger.db")
    ledger.set_budget("survey", "a", lift=1.6)
    with pytest.raises(Infeasible, match="is refused"):
        release(ledger)
    assert ledger.entries() == []
    ledger.set_budget("survey", "a", lift=1.9)
    release(ledger)
    assert len(ledger.entries()) == 2


def test_a_release_that_fails_is_cancelled_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = lw.Ledger(tmp_path / "ledger.db")

    def broken(*_: Any) -> Any:
        raise InvalidInput("the disk is full")

    monkeypatch.setattr(sources._InMemory, "release", broken)
    with pytest.raises(InvalidInput, match="the disk is full"):
        release(ledger)
    assert [one.state for one in ledger.entries()] == ["cancelled", "cancelled"]


@pytest.mark.parametrize("secrets", [{"a": 1.5, "b": 1.25}, "a"])
def test_a_table_that_was_written_counts_though_the_call_fails(
    secrets: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The shuffled file is read once more for its digest: others may have seen it by then."""

    def broken(*_: Any) -> Any:
        raise OSError("the disk is gone")

    monkeypatch.setattr(sources, "plain_alphabet", broken)
    ledger, out = lw.Ledger(tmp_path / "ledger.db"), tmp_path / "out.csv"
    names = ["a"] if secrets == "a" else ["a", "b"]
    pd.DataFrame({name: table()[name] for name in names}).to_csv(tmp_path / "table.csv", index=False)
    told = (
        {"domain": DOMAIN["a"], "lift": 1.5} if secrets == "a" else {"domain": {name: DOMAIN[name] for name in names}}
    )
    told |= {"prior": "table", "failure": 1e-6, "order": "shuffle", "dataset": "survey"}
    with pytest.raises(OSError, match="the disk is gone"):
        lw.protect(tmp_path / "table.csv", secrets, out=out, ledger=ledger, **told)
    assert out.exists()
    assert {one.state for one in ledger.entries()} == {"reserved"}
    assert ledger.total("survey", "a").lift > 1.4


def test_tuples_and_what_earlier_guarantees_imply_are_entered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = lw.Ledger(tmp_path / "ledger.db")
    done = release(ledger, {("a", "b"): 1.5, "c": 1.25})
    assert dict(ledger.entries()[1].outcomes) == {"a": 1, "b": 1}
    assert math.exp(ledger.total("survey", "c").epsilon) <= 1.875 + 1e-9
    monkeypatch.setattr("leakwise.workflow.several._MOST_STRATA", 1)
    other = lw.Ledger(tmp_path / "other.db")
    done = release(other)
    assert done.certificate.parts[1].alone is not None
    assert dict(other.entries()[1].outcomes) == {"a": 1}
    assert math.exp(other.total("survey", "b").epsilon) <= 1.875 + 1e-9


def test_the_data_must_have_a_name(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="dataset must name the data"):
        release(tmp_path / "ledger.db", dataset=None)


def test_the_same_people_under_another_name_are_asked_about(tmp_path: Path) -> None:
    ledger = lw.Ledger(tmp_path / "ledger.db")
    rows = {**{name: table()[name] for name in ("a", "b")}, "id": np.arange(4000)}
    prior = {"a": lw.Prior.uniform(DOMAIN["a"]), "b": lw.Prior.uniform(DOMAIN["b"])}
    options: dict[str, Any] = {"prior": prior, "drop": ["id"], "key": "id", "ledger": ledger}
    lw.protect(rows, {"a": 1.5, "b": 1.25}, dataset="survey", **options)
    with pytest.raises(InvalidInput, match="same_as"):
        lw.protect(rows, {"b": 1.25, "a": 1.5}, dataset="poll", **options)
    assert len(ledger.entries()) == 2


def test_given_columns_that_changed_beside_the_same_secrets_count_as_another_table(tmp_path: Path) -> None:
    """As for one secret: what last year's group and this year's tell together is more than one group does."""
    ledger = lw.Ledger(tmp_path / "ledger.db")
    first = {name: table()[name] for name in "abc"}
    priors = {
        name: lw.PriorByStratum(dict.fromkeys(DOMAIN["c"], lw.Prior.uniform(DOMAIN[name])), given="c") for name in "ab"
    }
    for year in (first, first, {**first, "c": first["c"][::-1]}):
        same = ledger.total("survey") if ledger.entries() else None
        lw.protect(year, {"a": 1.5, "b": 1.25}, prior=priors, anyone=4, order="keep", ledger=ledger, dataset="survey")
    assert same is not None
    assert not same.changed
    assert ledger.total("survey").changed
    assert ledger.total("survey").lift > 10 * same.lift
