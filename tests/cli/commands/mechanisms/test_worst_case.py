"""leakwise worst-case, as a person types it."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from typer.testing import CliRunner

import leakwise as lw
from leakwise.cli import app
from leakwise.proof.masks import load_mask_certificate

QUERY = "distance:power=2,below=1"


def run(*words: str, code: int = 0) -> str:
    done = CliRunner().invoke(app, ["worst-case", *words])
    assert done.exit_code == code, done.output
    return done.output


def test_all_levels_at_once() -> None:
    found = json.loads(run(QUERY, "--prior", "uniform:7", "--by", "order", "--json"))
    assert found["levels"] == [1, 2, 3, 4, 5, 6, 7]
    assert [math.exp(x) for x in found["epsilon"]] == pytest.approx([1, 1, 1, 1, 2, 3.5, 7])
    assert "it costs nothing" in run(QUERY, "--prior", "uniform:7", "--by", "order")


def test_one_level_with_its_certificate(tmp_path: Path) -> None:
    mechanism, certificate, chart = (tmp_path / name for name in ("m.json", "c.json", "p.json"))
    words = ["--level", "-4", "--save", str(mechanism), "--certificate", str(certificate), "--plot", str(chart)]
    run(QUERY, "--prior", "uniform:7", *words)
    assert lw.epsilon(lw.Mechanism.load(mechanism), lw.Prior.uniform(7)) == pytest.approx(math.log(2))
    assert load_mask_certificate(certificate).verify().epsilon_upper == pytest.approx(math.log(2))
    assert chart.is_file()


def test_the_best_level_within_a_leakage() -> None:
    for then in ("mutual_information", "expected"):
        found = json.loads(run("order:above=1", "--prior", "0.4,0.3,0.3", "--lift", "2", "--then", then, "--json"))
        assert found["level"] == -1
        assert found["second_bound"] >= found["second"]


def test_a_utility_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "utility.csv"
    path.write_text("letter,x,y\nhigh,-2,0\nlow,0,never\n", encoding="utf-8")
    found = json.loads(run(str(path), "--counts", "low=500,high=500", "--level", "-1", "--json"))
    assert math.exp(found["epsilon"]) == pytest.approx(2)
    assert found["mechanism"]["outputs"] == ["x", "y"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([QUERY, "--prior", "uniform:7", "--level", "1"], "nearest level that works is 0"),
        ([QUERY, "--prior", "uniform:7", "--level", "0", "--lift", "2"], "two questions"),
        ([QUERY, "--prior", "uniform:7", "--then", "guessing"], "--then goes with"),
        ([QUERY, "--prior", "uniform:7", "--save", "x.json"], "--save and --certificate need"),
        (["distance:powr=2", "--prior", "uniform:7"], "not understood"),
        (["distance:power=x", "--prior", "uniform:7"], "expected a number"),
        (["distance", "--prior", "a=0.5,b=0.5"], "ordered_utility"),
        (["missing.csv", "--prior", "uniform:7"], "Cannot read"),
    ],
)
def test_errors_tell_the_way_out(words: list[str], said: str) -> None:
    assert said in run(*words, code=2)


def test_a_limit_for_anyone_cannot_be_kept_and_none_can_be_said() -> None:
    for question in ((), ("--level", "-2"), ("--lift", "2")):
        words = (QUERY, "--prior", "uniform:7", *question)
        said = " ".join(run(*words, "--anyone", "20", code=2).split())
        assert "--anyone 20 cannot be kept" in said
        assert "--anyone none" in said
        assert run(*words, "--anyone", "none", "--json") == run(*words, "--json")
