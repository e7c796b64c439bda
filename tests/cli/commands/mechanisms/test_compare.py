"""``leakwise compare``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import leakwise as lw
from leakwise.cli import app

RUN = CliRunner()
PRIOR = ("--prior", "a=0.5,b=0.3,c=0.2")


def run(*words: str) -> tuple[int, str, str]:
    done = RUN.invoke(app, ["compare", *words], catch_exceptions=False)
    return done.exit_code, done.stdout, done.stderr


def test_json_is_the_comparison() -> None:
    code, said, _ = run("randomized-response", "subset-selection", *PRIOR, "--lift", "2", "--json")
    assert code == 0
    prior = lw.Prior({"a": "0.5", "b": "0.3", "c": "0.2"})
    same = lw.compare(prior, ["randomized-response", "subset-selection"], lift=2)  # by the names of the catalog
    told = json.loads(said)
    assert told["rows"][0]["name"] == "design for frequencies"
    assert told["asked"] == same.asked
    names = ("name", "epsilon", "ldp", "rows_needed")
    for row, other in zip(told["rows"], same.to_dict()["rows"], strict=True):
        assert [float(row[name]) if name != "name" else row[name] for name in names] == [other[name] for name in names]


def test_the_least_epsilon_for_a_required_utility(tmp_path: Path) -> None:
    picture = tmp_path / "compared.json"
    words = ("--utility", "guessing", "--value", "0.6", "--plot", str(picture))
    code, said, _ = run("randomized-response", *PRIOR, *words)
    assert code == 0
    assert "At equal utility, guessing of at least 0.6" in said
    assert "No mechanism reaches it with an ε for the prior of" in said
    assert "vconcat" in json.loads(picture.read_text())


def test_a_file_is_compared_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    lw.randomized_response(["no", "yes"], lift=3).save(path)
    code, said, _ = run(str(path), "--prior", "no=0.8,yes=0.2", "--no-designs", "--json")
    assert code == 0
    (row,) = json.loads(said)["rows"]
    assert row["kind"] == "mechanism"
    assert row["lift"] == pytest.approx(15 / 7)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--lift", "2"), "--prior"),
        ((*PRIOR,), "give epsilon= or lift="),
        ((*PRIOR, "--value", "-4"), "--value goes with --utility"),
        ((*PRIOR, "--lift", "2", "--at", "PML"), "Did you mean 'pml'"),
        (("randomised-response", *PRIOR, "--lift", "2"), "Did you mean 'randomized-response'"),
        (("nothing.json", *PRIOR, "--lift", "2"), "no file 'nothing.json'"),
    ],
)
def test_what_is_wrong_is_said(words: tuple[str, ...], told: str) -> None:
    code, _, said = run(*words)
    assert code == 2
    assert told in said


def test_a_mechanism_over_other_values_is_named() -> None:
    code, _, error = run("randomized-response:n=3,lift=2", "randomized-response:n=4,lift=2", *PRIOR)
    assert code == 2
    assert "mechanisms['randomized-response: n=4, lift=2']: The mechanism has 4 values" in error


def test_sets_that_are_not_listed_are_compared_by_their_name() -> None:
    prior = ",".join(f"v{place}={weight}" for place, weight in enumerate(range(1, 31)))
    code, shown, _ = run("symmetric-unary-encoding:n=30,epsilon=1", "--counts", prior, "--no-designs", "--json")
    assert code == 0
    told = json.loads(shown)
    assert told["rows"][0]["ldp"] == pytest.approx(1)
    assert "The frequencies are at least as accurate as shown." in told["remarks"][0]
