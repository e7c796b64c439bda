"""``leakwise ledger``: the account at a glance, budgets, and entries that a stopped process left behind."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

import leakwise as lw
from leakwise.cli import app

RESPONSE = lw.certify(lw.randomized_response(["no", "yes"], lift=3), lw.Prior.uniform(["no", "yes"]))  # lift 1.5


def run(*words):
    found = CliRunner().invoke(app, [str(word) for word in words])
    return found.exit_code, found.output


@pytest.fixture
def book(tmp_path):
    ledger = lw.Ledger(tmp_path / "ledger.db")
    ledger.confirm(ledger.reserve("survey.csv", "smokes", RESPONSE))
    ledger.confirm(ledger.reserve("clinic.csv", "ill", RESPONSE))
    return ledger


def test_a_ledger_is_shown_by_its_name_alone(book, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    code, said = run("ledger", book.path)
    assert code == 0
    assert said == run("ledger", "show", book.path)[1]
    assert "what each release added to the whole row" in said
    assert max(map(len, said.replace(str(book.path), "").splitlines())) <= 80
    assert run("ledger", "none.db")[0] == 2
    assert "There is no ledger 'none.db'" in run("ledger", "none.db")[1]
    assert "No such command" in run("ledger", "shw")[1]


def test_one_dataset_is_shown_and_as_json(book):
    code, said = run("ledger", "show", book.path, "--dataset", "survey.csv")
    assert code == 0
    assert "smokes" in said
    assert "clinic" not in said
    found = json.loads(run("ledger", "show", book.path, "--dataset", "survey.csv", "--json")[1])
    assert found["totals"][-1]["whole_row"]
    assert found["releases"][0]["added"] == pytest.approx(RESPONSE.epsilon_upper)
    assert len(json.loads(run("ledger", book.path, "--json")[1])["accounts"]) == 2


def test_budgets_are_set_for_a_dataset_or_for_every_one(book):
    code, said = run("ledger", "budget", book.path, "--default", "--each-column", "--lift", "4")
    assert code == 0
    assert "Default budget of each column, for every dataset: lift = 4." in said
    assert run("ledger", "budget", book.path, "--dataset", "survey.csv", "--lift", "8")[0] == 0
    said = " ".join(run("ledger", book.path, "--all")[1].split())
    assert "the whole row: Of the budget, lift = 8, a lift of 5.3333 is left" in said
    assert "ill: Of the budget, lift = 4, a lift of 2.6666 is left" in said
    for words in ((), ("--default", "--dataset", "survey.csv")):
        code, said = run("ledger", "budget", book.path, "--lift", "8", *words)
        assert code == 2
        assert "with --dataset NAME, or set it for every dataset with --default" in " ".join(said.split())


def test_a_release_made_elsewhere_is_entered_and_refused_beyond_the_budget(book):
    words = ("ledger", "add", book.path, "--dataset", "survey.csv", "--secret", "smokes", "--mechanism")
    response = (*words, "randomized-response:n=2,lift=3")
    code, said = run(*response, "--prior", "no=0.5,yes=0.5", "--rows", "100")
    assert code == 0
    assert "Entry 3 counts for good: a release of smokes with a lift of 1.5." in said
    entry = book.entries()[-1]
    assert (entry.state, entry.secret, entry.rows) == ("released", ("smokes",), 100)
    assert entry.origin == "given; made elsewhere"
    # Two draws of one value, exactly: 9 / 5 where both agree.
    assert book.total("survey.csv", "smokes").lift == pytest.approx(1.8)
    book.set_budget("survey.csv", "smokes", lift="1.9")
    code, said = run(*response, "--prior", "no=0.5,yes=0.5")
    assert code == 2
    assert "is refused" in said
    assert "Nothing was entered. Do not make this release" in said
    assert len(book.entries()) == 3
    book.set_budget("survey.csv", "smokes", lift="9")
    code, said = run(*response, "--counts", "no=500,yes=500", "--failure", "1e-6", "--json")
    found = json.loads(said)
    assert (code, found["entry"], found["counts"], found["total"]["releases"]) == (0, 4, True, 3)
    assert found["lift"] > 1.5
    assert book.entries()[-1].failure == pytest.approx(1e-6)
    assert book.entries()[-1].origin == "counted; made elsewhere"


def test_a_release_by_stratum_made_elsewhere_is_entered_with_its_given_columns(book, tmp_path):
    priors = lw.PriorByStratum({"f": {"no": 0.8, "yes": 0.2}, "m": {"no": 0.6, "yes": 0.4}}, given={"sex": ["f", "m"]})
    design = lw.design(priors, lift=2, anyone=10)
    design.mechanism.save(tmp_path / "by.json")
    priors.save(tmp_path / "priors.json")
    words = ("ledger", "add", book.path, "--dataset", "clinic", "--secret", "ill", "--mechanism", tmp_path / "by.json")
    code, said = run(*words, "--prior", tmp_path / "priors.json", "--json")
    found = json.loads(said)
    assert (code, found["lift"], found["total"]["given"]) == (0, design.certificate.largest_lift, ["sex"])
    entry = book.entries()[-1]
    assert (entry.mechanism, entry.row.given, entry.origin) == (design.mechanism, ("sex",), "given; made elsewhere")
    code, said = run(*words, "--prior", "no=0.5,yes=0.5")
    assert code == 2
    assert len(book.entries()) == 3


def test_what_cannot_be_entered_leaves_the_ledger_as_it_was(book):
    words = ("--dataset", "survey.csv", "--secret", "smokes", "--mechanism", "randomized-response:n=2,lift=3")
    for more in ((), ("--prior", "0.5,0.5", "--counts", "5,5"), ("--prior", "0.5,0.5", "--failure", "1e-6")):
        assert run("ledger", "add", book.path, *words, *more)[0] == 2
    none = book.path.with_name("none.db")
    code, said = run("ledger", "add", none, *words, "--prior", "0.5,0.5")
    assert (code, none.exists()) == (2, False)
    assert "There is no ledger" in said
    assert "leakwise ledger budget LEDGER --default --lift 8" in " ".join(said.split())
    # Where there is a budget, the identity, which has no limit for anyone, is refused as well.
    book.set_budget("survey.csv", lift=100)
    assert run("ledger", "add", book.path, *words[:-1], "identity:n=2", "--prior", "1/1000,999/1000")[0] == 2
    assert len(book.entries()) == 2


def test_a_reserved_entry_is_explained_and_settled(book):
    entry = book.reserve("survey.csv", "age", RESPONSE)
    code, said = run("ledger", "settle", book.path)
    assert code == 0
    assert f"Entry {entry} (age of survey.csv" in said
    assert "--released means: it is somewhere, or someone may have seen any of it" in " ".join(said.split())
    assert json.loads(run("ledger", "settle", book.path, "--json")[1])["reserved"][0]["id"] == entry
    assert run("ledger", "settle", book.path, "--released")[0] == 2
    assert run("ledger", "settle", book.path, entry, "--released", "--not-released")[0] == 2
    assert book.entries()[-1].state == "reserved"
    assert run("ledger", "settle", book.path, entry, "--not-released")[1].strip() == f"Entry {entry} no longer counts."
    assert run("ledger", "settle", book.path)[1].strip() == "Every entry is settled."
    assert run("ledger", "settle", book.path, entry, "--released")[0] == 2


def test_the_total_of_data_that_the_ledger_does_not_have_is_refused(book):
    """A mistyped name would look like data of which nothing was released."""
    code, said = run("ledger", "total", book.path, "--dataset", "surwey.csv")
    assert code == 2
    assert "dataset (--dataset) must be one of those in the ledger" in said
    assert "Did you mean 'survey.csv'?" in said
