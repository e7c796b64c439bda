"""``leakwise envelope``."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from typer.testing import CliRunner

from leakwise.cli import app
from leakwise.proof.envelope import load_envelope_certificate

RR = "randomized-response:n=5,epsilon=1"
PRIOR = "0.1,0.2,0.2,0.2,0.3"


def run(*words: str, code: int = 0) -> str:
    done = CliRunner().invoke(app, ["envelope", *words])
    assert done.exit_code == code, done.output
    return done.output


def test_one_delta(tmp_path: Path) -> None:
    file = tmp_path / "proof.json"
    plain = json.loads(run(RR, "--prior", PRIOR, "--delta", "0.3", "--certificate", str(file), "--json"))
    assert plain["lower"] <= plain["epsilon"] <= plain["upper"]
    assert load_envelope_certificate(file).verify().epsilon_upper == plain["epsilon"]
    assert "envelope ε_c(δ), proven" in run(RR, "--prior", PRIOR, "--delta", "0.3")


def test_curve_and_picture(tmp_path: Path) -> None:
    file = tmp_path / "curve.json"
    assert "ε_c(δ)" in run(RR, "--prior", PRIOR, "--plot", str(file))
    assert json.loads(file.read_text(encoding="utf-8"))["layer"]
    assert len(json.loads(run(RR, "--prior", PRIOR, "--json"))["epsilon"]) == 99


def test_failure_probability() -> None:
    plain = json.loads(run("identity:n=2", "--prior", "0.5,0.5", "--lift", "1.5", "--json"))
    assert plain == {"lift": "1.5", "failure_probability": 1.0}
    said = run("identity:n=2", "--prior", "0.5,0.5", "--epsilon", "0.1")
    assert said == "Whatever is done to the outcome, it leaks more than ε = 0.1 with probability at most 1.\n"


def test_ninety_reports_of_twelve_values_have_bounds() -> None:
    words = ["randomized-response:n=12,epsilon=0.2", "--prior", "uniform", "--delta", "0.01", "--repeat", "90"]
    said = run(*words)
    assert said.startswith("After 90 releases no guess becomes more than 12 times as likely")
    assert "confidence 0.99" in said
    plain = json.loads(run(*words, "--confidence", "0.9", "--json"))
    assert plain["epsilon_lower"] <= plain["epsilon_upper"] <= math.log(12) + 1e-9
    assert plain["simulated"]["confidence"] == 0.9
    assert plain["simulated"]["upper"] < plain["epsilon_upper"]
    assert "without a certificate" in run(*words, "--certificate", "proof.json", code=2)


def test_repetition_and_growth() -> None:
    twice = json.loads(
        run("randomized-response:n=2,lift=3", "--prior", "uniform", "--delta", "0.1", "--repeat", "2", "--json")
    )
    assert twice["epsilon"] == pytest.approx(math.log(9 / 5))
    table = json.loads(run("randomized-response:n=2,lift=3", "--prior", "uniform", "--growth", "1,2", "--json"))
    assert [row["n"] for row in table["rows"]] == [1, 2]


def test_growth_keeps_the_rows_that_were_found_before_it_has_to_end() -> None:
    words = ["randomized-response:n=2,lift=3", "--prior", "uniform", "--growth", "1,2,100000000"]
    done = CliRunner().invoke(app, ["envelope", *words])
    assert done.exit_code == 2
    assert "count vectors" in done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines()[-2:]] == ["1", "2"]
    assert done.stderr.startswith("n = 1: ε = 0.405465")  # as soon as it is found


@pytest.mark.parametrize(
    "words",
    [
        ["--delta", "2"],
        ["--delta", "0.1", "--lift", "2"],
        ["--certificate", "x.json"],
        ["--growth", "a"],
        ["--delta", "0.1", "--repeat", "0"],
    ],
)
def test_bad_input_is_said_in_one_line(words: list[str]) -> None:
    said = run(RR, "--prior", PRIOR, *words, code=2)
    assert said.count("Error:") == 1


def test_counts_are_a_sample_and_said_to_be() -> None:
    words = ("randomized-response:n=2,lift=3", "--counts", "7,3")
    assert "an estimate from 10 rows and was taken as exact" in run(*words, "--delta", "0.1")
    assert "an estimate from 10 rows and was taken as exact" in run(*words, "--lift", "1.2")
    wider = run(*words, "--delta", "0.1", "--failure", "1e-6")
    assert "taken as exact" not in wider
    assert "The sample misleads, and the guarantee with it, with probability at most 1e-6." in wider
    assert "proven (whole set)" in wider
    assert "attained (nominal prior)" in wider
    assert "--failure goes with --delta alone" in run(*words, "--lift", "1.2", "--failure", "1e-6", code=2)


def test_a_tiny_delta_is_not_certainty() -> None:
    said = run("randomized-response:n=2,lift=3", "--prior", "0.7,0.3", "--delta", "1e-9")
    assert "except with probability at most 1e-9" in said
    assert "at least 1" not in said
