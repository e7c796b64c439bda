"""The ledger: exact totals, a budget nobody can break, keyed digests, and a file that says what is wrong with it."""

from __future__ import annotations

import csv
import json
import math
import os
import sqlite3
import stat
import subprocess
import sys
from fractions import Fraction

import pytest

import leakwise as lw
from leakwise.tables.ledger import ledger_file
from leakwise.tables.ledger.column_digest import Digester
from leakwise.tables.ledger.joint_total import together

PRIOR = lw.Prior({"no": 0.75, "yes": 0.25})
RESPONSE = lw.randomized_response(["no", "yes"], lift=3)
CERTIFICATE = lw.certify(RESPONSE, PRIOR)


@pytest.fixture
def ledger(tmp_path):
    return lw.Ledger(tmp_path / "ledger.db")


def released(ledger, dataset="d", secret="s", certificate=CERTIFICATE, **more):
    entry = ledger.reserve(dataset, secret, certificate, **more)
    ledger.confirm(entry)
    return entry


def test_totals_are_those_of_the_joint_release(ledger):
    assert ledger.total("d", "s").epsilon == 0
    released(ledger)
    assert ledger.total("d", "s").epsilon == CERTIFICATE.epsilon_upper
    released(ledger)
    total = ledger.total("d", "s")
    assert total.releases == 2
    assert total.exact
    assert total.epsilon == pytest.approx(together([RESPONSE, RESPONSE], PRIOR).epsilon)
    assert total.epsilon != pytest.approx(2 * CERTIFICATE.epsilon_upper)
    # A correlated column is told about as well: by default every release counts for every column of the row.
    assert ledger.total("d", "other").epsilon == total.epsilon
    assert ledger.total("other", "s").releases == 0


def test_the_worst_of_the_priors_counts(ledger):
    other = lw.certify(RESPONSE, lw.Prior({"no": 0.99, "yes": 0.01}))
    released(ledger)
    released(ledger, certificate=other)
    assert ledger.total("d", "s").epsilon == pytest.approx(together([RESPONSE] * 2, other.prior).epsilon)


def test_entries_survive_and_states_change(ledger, tmp_path):
    first = released(ledger, failure=1e-6, rows=10, origin="given", source_digest="ab")
    second = ledger.reserve("d", "s", CERTIFICATE)
    ledger.cancel(second)
    found = lw.Ledger(tmp_path / "ledger.db").entries()
    assert [(one.id, one.state) for one in found] == [(first, "released"), (second, "cancelled")]
    assert [one.counts for one in found] == [True, False]
    assert found[0].mechanism == RESPONSE
    assert found[0].prior == PRIOR
    assert (found[0].failure, found[0].rows, found[0].source_digest) == (1e-6, 10, "ab")
    assert ledger.total("d", "s").releases == 1
    for entry, message in ((second, "cancelled already"), (first, "released already"), (99, "does not exist")):
        with pytest.raises(lw.InvalidInput, match=message):
            ledger.cancel(entry)


def test_a_reserved_release_counts_until_it_is_cancelled(ledger):
    ledger.set_budget("d", "s", lift=2)
    entry = ledger.reserve("d", "s", CERTIFICATE)
    with pytest.raises(lw.Infeasible, match="Nothing was released") as caught:
        ledger.reserve("d", "s", CERTIFICATE)
    assert caught.value.witness.lift > 2
    ledger.cancel(entry)
    assert ledger.reserve("d", "s", CERTIFICATE) > entry


def test_a_release_exactly_at_the_budget_is_allowed(ledger):
    m = lw.design(lw.Prior.uniform(2), lift=1.5).mechanism
    certificate = lw.certify(m, lw.Prior.uniform(2))
    ledger.set_budget("d", "s", lift=1.5)
    assert released(ledger, certificate=certificate)
    ledger.set_budget("e", "t", epsilon=0.5)
    assert released(ledger, "e", "t", certificate=lw.certify(lw.design(PRIOR, epsilon=0.5).mechanism, PRIOR))


def test_joint_secrets_touch_their_parts(ledger):
    letters = [(b, a) for a in ("no", "yes") for b in "fm"]
    joint = lw.certify(lw.randomized_response(letters, lift=2), lw.Prior.uniform(letters))
    released(ledger)
    released(ledger, secret=("t", "s"), certificate=joint)
    assert [ledger.total("d", one).releases for one in ("s", "t", ("s", "t"))] == [2, 2, 2]
    assert not ledger.total("d", "s").exact
    assert ledger.total("d", ("s", "t")).exact
    assert ledger.entries("d", ("s", "t"))[0].secret == ("s", "t")
    assert ledger.entries("d", ("s", "t"))[0].columns == ("t", "s")


def test_a_set_of_priors_is_bounded_by_ldp_afterwards(ledger):
    certificate = lw.results.Certificate(RESPONSE, PRIOR, CERTIFICATE.ratio, "no", "no")
    released(ledger, certificate=certificate)
    with sqlite3.connect(ledger.path) as db:
        db.execute("UPDATE releases SET prior = 'null'")
    db.close()
    assert ledger.total("d", "s").epsilon == certificate.epsilon_upper
    with sqlite3.connect(ledger.path) as db:
        db.execute("INSERT INTO releases SELECT id + 1, time, state, dataset, secret, mechanism, prior, origin, "
                   "epsilon, failure, rows, source_digest, released_digest, columns FROM releases")  # fmt: skip
    db.close()
    assert ledger.total("d", "s").epsilon == pytest.approx(certificate.epsilon_upper + math.log(3))


def test_the_same_column_under_another_name_is_noticed(ledger):
    released(ledger, source_digest="ab")
    with pytest.raises(lw.InvalidInput, match="released before as 's' of 'd'"):
        ledger.reserve("renamed", "s", CERTIFICATE, source_digest="ab")
    released(ledger, source_digest="ab")


def test_digests_are_keyed_and_do_not_depend_on_the_order_of_letters(tmp_path):
    import numpy as np

    one, two = lw.Ledger(tmp_path / "1.db"), lw.Ledger(tmp_path / "2.db")

    def digest(ledger, labels, codes):
        digester = Digester(ledger.digest, lw.Prior.uniform(labels).alphabet)
        for part in codes:
            digester.add(np.array(part, dtype=np.uint8))
        return digester.text()

    base = digest(one, ["no", "yes"], [[0, 1, 1]])
    assert base == digest(one, ["yes", "no"], [[1], [0, 0]])
    assert base == digest(lw.Ledger(tmp_path / "1.db"), ["no", "yes"], [[0, 1, 1]])
    assert base != digest(one, ["no", "yes"], [[0, 1, 0]])
    assert base != digest(two, ["no", "yes"], [[0, 1, 1]])
    assert Digester(None, PRIOR.alphabet).text() is None


def test_only_the_owner_reads_it(ledger):
    assert stat.S_IMODE(os.stat(ledger.path).st_mode) == 0o600
    with sqlite3.connect(ledger.path) as db:
        assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    db.close()


def test_export_has_everything_but_the_key(ledger, tmp_path):
    released(ledger)
    ledger.set_budget("d", "s", lift=4)
    ledger.export(tmp_path / "x.json")
    ledger.export(tmp_path / "x.csv")
    text = (tmp_path / "x.json").read_text()
    found = json.loads(text)
    assert found["entries"][0]["mechanism"]["inputs"] == ["no", "yes"]
    assert found["totals"][0]["budget"] == "lift = 4"
    with (tmp_path / "x.csv").open(newline="") as stream:
        assert next(csv.DictReader(stream))["secret"] == "s"
    with sqlite3.connect(ledger.path) as db:
        (key,) = db.execute("SELECT value FROM keys").fetchone()
    db.close()
    assert key.hex() not in text
    with pytest.raises(lw.InvalidInput, match=r"\.json or \.csv"):
        ledger.export(tmp_path / "x.txt")


def test_looks(ledger):
    released(ledger)
    ledger.set_budget("d", "s", epsilon=1)
    total = ledger.total("d", "s")
    for text in (repr(ledger), ledger._repr_html_(), repr(total), total._repr_html_()):
        assert "epsilon = 1" in text


# --------------------------------------------------------------------------------------------------- bad ledgers


def test_what_is_no_ledger(tmp_path):
    (tmp_path / "text.db").write_text("This is a text of more than a hundred bytes. " * 5)
    with pytest.raises(lw.InvalidInput, match="not a ledger, or it is damaged"):
        lw.Ledger(tmp_path / "text.db")
    with sqlite3.connect(tmp_path / "other.db") as db:
        db.execute("CREATE TABLE t (x)")
    db.close()
    with pytest.raises(lw.InvalidInput, match="something else"):
        lw.Ledger(tmp_path / "other.db")
    for path in (tmp_path, tmp_path / "none" / "x.db"):
        with pytest.raises(lw.InvalidInput, match="folder that exists"):
            lw.Ledger(path)


def test_a_newer_ledger(ledger):
    with sqlite3.connect(ledger.path) as db:
        db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(lw.InvalidInput, match=r"format 99, written by a newer Leakwise.*pip install -U 'leakwise'"):
        lw.Ledger(ledger.path)
    with sqlite3.connect(ledger.path) as db:
        db.execute("INSERT INTO keys VALUES ('reader', ?)", (b"7.1",))
    db.close()
    with pytest.raises(lw.InvalidInput, match=r"reads formats up to 4. One that reads it: .*'leakwise>=7.1'"):
        lw.Ledger(ledger.path)


def test_a_damaged_ledger(ledger):
    for _ in range(30):
        released(ledger)
    content = bytearray(ledger.path.read_bytes())
    content[5000:20000] = os.urandom(15000)
    ledger.path.write_bytes(content)
    with pytest.raises(lw.InvalidInput, match="damaged"):
        lw.Ledger(ledger.path).entries()


def test_a_damaged_entry_is_named(ledger):
    entry = released(ledger)
    with sqlite3.connect(ledger.path) as db:
        db.execute("UPDATE releases SET mechanism = '{}'")
    db.close()
    with pytest.raises(lw.InvalidInput, match=f"Entry {entry} of the ledger"):
        ledger.entries()


def test_a_ledger_that_somebody_holds(ledger, monkeypatch):
    monkeypatch.setattr(ledger_file, "_PATIENCE", 0.01)
    holder = sqlite3.connect(ledger.path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(lw.LeakwiseError, match="held by another process"):
        ledger.reserve("d", "s", CERTIFICATE)
    holder.execute("ROLLBACK")
    holder.close()
    assert ledger.reserve("d", "s", CERTIFICATE)


@pytest.mark.parametrize("secret", ["", (), ("a", 1), None, 5])
def test_bad_names(ledger, secret):
    with pytest.raises(lw.InvalidInput, match="secret must be"):
        ledger.reserve("d", secret, CERTIFICATE)
    with pytest.raises(lw.InvalidInput, match="dataset must be"):
        ledger.reserve(" ", "s", CERTIFICATE)


# ------------------------------------------------------------------------------------------------- at the same time

CHILD = """
import sys
import leakwise as lw
ledger = lw.Ledger(sys.argv[1])
prior = lw.Prior({"no": 0.75, "yes": 0.25})
certificate = lw.certify(lw.randomized_response(["no", "yes"], lift=3), prior)
print("ready", flush=True)
sys.stdin.readline()
made = 0
for _ in range(6):
    try:
        ledger.confirm(ledger.reserve("d", "s", certificate))
        made += 1
    except lw.Infeasible:
        pass
print(made)
"""


def test_two_processes_do_not_spend_a_budget_twice(tmp_path):
    """The budget allows three releases; two processes try for six each, from a ledger that neither has seen."""
    path = tmp_path / "ledger.db"
    budget = together([RESPONSE] * 3, PRIOR).epsilon
    words = [sys.executable, "-c", CHILD, str(path)]
    children = [subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    for child in children:
        assert child.stdout.readline() == "ready\n"
    lw.Ledger(path).set_budget("d", "s", epsilon=budget + 1e-9)
    made = [int(child.communicate("go\n")[0]) for child in children]
    assert [child.returncode for child in children] == [0, 0]
    assert sum(made) == 3
    assert lw.Ledger(path).total("d", "s").within_budget


def test_the_table_of_a_ledger_rounds_up(tmp_path):
    prior = lw.Prior({"a": 0.6, "b": 0.3, "c": 0.1})
    book = lw.Ledger(tmp_path / "l.db")
    for lift in ("1.1", "1.2", "1.3", "1.4"):
        book.confirm(book.reserve(lift, "s", lw.certify(lw.randomized_response(prior.labels, lift=lift), prior)))
    for account in book.accounts():
        rows = {words[0]: words for line in repr(account).splitlines() if (words := line.split())}
        assert Fraction(rows["s"][1]) >= Fraction(account.totals[0].lift)
        assert Fraction(rows["s"][2]) >= Fraction(account.totals[0].epsilon)
        assert Fraction(rows[str(account.added[0].entry.id)][4]) >= Fraction(account.row.lift)
