"""``leakwise certify``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import leakwise as lw
from leakwise.cli import app

RESPONSE = "randomized-response:letters=no/yes,lift=3"  # its largest lift is 1.5 at p = 1/2
KNOWN = ("--prior", "no=0.5,yes=0.5")


def run(*words: object) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, ["certify", *map(str, words)], catch_exceptions=False)
    return done.exit_code, done.stdout, done.stderr


@pytest.mark.parametrize("option", ["--lift", "--fail-above"])
def test_a_limit_that_is_kept_is_saved_and_can_be_verified(tmp_path: Path, option: str) -> None:
    path = tmp_path / "certificate.json"
    code, said, _ = run(RESPONSE, *KNOWN, option, "3/2", "-o", path)
    assert code == 0
    assert said.startswith("No guess about the secret becomes more than 1.5 times as likely")
    assert "Certificate saved:" in said
    assert lw.verify(path).asked.words == "lift = 3/2"


@pytest.mark.parametrize("limit", [("--lift", "1.499"), ("--fail-above", "1.499"), ("--epsilon", "0.4")])
def test_a_limit_that_is_broken_ends_in_exit_code_1_and_saves_nothing(tmp_path: Path, limit: tuple[str, str]) -> None:
    path = tmp_path / "certificate.json"
    code, said, _ = run(RESPONSE, *KNOWN, *limit, "-o", path)
    assert code == 1
    assert "The guarantee does not hold." in said
    assert "Nothing is saved" in said
    code, said, _ = run(RESPONSE, *KNOWN, *limit, "-o", path, "--json")
    found = json.loads(said)
    assert (code, found["kept"], found["holds"], found["lift"], found["certificate"]) == (1, False, False, 1.5, None)
    assert list(tmp_path.iterdir()) == []


def test_the_other_limits_count_as_well() -> None:
    assert run(RESPONSE, *KNOWN, "--lift", "2", "--anyone", "3")[0] == 0
    for broken in (("--anyone", "2"), ("--lift-of", "yes=1.2"), ("--ceiling", "yes=0.6"), ("--floor", "no=0.9")):
        code, said, _ = run(RESPONSE, *KNOWN, "--lift", "2", *broken, "--json")
        found = json.loads(said)
        assert (code, found["kept"], found["limit"], [one["kept"] for one in found["limits"]]) == (1, False, 2, [False])


def test_counts_are_a_sample_and_said_to_be(tmp_path: Path) -> None:
    sample = (RESPONSE, "--counts", "no=500,yes=500", "--lift", "1.51")
    code, said, _ = run(*sample)
    assert code == 0
    assert said.count("an estimate from 1,000 rows and was taken as exact") == 1
    assert run(*sample, "--failure", "1e-6")[0] == 1
    path = tmp_path / "c.json"
    code, said, _ = run(*sample[:-1], "1.7", "--failure", "1e-6", "-o", path, "--json")
    assert (code, json.loads(said)["failure"]) == (0, pytest.approx(1e-6))
    assert lw.verify(path).failure == pytest.approx(1e-6)


def test_without_a_limit_what_is_found_is_certified() -> None:
    code, said, _ = run(RESPONSE, *KNOWN, "--json")
    found = json.loads(said)
    assert (code, found["kept"], found["limit"], found["ratio"]) == (0, True, None, "3/2")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--lift", "2", "--fail-above", "3"), "Give one of --lift, --epsilon and --fail-above"),
        (("--fail-above", "0.5"), "--fail-above must be a lift of at least 1"),
        (("--failure", "1e-6"), "--failure 1e-6 goes with a sample"),
    ],
)
def test_wrong_input_is_no_verdict(words: tuple[str, ...], message: str) -> None:
    code, said, error = run(RESPONSE, *KNOWN, *words)
    assert (code, said) == (2, "")
    assert message in error


def test_a_mechanism_by_stratum_is_certified_for_the_priors_of_its_strata(tmp_path: Path) -> None:
    counted = lw.PriorByStratum.from_data(
        {"sex": list("ffffmmmm") * 50, "ill": ["no", "no", "no", "yes", "no", "no", "yes", "yes"] * 50},
        "ill",
        given=["sex"],
        domain=["no", "yes"],
    )
    response = lw.randomized_response(["no", "yes"], lift=3)  # a lift of 2 where one in four is ill, 1.5 where half are
    drawn = lw.StratifiedMechanism(dict.fromkeys("fm", response), given={"sex": ["f", "m"]})
    by, priors, proof = tmp_path / "by.json", tmp_path / "priors.json", tmp_path / "proof.json"
    drawn.save(by)
    counted.save(priors)
    code, said, _ = run(by, "--prior", priors, "--lift", 2, "-o", proof)
    flat = " ".join(said.split())
    assert code == 0
    assert flat.startswith("No guess about the secret becomes more than 2 times as likely")
    assert "The priors of the strata are estimates from 400 rows and were taken as exact" in flat
    assert lw.verify(proof).largest_lift == 2
    code, said, _ = run(by, "--prior", priors, "--fail-above", "1.5", "--json")
    found = json.loads(said)
    assert (code, found["kept"], found["limit"], len(found["strata"])) == (1, False, 1.5, 2)
    # With a failure probability every prior that the rows leave possible counts: the lift is larger.
    code, said, _ = run(by, "--prior", priors, "--lift", 2, "--failure", "1e-6")
    assert code == 1
    for words in ((), ("--prior", "no=0.5,yes=0.5"), ("--prior", priors, "--counts", "no=5,yes=5")):
        code, _, error = run(by, *words)
        assert code == 2
        assert "is a mechanism by stratum. It needs --prior FILE alone" in " ".join(error.split())


def test_unary_encoding_of_sixty_values_needs_no_list(tmp_path: Path) -> None:
    path, asked = tmp_path / "c.json", ("optimized-unary-encoding:n=60,epsilon=1", "--prior", "uniform:60")
    code, said, _ = run(*asked, "--fail-above", "2.65", "--anyone", "2.72", "-o", path, "--json")
    assert code == 0
    assert json.loads(said)["kept"]
    assert lw.verify(path).mechanism.shape == (60, 2**60)
    assert run(*asked, "--fail-above", "2.64")[0] == 1
