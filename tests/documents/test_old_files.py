"""Files of version 0.1, and a ledger of the second version: kept as they were written, read and checked today.

``fixtures/0.1`` was written by the code of version 0.1.0, ``told.json`` in it is what that code said of them.
"""

from __future__ import annotations

import json
import math
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import leakwise as lw
from leakwise.tables.ledger import contents, ledger_file

HERE = Path(__file__).parent / "fixtures"
OLD = HERE / "0.1"
BETTER = {("smokes",): math.log(4)}
TOLD = json.loads((OLD / "told.json").read_text())
VALUES = ("no", "yes", "never asked")
SEX = ["f", "m"]


@pytest.mark.parametrize("name", sorted(path.name for path in OLD.glob("*certificate.json")))
def test_certificates_of_0_1_verify(name):
    found = lw.verify(OLD / name)
    assert found.sentence.startswith("No guess about the secret becomes more than 2")


def test_mechanisms_and_priors_of_0_1_load():
    assert lw.Mechanism.load(OLD / "mechanism.json") == lw.randomized_response(VALUES, lift=3)
    assert lw.Mechanism.load(OLD / "design-mechanism.json").shape == (3, 2)
    assert lw.Mechanism.load(OLD / "binned-mechanism.json").inputs == ("[0, 50)", "[50, 100]")
    assert lw.Prior.load(OLD / "prior.json").probabilities.tolist() == [0.7, 0.2, 0.1]
    assert lw.Prior.load(OLD / "counted-prior.json").sample_size == 10_000


def test_tables_of_0_1_are_estimated_as_they_were():
    for name, frequencies in TOLD["estimate"].items():
        assert lw.estimate(OLD / name).frequencies.tolist() == pytest.approx(frequencies, abs=1e-9)
    mechanism = lw.Mechanism.load(OLD / "released.csv.mechanism.json")
    assert lw.estimate(OLD / "released.csv", mechanism, column="smokes").sample_size == 200


def version(path):
    with closing(sqlite3.connect(path)) as db:
        return db.execute("PRAGMA user_version").fetchone()[0]


@pytest.fixture(params=["0.1", "ledger-2"])
def old(request, tmp_path):
    path = tmp_path / "ledger.db"
    shutil.copy(HERE / request.param / "ledger.db", path)
    return path, json.loads((HERE / request.param / "told.json").read_text())


def test_ledgers_of_older_versions_keep_entries_budgets_and_totals(old):
    path, told = old
    book = lw.Ledger(path)
    assert len(book.entries()) == told["entries"]
    assert [one.secret for one in book.totals()] == [tuple(one["secret"]) for one in told["totals"]]
    for now, then in zip(book.totals(), told["totals"], strict=True):
        assert (now.releases, now.failure) == (then["releases"], then["failure"])
        assert (None if now.budget is None else now.budget.words) == then["budget"]
        # Older programs knew less about chains of columns: a total may have become larger. It is smaller where
        # the releases are not composed: a guess of 1/5 beside 16 for anyone has a lift of at most 1/(1/5 + 4/5 · 1/16).
        assert now.epsilon >= min(then["epsilon"], BETTER.get(now.secret, math.inf)) * (1 - 1e-12)


def beside_sex():
    priors = lw.PriorByStratum({key: lw.Prior(dict(zip(VALUES, [7, 2, 1], strict=True))) for key in SEX}, {"job": SEX})
    m = lw.randomized_response(VALUES, lift=3)
    return lw.certify(lw.StratifiedMechanism({"f": m, "m": m}, priors.given_columns), priors)


def test_an_older_ledger_takes_a_release_beside_given_columns(old):
    path, _ = old
    book = lw.Ledger(path)
    before = book.entries()
    assert version(path) == 2
    book.confirm(book.reserve("new", "smokes", beside_sex()))
    assert version(path) == 3
    again = lw.Ledger(path).entries()
    assert [one.summary() for one in again[:-1]] == [one.summary() for one in before]
    assert again[-1].beside.given == ("job",)
    assert not math.isinf(book.total("new", "smokes").epsilon)


def test_an_older_ledger_is_read_at_one_moment_while_another_process_migrates_it(old, monkeypatch):
    """Between the question for the version and that for the entries another process makes it one of the new version."""
    path, told = old
    book, other = lw.Ledger(path), lw.Ledger(path)
    ask = contents.version_of

    def slowly(db):
        found = ask(db)
        monkeypatch.setattr(contents, "version_of", ask)
        other.confirm(other.reserve("new", "smokes", beside_sex()))
        return found

    monkeypatch.setattr(contents, "version_of", slowly)
    assert len(book.entries()) == told["entries"]
    assert len(book.entries()) == told["entries"] + 1


def test_an_older_ledger_migrates_all_at_once_or_not_at_all(old, monkeypatch):
    """A migration that is stopped in its middle leaves the file as it was."""
    path, told = old
    book = lw.Ledger(path)
    with closing(sqlite3.connect(path)) as db:
        schema = db.execute("SELECT sql FROM sqlite_master ORDER BY name").fetchall()
    steps = (*ledger_file._STEPS[:2], f"{ledger_file._STEPS[2]} ALTER TABLE nowhere ADD COLUMN x TEXT;")
    monkeypatch.setattr(ledger_file, "_STEPS", steps)
    with pytest.raises(lw.InvalidInput, match="nowhere"):
        book.reserve("new", "smokes", beside_sex())
    monkeypatch.undo()
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT sql FROM sqlite_master ORDER BY name").fetchall() == schema
    assert version(path) == 2
    assert len(lw.Ledger(path).entries()) == told["entries"]


def test_a_ledger_of_0_1_is_opened_all_at_once_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "ledger.db"
    shutil.copy(OLD / "ledger.db", path)
    assert version(path) == 1
    steps = (ledger_file._STEPS[0], f"{ledger_file._STEPS[1]} ALTER TABLE nowhere ADD COLUMN x TEXT;")
    monkeypatch.setattr(ledger_file, "_STEPS", steps)
    with pytest.raises(lw.InvalidInput, match="nowhere"):
        lw.Ledger(path)
    monkeypatch.undo()
    assert version(path) == 1
    assert len(lw.Ledger(path).entries()) == TOLD["entries"]
