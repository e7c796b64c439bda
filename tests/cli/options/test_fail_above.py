"""``--fail-above``: exit code 1 where what is proven is above the limit, in ``audit`` and in ``envelope``."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from leakwise.cli import app

RESPONSE = "randomized-response:letters=no/yes,lift=3"  # its largest lift is 3 / (1 + 2p): 1.5 at p = 1/2
KNOWN = ("--prior", "no=0.5,yes=0.5")


def run(*words: str) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, [*words], catch_exceptions=False)
    return done.exit_code, done.stdout, done.stderr


@pytest.mark.parametrize("command", [("audit", RESPONSE), ("envelope", RESPONSE, "--delta", "0.01")])
def test_the_limit_is_judged_on_what_is_proven(command: tuple[str, ...]) -> None:
    code, said, _ = run(*command, *KNOWN, "--fail-above", "1.4")
    assert code == 1
    assert "is broken: at most 1.4 times as likely is allowed, and 1.5 times is what is proven." in said
    assert said.startswith("No guess about the secret becomes more than 1.5 times as likely")
    code, said, _ = run(*command, *KNOWN, "--fail-above", "2")
    assert code == 0
    assert "The limit of --fail-above is kept: at most 2 times as likely." in said
    for limit, kept in (("1.4", False), ("2", True)):
        code, said, _ = run(*command, *KNOWN, "--fail-above", limit, "--json")
        found = json.loads(said)
        assert (found["limit"], found["kept"], code) == (float(limit), kept, 0 if kept else 1)
        assert found["lift"] == pytest.approx(1.5)
    assert "kept" not in json.loads(run(*command, *KNOWN, "--json")[1])


def test_the_limit_itself_is_kept_and_a_hair_below_it_is_not() -> None:
    assert run("audit", RESPONSE, *KNOWN, "--fail-above", "3/2")[0] == 0
    code, said, _ = run("audit", RESPONSE, *KNOWN, "--fail-above", "1.499999999999")
    assert code == 1
    assert "at most 1.499999999999 times as likely is allowed, and 1.5 times is what is proven" in said


def test_with_a_failure_probability_every_prior_that_is_left_counts() -> None:
    sample = ("--counts", "no=500,yes=500", "--fail-above", "1.51")
    for command in (("audit", RESPONSE), ("envelope", RESPONSE, "--delta", "0.01")):
        assert run(*command, *sample)[0] == 0
        assert run(*command, *sample, "--failure", "1e-6")[0] == 1


def test_what_is_only_simulated_is_not_what_is_judged() -> None:
    many = ("envelope", "randomized-response:n=12,epsilon=0.2", "--prior", "uniform", "--delta", "0.01")
    code, said, _ = run(*many, "--repeat", "90", "--fail-above", "7", "--json")
    found = json.loads(said)
    assert (code, found["kept"]) == (1, False)
    assert found["lift"] == pytest.approx(12)
    assert run(*many, "--repeat", "90", "--fail-above", "12.1")[0] == 0


def test_a_broken_limit_still_writes_what_was_asked_for(tmp_path) -> None:
    picture, better = tmp_path / "a.json", tmp_path / "b.json"
    words = ("audit", RESPONSE, "--prior", "uniform", "--fail-above", "1", "--plot", str(picture))
    code, said, _ = run(*words, "--invariant", "--save", str(better), "--json")
    assert code == 1
    assert json.loads(said)["kept"] is False
    assert picture.exists()
    assert better.exists()


@pytest.mark.parametrize("limit", ["0.5", "none", "nan", "inf", "-2", ""])
def test_a_limit_that_is_none_is_wrong_input_and_not_a_verdict(limit: str) -> None:
    code, said, error = run("audit", RESPONSE, *KNOWN, f"--fail-above={limit}")
    assert (code, said) == (2, "")
    assert "--fail-above" in error


@pytest.mark.parametrize("words", [(), ("--lift", "2"), ("--growth", "1,2", "--delta", "0.1")])
def test_an_envelope_is_judged_at_one_delta(words: tuple[str, ...]) -> None:
    code, _, error = run("envelope", RESPONSE, *KNOWN, "--fail-above", "2", *words)
    assert code == 2
    assert "--fail-above needs --delta" in error
